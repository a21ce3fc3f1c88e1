"""vaultmem connect: adds our start-up hook, skill and MCP server to the settings of a harness, or removes them, and
changes nothing else."""

from __future__ import annotations

import contextlib
import difflib
import os
import shlex
import sys
from types import SimpleNamespace as Namespace

from vaultmem import config, paths, plugins
from vaultmem.adapter import JsonObject
from vaultmem.client import is_terminal
from vaultmem.commands.rendering import show_diff
from vaultmem.errors import UsageError, VaultmemError
from vaultmem.output import Output, json_text
from vaultmem.text import secrets
from vaultmem.text.values import TYPE_CHECKING
from vaultmem_assistants import context, hooks, servers, traces
from vaultmem_assistants.programs import EDITORS, HARNESSES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from vaultmem_assistants.hooks import Edited
    from vaultmem_assistants.programs import Harness, Json
    from vaultmem_assistants.traces import Part

PARTS = ("hook", "skill", "server")
_EDITORS = "vaultmem.editors"
_QUESTION = "Register the MCP server with {}, too, so that it can call the tools of memory? [Y/n] "


def run(args: Namespace, output: Output) -> int:
    """Edit the files, or show the edits."""
    if args.harness in EDITORS:
        if args.harness not in plugins.registered(_EDITORS):
            raise VaultmemError(f"no package that connects {args.harness} is installed")
        return int(plugins.load(_EDITORS, args.harness)(args, output))
    if args.token is not None and args.remote is None:
        raise UsageError("--token goes with --remote")
    vault = paths.check_vault(args.vault) if args.vault else ""
    work = Connecting(args, vault, output)
    if args.remote is not None:
        return _with_door(args, work)
    if args.instructions:
        work.show({"line": work.line()})
        return 0
    edits = work.edits(PARTS if args.remove or work.wants_server() else PARTS[:-1])
    work.show(edits)
    return 1 if "server" in edits and edits["server"] is None else 0


def _with_door(args: Namespace, work: Connecting) -> int:
    """Register only the server: hook and skill concern vaults of this machine."""
    if args.remove or args.instructions or args.vault or args.mcp is False:
        what = "--remote registers the MCP server of another machine and nothing else"
        raise UsageError(f"{what}; --remove alone removes it")
    work.show({"server": work.door(*servers.door(args.remote, args.token))})
    return 0


