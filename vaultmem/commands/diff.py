"""vaultmem diff: show what one entry of the history changed."""

from __future__ import annotations

from vaultmem.commands.history import entry
from vaultmem.commands.memories import show_diff, vault_of
from vaultmem.core.values import TYPE_CHECKING
from vaultmem.output import Output

if TYPE_CHECKING:
    import argparse


def arguments(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument("commit", metavar="COMMIT", help="as vaultmem history names it")


def run(args: argparse.Namespace, output: Output) -> int:
    """Show it as a unified diff."""
    with vault_of(args, output) as vault:
        found = vault.ask("diff", commit=args.commit)
    if output.as_json:
        output.data(found)
        return 0
    output.remark(f"vaultmem: {entry(found, output)}")
    show_diff(found["diff"], output)
    return 0
