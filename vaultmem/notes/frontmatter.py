"""Front matter: the YAML block at the top of a note, located as the editors do and read as YAML 1.2.

The reader is a loop over libyaml's events, so that nesting cannot overflow the stack and aliases cannot fill the
memory. Only this module imports PyYAML, and python-frontmatter to compose a new note, and only when needed.
"""

from __future__ import annotations

import re
from functools import cache

from vaultmem.adapter import FrontMatter, Properties
from vaultmem.light import TYPE_CHECKING, NamedTuple, Protocol, cast
from vaultmem.notes.yaml_lines import format_lines, read_simple, scalar
from vaultmem.text.values import lazy

if TYPE_CHECKING:
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
UNMERGED = "holds both versions of an unresolved merge"
PLACEHOLDER = "holds {{placeholders}}, as templates do"


def split(text: str) -> FrontMatter:
    """Read the properties of a note. Never raises; unreadable front matter gives an error line."""
    block = locate(text)
    if block is None:
        return FrontMatter({}, UNMERGED if _UNMERGED.match(text) else None, 0)
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
_WEIGHT = 4 * LIMIT  # characters and values with all aliases expanded
_YAML = "tag:yaml.org,2002:"
_TYPED = frozenset(f"{_YAML}{name}" for name in ("null", "bool", "int", "float"))

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
    hidden = _HAS_BREAK.search(source) is not None
    builder = _Builder(hidden=hidden)
    try:
        for event in yaml.parse(source.translate(_HIDE) if hidden else source, yaml.CSafeLoader):
            builder.take(event)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise UnreadableError(error.problem or "no YAML", mark.line if mark else 0) from error
    except yaml.YAMLError as error:
        raise UnreadableError(" ".join(str(error).partition("\n")[0].split())) from error
    except UnicodeEncodeError as error:
        raise UnreadableError("half a letter", source.count("\n", 0, error.start)) from error
    return builder.document()


class _Frame:
    """A list or mapping not closed yet."""

    __slots__ = ("anchor", "items", "key", "mapping", "weight")

    def __init__(self, mapping: dict[str, Value] | None, anchor: str | None, weight: int) -> None:
        self.mapping = mapping
        self.items: list[Value] = []
        self.key: str | None = None  # the key awaiting its value
        self.anchor = anchor
        self.weight = weight


