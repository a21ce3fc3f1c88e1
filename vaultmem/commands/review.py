"""vaultmem review: what dreams propose for notes of a person, and models for memories, is accepted or rejected one by
one; and all else that there is to look after is listed."""

from __future__ import annotations

import sys

from vaultmem.api import Vault
from vaultmem.client import is_terminal
from vaultmem.commands.memories import show_diff
from vaultmem.commands.shared import open_vault
from vaultmem.errors import NoteNotFoundError, UsageError, VaultmemError
from vaultmem.output import Output
from vaultmem.reminders.pending_page import WORDS
from vaultmem.text.sanitize import one_line, words
from vaultmem.text.values import TYPE_CHECKING, plural

if TYPE_CHECKING:
    import argparse
    from typing import Any

_QUESTION = "[a]ccept, [r]eject, [s]kip, [q]uit? "


def run(args: argparse.Namespace, output: Output) -> int:
    """List the proposals, decide on one, or go through them."""
    if args.id is None and (args.accept or args.reject):
        raise UsageError("name the proposal: vaultmem review ID --accept (or --reject)")
    with open_vault(args, output) as vault:
        found = vault.proposals()
        if args.id is not None:
            found = [_named(found, args.id)]
        if args.accept or args.reject:
            _decide(vault, found[0], args, output)
            return 0
        chores = [] if args.id is not None or not vault.is_indexed() else vault.chores()
        if output.as_json:
            output.data({"proposals": found, "chores": chores, "count": len(found) + len(chores)})
            return 0
        if args.list or not _is_asked():
            _list(found, output)
        else:
            _go_through(vault, found, args, output)
        for one in chores:
            output.line(_chore(one, output))
    return 0


def _chore(one: dict[str, Any], output: Output) -> str:
    parts = (
        output.paint(one["id"], "yellow"),
        words(one["text"], WORDS),
        output.paint(one_line(one["source"]), "dim"),
    )
    return "  ".join(part for part in parts if part)


def _named(found: list[dict[str, Any]], given: str) -> dict[str, Any]:
    fitting = [one for one in found if str(one["id"]).startswith(given.lower())]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        raise NoteNotFoundError(
            f"{given!r} could mean {len(fitting)} proposals; give more of the id"
        )
    raise NoteNotFoundError(f"no proposal has the id {given!r}; vaultmem review --list shows them")


def _is_asked() -> bool:
    """Whether there is a person who can answer."""
    return is_terminal(sys.stdin) and is_terminal(sys.stdout)


def _decide(vault: Vault, one: dict[str, Any], args: argparse.Namespace, output: Output) -> None:
    if args.dry_run:
        if output.as_json:
            output.data({**one, "dry_run": True})
        else:
            _show(one, output)
        return
    decide = vault.accept if args.accept else vault.reject
    report = decide(one["id"], by=args.by)
    if output.as_json:
        output.data(report)
    else:
        output.line(f"{'accepted' if args.accept else 'rejected'}: {one['said']}")


def _list(found: list[dict[str, Any]], output: Output) -> None:
    output.remark(f"vaultmem: {plural(len(found), 'proposal')}")
    for one in found:
        output.line(_line(one, output))


def _line(one: dict[str, Any], output: Output) -> str:
    line = f":{one['line']}" if one.get("line") else ""
    where = output.paint(f"{one['path']}{line}", "cyan")
    reason = f" ({one['reason']})" if one.get("reason") else ""
    return f"{output.paint(one['id'], 'yellow')}  {one['kind']}  {where}  {one['said']}{reason}"


def _show(one: dict[str, Any], output: Output) -> None:
    output.line(_line(one, output))
    for each in one["evidence"]:
        output.line(f"    {each}")
    if one.get("diff"):
        show_diff(one["diff"], output)


def _go_through(
    vault: Vault, found: list[dict[str, Any]], args: argparse.Namespace, output: Output
) -> None:
    if not found:
        output.remark("vaultmem: nothing to review; vaultmem dream --level 3 looks for something")
    for number, one in enumerate(found, 1):
        output.line(output.paint(f"{number} of {len(found)}", "bold"))
        _show(one, output)
        answer = _asked(output)
        if answer == "q":
            return
        try:
            if answer == "a":
                vault.accept(one["id"], by=args.by, dry_run=args.dry_run)
            elif answer == "r" and not args.dry_run:
                vault.reject(one["id"], by=args.by)
        except VaultmemError as error:  # the note was changed meanwhile; the others are still good
            output.remark(f"vaultmem: {error}")


def _asked(output: Output) -> str:
    """One of a, r, s, q. The end of the input is q."""
    while True:
        output.prompt(_QUESTION)
        line = sys.stdin.readline()
        if not line:
            return "q"
        answer = line.strip().lower()[:1]
        if answer and answer in "arsq":
            return answer
