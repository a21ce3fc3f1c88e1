"""vaultmem hook: prints the context for the start-up hook of a harness, in valid JSON even if something fails."""

from __future__ import annotations

import os

from vaultmem import client, paths
from vaultmem import now as clock
from vaultmem.errors import StateError, VaultmemError, VaultNotFoundError
from vaultmem.memories.access import viewer
from vaultmem.output import Output, json_text
from vaultmem.pending import listing
from vaultmem.text.values import SOON, TYPE_CHECKING, json_object
from vaultmem_assistants.context import commands, context, fact_line, holding, recall
from vaultmem_assistants.programs import HARNESSES

if TYPE_CHECKING:
    from types import SimpleNamespace as Namespace

    from vaultmem.api import Vault
    from vaultmem.pending.listing import Listed

MOST = 10_000  # characters on stdout


def run(args: Namespace, output: Output) -> int:
    """Print the context."""
    harness = HARNESSES.get(args.harness)
    if harness is None:
        names = ", ".join(HARNESSES)
        output.remark(f"unknown harness {args.harness!r}; known: {names}")
        output.data({})
        return 0
    in_agent = not (args.vault is None or isinstance(args.vault, str))  # where the vault is open
    text = ""
    try:
        if not in_agent and (code := _by_agent_elsewhere(args)) is not None:
            return code
        text = _Context(args, output, in_agent=in_agent).text()
    except Exception as error:  # the harness must start whatever happens here
        if in_agent:
            raise StateError("the process that asks does it itself") from error
        output.remark(f"{' '.join(str(error).split()) or type(error).__name__}")
    reply = harness.answer(text)
    while len(json_text(reply, 2)) > MOST:  # characters that JSON escapes
        text = text[: len(text) * 3 // 4]
        reply = harness.answer(text)
    output.data(reply)
    return 0


class _Context:
    """The context of one session. Nothing is indexed for it, and parts that fail are left out with a remark."""

    def __init__(self, args: Namespace, output: Output, *, in_agent: bool) -> None:
        self._args, self._output, self._in_agent = args, output, in_agent
        self._now = clock.seconds()
        self._viewer = viewer(args.harness)
        self._problems: list[str] = []

    def text(self) -> str:
        """The context as text; its memories count as read."""
        args = self._args
        folder = args.vault.path if self._in_agent else listing.vault_of(args.vault)
        listed = None if self._in_agent else listing.read(folder, self._now)
        if listed is not None and not args.prompt:
            return self._with(folder, listed, None)
        from vaultmem.api import Vault

        with args.vault if self._in_agent else Vault(folder) as vault:
            text = self._with(folder, listed or self._gather(vault), vault)
        if self._problems:
            self._output.remark(f"{'; '.join(dict.fromkeys(self._problems))}")
        return text

    def _with(self, folder: str, listed: Listed, vault: Vault | None) -> str:
        sections = listing.by_section(listed, SOON, self._now, self._viewer)
        folders = self._folders()
        projects = {name for one in folders for name in paths.project_names(one)}
        facts = holding(listed, projects, self._viewer, listing.minute(self._now))
        memories = {fact["id"]: fact_line(fact, self._viewer) for fact in facts}
        if vault is not None and self._args.prompt:  # what fits it
            shown_ids = frozenset((*(row["id"] for row in sections["preferences"]), *memories))
            try:
                memories |= recall(vault, self._args.prompt, shown_ids, self._args.harness)
            except VaultmemError as error:
                self._problems.append(str(error))
        advice = commands(self._args.harness, folder, _project(folders, folder))
        text = context(advice, sections, [*memories.values()], listed.review, self._viewer)
        lines = [(row["memory"], row["text"]) for rows in sections.values() for row in rows]
        if ids := [id_ for id_, line in (*lines, *memories.items()) if id_ and line in text]:
            listing.note(paths.state_folder(folder), ids, clock.seconds())
        return text

    def _gather(self, vault: Vault) -> Listed:
        """The pending items and valid facts, from the index."""
        try:
            if vault.is_indexed():
                return listing.gather(vault, self._now, keep=not self._in_agent)
        except VaultmemError as error:
            self._problems.append(str(error))
        return listing.Listed([], [], [])

    def _folders(self) -> list[str]:
        """The folders of the session: those that the harness names, else the working directory."""
        caller = getattr(self._args, "caller", None)
        if caller is None and self._in_agent:
            return []  # a request over the socket without a folder
        cwd, stdin = caller or (paths.here(), client.stdin_so_far())
        return _folders_in(stdin) or [cwd]


def _project(folders: list[str], vault: str) -> str:
    """The name of the repository that a session in these folders works in; "" outside of one, and in the vault."""
    others = "", vault, os.path.expanduser("~")
    repositories = map(paths.repository, folders)
    return next((os.path.basename(one) for one in repositories if one not in others), "")


def _by_agent_elsewhere(args: Namespace) -> int | None:
    """If no vault is named, set or at or above the working directory, use the one at or above a folder that the
    harness names. Returns the exit code if its agent has answered; else None."""
    if args.vault:
        return None
    try:
        args.vault = listing.vault_of(None)
    except VaultNotFoundError:
        vaults = map(paths.find_vault, _folders_in(client.stdin_so_far()))
        vault = next(filter(None, vaults), None)
        if vault is None:
            raise
        args.vault = vault
        prompt = ["--prompt", args.prompt] if args.prompt else []
        words = [args.event, "--harness", args.harness, *prompt, "--vault", vault]
        return client.ask_agent("hook", words)
    return None


def _folders_in(stdin: str) -> list[str]:
    """The folders that the harness names on stdin."""
    event = json_object(stdin)
    roots = event.get("workspace_roots")
    named = [*(roots if isinstance(roots, list) else []), event.get("cwd")]
    return [
        folder
        for folder in named
        if isinstance(folder, str) and os.path.isabs(folder) and "\0" not in folder
    ]
