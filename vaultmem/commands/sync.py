"""vaultmem sync: bring the index up to date with the notes."""

from __future__ import annotations

from vaultmem.api import Embedded, Vault
from vaultmem.commands.shared import run_sync, say_report
from vaultmem.core.values import TYPE_CHECKING
from vaultmem.core.wording import plural
from vaultmem.output import Bar, Output

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
        for warning in vault.config.warnings:
            output.remark(f"vaultmem: {warning}")
        if args.dry_run:
            report = vault.changes()
            say_report(output, report)
            if output.as_json:
                output.data({**report._asdict(), "dry_run": True})
            return 0
        report = run_sync(vault, rebuild=args.rebuild, confirm_removals=args.confirm_removals)
        say_report(output, report)
        embedded = Embedded(0, None, None) if args.no_embed else embed(vault, output)
        if output.as_json:
            output.data({**report._asdict(), "embedded": embedded.blocks, "model": embedded.model})
    return 0


def embed(vault: Vault, output: Output) -> Embedded:
    """Embed what is missing, with a progress line and the count on stderr."""
    with Bar() as bar:
        done = vault.embed(progress=bar)
    if done.remark:
        output.remark(f"vaultmem: {done.remark}")
    if done.blocks:
        output.remark(f"vaultmem: {plural(done.blocks, 'block')} embedded with {done.model}")
    return done
