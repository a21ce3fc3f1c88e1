"""Finds links: wikilinks, Markdown links and embeds in the text, and links in properties."""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import lru_cache
from urllib.parse import unquote

from vaultmem.adapter import Link, Properties
from vaultmem.adapter.scan import blanks, line_at
from vaultmem.light import TYPE_CHECKING
from vaultmem_obsidian.habits import compose, fold

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from vaultmem.adapter import FrontMatter, Value


def link_key(path: str) -> str:
    """The key of a link: its last segment, or "/", which is no file's name."""
    if not path:
        return ""
    return fold(path.rpartition("/")[2]) or "/"


def choose(path: str, source: str, candidates: Sequence[str]) -> str | None:
    """The target among files whose name matches the last segment (R-LINK-4 to 9)."""
    folder = fold(path.rpartition("/")[0])
    home = source.rpartition("/")[0]
    if path.startswith("/"):
        folder_key = _plain(folder)
        return _first([c for c in candidates if _folder(c) == folder_key])
    if path.startswith(("./", "../")):
        folder_key = _plain(f"{fold(home)}/{folder}")
        return _first([c for c in candidates if _folder(c) == folder_key])
    folder_key = _plain(folder)
    exact = [c for c in candidates if _folder(c) == folder_key]
    if exact:
        return _first(exact)
    if folder_key:
        ending = "/" + folder_key
        candidates = [c for c in candidates if _folder(c).endswith(ending)]
    inside = home + "/"
    near = [c for c in candidates if c.startswith(inside)] if home else []
    return _first(near or candidates)


@lru_cache(maxsize=1 << 15)  # every link to a common name compares all its files
def _folder(path: str) -> str:
    return fold(path.rpartition("/")[0])


def _plain(folder: str) -> str:
    """A folder without "." and ".."; what leads above the vault stays in its root."""
    rest: list[str] = []
    for part in folder.split("/"):
        if part == "..":
            del rest[-1:]
        elif part and part != ".":
            rest.append(part)
    return "/".join(rest)


def _first(paths: Sequence[str]) -> str | None:
    """The fewest characters, not the fewest folders; then the first by code point."""
    return min(paths, key=lambda path: (len(path), path), default=None)


_INNER = r"\[\[(?!\[)((?>(?:[^\[\]\n]|\[(?!\[)|\](?!\]))+))\]\]"
_DESTINATION = (
    r"\([ \t]*+(?:<([^<>\n]*+)>|((?>(?:[^\s()\\<]|\\.|(?<!\()<|\((?>(?:[^\s()\\]|\\.)*)\))+)))"
    r"(?:[ \t]++(?:\"(?>(?:[^\"\\\n]|\\.)*)\"|'(?>(?:[^'\\\n]|\\.)*)'|\((?>(?:[^()\\\n]|\\.)*)\)))?[ \t]*+\)"
)
_TOKEN = re.compile(rf"\\.|{_INNER}|\[|\](?:{_DESTINATION})?")  # and what is escaped
_WHOLE = re.compile(rf"!?(?:{_INNER}|\[([^\[\]\n]*+)\]{_DESTINATION})")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*+:|//")
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
_LONGEST_TEXT = 2000  # characters between the brackets of a Markdown link


def find_links(
    text: str, plain: str, body: int, starts: list[int]
) -> tuple[list[Link], list[tuple[int, int]]]:
    """All links of the body in order, and the spans of all links, external ones included; `plain` is the text without
    code, maths and comments."""
    finder = _Finder(text, plain, starts)
    for token in _TOKEN.finditer(plain, body) if "]" in plain else ():
        finder.take(token)
    if finder.disorder:
        finder.links.sort(key=lambda link: link.start)
        finder.spans.sort()
    return finder.links, finder.spans


def property_links(text: str, front: FrontMatter) -> list[Link]:
    """The properties whose whole value is one link, in the order of the file (R-LINK-22)."""
    if text.find("[", 0, front.body) < 0:
        return []
    links = []
    position = 0
    for value in _strings(front.properties.values()):
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
    """The path, subpath and display text of a wikilink's content; None if it has no target."""
    target, bar, display = inner.partition("|")
    if bar and target.endswith("\\"):
        target = target[:-1]  # in a table the bar is written \| (R-LINK-20)
    return _split(target, display)