class _Builder:
    """Turns events into plain values and records the positions of the top-level properties."""

    def __init__(self, *, hidden: bool) -> None:
        self.hidden = hidden
        self.frames: list[_Frame] = []
        self.anchors: dict[str, tuple[Value, int]] = {}
        self.weight = 0
        self.root: Value = None
        self.top: yaml.Event | None = None  # the mapping's first event
        self.key: yaml.NodeEvent | None = None  # the open top-level property
        self.value: yaml.NodeEvent | None = None  # the first event of its value
        self.end = 0  # the end of its value as far as known
        self.items: list[tuple[int, int]] = []  # of its value, if that is a list
        self.spans: list[Span] = []

    def take(self, event: yaml.Event) -> None:
        """Process one event."""
        import yaml

        if isinstance(event, yaml.ScalarEvent):
            self._node(event)
            self._scalar(event)
        elif isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
            self._node(event)
            self._open(event, {} if isinstance(event, yaml.MappingStartEvent) else None)
        elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            self._close(event)
        elif isinstance(event, yaml.AliasEvent):
            self._node(event)
            self._alias(event)
        elif isinstance(event, yaml.DocumentStartEvent) and self.top is not None:
            raise UnreadableError("a second YAML document", _line(event))

    def _node(self, event: yaml.NodeEvent) -> None:
        """Record the position of a top-level key, or the start of its value."""
        if not self.frames:
            self.top = event
            return
        self.end = _index(event.end_mark)
        if self._is_item():
            self.items.append((_index(event.start_mark), self.end))
        if len(self.frames) > 1 or self.frames[0].mapping is None:
            return
        if self.frames[0].key is None:
            self.key = event
        else:
            self.value = event
            self.items = []

    def _is_item(self) -> bool:
        """Whether the current node is an item of a top-level property's list."""
        outer = self.frames[0].mapping
        return len(self.frames) == 2 and outer is not None and self.frames[1].mapping is None

    def _scalar(self, event: yaml.ScalarEvent) -> None:
        text = event.value.translate(_SHOW) if self.hidden else event.value
        self.weight += 1 + len(text)
        frame = self.frames[-1] if self.frames else None
        if frame is not None and frame.mapping is not None and frame.key is None:
            self._take_key(frame, text, event)
            return
        plain = event.implicit[0] if event.tag is None else event.tag in _TYPED
        value: Value = scalar(text) if plain else text
        if event.anchor is not None:
            self.anchors[event.anchor] = (value, 1 + len(text))
        self._put(value)

    def _take_key(self, frame: _Frame, text: str, event: yaml.Event) -> None:
        if frame.mapping is not None and text in frame.mapping:
            raise UnreadableError(f'the key "{text}" occurs twice', _line(event))
        frame.key = text

    def _alias(self, event: yaml.AliasEvent) -> None:
        anchor = self.anchors.get(event.anchor or "")
        if anchor is None:
            raise UnreadableError(f'nothing is called "&{event.anchor}"', _line(event))
        value, weight = anchor
        self.weight += weight
        if self.weight > _WEIGHT:
            raise UnreadableError("too much text through aliases", _line(event))
        frame = self.frames[-1]
        if frame.mapping is None or frame.key is not None:
            self._put(value)
        elif isinstance(value, str):
            self._take_key(frame, value, event)
        else:
            raise UnreadableError("a key that is not a text", _line(event))

    def _open(self, event: yaml.NodeEvent, mapping: dict[str, Value] | None) -> None:
        if len(self.frames) >= _DEPTH:
            raise UnreadableError(f"nested deeper than {_DEPTH} levels", _line(event))
        outer = self.frames[-1] if self.frames else None
        if outer is not None and outer.mapping is not None and outer.key is None:
            raise UnreadableError("a key that is a list or a mapping", _line(event))
        self.weight += 1
        self.frames.append(_Frame(mapping, event.anchor, self.weight))

    def _close(self, event: yaml.Event) -> None:
        frame = self.frames.pop()
        value: Value = frame.items if frame.mapping is None else frame.mapping
        if frame.anchor is not None:
            self.anchors[frame.anchor] = (value, self.weight - frame.weight + 1)
        if _index(event.end_mark) > _index(event.start_mark):
            # A bracket; blocks have no end mark.
            self.end = _index(event.end_mark)
        self._put(value)

    def _put(self, value: Value) -> None:
        """Add a finished value to the list or mapping that contains it."""
        if not self.frames:
            self.root = value
            return
        frame = self.frames[-1]
        if frame.mapping is None:
            frame.items.append(value)
            if self._is_item():
                self.items[-1] = self.items[-1][0], self.end
            return
        key, frame.key = frame.key or "", None
        frame.mapping[key] = value
        if len(self.frames) == 1 and self.key is not None and self.value is not None:
            style = _style(self.value)
            start, end = _index(self.key.start_mark), _index(self.key.end_mark)
            begin, items = _index(self.value.start_mark), tuple(self.items)
            self.spans.append(Span(key, start, end, begin, self.end, style, items))

    def document(self) -> Document:
        """The document, once all events are processed."""
        if self.root is None:
            return Document({})
        if not isinstance(self.root, dict):
            raise UnreadableError("line 2: no properties but a text or a list")
        flow = bool(getattr(self.top, "flow_style", False))
        mark = self.top.start_mark if self.top else None
        column = mark.column if mark else 0
        return Document(self.root, tuple(self.spans), flow, column)


def _style(event: yaml.NodeEvent) -> str:
    if getattr(event, "flow_style", None) is False:
        return "block"
    style = getattr(event, "style", None)
    return style if style in {"|", ">"} else ""


class _Mark(Protocol):
    """The common interface of PyYAML's two kinds of marks."""

    index: int


def _index(mark: _Mark | None) -> int:
    return 0 if mark is None else mark.index


def _line(event: yaml.Event) -> int:
    return 0 if event.start_mark is None else event.start_mark.line
