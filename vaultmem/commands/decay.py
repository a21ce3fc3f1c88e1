"""vaultmem decay: archive memories that have faded and were never read."""

from __future__ import annotations

from vaultmem.commands.memories import show_report, vault_of, writing_options
from vaultmem.core.values import TYPE_CHECKING
from vaultmem.output import Output

if TYPE_CHECKING:
    import argparse

EPILOG = """\
Filed memories that nobody has read or changed for memories.decay_after (30d), unless their policy is stable,
they are important, or their day is still to come. The agent does this by itself once a day."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument("-n", "--limit", type=int, help="how many memories to change at most")
    writing_options(parser)


def run(args: argparse.Namespace, output: Output) -> int:
    """Do it, or show what it would do."""
    with vault_of(args, output) as vault:
        report = vault.ask("decay", dry_run=args.dry_run, limit=args.limit, by=args.by)
    show_report(report, output)
    return 0
