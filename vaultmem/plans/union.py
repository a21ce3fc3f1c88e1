"""Two contents become one that has every line of both."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator

_FENCE = re.compile(r"\s{0,12}(?:[-*+] )?(`{3,}|~{3,})([^\n]*)")


def united(first: str, second: str) -> str:
    """The first content, and below it the lines of the second that it lacks, in their order. A block of code is
    taken as a whole; lines that differ in nothing but case, blanks or the final stop count as the same."""
    had = {_folded(unit) for unit in _units(first)}
    extra: list[str] = []
    gap = False
    for unit in _units(second):
        if not unit.strip():
            gap = True
        elif _folded(unit) not in had:
            extra += [""] if gap and extra else []
            extra.append(unit)
            gap = False
    if not extra:
        return first
    end = "\n" if first.endswith("\n") else ""
    below = textwrap.dedent("\n".join(extra))
    return f"{_closed(first.rstrip())}\n\n{below}{end}"


def _units(content: str) -> Iterator[str]:
    """Its lines, and its blocks of code as one unit each."""
    block: list[str] = []
    mark = ""
    for line in content.replace("\r\n", "\n").split("\n"):
        fence = _FENCE.match(line)
        if mark:
            block.append(line)
            if _closes(line, mark):
                yield "\n".join(block)
                block, mark = [], ""
        elif fence:
            block, mark = [line], fence[1]
        else:
            yield line
    if block:
        yield "\n".join(block)


def _closes(line: str, mark: str) -> bool:
    bare = line.strip()
    return len(bare) >= len(mark) and set(bare) == {mark[0]}


def _closed(content: str) -> str:
    """The content with the end that its last block of code may lack: what follows is no code."""
    mark = ""
    for line in content.split("\n"):
        fence = _FENCE.match(line)
        if mark:
            mark = "" if _closes(line, mark) else mark
        elif fence:
            mark = fence[1]
    return f"{content}\n{mark}" if mark else content


def _folded(unit: str) -> str:
    fence = _FENCE.match(unit)
    if fence:
        first, *lines = unit.strip().split("\n")
        if lines and _closes(lines[-1], fence[1]):
            lines.pop()  # an end that is lacking makes no other block
        return "\n".join([first, *lines]).rstrip()
    return " ".join(unit.split()).casefold().rstrip(".。!！")
