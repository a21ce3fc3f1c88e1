"""The values of property lines, `key:: value`, and of the YAML block at the top (R-LS-17 to R-LS-19)."""

from __future__ import annotations

import re

from vaultmem.light import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from vaultmem.adapter import Properties, Value

LINE = re.compile(r"[ \t]*+([^\s:`\[\](){}#]++)::(?:[ \t]++(.*\S)|)[ \t]*+")
_PAGE = r"\[\[((?>(?:[^\[\]]|\[(?!\[)|\](?!\]))+))\]\]"
_LISTED = re.compile(_PAGE)
_ITEM = re.compile(rf'(?>(?:(?<![^,，\s])"[^"]*+"|{_PAGE}|[^,，])+)')
_KEY_NOISE = re.compile(r'["^(){}]+')

# Logseq's own: their values control the editor and hold no references.
_OWN = frozenset(
    """id collapsed custom-id heading background-color created-at updated-at title icon template
    template-including-parent public filters exclude-from-graph-view ls-type macros card-last-interval card-repeats
    card-last-reviewed card-next-schedule card-ease-factor card-last-score""".split()
)
_OWN_PREFIXES = ("query-", "hl-", "logseq.")


class Property(NamedTuple):
    """One property line of a page or block."""

    key: str  # lower case, with "-" for "_"
    value: str
    line: int
    start: int  # offsets of the value in the text
    end: int


def key_of(name: str) -> str:
    """A property name as Logseq stores it."""
    key = _KEY_NOISE.sub("", name.lower().replace("_", "-").replace(" ", "-"))
    return "id" if key == "custom-id" else key


def is_own(key: str) -> bool:
    """Whether the property is one of Logseq's own, which hold no references."""
    return key in _OWN or key.startswith(_OWN_PREFIXES)


def is_quoted(value: str) -> bool:
    """Whether the whole value is in double quotes."""
    return len(value) >= 2 and value[0] == value[-1] == '"'


def list_names(value: str) -> list[str]:
    """The names in the value of `alias::`, `tags::` and the like, in order and without duplicates."""
    names: dict[str, None] = {}
    for item in _ITEM.finditer(value):
        _add_names(item[0].strip(), names)
    return list(names)


def _add_names(item: str, names: dict[str, None]) -> None:
    if is_quoted(item):
        names.update(dict.fromkeys([item[1:-1].strip()] if item[1:-1].strip() else []))
        return
    if "[[" not in item:
        names.update(dict.fromkeys(name.strip() for name in item.split("#") if name.strip()))
        return
    results = [name.strip() for name in _LISTED.findall(item) if name.strip()]
    names.update(dict.fromkeys(results or [item]))


def parse_value(value: str, references: Iterable[str]) -> Value:
    """The value of a property that is not a list; `references` are those found in it."""
    if is_quoted(value):
        return value
    if value in {"true", "false"}:
        return value == "true"
    if value.isascii() and value.isdigit() and len(value) <= 18:
        return int(value)
    names: list[Value] = list(dict.fromkeys(references))
    return names or value


_LINE = re.compile(r"([^\s:#'\"\[\]{}-][^:\n]*+):(?:[ \t]++(.*\S)|)[ \t]*+")
_LONGEST_KEY = 100


class YamlProperty(NamedTuple):
    """One property of the block; `source` is its text for lists and references."""

    key: str
    value: Value
    source: str
    line: int
    has_references: bool


def yaml_properties(block: str, parsed: Properties) -> list[YamlProperty]:
    """The properties of a YAML block: as parsed, or line by line if YAML cannot be read.

    Logseq itself reads lines only; lists work here because people expect them to.
    """
    lines = _lines(block)
    if not parsed:
        return [
            YamlProperty(key, parse_value(source, ()), source, line, not is_quoted(source))
            for key, (source, line) in lines.items()
            if source
        ]
    results = []
    for name, value in parsed.items():
        key = key_of(str(name))
        source, line = lines.get(key, ("", 1))
        quoted = is_quoted(source)
        if value is not None:
            results.append(YamlProperty(key, value, _source(value), line, not quoted))
    return results


def _lines(block: str) -> dict[str, tuple[str, int]]:
    result: dict[str, tuple[str, int]] = {}
    for number, line in enumerate(block.split("\n"), 1):
        match = _LINE.fullmatch(line[:10_000])
        if match and len(match[1]) <= _LONGEST_KEY:
            result.setdefault(key_of(match[1].strip()), (match[2] or "", number))
    return result


def _source(value: Value) -> str:
    """The value as one text, lists with commas as `key:: a, b` has them."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return ", ".join(_item(item) for item in value)
    return str(value) if isinstance(value, (str, int, float)) else ""


def _item(value: Value) -> str:
    # An unquoted [[A]] is a list in a list for YAML and a page for anyone who types it.
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], (str, int)):
        return f"[[{value[0]}]]"
    text = _source(value)
    return f"[[{text}]]" if isinstance(value, str) and "," in text and "[[" not in text else text
