"""vaultmem unset: remove a property of a note."""

from __future__ import annotations

from vaultmem.commands.memories import dry_run_option, vault_of
from vaultmem.commands.set import meaning, property_arguments, show
from vaultmem.core.values import TYPE_CHECKING
from vaultmem.output import Output

if TYPE_CHECKING:
    import argparse


def arguments(parser: argparse.ArgumentParser) -> None:
    """The options."""
    property_arguments(parser)
    parser.add_argument(
        "value", metavar="VALUE", nargs="?", help="only this item of its list, not the property"
    )
    dry_run_option(parser)


def run(args: argparse.Namespace, output: Output) -> int:
    """Remove it, or show what would change."""
    value = None if args.value is None else meaning(args.value)
    with vault_of(args, output) as vault:
        report = vault.unset(args.note, args.key, value, dry_run=args.dry_run)
    show(report, output)
    return 0
