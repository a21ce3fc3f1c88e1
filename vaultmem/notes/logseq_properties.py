"""The properties of a Logseq page: lines `key:: value` before anything else in it (R-LS-17, R-LS-18).

Texts are passed as in the file, with line ends and byte order mark; an edit changes only the lines of its property.
"""

from __future__ import annotations

import contextlib
import json
import math
import re
from collections.abc import Callable, Iterable
from datetime import date

from vaultmem.adapter import Value
from vaultmem.errors import FrontMatterError
from vaultmem.light import NamedTuple
from vaultmem.notes.yaml_lines import escape, json_string, newline_of
from vaultmem.text.similarity import normal_form
from vaultmem.text.values import lazy

_LINE = lazy(r"[ \t]*([^\s:`\[\](){}#]+)::(?:[ \t]++([^\r\n]*\S))?[ \t]*(?:\r?\n|\Z)")
_BLANK = lazy(r"[ \t]*\r?\n")
_NAME = lazy(r"[^\s:`\[\](){}#\"^,]{1,100}")
_PAGE = lazy(r"\[\[([^\[\]\n]+)\]\]")
_ITEM = lazy(r"(?:\[\[[^\[\]]*\]\]|[^,，])+")
_INTEGER = lazy(r"-?(?:0|[1-9][0-9]{0,17})")
_FLOAT = lazy(r"-?[0-9]{1,17}(?:\.[0-9]{1,30})?(?:e[-+]?[0-9]{1,3})?")
# With these a value could hide later lines from Logseq, or span several lines.
_ODD = lazy(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff\\`$<>]|::|~~~")
_ESCAPED = lazy(r"[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff`$<>]|(?<=:):|(?<=~)~")


class Line(NamedTuple):
    """One property line and its position in the text."""

    key: str  # in Logseq's spelling: lower case, with "-" for "_"
    value: str
    start: int  # of the line
    end: int  # after its line end
    value_start: int
    value_end: int  # value_start if there is no value


class Lines(NamedTuple):
    """The properties at the top of a page."""

    items: list[Line]
    start: int  # offset of the first one, or of where it would be
    end: int  # after the last one's line end; `start` if there is none


def locate(text: str, start: int = 0) -> Lines:
    """The property lines of a page whose body begins at `start`: those before any other text."""
    start += text.startswith("\ufeff", start)
    lines: list[Line] = []
    at, end = start, start
    while at < len(text):
        line = _LINE.match(text, at)
        if line is None:
            blank = _BLANK.match(text, at)
            if blank is None:
                break
            at = blank.end()
            continue
        value = line.span(2) if line[2] else (line.end(1) + 2, line.end(1) + 2)
        lines.append(Line(spell_key(line[1]), line[2] or "", at, line.end(), *value))
        at = end = line.end()
    return Lines(lines, start, end)


def spell_key(key: str) -> str:
    """A key in Logseq's spelling."""
    return key.lower().replace("_", "-").replace(" ", "-")


def read(text: str, start: int = 0) -> dict[str, str]:
    """The properties as text, with keys in Logseq's spelling; of repeated ones the last counts."""
    return {line.key: line.value for line in locate(text, start).items if line.value}


def set_property(text: str, key: str, value: Value, start: int = 0) -> str:
    """The page with one property set, or without it if it is None. Raises FrontMatterError if a line cannot hold the
    key or the value."""
    if value is None:
        return remove_property(text, key, start)
    new = format_value(value)
    lines = locate(text, start)
    key_lines = [line for line in lines.items if line.key == spell_key(key)]
    if key_lines:
        last = key_lines[-1]
        if last.value == new:
            return text
        new = _with_more(last.value, value) or new
        blank = "" if last.value_end > last.value_start or not new else " "
        return text[: last.value_start] + blank + new + text[last.value_end :]
    return _with_line(text, lines, f"{_name(key)}:: {new}".rstrip())


def _with_more(line: str, value: Value) -> str:
    """The line of a list with the items appended that `value` adds; "" if it changes more than that."""
    forms = list_items(line, linked=True), list_items(line)
    is_json = line[:1] in {'"', "["} and not line.startswith("[[")
    if not isinstance(value, list) or is_json:
        return ""
    had = next((form for form in forms if form and value[: len(form)] == form), None)
    if had is None or len(had) == len(value):
        return ""
    comma = "，" if "，" in line and "," not in line else ", "
    return comma.join([line, *map(_item, value[len(had) :])])


