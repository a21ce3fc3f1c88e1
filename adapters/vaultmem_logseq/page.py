"""One page of a graph, in Markdown or Org, read into a note."""

from __future__ import annotations

import re

from vaultmem.adapter import FrontMatter, Heading, Link, Note, Value
from vaultmem.adapter.scan import blanks
from vaultmem.light import TYPE_CHECKING, NamedTuple
from vaultmem_logseq import MIRROR, names, properties
from vaultmem_logseq.outline import (
    MARKERS,
    Block,
    Body,
    Levels,
    block_id,
    join_rows,
    outline,
    pieces,
)
from vaultmem_logseq.properties import Property, yaml_properties
from vaultmem_logseq.references import Masks, Reference, masks, references
from vaultmem_logseq.tasks import DATE_LINE, tasks

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from vaultmem_logseq.config_edn import Settings
    from vaultmem_logseq.names import JournalDays

_ALIAS_KEYS = ("alias", "aliases")


class PageReader:
    """Reads pages under the settings of one graph."""

    def __init__(self, settings: Settings, days: JournalDays) -> None:
        self.settings = settings
        self.days = days

    def read(self, path: str, text: str, front: FrontMatter) -> Note:
        """The note in this file (see Rules.parse)."""
        reading = _Reading(self, text)
        if path.lower().endswith(".org"):
            page = org_page(text)
            reading.page_properties(page.properties)
            reading.blocks = page.blocks
            reading.seen = page.seen
        else:
            reading.outline(front)
        return reading.note(path, front)

    def title(self, path: str, written: str) -> tuple[str, str | None]:
        """The page's title and its day if it is a journal; `written` is a title in its properties."""
        written = written if names.canonical(written) else ""
        # Logseq 2 writes mirrors of its database in the newer format, whatever the settings say.
        lowbar = self.settings.triple_lowbar or path.startswith(MIRROR)
        title = written.strip() or names.title_from_path(path, triple_lowbar=lowbar) or path
        day = self.days.day(title.strip().strip("/"))
        journals = f"{self.settings.journals}/", f"{MIRROR}journals/"
        if day is None and not written and path.startswith(journals):
            day = self.days.day_of_file(path.rpartition("/")[2].rpartition(".")[0])
        if day:
            return self.days.title(day), day
        return title.strip().strip("/") or title, None


