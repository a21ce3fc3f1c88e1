"""Recalls for requests, within a moment; a request never waits long for it, and never fails for it."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from typing import NamedTuple

from vaultmem.api import Vault
from vaultmem.chat import past
from vaultmem.chat.bodies import Context
from vaultmem.chat.past import LastTurn, Limits
from vaultmem.errors import VaultmemError

log = logging.getLogger("vaultmem.proxy")

WARM = 30.0  # seconds that the first request waits for recall to be ready
THREADS = 2  # each has a vault of its own
EXPECTED = 0.02  # seconds that a recall takes, before there was one
_WEIGHT = 0.2  # of the last recall in what the next is expected to take
NOTHING = Context("", 0)
# Why nothing was recalled.
SLOW, BUSY, FAILED = "slow", "busy", "failed"


class Recalled(NamedTuple):
    """The context of a request; where recall was given up, why: one of three words, and in words of ours."""

    context: Context = NOTHING
    dropped: str = ""
    why: str = ""


class _Queue:
    """The requests that wait for a recall. One that would wait in vain is refused at once: of a hundred chats that
    begin together those that get no context are to lose no time."""

    def __init__(self, patience: float) -> None:
        self._patience = patience
        self._lock = threading.Lock()
        self._waiting = 0
        self._expected = EXPECTED  # seconds that a recall takes of late

    def enter(self) -> bool:
        """Wait, if there is a chance. A free thread is one, whatever the last recall took."""
        with self._lock:
            turns = self._waiting // THREADS
            if turns and (turns + 1) * self._expected > self._patience:
                return False
            self._waiting += 1
            return True

    def leave(self) -> None:
        """The wait is over, one way or the other."""
        with self._lock:
            self._waiting -= 1

    def took(self, seconds: float) -> None:
        """A recall is done. One that was much too slow counts as twice too slow: a machine that stood still for
        seconds tells little of the next recall, and is to be forgotten after a few."""
        with self._lock:
            self._expected += _WEIGHT * (min(seconds, 2 * self._patience) - self._expected)


class RecallPool:
    """Asks the vault, in threads of its own. `opened` opens a vault for a thread; a request waits for as many seconds
    as `patience` says."""

    def __init__(self, opened: Callable[[], Vault], limits: Limits, patience: float) -> None:
        self._opened, self._limits, self.patience = opened, limits, patience
        self._threads = ThreadPoolExecutor(THREADS, "recall")
        self._of_thread = threading.local()
        self._vaults: list[Vault] = []
        self._queue = _Queue(patience)

    def warm_up(self) -> None:
        """Load what the first questions would have to wait for, in each thread; returns when it is loaded."""
        together = threading.Barrier(THREADS)
        recalls = [self._threads.submit(self._warmed_up, together) for _ in range(THREADS)]
        wait(recalls, WARM)

    def _warmed_up(self, together: threading.Barrier) -> None:
        together.wait(WARM)  # so that no thread takes the turn of another one
        try:
            self._ask("default", "hello", ())
        except VaultmemError as error:
            log.warning("recall is not ready: %s", error)

    async def recalled(
        self, conversation: str, question: str, earlier: tuple[str, ...]
    ) -> Recalled:
        """The context of a question; nothing where that fails or takes too long, and then why."""
        if not self._queue.enter():
            return Recalled(dropped=BUSY, why="too many requests wait for recall")
        asking = self._threads.submit(self._timed, conversation, question, earlier)
        asking.add_done_callback(lambda _: self._queue.leave())
        try:
            context = await asyncio.wait_for(asyncio.wrap_future(asking), self.patience)
        except TimeoutError:
            why = f"recall took over {self.patience:g} s (proxy.patience)"
            return Recalled(dropped=SLOW, why=why)
        except VaultmemError as error:
            return Recalled(dropped=FAILED, why=f"recall failed: {error}")
        except Exception as error:  # the border to a vault that somebody may have damaged
            log.warning("recall failed", exc_info=error)
            return Recalled(dropped=FAILED, why=f"recall failed: {type(error).__name__}")
        return Recalled(context)

    def _timed(self, conversation: str, question: str, earlier: tuple[str, ...]) -> Context:
        began = time.monotonic()
        try:
            return self._ask(conversation, question, earlier)
        finally:
            self._queue.took(time.monotonic() - began)

    def _ask(self, conversation: str, question: str, earlier: tuple[str, ...]) -> Context:
        return past.context_for(self._vault(), conversation, question, earlier, self._limits)

    def last_turn(self, conversation: str) -> LastTurn | None:
        """The newest words of the user that are notes already. Any thread may ask. Needed once for a conversation,
        so the vault is opened for it, which is soon done."""
        with self._opened() as vault:
            return past.last_turn(vault, conversation)

    def _vault(self) -> Vault:
        vault: Vault | None = getattr(self._of_thread, "vault", None)
        if vault is None:
            vault = self._of_thread.vault = self._opened()
            self._vaults.append(vault)
        return vault

    def close(self) -> None:
        """Answer nothing more."""
        self._threads.shutdown(cancel_futures=True)
        for vault in self._vaults:
            vault.close()
