"""What several commands do alike: open the vault with a fresh enough index, sync through the agent or here."""

from __future__ import annotations

from vaultmem.api import Embedded, Vault
from vaultmem.commands.zone import use_zone
from vaultmem.output import Output
from vaultmem.text.values import TYPE_CHECKING, plural

if TYPE_CHECKING:
    import argparse

    from vaultmem.index.sync import Report


def open_vault(args: argparse.Namespace, output: Output) -> Vault:
    """The vault to work on; one that was never indexed is indexed now. In the agent the vault is open."""
    given = args.vault
    vault = given if isinstance(given, Vault) else Vault(given)
    if vault is not given:
        use_zone(vault.config.text("notify.timezone"))
    say_warnings(output, vault)
    if vault is not given and not vault.is_indexed():
        output.remark(f"vaultmem: indexing {vault.path} for the first time")
        say_report(output, run_sync(vault, output))
    return vault


def say_warnings(output: Output, vault: Vault) -> None:
    """What is odd about the settings."""
    for warning in vault.config.warnings:
        output.remark(f"vaultmem: {warning}")


def run_sync(
    vault: Vault, output: Output, *, rebuild: bool = False, confirm_removals: bool = False
) -> Report:
    """Sync with a progress line."""
    with output.bar() as bar:
        return vault.sync(
            rebuild=rebuild, confirm_removals=confirm_removals, progress=bar if bar.shown else None
        )


def run_embed(vault: Vault, output: Output) -> Embedded:
    """Embed with a progress line."""
    with output.bar() as bar:
        return vault.embed(progress=bar if bar.shown else None)


def embed_first(vault: Vault, output: Output) -> None:
    """A small vault is embedded on the spot; a large one is taken with the vectors that are there."""
    done, total, trouble = vault.embedded()
    waiting = total - done
    if trouble or not waiting:
        return
    if waiting > 2000:
        output.remark(
            f"vaultmem: {waiting:,} of {total:,} blocks are not embedded yet; run vaultmem sync"
        )
        return
    run_embed(vault, output)


def say_report(output: Output, report: Report) -> None:
    """The counts of a sync, on stderr."""
    changes = f"{report.added} added, {report.changed} changed, {report.removed} removed"
    trouble = (
        f", {report.troubles} not (wholly) readable: see vaultmem doctor" if report.troubles else ""
    )
    output.remark(
        f"vaultmem: {changes}, {report.unchanged} unchanged in {report.seconds:.1f} s{trouble}"
    )


def say_embedded(output: Output, done: Embedded) -> None:
    """What embedding did, on stderr."""
    if done.remark:
        output.remark(f"vaultmem: {done.remark}")
    if done.blocks:
        output.remark(f"vaultmem: {plural(done.blocks, 'block')} embedded with {done.model}")
