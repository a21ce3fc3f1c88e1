"""vaultmem history: what was done to memories, when, by whom and why."""

from __future__ import annotations

from datetime import datetime

from vaultmem.commands.memories import short, vault_of
from vaultmem.output import Output
from vaultmem.text.values import TYPE_CHECKING, plural

if TYPE_CHECKING:
    import argparse
    from typing import Any

    from vaultmem.api import Vault

FEW = 100  # entries, in which those of conversations are looked for


def run(args: argparse.Namespace, output: Output) -> int:
    """List it, the newest first."""
    given = args.id or None
    with vault_of(args, output) as vault:
        found = vault.history(
            given, limit=args.limit, by=args.by, since=args.since, conversations=args.conversations
        )
        is_all = bool(found or given or args.by or args.conversations)
        others = not is_all and _is_said(vault, args.since)
    if output.as_json:
        output.data({"history": found, "count": len(found)})
        return 0
    if not found:
        but = " but what conversations did, which --conversations shows" if others else ""
        output.remark(f"vaultmem: the history holds nothing of it{but}")
    for one in found:
        output.line(entry(one, output))
    return 0


def _is_said(vault: Vault, since: str | None) -> bool:
    """Whether conversations did something, of late."""
    from vaultmem.memories.conversation import is_talk

    found = vault.history(limit=FEW, since=since, conversations=True)
    return any(is_talk(one["by"]) for one in found)


def entry(one: dict[str, Any], output: Output) -> str:
    """An entry in one line."""
    files = one.get("files")
    many = (
        f"  {output.paint(plural(len(files), 'file'), 'dim')}" if files and len(files) > 1 else ""
    )
    commit = output.paint(short(one["commit"]), "yellow")
    return f"{commit}  {local(one['at'])}  {output.paint(one['by'], 'cyan')}  {one['why']}{many}"


def local(stamp: str) -> str:
    """A moment by the clock on the wall."""
    return datetime.fromisoformat(stamp).astimezone().strftime("%Y-%m-%d %H:%M")
