"""The words of the page: English in the code, other languages in a table each; and the text of notes, made harmless."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import quote, unquote

import nh3
from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token

from vaultmem.output import TURNING
from vaultmem.text.values import toml_table

LANGUAGES = {"en": "English", "zh": "中文"}


def language_of(wanted: str) -> str:
    """The first language of an Accept-Language that we speak."""
    for part in wanted.lower().split(","):
        if (name := re.split(r"[;-]", part.strip())[0]) in LANGUAGES:
            return name
    return "en"


class Translator:
    """Says things in one language."""

    def __init__(self, language: str) -> None:
        self.language = language
        self._table: Mapping[str, str] = (
            {} if language == "en" else toml_table("vaultmem_web", language)
        )

    def __call__(self, text: str, **values: object) -> str:
        """A text, with its values filled in. What the table lacks is English."""
        known = self._table.get(text, text)
        return known.format(**values) if values else known


# The text of notes and memories as HTML: Markdown without HTML of its own, with breaks as editors show them, and then a
# sanitiser (owner of markdown-it and nh3). What stands in a note is data, whoever wrote it.

_SCHEMES = {"http", "https", "mailto", "obsidian", "logseq"}
_TAGS = nh3.ALLOWED_TAGS - {"img", "map", "area", "center"}  # no image is loaded from anywhere
_TURNS = re.compile(f"[{''.join(map(chr, TURNING))}]")
_ELSEWHERE = re.compile(r"[\w+.-]+:|[/#]")
_WIKILINK = re.compile(r"!?\[\[([^\[\]|#]+)(?:#[^\[\]|]*)?(?:\|([^\[\]]*))?\]\]")


class Clean:
    """HTML that was cleaned, as htpy takes it."""

    def __init__(self, html: str) -> None:
        self._html = html

    def __html__(self) -> str:
        return self._html


def prose(text: str, links: Mapping[str, str] | None = None) -> Clean:
    """A text as HTML that can do nothing. `links`: the notes that its links mean, where these are known."""
    made = _markdown.render(text, {"links": links})
    clean = nh3.clean(made, tags=_TAGS, url_schemes=_SCHEMES, link_rel="noopener noreferrer")
    return Clean(in_order(clean))


def in_order(text: str) -> str:
    """A text in which nothing turns a line around: a person approves what an assistant is going to read."""
    return _TURNS.sub("\ufffd", text)


def _link_notes(state: StateCore) -> None:
    """Links to notes lead to their pages, and headings stand below that of the page."""
    links = state.env["links"]
    for block in state.tokens:
        if block.type in ("heading_open", "heading_close"):
            block.tag = f"h{min(6, int(block.tag[1]) + 1)}"
        if block.type == "inline" and block.children:
            block.children = [new for one in block.children for new in _parted(one, links)]


def _parted(token: Token, links: Mapping[str, str] | None) -> list[Token]:
    if token.type == "link_open" and not _ELSEWHERE.match(address := str(token.attrs["href"])):
        token.attrs = _to_note(unquote(address).partition("#")[0], links)
    if token.type != "text" or "[[" not in token.content:
        return [token]
    # after the first: a name, what is shown, and the text up to the next
    first, *pieces = _WIKILINK.split(token.content)
    parts = [_text(first)]
    for name, label, after in zip(*[iter(pieces)] * 3, strict=True):
        link = Token("link_open", "a", 1, attrs=_to_note(name.strip(), links))
        end = Token("link_close", "a", -1)
        parts += [link, _text((label or name).strip()), end, _text(after)]
    return parts


def _to_note(name: str, links: Mapping[str, str] | None) -> dict[str, str | int | float]:
    path = name if links is None else links.get(name)
    return {"href": f"/ui/note?path={quote(path)}"} if path else {}


def _text(content: str) -> Token:
    return Token("text", "", 0, content=content)


_markdown = MarkdownIt("commonmark", {"html": False, "breaks": True}).enable(
    ["table", "strikethrough"]
)
_markdown.core.ruler.push("notes", _link_notes)
