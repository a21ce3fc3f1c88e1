"""One chat, by either API that has them: memory in, passed on, the turn kept."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, Protocol, TypeVar
from urllib.parse import quote

from vaultmem.core import chat_body, responses_body
from vaultmem.core.chat_body import Chat
from vaultmem.core.chat_memory import Told
from vaultmem.core.conversation import problem
from vaultmem.core.responses_answer import ResponsesAnswer
from vaultmem.core.sse import Answer
from vaultmem.core.wording import plural
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
from vaultmem.proxy.remembering import Recalled
from vaultmem.proxy.tee import Spoken, Tee
from vaultmem.proxy.upstream import Asked, Reply, UpstreamError, for_upstream
from vaultmem.store.chat_counts import NOTHING, TOLD

log = logging.getLogger("vaultmem.proxy")

MOST_BODY = 32_000_000  # bytes
LARGE = 500_000  # bytes of a body that is read in a thread, so that streams go on meanwhile
THREADS = 8  # that write turns down
HEADER = b"x-vaultmem-recall"  # of answers: what was recalled, or why nothing was
_MOST_PLACES = 2_000  # characters
_MOST_AWAITED = 1_000  # answers that call tools, whose results have not come yet
_T = TypeVar("_T")


class Sender(Protocol):
    """Where requests go on to."""

    async def send(self, asked: Asked) -> Reply:
        """The beginning of the answer. Raises UpstreamError."""


class Memory(Protocol):
    """Knows what to tell about a question."""

    async def recalled(
        self, conversation: str, question: str, earlier: tuple[str, ...]
    ) -> Recalled:
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


class Counted(Protocol):
    """Counts what became of recalls."""

    def add(self, outcome: str) -> None:
        """One more."""


class Form(NamedTuple):
    """One of the APIs: its address, how its requests are read and written, how its answers are read."""

    path: str
    read: Callable[[bytes], Chat | None]
    with_memory: Callable[[bytes, Chat, str, str], bytes]
    answer: Callable[[], Spoken]


COMPLETIONS = Form("/chat/completions", chat_body.read, chat_body.with_memory, Answer)
RESPONSES = Form("/responses", responses_body.read, responses_body.with_memory, ResponsesAnswer)


class Parts(NamedTuple):
    """What chats need."""

    upstream: Sender
    memory: Memory
    keeper: Keeper
    background: Noted
    counts: Counted
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
        self.recall = ""  # what was recalled, or why nothing was
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
            parts += [f"recall: {self.recall.partition(';')[0]}", f"turn {kept}"]
        return ", ".join(parts)


class Chats:
    """POST to the address of one API."""

    def __init__(self, parts: Parts, form: Form = COMPLETIONS) -> None:
        self._parts, self._form, self.path = parts, form, form.path
        self._threads = ThreadPoolExecutor(THREADS, "turns")
        self._awaited: OrderedDict[str, Chat] = OrderedDict()  # by the id of the answer

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
        wanted = await self._wanted(headers, body)
        if isinstance(wanted, _Wanted):
            course.wanted = wanted
            body = await self._remembered(course, headers, body)
        else:
            course.recall = wanted
        asked = Asked("POST", self._path(scope), for_upstream(headers, len(body)), body)
        try:
            reply = await self._parts.upstream.send(asked)
        except UpstreamError as error:
            course.status, course.end = error.fault.status, "failed"
            await send_fault(send, error.fault)
            return
        course.status = reply.status
        reply.headers.append((HEADER, course.recall.encode("ascii", "replace")))
        relayed = await pass_on(reply, send, self._hearing(course), self._form.answer())
        course.end = _end(relayed)

    async def _wanted(self, headers: Headers, body: bytes) -> _Wanted | str:
        """The chat, where memory is wanted for it and can be had; else why not."""
        if chat_body.says_off(header(headers, b"x-vaultmem")):
            return "off"
        if header(headers, b"content-encoding").strip().lower() not in ("", "identity"):
            return "none: the request is packed"
        read, large = self._form.read, len(body) > LARGE
        chat = await asyncio.to_thread(read, body) if large else read(body)
        if chat is None:
            return "none: no question can be read in the request"
        if chat.is_off or chat.is_task:
            return "off" if chat.is_off else "none: a program asks for itself"
        named = header(headers, b"x-conversation-id").encode("latin-1").decode("utf-8", "replace")
        id_ = (named.strip() or chat.conversation.strip()) or self._parts.conversation
        if why := problem(id_):
            log.warning("a request goes without memory: its conversation id %s", why)
            return f"none: the conversation id {why}"
        if not chat.question and chat.previous in self._awaited:
            asked = self._awaited[chat.previous]
            chat = chat._replace(question=asked.question, asked=asked.asked)
        return _Wanted(id_, chat)

    async def _remembered(self, course: _Course, headers: Headers, body: bytes) -> bytes:
        """The body with memory in it; by then the turn is kept."""
        assert course.wanted
        conversation, chat = course.wanted
        if chat.question.strip():
            course.beginning = self._thread(self._begun, conversation, chat, headers)
        told = await self._told(course)
        if course.beginning:
            course.turn = await asyncio.shield(course.beginning)
        if not told.text:
            return body
        return self._form.with_memory(body, chat, self._parts.place, told.text)

    async def _told(self, course: _Course) -> Told:
        """Only at the user's turn. A tool's result goes on with a turn whose calls were made with memory in view; it
        may be words of a stranger, who is not to find memories beside them."""
        assert course.wanted
        conversation, chat = course.wanted
        found = Recalled()
        if not chat.question.strip():
            course.recall = "none: the user says nothing"
        elif not chat.is_turn:
            course.recall = "none: the turn goes on"
        else:
            found = await self._parts.memory.recalled(conversation, chat.question, chat.earlier)
            course.recall = _said(found)
            outcome = found.dropped or (TOLD if found.told.text else NOTHING)
            self._thread(self._parts.counts.add, outcome)
            if found.dropped:
                log.warning("a request goes without memory: %s", found.why)
        return found.told

    def _begun(self, conversation: str, chat: Chat, headers: Headers) -> KeptTurn | None:
        """The turn is kept, and open: nobody learns from it before its key is known."""
        turn = self._parts.keeper.begin(conversation, chat)
        if turn:
            self._parts.background.began(turn.id, headers)
        return turn

    def _hearing(self, course: _Course) -> Heard | None:
        turn = course.turn
        if turn is None:
            return None

        async def heard(tee: Tee) -> None:
            answer = tee.answer
            course.goes_on = answer.calls
            if answer.calls and answer.id and course.wanted:
                self._awaited[answer.id] = course.wanted.chat
                if len(self._awaited) > _MOST_AWAITED:
                    self._awaited.popitem(last=False)
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

    def _path(self, scope: Scope) -> str:
        query = scope.get("query_string")
        asked = query.decode("ascii", "replace") if isinstance(query, bytes) and query else ""
        return f"{self._form.path}?{asked}" if asked else self._form.path

    def close(self) -> None:
        """Let go of the threads."""
        self._threads.shutdown()


def _carried_out(work: Callable[..., _T], given: tuple[object, ...]) -> _T | None:
    try:
        return work(*given)
    except Exception as error:  # the border to whatever keeps turns
        log.exception("a turn may not be kept", exc_info=error)
        return None


def _said(found: Recalled) -> str:
    """What was recalled, for a header: how much, and where it stands; or why nothing was."""
    told = found.told
    if not told.text:
        return f"none: {found.why or 'nothing fits'}"
    parts = [plural(told.memories, "memory", "memories")] if told.memories else []
    parts += ["the summary"] if told.lines[0].startswith("[summary]") else []
    places = ", ".join(quote(place, safe="/ :") for place in told.places)
    return "; ".join(part for part in (" and ".join(parts), places[:_MOST_PLACES]) if part)


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
