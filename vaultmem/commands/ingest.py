"""vaultmem ingest: take in what other programs keep, or make memories of a long text."""

from __future__ import annotations

import os
import shlex

from vaultmem.commands.memories import show_report, vault_of
from vaultmem.commands.write import text_or_stdin
from vaultmem.errors import UsageError
from vaultmem.output import Output
from vaultmem.text.values import TYPE_CHECKING, plural

if TYPE_CHECKING:
    import argparse
    from typing import Any

    from vaultmem.api import Vault

_TEXTS = {
    "scope": "who sees it: global (the default), agent:NAME, conversation:ID or user:ID",
    "agent": "the assistant that brings it",
    "project": "the project it belongs to",
    "memory-type": "episodic, semantic, procedural or working; guessed part by part if left out",
}
_OF_TEXTS = ("scope", "agent", "project", "memory_type", "session_id", "tags")
_MOST_SHOWN = 20  # files of which it is said why they were left out


def run(args: argparse.Namespace, output: Output) -> int:
    """Take in what a source has, or a text."""
    if args.names:
        raise UsageError(_instead(args))
    if args.text is None and args.source == "text" and args.path is None:
        args.text = "-"
    if args.text is not None:
        return _run_text(args, output)
    if not args.source:
        raise UsageError("name a --source, or give a --text; see vaultmem ingest --help")
    for name in _OF_TEXTS:
        if getattr(args, name):
            raise UsageError(
                f"--{name.replace('_', '-')} goes with --text; a source says it itself"
            )
    with vault_of(args, output) as vault:
        report = _with_progress(vault, args, output)
    if output.as_json:
        output.data(report)
    else:
        _show(report, output)
    return 0


def _instead(args: argparse.Namespace) -> str:
    """What to type, where somebody names a file or a source without its option."""
    from vaultmem.exchange.sources import ALL, installed

    name, more = args.names[0], len(args.names) > 1
    if args.text is not None:
        return f"--text takes one text; put quotes around all of it (what is too much begins with {name[:40]!r})"
    if args.source is None and name in (*installed()[0], ALL):
        return f"name the source with its option: vaultmem ingest --source {name}"
    source = args.source or (_dialect_of(name) if os.path.isdir(name) else "text")
    each = "; one at a time" if more else ""
    return f"name the file or folder with --path: vaultmem ingest --source {source} --path {shlex.quote(name)}{each}"


def _dialect_of(folder: str) -> str:
    """The source that reads such a folder."""
    marks = {"obsidian": ".obsidian", "logseq": "logseq/config.edn"}
    return next(
        (name for name, mark in marks.items() if os.path.exists(f"{folder}/{mark}")), "text"
    )


def _with_progress(vault: Vault, args: argparse.Namespace, output: Output) -> dict[str, Any]:
    with output.bar() as bar:
        return vault.ingest(
            args.source, args.path, dry_run=args.dry_run, limit=args.limit, by=args.by, progress=bar
        )


def _show(report: dict[str, Any], output: Output) -> None:
    """What came in on stdout; what did not, and why, beside it."""
    for remark in report["remarks"]:
        output.remark(f"vaultmem: {remark}")
    skipped = [each for each in report["files"] if each["result"] == "skipped"]
    for each in report["files"]:
        if each["result"] != "new":
            continue
        said = plural(len(each["memories"]), "memory", "memories")
        cut = f"; {each['cut']}" if "cut" in each else ""
        gone = f"; redacted: {', '.join(each['redacted'])}" if each["redacted"] else ""
        output.line(f"{output.paint(each['path'], 'cyan')} ({each['source']}): {said}{cut}{gone}")
    for each in skipped[:_MOST_SHOWN]:
        output.remark(f"vaultmem: left out: {each['path']}: {each['reason']}")
    if len(skipped) > _MOST_SHOWN:
        output.remark(
            f"vaultmem: {len(skipped) - _MOST_SHOWN:,} more left out; --format json has all"
        )
    _say_counts(report, output)


def _say_counts(report: dict[str, Any], output: Output) -> None:
    counts = report["counts"]
    head = "ingest, nothing was done yet" if report["dry_run"] else "ingest"
    said = [
        f"{plural(counts['memories'], 'memory', 'memories')} of {plural(counts['new'], 'new file')}"
    ]
    said += [f"{counts[name]:,} {name}" for name in ("known", "skipped") if counts[name]]
    if counts["redacted"]:
        said.append(f"{plural(counts['redacted'], 'secret')} taken out")
    output.remark(f"vaultmem: {head}: {', '.join(said)}")
    if report["left"]:
        begun = sum(each["rest"] > 0 for each in report["files"])
        more = f", {begun:,} of them begun" if begun else ""
        output.remark(
            f"vaultmem: --limit is reached; {plural(report['left'], 'file')} left{more}: run the same again to go on"
        )


def _run_text(args: argparse.Namespace, output: Output) -> int:
    """Make memories of it, and say what became of each part."""
    if args.path is not None or args.limit is not None:
        raise UsageError("--path and --limit go with a --source, not with --text")
    text = text_or_stdin(args.text, output)
    about = {name: getattr(args, name) for name in ("scope", "agent", "project", "memory_type")}
    with vault_of(args, output) as vault:
        report = vault.ingest_text(
            text, **about, source=args.source, session_id=args.session_id, tags=args.tags, by=args.by,
            dry_run=args.dry_run,
        )  # fmt: skip
    show_report(report, output)
    if not output.as_json:
        _say_parts(report, output)
    return 0


def _say_parts(report: dict[str, Any], output: Output) -> None:
    for part in report["parts"]:
        if part["result"] != "new":
            reason = part.get("reason") or f"it is there already ({part['id'][:8]})"
            output.line(f"left out: {part['text'][:60]} ({reason})")
    new = sum(part["result"] == "new" for part in report["parts"])
    parts = plural(len(report["parts"]), "part")
    output.remark(f"vaultmem: {plural(new, 'memory', 'memories')} of {parts}")
    if report["redacted"]:
        many = plural(len(report["redacted"]), "secret")
        output.remark(f"vaultmem: {many} taken out: {', '.join(report['redacted'])}")
