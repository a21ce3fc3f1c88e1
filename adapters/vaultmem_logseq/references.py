"""References in text (R-LS-4 to R-LS-10), and masks that blank out what Logseq ignores: code, maths, log books."""

from __future__ import annotations

import re

from vaultmem.adapter.scan import blank_hidden, blanks
from vaultmem.light import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

_FENCE = re.compile(r"^[ \t>]*+(?:-[ \t]++)?(`{3,}+|~{3,}+)(.*)$", re.MULTILINE)
_LOGBOOK = re.compile(
    r"^[ \t]*+:LOGBOOK:[ \t]*+\n"
    r"(?>(?:(?![ \t]*+(?:-[ \t]|:LOGBOOK:|:END:)).*\n)*)[ \t]*+:END:[ \t]*+$",
    re.MULTILINE | re.IGNORECASE,
)
_CONTAINER = re.compile(
    r"^[ \t]*+(?:-[ \t]++)?#\+BEGIN_(\w++).*\n"
    r"((?>(?:(?![ \t]*+#\+(?:BEGIN|END)_).*\n)*))[ \t]*+#\+END_\w++[ \t]*+$",
    re.MULTILINE | re.IGNORECASE,
)
_KEYWORD = re.compile(r"^[ \t]*+(?:-[ \t]++)?#\+\w++", re.MULTILINE)  # "#+END_QUOTE" is not a tag
_NO_REFERENCES = frozenset({"SRC", "EXAMPLE", "QUERY", "EXPORT", "COMMENT"})
_REPAIRS = 3


class Masks(NamedTuple):
    """The text twice, with different parts blanked; offsets and lines are those of the text."""

    references: str  # for finding links and tags
    shape: str  # for finding blocks, property lines and date lines


def masks(text: str, start: int = 0) -> Masks:
    """Both masks of a page whose body begins at `start`."""
    references = _without_code(text, start)
    if ":end:" in references or ":END:" in references:
        references = _LOGBOOK.sub(lambda book: blanks(book[0]), references)
    if "#+" not in references:
        return Masks(references, references)
    shape = _CONTAINER.sub(_blank_body, references)
    references = _CONTAINER.sub(_blank_code_body, references)
    return Masks(_KEYWORD.sub(lambda word: word[0].replace("#", " "), references), shape)


def _without_code(text: str, start: int) -> str:
    """Blank out code; an unclosed fence is plain text in Logseq, unlike in Obsidian."""
    if "```" in text or "~~~" in text:
        position = start
        for _ in range(_REPAIRS):
            fence = _open_fence(text, position)
            if fence is None:
                break
            begin, position = fence.span(1)
            text = text[:begin] + " " * (position - begin) + text[position:]
    return blank_hidden(text, start)


def _open_fence(text: str, start: int) -> re.Match[str] | None:
    """The fence that is still open at the end of the text."""
    opened = None
    for fence in _FENCE.finditer(text, start):
        if opened is None:
            opened = None if "`" in fence[2] else fence
        elif fence[1].startswith(opened[1]) and not fence[2].strip():
            opened = None
    return opened


def _blank_body(container: re.Match[str]) -> str:
    begin, end = container.start(2) - container.start(), container.end(2) - container.start()
    whole = container[0]
    return whole[:begin] + blanks(whole[begin:end]) + whole[end:]


def _blank_code_body(container: re.Match[str]) -> str:
    return _blank_body(container) if container[1].upper() in _NO_REFERENCES else container[0]


UUID = r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"
_PLAIN = r"[^\[\]\n]|\[(?!\[)|\](?!\])"
_PAGE = rf"(?>(?:{_PLAIN})+)"
_NESTED = rf"(?>(?:{_PLAIN}|\[\[(?>(?:{_PLAIN}|\[\[{_PAGE}\]\])*)\]\])+)"
_TAG_PART = r"[^\s#!?\"',:.;]"

