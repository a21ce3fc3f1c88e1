"""Secrets in a text, which no memory should hold: keys, tokens, private keys, passwords behind their names.

`redact()` is the door for whoever writes down what a person or a machine has said; `redacted()` also tells the kinds.
What is found is replaced by a mark that says what was there. A false alarm costs a piece of somebody's note, so that a
value counts only where it has the form of a key, looks random behind the name of one, or stands behind the word
"password" and is no word itself. All of it is linear in the text: every repetition in a pattern has a limit.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import NamedTuple

from vaultmem.text.patterns import lazy
from vaultmem.text.secret_forms import FORMS, begins_one, known_forms, private_keys
from vaultmem.text.secret_values import (
    BEARER,
    NAMED,
    assigned,
    in_commands,
    in_urls,
    is_given,
    is_slug,
    is_token,
    is_word,
    mark,
    named_by,
    title_without_marks,
)

# Secrets that somebody's mail program or terminal has broken over several lines, indented or behind quote marks.

_BREAK = lazy(
    r"(?<=[A-Za-z0-9_+/=.~-])[ \t]{0,8}\\?\r?\n[ \t>]{0,16}"
    r"(?=(?P<run>[A-Za-z0-9_+/=.~-]{1,400})[\"'`,;)]{0,3}[ \t]{0,8}\\?(?:\r?\n|\Z))"
)
_SCRAMBLED = lazy(r"[a-z][A-Z]")  # more of them than in aNameOfWords
_PADDING = ".=-_~"
_FURTHEST = 8_000  # letters of a line that are looked at before a break
_ENDS_TRIED = 3  # lines that may be too many
_LONG = 16  # letters of what stands before a break, where it would be a secret without the rest


class _Joined:
    """What stands around line breaks that are left out, place after place, a line break between them."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self.size = 0
        self.cuts: list[int] = []  # where something was left out, in this text
        self.gone: list[int] = []  # how many letters are left out up to each of them
        self.runs: list[str] = []  # what stands behind each break; "" at the beginning of a place

    def add(self, at: int, run: str, more: str) -> None:
        """Go on with what stands at a place of the whole text."""
        self.cuts.append(self.size)
        self.gone.append(at - self.size)
        self.runs.append(run)
        self._parts.append(more)
        self.size += len(more)

    @cached_property
    def text(self) -> str:
        """All of it."""
        return "".join(self._parts)

    def origin(self, at: int, *, behind: bool) -> int:
        """The place in the whole text; at a cut, before it or behind it."""
        number = (bisect_right if behind else bisect_left)(self.cuts, at)
        return at + (self.gone[number - 1] if number else 0)

    def crossed(self, begin: int, end: int) -> list[str]:
        """The runs that a secret goes on in; none where it ends within one of them."""
        first, last = bisect_right(self.cuts, begin), bisect_left(self.cuts, end)
        if first >= last:
            return []
        whole = self.cuts[last - 1] + len(self.runs[last - 1].rstrip(_PADDING))
        return self.runs[first:last] if end >= whole else []


class _Span(NamedTuple):
    """A secret in the whole text."""

    begin: int
    end: int
    kind: str


def wrapped(text: str, found: list[str]) -> str:
    """The text with a mark in place of each secret that is broken over lines."""
    for wanted, search in ((_is_odd, _forms), (_is_odd, _values), (_is_any, _forms)):
        joined = _without_breaks(text, wanted)
        if joined is None:
            continue
        kept: list[str] = []
        at = 0
        for span in sorted(search(text, joined)):
            if span.begin >= at:
                kept += [text[at : span.begin], mark(span.kind)]
                found.append(span.kind)
                at = span.end
        text = "".join([*kept, text[at:]])
    return text


def _is_any(found: re.Match[str]) -> bool:
    """Whether a key may go on behind a line break; of a JWT each part begins as a whole one does."""
    return not begins_one(found["run"]) or found.string[found.start() - 1] == "."


def _is_odd(found: re.Match[str]) -> bool:
    return not is_word(found["run"].strip(_PADDING)) and _is_any(found)


def _without_breaks(text: str, wanted: Callable[[re.Match[str]], bool]) -> _Joined | None:
    places = _places(text, wanted)
    joined = _Joined()
    for place in places:
        first = place[0].start()
        at, run = max(text.rfind("\n", 0, first) + 1, first - _FURTHEST), ""
        for each in place:
            joined.add(at, run, text[at : each.start()])
            at, run = each.end(), each["run"]
        joined.add(at, run, text[at : at + len(run) + 1] + "\n")
    return joined if places else None


