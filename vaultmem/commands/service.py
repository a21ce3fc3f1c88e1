"""vaultmem service: have the system start the agent at login, and again when it fails."""

from __future__ import annotations

import os
import shlex

from vaultmem import paths
from vaultmem.agent import life, service
from vaultmem.agent.service import Service
from vaultmem.api import Vault
from vaultmem.errors import StateError
from vaultmem.output import Output
from vaultmem.text.values import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse


def run(args: argparse.Namespace, output: Output) -> int:
    """Install or uninstall."""
    if args.action == "install":
        return _install(args, output)
    return _uninstall(args, output)


def _install(args: argparse.Namespace, output: Output) -> int:
    vault = Vault(args.vault).path
    made = service.service_for(vault)
    commands = [] if args.no_start else made.start
    if args.dry_run:
        return _dry_run(made, commands, output)
    paths.make_private(os.path.join(paths.state_folder(vault), "log"))
    was_there = service.is_installed(made)
    service.write(made)
    was_running = False
    if not args.no_start:
        was_running = life.stop(vault).status != "none"  # by hand; the service starts another
        if was_there:
            service.run(made.stop)
    if failed := service.run(commands):
        if was_running:
            life.start(vault)  # rather by hand than not at all
        raise StateError(f"{made.path} is written but not started ({failed}); {_by_hand(made)}")
    _say(output, made, "installed", None)
    if made.kind == "systemd" and not args.no_start:
        output.remark(
            "vaultmem: it runs while you are logged in; loginctl enable-linger keeps it running"
        )
    return 0


def _by_hand(made: Service) -> str:
    typed = " && ".join(shlex.join(command) for command in made.start)
    return f"type, once you are logged in to a session of your own: {typed} (or vaultmem start, until then)"


def _uninstall(args: argparse.Namespace, output: Output) -> int:
    vault = life.vault_of(args.vault)
    made = service.service_for(vault)
    if not service.is_installed(made):
        _say(output, made, "none", None)
        return 0
    if args.dry_run:
        return _dry_run(made, [*made.stop, ["rm", made.path], *made.forget], output)
    service.run(made.stop)
    service.remove(made)
    service.run(made.forget)
    life.stop(vault)  # where the system could not be asked to
    _say(output, made, "uninstalled", None)
    return 0


def _say(output: Output, made: Service, status: str, trouble: str | None) -> None:
    if output.as_json:
        output.data({"status": status, "service": made.name, "file": made.path, "trouble": trouble})
    elif status == "none":
        output.line("no service is installed for this vault")
    else:
        output.line(f"{status} {made.path}")


def _dry_run(made: Service, commands: list[list[str]], output: Output) -> int:
    typed = [shlex.join(command) for command in commands]
    content = made.content.decode("utf-8")
    if output.as_json:
        output.data({
            "dry_run": True, "service": made.name, "file": made.path, "content": content, "commands": typed,
        })  # fmt: skip
        return 0
    output.line(output.paint(made.path, "bold"))
    output.script(content)
    for line in typed:
        output.line(f"$ {line}")
    return 0
