"""Recalls for requests, within a moment; a request never waits long for it, and never fails for it."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from typing import NamedTuple

from vaultmem.api import Vault
from vaultmem.errors import VaultmemError
from vaultmem_chat.memory_context import Context, Limits, context_for

log = logging.getLogger("vaultmem.proxy")

WARM = 30.0  # seconds that the first request waits for recall to be ready
THREADS = 2  # each has a vault of its own
MOST_WAITING = 48  # requests: one that comes later would wait in vain, and goes without at once
SLOW, BUSY, FAILED = "slow", "busy", "failed"  # why nothing was recalled


class Recalled(NamedTuple):
    """The context of a request; where recall was given up, why: one of three words, and in words of ours."""

    context: Context = Context("", 0)
    dropped: str = ""
    why: str = ""


class RecallPool:
    """Asks the vault, in threads of its own. `opened` opens a vault for a thread; a request waits for as many seconds
    as `patience` says."""

    def __init__(self, opened: Callable[[], Vault], limits: Limits, patience: float) -> None:
        self._opened, self._limits, self.patience = opened, limits, patience
        self._threads = ThreadPoolExecutor(THREADS, "recall")
        self._of_thread = threading.local()
        self._vaults: list[Vault] = []
        self._waiting: set[object] = set()

    def warm_up(self) -> None:
        """Load what the first questions would have to wait for, in each thread; returns when it is loaded."""
        together = threading.Barrier(THREADS)
        recalls = [self._threads.submit(self._warm_up, together) for _ in range(THREADS)]
        wait(recalls, WARM)

    def _warm_up(self, together: threading.Barrier) -> None:
        together.wait(WARM)  # so that no thread takes the turn of another one
        try:
            self._ask("default", "hello", (), "")
        except VaultmemError as error:
            log.warning("recall is not ready: %s", error)

    async def recall(
        self, conversation: str, question: str, earlier: tuple[str, ...], client: str = ""
    ) -> Recalled:
        """The context of a question; nothing where that fails or takes too long, and then why."""
        if len(self._waiting) >= MOST_WAITING:
            return Recalled(dropped=BUSY, why="too many requests wait for recall")
        asking = self._threads.submit(self._ask, conversation, question, earlier, client)
        self._waiting.add(asking)
        asking.add_done_callback(self._waiting.discard)
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

    def _ask(
        self, conversation: str, question: str, earlier: tuple[str, ...], client: str
    ) -> Context:
        vault: Vault | None = getattr(self._of_thread, "vault", None)
        if vault is None:
            vault = self._of_thread.vault = self._opened()
            self._vaults.append(vault)
        limits = self._limits._replace(client=client)
        return context_for(vault, conversation, question, earlier, limits)

    def close(self) -> None:
        """Answer nothing more."""
        self._threads.shutdown(cancel_futures=True)
        for vault in self._vaults:
            vault.close()