def remove_property(text: str, key: str, start: int = 0) -> str:
    """The page without the lines of one property."""
    for line in reversed(locate(text, start).items):
        if line.key == spell_key(key):
            text = text[: line.start] + text[line.end :]
    return text


def format_lines(
    properties: Iterable[tuple[str, Value]],
    meaning: Callable[[str, str], Value] = lambda _, line: parse_value(line),
) -> list[str]:
    """The property lines of a new page. `meaning(key, value)` tells how a line will be read back: a list that would
    not be read back unchanged is written as JSON."""
    return [f"{_name(key)}:: {_exact(key, value, meaning)}".rstrip() for key, value in properties]


def _exact(key: str, value: Value, meaning: Callable[[str, str], Value]) -> str:
    if not isinstance(value, list):
        return format_value(value)
    try:
        line = format_value(value)
    except FrontMatterError:
        line = ""
    if line and repr(meaning(key, line)) == repr(value):
        return line
    with contextlib.suppress(ValueError):
        exact = escape(json.dumps(value, ensure_ascii=False, allow_nan=False), _ESCAPED)
        if exact.startswith("[["):
            exact = f"[ {exact[1:]}"  # unquoted, it would be a reference
        if repr(meaning(key, exact)) == repr(value):
            return exact
    return format_value(value)


