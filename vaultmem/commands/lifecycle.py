"""vaultmem serve, start, stop, restart and service: the life of the agent."""

from __future__ import annotations

import os
import shlex
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from vaultmem import config as settings
from vaultmem import machine, now, paths, plugins
from vaultmem.api import Vault
from vaultmem.commands.rendering import warn
from vaultmem.errors import LockedError, StateError, UsageError
from vaultmem.output import Output
from vaultmem.service import life, log
from vaultmem.service import service as services
from vaultmem.service.life import Life, holder
from vaultmem.service.service import Service, agent_command
from vaultmem.text.values import TYPE_CHECKING

if TYPE_CHECKING:
    from types import SimpleNamespace as Namespace

    from vaultmem.index.state import State

DOORS = "vaultmem.doors"  # entry points: functions of arguments and output that serve until stopped
LOOK_AGAIN = 0.2
PERIODIC = ("expire", "upgrade", "decay", "consolidate")
SWITCH_EVERY = 0.0005  # seconds; the default 5 ms would delay a search at every file it opens


# --- in the foreground


def serve(args: Namespace, output: Output) -> int:
    """Hold the lock, keep the index up to date, answer requests."""
    if args.http:
        return _open_door(args, output)
    if len(args.vault or ()) > 1:
        raise UsageError("an agent is for one vault; with --http one door serves several")
    args.vault = args.vault[0] if args.vault else None
    from vaultmem.agent.agent import Agent, Settings
    from vaultmem.agent.events import END
    from vaultmem.commands.dispatch import methods
    from vaultmem.index.state import State

    if now.is_set() and not os.environ.get("VAULTMEM_TESTS"):
        clock = "VAULTMEM_NOW is set, a clock for tests"
        raise UsageError(f"{clock}; unset it before you start the agent")
    with Vault(args.vault) as vault:
        folder = vault.path
        warn(vault, output)
    state = State(folder)
    sys.setswitchinterval(SWITCH_EVERY)
    machine.limit_arenas()
    # For numpy: on a busy machine two threads would wait for each other.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    with _lock(state, output), log.Log(state.folder, args.log_format) as journal:
        config = settings.load(folder, {**os.environ, **_schedules(args.interval)})
        settings_seen = Settings(settings.signature(folder), config)
        agent = Agent(state, settings_seen, lambda: journal.last_error)
        now.use_zone(config.text("notify.timezone"))  # after the agent has checked its own
        with agent.wakeups.from_signals():
            again = agent.run(methods(agent))
        ended = agent.wakeups.wait(0) == END  # stopped while restarting
    if again and not ended:
        sys.stdout.flush()
        sys.stderr.flush()
        now.use_zone("")
        words = [*agent_command(folder), "--log-format", args.log_format]
        words += ["--interval", args.interval] if args.interval else []
        os.execv(sys.executable, words)  # noqa: S606 - our own
    return 0


def _open_door(args: Namespace, output: Output) -> int:
    """Serve over HTTP, by the package registered for it."""
    if "http" not in plugins.registered(DOORS):
        raise UsageError("no package for --http is installed; pip install 'vaultmem[server]'")
    return int(plugins.load(DOORS, "http")(args, output))


def _schedules(interval: str | None) -> dict[str, str]:
    """The settings that --interval stands for, as environment variables."""
    from vaultmem.text import times

    if not interval:
        return {}
    try:
        times.duration_seconds(interval)
    except ValueError as error:
        raise UsageError(f"--interval must be {error}") from error
    return {settings.variable(f"jobs.{name}"): interval for name in PERIODIC}


@contextmanager
def _lock(state: State, output: Output) -> Iterator[None]:
    """Run as the vault's only agent, after a running sync has ended."""
    deadline = time.monotonic() + life.SYNC_PATIENCE
    waited = False
    with ExitStack() as held:
        while True:
            try:
                held.enter_context(state.lock())
                break
            except LockedError as error:
                _refuse_second(state, error)
                if time.monotonic() > deadline:
                    raise
                if not waited:
                    output.remark(f"{error}; waiting")
                waited = True
                time.sleep(LOOK_AGAIN)
        yield


def _refuse_second(state: State, error: LockedError) -> None:
    process = holder(state.folder)
    if process and process.is_agent:
        what = f"the agent of {state.vault} is already running (process {process.pid})"
        raise StateError(f"{what}; vaultmem stop ends it") from error


# --- in the background


def start(args: Namespace, output: Output) -> int:
    """Start it, and wait until it answers."""
    vault = Vault(args.vault).path  # also checks the settings, where a person sees the errors
    return _show_started(life.start(vault), vault, output)


