"""vaultmem ingest, import and export: memories from and to other places."""

from __future__ import annotations

import io
import os
import shlex
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from vaultmem import paths
from vaultmem.commands.rendering import (
    count_of,
    params_of,
    progress_bar,
    show_report,
    text_or_stdin,
    vault_of,
    would_be,
)
from vaultmem.errors import UsageError, VaultmemError
from vaultmem.exchange import vault_sources
from vaultmem.exchange.lines import MEMORY_CLI, SHAPES
from vaultmem.output import Output
from vaultmem.text.values import TYPE_CHECKING, plural

if TYPE_CHECKING:
    from types import SimpleNamespace as Namespace
    from typing import BinaryIO

    from vaultmem.exchange.gathering import IngestReport
    from vaultmem.exchange.importing import ImportReport

MOST_ROWS = 20  # files or lines with their reasons
_OF_TEXTS = ("scope", "agent", "project", "memory_type", "session_id", "tags")


# --- ingest


def ingest(args: Namespace, output: Output) -> int:
    """Read another program's memories, or a text."""
    if args.text is None and args.source == "text" and args.path is None:
        args.text = "-"
    if args.text is not None:
        return _ingest_text(args, output)
    if not args.source:
        raise UsageError("name a --source, or give a --text; see vaultmem ingest --help")
    for name in _OF_TEXTS:
        if getattr(args, name):
            option = name.replace("_", "-")
            raise UsageError(f"--{option} goes with --text; a source says it itself")
    with vault_of(args, output) as vault, progress_bar(output):
        how = {"dry_run": args.dry_run, "limit": args.limit, "by": args.by}
        report = vault.ingest(args.source, args.path, **how)
    output.answer(report)
    _show_ingested(report, output)
    return 0


def _show_ingested(report: IngestReport, output: Output) -> None:
    """Print new memories on stdout, and on stderr what was left out and why."""
    for remark in report["remarks"]:
        output.note(remark)
    for file in (file for file in report["files"] if file["result"] == "new"):
        cut = f"; {file['cut']}" if "cut" in file else ""
        gone = f"; redacted: {', '.join(file['redacted'])}" if file["redacted"] else ""
        path, many = output.paint(file["path"], "cyan"), count_of(len(file["memories"]))
        output.line(f"{path} ({file['source']}): {many}{cut}{gone}")
    skipped = [file for file in report["files"] if file["result"] == "skipped"]
    for file in skipped[:MOST_ROWS]:
        output.note(f"left out: {file['path']}: {file['reason']}")
    if len(skipped) > MOST_ROWS:
        count = len(skipped) - MOST_ROWS
        output.note(f"{count:,} more left out; --json has all")
    counts = report["counts"]
    totals = [f"{count_of(counts['memories'])} of {plural(counts['new'], 'new file')}"]
    totals += [f"{counts[name]:,} {name}" for name in ("known", "skipped") if counts[name]]
    if counts["redacted"]:
        totals.append(f"{plural(counts['redacted'], 'secret')} taken out")
    head = "dry run, nothing was done" if report["dry_run"] else "ingest"
    output.note(f"{head}: {', '.join(totals)}")
    sources = {file["source"] for file in report["files"] if file["result"] == "new"}
    for name in () if report["dry_run"] else sorted(sources):
        _show_held_back(name, output)
    if report["left"]:
        begun = sum(file["rest"] > 0 for file in report["files"])
        more = f", {begun:,} of them begun" if begun else ""
        left = f"{plural(report['left'], 'file')} left{more}"
        output.note(f"--limit was reached; {left}: run the same command again to continue")


def _show_held_back(source: str, output: Output) -> None:
    output.note(
        f"held back until you approve them: vaultmem approve --source {shlex.quote(source)}"
    )


def _ingest_text(args: Namespace, output: Output) -> int:
    if args.path is not None or args.limit is not None:
        raise UsageError("--path and --limit go with a --source, not with --text")
    params = params_of("ingest", args)
    with vault_of(args, output) as vault:
        report = vault.ingest_text(**{**params, "text": text_or_stdin(args.text)})
    show_report(report, output)
    for part in report["parts"]:
        if part["result"] != "new":
            reason = part.get("reason") or f"it is there already ({part['id'][:8]})"
            output.line(f"left out: {part['text'][:60]} ({reason})")
    new = sum(part["result"] == "new" for part in report["parts"])
    if new < len(report["parts"]):
        output.note(f"{count_of(new)} of {plural(len(report['parts']), 'part')}")
    if new and args.source and not args.dry_run:
        _show_held_back(args.source, output)
    if report["redacted"]:
        many = plural(len(report["redacted"]), "secret")
        output.note(f"{many} taken out: {', '.join(report['redacted'])}")
    return 0


