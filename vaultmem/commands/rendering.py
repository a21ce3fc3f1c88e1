"""What commands share: opening the vault, the parameters of their verbs, printing answers, reports and diffs."""

from __future__ import annotations

import sys
from contextlib import contextmanager

from vaultmem import now, screen
from vaultmem.api.verbs import COMMAND, JSON, find_verb, resolve_command
from vaultmem.client import is_terminal
from vaultmem.errors import UsageError, VaultmemError
from vaultmem.output import PAIRS, Output
from vaultmem.text.values import TYPE_CHECKING, plural

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import SimpleNamespace as Namespace
    from typing import Any

    from vaultmem.api.vault import Embedded, Vault
    from vaultmem.index.compare import Report
    from vaultmem.memories.reports import ChangeReport, PlanReport, Skipped

    Answer = dict[str, Any]

MOST_READ = 16_777_216  # bytes of stdin; anything longer is not a memory
MINUTE, DAY = 60, 86_400
FEW_BLOCKS = 2_000  # blocks to embed on the spot
MOST_NAMED = 5  # files listed per reason
_DONE = {
    "create": "written", "edit": "changed", "move": "filed under", "archive": "archived", "restore": "restored",
}  # fmt: skip
_COLOURS = {"+": "green", "-": "red", "@": "cyan"}


def show(answer: Any, args: Namespace, output: Output) -> None:
    """Print the answer of a command's verb."""
    verb = find_verb(args.command)
    if output.as_json:
        output.data(answer)
        return
    if not verb.show or (getattr(args, "dry_run", False) and "changes" in answer):
        show_report(answer, output)
    else:
        resolve_command(verb.show)(answer, args, output)
    if verb.remarks:
        resolve_command(verb.remarks)(answer, output)


def ask(args: Namespace, output: Output) -> int:
    """Ask a command's verb, and print its answer. Returns the exit code."""
    with vault_of(args, output) as vault:
        answer = vault.ask(args.command, **params_of(args.command, args))
    show(answer, args, output)
    return 0


def params_of(name: str, args: Namespace) -> Answer:
    """The arguments of a command that its verb takes, by Python name."""
    params = (param for param in find_verb(name).params if param.fits(COMMAND) and param.fits(JSON))
    return {param.name: getattr(args, param.name) for param in params}


def params_and_stdin(args: Namespace) -> Answer:
    """The arguments that a command's verb takes; a text that is not among the words is read from stdin."""
    params = params_of(args.command, args)
    texts = (
        param.name
        for param in find_verb(args.command).params
        if param.kind == "long" and param.place
    )
    names = [name for name in texts if name in params]
    if any(params[name] is None for name in names) and is_terminal(sys.stdin):
        advice = f"type it after {args.command}, or pipe it in; see vaultmem {args.command} --help"
        raise UsageError(f"the text is missing; {advice}")
    return {**params, **{name: text_or_stdin(params[name]) for name in names}}


def text_or_stdin(text: object) -> str:
    """The words of a command, or else stdin."""
    return text if isinstance(text, str) and text != "-" else read_stdin(MOST_READ)


def read_stdin(most: int) -> str:
    """The text on stdin, up to a limit in bytes."""
    try:
        return sys.stdin.buffer.read(most).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        what = f"stdin is not UTF-8 text (byte {error.start + 1:,})"
        raise VaultmemError(f"{what}; convert it first, for example with iconv") from error


# --- the vault and its index


def vault_of(args: Namespace, output: Output) -> Vault:
    """The vault, whether indexed or not: memories need no index. The agent has it open."""
    from vaultmem.api import Vault  # a listing does not need it

    vault = args.vault if isinstance(args.vault, Vault) else Vault(args.vault)
    output.root = vault.path
    if vault is not args.vault:
        now.use_zone(vault.config.text("notify.timezone"))
    warn(vault, output)
    return vault


def open_vault(args: Namespace, output: Output) -> Vault:
    """The vault; indexed now if it never was."""
    vault = vault_of(args, output)
    if vault is not args.vault and not vault.is_indexed():
        output.remark(f"indexing {vault.path}")
        show_sync(run_sync(vault, output), output)
    elif vault is not args.vault and not output.as_json:
        remark_age(vault, output)
    return vault


