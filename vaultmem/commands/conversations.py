"""vaultmem conversations: what was said and learned in conversations."""

from __future__ import annotations

from datetime import datetime

from vaultmem.commands.memories import (
    say_done,
    short,
    show_report,
    vault_of,
)
from vaultmem.errors import UsageError
from vaultmem.memories.conversation import FACTS, SUMMARIES, TURNS
from vaultmem.output import Output, table
from vaultmem.text.values import TYPE_CHECKING, plural

if TYPE_CHECKING:
    import argparse
    from typing import Any

WHAT = ("list", "show", "promote", "forget", "learn")
_ROLES = {"memory": "fact", "user": "user", "assistant": "assistant", "summary": "summary"}


def run(args: argparse.Namespace, output: Output) -> int:
    """Do what was asked for."""
    name = (args.name or "").strip()
    if args.what in ("show", "promote", "forget") and not name:
        wanted = "a conversation" if args.what == "show" else "an entry by its id"
        raise UsageError(f"name {wanted}; see vaultmem conversations --help")
    if args.what in ("list", "learn") and name:
        raise UsageError(f"conversations {args.what} takes no ID; did you mean show?")
    done = {"list": _list, "show": _show, "promote": _promote, "forget": _forget, "learn": _learn}
    return done[args.what](args, output)


def _list(args: argparse.Namespace, output: Output) -> int:
    with vault_of(args, output) as vault:
        found = vault.conversations()
    if output.as_json:
        output.data({"conversations": found, "count": len(found)})
        return 0
    output.remark(f"vaultmem: {plural(len(found), 'conversation')}")
    rows = [
        (
            _local(one["updated_at"]), plural(one["turns"], "turn"), plural(one["facts"], "fact"),
            str(one["conversation_id"]),
        )
        for one in found
    ]  # fmt: skip
    for row in table(rows):
        output.line(row)
    return 0


def _show(args: argparse.Namespace, output: Output) -> int:
    chosen = [(FACTS, args.facts), (TURNS, args.turns), (SUMMARIES, args.summary)]
    kinds = [kind for kind, is_wanted in chosen if is_wanted]
    name = (args.name or "").strip()
    with vault_of(args, output) as vault:
        every = vault.entries(name, kinds or None, deleted=args.deleted)
    found = [one for one in every if one["deleted"] == args.deleted]
    found = found[-args.limit :] if args.limit else found
    if output.as_json:
        output.data({"conversation_id": name, "entries": found, "count": len(found)})
        return 0
    said = (
        f" of {name}"
        if found
        else f"; vaultmem conversations list tells which there are besides {name}"
    )
    output.remark(f"vaultmem: {plural(len(found), 'entry', 'entries')}{said}")
    for one in found:
        _show_one(one, output)
    return 0


def _show_one(one: dict[str, Any], output: Output) -> None:
    first, *more = one["content"].split("\n")
    is_sum = one["properties"].get("compression_source") is True
    role = output.paint("session" if is_sum else _ROLES.get(one["role"], one["role"]), "cyan")
    head = f"{output.paint(short(one['id']), 'yellow')}  {_local(one['created_at'])}  {role}"
    output.line(f"{head}: {first}")
    for line in more:
        output.line(f"    {line}".rstrip())


def _promote(args: argparse.Namespace, output: Output) -> int:
    with vault_of(args, output) as vault:
        report = vault.promote_fact(
            args.name, category=args.category, by=args.by, dry_run=args.dry_run
        )
    if args.dry_run:
        show_report(report, output)
        return 0
    say_done("promoted" if report["created"] else "there already", report, output)
    return 0


def _forget(args: argparse.Namespace, output: Output) -> int:
    with vault_of(args, output) as vault:
        report = vault.forget(args.name, by=args.by, dry_run=args.dry_run)
    if args.dry_run:
        show_report(report, output)
    else:
        first = report["content"].partition("\n")[0]
        say_done("put away", report if output.as_json else {**report, "title": first}, output)
    return 0


def _learn(args: argparse.Namespace, output: Output) -> int:
    """Work the queue once."""
    from vaultmem.chat.reconciling import Learned
    from vaultmem.chat.worker import Worker
    from vaultmem.commands.add import show
    from vaultmem.llm.llm import open_model

    learned: list[Learned] = []
    with vault_of(args, output) as vault:
        worker = Worker(vault, lambda _: open_model(vault.config), learned.append)
        waiting = worker.turns.count()
        done = 0 if args.dry_run else worker.work_once()
    if output.as_json:
        told = [one._asdict() for one in learned]
        output.data({"waiting": waiting, "remembered": done, "learned": told})
        return 0
    for one in learned:
        show(one, output, output.line)
    is_left = waiting > done and not args.dry_run
    left = ", the others are still being answered, or another process is at it" if is_left else ""
    output.line(f"{plural(waiting, 'turn')} waited, {done:,} remembered{left}")
    return 0


def _local(stamp: str) -> str:
    """A moment by the clock on the wall."""
    return datetime.fromisoformat(stamp).astimezone().strftime("%Y-%m-%d %H:%M")
