"""Request bodies of chats as bytes, for all three APIs: finds the question and inserts one message; everything else is
unchanged.

The Messages API (Anthropic) has the form of chat completions, except that the result of a tool is part of a message of
the user.

The input of the Responses API is one text, or a list of items: messages, and calls of tools with their results. With
`previous_response_id` the server knows the earlier messages, and the input holds only the new ones.

An invalid body is passed on unread: the upstream reports the error.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Any, NamedTuple

from vaultmem.text.json_text import Part, read_parts
from vaultmem_chat.llm.replies import sound, text_of

# Where a message is inserted: before the user's last message, or first of all.
TURN, START = "turn", "start"
# Beginnings of questions that programs ask for themselves: for titles and tags; requests to sum up or propose,
# which may follow words of the person.
_TASK = re.compile(
    r"\A\s*(?:### Task:|Generate a title for this conversation|Here is the conversation so far:\s*<conversation>)"
    r"|^(?:CRITICAL: Respond with TEXT ONLY|You are performing a CONTEXT CHECKPOINT|\[SUGGESTION MODE:)",
    re.MULTILINE,
)
_GUIDES = ("system", "developer")  # roles whose messages may follow the question
_RESULT = "tool_result"
# What Claude Code (such as CLAUDE.md) and Copilot add to the words of the person.
_REMINDER = re.compile(r"<(system-reminder|current_datetime)>(?:(?!<\1>).)*?</\1>\s*", re.DOTALL)
_ELEMENTS = r"(?:(?>\s*<({})>(?s:.)*?</\1>))+\s*"
_CONTINUED = "This session is being continued from a previous conversation (?s:.)*"
# A part of a message consisting only of elements, as of a command that it ran for the person, or of the editor around
# it; or its own summary. People write elements, too, so of a message that has no other part only its own are left out.
_ADDED, _OWN = (
    re.compile(f"{_ELEMENTS.format(names)}|{_CONTINUED}")
    for names in (
        "[a-z]+(?:-[a-z]+)+|ide(?:_[a-z]+)+",
        "(?:command|local-command|bash|system)-[a-z-]+|[a-z-]+-(?:hook|notification)|ide(?:_[a-z]+)+",
    )
)
# The session, in the metadata of Claude Code.
_SESSION = re.compile(r'_session_[0-9a-f-]{36}\Z|"session_id":\s*"[^"]*"')
_READ = (
    "messages", "input", "metadata", "user", "model", "tools", "previous_response_id", "prompt_cache_key",
)  # fmt: skip
_USER = b',{"role":"user","content":'
OFF = ("off", "false", "0", "no", "none", "disabled")  # values with which a request declines memory


class Chat(NamedTuple):
    """A parsed request."""

    question: str  # the text of the last message of the user; "" if it has none
    is_turn: bool  # that message is the last of all; otherwise a tool's result continues the turn
    earlier: tuple[str, ...]  # the texts of all messages
    digest: str  # a digest of the messages up to the question
    model: str
    conversation: str  # from metadata.conversation_id or user; "" without either
    is_off: bool  # metadata.vaultmem: recall nothing, store nothing
    places: tuple[int, int]  # offsets in bytes of the first message, and of the question
    end: int = 0  # offset in bytes of the end of an input that is one text
    previous: str = ""  # the id of the response that it continues
    is_aside: bool = False  # asked by a program for itself
    session: str = ""  # of an assistant; several of them may share a conversation

    def at(self, place: str) -> int:
        """The offset in bytes at which a message is inserted."""
        return self.places[0 if place == START else 1]


def read(body: bytes) -> Chat | None:
    """Parse the body of a chat completion or of a message. Returns None if it is not a chat in plain UTF-8 JSON, or
    is ambiguous."""
    return _read(body, _completion)


def read_response(body: bytes) -> Chat | None:
    """Parse the body of a request of the Responses API, as read() does."""
    return _read(body, _response)


def with_memory(body: bytes, chat: Chat, place: str, content: str, role: str = "system") -> bytes:
    """The body with a message inserted at a place; an input that is one text becomes a list of two messages."""
    at = chat.at(place)
    message = json.dumps({"role": role, "content": content}).encode("ascii")
    if not chat.end:
        return body[:at] + message + b"," + body[at:]
    user = _USER + body[at : chat.end] + b"}]"
    return body[:at] + b"[" + message + user + body[chat.end :]


def says_off(value: object) -> bool:
    """Whether a header or a member of the metadata declines memory."""
    return value.strip().lower() in OFF if isinstance(value, str) else value in (False, 0)


Members = dict[str, Part]


def _read(body: bytes, chat_of: Callable[[str, Members], Chat | None]) -> Chat | None:
    try:
        text = body.decode("utf-8")
        members, end = read_parts(text)
        if text[end:].strip(" \t\r\n"):
            return None
        return chat_of(text, _unambiguous(members, _READ))
    except (ValueError, RecursionError):
        return None


def _unambiguous(members: Sequence[Part], names: Sequence[str]) -> Members:
    """The members by name. Raises ValueError where one of `names` occurs twice, which programs read differently."""
    if any(sum(member.name == name for member in members) > 1 for name in names):
        raise ValueError("a member occurs twice")
    return {member.name: member for member in members}


def _completion(text: str, body: Members) -> Chat | None:
    if "messages" not in body or not isinstance(body["messages"].value, list):
        return None
    messages, _ = read_parts(text, body["messages"].start)
    roles = [_speaker(message.value) for message in messages]
    if "user" not in roles or "" in roles:
        return None
    chat = _chat(text, body, messages, roles)
    if not (session := _SESSION.search(str(_metadata(body, "user_id")))):
        return chat
    question = _own_words(messages[_last_of_user(roles)].value)
    has_tools = "tools" in body and body["tools"].value
    is_aside = chat.is_aside or not has_tools  # Claude Code offers them whenever the person asks
    return chat._replace(question=question, session=session[0], is_aside=is_aside)


def _last_of_user(roles: Sequence[str]) -> int:
    return len(roles) - 1 - roles[::-1].index("user")


def _own_words(message: Any) -> str:
    """What the person wrote in a message of Claude Code."""
    content = message.get("content")
    parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
    for added in (_ADDED, _OWN):
        own = [part for part in parts if not added.fullmatch(text_of({"content": [part]}))]
        if own:
            break
    return _REMINDER.sub("", sound(text_of({"content": own})))


def _speaker(message: object) -> str:
    """Who speaks in a message; "" where that is unknown."""
    if not isinstance(message, dict) or message.get("role") is None:
        return ""
    content = message.get("content")
    parts = content if isinstance(content, list) else ()
    holds_result = any(isinstance(part, dict) and part.get("type") == _RESULT for part in parts)
    return "tool" if holds_result else str(message["role"])


def _response(text: str, body: Members) -> Chat | None:
    if "input" not in body:
        return None
    raw, previous = body["input"], _string(body, "previous_response_id")
    about = _string(body, "model"), _conversation(body), says_off(_metadata(body, "vaultmem"))
    if isinstance(raw.value, str):
        words = sound(raw.value)
        start, end = (len(text[:at].encode()) for at in (raw.start, raw.end))
        digest = _digest([previous, "user"], ["", words])
        is_aside = _TASK.search(words) is not None
        return Chat(words, True, (words,), digest, *about, (start, start), end, previous, is_aside)
    if not isinstance(raw.value, list):
        return None
    items, _ = read_parts(text, raw.start)
    roles = [_role(item.value) for item in items]
    if "user" not in roles:  # only results of tools: the server knows the question
        return Chat("", False, (), "", *about, (0, 0), 0, previous) if previous else None
    return _chat(text, body, items, roles)


def _chat(text: str, body: Members, messages: Sequence[Part], roles: Sequence[str]) -> Chat:
    last = _last_of_user(roles)
    _unambiguous(read_parts(text, messages[last].start)[0], ("role", "content"))
    first, before = messages[0].start, messages[last].start
    at = len(text[:first].encode())
    texts = [sound(text_of(message.value)) for message in messages]
    words = [_REMINDER.sub("", value) for value in texts]
    previous = _string(body, "previous_response_id")
    since = next((at + 1 for at in range(last, -1, -1) if roles[at] != "user"), 0)
    return Chat(
        words[last], all(role in _GUIDES for role in roles[last + 1 :]), tuple(texts),
        _digest([previous, *roles[: last + 1]], ["", *words]),
        _string(body, "model"), _conversation(body), says_off(_metadata(body, "vaultmem")),
        (at, at + len(text[first:before].encode())), 0, previous,
        any(_TASK.search(words[at]) for at in range(since, last + 1)), _string(body, "prompt_cache_key"),
    )  # fmt: skip


def _role(item: object) -> str:
    """The role of a message; the type of any other item."""
    if not isinstance(item, dict):
        raise ValueError("an item is none")  # noqa: TRY004 - read() says what is wrong with a body
    kind = item.get("type", "message")
    return str(item.get("role")) if kind == "message" else f"<{kind}>"


def _digest(roles: Sequence[str], texts: Sequence[str]) -> str:
    pairs = [[role, text] for role, text in zip(roles, texts, strict=False)]
    return sha256(json.dumps(pairs).encode()).hexdigest()


def _string(members: Members, name: str) -> str:
    """The text of a member; "" where there is none."""
    result = members[name].value if name in members else None
    return result if isinstance(result, str) else ""


def _metadata(members: Members, name: str) -> object:
    result = members["metadata"].value if "metadata" in members else None
    return result.get(name) if isinstance(result, dict) else None


def _conversation(members: Members) -> str:
    """The conversation named in a request; "" without one."""
    named = _metadata(members, "conversation_id")
    return named if isinstance(named, str) and named.strip() else _string(members, "user")
