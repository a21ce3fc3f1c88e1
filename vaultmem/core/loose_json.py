"""JSON as language models write it: amid prose, with trailing or missing commas, other quotes, comments, cut off.

One pass from left to right, with a stack of our own: linear time, bounded depth. A value that ends too early keeps
its complete items; an unfinished object in a list is none.
"""

from __future__ import annotations

import re
from typing import NamedTuple

DEEPEST = 64
LONGEST_NUMBER = 400  # characters
_OPENS = re.compile(r"[\[{]")
_SPACE = re.compile(r"(?:[\s,，]++|//[^\n]*+)*+")
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NUMBER = re.compile(r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_ENDS = {
    '"': re.compile(r'[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL),
    "“": re.compile(r"[^”\\]*+(?:\\.[^”\\]*+)*+”", re.DOTALL),
}
_GOES_ON = r"\s{0,20}+(?:[,，\]}:：]|\Z)"
# Amid a text, quotes and apostrophes are those after which nothing comes that could follow a text.
_LOOSE_ENDS = {
    quote: re.compile(rf"(?:[^{quote}\\]++|\\.|{quote}(?!{_GOES_ON}))*+{quote}", re.DOTALL)
    for quote in ('"', "'")
}
_FOLLOWED = re.compile(r'\s{0,20}+(?:[,\]}:"/]|\Z)')
_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_NAMES: dict[str, object] = {
    "true": True, "false": False, "null": None, "True": True, "False": False, "None": None, "NaN": None,
}  # fmt: skip

QUOTES = "\"'“"

Container = dict[str, object] | list[object]


class Found(NamedTuple):
    """A list or an object, how many characters it took, and whether it was whole."""

    value: Container
    length: int
    whole: bool


class _Stop(Exception):  # noqa: N818 not an error: here the text is not JSON any more
    """Raised where a value cannot go on."""


def values(text: str) -> list[Found]:
    """All lists and objects in the text that do not stand in one another, in order."""
    found, at = [], 0
    while opening := _OPENS.search(text, at):
        reader = _Reader(text, opening.start())
        reader.run()
        at = max(reader.at, opening.end())
        if reader.whole or reader.value:
            found.append(Found(reader.value, at - opening.start(), reader.whole))
    return found


def is_shallow(value: object) -> bool:
    """Whether nothing in the value lies deeper than DEEPEST."""
    level = [value]
    for _ in range(DEEPEST + 1):
        inner: list[object] = []
        for one in level:
            if isinstance(one, dict | list):
                inner.extend(one.values() if isinstance(one, dict) else one)
        if not inner:
            return True
        level = inner
    return False


class _Open:
    """A list or an object that is being read, and the key under which the next value goes."""

    def __init__(self, value: Container) -> None:
        self.value = value
        self.key: str | None = None


class _Reader:
    """Reads one value that begins at an opening bracket; `at` is then where it ended or could not go on."""

    def __init__(self, text: str, at: int) -> None:
        self._text = text
        self.at = at + 1
        self._stack = [_Open([] if text[at] == "[" else {})]
        self.value = self._stack[0].value
        self.whole = False

    def run(self) -> None:
        """Read until the value ends."""
        try:
            while self._stack:
                self._step()
            self.whole = True
        except _Stop:
            self._drop_unfinished()

    def _step(self) -> None:
        """One token."""
        self.at = _end(_SPACE, self._text, self.at)
        sign = self._text[self.at : self.at + 1]
        top = self._stack[-1]
        if sign in ("]", "}") and sign:
            self._close(sign)
        elif isinstance(top.value, dict) and top.key is None:
            top.key = self._read_key(sign)
        elif sign in ("[", "{") and sign:
            self._open(sign)
        else:
            self._put(self._scalar(sign))

    def _open(self, sign: str) -> None:
        if len(self._stack) >= DEEPEST:
            raise _Stop
        self.at += 1
        opened = _Open([] if sign == "[" else {})
        self._stack.append(opened)

    def _close(self, sign: str) -> None:
        top = self._stack[-1]
        if (sign == "]") != isinstance(top.value, list) or top.key is not None:
            raise _Stop
        self.at += 1
        self._stack.pop()
        if self._stack:
            self._put(top.value)

    def _put(self, value: object) -> None:
        top = self._stack[-1]
        if isinstance(top.value, list):
            top.value.append(value)
        elif top.key is not None:
            top.value[top.key] = value
            top.key = None

    def _read_key(self, sign: str) -> str:
        if sign and sign in QUOTES:
            key = self._string(sign)
        else:
            word = _WORD.match(self._text, self.at)
            if not word:
                raise _Stop
            key, self.at = word[0], word.end()
        self.at = _end(_SPACE, self._text, self.at)
        if self._text[self.at : self.at + 1] not in (":", "："):
            raise _Stop
        self.at += 1
        return key

    def _scalar(self, sign: str) -> object:
        if sign and sign in QUOTES:
            return self._string(sign)
        if digits := _NUMBER.match(self._text, self.at):
            self._follow(digits.end())
            return number(digits[0])
        word = _WORD.match(self._text, self.at)
        if not word or word[0] not in _NAMES:
            raise _Stop
        self._follow(word.end())
        return _NAMES[word[0]]

    def _follow(self, end: int) -> None:
        """Numbers and names may go on where the text was cut off."""
        if end == len(self._text) or not (self._text[end] in ",，]}/" or self._text[end].isspace()):
            raise _Stop
        self.at = end

    def _string(self, quote: str) -> str:
        ends = _ENDS.get(quote)
        ended = ends.match(self._text, self.at + 1) if ends else None
        if quote in _LOOSE_ENDS and not (ended and _FOLLOWED.match(self._text, ended.end())):
            ended = _LOOSE_ENDS[quote].match(self._text, self.at + 1)
        if not ended:  # and so is no later one
            self.at = len(self._text)
            raise _Stop
        self.at = ended.end()
        return _unescaped(ended[0][:-1])

    def _drop_unfinished(self) -> None:
        """Keep of what was open its complete items: an object in a list is one only when it is whole."""
        while len(self._stack) > 1:
            inner = self._stack.pop()
            in_list = isinstance(self._stack[-1].value, list)
            if inner.value and not (in_list and isinstance(inner.value, dict)):
                self._put(inner.value)


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    match = pattern.match(text, at)
    return match.end() if match else at


def number(text: str) -> float | None:
    """The number of this text; None for one that no other program could read."""
    if len(text) > LONGEST_NUMBER:
        return None
    try:
        return int(text)
    except ValueError:
        value = float(text)
    return value if abs(value) != float("inf") else None


def _unescaped(text: str) -> str:
    if "\\" not in text:
        return sound(text)
    return sound(_ESCAPE.sub(_letter, text))


def _letter(match: re.Match[str]) -> str:
    if match[1]:
        return chr(int(match[1], 16))
    return _LETTERS.get(match[2], match[2])


def sound(text: str) -> str:
    """The text as it can be written: halves of a letter are put together; one without the other is none."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
