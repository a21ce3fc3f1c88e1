"""One chat, by either API that has them: memory in, passed on, the turn stored."""

from __future__ import annotations

import asyncio
import logging
import time
import zlib
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from typing import NamedTuple, TypeVar
from urllib.parse import quote

from vaultmem.text.titles import conversation_problem
from vaultmem.text.values import plural
from vaultmem_chat import bodies
from vaultmem_chat.bodies import Chat
from vaultmem_chat.learning.turn_queue import NOTHING, RECALLED, ChatCounts
from vaultmem_chat.llm.replies import Answer, ResponsesAnswer
from vaultmem_chat.llm.wire import Events
from vaultmem_chat.memory_context import Context
from vaultmem_chat.proxy.chat_memory import ChatTurns, Learners, Recalled, RecallPool, Turn
from vaultmem_chat.proxy.upstream import Reply, Request, Upstream, UpstreamError, for_upstream
from vaultmem_server.guard import Headers, header

log = logging.getLogger("vaultmem.proxy")

LARGE = 500_000  # bytes of a body that is read in a thread, so that streams go on meanwhile
HEADER = b"x-vaultmem-recall"  # of answers: what was recalled, or why nothing was
_MOST_PLACES = 2_000  # characters
_MOST_AWAITED = 1_000  # answers that call tools, whose results have not come yet
_MOST_WHOLE = 8_000_000  # bytes of an answer that is no stream
_MOST_UNPACKED = 4_000_000  # bytes out of one piece
_PACKED = ("identity", "gzip", "x-gzip", "deflate")
_T = TypeVar("_T")


class Form(NamedTuple):
    """One of the APIs: its address, how its requests and its answers are read."""

    path: str
    read: Callable[[bytes], Chat | None]
    answer: Callable[[], Answer | ResponsesAnswer]


COMPLETIONS = Form("/chat/completions", bodies.read, Answer)
RESPONSES = Form("/responses", bodies.read_response, ResponsesAnswer)


class Parts(NamedTuple):
    """What chats need."""

    upstream: Upstream
    memory: RecallPool
    turns: ChatTurns
    learners: Learners
    counts: ChatCounts
    place: str  # where memory is put: turn or start
    conversation: str  # of requests that name none
    client: str = ""  # the assistant in whose name memories are recalled; "" for the person
    # Whose conversations these are, where several ask: another one's cannot be named.
    holder: str = ""


class Tee:
    """Reads a copy of an answer. It never fails: what it cannot read, it skips."""

    def __init__(self, headers: Headers, answer: Answer | ResponsesAnswer) -> None:
        self.answer = answer
        kind = header(headers, b"content-type").partition(";")[0].strip().lower()
        packed = header(headers, b"content-encoding").strip().lower() or "identity"
        self.is_stream = kind == "text/event-stream"
        self._reads = kind in ("text/event-stream", "application/json") and packed in _PACKED
        self._unpack = zlib.decompressobj(47) if packed != "identity" else None
        self._events = Events()
        self._whole = bytearray()

    def feed(self, piece: bytes) -> None:
        """The next bytes."""
        plain = self._decompress(piece) if self._reads else b""
        if self.is_stream:
            for data in self._events.feed(plain):
                self.answer.feed(data)
            return
        self._whole += plain
        self._reads = self._reads and len(self._whole) <= _MOST_WHOLE

    def close(self) -> None:
        """All bytes have come."""
        if not self._reads:
            return
        if not self.is_stream:
            self.answer.read(bytes(self._whole))
            return
        for data in self._events.close():
            self.answer.feed(data)

    def _decompress(self, piece: bytes) -> bytes:
        if self._unpack is None:
            return piece
        try:
            plain = self._unpack.decompress(piece, _MOST_UNPACKED)
        except zlib.error:
            self._reads = False
            return b""
        if self._unpack.unconsumed_tail:  # a few bytes that are megabytes are no answer
            self._reads = False
        return plain


