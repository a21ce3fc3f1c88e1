"""vaultmem sync: bring the index up to date with the notes."""

from __future__ import annotations

from vaultmem.api import Vault
from vaultmem.commands.shared import run_embed, run_sync, say_embedded, say_report, say_warnings
from vaultmem.core.values import TYPE_CHECKING
from vaultmem.output import Output

if TYPE_CHECKING:
    import argparse

EPILOG = """\
Notes can be searched by keyword as soon as they are read; then every new block gets its vector, the newest
first. Interrupt it whenever you like: the next sync goes on. Nothing in the vault is changed."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument(
        "--rebuild", action="store_true", help="read every note anew (vectors are kept)"
    )
    parser.add_argument("--no-embed", action="store_true", help="keyword index only")
    parser.add_argument(
        "--confirm-removals", action="store_true", help="accept that most notes are gone"
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="say what would be read, and do nothing"
    )


def run(args: argparse.Namespace, output: Output) -> int:
    """Sync, then embed."""
    with Vault(args.vault) as vault:
        say_warnings(output, vault)
        if args.dry_run:
            planned = vault.changes()._asdict()
            say_report(output, planned)
            if output.as_json:
                output.data({**planned, "dry_run": True})
            return 0
        report = run_sync(
            vault, output, rebuild=args.rebuild, confirm_removals=args.confirm_removals
        )
        say_report(output, report)
        embedded: dict[str, object] = {}
        if not args.no_embed:
            embedded = run_embed(vault, output)
            say_embedded(output, embedded)
        if output.as_json:
            facts = {name: embedded.get(name) for name in ("embedded", "model")}
            output.data({**report, **facts, "embedded": embedded.get("embedded") or 0})
    return 0
