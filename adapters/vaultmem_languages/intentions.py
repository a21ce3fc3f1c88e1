"""Finds where a note asks its reader to do something at a time, and which of its text is plain prose."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from datetime import datetime
from functools import cache
from itertools import islice

from vaultmem.adapter import Note
from vaultmem.text.values import TYPE_CHECKING, lazy
from vaultmem_languages import pattern, words

if TYPE_CHECKING:
    from vaultmem.adapter import Moment


_FENCE = lazy(r" {0,3}(?:[-*+] )?(`{3,}|~{3,})")
_HEADING_OR_QUOTE = lazy(r"\s*(?:[-*+] |\d{1,9}[.)] )?(?:#{1,6}(?:\s|$)|>)")
# Code, links, addresses and comments, which are not plain prose.
_INLINE = lazy(
    r"``[^\n]{0,200}?``|`[^`\n]{1,1000}`|!?\[\[[^\[\]\n]{1,400}\]\]"
    r"|!?\[[^\[\]\n]{0,400}\](?:\([^()\n]{0,500}\)|\[[^\[\]\n]{0,400}\])|<[^<>\n]{1,400}>|%%[^%\n]{0,400}%%"
    r"|\bhttps?://[^\s<>\"'，。；、（）]{1,500}|\(\([0-9a-f-]{36}\)\)"
)
_TASK = lazy(r"[\s>]*(?:[-*+]|\d{1,9}[.)])\s+\[(.)\]\s")
_MARKER = lazy(r"[\s>]*(?:[-*+]\s+)?(TODO|DOING|NOW|LATER|WAITING|DONE|CANCELED|CANCELLED)\s")
_OPENING = lazy(r"[\s>]*(?:[-*+]\s+|\d{1,9}[.)]\s+)?(?:\*\*|__|please\s|请)?")
_CUE = pattern("intentions", "cue", 0)
_NOUN = pattern("intentions", "noun", 0)
_BEFORE = lazy(r"\b(?:by|before|until|till|no later than)\s+(?:the\s+)?$")
_UNTIL = lazy(r"(?:\b(?:until|till)\s+(?:the\s+)?|直到|直至)$")
_AFTER = lazy(r"\s?(?:之|以)?(?:前|截止|到期)")
_HAN_DO = pattern("intentions", "han_do", 0)
_MONTHS = "jan|feb|m[aä]r|apr|ma[iy]|jun|jul|aug|sep|o[ck]t|nov|de[cz]"
_IN_DAY = rf"(?!(?:(?<=\d\.)|(?<=\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)\.)) (?i:{_MONTHS}))"  # 4. Dezember, Fri. Dec 4
_STOP = lazy(rf"[。！？；!?;]|\.(?=\s+[A-Z]){_IN_DAY}")
_NEAR = 300  # characters of a sentence that are read on each side


@cache
def _latin() -> tuple[str, ...]:
    return tuple(words("intentions", "latin").split(", "))


@cache
def _verbs() -> frozenset[str]:
    """The verbs that begin an instruction to oneself."""
    return frozenset(words("intentions", "verbs").split())


def prose(text: str) -> str:
    """The text with code, quotes, headings and links replaced by blanks, character for character."""
    lines: list[str] = []
    fence = ""
    for line in text.splitlines(keepends=True):
        mark = _FENCE.match(line)
        if fence:
            closes = mark and mark[1].startswith(fence) and not line[mark.end() :].strip("`~ \n\r")
            fence = "" if closes else fence
            lines.append(_blank(line))
        elif mark:
            fence = mark[1]
            lines.append(_blank(line))
        elif _HEADING_OR_QUOTE.match(line):
            lines.append(_blank(line))
        else:
            lines.append(_INLINE.sub(lambda match: _blank(match[0]), line))
    return "".join(lines)


def _blank(text: str) -> str:
    return "".join(char if char in "\r\n" else "\0" for char in text)


def is_plain(text: str, start: int, end: int) -> bool:
    """Whether the words around a time say that something is to be done then.

    An open task, a word such as remind, due or 截止, "by" before the time, or an imperative: "call Bob".
    """
    line, before, after = _around(text, start, end)
    if (task := _TASK.match(line)) or (task := _MARKER.match(line)):
        return task[1] in {" ", "/", "TODO", "DOING", "NOW", "LATER", "WAITING"}
    sentence = f"{before} {text[start:end]} {after}".lower()
    if _CUE.search(sentence.replace("’", "'")) or _BEFORE.search(before.lower()):
        return True
    return bool(_AFTER.match(after)) or _is_imperative(before, after)


def is_end(text: str, start: int, end: int) -> bool:
    """Whether a time says until when its sentence holds ("in Lisbon until 12 May"), rather than a deadline."""
    line, before, after = _around(text, start, end)
    if _TASK.match(line) or _MARKER.match(line) or after.strip(" ."):
        return False
    low = before.lower()
    return bool(_UNTIL.search(low)) and not (_CUE.search(low) or _is_imperative(before, after))


def _around(text: str, start: int, end: int) -> tuple[str, str, str]:
    """The line of a time, and its sentence before and after it."""
    line_start = max(text.rfind("\n", 0, start) + 1, start - _NEAR)
    result = text.find("\n", end, end + _NEAR)
    line = text[line_start : result if result >= 0 else end + _NEAR]
    before, after = text[line_start:start], text[end : line_start + len(line)]
    stops = [stop.end() for stop in _STOP.finditer(before)]
    before = before[stops[-1] :] if stops else before
    stop = _STOP.search(after)
    return line, before, after[: stop.start()] if stop else after


def is_order(low: str) -> bool:
    """Whether lower-case words begin with an instruction: "call Bob"."""
    opens = low.lstrip(" ,，:").split(maxsplit=1)
    return bool(opens and opens[0] in _verbs())


def _is_imperative(before: str, after: str) -> bool:
    opening = _OPENING.match(before.lower())
    rest = before.lower()[opening.end() :] if opening else before.lower()
    opens = rest.split(maxsplit=1)
    if not opens:  # "tomorrow call Bob", 后天下午三点半开会
        return is_order(after.lower()) or bool(_HAN_DO.match(after))
    if opens[0].strip("*_:,.") in _verbs():
        return not _NOUN.match(rest)
    return rest.strip() in {"我", "我们", "咱们"} and bool(_HAN_DO.match(after))


# Sentences of notes, outside of tasks, that clearly ask for something at a time: "remind me to call Bob tomorrow".

MOST = 50  # sentences of one note
_MOST_PLACES = 2_000  # of such words, examined
_LONGEST = 300  # characters of a sentence on each side of the word
_NAMES = f"{_MONTHS}|mon|tue|wed|thu|fri|sat|sun|tomorrow|tonight|today|noon|midnight|next|this|end|eo[dwmy]"
# Each begins with letters, so that the engine can skip to them.
_DUE = lazy(r"due(?<![a-z]due)(?![a-z])(?! to\b)")
_BY = lazy(
    rf"b(?:y|efore)(?<![a-z]by)(?<![a-z]before)[ ](?:the )?(?:\d|(?:{_NAMES})[a-z]{{0,6}}\b)"
)
# "That reminds me of May", "was due on Friday", 会提醒 (it reminds by itself), 还记得 (remembers): nothing to do.
_REMIND = pattern("intentions", "remind", 0)
_WORDS = pattern("intentions", "words", 0)
_BEFORE_WORDS = lazy(r"\bby\s+(?:the\s+)?$")
_MUST_BEFORE = lazy(r"\bbefore\s+(?:the\s+)?$")
_AFTER_WORDS = lazy(r"\s?(?:之|以)?前(?![天年月周日几])")
_HAN = ("提醒", "截止", "到期", "记得", "别忘", "不要忘", "忘れない")
_DAY_ENDS = "[日号末底天一二三四五六]"  # 12月5日前, 周五之前
_HAN_BEFORE = lazy(f"前(?:(?<={_DAY_ENDS}前)|(?<={_DAY_ENDS}[之以]前))")
_TIME = pattern("intentions", "time", 0)
_FURTHEST = 2_000  # characters of a line that are read before a sentence
_STOP_WORD = lazy(
    r"(?<!\bDr)(?<!\bMr)(?<!\bMrs)(?<!\bMs)(?<!\bSt)(?<!\bNo)[.!?](?=\s+[A-ZÀ-Þ\"“(\[*])"
    rf"{_IN_DAY}|[。！？；\n]"
)
_NO_PROSE = pattern("intentions", "no_prose")
_EXAMPLE = lazy(r"\W*(?:for example|for instance|e\.?g\b|if\b|example|比如|例如|如果|假如)")
_QUOTED = lazy(r"[\"“][^\"“”\n]{1,300}[\"”]")
_YEAR = lazy(r"\d{4}|\d\d年")
_YEARLESS_DAYS = 120  # further ahead, a day without a year is probably past
_NEAR_WORDS = 80  # characters between a word and the time
_MOST_TIMES = 2  # in a sentence; more are a list of them
_MARK = lazy(r"\s*(?:[-*+]|\d{1,9}[.)])?\s+|(?:[-*+]|\d{1,9}[.)])\s")
_CLOCK_ALONE = lazy(
    r"(?:at )?\d{1,2}(?::\d\d)? ?(?:[ap]\.?m\.?|o.clock)?|noon|midnight", re.IGNORECASE
)


def sentences(note: Note, text: str) -> dict[int, list[str]]:
    """Sentences of text and lists that may say when something is to be done, by line number. Fast if there are none."""
    low = text.lower()
    if len(low) != len(text):  # a letter became two
        low = "".join(letter.lower()[:1] or letter for letter in text)
    places = list(islice(_cue_spans(low, text), 4 * MOST))
    if not places:
        return {}
    lines = _Lines(note, text)
    result: dict[int, list[str]] = {}
    for begin, end in places:
        line = lines.number(begin)
        if (
            line
            and not _NO_PROSE.match(text, lines.start(line), end)
            and lines.is_prose(begin, end)
        ):
            result.setdefault(line, []).append(text[begin:end].strip())
            if sum(map(len, result.values())) >= MOST:
                break
    return result


def _cue_spans(low: str, text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of sentences with such a word and a time."""
    last = 0
    for at in islice(sorted(_places(low)), _MOST_PLACES):
        if at < last:
            continue
        stops = _STOP_WORD.finditer(text, max(0, at - _LONGEST), at + 1)
        ends = [stop.end() for stop in stops if stop.end() <= at]
        begin = max(ends[-1] if ends else 0, at - _LONGEST, last)
        mark = _MARK.match(text, begin, at)
        begin = mark.end() if mark else begin
        stop = _STOP_WORD.search(text, at, at + _LONGEST)
        last = stop.start() + (stop[0] != "\n") if stop else min(at + _LONGEST, len(low))
        if _TIME.search(low, begin, last):
            yield begin, last


