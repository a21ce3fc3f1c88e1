"""vaultmem consolidate: expire, decay, upgrade and merge, once."""

from __future__ import annotations

from vaultmem.commands.memories import show_report
from vaultmem.commands.shared import embed_first, open_vault
from vaultmem.core.values import TYPE_CHECKING
from vaultmem.output import Output

if TYPE_CHECKING:
    import argparse

EPILOG = """\
All that keeps the memories in order, in one go. The agent does this by itself once a day, when it is quiet."""


def run(args: argparse.Namespace, output: Output) -> int:
    """Do it, or show what it would do."""
    with open_vault(args, output) as vault:
        embed_first(vault, output)  # what to merge is compared by meaning, too
        report = vault.ask("consolidate", dry_run=args.dry_run, limit=args.limit, by=args.by)
        show_report(report, output)
    return 0
