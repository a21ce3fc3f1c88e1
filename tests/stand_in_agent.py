"""A real server in front of a real vault, in the test's process, for code that calls an agent."""

import contextlib
import logging
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from vaultmem import client, machine, paths
from vaultmem.agent.connection import Limits
from vaultmem.agent.server import Server
from vaultmem.api import Vault
from vaultmem.api.rpc import Reader, carry_out
from vaultmem.commands.dispatch import methods
from vaultmem.errors import VaultmemError
from vaultmem.index.sync import sync
from vaultmem.pending.open_store import open_store
from vaultmem.progress import current_progress


class OpenVault(Vault):
    """A vault as opened by the agent: it knows the agent's status without asking."""

    def agent(self) -> dict[str, object] | None:
        return {"pid": 1}

    def _index_writes(self) -> None:
        pass

    def ask(self, verb: str, /, **params: object) -> Any:
        return carry_out(open_store(self.state, self.config), Reader(self), verb, params)


class StandIn:
    """A Host that opens the vault anew for every request, and records what it was asked to do."""

    def __init__(self, vault: Path) -> None:
        self.folder = str(vault)
        self.signature = client.settings()
        self.opened = 0
        self.synced: list[dict[str, bool]] = []
        self.fails: VaultmemError | None = None
        self.stopped = threading.Event()

    def vault(self) -> AbstractContextManager[Vault]:
        self.opened += 1
        return OpenVault(self.folder)

    def settings_signature(self) -> dict[str, str]:
        return self.signature

    def status(self) -> dict[str, object]:
        return {"pid": 1, "version": machine.program()}

    def index_writes(self) -> bool:
        return True

    def sync(self, *, rebuild: bool, confirm_removals: bool, embed: bool) -> dict[str, object]:
        self.synced.append(
            {"rebuild": rebuild, "confirm_removals": confirm_removals, "embed": embed}
        )
        if self.fails:
            raise self.fails
        if embed:
            return {"embedded": 7, "model": "a-model", "remark": None}
        progress = current_progress()
        progress.stage("reading", 30)
        for _ in range(3):
            time.sleep(0.15)
            progress.advance(10)
        with Vault(self.folder) as vault:
            done = sync(
                vault.path, vault.config, rebuild=rebuild, confirm_removals=confirm_removals
            )
            return done._asdict()

    def jobs(self) -> list[dict[str, object]]:
        return [{"name": "compare"}]

    def run_job(self, name: str) -> dict[str, object]:
        if name != "compare":
            raise VaultmemError(f"no job is called {name!r}")
        return {"name": name}

    def stop(self) -> None:
        self.stopped.set()


@contextlib.contextmanager
def logged_by(name: str) -> Iterator[list[str]]:
    """The messages of a logger, whatever has been done to the loggers above it."""
    said: list[str] = []

    class Kept(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            said.append(logging.Formatter().format(record))

    logger, handler = logging.getLogger(name), Kept()
    logger.addHandler(handler)
    try:
        yield said
    finally:
        logger.removeHandler(handler)


@contextlib.contextmanager
def agent_for(vault: Path, limits: Limits | None = None) -> Iterator[StandIn]:
    """A server where clients of the vault look for one."""
    host = StandIn(vault)
    server = Server(paths.socket_path(str(vault)), methods(host), limits)
    server.start()
    try:
        yield host
    finally:
        server.stop()