def _places(low: str) -> Iterator[int]:
    """Yield the offsets of such words, by plain search, which is ten times as fast as one pattern for all."""
    for word in _latin() if low.isascii() else (*_latin(), *_HAN):
        at = low.find(word)
        while at >= 0:
            yield at
            at = low.find(word, at + 1)
    for marker in (_DUE, _BY) if low.isascii() else (_DUE, _BY, _HAN_BEFORE):
        yield from (match.start() for match in marker.finditer(low))


class _Lines:
    """The lines of a note that are text and not tasks."""

    def __init__(self, note: Note, text: str) -> None:
        self._text = text
        self._open_text = ""
        self._starts = [0, *(match.end() for match in re.finditer("\n", text))]
        prose = [piece for piece in note.pieces if piece.kind in ("text", "list")]
        self._ends = [(piece.line, piece.end_line) for piece in prose]
        self._taken = {task.line for task in (*note.tasks, *note.dates)}

    def number(self, at: int) -> int:
        """The number of the line at an offset; 0 for one that does not count."""
        line = bisect_right(self._starts, at)
        index = bisect_right(self._ends, (line, 1 << 40)) - 1
        inside = index >= 0 and self._ends[index][0] <= line <= self._ends[index][1]
        return line if inside and line not in self._taken else 0

    def is_prose(self, begin: int, end: int) -> bool:
        """Whether a part of one line is neither heading, nor quote, nor code."""

        if "```" not in self._text and "~~~" not in self._text:
            start = max(self._text.rfind("\n", 0, begin) + 1, begin - _FURTHEST)
            return bool(prose(self._text[start:end])[begin - start :].strip("\0 "))
        self._open_text = self._open_text or prose(self._text)
        return bool(self._open_text[begin:end].strip("\0 "))

    def start(self, line: int) -> int:
        """The offset of a line."""
        return self._starts[line - 1]


