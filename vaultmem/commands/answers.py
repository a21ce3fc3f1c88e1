"""vaultmem done, drop and snooze: several items in one go, a line for each."""

from __future__ import annotations

from vaultmem.commands.memories import show_diff, vault_of
from vaultmem.errors import VaultmemError
from vaultmem.output import Output
from vaultmem.text.values import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse
    from typing import Any

_STATES = {"done": "done", "drop": "dropped", "snooze": "snoozed"}
_SAID = {"done": "done", "dropped": "dropped", "snoozed": "snoozed", "open": "open again"}


def run(args: argparse.Namespace, output: Output) -> int:
    """Answer each item, or show what that would do. An item that fails does not keep the others from theirs."""
    wanted = list(dict.fromkeys(args.ids))
    state = "open" if args.undo else _STATES[args.command]
    until = None if args.undo else getattr(args, "until", None)
    series = not args.undo and getattr(args, "series", False)
    reports: list[dict[str, Any]] = []
    failed: list[VaultmemError] = []
    with vault_of(args, output) as vault:
        for given in wanted:
            try:
                reports.append(
                    vault.ask(
                        "answer",
                        id=given,
                        state=state,
                        until=until,
                        series=series,
                        by=args.by,
                        dry_run=args.dry_run,
                    )
                )
            except VaultmemError as error:
                failed.append(error)
    _show(reports, output)
    for each in failed[:-1]:
        output.error(str(each))
    if failed:
        raise failed[-1]
    return 0


def _show(reports: list[dict[str, Any]], output: Output) -> None:
    if output.as_json:
        if reports:
            output.data({"items": reports, "count": len(reports)})
        return
    for report in reports:
        output.line(_line(report, output))
        for change in report.get("changes", ()):
            if change.get("diff"):
                show_diff(change["diff"], output)
        for each in report.get("skipped", ()):
            output.remark(f"vaultmem: {each['reason']}")


def _line(report: dict[str, Any], output: Output) -> str:
    said = _SAID[report["state"]]
    if not report["changed"]:
        said = "open already" if report["state"] == "open" else f"{said} already"
    elif report.get("dry_run"):
        said = f"would be {said}"
    if report["changed"] and report["until"]:
        said = f"{said} until {report['until'].replace('T', ' ')}"
    line = f"{said}: {report['text']} ({output.paint(report['id'], 'yellow')})"
    return line + _tail(report, output)


def _tail(report: dict[str, Any], output: Output) -> str:
    """What it led to, or what the person may want to do next."""
    if report.get("asks") and not report.get("skipped"):
        asked = f"vaultmem done {report['asks']}"
        return f"; still open in its note: {asked} ticks it there, and from now on what you do of that note"
    if report["state"] == "open" and report.get("gone"):
        return "; it does not wait now: vaultmem history says who marked it done, vaultmem undo takes that back"
    if report.get("restored"):
        return f"; back in {output.paint(report['restored'], 'cyan')}"
    paths = [each["path"] for each in report.get("carried_out", ())]
    return "".join(f"; {output.paint(path, 'cyan')}" for path in paths)
