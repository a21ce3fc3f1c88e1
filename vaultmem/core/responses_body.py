"""The body of a request of the Responses API as bytes: what is asked in it, and one item put in; all else stays.

Its input is one text, or a list of items: messages, and calls of tools with their results. With `previous_response_id`
the server knows what came before, and the input is only what is new.
"""

from __future__ import annotations

from vaultmem.core.chat_body import (
    Chat,
    conversation_of,
    digest,
    is_off,
    once,
    plain,
    spliced,
    system_message,
    text_of,
)
from vaultmem.core.json_text import Part, parts

_GUIDES = ("system", "developer")  # roles whose messages may follow the question
_USER = b',{"role":"user","content":'


def read(body: bytes) -> Chat | None:
    """What is asked; None where the body is no request in plain UTF-8 JSON, or could be read in two ways."""
    try:
        text = body.decode("utf-8")
        members, end = parts(text)
        if text[end:].strip(" \t\r\n"):
            return None
        return _chat(
            text, once(members, "input", "metadata", "user", "model", "previous_response_id")
        )
    except (ValueError, RecursionError):
        return None


def with_memory(body: bytes, chat: Chat, place: str, content: str) -> bytes:
    """The body with one more message; an input that is one text becomes a list of two."""
    at = chat.at(place)
    if not chat.end:
        return spliced(body, at, content)
    asked = _USER + body[at : chat.end] + b"}]"
    return body[:at] + b"[" + system_message(content) + asked + body[chat.end :]


def _chat(text: str, members: dict[str, Part]) -> Chat | None:
    if "input" not in members:
        return None
    given, previous = members["input"], plain(members, "previous_response_id")
    about = plain(members, "model"), conversation_of(members), is_off(members)
    start = len(text[: given.start].encode())
    if isinstance(given.value, str):
        said = text_of({"content": given.value})
        end = start + len(text[given.start : given.end].encode())
        asked = digest([previous, "user"], ["", said], 1)
        return Chat(said, True, (said,), asked, *about, (start, start), end, previous)
    if not isinstance(given.value, list):
        return None
    items, _ = parts(text, given.start)
    roles = [_role(one.value) for one in items]
    if "user" not in roles:  # the results of tools alone: the server knows the question
        return Chat("", False, (), "", *about, (0, 0), 0, previous) if previous else None
    last = len(roles) - 1 - roles[::-1].index("user")
    once(parts(text, items[last].start)[0], "role", "content")
    texts = [text_of(one.value) for one in items]
    first = start + len(text[given.start : items[0].start].encode())
    before = first + len(text[items[0].start : items[last].start].encode())
    return Chat(
        texts[last], all(role in _GUIDES for role in roles[last + 1 :]), tuple(texts),
        digest([previous, *roles], ["", *texts], last + 1), *about, (first, before), 0, previous,
    )  # fmt: skip


def _role(item: object) -> str:
    """Who says an item; of what is no message its kind."""
    if not isinstance(item, dict):
        raise ValueError("an item is none")  # noqa: TRY004 - read() says what is wrong with a body
    kind = item.get("type", "message")
    return str(item.get("role")) if kind == "message" else f"<{kind}>"
