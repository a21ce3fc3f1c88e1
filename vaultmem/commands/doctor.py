"""vaultmem doctor: find what is wrong, and how to mend it."""

from __future__ import annotations

from vaultmem.agent import health
from vaultmem.api import Vault
from vaultmem.doctor import Finding, examine, worst_first
from vaultmem.output import Output
from vaultmem.text.values import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

_STYLES = {"error": "red", "warning": "yellow", "note": "cyan"}
SHOWN = 20


def run(args: argparse.Namespace, output: Output) -> int:
    """Examine the installation, the state, the notes and the agent. Changes nothing."""
    with Vault(args.vault) as vault:
        findings = examine(vault)
        sound = all(one.severity != "error" for one in findings)
        findings = worst_first([*findings, *health.examine(vault, readable=sound)])
        healthy = all(one.severity != "error" for one in findings)
        if output.as_json:
            output.data({"healthy": healthy, "findings": [one.__dict__ for one in findings]})
        else:
            _show(findings, output, None if args.all else SHOWN)
    return 0 if healthy else 1


def _show(findings: list[Finding], output: Output, most: int | None) -> None:
    if not findings:
        output.line("all is well")
    for one in findings:
        output.line(f"{output.paint(one.severity, _STYLES[one.severity])}  {one.what}")
        for place in one.places[:most]:
            output.line(output.paint(f"    {place}", "dim"))
        if most is not None and len(one.places) > most:
            output.line(output.paint(f"    and {len(one.places) - most} more (--all)", "dim"))
        output.line(f"    → {one.advice}")
