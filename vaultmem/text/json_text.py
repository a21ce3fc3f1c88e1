"""JSON as text with positions: every value knows its offsets, so that one can be inserted without changing any other
byte."""

from __future__ import annotations

import json
import re

from vaultmem.light import TYPE_CHECKING, NamedTuple
from vaultmem.text.values import lazy

if TYPE_CHECKING:
    from typing import NoReturn

_BLANK = lazy(r"[ \t\r\n]*")
DEEPEST = 200


class Part(NamedTuple):
    """One member of an object, one item of a list, or the whole: its name, the offsets of its value, and the value."""

    name: str
    start: int
    end: int
    value: object
    begin: int  # offset of its name, or of the value in a list


def parse(text: str) -> Part:
    """The value of the whole text. Raises ValueError unless it is strict JSON."""
    start = _skip(text, 1 if text.startswith("\ufeff") else 0)
    value, end = _decode(text, start)
    if _skip(text, end) != len(text):
        raise _wrong(text, end)
    level = [value]
    for _ in range(DEEPEST):
        inner = (
            each.values() if isinstance(each, dict) else each
            for each in level
            if isinstance(each, (dict, list))
        )
        level = [value for values in inner for value in values]
    if level:
        raise ValueError("it is nested too deeply")
    return Part("", start, end, value, start)


def find(text: str, part: Part, *names: str) -> tuple[Part | None, list[int]]:
    """The part of a part that is reached by the names of members, and the numbers of these; None without one. Raises
    ValueError if a name occurs twice."""
    way: list[int] = []
    for name in names:
        inside = read_parts(text, part.start)[0] if isinstance(part.value, dict) else []
        places = [number for number, member in enumerate(inside) if member.name == name]
        if len(places) > 1:
            raise ValueError(f"{name!r} occurs twice")
        if not places:
            return None, []
        way += places
        part = inside[places[0]]
    return part, way


def _skip(text: str, at: int) -> int:
    match = _BLANK.match(text, at)
    return match.end() if match else at


def _wrong(text: str, at: int) -> ValueError:
    line = text.count("\n", 0, at) + 1
    return ValueError(
        f"line {line} is not plain JSON (comments and trailing commas are not allowed)"
    )


def read_parts(text: str, at: int = 0) -> tuple[list[Part], int]:
    """The parts of the object or list that begins at `at`, and the offset of its end. Only this level gets positions;
    the parts are read by the decoder in C, which is far faster. Raises ValueError if the text is not JSON."""
    at = _skip(text, at)
    opening = text[at : at + 1]
    if opening not in ("{", "["):
        raise _wrong(text, at)
    closing = "}" if opening == "{" else "]"
    result: list[Part] = []
    at = _skip(text, at + 1)
    while text[at : at + 1] != closing or result:
        begin, name = at, ""
        if opening == "{":
            if text[at : at + 1] != '"':
                raise _wrong(text, at)
            decoded, at = _decode(text, at)
            name, at = str(decoded), _past(text, at, ":")
        start = at
        inner, at = _decode(text, at)
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
    except json.JSONDecodeError as error:
        raise _wrong(text, error.pos) from error
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


_DECODER = json.JSONDecoder(parse_constant=_refuse)


def append_item(text: str, part: Part, entry: object, name: str = "") -> str:
    """The text with one more item at the end of a list, or one more member of an object."""
    prefix = f"{json.dumps(name)}: " if name else ""
    if inside := read_parts(text, part.start)[0]:
        last, end = inside[-1].begin, inside[-1].end
        blank = text[len(text[:last].rstrip(" \t\r\n")) : last]
        return text[:end] + "," + blank + prefix + _render_entry(text, entry, blank) + text[end:]
    outer = _line_indent(text, part.start)
    newline = _newline(text)
    blank = newline + outer + _unit(text)
    closing = newline + outer  # remove_item() must know the original blanks
    at = part.start + 1
    return text[:at] + blank + prefix + _render_entry(text, entry, blank) + closing + text[at:]


def _render_entry(text: str, entry: object, blank: str) -> str:
    """An entry in the layout of its neighbours: on one line, or one per line with their indentation."""
    if "\n" not in blank:
        return json.dumps(entry, ensure_ascii=False)
    lines = json.dumps(entry, ensure_ascii=False, indent=_unit(text)).split("\n")
    newline = "\r\n" if "\r\n" in blank else "\n"
    return (newline + blank.rpartition("\n")[2]).join(lines)


def _unit(text: str) -> str:
    match = re.search(r"\{[ \t]*\r?\n([ \t]+)\S", text)
    return match[1] if match and not text[: match.start()].strip("\ufeff \t\r\n") else "  "


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _line_indent(text: str, at: int) -> str:
    start = text.rfind("\n", 0, at) + 1
    match = re.match(r"[ \t]*", text[start:at])
    return match[0] if match else ""


def remove_item(text: str, part: Part, number: int) -> str:
    """The text without one item and its comma. After append_item(), this restores the original text."""
    inside = read_parts(text, part.start)[0]
    if number:
        return text[: inside[number - 1].end] + text[inside[number].end :]
    if len(inside) > 1:
        return text[: inside[0].begin] + text[inside[1].begin :]
    blank = text[inside[0].end : part.end - 1]
    closing = _newline(text) + _line_indent(text, part.start)
    left = blank[len(closing) :] if blank.startswith(closing) else ""
    return text[: part.start + 1] + left + text[part.end - 1 :]
