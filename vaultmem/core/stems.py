"""The names of notes without what a copy is given: the same task in a note and in its copy is one."""

from __future__ import annotations

import re
import unicodedata

from vaultmem.core.conflicts import conflict_original

_COPY = re.compile(
    r"(?P<stem>.*?\S)(?: ?\((?:copy|kopie|副本)(?: \d{1,3})?\)|(?: -)? (?:copy|kopie)(?: \d{1,3})?"
    r"|(?: -)? ?副本(?: \d{1,3})?| \([^()]{0,60}conflicted copy[^()]{0,80}\))",
    re.IGNORECASE,
)
_NUMBERED = re.compile(r"(?P<stem>.*\S)(?: \([1-9]\d?\)| [1-9]\d?)")
_ROUNDS = 5  # a copy of a copy


def stem(path: str, *, has_original: bool = False) -> str:
    """The name of a note, folded, without marks of copies; without its number where the note of the name without it
    is there, too."""
    name = _stem(conflict_original(path) or path)
    for _ in range(_ROUNDS):
        found = _COPY.fullmatch(name)
        if not found:
            break
        name = found["stem"]
    numbered = _NUMBERED.fullmatch(name) if has_original else None
    return unicodedata.normalize("NFC", (numbered["stem"] if numbered else name).casefold())


def numbered_original(path: str) -> str:
    """The path of which this one with a number, "Plan 1.md", may be a copy; "" for none."""
    folder, slash, name = path.rpartition("/")
    found = _NUMBERED.fullmatch(_stem(name))
    ending = name[len(_stem(name)) :]
    return f"{folder}{slash}{found['stem']}{ending}" if found else ""


def _stem(path: str) -> str:
    name = path.rpartition("/")[2]
    return name.rpartition(".")[0] or name
