"""The texts of the page: English in the code, other languages in tables; and the sanitized text of notes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import quote, unquote

import nh3
from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token

from vaultmem.text.recurrence import DAILY, MONTHLY, WEEKLY, YEARLY, read_rule
from vaultmem.text.times import WEEKDAYS
from vaultmem.text.values import TURNING, toml_table

LANGUAGES = {"en": "English", "zh": "中文"}


def language_of(accepted: str) -> str:
    """The first supported language of an Accept-Language header."""
    for part in accepted.lower().split(","):
        if (name := re.split(r"[;-]", part.strip())[0]) in LANGUAGES:
            return name
    return "en"


class Translator:
    """Translates the texts of the page into one language."""

    def __init__(self, language: str) -> None:
        self.language = language
        self._table: Mapping[str, str] = (
            {} if language == "en" else toml_table("vaultmem_web", language)
        )

    def __call__(self, text: str, **values: object) -> str:
        """A translated text with its values filled in; English where the table lacks it."""
        translation = self._table.get(text, text)
        return translation.format(**values) if values else translation


_UNITS = {
    YEARLY: ("every year", "every {count} years"),
    MONTHLY: ("every month", "every {count} months"),
    WEEKLY: ("every week", "every {count} weeks"),
    DAILY: ("every day", "every {count} days"),
}


def rule_text(words: str, t: Translator) -> str:
    """The rule of something that repeats, in the language of the page; in its own words if it is not understood."""
    rule = None if t.language == "en" else read_rule(words)
    if rule is None:
        return words
    one, several = _UNITS[rule.unit]
    unit = t(one) if rule.interval == 1 else t(several, count=rule.interval)
    days = [t("month {n}", n=month) for month in rule.months]
    for weekday in rule.weekdays:
        day, n = t(WEEKDAYS[weekday.weekday]), weekday.n or 0
        nth = t("{day} {n} from the end" if n < 0 else "{day} {n}", day=day, n=abs(n))
        days.append(nth if n else day)
    days += [t("day {n} from the end" if n < 0 else "day {n}", n=abs(n)) for n in rule.month_days]
    limits = (
        rule.since and t("from {day}", day=rule.since),
        rule.times and t("{count} times", count=rule.times),
        rule.until and t("until {day}", day=rule.until),
        rule.when_done and t("counted from when it is done"),
    )
    listed = f"{unit}: {' '.join(days)}" if days else unit
    return ", ".join([listed, *(limit for limit in limits if limit)])


# The text of notes and memories as HTML: Markdown without embedded HTML, with line breaks as in editors, then
# sanitized (owner of markdown-it and nh3). The content of a note is data, whoever wrote it.

_SCHEMES = {"http", "https", "mailto", "obsidian", "logseq"}
_TAGS = nh3.ALLOWED_TAGS - {"img", "map", "area", "center"}  # no images are loaded
_TURNS = re.compile(f"[{''.join(map(chr, TURNING))}]")
_ELSEWHERE = re.compile(r"[\w+.-]+:|[/#]")
_WIKILINK = re.compile(r"(!?)\[\[([^\[\]|#]+)(?:#[^\[\]|]*)?(?:\|([^\[\]]*))?\]\]")


class Clean:
    """Sanitized HTML for htpy."""

    def __init__(self, html: str) -> None:
        self._html = html

    def __html__(self) -> str:
        return self._html


def prose(text: str, links: Mapping[str, str] | None = None) -> Clean:
    """A text as harmless HTML. `links`: the notes that its links refer to, where known."""
    made = _markdown.render(text, {"links": links})
    clean = nh3.clean(made, tags=_TAGS, url_schemes=_SCHEMES, link_rel="noopener noreferrer")
    return Clean(in_order(clean))


def in_order(text: str) -> str:
    """A text without bidirectional controls, so that a person approves exactly what an assistant will read."""
    return _TURNS.sub("\ufffd", text)


def _link_notes(state: StateCore) -> None:
    """Make links to notes lead to their pages, and put headings below that of the page."""
    links = state.env["links"]
    for block in state.tokens:
        if block.type in ("heading_open", "heading_close"):
            block.tag = f"h{min(6, int(block.tag[1]) + 1)}"
        if block.type == "inline" and block.children:
            block.children = [new for child in block.children for new in _parted(child, links)]


def _parted(token: Token, links: Mapping[str, str] | None) -> list[Token]:
    if token.type == "link_open" and not _ELSEWHERE.match(address := str(token.attrs["href"])):
        token.attrs = _to_note(unquote(address).partition("#")[0], links)
    if token.type != "text" or "[[" not in token.content:
        return [token]
    # after the first: the mark of an embed, whose label is a size; a name, its label, and the text up to the next
    first, *pieces = _WIKILINK.split(token.content)
    parts = [_text(first)]
    for embeds, name, label, after in zip(*[iter(pieces)] * 4, strict=True):
        link = Token("link_open", "a", 1, attrs=_to_note(name.strip(), links))
        end = Token("link_close", "a", -1)
        shown = name if embeds else label or name
        parts += [link, _text(shown.strip()), end, _text(after)]
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
