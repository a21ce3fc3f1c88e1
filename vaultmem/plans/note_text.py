"""The text of a user note by lines, and where in it words may become a link."""

from __future__ import annotations

import re

_FENCE = re.compile(r"\s*(?:[-*+] )?(`{3,}|~{3,})")
_HEADING = re.compile(r"\s*(?:[-*+] )?#{1,6}\s")
# Links, embeds, Markdown links, code, addresses, tags, comments, properties of a Logseq block.
_TAKEN = re.compile(
    r"!?\[\[[^\]\n]*\]\]|!?\[[^\]\n]*\]\([^)\n]*\)|\(\([^)\n]*\)\)|(`+).+?\1|<[^>\n]*>|\w+://\S+|(?<!\w)#[^\s#]+|^\s*[\w-]+::.*"
)


class NoteText:
    """A text with either kind of line end."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._lines = text.split("\n")
        self._code = self._find_code()
        self.line_end = "\r\n" if text.count("\r\n") * 2 > text.count("\n") else "\n"
        full = [number for number, line in enumerate(self._lines, 1) if line.strip()]
        self.last = full[-1] if full else 0  # the number of the last line with something in it

    def line(self, number: int) -> str:
        """A line without its end; "" where there is none."""
        return self._lines[number - 1].removesuffix("\r") if 1 <= number <= len(self._lines) else ""

    def offset(self, number: int) -> int:
        """Where in the text a line begins."""
        return sum(len(line) + 1 for line in self._lines[: number - 1])

    def is_code(self, number: int) -> bool:
        """Whether a line is in a block of code that is still open behind it."""
        return number in self._code

    def is_fixed(self, number: int) -> bool:
        """Whether a link in this line would break something: code, properties, headings that others link to."""
        return (
            number in self._code or number <= self._front or bool(_HEADING.match(self.line(number)))
        )

    def _find_code(self) -> set[int]:
        self._front = self._end_of_front()
        found: set[int] = set()
        mark = ""
        for number, line in enumerate(self._lines, 1):
            fence = _FENCE.match(line)
            if mark and line.strip().startswith(mark):
                mark = ""
                continue
            if not mark and fence and number > self._front:
                mark = fence[1]
            if mark:
                found.add(number)
        return found

    def _end_of_front(self) -> int:
        """The number of the line that closes the front matter; 0 without one."""
        if self.line(1).rstrip() != "---":
            return 0
        ends = (n for n, line in enumerate(self._lines, 1) if n > 1 and line.rstrip() == "---")
        return next(ends, 0)


def free_column(line: str, words: str) -> int | None:
    """Where in a line the words stand and are not yet part of a link, of code or of an address."""
    taken = [match.span() for match in _TAKEN.finditer(line)]
    at = line.find(words) if words else -1
    while at >= 0:
        if not any(start < at + len(words) and at < end for start, end in taken):
            return at
        at = line.find(words, at + 1)
    return None
