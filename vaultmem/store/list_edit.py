"""Change some items of a list in front matter; the others keep their style, quotes, indentation and comments."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from vaultmem.store.yaml_lines import written, written_flow

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vaultmem.adapter import Value

_REST_OF_LINE = re.compile(r"[^\r\n]*")
_LINE_END = re.compile(r"\r?\n|\Z")
_FLOW_MARKS = re.compile(r"[,\[\]{}]")


class Items:
    """The items of one list, by where they stand in the text: `[a, b]` if `flow`, else a line each."""

    def __init__(self, text: str, places: Sequence[tuple[int, int]], *, flow: bool) -> None:
        self.text = text
        self.places = places
        self.flow = flow

    def changed(self, old: list[Value], new: list[Value], newline: str) -> str:
        """The text with other values in the list. Neither is empty; the result is to be read again, for an item in
        an odd place may get lost."""
        was, now = [json.dumps(each) for each in old], [json.dumps(each) for each in new]
        first = 0
        while first < min(len(was), len(now)) and was[first] == now[first]:
            first += 1
        tail = 0
        while tail < min(len(was), len(now)) - first and was[-1 - tail] == now[-1 - tail]:
            tail += 1
        gone, added = len(was) - tail - first, new[first : len(now) - tail]
        both = min(gone, len(added))
        # From the last place up: the places before an edit stay right.
        if gone > both:
            self._delete(first + both, first + gone)
        elif added[both:]:
            self._insert(first + both, added[both:], newline)
        for at in reversed(range(both)):
            start, end = self.places[first + at]
            self._put(start, end, self._written(added[at], first + at))
        return self.text

    def _put(self, start: int, end: int, new: str) -> None:
        self.text = self.text[:start] + new + self.text[end:]

    def _delete(self, first: int, end: int) -> None:
        places = self.places
        if not self.flow:
            self._put(self._line(places[first][0]), self._after_line(places[end - 1][1]), "")
        elif end < len(places):
            self._put(places[first][0], places[end][0], "")
        else:
            self._put(places[first - 1][1], places[end - 1][1], "")

    def _insert(self, at: int, values: list[Value], newline: str) -> None:
        like = max(at - 1, 0)
        start, end = self.places[like]
        texts = [self._written(value, like) for value in values]
        if self.flow:
            place = end if at else start
            new = "".join(f", {text}" if at else f"{text}, " for text in texts)
        else:
            dash = self.text[self._line(start) : start]
            lines = [dash + " " * dash.endswith("-") + text for text in texts]
            place = self._end_of_line(end) if at else self._line(start)
            new = "".join(newline + line if at else line + newline for line in lines)
        self._put(place, place, new)

    def _written(self, value: Value, like: int) -> str:
        """A value as an item beside another one, in its quotes."""
        start, end = self.places[like]
        quote = self.text[start:end][:1]
        if isinstance(value, str) and quote == "'" and value.isprintable():
            return "'" + value.replace("'", "''") + "'"
        text = written(value, item=True)
        if isinstance(value, str) and (quote == '"' or (self.flow and _FLOW_MARKS.search(text))):
            return written_flow(value)
        return text

    def _line(self, at: int) -> int:
        return self.text.rfind("\n", 0, at) + 1

    def _end_of_line(self, at: int) -> int:
        found = _REST_OF_LINE.match(self.text, at)
        return found.end() if found else at

    def _after_line(self, at: int) -> int:
        found = _LINE_END.match(self.text, self._end_of_line(at))
        return found.end() if found else at
