"""Changes one property of a note and no byte outside its lines (R-EDIT-1 to 6).

Positions come from the parser, new lines from one writer, and the result is parsed again before it is returned: an
edit that would change anything else is refused.
"""

from __future__ import annotations

import contextlib
import json

from vaultmem.errors import FrontMatterError
from vaultmem.light import TYPE_CHECKING
from vaultmem.notes.frontmatter import Block, Document, Span, UnreadableError, locate, read_yaml
from vaultmem.notes.yaml_lines import (
    format_flow,
    format_lines,
    format_value,
    item_lines,
    newline_of,
)
from vaultmem.text.values import lazy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vaultmem.adapter import Value


# Changes some items of a list in front matter; the others keep their style, quotes, indentation and comments.

_REST_OF_LINE = lazy(r"[^\r\n]*")
_LINE_END = lazy(r"\r?\n|\Z")
_FLOW_MARKS = lazy(r"[,\[\]{}]")


class Items:
    """The items of one list with their positions in the text: `[a, b]` if `flow`, else one per line."""

    def __init__(self, text: str, places: Sequence[tuple[int, int]], *, flow: bool) -> None:
        self.text = text
        self.places = places
        self.flow = flow

    def changed(self, old: list[Value], new: list[Value], newline: str) -> str:
        """The text with other values in the list. Neither list is empty. The caller parses the result again, as an
        item in an unusual position may get lost."""
        was, now = [json.dumps(value) for value in old], [json.dumps(value) for value in new]
        first = 0
        while first < min(len(was), len(now)) and was[first] == now[first]:
            first += 1
        tail = 0
        while tail < min(len(was), len(now)) - first and was[-1 - tail] == now[-1 - tail]:
            tail += 1
        gone, added = len(was) - tail - first, new[first : len(now) - tail]
        both = min(gone, len(added))
        # From the last position up, so that earlier positions stay valid.
        if gone > both:
            self._delete(first + both, first + gone)
        elif added[both:]:
            self._insert(first + both, added[both:], newline)
        for at in reversed(range(both)):
            start, end = self.places[first + at]
            self._put(start, end, self._written(added[at], first + at))
        return self.text

    def without(self, number: int) -> str:
        """The text without one item and its comma."""
        if len(self.places) == 1:
            self._put(*self.places[0], "")
        else:
            self._delete(number, number + 1)
        return self.text

    def _put(self, start: int, end: int, new: str) -> None:
        self.text = self.text[:start] + new + self.text[end:]

    def _delete(self, first: int, end: int) -> None:
        places = self.places
        if not self.flow:
            self._put(self._line(places[first][0]), _after_line(self.text, places[end - 1][1]), "")
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
            place = _end_of_line(self.text, end) if at else self._line(start)
            new = "".join(newline + line if at else line + newline for line in lines)
        self._put(place, place, new)

    def _written(self, value: Value, like: int) -> str:
        """A value written like a neighbouring item, with the same quotes."""
        start, end = self.places[like]
        quote = self.text[start:end][:1]
        if isinstance(value, str) and quote == "'" and value.isprintable():
            return "'" + value.replace("'", "''") + "'"
        text = format_value(value, item=True)
        if isinstance(value, str) and (quote == '"' or (self.flow and _FLOW_MARKS.search(text))):
            return format_flow(value)
        return text

    def _line(self, at: int) -> int:
        return self.text.rfind("\n", 0, at) + 1


