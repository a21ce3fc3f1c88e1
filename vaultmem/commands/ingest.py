"""vaultmem ingest: make memories of a long text."""

from __future__ import annotations

from vaultmem.commands.memories import listed, show_report, vault_of, writing_options
from vaultmem.commands.write import text_or_stdin
from vaultmem.core.values import TYPE_CHECKING
from vaultmem.core.wording import plural
from vaultmem.output import Output

if TYPE_CHECKING:
    import argparse

EPILOG = """\
The text is cut at its paragraphs: those of fewer than 50 tokens join the next one, never over a heading, and none
has more than 300. A part with nothing in it to remember ("ok", "thanks") or of little importance is left out; what
is there already, or stands in the text before, is not written twice. All of it lands in the inbox.

examples:
  vaultmem ingest --text - --source meeting < minutes.txt
  vaultmem ingest --text "$(cat chat.md)" --session 2026-11-22 --dry-run"""
_TEXTS = {
    "scope": "who sees it: global (the default), agent:NAME, conversation:ID or user:ID",
    "source": "where it comes from",
    "agent": "the assistant that brings it",
    "project": "the project it belongs to",
    "memory-type": "episodic, semantic, procedural or working; guessed part by part if left out",
}


def arguments(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument(
        "--text", metavar="TEXT", required=True, help="the text; - reads it from stdin"
    )
    parser.add_argument("--session", metavar="ID", help="the session that it is from")
    parser.add_argument("--tags", metavar="T1,T2", help="tags for all of it")
    for name, said in _TEXTS.items():
        parser.add_argument(f"--{name}", help=said)
    writing_options(parser)


def run(args: argparse.Namespace, output: Output) -> int:
    """Make memories of it, and say what became of each part."""
    text = text_or_stdin([args.text], output)
    about = {name.replace("-", "_"): getattr(args, name.replace("-", "_")) for name in _TEXTS}
    with vault_of(args, output) as vault:
        report = vault.ingest_text(
            text,
            **about,
            session_id=args.session,
            tags=listed(args.tags),
            by=args.by,
            dry_run=args.dry_run,
        )
    show_report(report, output)
    if not output.as_json:
        for part in report["parts"]:
            if part["result"] != "new":
                reason = part.get("reason") or f"it is there already ({part['id'][:8]})"
                output.line(f"left out: {part['text'][:60]} ({reason})")
        new = sum(part["result"] == "new" for part in report["parts"])
        output.remark(
            f"vaultmem: {plural(new, 'memory', 'memories')} of {plural(len(report['parts']), 'part')}"
        )
    return 0