class Chats:
    """The chats of one API."""

    def __init__(self, parts: Parts, form: Form = COMPLETIONS) -> None:
        self.parts, self.form = parts, form
        self._awaited: OrderedDict[str, Chat] = OrderedDict()  # by the id of the answer

    async def read(self, headers: Headers, body: bytes) -> tuple[str, Chat] | str:
        """The conversation and the chat, where memory is wanted for it and can be had; else why not."""
        if bodies.says_off(header(headers, b"x-vaultmem")):
            return "off"
        if header(headers, b"content-encoding").strip().lower() not in ("", "identity"):
            return "none: the request is packed"
        read = self.form.read
        chat = await asyncio.to_thread(read, body) if len(body) > LARGE else read(body)
        if chat is None:
            return "none: no question can be read in the request"
        if chat.is_off or chat.is_task:
            return "off" if chat.is_off else "none: a program asks for itself"
        named = header(headers, b"x-conversation-id").encode("latin-1").decode("utf-8", "replace")
        id_ = (named.strip() or chat.conversation.strip()) or self.parts.conversation
        id_ += f"@{self.parts.holder}" if self.parts.holder else ""
        if why := conversation_problem(id_):
            log.warning("a request goes without memory: its conversation id %s", why)
            return f"none: the conversation id {why}"
        if not chat.question and chat.previous in self._awaited:
            question = self._awaited[chat.previous]
            chat = chat._replace(question=question.question, digest=question.digest)
        return id_, chat

    def expect(self, answer: str, chat: Chat) -> None:
        """The results of the tools that an answer calls will come with its id alone."""
        self._awaited[answer] = chat
        if len(self._awaited) > _MOST_AWAITED:
            self._awaited.popitem(last=False)


def _in_thread(work: Callable[..., _T], *args: object) -> asyncio.Future[_T | None]:
    """Carry out what waits for the disk. Its failure is no failure of the request."""

    def carry_out() -> _T | None:
        try:
            return work(*args)
        except Exception as error:  # the border to whatever keeps turns
            log.exception("a turn may not be kept", exc_info=error)
            return None

    return asyncio.get_running_loop().run_in_executor(None, carry_out)


