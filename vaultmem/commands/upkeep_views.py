"""Maintenance, the review of its proposals, and the history with undo."""

from __future__ import annotations

import os
import sys

from vaultmem import screen
from vaultmem.api import Vault
from vaultmem.client import is_terminal
from vaultmem.commands.rendering import (
    embed_first,
    local_time,
    open_vault,
    params_of,
    progress_bar,
    short,
    show_diff,
    show_report,
    vault_of,
    would_be,
)
from vaultmem.errors import UsageError, VaultmemError
from vaultmem.notes.places import ARCHIVE
from vaultmem.output import Output
from vaultmem.reminders.items import WORDS
from vaultmem.text.sanitize import one_line, one_line_or_placeholder
from vaultmem.text.values import TYPE_CHECKING, plural

if TYPE_CHECKING:
    from types import SimpleNamespace as Namespace

    from vaultmem.commands.rendering import Answer
    from vaultmem.memories.reports import CommitReport, Skipped, UndoReport
    from vaultmem.review.review import ProposalReport

_QUESTION = "[a]ccept, [r]eject, [s]kip, [q]uit? "


def maintain(args: Namespace, output: Output) -> int:
    """dream, consolidate, compress: run maintenance, or show what it would do."""
    name = args.command
    opened = vault_of if name == "compress" else open_vault
    with opened(args, output) as vault:
        if name == "consolidate" or getattr(args, "level", 1) > 1:  # these compare by meaning
            embed_first(vault, output)
        with progress_bar(output):
            report = getattr(vault, name)(**params_of(name, args))
        show_report(report, output)
        if name == "dream" and not output.as_json:
            from vaultmem.pending.review_sources import strays

            folder = vault.config.text("memory_folder")
            for path, text in strays(vault.searcher().catalog, folder):
                output.remark(f"{path} {text}")
    return 0


# --- expectations


def expect(args: Namespace, output: Output) -> int:
    """Record or remove an expectation, list them, or check them."""
    if args.run and args.question:
        raise UsageError("--run checks all expectations; leave the question out")
    if args.question or args.remove:
        return _change_expectation(args, output)
    opened = open_vault if args.run else vault_of
    with opened(args, output) as vault:
        rows = vault.check_expectations() if args.run else vault.expectations()
    lost = [row for row in rows if not row.get("found", True)]
    counts = {"lost": len(lost)} if args.run else {}
    output.answer({"expectations": rows, "count": len(rows), **counts})
    for row in rows:
        output.line(_expectation_line(row, output))
    met = f", {len(rows) - len(lost):,} met" if args.run else ""
    output.note(f"{plural(len(rows), 'expectation')}{met}")
    return 1 if lost else 0


def _change_expectation(args: Namespace, output: Output) -> int:
    with vault_of(args, output) as vault:
        report = vault.ask("expect", **params_of("expect", args))
    if args.dry_run:
        show_report(report, output)
        return 0
    done = "expected" if report["changed"] else "expected already"
    done = "no longer expected" if args.remove else done
    output.result(report, f"{done}: {_expectation_line(report, output)}")
    for other in report.get("others", ()):
        import shlex  # rarely needed

        taken_out = shlex.join(["vaultmem", "expect", report["question"], other, "--remove"])
        output.remark(f"the same question has to find {other!r}, too; {taken_out} ends that")
    return 0


def _expectation_line(expectation: Answer, output: Output) -> str:
    line = f"{expectation['question']} → {expectation['answer']}"
    if "found" not in expectation:
        return line
    place_ = output.paint(
        expectation["path"] or "not found", "cyan" if expectation["found"] else "red"
    )
    return f"{line}  {place_}"


# --- review


def review(args: Namespace, output: Output) -> int:
    """List the proposals of dreams and models, decide on one, or go through them; and list what else needs
    attention."""
    if args.id is None and (args.accept or args.reject):
        raise UsageError("name the proposal: vaultmem review ID --accept (or --reject)")
    from vaultmem.ledger.reads import RULES

    made = {says: kind for says in RULES if (kind := getattr(args, says))}
    with open_vault(args, output) as vault:
        if made:
            _rule(vault, made, args, output)
        elif args.accept or args.reject:
            _decide(vault, args, output)
        else:
            _show_review(vault, args, output)
    return 0


