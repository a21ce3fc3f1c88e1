"""The words of a recall: a question as plain words, and the block of memories as an assistant reads it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from vaultmem.core.memory import TYPES
from vaultmem.core.query import FILTERS

OPEN, CLOSE = "<memory>", "</memory>"
_UNSEEN = "[\u00ad\u034f\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]*"
_LESS = "[<\uff1c\ufe64]"
_TAG = re.compile(
    _LESS + rf"(?={_UNSEEN}\s*{_UNSEEN}[/\uff0f]?\s*{_UNSEEN}{_UNSEEN.join('memory')})",
    re.IGNORECASE,
)
_LABEL = re.compile(
    rf"(?<=[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029])([ \t]*{_UNSEEN})\[(?={_UNSEEN}(?:{'|'.join(TYPES)})\])",
    re.IGNORECASE,
)
_FIELD = re.compile(rf"(?<!\w)-?((?:{'|'.join(FILTERS)})):(?=\S)", re.IGNORECASE)
_EXCLUDED = re.compile(r"(?<!\S)-+(?=\S)")
_PREFIX = re.compile(r"\*+(?=\s|$)")
_OR = re.compile(r"(?<!\S)OR(?!\S)")


def plain(question: str) -> str:
    """A question whose words mean nothing but themselves: what an assistant is asked may have quotes, dashes and colons
    in it, which are commands in the language of searches."""
    text = _FIELD.sub(r"\1 ", question.replace('"', " "))
    return _OR.sub("or", _PREFIX.sub("", _EXCLUDED.sub("", text))).strip()


def entry(one: Mapping[str, object]) -> tuple[str, str]:
    """Type and content of what a recall tells, for block(). A block of a note begins with its place."""
    content = str(one["content"])
    if one.get("kind") == "note":
        content = f"{place(one)}: {content}"
    return str(one["memory_type"]), content


def place(one: Mapping[str, object]) -> str:
    """The note and the line where something stands, in one line."""
    path = "".join(letter if letter.isprintable() else " " for letter in str(one["path"]))
    return f"{path}:{one['line']}"


def block(memories: Iterable[tuple[str, str]]) -> str:
    """The block of the "logic" seed, section 4, from pairs of type and content. Contents stand in it as they are, but
    for what would end it, or pass for an entry of its own."""
    lines = (f"[{kind.upper()}] {inert(content)}" for kind, content in memories)
    return "\n".join((OPEN, *lines, CLOSE))


def inert(content: str) -> str:
    """The content without anything that an assistant could take for the block's own marks."""
    return (
        _LABEL.sub(r"\1(", _TAG.sub("‹", content))
        if "[" in content or _TAG.search(content)
        else content
    )
