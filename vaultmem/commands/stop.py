"""vaultmem stop: end the sync agent."""

from __future__ import annotations

from vaultmem import paths
from vaultmem.agent import life
from vaultmem.agent.life import Life
from vaultmem.agent.peer import holder
from vaultmem.output import Output
from vaultmem.text.values import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse


def run(args: argparse.Namespace, output: Output) -> int:
    """End it, and wait until it is gone."""
    vault = life.vault_of(args.vault)
    if args.dry_run:
        return _dry_run(vault, output)
    say_stopped(life.stop(vault), vault, output)
    return 0


def say_stopped(found: Life, vault: str, output: Output) -> None:
    """That the agent is gone, and whether it comes again."""
    if output.as_json:
        output.data({**found.__dict__, "vault": vault})
    elif found.status == "none":
        output.line(f"no agent runs for {vault}")
    else:
        output.line(f"agent stopped (process {found.pid})")
    if found.by:
        output.remark(
            f"vaultmem: the service {found.by} starts it again at the next login; "
            "vaultmem service uninstall ends that"
        )


def _dry_run(vault: str, output: Output) -> int:
    held = holder(paths.state_folder(vault))
    pid = life.ping(vault) or (held.pid if held and held.is_agent else None)
    if output.as_json:
        output.data({"dry_run": True, "status": "would stop" if pid else "none", "pid": pid})
    else:
        output.line(f"would end process {pid}" if pid else f"no agent runs for {vault}")
    return 0
