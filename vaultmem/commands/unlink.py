"""vaultmem unlink: take the links between two memories away."""

from __future__ import annotations

from vaultmem.commands.memories import (
    SWITCHES,
    WHICH,
    short,
    show_report,
    vault_of,
    writing_options,
)
from vaultmem.commands.parsing import apart
from vaultmem.core.values import TYPE_CHECKING
from vaultmem.output import Output

if TYPE_CHECKING:
    import argparse


def arguments(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument("id", metavar="ID", help=f"a memory: {WHICH}")
    parser.add_argument("other", metavar="OTHER", help="the other one, named likewise")
    writing_options(parser)


def prepare(words: list[str]) -> list[str]:
    """The options before the words."""
    return apart(words, SWITCHES)


def run(args: argparse.Namespace, output: Output) -> int:
    """Do it, or show what it would do."""
    with vault_of(args, output) as vault:
        report = vault.unlink(args.id, args.other, by=args.by, dry_run=args.dry_run)
    if args.dry_run:
        show_report(report, output)
    elif output.as_json:
        output.data(report)
    else:
        pair = f"{short(report['source'])} and {short(report['target'])}"
        output.line(f"no longer linked: {pair}" if report["changed"] else f"{pair} were not linked")
    return 0
