"""vaultmem notify: tell the desktop of what is due, once; what the agent does by itself on the minute."""

from __future__ import annotations

import logging

from vaultmem.commands.memories import vault_of
from vaultmem.output import Output
from vaultmem.text.values import TYPE_CHECKING, plural

if TYPE_CHECKING:
    import argparse
    from typing import Any


def run(args: argparse.Namespace, output: Output) -> int:
    """Do it, and say what was told."""
    logging.getLogger("vaultmem.reminders").addHandler(logging.NullHandler())  # the report says it
    with vault_of(args, output) as vault:
        if not args.dry_run:
            vault.sync()
        report = vault.notify(dry_run=args.dry_run)
        if report.pop("unsettled", False):
            settled = vault.settle()
            if settled["done"] or settled["reopened"]:
                report["written"] |= vault.notify()["written"]
    if output.as_json:
        output.data(report)
        return 0
    for each in report["told"]:
        title = output.paint(each["title"], "bold")
        output.line(f"{title}  {' · '.join(each['body'].splitlines())}")
    _say(report, output)
    return 0


def _say(report: dict[str, Any], output: Output) -> None:
    many = plural(len(report["told"]), "notification") if report["told"] else "nothing to tell"
    if report["dry_run"]:
        output.remark(f"vaultmem: {many}; nothing was done yet")
        return
    page = f"; {report['page']} is written anew" if report["written"] else ""
    answered = f"; {plural(report['answered'], 'answer')} taken over" if report["answered"] else ""
    output.remark(f"vaultmem: {many}{answered}{page}")
    for trouble in report["troubles"]:
        output.remark(f"vaultmem: {trouble}")
