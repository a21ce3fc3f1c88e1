"""Org pages in their plain form: headings as blocks, drawers as properties (R-LS-21)."""

from __future__ import annotations

import re

from vaultmem.adapter.scan import blanks
from vaultmem.light import NamedTuple
from vaultmem_logseq import properties, tasks
from vaultmem_logseq.outline import MARKERS, Block, Body, Levels, block_id, join_rows
from vaultmem_logseq.properties import Property
from vaultmem_logseq.references import Masks

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


def page(text: str) -> OrgPage:
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
        elif tasks.DATE_LINE.match(visible):
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
