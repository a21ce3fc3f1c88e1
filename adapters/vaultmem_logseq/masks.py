"""What Logseq does not read: code, maths, comments, log books, queries, turned into blanks."""

from __future__ import annotations

import re
from typing import NamedTuple

from vaultmem.adapter.scan import blanked, blanks

_FENCE = re.compile(r"^[ \t>]*+(?:-[ \t]++)?(`{3,}+|~{3,}+)(.*)$", re.MULTILINE)
_LOGBOOK = re.compile(
    r"^[ \t]*+:LOGBOOK:[ \t]*+\n"
    r"(?:(?![ \t]*+(?:-[ \t]|:LOGBOOK:|:END:)).*\n)*+[ \t]*+:END:[ \t]*+$",
    re.MULTILINE | re.IGNORECASE,
)
_CONTAINER = re.compile(
    r"^[ \t]*+(?:-[ \t]++)?#\+BEGIN_(\w++).*\n"
    r"((?:(?![ \t]*+#\+(?:BEGIN|END)_).*\n)*+)[ \t]*+#\+END_\w++[ \t]*+$",
    re.MULTILINE | re.IGNORECASE,
)
_KEYWORD = re.compile(r"^[ \t]*+(?:-[ \t]++)?#\+\w++", re.MULTILINE)  # "#+END_QUOTE" is no tag
_NO_REFERENCES = frozenset({"SRC", "EXAMPLE", "QUERY", "EXPORT", "COMMENT"})
_REPAIRS = 3


class Masks(NamedTuple):
    """The text twice, with other parts blanked; offsets and lines are those of the text."""

    references: str  # where links and tags are looked for
    shape: str  # where blocks begin, and where property and date lines are


def masks(text: str, start: int = 0) -> Masks:
    """Both masks of a page whose body begins at `start`."""
    references = _without_code(text, start)
    if ":end:" in references or ":END:" in references:
        references = _LOGBOOK.sub(lambda book: blanks(book[0]), references)
    if "#+" not in references:
        return Masks(references, references)
    shape = _CONTAINER.sub(_blank_body, references)
    references = _CONTAINER.sub(_blank_code_body, references)
    return Masks(_KEYWORD.sub(lambda word: word[0].replace("#", " "), references), shape)


def _without_code(text: str, start: int) -> str:
    """Blank code; a fence that nobody closes is plain text in Logseq, unlike in Obsidian."""
    if "```" in text or "~~~" in text:
        position = start
        for _ in range(_REPAIRS):
            fence = _open_fence(text, position)
            if fence is None:
                break
            begin, position = fence.span(1)
            text = text[:begin] + " " * (position - begin) + text[position:]
    return blanked(text, start)


def _open_fence(text: str, start: int) -> re.Match[str] | None:
    """The fence that is still open at the end of the text."""
    opened = None
    for fence in _FENCE.finditer(text, start):
        if opened is None:
            opened = None if "`" in fence[2] else fence
        elif fence[1].startswith(opened[1]) and not fence[2].strip():
            opened = None
    return opened


def _blank_body(container: re.Match[str]) -> str:
    begin, end = container.start(2) - container.start(), container.end(2) - container.start()
    whole = container[0]
    return whole[:begin] + blanks(whole[begin:end]) + whole[end:]


def _blank_code_body(container: re.Match[str]) -> str:
    return _blank_body(container) if container[1].upper() in _NO_REFERENCES else container[0]
