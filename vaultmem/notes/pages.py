"""The file of a memory: properties and content, in an Obsidian note or in a Logseq page.

"frontmatter" is a YAML block followed by the content; "outline" is property lines, or a YAML block if the page has
one, followed by the content as blocks (logseq_properties).
"""

from __future__ import annotations

from collections.abc import Iterable

from vaultmem.adapter import Properties, Value
from vaultmem.errors import FrontMatterError
from vaultmem.light import NamedTuple
from vaultmem.notes import compact_line, frontmatter, logseq_properties
from vaultmem.notes.logseq_properties import from_outline, to_outline
from vaultmem.notes.places import KEYS, OUTLINE, key_of
from vaultmem.notes.yaml_lines import newline_of
from vaultmem.text.similarity import content_hash
from vaultmem.text.values import lazy, with_privacy
from vaultmem.vault.files import encoding_of

_LISTS = ("tags", "aliases", "links")
_NO_TEXT = lazy("[\0\ud800-\udfff]")
_BLOCK_ID = lazy(r"\s*- [^\n]*\n(?:  [^\n]*\n)*?(  id:: [0-9a-fA-F-]{36})[ \t]*(?:\n|\Z)")
_BLANK_LINES = lazy(r"(?:[ \t]*\r?\n)*")


class Page(NamedTuple):
    """The properties and the content of a file."""

    properties: dict[str, Value]  # keys in our spelling
    content: str
    error: str | None  # why the properties cannot be read, in one line


def read(style: str, text: str) -> Page:
    r"""Parse a file's text (line ends "\n", no byte order mark, as returned by vault.files.read())."""
    page = _read(style, text)
    return page._replace(properties=dict(with_privacy(compact_line.expand(page.properties), text)))


def _read(style: str, text: str) -> Page:
    """Like read(), but with the properties as in the file."""
    front = frontmatter.split(text)
    properties = _rename_keys(front.properties.items()) if front.properties else {}
    if style != OUTLINE:
        return Page(properties, text[front.body :], front.error)
    lines = logseq_properties.locate(text, front.body)
    for line in lines.items:
        if line.value:
            properties[_our(line.key)] = _meaning(_our(line.key), line.value)
    return Page(properties, from_outline(text[lines.end :]), front.error)


def compose(style: str, properties: Properties, content: str) -> bytes:
    """The bytes of a new file. Properties that are None are left out; NUL and lone surrogates, which no text can
    hold, become U+FFFD. Raises FrontMatterError if a property cannot be written."""
    there = {key: value for key, value in properties.items() if value is not None}
    present = compact_line.properties_to_set({}, there)
    items = sorted(present.items(), key=lambda item: _RANK.get(item[0], len(KEYS)))
    if style != OUTLINE:
        text = frontmatter.compose(dict(items), _lines_of(content))
        return _NO_TEXT.sub("\ufffd", text).encode()
    pairs = ((_logseq(key), _as_names(key, value)) for key, value in items)
    lines = logseq_properties.format_lines(pairs, lambda key, line: _meaning(_our(key), line))
    blocks = to_outline(content)
    parts = ["".join(f"{line}\n" for line in lines), f"{blocks}\n" if blocks else ""]
    return "\n".join(part for part in parts if part).encode()


def edit(style: str, data: bytes, sets: Properties, content: str | None) -> bytes:
    """The bytes of a file with properties set, or removed if None, and with another content unless that is None. All
    other bytes stay. Raises FrontMatterError if the properties cannot be read or written."""
    encoding, _ = encoding_of(data)
    if encoding.startswith("utf-32"):
        raise FrontMatterError("the note is UTF-32; save it as UTF-8 in your editor first")
    errors = "surrogateescape" if encoding == "utf-8" else "strict"
    try:
        text = data.decode(encoding, errors)
    except UnicodeDecodeError as error:
        raise FrontMatterError(
            "the note is not valid text; repair its encoding in your editor first"
        ) from error
    error_line = frontmatter.split(text).error
    if error_line is not None:
        raise FrontMatterError(f"the properties cannot be read ({error_line}); correct them first")
    for key, value in compact_line.properties_to_set(_read(style, text).properties, sets).items():
        text = _with_property(style, text, key, value)
    if content is not None:
        text = _with_content(style, text, content)
    return text.encode(encoding, errors)


