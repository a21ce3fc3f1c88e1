"""Replies of language models: extracts the text from the body or events of a reply, and JSON from the text (owner of
json_repair), within bounds of size."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress

from vaultmem.adapter import JsonObject
from vaultmem.adapter.services import Schema
from vaultmem.text.values import json_object

MOST = 100_000  # characters read
MOST_REPAIRED = 8_000  # json_repair may take quadratic time
MOST_TEXT = 1_000_000  # characters collected of an answer
WRAPPED = "answer"  # the key around a value that is not an object
DONE = "[DONE]"
_THOUGHTS = re.compile(r"</?(?:think|thinking|thought|reasoning)>", re.IGNORECASE)
# A bracket that may begin a value; prose has others.
_OPENING = re.compile(
    r"""\{\s{0,9}(?:["'}]|\w{1,40}\s{0,9}:)|\[\s{0,9}(?:["'“\[{\]\d.+-]|(?:true|false|null)\b)"""
)
_WIDE_COMMA = re.compile(r"""(?<=["'”])\s{0,9}，\s{0,9}(?=["'“])""")
# A string, up to a quote that can end it, also before a comment, or the end of the text; or else a closing bracket.
_STRING_OR_CLOSING = re.compile(r""""(?:\\.|[^"\\]|"(?!\s*+[,:;/#，：\]}]))*"?|[\]}]""", re.DOTALL)
_ERROR_KEYS = ("error", "message", "detail")
_DECLINED = ("refusal", "content_filter")  # reasons: what was written before is not an answer
_TEXT_PARTS = ("text", "input_text", "output_text", None)
_BLANKS = "\ufeff \t\r\n"
_DECODER = json.JSONDecoder(parse_constant=lambda _: None)


# JSON in a model's text


def parse_json(text: str, schema: Schema | None = None) -> object:
    """The JSON value in the text of a model: plain, in a code fence, amid prose, with small mistakes, or truncated.
    Of several, the type at the root of the schema chooses. Raises ValueError when there is none."""
    kind = schema.get("type") if schema else None
    try:
        values = [value for value in _values(text[:MOST].strip(_BLANKS)) if value is not None]
        values = json.loads(sound(json.dumps(values, ensure_ascii=False)))
    except RecursionError:
        values = []
    if kind == "array" and len(values) > 1 and all(isinstance(value, dict) for value in values):
        return values  # one object per line
    if not values:
        raise ValueError("no JSON")
    shaped = [shape(value, kind) for value in values]
    return max(shaped, key=lambda value: (_fits(value, kind), bool(value), len(str(value))))


def _values(text: str) -> Iterator[object]:
    """Yield the value of the whole text, or else the lists and objects in it, repaired where they are not valid."""
    with suppress(ValueError):
        yield _DECODER.decode(text)
        return
    text, at = without_thoughts(text), 0
    while opening := _OPENING.search(text, at):
        try:
            value, at = _DECODER.raw_decode(text, opening.start())
        except ValueError:
            yield _repair(text[opening.start() :][:MOST_REPAIRED])
            return
        yield value


def _repair(text: str) -> object:
    """The repaired value of a text with mistakes; None for nothing. What follows its last bracket outside a string is
    unfinished."""
    from json_repair import loads  # imported only when a model has made a mistake

    text = _WIDE_COMMA.sub(",", text)
    ends = (part.end() for part in _STRING_OR_CLOSING.finditer(text) if part[0] in "]}")
    return loads(text[: max(ends, default=0)], skip_json_loads=True) or None


def _fits(value: object, kind: object) -> bool:
    if kind == "array":
        return isinstance(value, list)
    return isinstance(value, dict) if kind == "object" else value is not None


def shape(value: object, kind: object) -> object:
    """A value with the type at the schema's root. For a list: the only list of an object, or a list of one object.
    For an object: the only object of a list."""
    if isinstance(value, dict) and kind != "object" and value.keys() == {WRAPPED}:
        value = value[WRAPPED]
    if kind == "array":
        inner = value.values() if isinstance(value, dict) else ()
        lists = [item for item in inner if isinstance(item, list)]
        if len(lists) == 1:
            return lists[0]
        return [value] if isinstance(value, dict | str) and value else value
    if kind == "object" and isinstance(value, list) and len(value) == 1:
        return value[0]
    return value


def without_thoughts(text: str) -> str:
    """The text without a model's thoughts, whether they have an opening mark, a closing mark, or both."""
    outside: list[str] = []
    depth = end = 0
    for mark in _THOUGHTS.finditer(text):
        if mark[0].startswith("</"):
            if depth == 0:  # opened by the prompt, so everything up to here is a thought
                outside.clear()
            depth = 0
        else:
            if depth == 0:
                outside.append(text[end : mark.start()])
            depth = 1
        end = mark.end()
    if depth == 0:
        outside.append(text[end:])
    return "".join(outside).strip()


def sound(text: str) -> str:
    """The text without lone surrogates; pairs of surrogates are joined."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


# Replies of a service


def text_of(message: object, between: str = "\n") -> str:
    """The text of a message, or of the text parts in it."""
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, str):
        return content
    parts = (
        [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []
    )
    texts = [part.get("text") for part in parts if part.get("type") in _TEXT_PARTS]
    return between.join(text for text in texts if isinstance(text, str))


def error_message(body: bytes | str) -> str:
    """The message of an error reply, from any of the usual fields; "" when there is none."""
    try:
        reply = json.loads(body)
    except (ValueError, RecursionError):
        return ""
    for _ in range(2):
        if isinstance(reply, dict):
            reply = next((reply[name] for name in _ERROR_KEYS if reply.get(name)), "")
    return sound(reply) if isinstance(reply, str) else ""


def model_names(body: bytes) -> list[str]:
    """The names in a service's list of models; empty for anything else."""
    listed = json_object(body).get("data")
    rows = listed if isinstance(listed, list) else []
    return [str(row["id"]) for row in rows if isinstance(row, dict) and "id" in row]


def status(code: int, body: bytes) -> int:
    """The status of a reply: some services report an error under a status of 200."""
    if code != 200 or b'"error"' not in body or b'"choices"' in body:
        return code
    error = json_object(body).get("error")
    result = error.get("code") if isinstance(error, dict) else None
    return result if isinstance(result, int) and 400 <= result < 600 else code


class Answer:
    """An answer of chat completions: the words of its first choice."""

    id = ""  # a chat completion cannot be continued by its id

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._size = 0
        self._taken = 0  # how many of them fresh() has returned
        self.reason = ""  # the server's reason why it ended: stop, length, tool_calls, ...
        self.calls = False  # it calls tools, so the turn continues
        self.is_begun = False  # an event has arrived
        self.is_done = False  # the server has ended the stream
        self.is_broken = False  # the server has sent an error instead
        self.is_declined = False  # by the model or a filter: none of it is kept
        self.error = ""  # the message of that error

    @property
    def text(self) -> str:
        """The text so far, with characters that were split between two events."""
        return sound("".join(self._texts))

    def fresh(self) -> str:
        """The text since the last call."""
        new = "".join(self._texts[self._taken :])
        self._taken = len(self._texts)
        return sound(new)

    @property
    def is_complete(self) -> bool:
        """Whether the server has marked the answer as complete."""
        return bool(self.reason or self.is_done) and not self.is_broken

    def problem(self) -> str:
        """Why a complete reply holds no answer; "" when it holds one."""
        if self.text.strip():
            return ""
        if self.is_declined:
            return "the model declined to answer"
        if self.reason == "length":
            return "the model used up all its tokens before it answered"
        silent = "the model said nothing"
        return self.error or (silent if self.is_begun else "the reply is not a chat completion")

    def feed(self, data: str) -> None:
        """Read the data of one event of a stream."""
        self.is_begun = True
        if data.strip() == DONE:
            self.is_done = True
        else:
            self._read(data, "delta")

    def read(self, body: bytes) -> None:
        """Read the body of an answer that is not streamed."""
        self._read(body, "message")
        self.is_done = bool(self._texts or self.reason)

    def _read(self, data: str | bytes, where: str) -> None:
        event = json_object(data)
        if event.get("error"):
            self.is_broken = True
        if self.is_broken or "choices" not in event:
            self.error = self.error or error_message(data)
        choices = event.get("choices")
        for choice in choices if isinstance(choices, list) else ():
            if isinstance(choice, dict) and choice.get("index") in (0, None):
                self._read_choice(choice, where)

    def _read_choice(self, choice: JsonObject, where: str) -> None:
        reason, message = choice.get("finish_reason"), choice.get(where)
        if isinstance(reason, str) and reason:
            self.reason = reason
            self.is_declined = self.is_declined or reason in _DECLINED
        if not isinstance(message, dict):
            return
        self.is_begun = True
        self.is_declined = self.is_declined or bool(message.get("refusal"))
        self.calls = self.calls or bool(message.get("tool_calls") or message.get("function_call"))
        words = text_of(message, "")
        if words and self._size < MOST_TEXT:
            self._texts.append(words[: MOST_TEXT - self._size])
            self._size += len(words)


class MessagesAnswer(Answer):
    """An answer of the Messages API: the text of its blocks."""

    def feed(self, data: str) -> None:
        """Read the data of one event of a stream."""
        event = json_object(data)
        self.is_broken = self.is_broken or event.get("type") == "error"
        delta = event.get("delta")
        if isinstance(delta, dict):
            self._read_part(delta.get("text"), delta.get("stop_reason"))

    def read(self, body: bytes) -> None:
        """Read the body of an answer that is not streamed."""
        message = json_object(body)
        self._read_part(text_of(message, ""), message.get("stop_reason"))

    def _read_part(self, words: object, reason: object) -> None:
        self._read_choice({"finish_reason": reason, "part": {"content": words}}, "part")
        self.calls = self.reason in ("tool_use", "pause_turn")


class ResponsesAnswer:
    """An answer of the Responses API: the text of the messages in its output."""

    def __init__(self) -> None:
        self._texts: dict[int, list[str]] = {}  # by the number of the item
        self._size = 0
        self.id = ""  # of the response, which a later request may continue
        self.calls = False  # it calls tools of the client, so the turn continues
        self.is_complete = False
        self.is_declined = False

    @property
    def text(self) -> str:
        """The words so far."""
        return "\n".join("".join(texts) for _, texts in sorted(self._texts.items()))

    def feed(self, data: str) -> None:
        """Read the data of one event of a stream."""
        event = json_object(data)
        kind, number = event.get("type"), event.get("output_index")
        place = number if isinstance(number, int) else 0
        if kind == "response.output_text.delta":
            self._add(place, event.get("delta"))
        elif kind == "response.output_item.done":
            self._size -= sum(map(len, self._texts.pop(place, ())))
            self._add_item(place, event.get("item"))
        elif kind in ("response.completed", "response.incomplete"):
            self._read_response(event.get("response"))
            self.is_complete = True
        elif kind in ("error", "response.failed", "response.cancelled"):
            self.is_complete = False

    def read(self, body: bytes) -> None:
        """Read the body of an answer that is not streamed."""
        response = json_object(body)
        self._read_response(response)
        has_ended = response.get("status") in ("completed", "incomplete")  # the second: truncated
        self.is_complete = has_ended and not response.get("error")

    def _read_response(self, response: object) -> None:
        """Read the whole response. Some servers omit at the end of a stream what they have already sent."""
        if not isinstance(response, dict):
            return
        id_, output = response.get("id"), response.get("output")
        details = response.get("incomplete_details")
        self.is_declined = isinstance(details, dict) and details.get("reason") in _DECLINED
        self.id = id_ if isinstance(id_, str) else ""
        if isinstance(output, list) and output:
            self._texts, self._size = {}, 0
            for place, item in enumerate(output):
                self._add_item(place, item)

    def _add_item(self, place: int, item: object) -> None:
        if not isinstance(item, dict):
            return
        # Tools that the server runs itself have no such id and need no answer.
        self.calls = self.calls or bool(item.get("call_id"))
        if item.get("type") == "message":
            self._add(place, text_of(item))

    def _add(self, place: int, words: object) -> None:
        if isinstance(words, str) and words and self._size < MOST_TEXT:
            self._texts.setdefault(place, []).append(words[: MOST_TEXT - self._size])
            self._size += len(words)