def moment(sentence: str, written: datetime) -> Moment | None:
    """When a sentence asks for something, relative to when it was written; None when it does not, or when the time is
    past."""
    if _EXAMPLE.match(sentence.lower()):
        return None
    text = _QUOTED.sub(lambda quoted: "\0" * len(quoted[0]), sentence)
    return next((time for time in _times(text, written) if _is_meant(text, time, written)), None)


def task_moment(text: str, written: datetime) -> Moment | None:
    """When an open task that names a time in plain words is due; None without a time."""
    return next(iter(_times(text, written)), None)


def _times(text: str, written: datetime) -> list[Moment]:
    """The future times that a text names outside code, links and the like; none where it only lists them, unless these
    are times of one day."""
    from vaultmem_languages.reminder_phrase import read
    from vaultmem_languages.when import find

    times = find(prose(text), written)
    times = [time for time in times if not text.startswith(("'s", "’s"), time.end)]  # today's date
    is_list = len(times) > _MOST_TIMES and not read(text, written).again
    return [] if is_list else [time for time in times if time.is_to_come(written)]


def _is_meant(text: str, time: Moment, written: datetime) -> bool:
    """Whether the words beside a time ask for something to be done then."""

    open_text = prose(text)
    low = open_text.lower() if len(open_text.lower()) == len(open_text) else open_text
    begin, end = max(0, time.start - _NEAR_WORDS), time.end + _NEAR_WORDS
    if time.repeat:
        return _REMIND.search(low, begin, end) is not None
    far = (time.when - written).days > _YEARLESS_DAYS
    if far and not time.relative and not _YEAR.search(text[time.start : time.end]):
        return False
    return _WORDS.search(low, begin, end) is not None or _is_limit(open_text, time)


def _is_limit(text: str, time: Moment) -> bool:
    """Whether a word before or after the time makes it a deadline. A time of day alone is usually past: he left
    before nine; and "before May" is as often advice as an instruction."""

    if _CLOCK_ALONE.fullmatch(text[time.start : time.end].strip()):
        return False
    before, after = text[max(0, time.start - 40) : time.start].lower(), text[time.end :]
    if _BEFORE_WORDS.search(before) or _AFTER_WORDS.match(after):
        return True
    order = _MUST_BEFORE.sub("", text[: time.start])
    return bool(_MUST_BEFORE.search(before)) and is_plain(
        order + text[time.start :], len(order), len(order) + time.end - time.start
    )
