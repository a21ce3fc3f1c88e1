"""vaultmem expire: archive memories that end, or stayed in the inbox too long."""

from __future__ import annotations

from vaultmem.commands.memories import show_report, vault_of, writing_options
from vaultmem.core.values import TYPE_CHECKING
from vaultmem.output import Output

if TYPE_CHECKING:
    import argparse

EPILOG = """\
Memories whose expires_at is over, and those that waited in the inbox longer than memories.inbox_ttl (7d).
The agent does this by itself every hour."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument("-n", "--limit", type=int, help="how many memories to change at most")
    writing_options(parser)


def run(args: argparse.Namespace, output: Output) -> int:
    """Do it, or show what it would do."""
    with vault_of(args, output) as vault:
        report = vault.ask("expire", dry_run=args.dry_run, limit=args.limit, by=args.by)
    show_report(report, output)
    return 0