_RANK = {key: number for number, key in enumerate(KEYS)}


def _rename_keys(items: Iterable[tuple[str, Value]]) -> dict[str, Value]:
    """The items with keys in our spelling; a key already spelled so takes precedence."""
    renamed: dict[str, Value] = {}
    for name, value in items:
        key = key_of(name)
        if key == name or key not in renamed:
            renamed[key] = value
    return renamed


def _our(key: str) -> str:
    return "aliases" if key == "alias" else key_of(key)


def _logseq(key: str) -> str:
    return "alias" if key == "aliases" else key


def _as_names(key: str, value: Value) -> Value:
    """Tags and aliases as names only, split at commas as Logseq does, whatever YAML read; other values unchanged."""
    if key not in ("tags", "aliases") or not isinstance(value, list):
        return value
    if not all(isinstance(item, (str, int, float)) for item in value):
        return value
    names = [
        item if isinstance(item, str) else logseq_properties.format_value(item) for item in value
    ]
    return list(dict.fromkeys(names)) or None


def _meaning(key: str, value: str) -> Value:
    if key in _LISTS:
        return logseq_properties.list_items(value, linked=key == "links")
    return logseq_properties.parse_value(value)


def _with_property(style: str, text: str, key: str, value: Value) -> str:
    block = frontmatter.locate(text)
    start = block.body if block else 0
    if style == OUTLINE:
        there = logseq_properties.read(text, start)
        spelled = next((name for name in there if _our(name) == key), None)
        if spelled is not None or block is None:
            return logseq_properties.set_property(text, spelled or _logseq(key), value, start)
    from vaultmem.notes import frontmatter_edit  # most callers only read

    name = _spelling(text, key)
    if value is None:
        return frontmatter_edit.remove_property(text, name)
    return frontmatter_edit.set_property(text, name, value)


def _spelling(text: str, key: str) -> str:
    """The spelling of a key in the front matter."""
    names = frontmatter.split(text).properties
    if key in names:
        return key
    return next((name for name in names if key_of(name) == key), key)


def _with_content(style: str, text: str, content: str) -> str:
    block = frontmatter.locate(text)
    start = block.body if block else int(text.startswith("\ufeff"))
    if style == OUTLINE:
        start = max(start, logseq_properties.locate(text, start).end)
    old = text[start:]
    now = from_outline(old) if style == OUTLINE else old
    if content_hash(now) == content_hash(content):
        return text
    newline = newline_of(text)
    new = to_outline(content) + "\n" if style == OUTLINE else _lines_of(content)
    block_id = _BLOCK_ID.match(old.replace("\r\n", "\n")) if style == OUTLINE else None
    if block_id and block_id[1] not in new and not new.startswith(("- ```", "- ~~~")):
        first, _, rest = new.partition("\n")  # references to the block are a person's
        new = f"{first}\n{block_id[1]}\n{rest}"
    if old.strip() and not old.endswith("\n"):
        new = new.removesuffix("\n")
    head = text[:start] + _gap(style, text[:start], old, newline)
    if block is None and (new.startswith("\ufeff") or frontmatter.locate(new)):
        head += f"---{newline}---{newline}"  # otherwise it would be read as the beginning of a file
    return head + new.replace("\n", newline)


def _gap(style: str, head: str, body: str, newline: str) -> str:
    """The blank lines between properties and content: as before, or as in a new file."""
    if not head.strip("\ufeff"):
        return ""
    end = "" if head.endswith("\n") else newline
    blanks = _BLANK_LINES.match(body)
    if body.strip() and blanks:
        return end + blanks[0]
    return end + (newline if style == OUTLINE and "::" in head else "")


def _lines_of(content: str) -> str:
    r"""The content with line ends "\n", exactly one at its end, and no empty lines around it."""
    lines = content.replace("\r\n", "\n").replace("\r", "\n").strip("\n")
    return _NO_TEXT.sub("\ufffd", lines) + "\n" if lines else ""
