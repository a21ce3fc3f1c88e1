"""vaultmem status: what is indexed, and how fresh it is."""

from __future__ import annotations

import os
import time

from vaultmem.api import Vault
from vaultmem.core.values import TYPE_CHECKING
from vaultmem.core.wording import plural
from vaultmem.output import Output, table

if TYPE_CHECKING:
    import argparse


def arguments(parser: argparse.ArgumentParser) -> None:
    """No options of its own."""


def run(args: argparse.Namespace, output: Output) -> int:
    """Say what there is. Reads the index only, never the notes."""
    with Vault(args.vault) as vault:
        if not vault.is_indexed():
            if output.as_json:
                output.data(
                    {"status": "not indexed", "vault": vault.path, "state": vault.state.folder}
                )
            else:
                output.line(f"{vault.path} is not indexed yet; run vaultmem sync")
            return 0
        facts = _facts(vault)
        if output.as_json:
            output.data(facts)
        else:
            _show(facts, vault, output)
    return 0


def _facts(vault: Vault) -> dict[str, object]:
    synced = vault.searcher().catalog.meta("synced")
    embedded, embeddable, trouble = vault.embedded()
    return {
        "status": "healthy",
        "vault": vault.path,
        "state": vault.state.folder,
        "synced": None if synced is None else int(synced),
        "index_bytes": folder_bytes(vault.state.generation() or ""),
        "vector_bytes": folder_bytes(vault.state.path("vec")),
        "memory_count": vault.memory_count(),
        **vault.counts(),
        "embedded": embedded,
        "embeddable": embeddable,
        "model": vault.config["embedding.model"],
        "model_trouble": trouble,
    }


def folder_bytes(folder: str) -> int:
    """The size of all files below a folder."""
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.path.getsize(os.path.join(place, name))
            except OSError:
                continue  # a file that another process has just removed has no size
    return total


def _show(facts: dict[str, object], vault: Vault, output: Output) -> None:
    synced = facts["synced"]
    age = "never" if not isinstance(synced, int) else ago(time.time() - synced)
    output.line(output.paint(vault.path, "bold"))
    rows = [("  synced", age)]
    rows += [
        (f"  {name.replace('_', ' ')}", f"{count:,}") for name, count in vault.counts().items()
    ]
    rows.append(
        (
            "  embedded",
            f"{facts['embedded']:,} of {facts['embeddable']:,} blocks, model {facts['model']}",
        )
    )
    rows.append(
        (
            "  index",
            f"{_megabytes(facts['index_bytes'])}, vectors {_megabytes(facts['vector_bytes'])}",
        )
    )
    rows.append(("  state", vault.state.folder))
    for row in table(rows):
        output.line(row)
    if facts["model_trouble"]:
        output.line(f"  {facts['model_trouble']}")


def _megabytes(size: object) -> str:
    return f"{size / 1e6:.1f} MB" if isinstance(size, int) else "?"


def ago(seconds: float) -> str:
    """A span of time for a person."""
    for size, name in ((86400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= size:
            return f"{plural(int(seconds // size), name)} ago"
    return "just now"