def _show_review(vault: Vault, args: Namespace, output: Output) -> None:
    """List what is to be reviewed, or go through the proposals with a person."""
    answer = vault.ask("proposals", id=args.id)
    proposals, rules = answer["proposals"], answer["rules"]
    chores = [] if args.id is not None or not vault.is_indexed() else vault.chores()
    count = len(proposals) + len(chores)
    if output.as_json:
        output.data({"proposals": proposals, "chores": chores, "count": count, "rules": rules})
        return
    for kind, says in sorted(rules.items()):
        output.remark(f"{says} {kind} (vaultmem review --ask {kind} ends that rule)")
    if args.list or not (is_terminal(sys.stdin) and is_terminal(sys.stdout)):
        advice = "; vaultmem review --accept ID or --reject ID decides on a proposal"
        output.remark(f"{count} to review{advice if proposals else ''}")
        for proposal in proposals:
            output.line(_proposal_line(proposal, output))
    else:
        _go_through(vault, proposals, args, output)
    if chores:
        output.remark("vaultmem done ID or drop ID answers an item whose id begins with vm-")
    for chore in chores:
        text = one_line_or_placeholder(chore["text"], WORDS)
        source = output.paint(one_line(chore["source"]), "dim")
        output.line("  ".join(filter(None, (output.paint(chore["id"], "yellow"), text, source))))


def _rule(vault: Vault, made: dict[str, str], args: Namespace, output: Output) -> None:
    would = "would set " if args.dry_run else ""
    for says, kind in made.items():
        report = vault.rule(kind, says, by=args.by, dry_run=args.dry_run)
        output.result({**report, "dry_run": args.dry_run}, f"{would}{says}: {kind}")


def _decide(vault: Vault, args: Namespace, output: Output) -> None:
    if not args.dry_run:
        report = (vault.accept if args.accept else vault.reject)(args.id, by=args.by)
        output.result(report, f"{'accepted' if args.accept else 'rejected'}: {report['said']}")
        return
    (proposal,) = vault.ask("proposals", id=args.id)["proposals"]
    output.answer({**proposal, "dry_run": True})
    if not output.as_json:
        _show_proposal(proposal, output)


def _proposal_line(proposal: ProposalReport, output: Output) -> str:
    line = f":{proposal['line']}" if proposal.get("line") else ""
    where = output.paint(f"{proposal['path']}{line}", "cyan")
    reason = f" ({proposal['reason']})" if proposal.get("reason") else ""
    return f"{output.paint(proposal['id'], 'yellow')}  {proposal['kind']}  {where}  {proposal['said']}{reason}"


def _show_proposal(proposal: ProposalReport, output: Output) -> None:
    output.line(_proposal_line(proposal, output))
    for piece in proposal["evidence"]:
        output.line(f"    {piece}")
    show_diff(proposal.get("diff"), output)


def _go_through(
    vault: Vault, proposals: list[ProposalReport], args: Namespace, output: Output
) -> None:
    if not proposals:
        output.remark("nothing to review; vaultmem dream --level 3 looks for something")
    for number, proposal in enumerate(proposals, 1):
        output.line(output.paint(f"{number} of {len(proposals)}", "bold"))
        _show_proposal(proposal, output)
        answer = _ask(output)
        if answer == "q":
            return
        try:
            if answer == "a":
                vault.accept(proposal["id"], by=args.by, dry_run=args.dry_run)
            elif answer == "r" and not args.dry_run:
                vault.reject(proposal["id"], by=args.by)
        except VaultmemError as error:  # the note has changed; the other proposals still hold
            output.remark(str(error))


def _ask(output: Output) -> str:
    """One of a, r, s, q, by a single key. End of input counts as q."""
    while True:
        output.prompt(_QUESTION)
        key = _key()
        output.prompt("\n" if key and is_terminal(sys.stdin) else "")
        if not key:
            return "q"
        answer = key.strip().lower()[:1]
        if answer and answer in "arsq":
            return answer


def _key() -> str:
    """The next key pressed at a terminal, without Enter; else the next line. Ctrl-C works as usual."""
    try:
        import termios
        import tty

        handle = sys.stdin.fileno()
        before = termios.tcgetattr(handle)
    except (ImportError, OSError, ValueError, AttributeError):
        return sys.stdin.readline()
    try:
        tty.setcbreak(handle, termios.TCSADRAIN)
        key = os.read(handle, 1).decode("ascii", "replace")
    finally:
        termios.tcsetattr(handle, termios.TCSADRAIN, before)
    return "" if key == "\x04" else key


