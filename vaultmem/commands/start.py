"""vaultmem start: run the sync agent in the background."""

from __future__ import annotations

import shlex

from vaultmem import paths
from vaultmem.agent import life, log
from vaultmem.agent.life import Life
from vaultmem.agent.service import agent_command
from vaultmem.api import Vault
from vaultmem.output import Output
from vaultmem.text.values import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse


def run(args: argparse.Namespace, output: Output) -> int:
    """Start it, and wait until it answers."""
    vault = Vault(args.vault).path  # which also checks the settings, here where a person sees it
    if args.dry_run:
        return _dry_run(vault, output)
    say_started(life.start(vault), vault, output)
    return 0


def say_started(found: Life, vault: str, output: Output) -> None:
    """That the agent runs, and where its log is."""
    where = log.log_file(paths.state_folder(vault))
    if output.as_json:
        output.data({**found.__dict__, "vault": vault, "log": where})
        return
    by = f" by the service {found.by}" if found.by else ""
    if found.status == "running":
        output.line(f"the agent runs already{by} (process {found.pid})")
    else:
        output.line(f"agent started{by} in {found.seconds:.1f} s (process {found.pid})")
    output.remark(f"vaultmem: its log is {where}")


def _dry_run(vault: str, output: Output) -> int:
    pid = life.ping(vault)
    found = life.installed_service(vault)
    command = found.resume[0] if found else agent_command(vault)
    if output.as_json:
        status = "running" if pid else "would start"
        output.data({"dry_run": True, "status": status, "pid": pid, "command": command})
    elif pid:
        output.line(f"the agent runs already (process {pid})")
    else:
        output.line(f"would run: {shlex.join(command)}")
    return 0