# Every branch begins with a plain character: the regex engine then skips ordinary text quickly.
_TOKEN = re.compile(
    rf"\\[\\\[#({{]"
    r"|\[#[A-Za-z]\]"  # a priority
    rf"|\[\[(?P<page>{_PAGE})\]\]"
    rf"|\[\[(?P<nested>{_NESTED})\]\]"
    rf"|\[(?P<label>(?>(?:[^\[\]\n]|\[[^\[\]\n]*+\])*))\]\((?:\[\[(?P<to_page>{_PAGE})\]\]|\(\((?P<to_block>{UUID})\)\)"
    r"|(?P<to_file>[^()\n]*+(?>(?:\([^()\n]*+\)[^()\n]*+)*)))\)"
    rf"|#\[\[(?P<tag_page>{_PAGE})\]\]"
    rf"|#\[\[(?P<tag_nested>{_NESTED})\]\]"
    rf"|#(?!\[\[)(?P<tag>{_TAG_PART}++(?>(?:[.;]++{_TAG_PART}++)*))"
    rf"|\(\((?P<block>{UUID})\)\)"
    r"|\{\{(?P<macro>(?>(?:[^{}\n]|\}(?!\})|\{(?!\{))*))\}\}"
)
_INNER = re.compile(rf"\[\[(?P<page>{_PAGE})\]\]|\[\[(?P<nested>{_NESTED})\]\]")
_EMBEDDED = re.compile(rf"embed[ \t]++(?:\[\[(?P<page>{_NESTED})\]\]|\(\((?P<block>{UUID})\)\))")
# Logseq reads no tags inside emphasis and HTML tags.
_NO_TAGS = re.compile(
    r"\*\*[^*\n]++\*\*|(?<![\w*])\*[^*\s][^*\n]*+\*|(?<!\w)__[^_\n]++__|(?<!\w)_[^_\s][^_\n]*+_(?!\w)"
    r"|~~[^~\n]++~~|\^\^[^^\n]++\^\^|==[^=\n]++==|<[a-zA-Z/!][^<>\n]*+>(?:[^<\n]*+</[^<>\n]*+>)?"
)
_MARKDOWN_FILE = re.compile(
    r"<?(?![a-zA-Z][\w+.-]*+:)[^<>\"]*?\.(?:md|markdown)>?(?:\s++\"[^\"]*+\"\s*+)?", re.IGNORECASE
)
_ASSET = re.compile(r"[./]*+(?:assets|draws)/")
_RUN_LIMIT = 2_000


class Reference(NamedTuple):
    """One reference in the text."""

    kind: str  # wikilink, tag, embed, markdown, block
    path: str  # the page name or the block's uuid
    display: str | None
    start: int
    end: int


def references(text: str, start: int = 0, end: int | None = None) -> Iterator[Reference]:
    """The references between two offsets of a text whose code is blanked, in order."""
    stop = len(text) if end is None else end
    no_tags: _NoTags | None = None
    for token in _TOKEN.finditer(text, start, stop):
        kind = token.lastgroup
        if kind == "page":
            yield from _page("wikilink", token["page"], None, token)
        elif kind == "tag":
            no_tags = no_tags or _NoTags(text)
            if not no_tags.at(token.start()):
                yield from _page("tag", token["tag"], None, token)
        elif kind == "tag_page":
            yield from _page("tag", token["tag_page"], None, token)
        elif kind == "block":
            yield Reference("block", token["block"].lower(), None, *token.span())
        elif kind is not None:
            yield from _rarer(kind, token)


def _rarer(kind: str, token: re.Match[str]) -> Iterator[Reference]:
    if kind == "macro":
        yield from _macro(token)
    elif kind == "to_page":
        yield from _page("markdown", token["to_page"], token["label"], token)
    elif kind == "to_block":
        yield Reference("block", token["to_block"].lower(), token["label"], *token.span())
    elif kind == "to_file":
        if _MARKDOWN_FILE.fullmatch(token["to_file"].strip()):
            yield from _page("markdown", token["label"], token["label"], token)
    else:  # a link in a link
        name = "wikilink" if kind == "nested" else "tag"
        yield from _page(name, token[kind], None, token)
        yield from _inside(token[kind], token.start(kind))


def _page(kind: str, name: str, display: str | None, token: re.Match[str]) -> Iterator[Reference]:
    path = name.strip()
    if path.strip("/ ") and not _ASSET.match(path):
        yield Reference(kind, path, display, *token.span())


def _inside(content: str, offset: int) -> Iterator[Reference]:
    for token in _INNER.finditer(content):
        kind = token.lastgroup or "page"
        if (path := token[kind].strip()).strip("/ "):
            yield Reference("wikilink", path, None, offset + token.start(), offset + token.end())
        if kind == "nested":
            yield from _inside(token[kind], offset + token.start(kind))


def _macro(token: re.Match[str]) -> Iterator[Reference]:
    """Of all macros only `embed` refers to anything; queries are searches."""
    embedded = _EMBEDDED.match(token["macro"].lstrip("{ "))
    if embedded is None:
        return
    if embedded["block"]:
        yield Reference("block", embedded["block"].lower(), None, *token.span())
    else:
        yield from _page("embed", embedded["page"], None, token)


class _NoTags:
    """Finds whether a "#" is in a URL, in emphasis or in an HTML tag."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.has_urls = "://" in text
        self.line_end = -1
        self.spans: list[tuple[int, int]] = []

    def at(self, offset: int) -> bool:
        return (self.has_urls and self._in_url(offset)) or self._in_markup(offset)

    def _in_url(self, offset: int) -> bool:
        run = self.text[max(0, offset - _RUN_LIMIT) : offset]
        return not run[-1:].isspace() and "://" in run and "://" in run.split()[-1]

    def _in_markup(self, offset: int) -> bool:
        if offset >= self.line_end:
            begin = self.text.rfind("\n", 0, offset) + 1
            end = self.text.find("\n", offset)
            self.line_end = end if end >= 0 else len(self.text)
            matches = _NO_TAGS.finditer(self.text, begin, self.line_end)
            self.spans = [match.span() for match in matches][::-1]
        while self.spans and self.spans[-1][1] <= offset:
            self.spans.pop()
        return bool(self.spans) and self.spans[-1][0] < offset