def _places(text: str, wanted: Callable[[re.Match[str]], bool]) -> list[list[re.Match[str]]]:
    """The line breaks that may be within a secret; those of following lines together."""
    found: list[list[re.Match[str]]] = []
    for each in _BREAK.finditer(text):
        if not wanted(each):
            continue
        before = found[-1][-1] if found else None
        if before and "\n" not in text[before.end() : each.start()]:
            found[-1].append(each)
        else:
            found.append([each])
    return found


def _forms(text: str, joined: _Joined) -> Iterator[_Span]:
    """Keys with a form of their own. What is whole on its first line goes on only in what is random too."""
    for form in FORMS:
        if form.sign not in joined.text:
            continue
        for match in (form.open_end or form.pattern).finditer(joined.text):
            end = _end(joined, match)
            runs = joined.crossed(match.start(), end)
            if not runs:
                continue
            begin = joined.origin(match.start(), behind=True)
            if not form.pattern.match(text, begin) or _is_random("".join(runs)):
                yield _Span(begin, joined.origin(end, behind=False), form.kind)


def _end(joined: _Joined, match: re.Match[str]) -> int:
    """Where a key ends that may have run on into the next line: at the end of a line."""
    begin, end = match.span()
    last = bisect_left(joined.cuts, end)
    ends = joined.cuts[max(0, last - _ENDS_TRIED) : last]
    fewest = begin
    for each in (end, *reversed(ends)):
        runs = joined.crossed(begin, each)
        if runs and match.re.fullmatch(joined.text, begin, each):
            if _is_random(runs[-1]):
                return each
            fewest = each
    return fewest


def _values(_: str, joined: _Joined) -> Iterator[_Span]:
    """What stands behind a name and fills its line."""
    for match in (*NAMED.finditer(joined.text), *BEARER.finditer(joined.text)):
        begin, end = match.span("value")
        runs = joined.crossed(begin, end)
        if not runs or not _is_random("".join(runs)) or not is_token(match["value"]):
            continue
        first = joined.cuts[bisect_right(joined.cuts, begin)]
        if first - begin >= _LONG and (match.re is BEARER or is_given(match, "token")):
            yield _Span(
                joined.origin(begin, behind=True), joined.origin(end, behind=False), "token"
            )


def _is_random(run: str) -> bool:
    """Whether it is more likely a piece of a key than a line of its own."""
    inner = run.strip(_PADDING)
    if len(inner) < 6 or "." in inner or is_slug(inner):
        return False
    if any(map(str.isdigit, inner)):
        return any(map(str.isalpha, inner))
    return 5 * len(_SCRAMBLED.findall(inner)) >= len(inner)


__all__ = [
    "Redacted", "behind", "in_either", "mark", "named_by", "redact", "redacted", "title_without_marks",
]  # fmt: skip

_STEPS = (private_keys, wrapped, known_forms, in_urls, in_commands, assigned)


class Redacted(NamedTuple):
    """A text without its secrets, and the kinds of what was taken out, in no order."""

    text: str
    kinds: tuple[str, ...]


def redact(text: str) -> tuple[str, int]:
    """The text with a mark such as "[redacted: GitHub token]" in place of each secret, and how many there were.

    Pure, in time linear to the text; redacting again changes nothing. The text as a whole has to be given: what is
    wrapped over lines, or lies between two lines that enclose it, is not seen in a piece of it."""
    found = redacted(text)
    return found.text, len(found.kinds)


def redacted(text: str) -> Redacted:
    """What redact() does, with the kind of each secret that was taken out."""
    found: list[str] = []
    for step in _STEPS:
        text = step(text, found)
    return Redacted(text, tuple(found))


def behind(name: str, text: str) -> Redacted:
    """What redacted() does with one line that is the value of a property: its name may say that it is a secret."""
    found = redacted(f"{name}: {text}")
    return found._replace(text=found.text.partition(": ")[2]) if found.kinds else Redacted(text, ())


def in_either(title: Redacted, path: Redacted) -> list[str]:
    """The kinds in a title and in a path. The title is as often as not the name of the file: a secret in both is
    one."""
    return [*(Counter(title.kinds) | Counter(path.kinds)).elements()]
