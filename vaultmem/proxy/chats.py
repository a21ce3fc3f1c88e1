"""One chat completion: memory in, passed on, the turn kept."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, Protocol, TypeVar

from vaultmem.core import chat_body
from vaultmem.core.chat_body import Chat
from vaultmem.core.chat_memory import Told
from vaultmem.core.conversation import problem
from vaultmem.proxy.asgi import (
    Fault,
    GoneError,
    Headers,
    Receive,
    Scope,
    Send,
    header,
    headers_of,
    next_piece,
    send_fault,
)
from vaultmem.proxy.relay import Heard, Relayed, pass_on, while_there
from vaultmem.proxy.tee import Tee
from vaultmem.proxy.upstream import Asked, Reply, UpstreamError, for_upstream

log = logging.getLogger("vaultmem.proxy")

MOST_BODY = 32_000_000  # bytes
LARGE = 500_000  # bytes of a body that is read in a thread, so that streams go on meanwhile
THREADS = 8  # that write turns down
_NOTHING = Told("", 0)
_T = TypeVar("_T")


class Sender(Protocol):
    """Where requests go on to."""

    async def send(self, asked: Asked) -> Reply:
        """The beginning of the answer. Raises UpstreamError."""


class Memory(Protocol):
    """Knows what to tell about a question."""

    async def told(self, conversation: str, question: str, earlier: tuple[str, ...]) -> Told:
        """The text to put in."""


class KeptTurn(Protocol):
    """A turn that is kept."""

    id: str

    def answered(self, text: str) -> None:
        """The whole answer."""

    def ended(self, goes_on: bool) -> None:
        """The request is over."""


class Keeper(Protocol):
    """Keeps turns."""

    def begin(self, conversation: str, chat: Chat) -> KeptTurn | None:
        """The user's words are kept when this returns."""


class Noted(Protocol):
    """Sees who asks."""

    def began(self, turn: str, headers: Headers) -> None:
        """A turn has come with these headers."""


class Parts(NamedTuple):
    """What chats need."""

    upstream: Sender
    memory: Memory
    keeper: Keeper
    background: Noted
    place: str  # where memory is put: turn or start
    conversation: str  # of requests that name none


class _Wanted(NamedTuple):
    """A request that has memory."""

    conversation: str
    chat: Chat


class _Course:
    """What became of a request, for one line of the log."""

    def __init__(self) -> None:
        self.began = time.monotonic()
        self.wanted: _Wanted | None = None
        self.beginning: asyncio.Future[KeptTurn | None] | None = None
        self.answering: asyncio.Future[None] | None = None
        self.turn: KeptTurn | None = None
        self.memories = 0
        self.status = 0
        self.is_answered = self.goes_on = False
        self.end = "cut off"

    def said(self) -> str:
        """The line, without a word of what was said."""
        seconds = time.monotonic() - self.began
        parts = [f"chat {self.status or '-'} {self.end} in {seconds:.2f} s"]
        if self.wanted:
            kept = "answered" if self.is_answered else "kept" if self.turn else "not kept"
            parts.append(f"conversation {self.wanted.conversation!r}")
            parts += [f"{self.memories} memories", f"turn {kept}"]
        return ", ".join(parts)