def _show_started(started: Life, vault: str, output: Output) -> int:
    where = log.log_file(paths.state_folder(vault))
    by = f" by the service {started.by}" if started.by else ""
    line = f"agent started{by} in {started.seconds:.1f} s (process {started.pid})"
    if started.status == "running":
        line = f"the agent is already running{by} (process {started.pid})"
    output.result({**started.__dict__, "vault": vault, "log": where}, line)
    output.note(f"its log is {where}")
    return 0


def stop(args: Namespace, output: Output) -> int:
    """Stop the agent and the door of the page, and wait until they have ended."""
    vault = life.vault_of(args.vault)
    serving = life.open_doors(vault)
    ours = [process for process in serving if process.until_stop]
    held = holder(paths.state_folder(vault))
    pid = life.ping(vault) or (held.pid if held and held.is_agent else None)
    # First, since it would start another agent; an agent that it started ends with it.
    life.end_doors(ours)
    ended = life.stop(vault)
    if pid and ended.status == "none":
        ended = Life("stopped", pid, 0.0, None)
    lines = [f"agent stopped (process {ended.pid})"] if ended.pid else []
    lines += [f"page closed (process {one.pid}, {one.url}/ui)" for one in ours]
    pages = {"doors": [{"pid": one.pid, "url": one.url} for one in ours]} if ours else {}
    facts = {**ended.__dict__, "vault": vault, **pages}
    output.result(facts, *(lines or [f"no agent is running for {vault}"]))
    for process in serving:
        if not process.until_stop and ended.pid:
            output.remark(
                f"serve --http at {process.url} (process {process.pid}) starts it again; end that where it runs"
            )
    if ended.by:
        output.remark(
            f"the service {ended.by} starts it again at the next login; "
            "vaultmem service uninstall ends that"
        )
    return 0


def restart(args: Namespace, output: Output) -> int:
    """Stop, then start."""
    vault = Vault(args.vault).path  # checks the settings before the old agent is gone
    life.stop(vault)
    return _show_started(life.start(vault), vault, output)


# --- at login


def service(args: Namespace, output: Output) -> int:
    """Install or uninstall the service that starts the agent at login and after a failure."""
    return _install(args, output) if args.action == "install" else _uninstall(args, output)


def _install(args: Namespace, output: Output) -> int:
    vault = Vault(args.vault).path
    unit = services.service_for(vault)
    commands = [] if args.no_start else unit.start
    if args.dry_run:
        return _show_plan(unit, commands, output)
    paths.make_private(os.path.join(paths.state_folder(vault), "log"))
    was_there = services.is_installed(unit)
    services.write(unit)
    was_running = False
    if not args.no_start:
        was_running = life.stop(vault).status != "none"  # by hand; the service starts another
        if was_there:
            services.run(unit.stop)
    if failed := services.run(commands):
        if was_running:
            life.start(vault)  # better by hand than not at all
        typed = " && ".join(shlex.join(command) for command in unit.start)
        raise StateError(
            f"{unit.path} is written but not started ({failed}); once you are logged in to a desktop session, type: "
            f"{typed} (or vaultmem start, until then)"
        )
    _show_service(unit, "installed", output)
    if unit.kind == "systemd" and not args.no_start:
        output.remark("it runs while you are logged in; loginctl enable-linger keeps it running")
    return 0


def _uninstall(args: Namespace, output: Output) -> int:
    vault = life.vault_of(args.vault)
    unit = services.service_for(vault)
    if not services.is_installed(unit):
        _show_service(unit, "none", output)
        return 0
    if args.dry_run:
        return _show_plan(unit, [*unit.stop, ["rm", unit.path], *unit.forget], output)
    services.uninstall(unit)
    life.stop(vault)  # when the system could not be asked to
    _show_service(unit, "uninstalled", output)
    output.remark("the agent is stopped; vaultmem start starts it")
    return 0


def _show_service(unit: Service, status: str, output: Output) -> None:
    facts = {"status": status, "service": unit.name, "file": unit.path, "trouble": None}
    nothing = "no service is installed for this vault"
    output.result(facts, nothing if status == "none" else f"{status} {unit.path}")


def _show_plan(unit: Service, commands: list[list[str]], output: Output) -> int:
    typed = [shlex.join(command) for command in commands]
    content = unit.content.decode("utf-8")
    plan = {"service": unit.name, "file": unit.path, "content": content, "commands": typed}
    output.answer({"dry_run": True, **plan})
    output.line(output.paint(unit.path, "bold"))
    output.text(content)
    for line in typed:
        output.line(f"$ {line}")
    return 0
