"""Server-sent events of a chat completion: events out of bytes that may be cut anywhere, and the answer out of events.

Only reads: what is passed on to a client are the bytes as they came.
"""

from __future__ import annotations

import json
import re

from vaultmem.core import llm_answers

MOST_LINE = 1_000_000  # bytes of a line, and of the data of an event; longer ones are passed over
MOST_TEXT = 1_000_000  # characters of an answer that are collected
DONE = "[DONE]"
_END = re.compile(rb"\r\n|\n|\r")


class Events:
    """Takes bytes in pieces of any size, gives the data of each event that has ended."""

    def __init__(self) -> None:
        self._held = bytearray()
        self._data: list[bytes] = []
        self._size = 0
        self._is_long = False  # the line that is coming in is passed over
        self._is_first = True
        self._after_return = False  # a line ended with \\r; a \\n now belongs to that end

    def feed(self, piece: bytes) -> list[str]:
        """The data of the events that end in this piece."""
        if self._after_return and piece:
            self._after_return = False
            piece = piece.removeprefix(b"\n")
        found: list[str] = []
        at = 0
        for end in _END.finditer(piece):
            self._add(piece[at : end.start()])
            self._line(found)
            at = end.end()
        self._after_return = self._after_return or piece.endswith(b"\r")
        self._add(piece[at:])
        return found

    def close(self) -> list[str]:
        """The data of an event that was not ended; some servers leave the last line break out."""
        found: list[str] = []
        self._line(found)
        self._dispatch(found)
        return found

    def _add(self, part: bytes) -> None:
        if self._is_long or len(self._held) + len(part) > MOST_LINE:
            self._is_long = True
            self._held.clear()
        else:
            self._held += part

    def _line(self, found: list[str]) -> None:
        line, self._is_long = (b":" if self._is_long else bytes(self._held)), False
        self._held.clear()
        if self._is_first:
            line, self._is_first = line.removeprefix(b"\xef\xbb\xbf"), False
        if not line:
            self._dispatch(found)
            return
        name, _, value = line.partition(b":")
        if name == b"data" and self._size + len(value) <= MOST_LINE:
            self._data.append(value.removeprefix(b" "))
            self._size += len(value)

    def _dispatch(self, found: list[str]) -> None:
        if self._data:
            found.append(b"\n".join(self._data).decode("utf-8", "replace"))
        self._data, self._size = [], 0


class Answer:
    """What a model has said as its first choice, out of the events of a stream or out of one whole body."""

    id = ""  # nothing goes on with a chat completion by its id

    def __init__(self) -> None:
        self._said: list[str] = []
        self._size = 0
        self._given = 0  # how many of these fresh() has handed out
        self._half = ""  # the first half of a character that it keeps
        self.reason = ""  # why it ended, as the server says: stop, length, tool_calls, ...
        self.calls = False  # it calls tools, so the turn goes on
        self.is_begun = False  # an event has come
        self.is_done = False  # the server has said that nothing more comes
        self.is_broken = False  # the server has sent an error instead
        self.complaint = ""  # what it says of that error

    @property
    def text(self) -> str:
        """The words so far. Halves of a character that came in two events are one again."""
        return _whole("".join(self._said))

    def fresh(self) -> str:
        """The words that have come since this was asked last. Half of a character waits for its other half."""
        new = self._half + "".join(self._said[self._given :])
        self._given = len(self._said)
        self._half = new[-1:] if "\ud800" <= new[-1:] <= "\udbff" else ""
        return _whole(new.removesuffix(self._half))

    @property
    def is_complete(self) -> bool:
        """Whether the server says that this is all."""
        return bool(self.reason or self.is_done) and not self.is_broken

    def hear(self, data: str) -> None:
        """The data of one event of a stream."""
        self.is_begun = True
        if data.strip() == DONE:
            self.is_done = True
        else:
            self._take(data, "delta")

    def hear_whole(self, body: bytes) -> None:
        """The body of an answer that is no stream."""
        self._take(body, "message")
        self.is_done = bool(self._said or self.reason)

    def _take(self, data: str | bytes, where: str) -> None:
        told = object_of(data)
        if told.get("error"):
            self.is_broken = True
            self.complaint = self.complaint or llm_answers.error_message(data)
        choices = told.get("choices")
        for choice in choices if isinstance(choices, list) else ():
            if isinstance(choice, dict) and choice.get("index") in (0, None):
                self._choice(choice, where)

    def _choice(self, choice: dict[str, object], where: str) -> None:
        reason, said = choice.get("finish_reason"), choice.get(where)
        if isinstance(reason, str) and reason:
            self.reason = reason
        if not isinstance(said, dict):
            return
        self.calls = self.calls or bool(said.get("tool_calls") or said.get("function_call"))
        content = said.get("content")
        if isinstance(content, str) and self._size < MOST_TEXT:
            self._said.append(content[: MOST_TEXT - self._size])
            self._size += len(content)


def _whole(text: str) -> str:
    """The text with its halves of characters joined."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def object_of(text: str | bytes) -> dict[str, object]:
    """JSON that is an object; an empty one for everything else."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
