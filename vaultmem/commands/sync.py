"""vaultmem sync: bring the index up to date with the notes."""

from __future__ import annotations

from vaultmem.api import Embedded, Vault
from vaultmem.commands.shared import run_embed, run_sync, say_embedded, say_report, say_warnings
from vaultmem.output import Output
from vaultmem.text.values import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse


def run(args: argparse.Namespace, output: Output) -> int:
    """Sync, then embed."""
    with Vault(args.vault) as vault:
        say_warnings(output, vault)
        if args.dry_run:
            planned = vault.changes()
            say_report(output, planned)
            if output.as_json:
                output.data({**planned._asdict(), "dry_run": True})
            return 0
        report = run_sync(
            vault, output, rebuild=args.rebuild, confirm_removals=args.confirm_removals
        )
        say_report(output, report)
        embedded = Embedded(0, None, None) if args.no_embed else run_embed(vault, output)
        say_embedded(output, embedded)
        if output.as_json:
            output.data({**report._asdict(), "embedded": embedded.blocks, "model": embedded.model})
    return 0
