"""One chat, by any of the APIs: adds memories, passes it on, and stores the turn."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from typing import NamedTuple, TypeVar
from urllib.parse import quote

from vaultmem.text.titles import conversation_problem
from vaultmem.text.values import plural
from vaultmem_chat import bodies
from vaultmem_chat.bodies import Chat
from vaultmem_chat.learning.turn_queue import NOTHING, RECALLED, ChatCounts
from vaultmem_chat.llm.replies import Answer, MessagesAnswer, ResponsesAnswer
from vaultmem_chat.llm.wire import Events
from vaultmem_chat.memory_context import Context
from vaultmem_chat.proxy.chat_memory import ChatTurns, Learners, Recalled, RecallPool, Turn
from vaultmem_chat.proxy.upstream import Reply, Upstream, UpstreamError, for_upstream
from vaultmem_server.guard import Headers, header

log = logging.getLogger("vaultmem.proxy")

LARGE = 500_000  # bytes; larger bodies are parsed in a thread, so that streams continue
HEADER = b"x-vaultmem-recall"  # response header: what was recalled, or why nothing was
# Request headers of Claude Code, Codex and opencode on requests by agents that they started.
SUBAGENT = (b"x-claude-code-agent-id", b"x-openai-subagent", b"x-parent-session-id")
# Statuses of an invalid request. Memory may be the reason: the prompt is too long, or the model's template allows no
# such message.
_REFUSED = (400, 413, 422)
_MOST_PLACES = 2_000  # characters
_MOST_AWAITED = 1_000  # answers with tool calls whose results are outstanding
_MOST_WHOLE = 8_000_000  # bytes of an answer that is not streamed
_T = TypeVar("_T")


class Form(NamedTuple):
    """One of the APIs: its path, and the parsers of its requests and answers."""

    path: str
    read: Callable[[bytes], Chat | None]
    answer: Callable[[], Answer | ResponsesAnswer]
    role: str = "system"  # of the message with memories


COMPLETIONS = Form("/chat/completions", bodies.read, Answer)
RESPONSES = Form("/responses", bodies.read_response, ResponsesAnswer)
MESSAGES = Form("/messages", bodies.read, MessagesAnswer, "user")
FORMS = (COMPLETIONS, RESPONSES, MESSAGES)


class Parts(NamedTuple):
    """The components that chats use."""

    upstream: Upstream
    memory: RecallPool
    turns: ChatTurns
    learners: Learners
    counts: ChatCounts
    place: str  # where memory is inserted: turn or start
    conversation: str  # of requests that name none
    client: str = ""  # the assistant in whose name memories are recalled; "" for the person
    # The owner of the conversations if there are several clients, who cannot name another's.
    holder: str = ""


class Tee:
    """Reads a copy of an answer. It never fails: unreadable data is skipped."""

    def __init__(self, headers: Headers, answer: Answer | ResponsesAnswer) -> None:
        self.answer = answer
        kind = header(headers, b"content-type").partition(";")[0].strip().lower()
        is_packed = header(headers, b"content-encoding").strip().lower() not in ("", "identity")
        self.is_stream = kind == "text/event-stream"
        # A packed answer was not requested.
        self._reads = kind in ("text/event-stream", "application/json") and not is_packed
        self._events = Events()
        self._whole = bytearray()

    def feed(self, piece: bytes) -> None:
        """Read the next bytes."""
        if not self._reads:
            return
        if self.is_stream:
            for data in self._events.feed(piece):
                self.answer.feed(data)
            return
        self._whole += piece
        self._reads = len(self._whole) <= _MOST_WHOLE

    def close(self) -> None:
        """Finish after the last bytes."""
        if not self._reads:
            return
        if not self.is_stream:
            self.answer.read(bytes(self._whole))
            return
        for data in self._events.close():
            self.answer.feed(data)


class Chats:
    """The chats of one API."""

    def __init__(self, parts: Parts, form: Form = COMPLETIONS) -> None:
        self.parts, self.form = parts, form
        self._awaited: OrderedDict[str, Chat] = OrderedDict()  # by the id of the answer

    async def read(self, headers: Headers, body: bytes) -> tuple[str, Chat] | str:
        """The conversation and the chat, if it can have memory; else the reason why not."""
        if bodies.says_off(header(headers, b"x-vaultmem")):
            return "off"
        if header(headers, b"content-encoding").strip().lower() not in ("", "identity"):
            return "none: the request is packed"
        read = self.form.read
        chat = await asyncio.to_thread(read, body) if len(body) > LARGE else read(body)
        if chat is None:
            return "none: no question can be read in the request"
        is_own = chat.is_aside or any(header(headers, name) for name in SUBAGENT)
        if chat.is_off or is_own:
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
        """Remember an answer with tool calls: their results refer to it by its id alone."""
        self._awaited[answer] = chat
        if len(self._awaited) > _MOST_AWAITED:
            self._awaited.popitem(last=False)


def _in_thread(work: Callable[..., _T], *args: object) -> asyncio.Future[_T | None]:
    """Run blocking work in a thread. Its failure does not fail the request."""

    def carry_out() -> _T | None:
        try:
            return work(*args)
        except Exception as error:  # storing turns must not fail the request
            log.exception("a turn may not be kept", exc_info=error)
            return None

    return asyncio.get_running_loop().run_in_executor(None, carry_out)


class Exchange:
    """One request and its answer. Always close() it."""

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
        self._end = "left by the client"

    async def send(self, headers: Headers, body: bytes, query: str) -> Reply:
        """Send the request. Returns the beginning of the answer, after the user's words are stored. Raises
        UpstreamError."""
        plain, read = body, await self._chats.read(headers, body)
        if isinstance(read, str):
            self._recall = read
        else:
            self._conversation, self._chat = read
            body = await self._with_memory(self._chat, headers, body)
        try:
            self._reply = await self._forward(headers, body, query)
            if body is not plain and self._reply.status in _REFUSED:
                self._recall = "none: the upstream refused the request with memory"
                await self._reply.close()
                self._reply = await self._forward(headers, plain, query)
                if self._reply.status in _REFUSED:  # for another reason
                    self._recall += ", and without"
        except UpstreamError as error:
            self._status, self._end = error.status, "failed"
            raise
        self._status = self._reply.status
        self._reply.headers.append((HEADER, self._recall.encode("ascii", "replace")))
        return self._reply

    async def _forward(self, headers: Headers, body: bytes, query: str) -> Reply:
        path = self._chats.form.path + query
        passed = for_upstream(headers, len(body))
        return await self._parts.upstream.send("POST", path, passed, body)

    async def _with_memory(self, chat: Chat, headers: Headers, body: bytes) -> bytes:
        if chat.question.strip():
            self._beginning = _in_thread(self._begin, chat, headers)
        memory = await self._memory_for(chat)
        if self._beginning:
            self._turn = await asyncio.shield(self._beginning)
        if not memory.text:
            return body
        form = self._chats.form
        return bodies.with_memory(body, chat, self._parts.place, memory.text, form.role)

    async def _memory_for(self, chat: Chat) -> Context:
        """The context for the user's turn; empty for a tool's result. That continues a turn which already had
        memories, and may hold a stranger's words, beside which no memories should be."""
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
        """Store the turn as open: it is not learned from before its key is known."""
        turn = self._parts.turns.begin(self._conversation, chat)
        if turn:
            self._parts.learners.begin(turn.id, headers)
        return turn

    async def pieces(self) -> AsyncIterator[bytes]:
        """Yield the answer as it arrives. Chunks of a stream are passed on at once, except the one that marks its
        end. The end of any other answer is only known when no chunk follows, so one chunk is held back."""
        assert self._reply
        tee = Tee(self._reply.headers, self._chats.form.answer())
        listens = self._turn is not None and self._reply.status == 200
        held, size = b"", -1  # size: of the stored text
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
        """Store a complete answer if it is longer than `size` and not declined. Returns its size."""
        answer = tee.answer
        if not answer.is_complete or answer.is_declined or len(answer.text) == size:
            return size
        if answer.calls and answer.id and self._chat:
            self._chats.expect(answer.id, self._chat)
        if answer.calls and self._turn:
            self._turn.leave_open()
        if not answer.calls and answer.text.strip() and self._turn:
            self._answering = _in_thread(self._turn.answer, answer.text)
            await asyncio.shield(self._answering)
        return len(answer.text)

    async def close(self) -> None:
        """End everything that the request began, also when the client has disconnected."""
        if self._reply:
            await self._reply.close()
        if self._beginning:
            self._turn = await self._beginning
        if self._answering:
            await self._answering
        if self._turn:
            await _in_thread(self._turn.end)
        log.info("%s", self._line())

    def _line(self) -> str:
        """The line for the log, without any text of the conversation."""
        seconds = time.monotonic() - self._began
        parts = [f"chat {self._status or '-'} {self._end} in {seconds:.2f} s"]
        if self._conversation:
            is_answered = self._turn is not None and self._turn.is_answered
            state = "answered" if is_answered else "kept" if self._turn else "not kept"
            parts.append(f"conversation {self._conversation!r}")
            parts += [f"recall: {self._recall.partition(';')[0]}", f"turn {state}"]
        return ", ".join(parts)


def _summary(result: Recalled) -> str:
    """The value of the header: how much was recalled, and from where; or why nothing was."""
    context = result.context
    if not context.text:
        return f"none: {result.why or 'nothing fits'}"
    parts = [plural(context.memories, "memory", "memories")] if context.memories else []
    parts += ["the summary"] if context.lines[0].startswith("[summary]") else []
    places = ", ".join(quote(place, safe="/ :") for place in context.places)
    return "; ".join(part for part in (" and ".join(parts), places[:_MOST_PLACES]) if part)
