"""vaultmem init: look at a vault for the first time. Writes nothing into it unless asked."""

from __future__ import annotations

import os

from vaultmem import paths
from vaultmem.api import Vault
from vaultmem.commands.shared import run_sync
from vaultmem.errors import VaultmemError
from vaultmem.output import Output
from vaultmem.text.values import TYPE_CHECKING, plural

if TYPE_CHECKING:
    import argparse

TEMPLATE = """\
# Settings of vaultmem for this vault. Only harmless keys count here; others belong into the user's own file.
# dialect: auto            # auto, obsidian, logseq
# memory_folder: vaultmem  # the folder of this vault that vaultmem writes into
"""


def run(args: argparse.Namespace, output: Output) -> int:
    """Index the vault and report what is in it."""
    with Vault(args.path or args.vault or _here()) as vault:
        config = os.path.join(vault.path, ".vaultmem", "config.yaml")
        if args.dry_run:
            output.remark(f"vaultmem: would index {vault.path} into {vault.state.folder}")
            if args.write_config and not os.path.exists(config):
                output.remark(f"vaultmem: would write {config}")
            return 0
        seconds = run_sync(vault, output).seconds
        counts = vault.counts()
        written = args.write_config and _write_config(config, output)
        if output.as_json:
            output.data(
                {
                    "vault": vault.path,
                    "state": vault.state.folder,
                    **counts,
                    "seconds": seconds,
                }
            )
        else:
            _show(vault, counts, seconds, output)
            untouched = "" if written else "; nothing was written into the vault"
            output.line(f"  index in {vault.state.folder}{untouched}")
            output.line()
            output.line(
                'Next: vaultmem search "some words", and vaultmem sync for search by meaning.'
            )
    return 0


def _here() -> str | None:
    """The working directory, when nothing above it is a vault but it has notes itself."""
    here = os.getcwd()
    if paths.find_vault(here) or "VAULTMEM_VAULT" in os.environ:
        return None
    return here if any(name.lower().endswith(".md") for name in os.listdir(here)) else None


def _write_config(path: str, output: Output) -> bool:
    if os.path.exists(path) and not os.path.islink(path):
        output.remark(f"vaultmem: {path} is there already, left as it is")
        return False
    if os.path.islink(os.path.dirname(path)) or os.path.islink(path):
        raise VaultmemError(
            f"{path} is behind a link; nothing was written, since it may lead out of the vault"
        )
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "x", encoding="utf-8") as file:
        file.write(TEMPLATE)
    output.remark(f"vaultmem: wrote {path}")
    return True


def _show(vault: Vault, counts: dict[str, int], seconds: float, output: Output) -> None:
    output.line(output.paint(vault.path, "bold"))
    output.line(
        f"  {plural(counts['notes'], 'note')} in {plural(counts['blocks'], 'block')}, read in {seconds:.1f} s"
    )
    output.line(
        f"  {plural(counts['links'], 'link')}, {counts['unresolved']:,} of them lead nowhere (vaultmem unresolved)"
    )
    output.line(
        f"  {plural(counts['tags'], 'tag')}, {plural(counts['open_tasks'], 'open task')} (vaultmem tasks)"
    )
    if counts["conflict_copies"]:
        output.line(
            f"  {plural(counts['conflict_copies'], 'sync conflict copy', 'sync conflict copies')}"
        )
    if counts["unreadable"]:
        output.line(
            f"  {plural(counts['unreadable'], 'note')} not (wholly) readable (vaultmem doctor)"
        )
