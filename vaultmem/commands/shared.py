"""What several commands do alike: open the vault with a fresh enough index, sync through the agent or here."""

from __future__ import annotations

from vaultmem import client
from vaultmem.api import Vault
from vaultmem.core.values import TYPE_CHECKING
from vaultmem.core.wording import plural
from vaultmem.errors import VaultmemError
from vaultmem.output import Output

if TYPE_CHECKING:
    import argparse

UNKNOWN_METHOD = -32601  # an agent of another version


def open_vault(args: argparse.Namespace, output: Output) -> Vault:
    """The vault to work on; one that was never indexed is indexed now. In the agent the vault is open."""
    given = args.vault
    vault = given if isinstance(given, Vault) else Vault(given)
    say_warnings(output, vault)
    if vault is not given and not vault.is_indexed():
        output.remark(f"vaultmem: indexing {vault.path} for the first time")
        say_report(output, run_sync(vault, output))
    return vault


def say_warnings(output: Output, vault: Vault) -> None:
    """What is odd about the vault's own settings."""
    for warning in vault.config.warnings:
        output.remark(f"vaultmem: {warning}")


def run_sync(
    vault: Vault, output: Output, *, rebuild: bool = False, confirm_removals: bool = False
) -> dict[str, object]:
    """Sync with a progress line: the agent does it where one runs, since it holds the lock. The report has
    the fields of a `vaultmem.sync.Report`."""
    wanted = {"rebuild": rebuild, "confirm_removals": confirm_removals, "embed": False}
    if report := _synced_by_agent(vault, wanted, output):
        return report
    with output.bar() as bar:
        done = vault.sync(rebuild=rebuild, confirm_removals=confirm_removals, progress=bar)
    return done._asdict()


def run_embed(vault: Vault, output: Output) -> dict[str, object]:
    """Embed with a progress line, in the agent where one runs: "embedded", "model" and "remark"."""
    wanted = {"rebuild": False, "confirm_removals": False, "embed": True}
    if report := _synced_by_agent(vault, wanted, output):
        return report
    with output.bar() as bar:
        done = vault.embed(progress=bar)
    return {"embedded": done.blocks, "model": done.model, "remark": done.remark}


def _synced_by_agent(
    vault: Vault, wanted: dict[str, bool], output: Output
) -> dict[str, object] | None:
    with output.bar() as bar:
        told = bar if bar.shown else None
        try:
            report = client.call(vault.path, "sync", {**wanted}, timeout=None, progress=told)
        except client.AgentError as error:
            if error.code in (0, UNKNOWN_METHOD):
                return None  # it has ended meanwhile, or is of another age; if not, the lock tells
            raise VaultmemError(str(error)) from error
    return report if isinstance(report, dict) else None


def say_report(output: Output, report: dict[str, object]) -> None:
    """The counts of a sync, on stderr."""
    changes = "{added} added, {changed} changed, {removed} removed".format_map(report)
    trouble = (
        f", {report['troubles']} not (wholly) readable: see vaultmem doctor"
        if report["troubles"]
        else ""
    )
    output.remark(
        f"vaultmem: {changes}, {report['unchanged']} unchanged in {report['seconds']:.1f} s{trouble}"
    )


def say_embedded(output: Output, done: dict[str, object]) -> None:
    """What embedding did, on stderr."""
    if done.get("remark"):
        output.remark(f"vaultmem: {done['remark']}")
    blocks = done.get("embedded")
    if isinstance(blocks, int) and blocks:
        output.remark(f"vaultmem: {plural(blocks, 'block')} embedded with {done.get('model')}")