# --- history


def show_history(answer: Answer, _args: Namespace, output: Output) -> None:
    """history: print one entry per line."""
    if not answer["history"]:
        but = "; --conversations shows what conversations did" if answer["left_out"] else ""
        output.remark(f"the history has no such entries{but}")
    for one in answer["history"]:
        output.line(_entry_line(one, output))


def _entry_line(entry: CommitReport, output: Output) -> str:
    files = entry.get("files", ())
    many = f"  {output.paint(plural(len(files), 'file'), 'dim')}" if len(files) > 1 else ""
    commit, by = output.paint(short(entry["commit"]), "yellow"), output.paint(entry["by"], "cyan")
    machine = f" on {entry['machine']}" if entry.get("machine") else ""
    ahead = f"{commit}  {local_time(entry['at'])}  {by}{machine}  "
    why = entry["why"] + _by_hand(entry)
    if output.columns:
        why = screen.cut(why, output.room(output.width_of(ahead + many), 16))
    return f"{ahead}{why}{many}"


def _by_hand(commit: CommitReport) -> str:
    """The file of an entry for an edit made without vaultmem, if it is one."""
    from vaultmem.history.commits import OUTSIDE

    files = commit.get("files", [])
    if len(files) != 1 or not commit["why"].endswith(OUTSIDE):
        return ""
    names = dict.fromkeys(filter(None, (files[0]["path"], files[0]["target"])))
    return f": {one_line(' → '.join(names))}"


def show_difference(answer: CommitReport, _args: Namespace, output: Output) -> None:
    """diff: print an entry of the history and its unified diff."""
    output.remark(_entry_line(answer, output))
    show_diff(answer.get("diff"), output)


def undo(args: Namespace, output: Output) -> int:
    """Undo changes to memories, as far as possible."""
    with vault_of(args, output) as vault:
        report = vault.undo(**params_of("undo", args))
    if output.as_json:
        output.data(report)
    else:
        _show_undone(report, output)
    return 1 if report["refused"] and not report["changes"] else 0


def _show_undone(report: UndoReport, output: Output) -> None:
    refused, changes, answers = report["refused"], report["changes"], report["answers"]
    if not (changes or answers):
        if refused:
            raise VaultmemError(_refusal(report))
        output.remark("already undone: nothing was changed")
        return
    would, done = would_be(dry_run=report["dry_run"]), "redone" if report["redone"] else "undone"
    for commit in report["undone"]:
        output.line(f"{would}{done}: {_entry_line(commit, output)}")
    for it in answers:
        output.line(f"  {output.paint(it['id'], 'yellow')} {would}{it['state']}: {it['text']}")
    for change in changes:
        before, after = change["path"], change["target"]
        move = str(after) if before in (None, after) else f"{before} → {after}"
        output.line(f"  {output.paint(move, 'cyan')}")
        show_diff(change.get("diff"), output)
    back = "undo --last takes it back" if report["redone"] else "undo --redo does it again"
    then = "" if report["dry_run"] else f"vaultmem {back}"
    if remark := "; ".join(filter(None, (_count_files(report), then))):
        output.remark(remark)
    for skipped in refused:
        output.remark(f"not {done}: {_reason(skipped)}")


def _count_files(report: UndoReport) -> str:
    """How many files are as before, and how many archived; "" if only answers were undone."""
    away, would = f"/{ARCHIVE}/", would_be(dry_run=report["dry_run"])
    changes = report["changes"]
    archived = sum(away in one["target"] and away not in (one["path"] or "") for one in changes)
    counts = ((len(changes) - archived, f"{would}as before"), (archived, f"{would}archived"))
    return ", ".join(f"{plural(count, 'file')} {state}" for count, state in counts if count)


def _refusal(report: UndoReport) -> str:
    """Why nothing was undone, and what to do instead."""
    undone, before = report["undone"], report["before"]
    what = f" of {short(undone[0]['commit'])} ({undone[0]['why']})" if len(undone) == 1 else ""
    more = f"; what was done before it: vaultmem undo {short(before)}" if before else ""
    return f"nothing was undone{what}: {_reason(report['refused'][0])}{more}"


def _reason(refused: Skipped) -> str:
    """The reason, with the path once."""
    path, reason = refused["path"], refused["reason"]
    return reason if path in reason else f"{path}: {reason}"
