"""The turns of chats: the user's words are on disk before they are passed on, and the answer before the client sees
its end; recall for requests; and the model that learns from each turn.

A repeated question (a retry, a request for another answer, a tool's result that continues the turn) is the same turn.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import uuid
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from functools import lru_cache
from typing import NamedTuple

from vaultmem import now as clock
from vaultmem.adapter.services import Model
from vaultmem.api import Vault
from vaultmem.credentials import Key
from vaultmem.errors import LlmError, VaultmemError
from vaultmem_chat.bodies import Chat
from vaultmem_chat.learning.learning import storable
from vaultmem_chat.learning.turn_queue import SERVICE, Item, Turns
from vaultmem_chat.memory_context import Context, Limits, context_for
from vaultmem_chat.proxy.upstream import API_KEY, carries_key
from vaultmem_server.guard import Headers, header

log = logging.getLogger("vaultmem.proxy")

MOST_CONVERSATIONS = 10_000  # conversations whose newest turn is cached
MOST_KEYS = 10_000
MOST_MODELS = 8
_BEARER = "bearer "


class _Newest:
    def __init__(self, digest: str, user_id: str = "") -> None:
        self.digest, self.user_id = digest, user_id or str(uuid.uuid4())
        self.item: Item | None = None  # between two requests, while an answer may still arrive


class ChatTurns:
    """The turns of all conversations. Thread-safe. `nudge` wakes the worker; `earlier` returns the user's last words in
    a conversation and their id, for a question that is repeated after a restart; `service` is the one that answers,
    see learning.worker."""

    def __init__(
        self, queue: Turns, nudge: Callable[[], None], earlier: Callable[[str], tuple[str, str]],
        service: str = "",
    ) -> None:  # fmt: skip
        self.queue, self.nudge, self._earlier, self._service = queue, nudge, earlier, service
        self._newest: OrderedDict[tuple[str, str], _Newest] = OrderedDict()  # by session, too
        self._lock = threading.Lock()

    def begin(self, conversation: str, chat: Chat) -> Turn | None:
        """Durably store the user's words. Returns None if that fails, which stops no request."""
        key = conversation, chat.session
        newest, item, abandoned = self._place(key, chat)
        try:
            if abandoned is not None:
                self.queue.close(abandoned, clock.seconds())
            if item is None:
                item = self.queue.begin(
                    conversation, chat.question, clock.seconds(), user_id=newest.user_id,
                    meta={"model": chat.model, SERVICE: self._service},
                )  # fmt: skip
                self.nudge()
        except VaultmemError as error:
            log.warning("a turn is not kept: %s", error)
            return None
        return Turn(self, key, newest, item)

    def leave_open(self, key: tuple[str, str], newest: _Newest, item: Item) -> bool:
        """Leave a turn to the next request, unless another turn has begun before this request ended. Returns whether it
        was left."""
        with self._lock:
            if self._newest.get(key) is not newest or newest.item is not None:
                return False
            newest.item = item
            return True

    def _place(self, key: tuple[str, str], chat: Chat) -> tuple[_Newest, Item | None, Item | None]:
        """The turn of a chat, its item if the request continues it, and the item of the previous turn if its answer
        will no longer arrive."""
        words, id_ = ("", "") if key in self._newest else self._earlier(key[0])
        last_id = id_ if words and words == storable(chat.question).strip() else ""
        with self._lock:
            newest = self._newest.get(key)
            item, abandoned = newest.item if newest else None, None
            if newest is None or newest.digest != chat.digest:
                last_id = "" if newest else last_id
                newest, item, abandoned = _Newest(chat.digest, last_id), None, item
                self._newest[key] = newest
            newest.item = None  # it belongs to this request
            self._newest.move_to_end(key)
            if len(self._newest) > MOST_CONVERSATIONS:
                self._newest.popitem(last=False)
            return newest, item, abandoned


class Turn:
    """One request's part in a turn."""

    def __init__(self, turns: ChatTurns, key: tuple[str, str], newest: _Newest, item: Item) -> None:
        self._turns, self._key, self._newest, self._item = turns, key, newest, item
        self.id = item.id
        self.is_answered = self._goes_on = False

    def answer(self, text: str) -> None:
        """Store the answer before the client has seen its end. If more of it arrives, it is stored again."""
        try:
            self._item = self._turns.queue.finish(self._item, text, clock.seconds())
        except VaultmemError as error:
            log.warning("an answer is not kept: %s", error)
            return
        self._turns.nudge()
        self.is_answered = True

    def leave_open(self) -> None:
        """Let the next request continue the turn, since tools are called; before the client has seen the end of this
        one, as it may send their results at once."""
        if not self._goes_on:
            self._goes_on = self._turns.leave_open(self._key, self._newest, self._item)

    def end(self) -> None:
        """End the request."""
        if self.is_answered or self._goes_on:
            return
        try:
            self._turns.queue.close(self._item, clock.seconds())
        except VaultmemError as error:
            log.warning("a turn stays open: %s", error)
        self._turns.nudge()