def format_value(value: Value) -> str:
    """A value as written after the two colons. A text that would be read as something else is double-quoted, with
    JSON's escapes."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and not math.isfinite(value):
        raise FrontMatterError(f"a property cannot hold the number {value}; nothing was written")
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, str):
        return (
            value
            if parse_value(value) == value and _is_plain(value)
            else escape(json_string(value), _ESCAPED)
        )
    if isinstance(value, list) and all(isinstance(item, (str, int, float)) for item in value):
        return ", ".join(_item(item) for item in value)
    return "" if value is None else escape(json.dumps(value, ensure_ascii=False), _ESCAPED)


def parse_value(value: str) -> Value:
    """The value of a property that is not a list: a number, true or false, or text."""
    if value in {"true", "false"}:
        return value == "true"
    if _INTEGER.fullmatch(value):
        return int(value)
    if _FLOAT.fullmatch(value) and math.isfinite(float(value)):
        return float(value)
    if value[:1] in {'"', "{"} or (value[:1] == "[" and value[:2] != "[["):
        try:
            parsed: Value = json.loads(value)
        except (ValueError, RecursionError):
            return value
        return parsed
    return value


def list_items(value: str, *, linked: bool = False) -> list[Value]:
    """The items of a list property, such as `tags::`; `linked` keeps the brackets of links."""
    quoted = parse_value(value) if value[:1] in {'"', "["} else value
    if isinstance(quoted, list):
        return quoted
    items = [item.strip() for item in _ITEM.findall(quoted if isinstance(quoted, str) else value)]
    if not linked:
        items = [_bare(item) for item in items]
    return list(dict.fromkeys(item for item in items if item))


def _bare(item: str) -> str:
    page = _PAGE.fullmatch(item.removeprefix("#"))
    if page:
        return page[1].strip()
    quoted = len(item) > 1 and item[0] == item[-1] == '"'
    return item[1:-1].strip() if quoted else item.removeprefix("#")


def _item(item: Value) -> str:
    """A list item as text: in [[brackets]] if it could be read as several."""
    text = item if isinstance(item, str) else format_value(item)
    if _PAGE.fullmatch(text) and _is_plain(text):
        return text
    if text and _is_plain(text) and not re.search(r"[,，#\"\[\]]", text):
        return text
    if not text.strip() or not _is_plain(text) or re.search(r"[\[\]]", text):
        raise FrontMatterError(
            f"a list in a Logseq page cannot hold {text[:60]!r}; nothing was written"
        )
    return f"[[{text}]]"


def _is_plain(value: str) -> bool:
    return bool(value) and value == value.strip() and not _ODD.search(value)


def _name(key: str) -> str:
    name = spell_key(key.strip())
    if not _NAME.fullmatch(name):
        raise FrontMatterError(f"a Logseq page cannot have a property called {key[:60]!r}")
    return name


def _with_line(text: str, lines: Lines, line: str) -> str:
    newline = newline_of(text)
    before, after = text[: lines.end], text[lines.end :]
    if lines.items:
        if before.endswith("\n"):
            return before + line + newline + after
        return before + newline + line + after
    gap = newline if after.strip() and not after.startswith(("\n", "\r\n")) else ""
    return before + line + newline + gap + after


# Converts a content to the outline of a Logseq page, and back.

_ITEM_OUTLINE = lazy(r"((?:  )*)(?:- (?=\S)|(?=\d{1,9}[.)] ))(.*)")
_BULLET = lazy(r"(\t*)-(?: (.*)|)")
_FURTHER = lazy(r"(\t*)  (.*)")
_NUMBER = lazy(r"\d{1,9}[.)] ")
_FENCE = lazy(r"[ \t]*(`{3,}|~{3,})([^`\n]*)")


_BOX = lazy(r"([ \t]*[-*+] )\[([ xX/-])\] (.*)")
_MARKERS = {" ": "TODO", "/": "DOING", "-": "CANCELED"}
_DAY = lazy(r"(?<![ \t])[ \t]*([📅📆🗓⏳⌛])\ufe0f? ?(\d{4}-\d\d-\d\d)(?!\d)")


def with_markers(content: str) -> str:
    """The content with its checkboxes as tasks of an outline, the only ones that its editor knows: `- [ ] pay 📅
    2026-12-01` becomes a TODO with a DEADLINE."""
    fences, lines = _Writer(), list[str]()
    for line in content.split("\n"):
        fences.see_fence(line)
        box = None if fences.fence else _BOX.fullmatch(line)
        lines += _as_task(*box.groups()) if box else [line]
    return "\n".join(lines)


def _as_task(bullet: str, mark: str, text: str) -> list[str]:
    stamps: dict[str, str] = {}

    def take(field: re.Match[str]) -> str:
        with contextlib.suppress(ValueError):
            name = "SCHEDULED" if field[1] in "⏳⌛" else "DEADLINE"
            stamps[name] = f"{date.fromisoformat(field[2]):%Y-%m-%d %a}"
            return ""
        return field[0]

    text = _DAY.sub(take, text)
    indent = " " * len(bullet)
    dated = [f"{indent}{name}: <{stamp}>" for name, stamp in stamps.items()]
    return [f"{bullet}{_MARKERS.get(mark, 'DONE')} {text}", *dated]


def to_outline(content: str) -> str:
    """The content as blocks; "" for an empty one."""
    lines = normal_form(content).split("\n")
    if lines == [""]:
        return ""
    outline = _Writer().outline(lines)
    if outline is not None and from_outline(outline) == "\n".join(lines):
        return outline
    return "- " + "\n".join([lines[0], *(f"  {line}" if line else "" for line in lines[1:])])


def from_outline(text: str) -> str:
    """The content of a page without its properties; lines that belong to no block are unchanged."""
    written: list[str] = []
    empty = 0
    for line in text.replace("\r\n", "\n").split("\n"):
        if not line.strip(" \t"):
            empty += 1
            continue
        top, content = _read(line)
        if written:
            written += [""] * (empty + 1 if top else empty)
        if content is not None:
            written.append(content)
        empty = 0
    return "\n".join(written).rstrip("\n")


def _read(line: str) -> tuple[bool, str | None]:
    """Whether a line begins a top-level block, and its text in the content; None for an empty block."""
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
    """Converts the lines of a content one by one; earlier lines determine what a line is."""

    def __init__(self) -> None:
        self.written: list[str] = []
        self.depth = -1  # indentation of the current item; -1 in a paragraph
        self.fence = ""  # the fence that closes the current code block

    def outline(self, lines: list[str]) -> str | None:
        """The outline, or None if these lines cannot be written as one."""
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
        self.see_fence(line)
        item = None if inside else _ITEM_OUTLINE.fullmatch(line)
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

    def see_fence(self, line: str) -> None:
        """Track where a code block begins or ends."""
        fence = _FENCE.match(line)
        if fence is None:
            return
        if not self.fence:
            self.fence = fence[1]
        elif fence[1].startswith(self.fence) and not fence[2].strip():
            self.fence = ""
