"""vaultmem undo: take back what was done to memories."""

from __future__ import annotations

from vaultmem.commands.history import entry
from vaultmem.commands.memories import show_diff, vault_of
from vaultmem.errors import UsageError, VaultmemError
from vaultmem.output import Output
from vaultmem.text.values import TYPE_CHECKING, plural
from vaultmem.vault.places import ARCHIVE

if TYPE_CHECKING:
    import argparse
    from typing import Any


def run(args: argparse.Namespace, output: Output) -> int:
    """Take it back, as far as that is possible."""
    if sum(map(bool, (args.commit, args.last, args.name))) != 1:
        raise UsageError("name one of: a COMMIT (see vaultmem history), --last, --by NAME")
    if bool(args.name) != bool(args.since):
        raise UsageError("--by NAME and --since WHEN go together")
    with vault_of(args, output) as vault:
        report = vault.undo(
            args.commit, last=args.last, name=args.name, since=args.since, dry_run=args.dry_run
        )
    if output.as_json:
        output.data(report)
    else:
        _show(report, output)
    return 1 if report["refused"] and not report["changes"] else 0


def _show(report: dict[str, Any], output: Output) -> None:
    refused = report["refused"]
    if refused and not report["changes"]:
        raise VaultmemError(f"nothing was undone: {refused[0]['path']}: {refused[0]['reason']}")
    if not report["changes"]:
        output.remark("vaultmem: already undone: nothing was changed")
        return
    done = "would be undone" if report["dry_run"] else "undone"
    for one in report["undone"]:
        output.line(f"{done}: {entry(one, output)}")
    for change in report["changes"]:
        output.line(f"  {output.paint(_moved(change), 'cyan')}")
        if change.get("diff"):
            show_diff(change["diff"], output)
    output.remark(f"vaultmem: {_count(report)}")
    for one in refused:
        output.remark(f"vaultmem: not undone: {one['path']}: {one['reason']}")


def _count(report: dict[str, Any]) -> str:
    """How many files are as before; what was written then goes to the archive."""
    archived = sum(_is_archived(change) for change in report["changes"])
    before = len(report["changes"]) - archived
    would = "would be " if report["dry_run"] else ""
    said = [(before, f"{would}as before"), (archived, f"{would}archived")]
    return ", ".join(f"{plural(count, 'file')} {became}" for count, became in said if count)


def _is_archived(change: dict[str, Any]) -> bool:
    away = f"/{ARCHIVE}/"
    return away in change["target"] and away not in (change["path"] or "")


def _moved(change: dict[str, Any]) -> str:
    before, after = change["path"], change["target"]
    return str(after) if before in (None, after) else f"{before} → {after}"