_DAY = lazy(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")  # as editors write it, and so where a date was
_COMMENT = lazy(r"[ \t]+#[^\r\n]*")


def _end_of_line(text: str, at: int) -> int:
    match = _REST_OF_LINE.match(text, at)
    return match.end() if match else at


def _after_line(text: str, at: int) -> int:
    match = _LINE_END.match(text, _end_of_line(text, at))
    return match.end() if match else at


def set_property(text: str, key: str, value: Value) -> str:
    """The note with one top-level property set; unchanged if it already has that value.

    A key is found as written, else ignoring case if only one matches, and keeps its spelling. Raises FrontMatterError
    if the properties cannot be read or the edit is not safe.
    """
    if not key:
        raise FrontMatterError("a property needs a name")
    block = locate(text)
    if block is None:
        return _check(_with_new_block(text, key, value), {key: value})
    document = _read(text, block)
    span = _find(document, key)
    if span is None:
        return _check(
            _with_new_key(text, block, document, key, value), {**document.properties, key: value}
        )
    was = document.properties[span.key]
    if _same(was, value):
        return text
    expected = {**document.properties, span.key: value}
    if (
        isinstance(was, list)
        and isinstance(value, list)
        and was
        and value
        and len(was) == len(span.items)
    ):
        places = [(block.start + start, block.start + end) for start, end in span.items]
        items = Items(text, places, flow=span.style != "block")
        with contextlib.suppress(FrontMatterError):  # otherwise the whole list is rewritten
            return _check(items.changed(was, value, newline_of(text)), expected)
    if document.flow:
        start, end = block.start + span.start, block.start + span.end
        return _check(text[:start] + format_flow(value) + text[end:], expected)
    return _check(_Place(text, block, span, document.column).replaced(value), expected)


def remove_property(text: str, key: str) -> str:
    """The note without the lines of one property; unchanged if it has no such property."""
    block = locate(text)
    if block is None:
        return text
    document = _read(text, block)
    span = _find(document, key)
    if span is None:
        return text
    if document.flow:
        changed = _entries(text, block, document).without(document.spans.index(span))
    else:
        changed = _Place(text, block, span, document.column).removed()
    return _check(
        changed, {name: of for name, of in document.properties.items() if name != span.key}
    )


def _read(text: str, block: Block) -> Document:
    try:
        document = read_yaml(text[block.start : block.end])
    except UnreadableError as error:
        raise FrontMatterError(
            f"the properties cannot be read ({error}); correct them in your editor first"
        ) from error
    if len(document.spans) < len(document.properties):
        raise FrontMatterError("a property is a copy of another (*); edit them in your editor")
    return document


def _find(document: Document, key: str) -> Span | None:
    for span in document.spans:
        if span.key == key:
            return span
    alike = [span for span in document.spans if span.key.casefold() == key.casefold()]
    return alike[0] if len(alike) == 1 else None


def _same(one: Value, other: Value) -> bool:
    """Whether two values are equal in value and type (1, 1.0 and True differ)."""
    return json.dumps(one) == json.dumps(other)


def _check(text: str, expected: dict[str, Value]) -> str:
    """The text, if its properties are exactly the expected ones; otherwise raises FrontMatterError."""
    block = locate(text)
    properties: dict[str, Value] | None = None
    if block is not None:
        try:
            properties = read_yaml(text[block.start : block.end]).properties
        except UnreadableError:
            properties = None
    if properties is None or not _same(dict(properties), expected):
        raise FrontMatterError(
            "this property cannot be changed without changing others; edit it in your editor"
        )
    return text


def _with_new_block(text: str, key: str, value: Value) -> str:
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    newline = newline_of(text)
    lines = ["---", *format_lines(key, value), "---"]
    return mark + "".join(line + newline for line in lines) + text[len(mark) :]


def _with_new_key(text: str, block: Block, document: Document, key: str, value: Value) -> str:
    if document.flow:
        entry = f"{format_flow(key)}: {format_flow(value)}"
        at = max((end for _, end in _entries(text, block, document).places), default=0)
        start = at or text.index("{", block.start) + 1
        return text[:start] + (", " if at else "") + entry + text[start:]
    newline = newline_of(text)
    lines = format_lines(key, value, " " * document.column)
    added = "".join(line + newline for line in lines)
    return text[: block.end] + added + text[block.end :]


def _entries(text: str, block: Block, document: Document) -> Items:
    """The properties in one pair of braces, with their names."""
    ends = [(span.key_start, max(span.key_end, span.end)) for span in document.spans]
    return Items(text, [(block.start + start, block.start + end) for start, end in ends], flow=True)


class _Place:
    """One property in block style: the positions of its name, value and comment in the text."""

    def __init__(self, text: str, block: Block, span: Span, column: int) -> None:
        self.text = text
        self.newline = newline_of(text)
        self.indent = " " * column
        self.key_start = block.start + span.key_start
        self.colon = text.find(":", block.start + span.key_end, block.end) + 1
        if not self.colon:
            raise FrontMatterError(
                f'the property "{span.key}" has an unusual form; edit it by hand'
            )
        self.start = max(block.start + span.start, self.colon)
        self.end = max(block.start + span.end, self.start)
        self.block_text = span.style in {"|", ">"}
        if self.block_text:
            self.end = _end_of_line(
                self.text, self.start + len(text[self.start : self.end].rstrip())
            )
        elif span.style:  # a list whose last item is such a text
            self.end = self.start + len(text[self.start : self.end].rstrip())
        self.inline = "\n" not in text[self.colon : self.start]

    def replaced(self, value: Value) -> str:
        """The text with another value here."""
        return (
            self._with_list(value) if isinstance(value, list) and value else self._with_line(value)
        )

    def removed(self) -> str:
        """The text without this property's lines."""
        start = self.text.rfind("\n", 0, self.key_start) + 1
        return self.text[:start] + self.text[_after_line(self.text, self.end) :]

    def _with_line(self, value: Value) -> str:
        new = format_value(value)
        if new == f'"{value}"' and _DAY.fullmatch(str(value)) and _DAY.fullmatch(self._was()):
            new = str(value)
        blanks = (
            self.text[self.colon : self.start] if self.inline and self.end > self.start else " "
        )
        name = self.text[: self.colon] + (blanks + new if new else "")
        return name + self._comment() + self._between() + self.text[self._end_of_value() :]

    def _was(self) -> str:
        return self.text[self.start : self.end].strip()

    def _with_list(self, values: list[Value]) -> str:
        lines = item_lines(values, self.indent)
        name = self.text[: self.colon] + self._comment() + self._between()
        added = self.newline + self.newline.join(lines)
        return name + added + self.text[self._end_of_value() :]

    def _end_of_value(self) -> int:
        """The offset of the end of the value's last line."""
        return _end_of_line(self.text, self.end)

    def _comment(self) -> str:
        """The comment on the line of the name, or else after a scalar value."""
        if self.block_text:
            return self._comment_in(self.start, _end_of_line(self.text, self.start))
        if self.inline:
            return self.text[self.end : self._end_of_value()].rstrip(" \t")
        comment = self._comment_in(self.colon, _end_of_line(self.text, self.colon))
        return comment or self._comment_in(self.end, self._end_of_value())

    def _comment_in(self, start: int, end: int) -> str:
        match = _COMMENT.search(self.text, start, end)
        return match[0] if match else ""

    def _between(self) -> str:
        """Comment lines between the name and a value below it."""
        if self.inline:
            return ""
        first = _end_of_line(self.text, self.colon)
        last = self.text.rfind("\n", first, self.start)
        lines = self.text[first:last] if last > first else ""
        return lines.removesuffix("\r")
