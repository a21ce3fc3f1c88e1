"""The YAML block at the top of a page, whose lines are page properties too (R-LS-19)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from vaultmem_logseq import properties

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vaultmem.adapter import Value

_LINE = re.compile(r"([^\s:#'\"\[\]{}-][^:\n]*+):(?:[ \t]++(.*\S)|)[ \t]*+")
_LONGEST_KEY = 100


class YamlProperty(NamedTuple):
    """One property of the block; `source` is its text for lists and references."""

    key: str
    value: Value
    source: str
    line: int
    has_references: bool


def yaml_properties(block: str, parsed: Mapping[str, Value]) -> list[YamlProperty]:
    """The properties of a YAML block: as parsed, or line by line where YAML cannot be read.

    Logseq itself reads lines only; lists work here because people expect them to.
    """
    lines = _lines(block)
    if not parsed:
        return [
            YamlProperty(
                key, properties.typed(source, ()), source, line, not properties.is_quoted(source)
            )
            for key, (source, line) in lines.items()
            if source
        ]
    found = []
    for name, value in parsed.items():
        key = properties.key_of(str(name))
        source, line = lines.get(key, ("", 1))
        quoted = properties.is_quoted(source)
        if value is not None:
            found.append(YamlProperty(key, value, _source(value), line, not quoted))
    return found


def _lines(block: str) -> dict[str, tuple[str, int]]:
    found: dict[str, tuple[str, int]] = {}
    for number, line in enumerate(block.split("\n"), 1):
        match = _LINE.fullmatch(line[:10_000])
        if match and len(match[1]) <= _LONGEST_KEY:
            found.setdefault(properties.key_of(match[1].strip()), (match[2] or "", number))
    return found


def _source(value: Value) -> str:
    """The value as one text, lists with commas as `key:: a, b` has them."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return ", ".join(_item(each) for each in value)
    return str(value) if isinstance(value, (str, int, float)) else ""


def _item(value: Value) -> str:
    # An unquoted [[A]] is a list in a list for YAML and a page for everybody who types it.
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], (str, int)):
        return f"[[{value[0]}]]"
    text = _source(value)
    return f"[[{text}]]" if isinstance(value, str) and "," in text and "[[" not in text else text
