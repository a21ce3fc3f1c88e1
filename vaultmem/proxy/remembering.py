"""What a request is told of the past, within a moment; a request never waits long for it, and never fails for it."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from vaultmem.api import Vault
from vaultmem.conversations import past
from vaultmem.conversations.past import Limits, Said
from vaultmem.core.chat_memory import Told
from vaultmem.errors import VaultmemError

log = logging.getLogger("vaultmem.proxy")

PATIENCE = 0.3  # seconds
THREADS = 2  # each has a vault of its own
EXPECTED = 0.02  # seconds that a recall takes, before there was one
_WEIGHT = 0.2  # of the last recall in what the next is expected to take
NOTHING = Told("", 0)


class _Queue:
    """Who waits for a recall. Whoever would wait in vain is told so at once: of a hundred chats that begin together
    those that cannot be told anything in time are to lose none."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting = 0
        self._expected = EXPECTED  # seconds that a recall takes of late

    def enter(self) -> bool:
        """Wait, if there is a chance. A free thread is one, whatever the last recall took."""
        with self._lock:
            turns = self._waiting // THREADS
            if turns and (turns + 1) * self._expected > PATIENCE:
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
            self._expected += _WEIGHT * (min(seconds, 2 * PATIENCE) - self._expected)


class Remembering:
    """Asks the vault, in threads of its own. `opened` opens a vault for a thread."""

    def __init__(self, opened: Callable[[], Vault], limits: Limits) -> None:
        self._opened, self._limits = opened, limits
        self._threads = ThreadPoolExecutor(THREADS, "recall")
        self._of_thread = threading.local()
        self._vaults: list[Vault] = []
        self._queue = _Queue()

    def warm_up(self) -> None:
        """Load what the first question would have to wait for."""
        for _ in range(THREADS):
            self._threads.submit(self._ask, "default", "hello", ())

    async def told(self, conversation: str, question: str, earlier: tuple[str, ...]) -> Told:
        """The text for a question; nothing where it fails or takes too long, which a line of the log tells."""
        if not self._queue.enter():
            log.warning("a request goes without memory: too many wait")
            return NOTHING
        asking = self._threads.submit(self._timed, conversation, question, earlier)
        asking.add_done_callback(lambda _: self._queue.leave())
        try:
            return await asyncio.wait_for(asyncio.wrap_future(asking), PATIENCE)
        except TimeoutError:
            log.warning("a request goes without memory: recall took over %d ms", PATIENCE * 1000)
        except VaultmemError as error:
            log.warning("a request goes without memory: %s", error)
        except Exception as error:
            log.warning("a request goes without memory: %s", type(error).__name__, exc_info=error)
        return NOTHING

    def _timed(self, conversation: str, question: str, earlier: tuple[str, ...]) -> Told:
        began = time.monotonic()
        try:
            return self._ask(conversation, question, earlier)
        finally:
            self._queue.took(time.monotonic() - began)

    def _ask(self, conversation: str, question: str, earlier: tuple[str, ...]) -> Told:
        return past.told(self._vault(), conversation, question, earlier, self._limits)

    def said_last(self, conversation: str) -> Said | None:
        """The newest words of the user that are notes already. Any thread may ask: it is asked once for a conversation,
        so the vault is opened for it, which is soon done."""
        with self._opened() as vault:
            return past.said_last(vault, conversation)

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
