"""What a request is told of the past, within a moment; a request never waits long for it, and never fails for it."""

from __future__ import annotations

import asyncio
import logging
import threading
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
MOST_WAITING = 64  # questions; who comes after them would wait too long anyway
NOTHING = Told("", 0)


class Remembering:
    """Asks the vault, in threads of its own. `opened` opens a vault for a thread."""

    def __init__(self, opened: Callable[[], Vault], limits: Limits) -> None:
        self._opened, self._limits = opened, limits
        self._threads = ThreadPoolExecutor(THREADS, "recall")
        self._of_thread = threading.local()
        self._vaults: list[Vault] = []
        self._room = threading.Semaphore(MOST_WAITING)

    def warm_up(self) -> None:
        """Load what the first question would have to wait for."""
        for _ in range(THREADS):
            self._threads.submit(self._ask, "default", "hello", ())

    async def told(self, conversation: str, question: str, earlier: tuple[str, ...]) -> Told:
        """The text for a question; nothing where it fails or takes too long, which a line of the log tells."""
        if not self._room.acquire(blocking=False):
            log.warning("a request goes without memory: too many wait")
            return NOTHING
        asking = self._threads.submit(self._ask, conversation, question, earlier)
        asking.add_done_callback(lambda _: self._room.release())
        try:
            return await asyncio.wait_for(asyncio.wrap_future(asking), PATIENCE)
        except TimeoutError:
            log.warning("a request goes without memory: recall took over %d ms", PATIENCE * 1000)
        except VaultmemError as error:
            log.warning("a request goes without memory: %s", error)
        except Exception as error:
            log.warning("a request goes without memory: %s", type(error).__name__, exc_info=error)
        return NOTHING

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