class Exchange:
    """One request and its answer; close() it, whatever happens."""

    def __init__(self, chats: Chats) -> None:
        self._chats, self._parts = chats, chats.parts
        self._began = time.monotonic()
        self._conversation = ""  # "": the request has no memory
        self._chat: Chat | None = None
        self._beginning: asyncio.Future[Turn | None] | None = None
        self._answering: asyncio.Future[None] | None = None
        self._turn: Turn | None = None
        self._reply: Reply | None = None
        self._recall = ""  # what was recalled, or why nothing was
        self._status = 0
        self._goes_on = False  # tools are called
        self._end = "left by the client"

    async def send(self, headers: Headers, body: bytes, query: str) -> Reply:
        """The beginning of the answer; by then the user's words are stored. Raises UpstreamError."""
        read = await self._chats.read(headers, body)
        if isinstance(read, str):
            self._recall = read
        else:
            self._conversation, self._chat = read
            body = await self._with_memory(self._chat, headers, body)
        path = self._chats.form.path + query
        request = Request("POST", path, for_upstream(headers, len(body)), body)
        try:
            self._reply = await self._parts.upstream.send(request)
        except UpstreamError as error:
            self._status, self._end = error.status, "failed"
            raise
        self._status = self._reply.status
        self._reply.headers.append((HEADER, self._recall.encode("ascii", "replace")))
        return self._reply

    async def _with_memory(self, chat: Chat, headers: Headers, body: bytes) -> bytes:
        if chat.question.strip():
            self._beginning = _in_thread(self._begin, chat, headers)
        memory = await self._memory_for(chat)
        if self._beginning:
            self._turn = await asyncio.shield(self._beginning)
        if not memory.text:
            return body
        return bodies.with_memory(body, chat, self._parts.place, memory.text)

    async def _memory_for(self, chat: Chat) -> Context:
        """Only at the user's turn. A tool's result goes on with a turn whose calls were made with memory in view; it
        may be words of a stranger, who is not to find memories beside them."""
        if not chat.question.strip() or not chat.is_turn:
            why = "the turn goes on" if chat.question.strip() else "the user says nothing"
            self._recall = f"none: {why}"
            return Context("", 0)
        result = await self._parts.memory.recall(
            self._conversation, chat.question, chat.earlier, self._parts.client
        )
        self._recall = _summary(result)
        outcome = result.dropped or (RECALLED if result.context.text else NOTHING)
        _in_thread(self._parts.counts.add, outcome)
        if result.dropped:
            log.warning("a request goes without memory: %s", result.why)
        return result.context

    def _begin(self, chat: Chat, headers: Headers) -> Turn | None:
        """The turn is stored, and open: nobody learns from it before its key is known."""
        turn = self._parts.turns.begin(self._conversation, chat)
        if turn:
            self._parts.learners.begin(turn.id, headers)
        return turn

    async def pieces(self) -> AsyncIterator[bytes]:
        """The answer as it comes. A stream goes on at once, but for the piece in which the model says that it has
        ended. Of another answer nobody knows where it ends until the next piece does not come, so one is held back."""
        assert self._reply
        tee = Tee(self._reply.headers, self._chats.form.answer())
        listens = self._turn is not None and self._reply.status == 200
        held, size = b"", -1  # size: of the words that are stored
        try:
            async for piece in self._reply.pieces():
                if listens:
                    tee.feed(piece)
                    if tee.is_stream:
                        size = await self._keep(tee, size)
                    else:
                        held, piece = piece, held  # noqa: PLW2901 - the one before goes on
                if piece:
                    yield piece
            if listens:
                tee.close()
                await self._keep(tee, size)
            if held:
                yield held
            self._end = "passed on"
        except UpstreamError:
            self._end = "cut off by the upstream"
            raise

    async def _keep(self, tee: Tee, size: int) -> int:
        """Keep an answer that is complete and has more words than so many; how many it has."""
        answer = tee.answer
        if not answer.is_complete or len(answer.text) == size:
            return size
        self._goes_on = answer.calls
        if answer.calls and answer.id and self._chat:
            self._chats.expect(answer.id, self._chat)
        if not answer.calls and answer.text.strip() and self._turn:
            self._answering = _in_thread(self._turn.answer, answer.text)
            await asyncio.shield(self._answering)
        return len(answer.text)

    async def close(self) -> None:
        """What was begun for the request is ended, also where the client went meanwhile."""
        if self._reply:
            await self._reply.close()
        if self._beginning:
            self._turn = await self._beginning
        if self._answering:
            await self._answering
        if self._turn:
            await _in_thread(self._turn.end, self._goes_on)
        log.info("%s", self._line())

    def _line(self) -> str:
        """For the log, without a word of the conversation."""
        seconds = time.monotonic() - self._began
        parts = [f"chat {self._status or '-'} {self._end} in {seconds:.2f} s"]
        if self._conversation:
            is_answered = self._turn is not None and self._turn.is_answered
            state = "answered" if is_answered else "kept" if self._turn else "not kept"
            parts.append(f"conversation {self._conversation!r}")
            parts += [f"recall: {self._recall.partition(';')[0]}", f"turn {state}"]
        return ", ".join(parts)


def _summary(result: Recalled) -> str:
    """What was recalled, for a header: how much, and where it stands; or why nothing was."""
    context = result.context
    if not context.text:
        return f"none: {result.why or 'nothing fits'}"
    parts = [plural(context.memories, "memory", "memories")] if context.memories else []
    parts += ["the summary"] if context.lines[0].startswith("[summary]") else []
    how = " by words alone, for many ask at once" if result.hurried else ""
    places = ", ".join(quote(place, safe="/ :") for place in context.places)
    return "; ".join(part for part in (" and ".join(parts) + how, places[:_MOST_PLACES]) if part)