class Learners:
    """Chooses the model that learns from a turn: with our key, or with the key of its request. Thread-safe.

    A client's key is kept only in memory, for its own turn, and only sent to its upstream. Clients may share a
    conversation: a turn without a key never uses that of another client. With `has_own` no client's key is kept.
    `opened` opens a model from a client's key and the name of a model.
    """

    def __init__(self, opened: Callable[[Key | None, str], Model | None], *, has_own: bool) -> None:
        self._open, self._has_own = lru_cache(MOST_MODELS)(opened), has_own
        self._keys: OrderedDict[str, Key | None] = OrderedDict()  # keys by turn
        self._lock = threading.Lock()

    def begin(self, turn: str, headers: Headers) -> None:
        """Record the headers of a turn, by its id. Of several requests of one turn the first counts."""
        with self._lock:
            self._keys.setdefault(turn, None if self._has_own else _key(headers))
            if len(self._keys) > MOST_KEYS:
                self._keys.popitem(last=False)

    def end(self, turn: str) -> None:
        """Forget the key of a turn that was learned from."""
        with self._lock:
            self._keys.pop(turn, None)

    def model(self, item: Item) -> Model | None:
        """The model for a turn; None if there is none or it does not answer: then rules extract facts."""
        try:
            return self._open(self._keys.get(item.id), item.model)
        except VaultmemError as error:
            log.warning("no model learns from turns: %s", error)
            return None


def _key(headers: Headers) -> Key | None:
    """The key of a client, if it has a valid one."""
    key_headers = [(name, value) for name, value in headers if carries_key([(name, value)])]
    value = header(key_headers, b"authorization")
    is_bearer = value.lower().startswith(_BEARER)
    try:
        return Key(value[len(_BEARER) :] if is_bearer else header(key_headers, API_KEY))
    except LlmError:
        return None


# Recall for requests: no request waits long for it or fails because of it.

WARM = 30.0  # seconds that the first request waits for the warm-up
THREADS = 2  # each opens the vault itself
MOST_WAITING = 48  # waiting requests, beyond which one proceeds without memory at once
SLOW, BUSY, FAILED = "slow", "busy", "failed"  # why nothing was recalled


class Recalled(NamedTuple):
    """The context of a request; if recall was given up, the reason as a code and as text."""

    context: Context = Context("", 0)
    dropped: str = ""
    why: str = ""


class RecallPool:
    """Recalls in its own threads; `opened` opens the vault for each. A request waits at most `patience` seconds."""

    def __init__(self, opened: Callable[[], Vault], limits: Limits, patience: float) -> None:
        self._opened, self._limits, self.patience = opened, limits, patience
        self._threads = ThreadPoolExecutor(THREADS, "recall")
        self._of_thread = threading.local()
        self._vaults: list[Vault] = []
        self._waiting: set[object] = set()

    def warm_up(self) -> None:
        """Load in each thread what the first recalls need. Returns when it is loaded."""
        together = threading.Barrier(THREADS)
        recalls = [self._threads.submit(self._warm_up, together) for _ in range(THREADS)]
        wait(recalls, WARM)

    def _warm_up(self, together: threading.Barrier) -> None:
        together.wait(WARM)  # so that each thread takes one
        try:
            self._ask("default", "hello", (), self._limits)
        except VaultmemError as error:
            log.warning("recall is not ready: %s", error)

    async def recall(
        self, conversation: str, question: str, earlier: tuple[str, ...], client: str = ""
    ) -> Recalled:
        """The context of a question; empty, with the reason, if that fails or takes too long."""
        if len(self._waiting) >= MOST_WAITING:
            return Recalled(dropped=BUSY, why="too many requests wait for recall")
        limits = self._limits._replace(client=client)
        asking = self._threads.submit(self._ask, conversation, question, earlier, limits)
        self._waiting.add(asking)
        asking.add_done_callback(self._waiting.discard)
        try:
            context = await asyncio.wait_for(asyncio.wrap_future(asking), self.patience)
            return Recalled(context)
        except TimeoutError:
            why = f"recall took over {self.patience:g} s (proxy.patience)"
            return Recalled(dropped=SLOW, why=why)
        except VaultmemError as error:
            return Recalled(dropped=FAILED, why=f"recall failed: {error}")
        except Exception as error:  # the last resort: the vault may be damaged
            log.warning("recall failed", exc_info=error)
            return Recalled(dropped=FAILED, why=f"recall failed: {type(error).__name__}")

    def is_busy(self) -> bool:
        """Whether a request waits."""
        return bool(self._waiting)

    def _ask(
        self, conversation: str, question: str, earlier: tuple[str, ...], limits: Limits
    ) -> Context:
        vault: Vault | None = getattr(self._of_thread, "vault", None)
        if vault is None:
            vault = self._of_thread.vault = self._opened()
            self._vaults.append(vault)
        return context_for(vault, conversation, question, earlier, limits)

    def close(self) -> None:
        """Stop the threads."""
        self._threads.shutdown(cancel_futures=True)
        for vault in self._vaults:
            vault.close()