class Chats:
    """POST /v1/chat/completions."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._threads = ThreadPoolExecutor(THREADS, "turns")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        course = _Course()
        try:
            body = await _body(receive, headers_of(scope))
            if body is None:
                course.status, course.end = 413, "refused"
                await send_fault(send, Fault(413, f"a request may have {MOST_BODY:,} bytes"))
                return
            await while_there(receive, self._answer(scope, body, send, course))
        except GoneError:
            course.end = "left by the client"
        finally:
            await self._settled(course)
            log.info("%s", course.said())

    async def _answer(self, scope: Scope, body: bytes, send: Send, course: _Course) -> None:
        headers = headers_of(scope)
        course.wanted = await self._wanted(headers, body)
        if course.wanted:
            body = await self._remembered(course, headers, body)
        asked = Asked("POST", _path(scope), for_upstream(headers, len(body)), body)
        try:
            reply = await self._parts.upstream.send(asked)
        except UpstreamError as error:
            course.status, course.end = error.fault.status, "failed"
            await send_fault(send, error.fault)
            return
        course.status = reply.status
        relayed = await pass_on(reply, send, self._hearing(course))
        course.end = _end(relayed)

    async def _wanted(self, headers: Headers, body: bytes) -> _Wanted | None:
        """The chat, where memory is wanted for it and can be had."""
        if chat_body.says_off(header(headers, b"x-vaultmem")):
            return None
        if header(headers, b"content-encoding").strip().lower() not in ("", "identity"):
            return None
        large = len(body) > LARGE
        chat = await asyncio.to_thread(chat_body.read, body) if large else chat_body.read(body)
        if chat is None or chat.is_off or chat.is_task:
            return None
        named = header(headers, b"x-conversation-id").encode("latin-1").decode("utf-8", "replace")
        id_ = (named.strip() or chat.conversation.strip()) or self._parts.conversation
        if why := problem(id_):
            log.warning("a request goes without memory: its conversation id %s", why)
            return None
        return _Wanted(id_, chat)

    async def _remembered(self, course: _Course, headers: Headers, body: bytes) -> bytes:
        """The body with memory in it; by then the turn is kept."""
        assert course.wanted
        conversation, chat = course.wanted
        if chat.question.strip():
            course.beginning = self._thread(self._begun, conversation, chat, headers)
        told = await self._told(course.wanted)
        if course.beginning:
            course.turn = await asyncio.shield(course.beginning)
        course.memories = told.memories
        if not told.text:
            return body
        return chat_body.spliced(body, chat.at(self._parts.place), told.text)

    def _begun(self, conversation: str, chat: Chat, headers: Headers) -> KeptTurn | None:
        """The turn is kept, and open: nobody learns from it before its key is known."""
        turn = self._parts.keeper.begin(conversation, chat)
        if turn:
            self._parts.background.began(turn.id, headers)
        return turn

    async def _told(self, wanted: _Wanted) -> Told:
        """Only at the user's turn. A tool's result goes on with a turn whose calls were made with memory in view; it
        may be words of a stranger, who is not to find memories beside them."""
        conversation, chat = wanted
        if not chat.is_turn or not chat.question.strip():
            return _NOTHING
        return await self._parts.memory.told(conversation, chat.question, chat.earlier)

    def _hearing(self, course: _Course) -> Heard | None:
        turn = course.turn
        if turn is None:
            return None

        async def heard(tee: Tee) -> None:
            answer = tee.answer
            course.goes_on = answer.calls
            if not answer.calls and answer.text.strip():
                course.answering = self._thread(turn.answered, answer.text)
                await asyncio.shield(course.answering)
                course.is_answered = True

        return heard

    async def _settled(self, course: _Course) -> None:
        """What was begun for a request is ended, also where the client went meanwhile."""
        if course.beginning:
            course.turn = await course.beginning
        if course.answering:
            await course.answering
        if course.turn:
            await self._thread(course.turn.ended, course.goes_on)

    def _thread(self, work: Callable[..., _T], *given: object) -> asyncio.Future[_T | None]:
        """Carry out what waits for the disk. Its failure is no failure of the request."""
        loop = asyncio.get_running_loop()
        return loop.run_in_executor(self._threads, _carried_out, work, given)

    def close(self) -> None:
        """Let go of the threads."""
        self._threads.shutdown()


def _carried_out(work: Callable[..., _T], given: tuple[object, ...]) -> _T | None:
    try:
        return work(*given)
    except Exception as error:  # the border to whatever keeps turns
        log.exception("a turn may not be kept", exc_info=error)
        return None


def _path(scope: Scope) -> str:
    query = scope.get("query_string")
    asked = query.decode("ascii", "replace") if isinstance(query, bytes) and query else ""
    return f"/chat/completions?{asked}" if asked else "/chat/completions"


def _end(relayed: Relayed) -> str:
    return "passed on" if relayed.is_whole else "cut off by the upstream"


async def _body(receive: Receive, headers: Headers) -> bytes | None:
    """All of a request's body; None for one that is too large. Raises GoneError."""
    told = header(headers, b"content-length")
    if told.isdecimal() and int(told) > MOST_BODY:
        return None
    held = bytearray()
    more = True
    while more:
        piece, more = await next_piece(receive)
        held += piece
        if len(held) > MOST_BODY:
            return None
    return bytes(held)
