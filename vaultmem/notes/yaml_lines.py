"""Reads and writes plain YAML without a parser.

Scalars of the YAML 1.2 core schema, the simplest front matter, and the lines of a property. Editors read YAML 1.2;
PyYAML's own rules (1.1) would turn `no` into False.
"""

from __future__ import annotations

import json
import math
import re

from vaultmem.errors import FrontMatterError
from vaultmem.light import TYPE_CHECKING
from vaultmem.text.values import lazy

if TYPE_CHECKING:
    from vaultmem.adapter import Value

_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_INT = lazy(r"[-+]?[0-9]+")
_PREFIXED = lazy(r"0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = lazy(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_LONGEST_INT = 20  # sign and 19 digits, which fit into 64 bits
_INT64 = 1 << 63


def scalar(text: str) -> str | int | float | bool | None:
    """The value of an unquoted scalar. Infinity, NaN and numbers beyond 64 bits stay text."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in "+-.0123456789":
        return text
    if _INT.fullmatch(text):
        return _integer(text, 10)
    if _FLOAT.fullmatch(text):
        number = float(text)
        return number if math.isfinite(number) else text
    if _PREFIXED.fullmatch(text):
        return _integer(text, 0)
    return text


def _integer(text: str, radix: int) -> int | str:
    if len(text) > _LONGEST_INT:
        return text
    number = int(text, radix)
    return number if -_INT64 <= number < _INT64 else text


# --- The fast path: lines that need no parser; anything else is left to the parser.

# Characters that libyaml treats specially in plain text (control characters, exotic line breaks, a byte order
# mark). None of them is printable.
_ODD = r"\x00-\x1f\x7f-\xa0\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff"
_ODD_LETTER = lazy(rf"(?!\n)[{_ODD}]")
_PLAIN = r"(\w[^:#]*(?::(?=[\w/])[^:#]*)*)"
_QUOTED = r'"([^"\\]*)"|' + r"'([^']*)'"
_ITEM = r"\w[\w\-/.]*(?: +[\w\-/.]+)*"
_FLOW = rf"(\[ *(?:{_ITEM}(?: *, *{_ITEM})*)? *\])"
_ENTRY_LINE = lazy(rf"([^\W\d]\w*(?:[ -]\w+)*):(?: +(?:{_PLAIN}|{_QUOTED}|{_FLOW}))? *")
_ITEM_LINE = lazy(rf"( *)- +(?:{_PLAIN}|{_QUOTED})")
_LONGEST_KEY = 200


def read_simple(block: str) -> dict[str, Value] | None:
    """The properties of a block of `key: value` lines and plain lists; None if it needs a parser."""
    if not block.replace("\n", "").isprintable() and _ODD_LETTER.search(block):
        return None
    properties: dict[str, Value] = {}
    items: list[Value] | None = None  # the list to which lines "- x" belong
    indent, open_key = "", ""
    for line in block.split("\n"):
        entry = _ENTRY_LINE.fullmatch(line)
        if entry is not None:
            key = entry[1]
            if key in properties or len(key) > _LONGEST_KEY:
                return None
            properties[key] = _matched_value(entry)
            items, open_key = None, key if entry.lastindex == 1 else ""
            continue
        if not line:
            continue
        item = _ITEM_LINE.match(line)
        if item is None or not open_key or line[item.end() :].strip(" "):
            return None
        if items is None:
            properties[open_key] = items = []
            indent = item[1]
        elif item[1] != indent:
            return None
        items.append(_matched_value(item))
    return properties


def _matched_value(match: re.Match[str]) -> Value:
    """The value after a name or an item's dash."""
    form = match.lastindex
    if form == 1:
        return None
    if form == 2:
        return scalar(match[2].rstrip(" "))
    if form == 5:
        inner = match[5][1:-1].strip(" ")
        return [scalar(item.strip(" ")) for item in inner.split(",")] if inner else []
    return match[form or 0]


# --- Writing, in a form that YAML 1.1 and 1.2 read alike.

_WORDS_OF_11 = frozenset(
    ("y", "n", "yes", "no", "on", "off", "true", "false", "null", "~", "=", "<<")
)
_LIKE_NUMBER = lazy(
    r"[-+]?(?:[0-9._:]+(?:e[-+]?[0-9]*)?|0[box][0-9a-f_]+|\.(?:inf|nan))"
    r"|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[t \t].*)?",
    re.IGNORECASE,
)
_NEEDS_QUOTES = lazy(rf"[-?:,\[\]{{}}#&*!|>'\"%@`~]|.*(?::(?: |\Z)| #|\[\[|[{_ODD}])", re.DOTALL)
_NOT_IN_JSON = lazy(r"[\x7f-\xa0\u2028\u2029\ufeff\ufffe\uffff]")
_SURROGATE = lazy(r"[\ud800-\udfff]")


def format_value(value: Value, *, item: bool = False) -> str:
    """A value on one line. None is written as an empty value, in a list as `null`."""
    if value is None:
        return "null" if item else ""
    if isinstance(value, str):
        return format_text(value)
    return format_flow(value)


def format_text(text: str) -> str:
    """A text, in double quotes if any version of YAML could read it as something else (R-EDIT-5)."""
    plain = (
        text.strip() == text
        and text.lower() not in _WORDS_OF_11
        and not _LIKE_NUMBER.fullmatch(text)
        and not _NEEDS_QUOTES.match(text)
    )
    return text if text and plain else _quote(text)


def _quote(text: str) -> str:
    return escape(json_string(text), _NOT_IN_JSON)


def json_string(text: str) -> str:
    """A text in JSON's double quotes. Raises FrontMatterError for lone surrogates, which no file can hold."""
    if _SURROGATE.search(text):
        raise FrontMatterError("a property cannot hold half a surrogate pair; nothing was written")
    return json.dumps(text, ensure_ascii=False)


def escape(text: str, odd: re.Pattern[str]) -> str:
    """JSON text in which the `odd` characters are escaped."""
    return odd.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def format_flow(value: Value) -> str:
    """A value in braces, brackets and double quotes, which JSON and YAML read alike."""
    if isinstance(value, str):
        return _quote(value)
    if isinstance(value, list):
        return "[" + ", ".join(map(format_flow, value)) + "]"
    if isinstance(value, dict):
        return (
            "{" + ", ".join(f"{_quote(key)}: {format_flow(of)}" for key, of in value.items()) + "}"
        )
    if isinstance(value, float) and not math.isfinite(value):
        raise FrontMatterError(f"a property cannot hold the number {value}; nothing was written")
    return json.dumps(value)


def newline_of(text: str) -> str:
    """The line end of the text's first line."""
    end = text.find("\n")
    return "\r\n" if end > 0 and text[end - 1] == "\r" else "\n"


def format_lines(key: str, value: Value, indent: str = "") -> list[str]:
    """The lines of one property; a list has one line per item."""
    name = indent + format_text(key) + ":"
    if isinstance(value, list) and value:
        return [name, *item_lines(value, indent)]
    text = format_value(value)
    return [f"{name} {text}" if text else name]


def item_lines(values: list[Value], indent: str) -> list[str]:
    """The lines of a list, as `  - item`."""
    return [f"{indent}  - {format_value(value, item=True)}" for value in values]