# --- import


def import_lines(args: Namespace, output: Output) -> int:
    """Import memories from JSON lines, and report the result of each."""
    places = [place for place in (args.file, args.input, args.store) if place]
    if len(places) != 1:
        raise UsageError("name one file, - for what stands on stdin, or --from a folder")
    shape = args.format if args.format in SHAPES else None
    store = vault_sources.read_store(args.store) if args.store else None
    how = {**params_of("import", args), "shape": MEMORY_CLI if store else shape}
    with (
        vault_of(args, output) as vault,
        progress_bar(output),
        io.BytesIO(store.lines) if store else _opened(places[0]) as file,
    ):
        report = vault.import_lines(file, **how)
    if store:  # name the file instead of the line
        for record in (*report["kept"], *report["failed"]):
            record["reason"] = f"{store.paths[record['line'] - 1]}: {record['reason']}"
    _show_imported(report, Output("json") if args.json else output)
    if store and store.settings:
        from vaultmem.text.sanitize import quote_text

        settings = (f"\n  {key}: {quote_text(str(value))}" for key, value in store.settings.items())
        output.remark(f"its settings, for {paths.config_file()}:{''.join(settings)}")
    return 1 if report["failures"] else 0


@contextmanager
def _opened(name: str) -> Iterator[BinaryIO]:
    """A file, or stdin for "-"."""
    if name == "-":
        yield sys.stdin.buffer
        return
    from vaultmem.exchange.export import LARGEST, TOO_LARGE

    try:
        found = os.stat(name)
        if not stat.S_ISREG(found.st_mode):  # a pipe or a device may have no end
            raise VaultmemError(f"{name} is not a regular file; - reads stdin")
        if found.st_size > LARGEST:
            raise VaultmemError(TOO_LARGE)
        with open(name, "rb") as file:
            yield file
    except OSError as error:
        raise VaultmemError(f"{name} cannot be read: {error.strerror}") from error


def _show_imported(report: ImportReport, output: Output) -> None:
    would = would_be(dry_run=report["dry_run"])
    counts = (
        f"{report['new']:,} new, {report['changed']:,} replaced, {report['known']:,} there already"
    )
    output.result(report, f"{would}imported: {counts}")
    for rows, what in ((report["kept"], "left as it is"), (report["failed"], "not imported")):
        for row in rows[:MOST_ROWS]:
            output.remark(f"line {row['line']}: {what}: {row['reason']}")
        if len(rows) > MOST_ROWS:
            output.remark(f"and {plural(len(rows) - MOST_ROWS, 'line')} more")
    if report["entries"] > 1:
        times = f"vaultmem undo --last, {report['entries']:,} times"
        output.remark(f"it was imported in several batches; to undo all of it: {times}")


# --- export


def export_lines(args: Namespace, output: Output) -> int:
    """Export memories as JSON lines, oldest first."""
    unreadable: list[int] = []
    with vault_of(args, output) as vault:
        shape = args.format if args.format in SHAPES else None
        how = {**params_of("export", args), "shape": shape}
        lines = vault.export_lines(on_left_out=unreadable.append, **how)
        if args.output:
            count = _write_file(args.output, lines, force=args.force)
            output.remark(f"{count_of(count)} in {args.output}")
        else:
            for line in lines:
                output.exact(line + "\n")
    if unreadable:
        files = plural(unreadable[0], "file")
        output.remark(f"{files} that cannot be read left out: vaultmem doctor names them")
    return 0


def _write_file(path: str, lines: Iterable[str], *, force: bool) -> int:
    """Write a file atomically, readable by its owner only. Returns its number of lines."""
    target = os.path.abspath(os.path.expanduser(path))
    if os.path.lexists(target) and not force:
        raise VaultmemError(f"{path} already exists; --force replaces it")
    written = [f"{line}\n" for line in lines]
    try:
        paths.replace_private(target, "".join(written), sync=True)
    except OSError as error:
        raise VaultmemError(f"{path} cannot be written: {error.strerror}") from error
    return len(written)
