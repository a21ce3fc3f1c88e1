"""The file of a memory: properties and content, in an Obsidian note or in a Logseq page.

"frontmatter" is a YAML block followed by the content; "outline" is property lines, or a YAML block if the page has
one, followed by the content as blocks (logseq_properties).
"""

from __future__ import annotations

from collections.abc import Iterable

from vaultmem.adapter import Properties, Value
from vaultmem.errors import FrontMatterError
from vaultmem.light import NamedTuple
from vaultmem.notes import frontmatter, logseq_properties
from vaultmem.notes.logseq_properties import from_outline, to_outline
from vaultmem.notes.places import COMPACT, KEYS, LINE, OUTLINE, key_of
from vaultmem.notes.yaml_lines import format_value, newline_of, scalar
from vaultmem.text.similarity import content_hash
from vaultmem.text.values import EVERYBODY, INBOX, lazy, with_privacy
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
    return page._replace(properties=dict(with_privacy(expand(page.properties), text)))


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
    present = properties_to_set({}, there)
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
    for key, value in properties_to_set(_read(style, text).properties, sets).items():
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


# The property `vaultmem`: the properties of a memory that only programs need, on one line.
#
#   vaultmem: 24ed4878-2b1c-4c0e-9d8e-0c6a5b7f3a11 memory_type=semantic importance=0.88 created_at=2026-11-22T10:00:00Z
#
# First the id, then words `key=value`. They are read as if each were a property of its own; a property with its own
# line wins. So a memory means the same in either form, and a file keeps its form.

_PLAIN = lazy(r"[0-9A-Za-z_.:+@-]+")  # not special in YAML, Obsidian and Logseq
# Required in a memory of ours.
_ALWAYS = ("id", "phase", "category", "scope", "created_at", "updated_at")
_WORD = lazy(rf"([a-z][a-z0-9_]*)=({_PLAIN.pattern})")


def expand(properties: Properties) -> Properties:
    """The properties including those of the line, and those that the line omits because they follow from others."""
    inside = _inside(properties)
    if not inside:
        return properties
    alone = {key: value for key, value in properties.items() if key != LINE}
    names = {key_of(key): value for key, value in alone.items()}
    whole = inside | {
        key: value for key, value in _implied({**inside, **names}).items() if key not in inside
    }
    return {**{key: value for key, value in whole.items() if key not in names}, **alone}


def properties_to_set(raw: Properties, changes: Properties) -> dict[str, Value]:
    """The properties to set in a file with the properties `raw` so that it has `changes`; None removes one. A file
    that gets its id also gets a line."""
    inside = _inside(raw)
    if not changes or (not inside and ("id" not in changes or "id" in raw or LINE in raw)):
        return dict(changes)
    keys = [key for key in dict.fromkeys((*COMPACT, "scope", *inside)) if key not in raw]
    whole = {**expand(raw), **changes}
    implied = _implied(whole)
    follows = {key for key in keys if key in implied and _same(whole.get(key), implied[key])}
    words = _words(whole, (key for key in keys if key not in follows and key != "scope"))
    if any(whole.get(key) is None for key in _ALWAYS) or not any("=" in word for word in words.values()):  # fmt: skip
        follows, words = set(), {}
    result = {key: value for key, value in changes.items() if key not in keys}
    for key in keys:
        if whole.get(key) is not None and key not in words and key not in follows:
            result[key] = whole[key]
    line = " ".join(words.values())
    if _words_in(line) != inside:
        result[LINE] = line or None
    return result


def _implied(properties: Properties) -> dict[str, Value]:
    """The properties that a line need not state."""
    phase = "organized" if properties.get("category") not in (None, "", INBOX) else "inbox"
    implied: dict[str, Value] = {"phase": phase, "scope": EVERYBODY}
    created = properties.get("created_at")
    return implied if created is None else {**implied, "updated_at": created}


def _words(properties: Properties, keys: Iterable[str]) -> dict[str, str]:
    """The words of the line by key; values that a word cannot hold are left out."""
    words: dict[str, str] = {}
    for key in keys:
        value = properties.get(key)
        if value is None or isinstance(value, (list, dict)):
            continue
        text = value if isinstance(value, str) else format_value(value)
        if _PLAIN.fullmatch(text) and (_same(scalar(text), value) or (key, text) == ("id", value)):
            words[key] = text if key == "id" else f"{key}={text}"
    return words


def _inside(properties: Properties) -> dict[str, Value]:
    line = properties.get(LINE)
    return _words_in(line) if isinstance(line, str) else {}


def _words_in(line: str) -> dict[str, Value]:
    """The properties on a line; {} for any other text."""
    words = line.split()
    first = words[:1] if words and "=" not in words[0] and _PLAIN.fullmatch(words[0]) else []
    matches = [_WORD.fullmatch(word) for word in words[len(first) :]]
    if not matches or None in matches:
        return {}
    inside: dict[str, Value] = {"id": first[0]} if first else {}
    return inside | {match[1]: scalar(match[2]) for match in matches if match}


def _same(one: Value, other: Value) -> bool:
    return type(one) is type(other) and one == other
