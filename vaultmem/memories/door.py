"""The door to the memories for every process: the sync agent, if one runs, else this process under the same lock."""

from __future__ import annotations

import time

from vaultmem import client
from vaultmem.core.values import TYPE_CHECKING
from vaultmem.errors import LockedError, UsageError, VaultmemError

if TYPE_CHECKING:
    from vaultmem.config import Config
    from vaultmem.memories.asked import Params
    from vaultmem.memories.reader import Opened
    from vaultmem.store.state import State

PATIENCE = 60.0  # seconds that a writer waits for another process to end
PAUSE = 0.02
LARGE = 65_536  # characters of content from which it is looked at before it is sent
MOST_BATCHES = 50  # that wait for their place in the history
# They may take longer than the agent gives a request, and step aside for others.
LONG = frozenset((
    "ingest", "take-in", "dream", "expire", "decay", "promote", "consolidate", "resolve-links", "history",
    "diff", "undo", "proposals", "accept", "notify", "settle", "export", "import", "converse", "compress",
    "old-sessions", "doubts", "advise",
))  # fmt: skip
WRONG_PARAMS = -32602


def ask(vault: Opened, state: State, config: Config, name: str, params: Params) -> object:
    """What a verb says. Raises VaultmemError in one clear line."""
    _check_size(name, params)
    deadline = time.monotonic() + PATIENCE
    while True:
        reply = _by_agent(state.vault, name, params)
        if reply is not client.NOBODY:
            return reply
        try:
            return _here(vault, state, config, name, params)
        except LockedError:
            if time.monotonic() > deadline:
                raise
            time.sleep(PAUSE)  # an agent that is just starting will answer soon; a sync will end


def _check_size(name: str, params: Params) -> None:
    """The agent takes no request of a megabyte, and would not say what is too large in it."""
    if any(isinstance(given, str) and len(given) > LARGE for given in params.values()):
        from vaultmem.memories.table import check_texts

        check_texts(name, params)


def _by_agent(folder: str, name: str, params: Params) -> object:
    asked = {key: given for key, given in params.items() if given is not None}
    request: dict[str, object] = {"verb": name, "params": asked}
    try:
        method = "memory.job" if name in LONG else "memory"
        return client.call(folder, method, request, timeout=None)
    except client.AgentError as error:
        if error.code == client.UNKNOWN_METHOD:
            raise VaultmemError(
                "the sync agent that runs is of another version of vaultmem; run vaultmem restart"
            ) from error
        if error.code == client.NO_ANSWER:
            raise VaultmemError(
                f"{error}; vaultmem history tells whether it was done before the agent ended"
            ) from error
        kind = UsageError if error.code == WRONG_PARAMS else VaultmemError
        raise kind(str(error)) from error


def _here(vault: Opened, state: State, config: Config, name: str, params: Params) -> object:
    from vaultmem.memories.desk import Desk
    from vaultmem.memories.reader import Reader
    from vaultmem.memories.table import do, only_reads

    reader = Reader(vault)
    desk = Desk(state, config)
    if only_reads(name) and not desk.is_unfinished():
        return vault.mended(lambda: do(desk, reader, name, params))
    with state.lock():
        desk.heal()
        found = do(desk, reader, name, params)
        desk.settle()
        history = desk.history
        if desk.batches.count() > MOST_BATCHES and not (history.is_kept and history.trouble()):
            desk.remember()
        return found
