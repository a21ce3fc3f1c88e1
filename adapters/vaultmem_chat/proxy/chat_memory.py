"""What a chat leaves to memory and gets of it: the user's words are on the disk before they are passed on, the answer
before its end is; and the model that learns from each turn.

A question that comes once more (a client that tries again, another answer that is wanted, a tool's result that goes
on with the turn) is the same turn of the user.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import uuid
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from functools import lru_cache, partial
from time import monotonic
from typing import NamedTuple

from vaultmem import now as clock
from vaultmem.adapter.services import Model
from vaultmem.api import Vault
from vaultmem.credentials import Key
from vaultmem.errors import LlmError, VaultmemError
from vaultmem_chat.bodies import Chat
from vaultmem_chat.conversing import truncate
from vaultmem_chat.learning.turn_queue import SERVICE, Item, Turns
from vaultmem_chat.memory_context import Context, Limits, context_for
from vaultmem_chat.proxy.upstream import carries_key
from vaultmem_server.guard import Headers, header

log = logging.getLogger("vaultmem.proxy")

MOST_CONVERSATIONS = 10_000  # whose newest turns are known
MOST_KEYS = 10_000
MOST_MODELS = 8
_BEARER = "bearer "


class LastTurn(NamedTuple):
    """The user's last message in a conversation, and the id of the turn."""

    words: str
    user_id: str


class _Newest:
    """The newest turn of a conversation."""

    def __init__(self, digest: str, user_id: str) -> None:
        self.digest, self.user_id = digest, user_id
        self.item: Item | None = None  # while an answer may still come
        self.requests = 0  # that wait for an answer now


class ChatTurns:
    """The turns of all conversations. Any thread may use it. `nudge` wakes the worker; `earlier` knows what the user
    said last in a conversation that this process has not seen yet; `service` is the one that answers, see chat.worker.
    """

    def __init__(
        self, queue: Turns, nudge: Callable[[], None], earlier: Callable[[str], LastTurn | None],
        service: str = "",
    ) -> None:  # fmt: skip
        self.queue, self._nudge, self._earlier, self._service = queue, nudge, earlier, service
        self._newest: OrderedDict[str, _Newest] = OrderedDict()
        self._lock = threading.Lock()

    def begin(self, conversation: str, chat: Chat) -> Turn | None:
        """The user's words are safe when this returns; None where they could not be stored, which stops no request."""
        newest, abandoned = self._place(conversation, chat)
        try:
            if abandoned is not None:
                self.queue.close(abandoned, clock.seconds())
            item = newest.item if newest.requests == 1 else None
            if item is None:
                item = self.queue.begin(
                    conversation, chat.question, clock.seconds(), user_id=newest.user_id,
                    meta={"model": chat.model, SERVICE: self._service},
                )  # fmt: skip
                self._nudge()
        except VaultmemError as error:
            log.warning("a turn is not kept: %s", error)
            self.leave(newest)
            return None
        newest.item = item
        return Turn(self, newest, item)

    def _place(self, conversation: str, chat: Chat) -> tuple[_Newest, Item | None]:
        """The turn that is meant, and the one before it, if that still waits for an answer that will not come."""
        last = None if conversation in self._newest else self._earlier(conversation)
        words = truncate(chat.question).strip()  # as its note has them
        with self._lock:
            newest = self._newest.get(conversation)
            if newest is None and last is not None and last.words == words:
                newest = self._newest[conversation] = _Newest(chat.digest, last.user_id)
            abandoned = None
            if newest is None or newest.digest != chat.digest:
                abandoned = newest.item if newest is not None and not newest.requests else None
                newest = self._newest[conversation] = _Newest(chat.digest, str(uuid.uuid4()))
            newest.requests += 1
            self._newest.move_to_end(conversation)
            if len(self._newest) > MOST_CONVERSATIONS:
                self._newest.popitem(last=False)
            return newest, abandoned

    def leave(self, newest: _Newest) -> None:
        """One request less waits for an answer."""
        with self._lock:
            newest.requests -= 1

    def finish(self, item: Item, text: str) -> Item:
        """The answer is safe when this returns."""
        done = self.queue.finish(item, text, clock.seconds())
        self._nudge()
        return done

    def close(self, item: Item) -> None:
        """No answer comes."""
        self.queue.close(item, clock.seconds())
        self._nudge()


class Turn:
    """One request's part in a turn."""

    def __init__(self, turns: ChatTurns, newest: _Newest, item: Item) -> None:
        self._turns, self._newest, self._item = turns, newest, item
        self.id = item.id
        self.is_answered = False

    def answer(self, text: str) -> None:
        """Keep the whole answer, before the client has seen the end of it. More of it may come, and is stored again."""
        try:
            self._item = self._turns.finish(self._item, text)
        except VaultmemError as error:
            log.warning("an answer is not kept: %s", error)
            return
        self.is_answered = True
        self._newest.item = None

    def end(self, goes_on: bool) -> None:
        """The request is over. Where tools are called the turn goes on: the answer comes with a later request."""
        self._turns.leave(self._newest)
        if self.is_answered or (goes_on and self._newest.item is self._item):
            return
        self._newest.item = None
        try:
            self._turns.close(self._item)
        except VaultmemError as error:
            log.warning("a turn stays open: %s", error)