def split_destination(written: str, text: str) -> tuple[str, str | None, str | None] | None:
    """The same for a Markdown link; None if it leads out of the vault."""
    if not written or _SCHEME.match(written):
        return None
    if "\\" in written:
        written = _ESCAPED.sub(r"\1", written)
    if "%" in written:
        try:
            written = unquote(written, errors="strict")
        except UnicodeDecodeError:  # not UTF-8: the name is taken literally
            return _split(written, text)
    return _split(written, text)


def _split(target: str, display: str) -> tuple[str, str | None, str | None] | None:
    path, mark, rest = target.partition("#")
    path = compose(path).strip()
    subpath = (mark + rest).strip() if mark else None
    if not path and (subpath or "#") == "#":
        return None
    return path, subpath, display.strip() or None


class _Finder:
    """Keeps open brackets on a stack; a closing one with a destination makes a Markdown link."""

    def __init__(self, text: str, plain: str, starts: list[int]) -> None:
        self.text = text
        self.plain = plain
        self.starts = starts
        self.links: list[Link] = []
        self.spans: list[tuple[int, int]] = []
        self.open: list[int] = []
        self.dead = 0  # the number of open brackets that already hold a link and cannot be one
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
        if parts := split_wikilink(self.text[token.start(1) : token.end(1)]):
            self._add("wikilink", self._begin(token.start()), token, parts)

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


def _strings(values: Iterable[Value]) -> Iterator[str]:
    for value in values:
        if isinstance(value, str):
            yield value
        elif isinstance(value, list | dict):
            yield from _strings(value if isinstance(value, list) else value.values())


# R-TAG-1. The "#" stands first so that the search can jump from one to the next.
_TAG = re.compile(r"#(?<!\S#)([^\s'\"!#$%&()*+,.:;<=>?@^`{|}~\[\]\\\u2000-\u206f\u2e00-\u2e7f]+)")
_HTML = re.compile(r"</?[A-Za-z][^<>\n]*+>")
_SEPARATORS = re.compile(r"[,，\s]+")


def find_tags(plain: str, body: int, links: list[tuple[int, int]]) -> list[str]:
    """The tags of the body as written; `plain` has no code, `links` are the spans of all links."""
    if plain.find("#", body) < 0:
        return []
    if "<" in plain:
        plain = _HTML.sub(lambda html: blanks(html[0]), plain)
    results = []
    begins = [begin for begin, _ in links]
    for match in _TAG.finditer(plain, body):
        before = bisect_right(begins, match.start()) - 1
        if before >= 0 and match.start() < links[before][1]:
            continue
        if tag := _valid(match[1]):
            results.append(tag)
    return results


def merge_tags(tags: Iterable[str]) -> tuple[str, ...]:
    """The tags without duplicates, ignoring case, in their first spelling."""
    first: dict[str, str] = {}
    for tag in tags:
        first.setdefault(tag.lower(), tag)
    return tuple(first.values())


def property_tags(properties: Properties) -> list[str]:
    """The tags in `tags` or `tag`: a list, or text with commas or blanks (R-TAG-4)."""
    results: list[str] = []
    for value in _values(properties, ("tags", "tag")):
        words = _SEPARATORS.split(value) if isinstance(value, str) else _texts(value)
        results += [tag for word in words if (tag := _valid(word.strip().removeprefix("#")))]
    return results


def property_aliases(properties: Properties) -> tuple[str, ...]:
    """The names in `aliases` or `alias`: a list, or text with commas (R-ALIAS-2)."""
    results: list[str] = []
    for value in _values(properties, ("aliases", "alias")):
        names = value.split(",") if isinstance(value, str) else _texts(value)
        results += [name.strip() for name in names]
    return tuple(dict.fromkeys(name for name in results if name))


def _values(properties: Properties, keys: tuple[str, ...]) -> list[Value]:
    return [value for key, value in properties.items() if str(key).strip().lower() in keys]


def _texts(value: Value) -> list[str]:
    """The texts in a value, however nested: unquoted [[A]] is a list in a list in YAML."""
    if isinstance(value, list):
        return [text for item in value for text in _texts(item)]
    if isinstance(value, bool):
        return [str(value).lower()]
    return [str(value)] if isinstance(value, str | int | float) else []


def _valid(tag: str) -> str:
    """The tag without a trailing slash, or "" if it has only digits."""
    tag = tag.rstrip("/")
    return "" if tag.isascii() and tag.isdigit() else tag