def remark_age(vault: Vault, output: Output, least: int = DAY, most: int = sys.maxsize) -> None:
    """Print the age of the index if it is between two, in seconds."""
    synced = vault.synced()
    age = now.seconds() - (synced or 0)
    if synced and least <= age < most:
        from vaultmem.text.times import format_duration

        words = format_duration(age - age % least)
        output.remark(f"the index is {words} old; vaultmem sync refreshes it")


def warn(vault: Vault, output: Output) -> None:
    """Print warnings about the settings."""
    for warning in vault.config.warnings:
        output.remark(warning)


@contextmanager
def progress_bar(output: Output) -> Iterator[None]:
    """Show the progress of the block's work, on a terminal."""
    from vaultmem.progress import report_to

    with output.bar() as bar, report_to(bar):
        yield


def run_sync(vault: Vault, output: Output, **how: bool) -> Report:
    """Sync with a progress line."""
    with progress_bar(output):
        return vault.sync(**how)


def run_embed(vault: Vault, output: Output) -> Embedded:
    """Embed with a progress line."""
    with progress_bar(output):
        return vault.embed()


def embed_first(vault: Vault, output: Output) -> None:
    """Embed a small vault on the spot; a large one is searched with the vectors it has."""
    try:
        vault.searcher().meaning()
    except VaultmemError:
        return  # without a model there is nothing to count
    done, total, problem = vault.embedded()
    missing = total - done
    if problem or not missing:
        return
    if missing > FEW_BLOCKS:
        if done:  # else the search says that there is none
            far = f"{missing:,} of {total:,} blocks are not embedded yet"
            output.remark(f"{far}; run vaultmem sync")
        return
    try:
        run_embed(vault, output)
    except VaultmemError as error:  # such as a full disk; existing vectors still work
        output.remark(str(error))


def show_sync(report: Report, output: Output) -> None:
    """The counts of a sync, on stderr."""
    changes = f"{report.added} added, {report.changed} changed, {report.removed} removed"
    odd = f", {report.troubles} that cannot be read completely: see vaultmem doctor"
    state = (
        f"{report.unchanged} unchanged in {report.seconds:.1f} s{odd if report.troubles else ''}"
    )
    output.remark(f"{changes}, {state}")


# --- memories and reports


def short(id_: object) -> str:
    """The beginning of an id, long enough to tell memories apart."""
    return str(id_)[:8]


def count_of(number: int) -> str:
    """ "1 memory", "2 memories"."""
    return plural(number, "memory", "memories")


def local_time(stamp: str) -> str:
    """A moment in local time."""
    from datetime import datetime  # not needed for a listing

    return datetime.fromisoformat(stamp).astimezone().strftime("%Y-%m-%d %H:%M")


def place(record: Answer, output: Output) -> str:
    """A memory on one line."""
    id_ = output.paint(short(record["id"]), "yellow")
    return f"{record['title']} ({id_}) in {output.place(record['path'])}"


def show_done(done: str, record: Answer, output: Output) -> None:
    """Print the result for a memory: the record as JSON, or one line."""
    output.result(record, f"{done}: {place(record, output)}")


def show_report(report: PlanReport, output: Output) -> None:
    """Print what a job, or a dry run of any verb, changed or would change, and what it noticed."""
    output.answer(report)
    would = would_be(dry_run=report["dry_run"])
    for change in report["changes"]:
        output.line(would + _change_line(change, output))
        show_diff(change.get("diff"), output)
    if report["findings"]:
        output.line(output.paint("noticed", "bold"))
    for finding in report["findings"]:
        subject = output.paint(finding["subject"], "cyan")
        output.line(f"  {finding['kind']}: {subject}  {finding['said']}")
        for other in finding["others"]:
            output.line(f"      {output.paint(other, 'dim')}")
    _show_counts(report, output)


def would_be(*, dry_run: bool) -> str:
    """The prefix of a verb in a dry run's report."""
    return "would be " if dry_run else ""


def _change_line(change: ChangeReport, output: Output) -> str:
    folder, _, name = change["target"].rpartition("/")
    category = folder.rpartition("/")[2]
    done = _DONE.get(change["action"], change["action"])
    if change["action"] == "move":
        done = f"{done} {category}"
    why = change["why"].removeprefix(f"{done}: ").removeprefix(f"{category}: ")
    tail = "" if not why or why == done else f" — {output.paint(why, 'dim')}"
    return f"{done}: {output.paint(name.removesuffix('.md'), 'bold')}{tail}"


