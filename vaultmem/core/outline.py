"""A content as the outline of a Logseq page, and back.

Paragraphs are the outermost blocks, further lines two blanks behind the bullet; the items of a list are blocks
below the paragraph before it, a tab deeper for each level. A list that has no paragraph before it stands
below an empty block. Empty lines between blocks stay in the file where the outline does not imply them: it
implies one between paragraphs, none before an item. What does not go with this, as a line that
follows an item without being indented, is one block with all further lines two blanks behind its bullet.

from_outline(to_outline(x)) is x as far as contents count, see core.likeness.normal, whatever x is.
"""

from __future__ import annotations

import re

from vaultmem.core.likeness import normal

_ITEM = re.compile(r"((?:  )*)(?:- (?=\S)|(?=\d{1,9}[.)] ))(.*)")
_BULLET = re.compile(r"(\t*)-(?: (.*)|)")
_FURTHER = re.compile(r"(\t*)  (.*)")
_NUMBER = re.compile(r"\d{1,9}[.)] ")
_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})([^`\n]*)")


def to_outline(content: str) -> str:
    """The content as blocks; "" for an empty one."""
    lines = normal(content).split("\n")
    if lines == [""]:
        return ""
    found = _Writer().outline(lines)
    if found is not None and from_outline(found) == "\n".join(lines):
        return found
    return "- " + "\n".join([lines[0], *(f"  {line}" if line else "" for line in lines[1:])])


def from_outline(text: str) -> str:
    """The content of a page without its properties; a line that belongs to no block stays as it is."""
    written: list[str] = []
    empty = 0
    for line in text.replace("\r\n", "\n").split("\n"):
        if not line.strip(" \t"):
            empty += 1
            continue
        top, shown = _read(line)
        if written:
            written += [""] * (empty + 1 if top else empty)
        if shown is not None:
            written.append(shown)
        empty = 0
    return "\n".join(written).rstrip("\n")


def _read(line: str) -> tuple[bool, str | None]:
    """Whether a line begins an outermost block, and what it is in the content; None for an empty block."""
    bullet = _BULLET.fullmatch(line)
    if bullet and not bullet[1]:
        return True, bullet[2] if (bullet[2] or "").strip(" \t") else None
    if bullet:
        text = bullet[2] or ""
        mark = "" if _NUMBER.match(text) else "- " if text else "-"
        return False, "  " * (len(bullet[1]) - 1) + mark + text
    further = _FURTHER.fullmatch(line)
    return False, "  " * len(further[1]) + further[2] if further else line


class _Writer:
    """Goes through the lines of a content; what was written before decides what a line is."""

    def __init__(self) -> None:
        self.written: list[str] = []
        self.depth = -1  # of the item we are in; -1 in a paragraph
        self.fence = ""  # what closes the code we are in

    def outline(self, lines: list[str]) -> str | None:
        """The outline, or None when these lines have none."""
        empty = 0
        for line in lines:
            if not line:
                empty += 1
                continue
            if not self._take(line, empty):
                return None
            empty = 0
        return "\n".join(self.written)

    def _take(self, line: str, empty: int) -> bool:
        inside = bool(self.fence)
        self._see_fence(line)
        item = None if inside else _ITEM.fullmatch(line)
        if item and len(item[1]) // 2 <= self.depth + 1:
            self._begin_item(item, empty)
            return True
        indent = "  " * (self.depth + 1)
        if self.depth >= 0 and line.startswith(indent):
            self._add("\t" * (self.depth + 1) + "  " + line[len(indent) :], empty)
            return True
        if inside or (self.written and not empty):
            self._add("  " + line, empty)
            return self.depth < 0
        self.depth = -1
        self._add("- " + line, empty - 1)
        return True

    def _begin_item(self, item: re.Match[str], empty: int) -> None:
        if not self.written:
            self.written.append("-")
        self.depth = len(item[1]) // 2
        self._add("\t" * (self.depth + 1) + "- " + item[2], empty)

    def _add(self, line: str, empty: int) -> None:
        self.written += [""] * empty
        self.written.append(line)

    def _see_fence(self, line: str) -> None:
        found = _FENCE.match(line)
        if found is None:
            return
        if not self.fence:
            self.fence = found[1]
        elif found[1].startswith(self.fence) and not found[2].strip():
            self.fence = ""