class Learners:
    """Which model learns from a turn: with our key, or with the key that came with the turn. Any thread may ask.

    A client's key is held in memory only, for its own turn, and goes only to the upstream it was sent to. Several
    clients may share a conversation: a turn that came without a key is not learned from at the cost of another client.
    With `has_own` no key of a client is held. `opened` makes a model from a client's key and the name of a model.
    """

    def __init__(self, opened: Callable[[Key | None, str], Model | None], *, has_own: bool) -> None:
        self._open, self._has_own = lru_cache(MOST_MODELS)(opened), has_own
        self._keys: OrderedDict[str, Key | None] = OrderedDict()  # by turn
        self._lock = threading.Lock()

    def begin(self, turn: str, headers: Headers) -> None:
        """A turn, by its id, has come with these headers. Of several requests of one turn the first decides."""
        with self._lock:
            self._keys.setdefault(turn, None if self._has_own else _key(headers))
            if len(self._keys) > MOST_KEYS:
                self._keys.popitem(last=False)

    def end(self, turn: str) -> None:
        """A turn is learned from: its key is not needed any more."""
        with self._lock:
            self._keys.pop(turn, None)

    def model(self, item: Item) -> Model | None:
        """The model for a turn; None where there is none, or none answers: then rules do the work."""
        try:
            return self._open(self._keys.get(item.id), item.model)
        except VaultmemError as error:
            log.warning("no model learns from turns: %s", error)
            return None


def _key(headers: Headers) -> Key | None:
    """The key of a client, if it has one that can be sent."""
    value = header(headers, b"authorization")
    if not carries_key(headers) or not value.lower().startswith(_BEARER):
        return None
    try:
        return Key(value[len(_BEARER) :])
    except LlmError:
        return None


# Recalls for requests, within a moment; a request never waits long for it, and never fails for it.

WARM = 30.0  # seconds that the first request waits for recall to be ready
THREADS = 2  # each has a vault of its own
HURRY = 0.5  # of the patience: a recall that begins later goes by words alone
MOST_WAITING = 48  # requests: one that comes later would wait in vain, and goes without at once
SLOW, BUSY, FAILED = "slow", "busy", "failed"  # why nothing was recalled


class Recalled(NamedTuple):
    """The context of a request; where recall was given up, why: one of three words, and in words of ours."""

    context: Context = Context("", 0)
    dropped: str = ""
    why: str = ""
    hurried: bool = False  # by words alone, for many ask at once


class RecallPool:
    """Asks the vault, in threads of its own; `opened` opens a vault for each. A request waits for `patience`."""

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
            self._ask("default", "hello", (), self._limits)
        except VaultmemError as error:
            log.warning("recall is not ready: %s", error)

    async def recall(
        self, conversation: str, question: str, earlier: tuple[str, ...], client: str = ""
    ) -> Recalled:
        """The context of a question; nothing where that fails or takes too long, and then why."""
        if len(self._waiting) >= MOST_WAITING:
            return Recalled(dropped=BUSY, why="too many requests wait for recall")
        late = monotonic() + HURRY * self.patience
        ask = partial(self._ask, conversation, question, earlier)
        asking = self._threads.submit(self._in_turn, ask, client, late)
        self._waiting.add(asking)
        asking.add_done_callback(self._waiting.discard)
        try:
            return await asyncio.wait_for(asyncio.wrap_future(asking), self.patience)
        except TimeoutError:
            why = f"recall took over {self.patience:g} s (proxy.patience)"
            return Recalled(dropped=SLOW, why=why)
        except VaultmemError as error:
            return Recalled(dropped=FAILED, why=f"recall failed: {error}")
        except Exception as error:  # the border to a vault that somebody may have damaged
            log.warning("recall failed", exc_info=error)
            return Recalled(dropped=FAILED, why=f"recall failed: {type(error).__name__}")

    def is_busy(self) -> bool:
        """Whether a request waits."""
        return bool(self._waiting)

    def _in_turn(self, ask: Callable[[Limits], Context], client: str, late: float) -> Recalled:
        hurried = monotonic() > late
        return Recalled(ask(self._limits._replace(client=client, hurried=hurried)), hurried=hurried)

    def _ask(
        self, conversation: str, question: str, earlier: tuple[str, ...], limits: Limits
    ) -> Context:
        vault: Vault | None = getattr(self._of_thread, "vault", None)
        if vault is None:
            vault = self._of_thread.vault = self._opened()
            self._vaults.append(vault)
        return context_for(vault, conversation, question, earlier, limits)

    def close(self) -> None:
        """Answer nothing more."""
        self._threads.shutdown(cancel_futures=True)
        for vault in self._vaults:
            vault.close()
