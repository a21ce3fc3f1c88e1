"""Finding links: wikilinks, Markdown links and embeds in the text, and links in properties."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote

from vaultmem.adapter import Link
from vaultmem.adapter.scan import line_at
from vaultmem_obsidian.targets import composed, link_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from vaultmem.adapter import FrontMatter, Value

_INNER = r"\[\[(?!\[)((?:[^\[\]\n]|\[(?!\[)|\](?!\]))++)\]\]"
_DESTINATION = (
    r"\([ \t]*+(?:<([^<>\n]*+)>|((?:[^\s()\\<]|\\.|(?<!\()<|\((?:[^\s()\\]|\\.)*+\))++))"
    r"(?:[ \t]++(?:\"(?:[^\"\\\n]|\\.)*+\"|'(?:[^'\\\n]|\\.)*+'|\((?:[^()\\\n]|\\.)*+\)))?[ \t]*+\)"
)
_TOKEN = re.compile(rf"\\.|{_INNER}|\[|\](?:{_DESTINATION})?")
_WHOLE = re.compile(rf"!?(?:{_INNER}|\[([^\[\]\n]*+)\]{_DESTINATION})")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*+:|//")
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
_LONGEST_TEXT = 2000  # characters between the brackets of a Markdown link


class Found(NamedTuple):
    """The links of a text, and the offsets of everything that is a link, external ones included."""

    links: list[Link]
    spans: list[tuple[int, int]]


def find_links(text: str, plain: str, body: int, starts: list[int]) -> Found:
    """All links of the body in order; `plain` is the text without code, maths and comments."""
    if plain.find("[", body) < 0:
        return Found([], [])
    finder = _Finder(text, plain, starts)
    for token in _TOKEN.finditer(plain, body):
        finder.take(token)
    if finder.disorder:
        finder.links.sort(key=lambda link: link.start)
        finder.spans.sort()
    return Found(finder.links, finder.spans)


def property_links(text: str, front: FrontMatter) -> list[Link]:
    """The properties whose whole value is one link, in the order of the file (R-LINK-22)."""
    if text.find("[", 0, front.body) < 0:
        return []
    links = []
    position = 0
    for value in _texts(front.properties.values()):
        stripped = value.strip()
        if not stripped.endswith(("]]", ")")) or not (match := _WHOLE.fullmatch(stripped)):
            continue
        inner, label, angled, bare = match.groups()
        if inner is not None:
            parts = split_wikilink(inner)
        else:
            parts = split_destination(angled if angled is not None else bare, label)
        if parts is None:
            continue
        at = max(text.find(stripped, position, front.body), position)
        line = text.count("\n", 0, at) + 1
        links.append(Link("frontmatter", *parts, line, link_key(parts[0])))
        position = at
    return links


def split_wikilink(inner: str) -> tuple[str, str | None, str | None] | None:
    """Path, subpath and display of what stands between the brackets; None when it has no target."""
    target, bar, display = inner.partition("|")
    if bar and target.endswith("\\"):
        target = target[:-1]  # in a table the bar is written \| (R-LINK-20)
    return _split(target, display)


def split_destination(written: str, text: str) -> tuple[str, str | None, str | None] | None:
    """The same for a Markdown link; None when it leads out of the vault."""
    if not written or _SCHEME.match(written):
        return None
    if "\\" in written:
        written = _ESCAPED.sub(r"\1", written)
    if "%" in written:
        try:
            written = unquote(written, errors="strict")
        except UnicodeDecodeError:  # not UTF-8: the name is meant as it stands
            return _split(written, text)
    return _split(written, text)


def _split(target: str, display: str) -> tuple[str, str | None, str | None] | None:
    path, mark, rest = target.partition("#")
    path = composed(path).strip()
    subpath = (mark + rest).strip() if mark else None
    if not path and (subpath or "#") == "#":
        return None
    return path, subpath, display.strip() or None


class _Finder:
    """Open brackets on a stack; what closes one with a destination is a Markdown link."""

    def __init__(self, text: str, plain: str, starts: list[int]) -> None:
        self.text = text
        self.plain = plain
        self.starts = starts
        self.links: list[Link] = []
        self.spans: list[tuple[int, int]] = []
        self.open: list[int] = []
        self.dead = 0  # so many of the open brackets hold a link already and cannot be one
        self.disorder = False

    def take(self, token: re.Match[str]) -> None:
        first = token[0][0]
        if token[1] is not None:
            self._wikilink(token)
        elif first == "[":
            self.open.append(token.start())
        elif first == "]" and self.open:
            start = self.open.pop()
            alive = len(self.open) >= self.dead
            self.dead = min(self.dead, len(self.open))
            if token.end() > token.start() + 1:
                self._markdown(start, token, alive)

    def _begin(self, bracket: int) -> int:
        """Where the link begins: at the "!" of an embed, unless that is escaped."""
        plain = self.plain
        if bracket and plain[bracket - 1] == "!" and plain[bracket - 2 : bracket - 1] != "\\":
            return bracket - 1
        return bracket

    def _wikilink(self, token: re.Match[str]) -> None:
        parts = split_wikilink(self.text[token.start(1) : token.end(1)])
        if parts:
            begin = self._begin(token.start())
            self._add("wikilink", begin, token, parts)

    def _markdown(self, bracket: int, token: re.Match[str], alive: bool) -> None:
        begin = self._begin(bracket)
        if begin == bracket and not alive:
            return
        label = self.text[bracket + 1 : token.start()]
        if len(label) > _LONGEST_TEXT or "\n\n" in label:
            return
        if begin == bracket:
            self.dead = len(self.open)
        angled = token[2]
        parts = split_destination(angled if angled is not None else token[3], label)
        if parts:
            self._add("markdown", begin, token, parts)
        else:
            self._span(begin, token.end())

    def _add(
        self, kind: str, begin: int, token: re.Match[str], parts: tuple[str, str | None, str | None]
    ) -> None:
        if self.plain[begin] == "!":
            kind = "embed"
        self._span(begin, token.end())
        line = line_at(self.starts, begin)
        self.links.append(Link(kind, *parts, line, link_key(parts[0]), begin, token.end()))

    def _span(self, begin: int, end: int) -> None:
        if self.spans and begin < self.spans[-1][0]:
            self.disorder = True
        self.spans.append((begin, end))


def _texts(values: Iterable[Value]) -> Iterator[str]:
    for value in values:
        if isinstance(value, str):
            yield value
        elif isinstance(value, list):
            yield from _texts(value)
        elif isinstance(value, dict):
            yield from _texts(value.values())
