"""What a model has answered to a chat, by either API: out of the events of a stream or out of one whole body."""

from __future__ import annotations

import json

from vaultmem.chat.bodies import text_of
from vaultmem.llm.answers import error_message, sound

MOST_TEXT = 1_000_000  # characters of an answer that are collected
DONE = "[DONE]"
_ENDS = ("completed", "incomplete")  # the second: it was long enough
_BROKEN = ("error", "response.failed", "response.cancelled")


class Answer:
    """An answer of chat completions: the words of its first choice."""

    id = ""  # nothing goes on with a chat completion by its id

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._size = 0
        self._taken = 0  # how many of these fresh() has returned
        self._half = ""  # the first half of a character that it keeps
        self.reason = ""  # why it ended, as the server says: stop, length, tool_calls, ...
        self.calls = False  # it calls tools, so the turn goes on
        self.is_begun = False  # an event has come
        self.is_done = False  # the server has said that nothing more comes
        self.is_broken = False  # the server has sent an error instead
        self.error = ""  # what it says of that error

    @property
    def text(self) -> str:
        """The words so far. Halves of a character that came in two events are one again."""
        return sound("".join(self._texts))

    def fresh(self) -> str:
        """The words that have come since this was asked last. Half of a character waits for its other half."""
        new = self._half + "".join(self._texts[self._taken :])
        self._taken = len(self._texts)
        self._half = new[-1:] if "\ud800" <= new[-1:] <= "\udbff" else ""
        return sound(new.removesuffix(self._half))

    @property
    def is_complete(self) -> bool:
        """Whether the server says that this is all."""
        return bool(self.reason or self.is_done) and not self.is_broken

    def feed(self, data: str) -> None:
        """The data of one event of a stream."""
        self.is_begun = True
        if data.strip() == DONE:
            self.is_done = True
        else:
            self._take(data, "delta")

    def read(self, body: bytes) -> None:
        """The body of an answer that is no stream."""
        self._take(body, "message")
        self.is_done = bool(self._texts or self.reason)

    def _take(self, data: str | bytes, where: str) -> None:
        event = _object(data)
        if event.get("error"):
            self.is_broken = True
            self.error = self.error or error_message(data)
        choices = event.get("choices")
        for choice in choices if isinstance(choices, list) else ():
            if isinstance(choice, dict) and choice.get("index") in (0, None):
                self._choice(choice, where)

    def _choice(self, choice: dict[str, object], where: str) -> None:
        reason, message = choice.get("finish_reason"), choice.get(where)
        if isinstance(reason, str) and reason:
            self.reason = reason
        if not isinstance(message, dict):
            return
        self.calls = self.calls or bool(message.get("tool_calls") or message.get("function_call"))
        content = message.get("content")
        if isinstance(content, str) and self._size < MOST_TEXT:
            self._texts.append(content[: MOST_TEXT - self._size])
            self._size += len(content)


class ResponsesAnswer:
    """An answer of the Responses API: the words of the messages in its output."""

    def __init__(self) -> None:
        self._texts: dict[int, list[str]] = {}  # by the number of the item
        self._size = 0
        self.id = ""  # of the response, with which a later request may go on
        self.calls = False  # it calls tools of the client, so the turn goes on
        self.is_complete = False

    @property
    def text(self) -> str:
        """The words so far."""
        return "\n".join("".join(texts) for _, texts in sorted(self._texts.items()))

    def feed(self, data: str) -> None:
        """The data of one event of a stream."""
        event = _object(data)
        kind, number = event.get("type"), event.get("output_index")
        place = number if isinstance(number, int) else 0
        if kind == "response.output_text.delta":
            self._take(place, event.get("delta"))
        elif kind == "response.output_item.done":
            self._size -= sum(map(len, self._texts.pop(place, ())))
            self._item(place, event.get("item"))
        elif kind in ("response.completed", "response.incomplete"):
            self._whole(event.get("response"))
            self.is_complete = True
        elif kind in _BROKEN:
            self.is_complete = False

    def read(self, body: bytes) -> None:
        """The body of an answer that is no stream."""
        response = _object(body)
        self._whole(response)
        self.is_complete = response.get("status") in _ENDS and not response.get("error")

    def _whole(self, response: object) -> None:
        """The whole response. Some servers leave out at the end of a stream what they have sent already."""
        if not isinstance(response, dict):
            return
        id_, output = response.get("id"), response.get("output")
        self.id = id_ if isinstance(id_, str) else ""
        if isinstance(output, list) and output:
            self._texts, self._size = {}, 0
            for place, item in enumerate(output):
                self._item(place, item)

    def _item(self, place: int, item: object) -> None:
        if not isinstance(item, dict):
            return
        # What the server carries out itself has no such id: nobody has to answer it.
        self.calls = self.calls or bool(item.get("call_id"))
        if item.get("type") == "message":
            self._take(place, text_of(item))

    def _take(self, place: int, words: object) -> None:
        if isinstance(words, str) and words and self._size < MOST_TEXT:
            self._texts.setdefault(place, []).append(words[: MOST_TEXT - self._size])
            self._size += len(words)


def _object(text: str | bytes) -> dict[str, object]:
    """JSON that is an object; an empty one for everything else."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
