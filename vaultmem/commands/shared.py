"""What several commands do alike: open the vault with a fresh enough index, show places in notes."""

from __future__ import annotations

from vaultmem.api import Vault
from vaultmem.core.values import TYPE_CHECKING
from vaultmem.output import Bar, Output

if TYPE_CHECKING:
    import argparse

    from vaultmem.sync import Report


def open_vault(args: argparse.Namespace, output: Output) -> Vault:
    """The vault to work on; one that was never indexed is indexed now."""
    vault = Vault(args.vault)
    for warning in vault.config.warnings:
        output.remark(f"vaultmem: {warning}")
    if not vault.is_indexed():
        output.remark(f"vaultmem: indexing {vault.path} for the first time")
        say_report(output, run_sync(vault))
    return vault


def run_sync(vault: Vault, *, rebuild: bool = False, confirm_removals: bool = False) -> Report:
    """Sync with a progress line."""
    with Bar() as bar:
        return vault.sync(rebuild=rebuild, confirm_removals=confirm_removals, progress=bar)


def say_report(output: Output, report: Report) -> None:
    """The counts of a sync, on stderr."""
    changes = f"{report.added} added, {report.changed} changed, {report.removed} removed"
    trouble = (
        f", {report.troubles} not (wholly) readable: see vaultmem doctor" if report.troubles else ""
    )
    output.remark(
        f"vaultmem: {changes}, {report.unchanged} unchanged in {report.seconds:.1f} s{trouble}"
    )
