"""The body of a chat completion as bytes: what is asked in it, and one message put in; all else stays as it is.

Whatever is odd about a body is no business of ours: then there is nothing to read in it, and who answers says so.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from hashlib import sha256
from typing import NamedTuple

from vaultmem.core.json_text import Part, parts

# Where a message is put in: before the last words of the user, or first of all.
TURN, START = "turn", "start"
TASK = "### Task:"  # how a program's own questions begin (titles, tags), which nobody has said
_TEXTS = ("text", "input_text", "output_text")
OFF = ("off", "false", "0", "no", "none", "disabled")  # how a request says that it wants no memory


class Chat(NamedTuple):
    """What a request says."""

    question: str  # the text of the last message of the user; "" if it has none
    is_turn: bool  # that message is the last of all; else a tool's result goes on with the turn
    earlier: tuple[str, ...]  # the texts of all messages
    asked: str  # the same for the same messages up to the question
    model: str
    conversation: str  # as metadata.conversation_id or user names it; "" if neither does
    is_off: bool  # metadata.vaultmem: nothing is to be recalled, nothing to be kept
    places: tuple[int, int]  # bytes before the first message, and before the question
    end: int = (
        0  # bytes before the end of a question that is no message of its own, see responses_body
    )
    previous: str = ""  # the id of the response that it goes on with

    def at(self, place: str) -> int:
        """How many bytes stand before what is put in at a place."""
        return self.places[0 if place == START else 1]

    @property
    def is_task(self) -> bool:
        """Whether a program asks something of its own."""
        return self.question.lstrip().startswith(TASK)


def read(body: bytes) -> Chat | None:
    """What is asked; None where the body is no chat in plain UTF-8 JSON, or could be read in two ways."""
    try:
        text = body.decode("utf-8")
        members, end = parts(text)
        if text[end:].strip(" \t\r\n"):
            return None
        return _chat(text, once(members, "messages", "metadata", "user", "model"))
    except (ValueError, RecursionError):
        return None


def with_memory(body: bytes, chat: Chat, place: str, content: str) -> bytes:
    """The body with one more message at a place."""
    return spliced(body, chat.at(place), content)


def spliced(body: bytes, at: int, content: str) -> bytes:
    """The body with one more message before the one that begins at this byte."""
    return body[:at] + system_message(content) + b"," + body[at:]


def system_message(content: str) -> bytes:
    """The message that is put in."""
    return json.dumps({"role": "system", "content": content}).encode("ascii")


def text_of(message: object) -> str:
    """The words of a message: its text, or the texts among its parts."""
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, str):
        return _whole(content)
    if not isinstance(content, list):
        return ""
    found = [
        one.get("text") for one in content if isinstance(one, dict) and one.get("type") in _TEXTS
    ]
    return "\n".join(_whole(one) for one in found if isinstance(one, str))


def _whole(text: str) -> str:
    """JSON may name halves of characters, which cannot be written down."""
    return text.encode("utf-8", "replace").decode("utf-8")


def once(members: Sequence[Part], *names: str) -> dict[str, Part]:
    """Those that count. Raises ValueError where one of them is there twice: some would read the first."""
    found = {one.name: one for one in members}
    if any(sum(one.name == name for one in members) > 1 for name in names):
        raise ValueError("a member is there twice")
    return found


def _chat(text: str, members: dict[str, Part]) -> Chat | None:
    if "messages" not in members or not isinstance(members["messages"].value, list):
        return None
    messages, _ = parts(text, members["messages"].start)
    roles = [one.value.get("role") if isinstance(one.value, dict) else None for one in messages]
    if "user" not in roles or None in roles:
        return None
    last = len(roles) - 1 - roles[::-1].index("user")
    once(parts(text, messages[last].start)[0], "role", "content")
    before, between = text[: messages[0].start], text[messages[0].start : messages[last].start]
    first = len(before.encode())
    said = [text_of(one.value) for one in messages]
    return Chat(
        said[last], last == len(roles) - 1, tuple(said), digest(roles, said, last),
        plain(members, "model"), conversation_of(members), is_off(members),
        (first, first + len(between.encode())),
    )  # fmt: skip


def digest(roles: Sequence[object], said: Sequence[str], last: int) -> str:
    """Another one for other messages up to the last one that counts."""
    pairs = [[str(role), text] for role, text in zip(roles[: last + 1], said, strict=False)]
    return sha256(json.dumps(pairs).encode()).hexdigest()


def plain(members: dict[str, Part], name: str) -> str:
    """A member that is a text; "" where there is none."""
    found = members[name].value if name in members else None
    return found if isinstance(found, str) else ""


def _metadata(members: dict[str, Part], name: str) -> object:
    found = members["metadata"].value if "metadata" in members else None
    return found.get(name) if isinstance(found, dict) else None


def conversation_of(members: dict[str, Part]) -> str:
    """The conversation that a request names; "" where it names none."""
    named = _metadata(members, "conversation_id")
    return named if isinstance(named, str) and named.strip() else plain(members, "user")


def says_off(said: object) -> bool:
    """Whether a header or a member of the metadata says that no memory is wanted."""
    return said.strip().lower() in OFF if isinstance(said, str) else said in (False, 0)


def is_off(members: dict[str, Part]) -> bool:
    """Whether the metadata say that no memory is wanted."""
    return says_off(_metadata(members, "vaultmem"))
