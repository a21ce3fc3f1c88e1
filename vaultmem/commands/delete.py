"""vaultmem delete: move a memory to the archive."""

from __future__ import annotations

from vaultmem.commands.memories import (
    SWITCHES,
    memory_option,
    named,
    say_done,
    show_report,
    vault_of,
    writing_options,
)
from vaultmem.commands.parsing import apart
from vaultmem.core.values import TYPE_CHECKING
from vaultmem.output import Output

if TYPE_CHECKING:
    import argparse

EPILOG = "Nothing is ever destroyed: the note moves to the archive folder, and vaultmem restore brings it back."


def arguments(parser: argparse.ArgumentParser) -> None:
    """The options."""
    memory_option(parser)
    writing_options(parser)


def prepare(words: list[str]) -> list[str]:
    """The options before the words."""
    return apart(words, SWITCHES)


def run(args: argparse.Namespace, output: Output) -> int:
    """Do it, or show what it would do."""
    given = named(args.id, "delete")
    with vault_of(args, output) as vault:
        report = vault.delete(given, by=args.by, dry_run=args.dry_run)
    if args.dry_run:
        show_report(report, output)
    else:
        say_done("deleted", report, output)
    return 0
