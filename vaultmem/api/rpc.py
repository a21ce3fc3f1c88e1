"""A verb of memories carried out: by the sync agent, if one runs, else in this process under the same lock."""

from __future__ import annotations

import time

from vaultmem import client
from vaultmem.api import params as declared
from vaultmem.api.request import NOT_FOUND, WRONG_PARAMS
from vaultmem.api.verbs import found, verb
from vaultmem.errors import LockedError, NoteNotFoundError, UsageError, VaultmemError
from vaultmem.text.values import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from vaultmem.config import Config
    from vaultmem.index.state import State
    from vaultmem.memories.asked import Asked, Params
    from vaultmem.memories.desk import Desk
    from vaultmem.memories.reader import Opened, Reader

WAIT = 60.0  # seconds that a writer waits for another process to end
PAUSE = 0.02
LARGE = 65_536  # characters of content from which it is looked at before it is sent
MOST_BATCHES = 50  # that wait for their place in the history
# What the agent says and this process would have raised.
_KINDS: dict[int, type[VaultmemError]] = {WRONG_PARAMS: UsageError, NOT_FOUND: NoteNotFoundError}


def ask(vault: Opened, state: State, config: Config, name: str, params: Params) -> object:
    """The answer of a verb. Raises VaultmemError in one clear line."""
    _check_size(name, params)
    deadline = time.monotonic() + WAIT
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


def carry_out(desk: Desk, reader: Reader, name: str, params: Params) -> object:
    """The answer of a verb, ready for JSON, from an open desk. Raises VaultmemError in one clear line."""
    from vaultmem.memories import model

    asked = _asked(name, params)
    one = verb(name)
    assert one is not None
    run: Callable[..., object] = found(one.run)
    if one.apart:
        return run(desk, reader, asked)
    with desk.session(reader, writes=one.writes) as session:
        session.viewer = model.viewer(asked.text("by"), asked.texts("scope"))
        return run(session, asked)


def only_reads(name: str) -> bool:
    """Whether the verb needs no lock."""
    one = verb(name)
    return one is not None and bool(one.run) and not one.writes


def _asked(name: str, params: Params) -> Asked:
    """What a verb is asked with, checked. Raises UsageError."""
    from vaultmem.memories.asked import Asked

    return Asked(declared.check(name, params), declared.speller(declared.of_verb(name)))


def _check_size(name: str, params: Params) -> None:
    """The agent takes no request of a megabyte, and would not say what is too large in it."""
    if any(isinstance(given, str) and len(given) > LARGE for given in params.values()):
        asked = _asked(name, params)
        if "content" in params:
            asked.content()
        if "text" in params:
            asked.whole_text("text")


def _by_agent(folder: str, name: str, params: Params) -> object:
    given = {key: value for key, value in params.items() if value is not None}
    request: dict[str, object] = {"verb": name, "params": given, "door": declared.door.get()}
    one = verb(name)
    try:
        method = "memory.job" if one is not None and one.slow else "memory"
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
        raise _KINDS.get(error.code, VaultmemError)(str(error)) from error


def _here(vault: Opened, state: State, config: Config, name: str, params: Params) -> Any:
    from vaultmem.memories.desk import Desk
    from vaultmem.memories.reader import Reader

    reader = Reader(vault)
    desk = Desk(state, config)
    if only_reads(name) and not desk.is_unfinished():
        return vault.mended(lambda: carry_out(desk, reader, name, params))
    with state.lock():
        desk.heal()
        answer = carry_out(desk, reader, name, params)
        desk.settle()
        history = desk.history
        if desk.batches.count() > MOST_BATCHES and not (history.is_kept and history.trouble()):
            desk.remember()
        return answer
