"""The text of a user note by lines, and where in it words may become a link."""

from __future__ import annotations

import re
from functools import cached_property

_FENCE = re.compile(r"\s*(?:[-*+] )?(`{3,}|~{3,})")
_HEADING = re.compile(r"\s*(?:[-*+] )?#{1,6}\s")
_CALLOUT = re.compile(r"\s*(?:[-*+] )?(?:> ?)+\[!")
_UNDERLINE = re.compile(r" {0,3}(?:=+|-+)\s*")  # makes a heading of the line above
_KEYWORD = re.compile(r"\s*(?:[-*+] )?#\+")  # of Org, also in Markdown pages of Logseq
_DRAWER = re.compile(r"\s*:[A-Za-z][\w-]*:\s*")
_DRAWER_END = re.compile(r"\s*:END:\s*", re.IGNORECASE)
_BLOCK = re.compile(r"\s*(?:[-*+] )?#\+(BEGIN|END)_", re.IGNORECASE)
_KEY = r"\s*(?:[-*+]\s+)?[^\s:`\[\](){}#]+::"
_PROPERTY = re.compile(_KEY)
# What is a link, code, an address, a tag, a comment, a formula, a macro or a property already.
_TAKEN = re.compile(
    "|".join(
        (
            r"!?\[\[[^\]\n]*\]\]",
            r"!?\[[^\]\n]*\](?:\([^)\n]*\)|\[[^\]\n]*\]|:)",
            r"\[\^[^\]\n]*\]",
            r"\(\([^)\n]*\)\)",
            r"(`+).+?\1",
            r"<[^>\n]*>",
            r"%%.*?%%",
            r"\$[^$\n]+\$",
            r"\{\{.*?\}\}",
            r"[\[(][^\[\]()\n]*::[^\[\]()\n]*[\])]",
            r"\w+://\S+",
            r"[!-~]*[/\\@][!-\[\]-{}~]+",  # paths, addresses; not the bar of a table
            r"(?<!\w)#[^\s#]+",
            rf"^{_KEY}.*",
        )
    )
)
_LATIN = re.compile(r"[^\W\u2e80-\uffff]")  # of a script with blanks between words
SHORTEST = 80  # characters of a body that says something


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
        if number in self._code or number in self._kept or number <= self._front:
            return True
        line = self.line(number)
        return bool(_HEADING.match(line) or _CALLOUT.match(line) or self._is_underlined(number))

    def _is_underlined(self, number: int) -> bool:
        below = self.line(number + 1)
        return bool(below and self.line(number).strip() and _UNDERLINE.fullmatch(below))

    @property
    def body(self) -> str:
        """What it says, without front matter and properties."""
        lines = (
            line
            for number, line in enumerate(self._lines, 1)
            if number > self._front and number not in self._kept and not _PROPERTY.match(line)
        )
        return "\n".join(lines).strip()

    @property
    def front(self) -> str:
        """Its front matter with the lines around it; "" without one."""
        return "\n".join(self._lines[: self._front])

    @cached_property
    def _kept(self) -> set[int]:
        """The lines of drawers, keywords and blocks of Org."""
        found: set[int] = set()
        end: re.Pattern[str] | None = None
        for number, line in enumerate(self._lines, 1):
            block = _BLOCK.match(line)
            is_key = bool(_KEYWORD.match(line))
            if end is None and _DRAWER.fullmatch(line):
                end = _DRAWER_END if self._closes(number, _DRAWER_END) else None
            elif end is None and block and block[1].upper() == "BEGIN":
                end = _BLOCK if self._closes(number, _BLOCK) else None
            elif end is not None and end.match(line):
                end, is_key = None, True
            if end is not None or is_key:
                found.add(number)
        return found

    def _closes(self, number: int, end: re.Pattern[str]) -> bool:
        """Whether what begins in a line ends within the next ones; most of a note is never taken for a drawer."""
        return any(end.match(line) for line in self._lines[number : number + 200])

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
    """Where in a line the words stand by themselves and are not yet part of a link, of code or of an address."""
    if not words:
        return None
    taken = [match.span() for match in _TAKEN.finditer(line)]
    before = r"(?<![^\W\u2e80-\uffff])" if _LATIN.match(words[0]) else ""
    after = r"(?![^\W\u2e80-\uffff])" if _LATIN.match(words[-1]) else ""
    for found in re.finditer(before + re.escape(words) + after, line):
        if not any(start < found.end() and found.start() < end for start, end in taken):
            return found.start()
    return None
