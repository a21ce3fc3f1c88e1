"""vaultmem hook: what the start-up hook of a harness reads. Whatever fails, it gets its JSON, and starts."""

from __future__ import annotations

import os

from vaultmem import client, paths
from vaultmem import now as clock
from vaultmem.assistants.context import DAYS, context, fact_line, holding
from vaultmem.assistants.programs import HARNESSES, answer
from vaultmem.errors import StateError, VaultmemError, VaultNotFoundError
from vaultmem.memories.model import viewer
from vaultmem.output import Output, json_text
from vaultmem.reminders import listing
from vaultmem.text.values import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from vaultmem.api import Vault
    from vaultmem.reminders.listing import Fact, Listed, Row

MOST = 10_000  # characters on stdout


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
        facts = _facts(kept, args, now)
        return _told(args, folder, _found(kept, args, now), _lines(facts, args))
    from vaultmem.api import Vault

    troubles: list[str] = []
    with given if in_agent else Vault(folder) as vault:
        listed = kept if kept is not None else _listed(vault, args, now, troubles)
        found, facts = _found(listed, args, now), _facts(listed, args, now)
        told = frozenset(row["id"] for row in (*found["preferences"], *facts))
        recalled = _recalled(vault, args, told, troubles)
    if troubles:
        output.remark(f"vaultmem: {'; '.join(dict.fromkeys(troubles))}")
    return _told(args, folder, found, {**_lines(facts, args), **recalled})


def _told(
    args: argparse.Namespace, folder: str, found: dict[str, list[Row]], memories: dict[str, str]
) -> str:
    """What to tell; the memories in it count as used."""
    text = context(args.harness, folder, found, [*memories.values()])
    lines = [(row["memory"], row["text"]) for rows in found.values() for row in rows]
    if ids := [id_ for id_, line in (*lines, *memories.items()) if id_ and line in text]:
        listing.note(paths.state_folder(folder), ids, clock.seconds())
    return text


def _listed(vault: Vault, args: argparse.Namespace, now: float, troubles: list[str]) -> Listed:
    """What waits and what holds, found anew. Nothing is indexed for it."""
    from vaultmem.reminders.waiting import gather

    try:
        if vault.is_indexed():
            return gather(vault, now, keep=_is_elsewhere(args.vault))
    except VaultmemError as error:
        troubles.append(str(error))
    return listing.Listed([], [], [])


def _found(listed: Listed, args: argparse.Namespace, now: float) -> dict[str, list[Row]]:
    """What is for the assistant that the harness starts, by section."""
    to = viewer(args.harness)
    return listing.by_section([row for row in listed.rows if to.sees(row["scope"])], DAYS, now)


def _facts(listed: Listed, args: argparse.Namespace, now: float) -> list[Fact]:
    projects = {name for folder in _folders(args) for name in paths.project_names(folder)}
    return holding(listed.facts, projects, viewer(args.harness), listing.minute(now))


def _lines(facts: list[Fact], args: argparse.Namespace) -> dict[str, str]:
    return {one["id"]: fact_line(one, viewer(args.harness)) for one in facts}


def _folders(args: argparse.Namespace) -> list[str]:
    """The folders that the session works in: those that the harness names, else the one it was started in."""
    caller = getattr(args, "caller", None)
    if caller is None and not _is_elsewhere(args.vault):
        return []  # asked over the socket by somebody who names no folder
    cwd, said = caller or (_cwd(), client.spoken())
    return _named(_read(said)) or [cwd]


def _cwd() -> str:
    try:
        return os.getcwd()
    except OSError:  # somebody has removed it
        return ""


def _recalled(
    vault: Vault, args: argparse.Namespace, told: frozenset[str], troubles: list[str]
) -> dict[str, str]:
    if not args.prompt:
        return {}
    from vaultmem.assistants.context import recall

    try:
        return recall(vault, args.prompt, told, args.harness)
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
        found = _spoken_of()
        if found is None:
            raise
        args.vault = found
        prompt = ["--prompt", args.prompt] if args.prompt else []
        words = [args.event, "--harness", args.harness, *prompt, "--vault", found]
        return client.ask_agent("hook", [*words, "--format", args.format])
    return None


def _spoken_of() -> str | None:
    """The vault at or above one of the folders that the harness names."""
    folders = _named(_read(client.spoken()))
    return next((found for folder in folders if (found := paths.find_vault(folder))), None)


def _named(given: object) -> list[str]:
    """The folders in what the harness says."""
    if not isinstance(given, dict):
        return []
    roots = given.get("workspace_roots")
    named = [*(roots if isinstance(roots, list) else []), given.get("cwd")]
    return [one for one in named if isinstance(one, str) and os.path.isabs(one) and "\0" not in one]


def _read(said: str) -> object:
    import json

    try:
        return json.loads(said)
    except (ValueError, RecursionError):
        return None
