"""vaultmem upgrade: file one memory of the inbox under a category, or all that are read often."""

from __future__ import annotations

from vaultmem.commands.memories import (
    say_done,
    show_report,
    vault_of,
)
from vaultmem.core.values import TYPE_CHECKING
from vaultmem.errors import UsageError
from vaultmem.output import Output

if TYPE_CHECKING:
    import argparse

EPILOG = """\
Without an ID it files all memories of the inbox that were read at least memories.upgrade_reads times, as the
agent does by itself every hour."""


def run(args: argparse.Namespace, output: Output) -> int:
    """File it, or them."""
    given = args.id
    if not given and args.category:
        raise UsageError("--category goes with one memory; name it")
    if given and args.limit is not None:
        raise UsageError("--limit goes without an ID")
    with vault_of(args, output) as vault:
        if not given:
            done = vault.ask("promote", dry_run=args.dry_run, limit=args.limit, by=args.by)
        else:
            done = vault.upgrade(given, category=args.category, by=args.by, dry_run=args.dry_run)
    if not given or args.dry_run:
        show_report(done, output)
    else:
        say_done(f"filed under {done['category']}", done, output)
    return 0
