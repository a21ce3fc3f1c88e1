"""Front matter: the YAML block at the top of a note, located as the editors do and read as YAML 1.2.

libyaml's nodes are read once its events have shown that nesting cannot overflow the stack; aliases cannot fill the
memory. Only this module imports PyYAML, and python-frontmatter to compose a new note, and only when needed.
"""

from __future__ import annotations

import re
from functools import cache

from vaultmem.adapter import FrontMatter, Properties
from vaultmem.light import TYPE_CHECKING, NamedTuple, cast
from vaultmem.notes.yaml_lines import format_lines, read_simple, scalar
from vaultmem.text.values import lazy

if TYPE_CHECKING:
    from collections.abc import Iterable

    import yaml
    from frontmatter.default_handlers import BaseHandler

    from vaultmem.adapter import Value

_OPENING = lazy(r"\ufeff?---[ \t]*\r?\n")
_CLOSING = lazy(r"^---[ \t]*(?:\r?\n|\r?\Z)", re.MULTILINE)


class Block(NamedTuple):
    """The position of front matter in a text (offsets)."""

    start: int  # of the first line after the opening dashes
    end: int  # of the closing line
    body: int  # of the first character after the closing line


def locate(text: str) -> Block | None:
    """Find the front matter of a text with any line ends, with or without a byte order mark."""
    if not text.startswith(("---", "\ufeff---")):
        return None
    opening = _OPENING.match(text)
    if opening is None:
        return None
    closing = _CLOSING.search(text, opening.end())
    return Block(opening.end(), closing.start(), closing.end()) if closing else None


# Git's conflict mark before any text, or between Logseq properties: nothing below it is a property.
_UNMERGED = lazy(r"(?:[^\n:]+::[^\n]*\n)*<<<<<<< ")
# Properties of a memory without the closing line; in any other note, dashes may be a rule above the text.
_UNCLOSED = lazy(
    r"\ufeff?---[ \t]*\r?\n(?:\w[\w-]*:.*\n|[ \t#-].*\n)*?(?:vaultmem|id):[ \t]*[\"']?[0-9a-f]{8}-"
)
UNMERGED = "holds both versions of an unresolved merge"
PLACEHOLDER = "holds {{placeholders}}, as templates do"


def split(text: str) -> FrontMatter:
    """Read the properties of a note. Never raises; unreadable front matter gives an error line."""
    block = locate(text)
    if block is None:
        unclosed = "the line --- at its end is missing" if _UNCLOSED.match(text) else None
        return FrontMatter({}, UNMERGED if _UNMERGED.match(text) else unclosed, 0)
    source = text[block.start : block.end]
    if len(source) > LIMIT:
        return FrontMatter({}, f"longer than {LIMIT} characters", block.body)
    properties = read_simple(source)
    if properties is not None:
        return FrontMatter(properties, None, block.body)
    try:
        return FrontMatter(read_yaml(source).properties, None, block.body)
    except UnreadableError as error:
        template = "{{" in source or "<%" in source
        reason = f"{PLACEHOLDER} ({error})" if template else str(error)
        return FrontMatter({}, reason, block.body)


def compose(properties: Properties, body: str) -> str:
    """The text of a new note: the properties in their order, then the body unchanged."""
    import frontmatter

    post = frontmatter.Post("")
    post.metadata.update(properties)
    return f"{frontmatter.dumps(post, handler=_handler())}\n{body}"


@cache
def _handler() -> BaseHandler:
    """A python-frontmatter handler that writes our own lines: PyYAML's are YAML 1.1."""
    from frontmatter.default_handlers import YAMLHandler

    class Handler(YAMLHandler):
        def export(self, metadata: dict[str, object], **_options: object) -> str:
            properties = cast("dict[str, Value]", metadata)
            return "\n".join(line for item in properties.items() for line in format_lines(*item))

    return Handler()


# The YAML 1.2 reader.

LIMIT = 65_536  # characters in one front matter
_DEPTH = 64
_TOO_DEEP = f"nested deeper than {_DEPTH} levels"
_WEIGHT = 4 * LIMIT  # characters and values with all aliases expanded
_YAML = "tag:yaml.org,2002:"
_PLAIN = "!plain"  # the tag of plain text that has none
_TYPED = frozenset((_PLAIN, *(f"{_YAML}{name}" for name in ("null", "bool", "int", "float"))))

# Line breaks for libyaml (YAML 1.1) but ordinary characters in YAML 1.2: hidden from libyaml.
_BREAKS = "\x85\u2028\u2029"
_HIDDEN = "\U0010fd85\U0010fd28\U0010fd29"
_HIDE = str.maketrans(_BREAKS, _HIDDEN)
_SHOW = str.maketrans(_HIDDEN, _BREAKS)
_HAS_BREAK = lazy(f"[{_BREAKS}]")


class UnreadableError(Exception):
    """Front matter that YAML 1.2 or the editors reject; the message is one line.

    `line` counts from 0 in the block, whose first line is the second of its file.
    """

    def __init__(self, problem: str, line: int | None = None) -> None:
        self.problem = " ".join(problem.split())
        self.line = line
        super().__init__(self.problem if line is None else f"line {line + 2}: {self.problem}")


class Span(NamedTuple):
    """The position of one top-level property in the block (offsets of characters)."""

    key: str
    key_start: int
    key_end: int
    start: int  # of the value; start == end if empty
    end: int  # after the value's last character, including trailing blank lines of a "|" text
    style: str  # "|" or ">" for block texts, "block" for other lists and mappings, "" for the rest
    items: tuple[tuple[int, int], ...] = ()  # the start and end of each list item