class _Reading:
    """Collects the contents of one page."""

    def __init__(self, reader: PageReader, text: str) -> None:
        self.reader = reader
        self.text = text
        self.seen = Masks(text, text)
        self.blocks: list[Block] = []
        self.properties: dict[str, Value] = {}
        self.property_links: list[Link] = []
        self.at_top: set[int] = set()  # lines of page properties

    def outline(self, front: FrontMatter) -> None:
        start = front.body
        if start:
            self.yaml(front)
        self.seen = masks(self.text, start)
        self.blocks = outline(self.text, self.seen.shape, start)
        if self.blocks and self.blocks[0].level == 0:
            self.page_properties(_at_the_top(self.blocks[0]))

    def yaml(self, front: FrontMatter) -> None:
        for field in yaml_properties(self.text[: front.body], front.properties):
            self.properties[field.key] = field.value
            if field.key in self.reader.settings.comma_properties:
                listed = properties.list_names(field.source)
                self.properties[field.key] = list(listed)
                self._list_links(field.key, listed, field.line)
            elif field.has_references:
                self._reference_links(field.key, references(field.source), field.line)

    def page_properties(self, lines: Iterable[Property]) -> None:
        for field in lines:
            self.at_top.add(field.line)
            if field.value:
                self.properties[field.key] = self._value(field)

    def _value(self, field: Property) -> Value:
        if field.key in self.reader.settings.comma_properties:
            return list(properties.list_names(field.value))
        if properties.is_own(field.key):
            return properties.parse_value(field.value, ()) if field.key != "title" else field.value
        visible = self.seen.references
        return properties.parse_value(
            field.value,
            (
                ref.path
                for ref in references(visible, field.start, field.end)
                if ref.kind != "block"
            ),
        )

    def _links_of(self, field: Property) -> None:
        settings = self.reader.settings
        if field.key in settings.comma_properties:
            self._list_links(field.key, properties.list_names(field.value), field.line)
        elif not (
            properties.is_own(field.key)
            or properties.is_quoted(field.value)
            or field.key in settings.plain_properties
        ):
            refs = references(self.seen.references, field.start, field.end)
            self._reference_links(field.key, refs, field.line)

    def _list_links(self, key: str, listed: Iterable[str], line: int) -> None:
        if key in _ALIAS_KEYS:
            return
        for name in filter(names.canonical, listed):
            self.property_links.append(
                Link("property", name, None, None, line, self.reader.days.key(name))
            )

    def _reference_links(self, key: str, refs: Iterable[Reference], line: int) -> None:
        if key in _ALIAS_KEYS or properties.is_own(key):
            return
        for ref in refs:
            kind = "block" if ref.kind == "block" else "property"
            self.property_links.append(
                Link(kind, ref.path, None, ref.display, line, self._key(ref))
            )

    def _key(self, ref: Reference) -> str:
        return f"(({ref.path}))" if ref.kind == "block" else self.reader.days.key(ref.path)

    def _text_links(self) -> list[Link]:
        """The references in the text, property values left out."""
        visible = self.seen.references
        if not ("[" in visible or "#" in visible or "((" in visible or "{{" in visible):
            return []
        values = [(field.start, field.end) for block in self.blocks for field in block.properties]
        begin = self.blocks[0].start if self.blocks else 0
        line, counted = 1, 0
        results = []
        for start, end in _between(values, begin, len(visible)):
            for ref in references(visible, start, end):
                line += visible.count("\n", counted, ref.start)
                counted = ref.start
                key = self._key(ref)
                link = Link(ref.kind, ref.path, None, ref.display, line, key, ref.start, ref.end)
                results.append(link)
        return results

    def note(self, path: str, front: FrontMatter) -> Note:
        for block in self.blocks:
            for field in block.properties:
                self._links_of(field)
        text_links = self._text_links()
        title, day = self.reader.title(path, str(self.properties.get("title") or ""))
        aliases = self._aliases(title)
        alias_keys = {self.reader.days.key(alias) for alias in aliases}
        page = self.reader.days.key(title)
        links = [
            link._replace(kind="self") if link.key == page else link
            for link in (*self.property_links, *text_links)
            if link.key not in alias_keys
        ]
        open_tasks, dated = tasks(self.blocks, self.reader.days.day)
        return Note(
            title=title,
            pieces=pieces(self.blocks),
            properties=self.properties,
            frontmatter_error=front.error,
            aliases=aliases,
            tags=self._tags(text_links),
            headings=tuple(
                Heading(block.heading, block.title, block.line)
                for block in self.blocks
                if block.heading
            ),
            links=tuple(links),
            tasks=open_tasks,
            dates=dated,
            anchors=_anchors(self.blocks),
            journal=day,
            namespace=None if day else names.namespace(title),
        )

    def _aliases(self, title: str) -> tuple[str, ...]:
        title_key = self.reader.days.key(title)
        result: dict[str, str] = {}
        for key in _ALIAS_KEYS:
            for alias in _texts(self.properties.get(key)):
                if self.reader.days.key(alias) not in {title_key, ""}:
                    result.setdefault(self.reader.days.key(alias), alias)
        return tuple(result.values())

    def _tags(self, text_links: Iterable[Link]) -> tuple[str, ...]:
        """The page's tags, then those in its text, each in its first spelling."""
        result: dict[str, str] = {}
        for tag in _texts(self.properties.get("tags")):
            result.setdefault(names.canonical(tag), tag)
        for link in text_links:
            if link.kind == "tag":
                result.setdefault(names.canonical(link.path), link.path)
        return tuple(result.values())


def _texts(value: Value) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _at_the_top(preface: Block) -> list[Property]:
    """The property lines before any other text of the page."""
    first_text = preface.line_of(0) if preface.text else preface.end_line + 1
    return [field for field in preface.properties if field.line < first_text]


def _between(spans: Iterable[tuple[int, int]], begin: int, end: int) -> Iterable[tuple[int, int]]:
    for start, stop in spans:
        if start > begin:
            yield begin, start
        begin = max(begin, stop)
    yield begin, end


def _anchors(blocks: Iterable[Block]) -> Mapping[str, int]:
    result: dict[str, int] = {}
    for block in blocks:
        if block.id:
            result.setdefault(block.id, block.line)
    return result


# Org pages in their plain form: headings as blocks, drawers as properties (R-LS-21).

_START = re.compile(
    rf"^(\*++)[ \t]++(?:({MARKERS}) +(?=\S))?(?:\[#([ABC])\][ \t]*+)?(.*)", re.MULTILINE
)
_KEYWORD = re.compile(r"[ \t]*+#\+(\w[\w-]*+):[ \t]*+(.*)")
_DRAWER_LINE = re.compile(r"[ \t]*+:([^\s:]++):(?:[ \t]++(.*\S)|)[ \t]*+")
_SPECIAL = re.compile(r":|^[ \t]*+#\+", re.MULTILINE)
_CODE = re.compile(
    r"^[ \t]*+#\+BEGIN_(?:SRC|EXAMPLE|QUERY|EXPORT|COMMENT).*\n"
    r"(?>(?:(?![ \t]*+#\+(?:BEGIN|END)_).*\n)*)[ \t]*+#\+END_\w++[ \t]*+$"
    r"|^[ \t]*+:(?:LOGBOOK|PROPERTIES):[ \t]*+\n"
    r"(?>(?:(?!\*++[ \t]|[ \t]*+:(?:LOGBOOK|PROPERTIES|END):).*\n)*)"
    r"[ \t]*+:END:[ \t]*+$"
    r"|(?<![\w=~])([=~])(?=\S)(?>(?:(?!\1)[^\n])+)(?<=\S)\1(?![=~])|\$\$[^$]++\$\$",
    re.MULTILINE | re.IGNORECASE,
)
_HASH_PLUS = re.compile(r"#\+(?=\w)")
_LINK = re.compile(r"\[\[([^\[\]\n]++)\]\[([^\[\]\n]++)\]\]")
_EXTERNAL = re.compile(r"[a-zA-Z][\w+.-]*+:")
_TAGS = re.compile(r"[ \t]++:[\w@#%:]++:[ \t]*+$")


