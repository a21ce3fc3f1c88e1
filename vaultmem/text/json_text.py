"""JSON as text with positions: every value knows its offsets, so that one can be inserted without changing any other
byte."""

from __future__ import annotations

import json
import re
from functools import partial

from vaultmem.light import TYPE_CHECKING, NamedTuple, cast
from vaultmem.text.values import lazy, value

if TYPE_CHECKING:
    from collections.abc import Callable

_BLANK = lazy(r"[ \t\r\n]*")
_STRING = lazy(r'"(?>(?:[^"\\\x00-\x1f]+|\\[^\x00-\x1f])*)"')
_PLAIN = lazy(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?|true|false|null")
DEEPEST = 200
_DECODER = json.JSONDecoder()


class Part(NamedTuple):
    """One member of an object or one item of a list: its name, the offsets of its value, and the value."""

    name: str
    start: int
    end: int
    value: object
    begin: int  # offset of its name, or of the value in a list


@value
class Node:
    """One value: its kind, its offsets, and its contents."""

    kind: str  # object, list, text, plain
    start: int
    end: int
    text: str  # value of a text
    items: list[Node]  # items of a list, or values of an object
    names: list[str]  # names of an object
    starts: list[int]  # where each item begins: its name, in an object

    def get(self, name: str) -> Node | None:
        """The value of a member of an object, or None. Raises ValueError if the name occurs twice."""
        if self.names.count(name) > 1:
            raise ValueError(f"{name!r} occurs twice")
        return self.items[self.names.index(name)] if name in self.names else None


def parse(text: str) -> Node:
    """The value of the whole text. Raises ValueError unless it is strict JSON."""
    start = _skip(text, 1 if text.startswith("\ufeff") else 0)
    node, end = _value(text, start, 0)
    if _skip(text, end) != len(text):
        raise _wrong(text, end)
    return node


def _skip(text: str, at: int) -> int:
    match = _BLANK.match(text, at)
    return match.end() if match else at


def _wrong(text: str, at: int) -> ValueError:
    line = text.count("\n", 0, at) + 1
    return ValueError(
        f"line {line} is not plain JSON (comments and trailing commas are not allowed)"
    )


def _value(text: str, at: int, depth: int) -> tuple[Node, int]:
    """The value that begins at `at`, with everything in it, and the offset of its end."""
    if depth > DEEPEST:
        raise ValueError("it is nested too deeply")
    opening, start, string = text[at : at + 1], at, ""
    if opening in ("{", "["):
        inner, at = _walk(text, at, partial(_value, depth=depth + 1))
        kind, names = (
            ("object", [member.name for member in inner]) if opening == "{" else ("list", [])
        )
        items, starts = (
            [cast("Node", member.value) for member in inner],
            [member.begin for member in inner],
        )
        return Node(kind, start, at, "", items, names, starts), at
    if opening == '"':
        string, at = _string(text, at)
        return Node("text", start, at, string, [], [], []), at
    match = _PLAIN.match(text, at)
    if not match:
        raise _wrong(text, at)
    return Node("plain", start, match.end(), "", [], [], []), match.end()


def _string(text: str, at: int) -> tuple[str, int]:
    match = _STRING.match(text, at)
    try:
        return str(json.loads(match[0] if match else "")), at + len(match[0] if match else "")
    except ValueError as error:
        raise _wrong(text, at) from error


def read_parts(text: str, at: int = 0) -> tuple[list[Part], int]:
    """The parts of the object or list that begins at `at`, and the offset of its end. Only this level gets positions;
    the parts are read by the decoder in C, which is far faster. Raises ValueError if the text is not JSON."""
    return _walk(text, _skip(text, at), _decode)


def _walk(
    text: str, at: int, read: Callable[[str, int], tuple[object, int]]
) -> tuple[list[Part], int]:
    """The parts of the object or list that begins at `at`, each read by `read`, and the offset of its end."""
    opening = text[at : at + 1]
    if opening not in ("{", "["):
        raise _wrong(text, at)
    closing = "}" if opening == "{" else "]"
    result: list[Part] = []
    at = _skip(text, at + 1)
    while text[at : at + 1] != closing or result:
        begin, name = at, ""
        if opening == "{":
            name, at = _string(text, at)
            at = _past(text, at, ":")
        start = at
        inner, at = read(text, at)
        result.append(Part(name, start, at, inner, begin))
        at = _skip(text, at)
        if text[at : at + 1] == closing:
            break
        at = _past(text, at, ",")
    return result, at + 1


def _past(text: str, at: int, mark: str) -> int:
    at = _skip(text, at)
    if text[at : at + 1] != mark:
        raise _wrong(text, at)
    return _skip(text, at + 1)


def _decode(text: str, at: int) -> tuple[object, int]:
    try:
        return _DECODER.raw_decode(text, at)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def append_item(text: str, node: Node, entry: object, name: str = "") -> str:
    """The text with one more item at the end of a list, or one more member of an object."""
    prefix = f"{json.dumps(name)}: " if name else ""
    if node.items:
        last, end = node.starts[-1], node.items[-1].end
        blank = text[len(text[:last].rstrip(" \t\r\n")) : last]
        return text[:end] + "," + blank + prefix + _render_entry(text, entry, blank) + text[end:]
    outer = _line_indent(text, node.start)
    newline = _newline(text)
    blank = newline + outer + _unit(text)
    closing = newline + outer  # remove_item() must know the original blanks
    at = node.start + 1
    return text[:at] + blank + prefix + _render_entry(text, entry, blank) + closing + text[at:]


def _render_entry(text: str, entry: object, blank: str) -> str:
    """An entry in the layout of its neighbours: on one line, or one per line with their indentation."""
    if "\n" not in blank:
        return json.dumps(entry, ensure_ascii=False)
    lines = json.dumps(entry, ensure_ascii=False, indent=_unit(text)).split("\n")
    newline = "\r\n" if "\r\n" in blank else "\n"
    return (newline + blank.rpartition("\n")[2]).join(lines)


def _unit(text: str) -> str:
    """The indentation of one level."""
    match = re.search(r"\{[ \t]*\r?\n([ \t]+)\S", text)
    return match[1] if match and not text[: match.start()].strip("\ufeff \t\r\n") else "  "


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _line_indent(text: str, at: int) -> str:
    start = text.rfind("\n", 0, at) + 1
    match = re.match(r"[ \t]*", text[start:at])
    return match[0] if match else ""


def remove_item(text: str, node: Node, number: int) -> str:
    """The text without one item and its comma. After append_item(), this restores the original text."""
    if number:
        return text[: node.items[number - 1].end] + text[node.items[number].end :]
    if len(node.items) > 1:
        return text[: node.starts[0]] + text[node.starts[1] :]
    blank = text[node.items[0].end : node.end - 1]
    closing = _newline(text) + _line_indent(text, node.start)
    left = blank[len(closing) :] if blank.startswith(closing) else ""
    return text[: node.start + 1] + left + text[node.end - 1 :]