class Document(NamedTuple):
    """The properties of a block and their positions in it."""

    properties: dict[str, Value]
    spans: tuple[Span, ...] = ()
    flow: bool = False  # written as {..} from top to bottom
    column: int = 0  # of the first key


def read_yaml(source: str) -> Document:
    """Read the text between the dashes. Raises UnreadableError."""
    import yaml

    if len(source) > LIMIT:
        raise UnreadableError(f"longer than {LIMIT} characters")
    hidden = source.translate(_HIDE) if _HAS_BREAK.search(source) else source
    try:
        _check_depth(yaml.parse(hidden, yaml.CSafeLoader))
        root = yaml.compose(hidden, _loader())
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise UnreadableError(error.problem or "no YAML", mark.line if mark else 0) from error
    except yaml.YAMLError as error:
        raise UnreadableError(" ".join(str(error).partition("\n")[0].split())) from error
    except UnicodeEncodeError as error:
        raise UnreadableError("half a letter", source.count("\n", 0, error.start)) from error
    reader = _Reader(hidden=hidden is not source)
    value = None if root is None else reader.value(root)
    if value is None:
        return Document({})
    if not isinstance(root, yaml.MappingNode) or not isinstance(value, dict):
        raise UnreadableError(
            "no properties but a text or a list", root.start_mark.line if root else 0
        )
    spans = tuple(span for key, of in root.value if (span := _span(reader.key(key), key, of)))
    return Document(value, spans, bool(root.flow_style), root.start_mark.column)


@cache
def _loader() -> type[yaml.CSafeLoader]:
    """A loader that tells plain text without a tag from all other text, and resolves neither."""
    import yaml

    class Loader(yaml.CSafeLoader):
        yaml_implicit_resolvers = {None: [(_PLAIN, re.compile(""))]}  # noqa: RUF012 - as PyYAML has it

    return Loader


def _check_depth(events: Iterable[yaml.Event]) -> None:
    """Refuse what a recursive reader must not see, and a second document."""
    import yaml

    depth = documents = 0
    for event in events:
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        documents += isinstance(event, yaml.DocumentStartEvent)
        line = event.start_mark.line if event.start_mark else 0
        if depth > _DEPTH:
            raise UnreadableError(_TOO_DEEP, line)
        if documents > 1:
            raise UnreadableError("a second YAML document", line)


class _Reader:
    """Turns nodes into plain values. A node that aliases refer to is read once, and counts each time."""

    def __init__(self, *, hidden: bool) -> None:
        self._hidden = hidden
        self._depth = self._weight = 0
        self._read: dict[int, tuple[Value, int]] = {}  # value and weight by node

    def value(self, node: yaml.Node) -> Value:
        """The value of a node."""
        before = self._weight
        if id(node) in self._read:
            value, weight = self._read[id(node)]
        else:
            self._depth += 1
            if self._depth > _DEPTH:  # an alias within what it refers to
                raise UnreadableError(_TOO_DEEP, node.start_mark.line)
            value = self._value(node)
            self._depth -= 1
            weight = 1 + self._weight - before
            self._read[id(node)] = value, weight
        self._weight = before + weight
        if self._weight > _WEIGHT:
            raise UnreadableError("too much text through aliases", node.start_mark.line)
        return value

    def _value(self, node: yaml.Node) -> Value:
        import yaml

        if isinstance(node, yaml.SequenceNode):
            return [self.value(item) for item in node.value]
        if isinstance(node, yaml.MappingNode):
            mapping: dict[str, Value] = {}
            for key_node, value_node in node.value:
                key = self.key(key_node)
                if key in mapping:
                    raise UnreadableError(f'the key "{key}" occurs twice', key_node.start_mark.line)
                mapping[key] = self.value(value_node)
            return mapping
        text = self._text(node)
        self._weight += len(text)
        return scalar(text) if node.tag in _TYPED else text

    def key(self, node: yaml.Node) -> str:
        """The text of a key."""
        import yaml

        if not isinstance(node, yaml.ScalarNode):
            raise UnreadableError("a key that is a list or a mapping", node.start_mark.line)
        return self._text(node)

    def _text(self, node: yaml.Node) -> str:
        text = str(node.value)
        return text.translate(_SHOW) if self._hidden else text


def _span(name: str, key: yaml.Node, value: yaml.Node) -> Span | None:
    """The position of a property; None if an alias in it refers to a node elsewhere."""
    import yaml

    start, end = value.start_mark.index, _end(value)
    listed = value.value if isinstance(value, yaml.SequenceNode) else []
    items = tuple((item.start_mark.index, _end(item)) for item in listed)
    if start < key.end_mark.index or end < start or any(at < start for at, _ in items):
        return None
    style = getattr(value, "style", None)
    style = style if style in {"|", ">"} else ""
    if getattr(value, "flow_style", None) is False:
        style = "block"
    return Span(name, key.start_mark.index, key.end_mark.index, start, end, style, items)


def _end(node: yaml.Node) -> int:
    """The end of a node's text; the mark of a list or mapping without brackets is where the next one begins."""
    import yaml

    if not isinstance(node, yaml.CollectionNode) or node.flow_style or not node.value:
        return node.end_mark.index
    last = node.value[-1]
    return _end(last[1] if isinstance(last, tuple) else last)