class OrgPage(NamedTuple):
    """The contents of an org file."""

    properties: list[Property]  # of the page
    blocks: list[Block]
    seen: Masks


def org_page(text: str) -> OrgPage:
    """The outline of an org file."""
    shape = _CODE.sub(lambda code: blanks(code[0]), text)
    seen = Masks(_LINK.sub(_as_page_link, _HASH_PLUS.sub("  ", shape)), shape)
    starts = list(_START.finditer(shape))
    first = starts[0].start() if starts else len(text)
    body = _OrgBody(0)
    body.read(text[:first], shape[:first], 1, 0)
    preface, lines = join_rows(body.rows, body.numbers)
    blocks = []
    if first:
        end_line = text[:first].rstrip().count("\n") + 1
        blocks.append(Block(0, preface, 1, end_line, 0, id=block_id(body.properties), lines=lines))
    line = text.count("\n", 0, first) + 1
    levels = Levels()
    for index, start in enumerate(starts):
        end = starts[index + 1].start() if index + 1 < len(starts) else len(text)
        blocks.append(
            _block(text[start.start() : end], shape[start.start() : end], start, line)._replace(
                level=levels.level(len(start[1]))
            )
        )
        line += text.count("\n", start.start(), end)
    return OrgPage(body.properties, blocks, seen)


def _block(raw: str, shape: str, start: re.Match[str], line: int) -> Block:
    first, _, rest = raw.partition("\n")
    title = _TAGS.sub("", first[start.start(4) - start.start() :]).strip()
    body = _OrgBody(len(start[1]) + 1)
    offset = len(first) + 1
    body.read(rest, shape[offset:], line + 1, start.start() + offset)
    text, lines = join_rows([title, *body.rows], [line, *body.numbers])
    return Block(
        1, text, line, line + raw.rstrip().count("\n"), start.start(), title,
        block_id(body.properties), start[2], start[3], 0, True, tuple(body.properties),
        body.scheduled, body.deadline, lines,
    )  # fmt: skip


class _OrgBody(Body):
    """The lines below an org heading; properties are in a drawer or after "#+"."""

    special = _SPECIAL

    def __init__(self, indent: int) -> None:
        super().__init__(indent)
        self.drawer = ""

    def take(self, raw: str, visible: str, line: int, offset: int) -> None:
        name = raw.strip().upper()
        hidden = not visible.strip()
        if self.drawer:
            self._in_drawer(raw, name, line, offset)
        elif hidden and name in {":PROPERTIES:", ":LOGBOOK:"}:
            self.drawer = name
        elif DATE_LINE.match(visible):
            self.date(visible)
        elif not self.indent and (match := _KEYWORD.fullmatch(visible)):
            self._add(match, raw, line, offset)
        else:
            self.rows.append(self.unindented(raw))
            self.numbers.append(line)

    def _in_drawer(self, raw: str, name: str, line: int, offset: int) -> None:
        if name == ":END:":
            self.drawer = ""
        elif self.drawer == ":PROPERTIES:" and (match := _DRAWER_LINE.fullmatch(raw)):
            self._add(match, raw, line, offset)

    def _add(self, match: re.Match[str], raw: str, line: int, offset: int) -> None:
        value = (match[2] or "").strip()
        begin = offset + (match.start(2) if match[2] else len(raw))
        key = properties.key_of(match[1])
        self.properties.append(Property(key, value, line, begin, begin + len(value)))


def _as_page_link(link: re.Match[str]) -> str:
    """Write a labelled link the way Markdown pages do, in as many characters."""
    target, label = link[1], link[2]
    if target.lower().startswith("file:") and target.lower().endswith((".org", ".md", ".markdown")):
        return f"[[{label}]]".rjust(len(link[0]))
    if target.lower().startswith("id:"):
        return f"(({target[3:]}))".ljust(len(link[0]))
    if _EXTERNAL.match(target):
        return " " * len(link[0])
    return f"[[{target}]]".ljust(len(link[0]))
