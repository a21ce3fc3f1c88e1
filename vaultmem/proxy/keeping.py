"""Keeps turns: the user's words are on the disk before they are passed on, the answer before its end is.

A question that comes once more (a client that tries again, another answer that is wanted, a tool's result that goes
on with the turn) is the same turn of the user.
"""

from __future__ import annotations

import logging
import threading
import uuid
from collections import OrderedDict
from collections.abc import Callable

from vaultmem import now as clock
from vaultmem.chat.bodies import Chat
from vaultmem.chat.past import LastTurn
from vaultmem.chat.turn_queue import SERVICE, Item, Turns
from vaultmem.errors import VaultmemError

log = logging.getLogger("vaultmem.proxy")

MOST_KEPT = 200_000  # characters of a turn; what is longer is cut
MOST_CONVERSATIONS = 10_000  # whose newest turns are known
CUT = "\n\n[… cut]"


class _Newest:
    """The newest turn of a conversation."""

    def __init__(self, digest: str, user_id: str) -> None:
        self.digest, self.user_id = digest, user_id
        self.item: Item | None = None  # while an answer may still come
        self.requests = 0  # that wait for an answer now


class Keeping:
    """The turns of all conversations. Any thread may use it. `nudge` wakes the worker; `earlier` knows
    what the user said last in a conversation that this process has not seen yet."""

    def __init__(
        self,
        turns: Turns,
        nudge: Callable[[], None],
        earlier: Callable[[str], LastTurn | None],
        now: Callable[[], float] = clock.seconds,
        service: str = "",
    ) -> None:
        self._turns, self._nudge, self._earlier, self._now = turns, nudge, earlier, now
        self._service = service  # that answers, see chat.worker
        self._newest: OrderedDict[str, _Newest] = OrderedDict()
        self._lock = threading.Lock()

    def begin(self, conversation: str, chat: Chat) -> Turn | None:
        """The user's words are safe when this returns; None where they could not be kept, which stops no request."""
        newest, ended = self._place(conversation, chat)
        try:
            if ended is not None:
                self._turns.close(ended, self._now())
            item = newest.item if newest.requests == 1 else None
            if item is None:
                item = self._turns.begin(
                    conversation, cut(chat.question), self._now(), user_id=newest.user_id,
                    meta={"model": chat.model, SERVICE: self._service},
                )  # fmt: skip
                self._nudge()
        except VaultmemError as error:
            log.warning("a turn is not kept: %s", error)
            self.left(newest)
            return None
        newest.item = item
        return Turn(self, newest, item)

    def _place(self, conversation: str, chat: Chat) -> tuple[_Newest, Item | None]:
        """The turn that is meant, and the one before it, if that still waits for an answer that will not come."""
        known = conversation in self._newest
        last = None if known else self._earlier(conversation)
        with self._lock:
            newest = self._newest.get(conversation)
            if newest is None and last is not None and last.words == cut(chat.question).strip():
                newest = self._newest[conversation] = _Newest(chat.digest, last.user_id)
            ended = None
            if newest is None or newest.digest != chat.digest:
                ended = newest.item if newest is not None and not newest.requests else None
                newest = self._newest[conversation] = _Newest(chat.digest, str(uuid.uuid4()))
            newest.requests += 1
            self._newest.move_to_end(conversation)
            if len(self._newest) > MOST_CONVERSATIONS:
                self._newest.popitem(last=False)
            return newest, ended

    def left(self, newest: _Newest) -> None:
        """One request less waits for an answer."""
        with self._lock:
            newest.requests -= 1

    def finish(self, item: Item, text: str) -> Item:
        """The answer is safe when this returns."""
        done = self._turns.finish(item, cut(text), self._now())
        self._nudge()
        return done

    def close(self, item: Item) -> None:
        """No answer comes."""
        self._turns.close(item, self._now())
        self._nudge()

    def waiting(self) -> int:
        """How many turns are to be learned from."""
        return self._turns.count()


class Turn:
    """One request's part in a turn."""

    def __init__(self, keeping: Keeping, newest: _Newest, item: Item) -> None:
        self._keeping, self._newest, self._item = keeping, newest, item
        self.id = item.id
        self._is_answered = False

    def answered(self, text: str) -> None:
        """The whole answer, before the client has seen the end of it. More of it may come, and is kept again."""
        try:
            self._item = self._keeping.finish(self._item, text)
        except VaultmemError as error:
            log.warning("an answer is not kept: %s", error)
            return
        self._is_answered = True
        self._newest.item = None

    def ended(self, goes_on: bool) -> None:
        """The request is over. Where tools are called the turn goes on: the answer comes with a later request."""
        self._keeping.left(self._newest)
        if self._is_answered or (goes_on and self._newest.item is self._item):
            return
        self._newest.item = None
        try:
            self._keeping.close(self._item)
        except VaultmemError as error:
            log.warning("a turn stays open: %s", error)


def cut(text: str) -> str:
    """As much of a text as a note is to hold."""
    return text if len(text) <= MOST_KEPT else text[:MOST_KEPT] + CUT
