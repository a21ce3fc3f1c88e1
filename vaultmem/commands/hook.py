"""vaultmem hook: what the start-up hook of a harness reads. Whatever fails, it gets its JSON, and starts."""

from __future__ import annotations

import os
import sys

from vaultmem import client, paths
from vaultmem import now as clock
from vaultmem.core.access import viewer
from vaultmem.core.values import TYPE_CHECKING
from vaultmem.errors import StateError, VaultmemError, VaultNotFoundError
from vaultmem.harnesses.context import DAYS, context
from vaultmem.harnesses.table import HARNESSES, answer
from vaultmem.output import Output, json_text
from vaultmem.reminders import listing

if TYPE_CHECKING:
    import argparse

    from vaultmem.api import Vault
    from vaultmem.reminders.listing import Row

MOST = 10_000  # characters on stdout
_MOST_GIVEN = 65_536  # bytes of what the harness says on stdin
EPILOG = """\
For harnesses; vaultmem connect installs it. It prints the JSON that the harness reads and nothing else: your
preferences, what is overdue or due within a week, with --prompt also memories that fit it. Notes from the web, memories
still in the inbox and what assistants wrote are left out until you approve them (vaultmem pending). When anything
fails, the context is empty and the exit code is 0. It never indexes; without the sync agent it tells what the last
sync knew."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument("event", choices=("session-start",), help="what has happened")
    parser.add_argument(
        "--harness",
        metavar="NAME",
        required=True,
        help=f"who reads the answer: {', '.join(HARNESSES)}",
    )
    parser.add_argument(
        "--was", metavar="WORDS", help="nothing to this command: connect --remove reads it"
    )
    parser.add_argument("--prompt", metavar="TEXT", default="", help="what the session is about")


def run(args: argparse.Namespace, output: Output) -> int:
    """Print it."""
    if args.harness not in HARNESSES:
        output.remark(
            f"vaultmem: no harness is called {args.harness!r}; known: {', '.join(HARNESSES)}"
        )
        return refused(output)
    in_agent = not _is_elsewhere(args.vault)
    text = ""
    try:
        if not in_agent and (elsewhere := _by_agent_elsewhere(args)) is not None:
            return elsewhere
        text = _text(args, output)
    except Exception as error:  # the harness is to start whatever happens here
        if in_agent:
            raise StateError("the process that asks does it itself") from error
        said = " ".join(f"{error}".split()) or type(error).__name__
        output.remark(f"vaultmem: {said}")
    reply = answer(args.harness, text)
    while len(json_text(reply, 2)) > MOST:  # characters that JSON writes as several
        text = text[: len(text) * 3 // 4]
        reply = answer(args.harness, text)
    output.data(reply)
    return 0


def refused(output: Output) -> int:
    """What follows a line about wrong words. The exit code is 0: with 2, Claude Code and others would stop."""
    output.data({})
    return 0


def _is_elsewhere(given: object) -> bool:
    """Whether this is a process of its own; in the agent the vault is open."""
    return given is None or isinstance(given, str)


def _text(args: argparse.Namespace, output: Output) -> str:
    now = clock.seconds()
    given = args.vault
    in_agent = not _is_elsewhere(given)
    folder = given.path if in_agent else listing.vault_of(given)
    kept = None if in_agent else listing.kept(folder, now)
    if kept is not None and not args.prompt:
        return _told(args, folder, listing.by_section(_seen(kept.rows, args), DAYS, now), {})
    from vaultmem.api import Vault

    troubles: list[str] = []
    with given if in_agent else Vault(folder) as vault:
        rows = kept.rows if kept is not None else _rows(vault, args, now, troubles)
        found = listing.by_section(_seen(rows, args), DAYS, now)
        recalled = _recalled(vault, args, found, troubles)
    if troubles:
        output.remark(f"vaultmem: {'; '.join(dict.fromkeys(troubles))}")
    return _told(args, folder, found, recalled)


def _told(
    args: argparse.Namespace, folder: str, found: dict[str, list[Row]], recalled: dict[str, str]
) -> str:
    """What to tell; the memories in it count as used."""
    text = context(args.harness, folder, found, [*recalled.values()])
    lines = [(row["memory"], row["text"]) for rows in found.values() for row in rows]
    if ids := [id_ for id_, line in (*lines, *recalled.items()) if id_ and line in text]:
        from vaultmem.reminders import told

        told.note(paths.state_folder(folder), ids, clock.seconds())
    return text


def _rows(vault: Vault, args: argparse.Namespace, now: float, troubles: list[str]) -> list[Row]:
    """What waits, found anew. Nothing is indexed for it."""
    from vaultmem.reminders.gathering import gather

    try:
        if not vault.is_indexed():
            return []
        return gather(vault, now, keep=_is_elsewhere(args.vault)).rows
    except VaultmemError as error:
        troubles.append(str(error))
        return []


def _seen(rows: list[Row], args: argparse.Namespace) -> list[Row]:
    """What is for the assistant that the harness starts."""
    to = viewer(args.harness)
    return [row for row in rows if to.sees(row["scope"])]


def _recalled(
    vault: Vault, args: argparse.Namespace, found: dict[str, list[Row]], troubles: list[str]
) -> dict[str, str]:
    if not args.prompt:
        return {}
    from vaultmem.harnesses.recall import recall

    known = {row["id"] for row in found["preferences"]}
    try:
        return recall(vault, args.prompt, known, args.harness)
    except VaultmemError as error:
        troubles.append(str(error))
        return {}


def _by_agent_elsewhere(args: argparse.Namespace) -> int | None:
    """Where no vault is named, set or above the working directory, the one that the harness speaks of; if an agent
    answers for it, all is done."""
    if args.vault:
        return None
    try:
        args.vault = listing.vault_of(None)
    except VaultNotFoundError:
        found = _spoken_of(_given())
        if found is None:
            raise
        args.vault = found
        prompt = ["--prompt", args.prompt] if args.prompt else []
        words = [args.event, "--harness", args.harness, *prompt, "--vault", found]
        return client.ask_agent("hook", [*words, "--format", args.format])
    return None


def _spoken_of(given: object) -> str | None:
    """The vault at or above one of the folders that the harness names."""
    if not isinstance(given, dict):
        return None
    roots = given.get("workspace_roots")
    for folder in [given.get("cwd"), *(roots if isinstance(roots, list) else [])]:
        named = isinstance(folder, str) and os.path.isabs(folder) and "\0" not in folder
        if named and (found := paths.find_vault(folder)):
            return found
    return None


def _given() -> object:
    """What the harness has said on stdin until now; nobody waits for it."""
    import json
    import select

    try:
        number = sys.stdin.fileno()
        if os.isatty(number) or not select.select([number], [], [], 0)[0]:
            return None
        return json.loads(os.read(number, _MOST_GIVEN))
    except (OSError, ValueError, RecursionError):
        return None