def _show_counts(report: PlanReport, output: Output) -> None:
    done = {**_DONE, "move": "filed"}
    would = would_be(dry_run=report["dry_run"])
    counts = [f"{n:,} {would}{done.get(action, action)}" for action, n in report["counts"].items()]
    for rows, what in ((report["skipped"], "left alone"), (report["findings"], "noticed")):
        if rows:
            counts.append(f"{len(rows):,} {what}")
    head = "dry run, nothing was done" if report["dry_run"] else report["job"]
    remarks = [f"{head}: {', '.join(counts) or 'nothing to change'}"]
    remarks += _left_alone(report["skipped"])
    if report.get("aside"):
        remarks.append(f"left alone: {plural(report['aside'], 'file')} edited just now")
    if report.get("proposals"):
        what = "" if report.get("model") else " for notes of yours"
        remarks.append(f"{plural(report['proposals'], 'proposal')}{what}: vaultmem review")
    if report.get("model") and report["model"]["trouble"]:
        remarks.append(f"without a model: {report['model']['trouble']}")
    if report["left"]:
        remarks.append(f"{report['left']:,} left: run it again")
    for remark in remarks:
        output.note(remark)


def _left_alone(skipped: Iterable[Skipped]) -> Iterator[str]:
    """One line for each reason."""
    paths: dict[str, list[str]] = {}
    for one in skipped:
        reason = one["reason"].removeprefix(f"{one['path']} ").removeprefix("is ")
        paths.setdefault(reason, []).append(one["path"])
    for reason, some in paths.items():
        more = f" and {len(some) - MOST_NAMED:,} more" if len(some) > MOST_NAMED else ""
        yield f"left alone: {', '.join(some[:MOST_NAMED])}{more}: {reason}"


def show_words(ahead: str, text: str, output: Output, *styles: str) -> None:
    """Print text after some words: on a terminal wrapped with a hanging indent, in a few lines; else on one line."""
    if not output.columns:
        output.line(ahead + output.paint(text, *styles))
        return
    lines = screen.wrap([(word, word) for word in text.split()], output.room(4), 3)
    head = output.width_of(ahead)
    if lines and head + screen.columns(lines[0]) > output.columns:
        output.line(ahead.rstrip())
        ahead = "    "
    for number, line in enumerate(lines or [""]):
        output.line((ahead if not number else "    ") + output.paint(line, *styles))


def show_diff(text: str | None, output: Output) -> None:
    """Print a unified diff, if any: in colour on a terminal, highlighting words that differ; else exact."""
    lines = text.removesuffix("\n").split("\n") if text else []
    pairs, room = _pairs(lines) if output.colour else {}, PAIRS
    for number, line in enumerate(lines):
        other = lines[pairs[number]] if number in pairs else ""
        room -= len(line) * len(other)
        if other and room > 0:
            painted = _words_that_differ(line, other, output)
        else:
            style = "bold" if line.startswith(("+++", "---")) else _COLOURS.get(line[:1])
            painted = output.paint(line, style) if style else line
        output.text(painted + "\n")


def _pairs(lines: list[str]) -> dict[int, int]:
    """Pair each removed line with the line that replaced it, by number and in both directions."""
    import re

    signs = (" " if line.startswith(("+++", "---")) else line[:1] or " " for line in lines)
    firsts = [match.start() for match in re.finditer(r"(?<!-)-\+(?!\+)", "".join(signs))]
    return {**{at: at + 1 for at in firsts}, **{at + 1: at for at in firsts}}


def _words_that_differ(line: str, other: str, output: Output) -> str:
    """A line of a diff, with the words that the other line lacks in reverse video."""
    import re
    from difflib import SequenceMatcher

    colour = _COLOURS[line[0]]
    words, theirs = (re.findall(r"\s+|\w+|[^\w\s]", side[1:]) for side in (line, other))
    text, at = output.paint(line[0], colour), 0
    for start, _, size in SequenceMatcher(
        None, words, theirs, autojunk=False
    ).get_matching_blocks():
        text += output.paint("".join(words[at:start]), colour, "reverse")
        text += output.paint("".join(words[start : start + size]), colour)
        at = start + size
    return text
