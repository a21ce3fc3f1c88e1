"""vaultmem dream, and of vaultmem maintain what needs more than its parameters: upgrade, compress, consolidate."""

from __future__ import annotations

from vaultmem.commands.memories import STRAY, say_done, show_report, strays, vault_of
from vaultmem.commands.shared import embed_first, open_vault
from vaultmem.errors import UsageError
from vaultmem.output import Output
from vaultmem.text.values import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse


def dream(args: argparse.Namespace, output: Output) -> int:
    """Run maintenance, or show what it would do."""
    with open_vault(args, output) as vault:
        if args.level > 1:  # from there on it compares by meaning
            embed_first(vault, output)
        report = vault.dream(args.level, dry_run=args.dry_run, limit=args.limit, by=args.by)
        show_report(report, output)
        if not output.as_json:
            for path in strays(vault):
                output.remark(f"vaultmem: {path} {STRAY}")
    return 0


def consolidate(args: argparse.Namespace, output: Output) -> int:
    """All upkeep at once, or what it would do."""
    with open_vault(args, output) as vault:
        embed_first(vault, output)  # what to merge is compared by meaning, too
        report = vault.consolidate(dry_run=args.dry_run, limit=args.limit, by=args.by)
        show_report(report, output)
    return 0


def compress(args: argparse.Namespace, output: Output) -> int:
    """Sum up old sessions, or show what it would do."""
    with vault_of(args, output) as vault:
        show_report(vault.compress(dry_run=args.dry_run, limit=args.limit, by=args.by), output)
    return 0


def upgrade(args: argparse.Namespace, output: Output) -> int:
    """File one memory of the inbox, or all that are read often."""
    if not args.id and args.category:
        raise UsageError("--category goes with one memory; name it")
    if args.id and args.limit is not None:
        raise UsageError("--limit goes without an ID")
    with vault_of(args, output) as vault:
        if not args.id:
            done = vault.promote(dry_run=args.dry_run, limit=args.limit, by=args.by)
        else:
            done = vault.upgrade(args.id, category=args.category, by=args.by, dry_run=args.dry_run)
    if not args.id or args.dry_run:
        show_report(done, output)
    else:
        say_done(f"filed under {done['category']}", done, output)
    return 0