class Connecting:
    """Connects one harness, part by part."""

    def __init__(self, args: Namespace, vault: str, output: Output) -> None:
        self._args, self._output = args, output
        self._harness = HARNESSES[args.harness]
        self._vault = checked_name(vault)
        self._vault_option = ["--vault", vault] if vault else []
        self._program = shlex.join(paths.program())

    def wants_server(self) -> bool:
        """Whether to register the MCP server. At a terminal the person is asked, unless the hook is already there."""
        args, harness = self._args, self._harness
        if args.mcp is not None:
            return bool(args.mcp)
        with contextlib.suppress(ValueError, VaultmemError):
            text = hooks.read(harness.servers_path())
            if servers.is_registered(text, harness):  # renewed, if it is on this machine
                return not servers.is_remote(text, harness)
        can_ask = is_terminal(sys.stdin) and is_terminal(sys.stdout) and not self._output.as_json
        if can_ask and not args.dry_run and not hooks.is_connected(harness):
            self._output.prompt(_QUESTION.format(harness.title))
            return sys.stdin.readline().strip().lower() in ("", "y", "yes")
        return False

    # --- the parts

    def edits(self, names: Sequence[str]) -> dict[str, Edited | None]:
        """Add these parts, or remove them in reverse order, as two of them may be in one file. Returns the edits."""
        parts = {"hook": self.hook, "skill": self.skill, "server": self.server}
        edited = {name: parts[name]() for name in (names[::-1] if self._args.remove else names)}
        return {name: edited[name] for name in names}

    def line(self) -> Edited:
        """The line in a file of instructions."""
        path = os.path.abspath(os.path.expanduser(self._args.instructions))
        if len(self._vault.splitlines()) > 1 and not self._args.remove:
            raise VaultmemError(
                f"{self._vault} has a line break in its name, so one line cannot name it"
            )
        vault = shlex.quote(self._vault) if self._vault else ""
        line = context.line_of(self._args.harness, self._program, vault)
        part = (lambda text: context.add_instruction(text, line), context.remove_instruction)
        return self._edit(path, [part])

    def hook(self) -> Edited:
        """The start-up hook."""
        harness, path = self._harness, self._harness.path()
        words = [*paths.program(), *hooks.tag(harness).split(), *self._vault_option]
        if not harness.event:
            try:
                edited = self._own_file(path, context.plugin_text(words))
            except VaultmemError as error:
                raise VaultmemError(f"the plugin {path}: {error}") from error
            self._remove_empty(path, 1)
            return edited
        command = shlex.join(words)
        try:
            return self._edit(path, self._parts(hook=command))
        except ValueError as error:
            advice = "Remove the hook by hand: its command has vaultmem hook session-start"
            if not self._args.remove:
                lines = json_text({"hooks": {harness.event: [harness.entry(command)]}})
                advice = f"Add this by hand: {lines}"
            raise VaultmemError(f"{path} was left alone: {error}. {advice}") from error

    def server(self) -> Edited | None:
        """The MCP server. Settings that cannot be edited safely stay as they are; the other parts are done."""
        entry = self._harness.servers.entry([*paths.program(), "mcp", *self._vault_option])
        try:
            return self._register(entry)
        except VaultmemError as error:
            self._output.remark(str(error))
        return None

    def door(self, url: str, token: str) -> Edited:
        """The MCP server on another machine. A file that holds its token is readable by its owner only."""
        entry = self._harness.servers.remote.entry(url, token)
        if servers.is_secret(token) and not self._args.dry_run:
            path = self._harness.servers_path()
            is_new = not os.path.lexists(path)
            self._register(entry, dry_run=True)  # raises before the file is changed
            servers.make_private(path)
            return self._register(entry, is_new=is_new)
        return self._register(entry)

    def _register(self, entry: Json, *, dry_run: bool = False, is_new: bool = False) -> Edited:
        """Raises VaultmemError with advice where the settings cannot be edited safely."""
        harness, path = self._harness, self._harness.servers_path()
        try:
            return self._edit(path, self._parts(server=entry), dry_run=dry_run, is_new=is_new)
        except ValueError as error:
            advice = "Remove the server vaultmem by hand"
            if not self._args.remove:
                advice = f"Add this by hand:\n{masked(servers.add_server('', harness, entry))}"
            raise VaultmemError(f"{path} was left alone: {error}. {advice}") from error

    def skill(self) -> Edited | None:
        """The skill. One of that name that is not ours, or that the person has changed, stays."""
        harness, remove = self._harness, self._args.remove
        path = harness.skill()
        text = context.skill_text(self._program, shlex.quote(self._vault) if self._vault else "")
        others = (
            other for other in HARNESSES.values() if other != harness and other.skill() == path
        )
        users = ", ".join(one.title for one in others if hooks.is_connected(one))
        try:
            if remove and users:
                self._output.remark(f"the skill stays, for {users}: {path}")
                return None
            edited = self._own_file(path, text)
        except VaultmemError as error:
            self._output.remark(f"the skill {path}: {error}")
            return None
        self._remove_empty(path, 2 if harness.own_skills else 3)
        if users and not remove and edited.before not in ("", text):
            self._output.remark(f"the skill names this vault for {users}, too")
        return edited

    # --- files

    def _parts(self, hook: str = "", server: Json | None = None) -> list[Part]:
        """How parts of ours are added to settings and removed: that which is edited, then the other one, if it is in
        the same file."""
        harness = self._harness
        command = hook or f"vaultmem {hooks.tag(harness)}"
        entry = server or harness.servers.entry(["vaultmem", "mcp"])

        def removed(text: str, remove: Callable[[str, Harness], str]) -> str:
            # Settings that cannot be parsed may still hold nothing of ours.
            return remove(text, harness) if servers.NAME in text else text

        hook_part = (
            lambda text: hooks.add_hook(text, harness, command),
            lambda text: removed(text, hooks.remove_hook),
        )
        server_part = (
            lambda text: servers.add_server(text, harness, entry),
            lambda text: removed(text, servers.remove_server),
        )
        both = [server_part, hook_part] if server else [hook_part, server_part]
        is_shared = harness.event and harness.path() == harness.servers_path()
        return both if is_shared else both[:1]

    def _edit(
        self, path: str, parts: list[Part], *, dry_run: bool = False, is_new: bool = False
    ) -> Edited:
        dry_run = dry_run or self._args.dry_run
        if self._args.remove:
            return traces.remove_part(path, parts, dry_run=dry_run)
        return traces.add_part(path, parts, dry_run=dry_run, is_new=is_new)

    def _own_file(self, path: str, text: str) -> Edited:
        text = "" if self._args.remove else text
        return hooks.edit(
            path, lambda before: context.installed(before, text), dry_run=self._args.dry_run
        )

    def _remove_empty(self, path: str, levels: int) -> None:
        if self._args.dry_run or not self._args.remove:
            return
        folder = os.path.dirname(path)
        with contextlib.suppress(OSError):  # it is not empty
            for _ in range(levels):
                os.rmdir(folder)
                folder = os.path.dirname(folder)

    # --- the report

    def show(self, edits: dict[str, Edited | None]) -> None:
        """Print the edits."""
        args, output, harness = self._args, self._output, self._harness
        (_, first), *more = made = [(name, edit) for name, edit in edits.items() if edit]
        if output.as_json:
            head = {"harness": harness.name, **_to_json(first)}
            tail = {name: _to_json(edited) for name, edited in more}
            output.data({**head, "removed": args.remove, "dry_run": args.dry_run, **tail})
            return
        for name, edited in made:
            self._show_part("MCP server" if name == "server" else name, edited)
        if args.remove or args.instructions or args.remote is not None:
            return
        if "server" not in edits and args.mcp is None:
            output.remark("the MCP server is not registered; --mcp does that")
        if harness.advice:
            output.remark(harness.advice)
        if not args.vault and not config.load(None).text("vault"):
            here = paths.find_vault(paths.here())
            vault = shlex.quote(here) if here else "FOLDER"
            advice = f"vaultmem connect {harness.name} --vault {vault}"
            output.remark(
                f"a hook finds the vault only if it runs inside it; for all sessions: {advice}"
            )

    def _show_part(self, what: str, edited: Edited) -> None:
        args, title = self._args, self._harness.title
        if not edited.is_changed:
            state = "not installed" if args.remove else "already installed"
            self._output.line(f"{title}: the {what} is {state}: {edited.path}")
        elif args.dry_run:
            show_diff(diff_of(edited), self._output)
        else:
            done = "is no longer in" if args.remove else "is in"
            self._output.line(f"{title}: the {what} {done} {edited.path}")


def checked_name(vault: str) -> str:
    """The folder of a vault. Raises VaultmemError for one that settings, which are UTF-8, cannot name."""
    try:
        vault.encode()
    except UnicodeEncodeError:
        raise VaultmemError(
            f"the name of {vault} is not UTF-8, so no settings can hold it; rename it"
        ) from None
    return vault


def _to_json(edited: Edited) -> JsonObject:
    return {"path": edited.path, "changed": edited.is_changed, "diff": diff_of(edited)}


def diff_of(edited: Edited) -> str:
    """A unified diff of an edit, with tokens masked."""
    before, after = (text.splitlines(keepends=True) for text in (edited.before, edited.after))
    lines = difflib.unified_diff(before, after, edited.path, edited.path)
    return masked("".join(line if line.endswith("\n") else f"{line}\n" for line in lines))


def masked(text: str) -> str:
    """The text with all keys and tokens masked."""
    return secrets.redact_known_forms(text, [])
