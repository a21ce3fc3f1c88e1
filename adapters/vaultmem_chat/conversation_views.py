"""vaultmem conversations and add: turns, facts and summaries of conversations."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import SimpleNamespace as Namespace
from typing import TYPE_CHECKING

from vaultmem import now as clock
from vaultmem.client import is_terminal
from vaultmem.commands.rendering import (
    local_time,
    read_stdin,
    short,
    show_done,
    show_report,
    vault_of,
)
from vaultmem.errors import NoteNotFoundError, UsageError, VaultmemError
from vaultmem.memories.conversation import FACTS, SUMMARIES, TURNS
from vaultmem.output import Output, table
from vaultmem.text.values import plural

if TYPE_CHECKING:
    from vaultmem_chat.learning.learning import Learned

MOST_READ = 1_048_576  # bytes of stdin
MOST_FACTS = 200
_ROLES = {"memory": "fact", "user": "user", "assistant": "assistant", "summary": "summary"}


def conversations(args: Namespace, output: Output) -> int:
    """List conversations, show one, or promote, forget or learn its facts."""
    args.name = (args.name or "").strip()
    if args.what in ("show", "promote", "forget") and not args.name:
        target = "a conversation" if args.what == "show" else "an entry by its id"
        raise UsageError(f"name {target}; see vaultmem conversations --help")
    if args.by and args.what in ("list", "show"):
        raise UsageError("only you see what was said in conversations; leave --by out")
    if args.what in ("list", "learn") and args.name:
        raise UsageError(f"conversations {args.what} takes no ID; did you mean show?")
    run = {"list": _list, "show": _show, "promote": _promote, "forget": _forget, "learn": _learn}
    run[args.what](args, output)
    return 0


def _list(args: Namespace, output: Output) -> None:
    with vault_of(args, output) as vault:
        listed = vault.conversations()
    output.answer({"conversations": listed, "count": len(listed)})
    output.note(plural(len(listed), "conversation"))
    rows = [
        (local_time(it["updated_at"]), plural(it["turns"], "turn"), plural(it["facts"], "fact"), it["conversation_id"])
        for it in listed
    ]  # fmt: skip
    for row in table(rows):
        output.line(row)


def _show(args: Namespace, output: Output) -> None:
    name = args.name
    kinds = {FACTS: args.facts, TURNS: args.turns, SUMMARIES: args.summary}
    with vault_of(args, output) as vault:
        every = vault.entries(name, [*filter(kinds.get, kinds)] or None, deleted=args.deleted)
        if not every and not vault.entries(name, deleted=True):
            advice = "vaultmem conversations lists those that there are"
            raise NoteNotFoundError(f"no conversation has the id {name!r}; {advice}")
    entries = [entry for entry in every if entry["deleted"] == args.deleted]
    entries = entries[-args.limit :] if args.limit else entries
    output.answer({"conversation_id": name, "entries": entries, "count": len(entries)})
    many = plural(len(entries), "entry", "entries")
    output.note(f"{many} of {name}")
    for entry in entries:
        first, *more = entry["content"].split("\n")
        is_session = entry["properties"].get("compression_source") is True
        role = "session" if is_session else _ROLES.get(entry["role"], entry["role"])
        head = f"{output.paint(short(entry['id']), 'yellow')}  {local_time(entry['created_at'])}"
        output.line(f"{head}  {output.paint(role, 'cyan')}: {first}")
        for line in more:
            output.line(f"    {line}".rstrip())


def _promote(args: Namespace, output: Output) -> None:
    how = {"category": args.category, "by": args.by, "dry_run": args.dry_run}
    with vault_of(args, output) as vault:
        report = vault.ask("promote-fact", id=args.name, **how)
    if args.dry_run:
        show_report(report, output)
    else:
        show_done("promoted" if report["created"] else "there already", report, output)


def _forget(args: Namespace, output: Output) -> None:
    with vault_of(args, output) as vault:
        how = {"derived": args.derived, "by": args.by, "dry_run": args.dry_run}
        report = vault.ask("forget", id=args.name, **how)
    if args.dry_run:
        show_report(report, output)
    else:
        first = report["content"].partition("\n")[0]
        show_done("put away", report if output.as_json else {**report, "title": first}, output)


def _learn(args: Namespace, output: Output) -> None:
    from vaultmem_chat.learning.worker import Worker
    from vaultmem_chat.llm.llm import open_model

    learned: list[Learned] = []
    with vault_of(args, output) as vault:
        worker = Worker(vault, lambda _: open_model(vault.config), learned.append)
        waiting = worker.turns.count()
        done = 0 if args.dry_run else worker.work_once()
    facts = [fact._asdict() for fact in learned]
    output.answer({"waiting": waiting, "remembered": done, "learned": facts})
    for fact in learned:
        show_learned(fact, output, output.line)
    is_left = waiting > done and not args.dry_run
    left = ", the others are still being answered, or another process is at it" if is_left else ""
    output.line(f"{plural(waiting, 'turn')} waited, {done:,} remembered{left}")


def add(args: Namespace, output: Output) -> int:
    """Add facts to a conversation and print the results."""
    facts = _facts(args.text)
    from vaultmem_chat.learning.learning import Source, take_in, write_down
    from vaultmem_chat.llm.llm import open_model, within_budget

    with vault_of(args, output) as vault:
        conversation = args.conversation or vault.config.text("conversations.id")
        source = Source(conversation.strip(), clock.seconds(), "", args.by, args.dry_run)
        if args.as_is:
            learned = write_down(vault, source, facts)
        else:
            model = within_budget(vault.config, open_model(vault.config))
            learned = take_in(vault, source, facts, model)
    report = learned._asdict()
    del report["turn"]  # there is none
    output.answer({**report, "dry_run": args.dry_run})
    show_learned(learned, output, output.line, dry_run=args.dry_run)
    if not (learned.added or learned.updated or learned.deleted):
        output.line("known already" if len(facts) == 1 else "all of it is known already")
    return 0


def _facts(words: list[str]) -> list[str]:
    if not words and is_terminal(sys.stdin):
        raise UsageError("what is to be added? see vaultmem add --help")
    facts = [word for word in words if word != "-"]
    if "-" in words or not words:
        facts += read_stdin(MOST_READ).splitlines()
    facts = [fact.strip() for fact in facts if fact.strip()]
    if not facts:
        raise VaultmemError("there is nothing to add; give some text")
    if len(facts) > MOST_FACTS:
        many = f"{len(facts):,} facts are too many at once"
        raise VaultmemError(f"{many}; add {MOST_FACTS} at a time")
    return facts


def show_learned(
    learned: Learned, output: Output, write: Callable[[str], None], *, dry_run: bool = False
) -> None:
    """Print what was learned with `write`, one line each."""
    would = "would be " if dry_run else ""
    for text in learned.added:
        write(f"{would}{output.paint('added', 'green')}: {text}")
    for old, new in learned.updated:
        write(f"{would}{output.paint('updated', 'yellow')}: {old} → {new}")
    for text in learned.deleted:
        write(f"{would}{output.paint('put away', 'red')}: {text}")
    if learned.trouble:
        output.note(f"by rules, not by the model: {learned.trouble}")
