"""The Markdown scanner that all dialects share: finds code, maths and comments, and line numbers."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from itertools import accumulate

from vaultmem.light import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

# Each branch begins with a literal character, so that re skips all others at once. Most code is on one line.
_TOKEN = re.compile(
    r"\\.|`(?:[^`\n]++`(?!`)()|`*)|~~~~*|\$\$*|<!--|\[\[(?>(?:[^\[\]\n]|\](?!\]))+)\]\]"
)
_PREFIX = re.compile(r"(?>(?:[ \t>]|[-*+][ \t]|\d{1,9}[.)][ \t])*)")
# The latest end of a paragraph, so that a stray backtick cannot reach into the next item.
_BLOCK_END = re.compile(
    r"\n(?=[ \t>]*+(?:\n|\Z|[-*+][ \t]|\d{1,9}[.)][ \t]|#{1,6}[ \t]|```|~~~|\|))"
)
_FENCE = re.compile(r"^([ \t>]*+)(`{3,}+|~{3,}+)[ \t]*+$", re.MULTILINE)
_UNQUOTED = re.compile(r"^(?![ \t]*+>)", re.MULTILINE)
_MATHS_END = re.compile(r"\\.|(?<=[^\s\\])\$(?![\d$])")
_RUN = re.compile(r"`+")
_GAP = re.compile(r"\n(?>(?:[^\S\n]*+\n)+)")
_INDENT = r"(?: {4}| {0,3}\t)[ \t]*+\S"
_INDENTED = re.compile(rf"(?>(?:{_INDENT}.*+\n?)+)")
_FIRST_INDENTED = re.compile(rf"\n[ \t]*+\n{_INDENT}")
_ITEM = re.compile(r"\n {0,3}(?:[-*+]|\d{1,9}[.)]|\[\^[^\]\s]+\]:)(?:\s|\Z)")


class Hidden(NamedTuple):
    """A span of code, maths or comment, by its offsets."""

    begin: int
    end: int
    fence: bool  # a fenced code block, from its opening line to its closing line


def blank_hidden(text: str, start: int = 0) -> str:
    """The text with code, maths and HTML comments replaced by blanks; line ends are kept.

    Editors read no links, tags and tasks there (R-LINK-18). `%%` comments stay. Offsets and line numbers stay valid;
    `start` is where the body begins.
    """
    return blank_spans(text, hidden_spans(text, start))


def blank_spans(text: str, spans: Sequence[Hidden]) -> str:
    """The text with these spans replaced by blanks; line ends are kept."""
    if not spans:
        return text
    out = []
    start = 0
    for span in spans:
        out.append(text[start : span.begin])
        out.append(blanks(text[span.begin : span.end]))
        start = span.end
    out.append(text[start:])
    return "".join(out)


def blanks(text: str) -> str:
    """Blanks as long as `text`, with its line ends."""
    if "\n" not in text:
        return " " * len(text)
    return "\n".join([" " * len(line) for line in text.split("\n")])


def hidden_spans(text: str, start: int = 0, *, indented: bool = False) -> list[Hidden]:
    """Fenced and inline code, maths and HTML comments, in order; indented code too, in dialects
    that have it. Linear in the text."""
    code = _find_indented(text, start) if indented else []
    if not ("`" in text or "$" in text or "<!--" in text or "~~~" in text):
        return code
    return _Scan(text, start, code).spans()


def _find_indented(text: str, start: int) -> list[Hidden]:
    """Runs of lines indented by four blanks or a tab, after an empty line and outside lists."""
    if "\n    " not in text and "\t" not in text:
        return []
    added = not start
    if added:  # so that a line end precedes every line
        text, start = f"\n{text}", 1
    if not _FIRST_INDENTED.search(text, start - 1):
        return []
    results: list[Hidden] = []
    since = start  # the offset from which an item begins a list
    for gap in _GAP.finditer(text, start - 1):
        end = gap.end()
        if text[end : end + 1] not in " \t":
            since = end
        elif item := _ITEM.search(text, since - 1, end):
            since = item.start() + 1
        else:
            since = end
            if code := _INDENTED.match(text, end):
                since = code.end()
                last = since - (code[0][-1] == "\n")
                results.append(Hidden(end - added, last - added, fence=False))
    return results


_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(?:.*\n)*?---[ \t]*(?:\n|\Z)")


def body_start(text: str) -> int:
    """The offset of the first character after the front matter; 0 without any."""
    front = _FRONT_MATTER.match(text)
    return front.end() if front else 0


def line_starts(lines: list[str]) -> list[int]:
    """The offset at which each of these lines of a text begins."""
    return [0, *accumulate([len(line) + 1 for line in lines[:-1]])]


def line_at(starts: list[int], offset: int) -> int:
    """The number, from 1, of the line that holds this offset."""
    return bisect_right(starts, offset)


class _Scan:
    """One pass from left to right. Remembers failed searches, so that hostile text takes linear time."""

    def __init__(self, text: str, start: int, code: list[Hidden]) -> None:
        self.text = text
        self.start = start
        self.code = code[::-1]  # indented; the next one last
        self.line_start = start
        self.last = -1  # the offset of the previous token
        self.block_end = start
        self.callout_end = start
        self.runs_end = -1
        self.runs: dict[int, list[int]] = {}
        self.no_dollar_before = start
        self.no_maths_before = start
        self.comment_can_end = True

    def spans(self) -> list[Hidden]:
        results: list[Hidden] = []
        position = self.start
        search = _TOKEN.search
        while token := search(self.text, position):
            begin = token.start()
            if self.code:
                position = self._skip_indented(begin, position, results)
                if position > begin:
                    continue
            position = token.end()
            if token.lastindex:
                results.append(Hidden(begin, position, fence=False))
                self.last = begin
                continue
            fence = self._fence(token) if position - begin > 2 else 0
            end = fence or self._end(token)
            if end > position:
                results.append(Hidden(begin, end, bool(fence)))
                position = end
            self.last = begin
        self._skip_indented(len(self.text), position, results)
        return results

    def _skip_indented(self, offset: int, position: int, spans: list[Hidden]) -> int:
        """Add the indented code that begins before an offset, unless another span reached into it."""
        while self.code and self.code[-1].begin <= offset:
            code = self.code.pop()
            if code.begin >= position:
                spans.append(code)
                position = code.end
        return position

    def _end(self, token: re.Match[str]) -> int:
        first = self.text[token.start()]
        if first == "`":
            return self._code(token)
        if first == "$":
            return self._maths(token)
        if first == "<":
            return self._comment(token)
        return 0

    def _begins_line(self, offset: int) -> bool:
        """Whether a token is the first on its line, after only quote and list marks."""
        line = self.text.rfind("\n", max(self.last, self.start), offset) + 1
        if not line and self.last >= 0:
            return False
        self.line_start = line or self.start
        return bool(_PREFIX.fullmatch(self.text, self.line_start, offset))

    def _paragraph_end(self, offset: int) -> int:
        if offset >= self.block_end:
            boundary = _BLOCK_END.search(self.text, offset)
            self.block_end = boundary.start() if boundary else len(self.text)
        return self.block_end

    def _fence(self, token: re.Match[str]) -> int:
        text, start, end = self.text, token.start(), token.end()
        if text[start] not in "`~" or not self._begins_line(start):
            return 0
        line_end = text.find("\n", end)
        if line_end < 0:
            line_end = len(text)
        if text[start] == "`" and "`" in text[end:line_end]:
            return 0
        quoted = ">" in text[self.line_start : start]
        limit = self._callout_end(line_end) if quoted else len(text)
        deepest = _width(text[self.line_start : start]) + 3
        for close in _FENCE.finditer(text, line_end, limit):
            mark = close[2]
            if mark[0] != text[start] or len(mark) < end - start:
                continue
            if quoted or (">" not in close[1] and _width(close[1]) <= deepest):
                return close.end()
        return max(limit, end)

    def _callout_end(self, line_end: int) -> int:
        """The offset at which the run of ">" lines ends, and with it any code begun in them."""
        if line_end >= self.callout_end:
            after = _UNQUOTED.search(self.text, line_end + 1)
            self.callout_end = after.start() if after else len(self.text)
        return self.callout_end

    def _code(self, token: re.Match[str]) -> int:
        length = token.end() - token.start()
        end = self._paragraph_end(token.start())
        if end != self.runs_end:
            self.runs_end = end
            self.runs = {}
            for run in _RUN.finditer(self.text, token.start(), end):
                self.runs.setdefault(run.end() - run.start(), []).append(run.start())
        starts = self.runs.get(length, [])
        index = bisect_left(starts, token.end())
        return starts[index] + length if index < len(starts) else 0

    def _maths(self, token: re.Match[str]) -> int:
        length = token.end() - token.start()
        if length == 1:
            return self._inline_maths(token.end())
        return self._display_maths(token) if length == 2 else 0

    def _inline_maths(self, begin: int) -> int:
        text = self.text
        if begin < self.no_dollar_before or begin >= len(text) or text[begin].isspace():
            return 0
        line_end = text.find("\n", begin)
        if line_end < 0:
            line_end = len(text)
        for close in _MATHS_END.finditer(text, begin, line_end):
            if close[0] == "$":
                return close.end()
        self.no_dollar_before = line_end
        return 0

    def _display_maths(self, token: re.Match[str]) -> int:
        begin = token.end()
        if begin < self.no_maths_before:
            return 0
        limit = len(self.text)
        if not self._begins_line(token.start()):
            limit = self._paragraph_end(begin)
        close = self.text.find("$$", begin, limit)
        if close < 0:
            self.no_maths_before = limit
            return 0
        return close + 2

    def _comment(self, token: re.Match[str]) -> int:
        if not self.comment_can_end:
            return 0
        close = self.text.find("-->", token.start() + 2)
        if close >= 0:
            return close + 3
        self.comment_can_end = False
        return len(self.text) if self._begins_line(token.start()) else 0


def _width(indentation: str) -> int:
    return len(indentation.expandtabs(4))
