"""vaultmem serve: run the sync agent in the foreground."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from vaultmem import config as settings
from vaultmem import machine, now
from vaultmem.agent.agent import Agent, Settings
from vaultmem.agent.events import END
from vaultmem.agent.life import SYNC_PATIENCE
from vaultmem.agent.log import Log
from vaultmem.agent.peer import holder
from vaultmem.agent.service import agent_command
from vaultmem.api import Vault
from vaultmem.commands.dispatch import methods
from vaultmem.commands.shared import say_warnings
from vaultmem.commands.zone import use_zone
from vaultmem.errors import LockedError, StateError, UsageError
from vaultmem.index.state import State
from vaultmem.output import Output
from vaultmem.text import times
from vaultmem.text.values import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

LOOK_AGAIN = 0.2
PERIODIC = ("expire", "upgrade", "decay", "consolidate")
SWITCH_EVERY = 0.0005  # seconds; the usual 5 ms would be added to a search at every file it opens


def run(args: argparse.Namespace, output: Output) -> int:
    """Hold the lock, keep the index true, answer requests."""
    if now.is_set() and not os.environ.get("VAULTMEM_TESTS"):
        raise UsageError(
            "VAULTMEM_NOW is set, a clock for tests; unset it before you start the agent"
        )
    with Vault(args.vault) as vault:
        folder = vault.path
        say_warnings(output, vault)
    state = State(folder)
    sys.setswitchinterval(SWITCH_EVERY)
    machine.keep_together()
    # For numpy: on a busy machine two threads wait for each other.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    with _lock(state, output), Log(state.folder, args.log_format) as log:
        config = settings.load(folder, {**os.environ, **_every(args.interval)})
        agent = Agent(state, Settings(settings.signature(folder), config), lambda: log.last_error)
        use_zone(config.text("notify.timezone"))  # after the agent has looked at its own
        with agent.bell.rung_by_signals():
            anew = agent.run(methods(agent))
        ended = agent.bell.heard(0) == END  # told to end while it closed to begin anew
    if anew and not ended:
        sys.stdout.flush()
        sys.stderr.flush()
        use_zone("")
        words = [*agent_command(folder), "--log-format", args.log_format]
        words += ["--interval", args.interval] if args.interval else []
        os.execv(sys.executable, words)  # noqa: S606 - our own
    return 0


def _every(interval: str | None) -> dict[str, str]:
    """The settings that --interval stands for, as variables."""
    if not interval:
        return {}
    try:
        times.duration_seconds(interval)
    except ValueError as error:
        raise UsageError(f"--interval must be {error}") from error
    return {settings.variable(f"jobs.{name}"): interval for name in PERIODIC}


@contextmanager
def _lock(state: State, output: Output) -> Iterator[None]:
    """Be the one agent of the vault. A sync that is running is waited for."""
    deadline = time.monotonic() + SYNC_PATIENCE
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
                    output.remark(f"vaultmem: {error}; waiting")
                waited = True
                time.sleep(LOOK_AGAIN)
        yield


def _refuse_second(state: State, error: LockedError) -> None:
    found = holder(state.folder)
    if found and found.is_agent:
        raise StateError(
            f"the sync agent of {state.vault} is running already (process {found.pid});"
            " vaultmem stop ends it"
        ) from error
