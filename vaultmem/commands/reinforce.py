"""vaultmem reinforce: begin the decay of a memory anew."""

from __future__ import annotations

from vaultmem.commands.memories import (
    SWITCHES,
    memory_option,
    named,
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

EPILOG = (
    "For memories whose decay policy is reinforceable or fsrs; the others are not asked for it."
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """The options."""
    memory_option(parser)
    writing_options(parser)


def prepare(words: list[str]) -> list[str]:
    """The options before the words."""
    return apart(words, SWITCHES)


def run(args: argparse.Namespace, output: Output) -> int:
    """Do it, or show what it would do."""
    given = named(args.id, "reinforce")
    with vault_of(args, output) as vault:
        report = vault.reinforce(given, by=args.by, dry_run=args.dry_run)
    if args.dry_run:
        show_report(report, output)
    elif output.as_json:
        output.data(report)
    else:
        output.line(f"reinforced: {short(report['id'])}, confidence {report['confidence']:.2f}")
    return 0
