"""Private keys in a text, as files and mails hold them: a line that begins them, letters, a line that ends them."""

from __future__ import annotations

import re

from vaultmem.core.secret_marks import mark
from vaultmem.core.secret_values import is_placeholder

_KIND = "private key"
_NAME = r"[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?"
_BEGIN = re.compile(rf"-{{4,5}} ?BEGIN {_NAME}-{{4,5}}")
_END = re.compile(rf"-{{4,5}} ?END {_NAME}-{{4,5}}")
_HEADER = re.compile(r"(?:^|\n|\\n)[ \t>]{0,16}[A-Z][A-Za-z-]{2,30}:[^\n\\]{0,200}")
_BETWEEN = re.compile(r"(?:\\r|\\n|[\s>\"'`,;|\\])+")
_LETTERS = re.compile(r"[A-Za-z0-9+/=]+$")
_CUT_OFF = re.compile(r"(?:\s{0,4}(?:\\n)?[ \t>]{0,8}[A-Za-z0-9+/=]{24,200}(?:\\n)?){1,1000}")
_PUTTY = re.compile(
    r"(?<=\nPrivate-Lines: )\d{1,3}(?:\n[ \t>]{0,16}[A-Za-z0-9+/=]{1,80}(?=\n|\Z)){1,200}"
)
_FEWEST = 4  # letters that are a key and no dash or dots


def private_keys(text: str, found: list[str]) -> str:
    """The text with a mark in place of each private key."""
    if "PRIVATE KEY" not in text and "Private-Lines: " not in text:
        return text
    begins = list(_BEGIN.finditer(text))
    parts: list[str] = []
    at = 0
    for number, begin in enumerate(begins):
        if begin.start() < at:
            continue
        following = begins[number + 1].start() if number + 1 < len(begins) else len(text)
        end = _key_end(text, begin.end(), following)
        if end is not None:
            parts += [text[at : begin.start()], mark(_KIND)]
            found.append(_KIND)
            at = end
    text = "".join([*parts, text[at:]])
    return _PUTTY.sub(lambda _: _told(found), text)


def _told(found: list[str]) -> str:
    found.append(_KIND)
    return mark(_KIND)


def _key_end(text: str, begin: int, most: int) -> int | None:
    """Where the key ends whose first line ends at `begin`; None when no key is behind it, as where a manual tells how
    one begins."""
    closing = _END.search(text, begin, most)
    if closing and _is_key(text[begin : closing.start()]):
        return closing.end()
    cut_off = _CUT_OFF.match(text, begin, most)
    return cut_off.end() if cut_off else None


def _is_key(body: str) -> bool:
    """Whether what stands between the two lines is a key, however short and however it is broken, and not words or the
    dots of an example."""
    runs = [run for run in _BETWEEN.split(_HEADER.sub("", body)) if run]
    solid = [run for run in runs if _LETTERS.match(run) and not _is_word(run)]
    if len(runs) == 1 and not solid and "\n" in body and _LETTERS.match(runs[0]):
        solid = runs  # alone on its line: nobody writes a word there
    size = sum(map(len, solid))
    if size < _FEWEST or is_placeholder("".join(runs)[:200]):
        return False
    return 5 * size >= 4 * sum(map(len, runs))


def _is_word(run: str) -> bool:
    return len(run) <= 20 and run.isalpha() and (run.islower() or run.istitle())
