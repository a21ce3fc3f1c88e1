"""The expressions of "Excluded files", limited to those that are fast for every path.

The expressions come with the vault, so a vault from elsewhere must not be able to stop the reader.
Python's engine tries every way to split a text among the repeats and branches of an expression;
the number of ways is estimated beforehand, and an expression with too many is not used.
"""

from __future__ import annotations

import re
import warnings

from vaultmem_obsidian.habits import COMPARED

_LONGEST = 200
_MOST = 50
_MOST_WAYS = 4 * COMPARED * COMPARED  # about a millisecond for one path, at the very worst
_TOKEN = re.compile(
    r"""
    (?P<escape>\\.)
    |(?P<set>\[(?>(?:\\.|[^\]\\])*)\])
    |(?P<open>\((?:\?(?::|<[A-Za-z_]\w*>)?)?)
    |(?P<close>\))
    |(?P<branch>\|)
    |(?P<repeat>(?:[*+?]|\{(?=[0-9,])(?P<least>[0-9]*)(?P<range>,(?P<most>[0-9]*))?\})\??)
    |(?P<plain>.)
    """,
    re.VERBOSE | re.DOTALL,
)
_BOUNDS = {"*": (0, COMPARED), "+": (1, COMPARED), "?": (0, 1)}
# Leading and trailing wildcards change no result, but multiply the ways to match.
_ANY_BEFORE = re.compile(r"\A\^?\.\*\??")
_ANY_BEHIND = re.compile(r"(?<!\\)\.\*\??\$?\Z")


def path_patterns(texts: list[str]) -> tuple[re.Pattern[str], ...]:
    """The usable expressions from texts such as "/^Archive\\//"."""
    return tuple(p for text in texts[:_MOST] if (p := _pattern(text[1:-1])))


def _pattern(source: str) -> re.Pattern[str] | None:
    """A JavaScript expression; None if Python cannot read it or would take too long with it."""
    if len(source) > _LONGEST:
        return None
    if _is_one_branch(source):
        source = _ANY_BEHIND.sub("", _ANY_BEFORE.sub("", source))
    if _ways(source) > _MOST_WAYS:
        return None
    try:
        with warnings.catch_warnings():  # about "[[", which means the same in both languages
            warnings.simplefilter("ignore", FutureWarning)
            return re.compile(source.replace("(?<", "(?P<"))
    except (re.error, OverflowError, RecursionError):
        return None


def _is_one_branch(source: str) -> bool:
    depth = 0
    for token in _TOKEN.finditer(source):
        depth += (token.lastgroup == "open") - (token.lastgroup == "close")
        if token.lastgroup == "branch" and depth == 0:
            return False
    return True


def _ways(source: str) -> float:
    """An upper bound of the ways to match one path; infinite when unclear."""
    count = _Count()
    before: re.Match[str] | None = None
    for token in _TOKEN.finditer(source):
        if not count.take(token, before):
            return float("inf")
        before = token
    return count.total() * (1 + len(source) // 40)


class _Count:
    """The ways through the tokens so far."""

    def __init__(self) -> None:
        self._done = 0  # ways of the outermost branches before this one
        self._ways = 0
        self._open: list[int] = []  # branches of the groups around this place
        self._complex: list[bool] = []  # whether such a group holds a repeat or a branch
        self._closed_complex = False

    def take(self, token: re.Match[str], before: re.Match[str] | None) -> bool:
        """Count one more token. Returns False when the expression must not be used."""
        kind, text = token.lastgroup, token[0]
        if not self._ways:  # a branch begins: anywhere in the path, or only where the path does
            self._ways = 1 if text == "^" else COMPARED
        if kind == "open":
            self._open.append(1)
            self._complex.append(False)
            return text != "(?"  # looks around, or sets flags
        if kind == "close":
            return self._close()
        if kind == "branch":
            self._branch()
        elif kind == "repeat":
            return self._repeat(token, before)
        # "[]" is nothing in JavaScript and an open set in Python; \1 and \k repeat a group.
        return text not in ("[]", "[^]") and not (kind == "escape" and text[1] in "123456789k")

    def total(self) -> float:
        """The ways through all of it."""
        return float("inf") if self._open else self._done + self._ways

    def _close(self) -> bool:
        if not self._open:
            return False
        self._ways *= self._open.pop()
        self._closed_complex = self._complex.pop()
        if self._complex and self._closed_complex:
            self._complex[-1] = True
        return True

    def _branch(self) -> None:
        if self._open:
            self._open[-1] += 1
            self._complex[-1] = True
        else:
            self._done, self._ways = self._done + self._ways, 0

    def _repeat(self, token: re.Match[str], before: re.Match[str] | None) -> bool:
        if before is None or before.lastgroup in ("repeat", "branch", "open"):
            return False
        if before.lastgroup == "close" and self._closed_complex:
            return False  # a repeat of repeats
        least, most = _bounds(token)
        if self._complex:
            self._complex[-1] = True
        self._ways *= max(most - least, 0) + 1 + least // 8  # a long way counts as several
        return least <= COMPARED and most <= COMPARED


def _bounds(token: re.Match[str]) -> tuple[int, int]:
    if token[0][0] != "{":
        return _BOUNDS[token[0][0]]
    least = int(token["least"] or 0)
    if not token["range"]:
        return least, least
    return least, int(token["most"]) if token["most"] else max(least, COMPARED)
