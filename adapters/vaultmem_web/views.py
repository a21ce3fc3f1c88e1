"""The frame of every page, and shared components (owner of htpy)."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlencode

import htpy as h

from vaultmem.errors import VaultmemError
from vaultmem.output import PAIRS
from vaultmem_web.sessions import Notice
from vaultmem_web.texts import LANGUAGES, Translator, in_order

if TYPE_CHECKING:
    from vaultmem_web.data import Record, Visit

_SECTIONS = (
    ("/", "Today"), ("/search", "Search"), ("/memories", "Memories"), ("/review", "Review"),
    ("/tell", "What would you tell?"), ("/conversations", "Conversations"), ("/health", "Health"),
)  # fmt: skip
FACETS = ("category", "agent", "tags", "from", "to")  # named as in the verbs list and search
MOST_FIELDS = 5_000  # fields of a form
FIRST_ITEMS = 50  # of a list that may be long
_CJK = "\u3040"  # code points from which words are not separated by blanks
_WORDS = re.compile(r"\w+|\s+|[^\w\s]")
_LATER = str(h.comment("later"))


@dataclass
class Page:
    """A page, or a part that the script inserts: its section, and the kinds of changes after which it is reloaded."""

    title: str
    content: h.Node
    section: str = ""
    live: str = ""
    is_part: bool = False


def fields_of(body: str) -> dict[str, str]:
    """The fields of a form; multiple values of one are joined by line breaks, CRLF becomes LF. Raises ValueError for
    too many fields."""
    form = parse_qs(body, keep_blank_values=True, max_num_fields=MOST_FIELDS)
    return {name: "\n".join(values).replace("\r\n", "\n") for name, values in form.items()}


def url(page: str, /, **query: object) -> str:
    """A URL of the page."""
    filled = {name: value for name, value in query.items() if value not in ("", None)}
    return f"/ui{page}?{urlencode(filled)}" if filled else f"/ui{page}"


# --- the frame


def document(page: Page, visit: Visit, notice: Notice | None) -> AsyncIterator[str]:
    """A whole page, with the notice of the last action."""
    t = visit.t
    return _document(
        t,
        page.title,
        h.a(".skip", href="#main")[t("to the content")],
        h.header[
            h.strong(".name")["vaultmem"],
            h.nav(aria_label=t("pages"))[
                (
                    h.a(href=url(path), aria_current="page" if path == page.section else None)[t(name)]
                    for path, name in _SECTIONS
                )
            ],
            h.form("#find", action="/ui/search", role="search")[
                h.input(type="search", name="q", placeholder=t("Search  /"), aria_label=t("Search")),
            ],
        ],
        h.p("#announcement.skip", role="status"),
        h.main("#main", tabindex="-1")[
            h.p("#stopped.problem", role="alert", hidden=True)[t("vaultmem was stopped. To go on, type vaultmem ui in a terminal.")],
            h.p("#ended.problem", role="alert", hidden=True)[
                t("Not done: the session of this page has ended. Copy what you typed, then load the page again.")
            ],
            h.div("#notice", role="status")[_notice(visit, notice) if notice else None],
            h.div("#content", data_live=page.live)[h.h1[page.title], page.content],
        ],
        h.footer[
            h.p[t("Keys: / search · j k move · Enter open · e edit · x select · a accept · r reject · s snooze · u undo")],
            h.p[t("Vault: {name}", name=visit.reader.vault)],
            h.form(action="/ui/language", method="post", data_whole=True)[
                hidden(csrf=visit.csrf, back=f"/ui{visit.address}"),
                (
                    h.button(name="language", value=code, lang=code)[name]
                    for code, name in LANGUAGES.items() if code != t.language
                ),
            ],
            h.form(action="/ui/leave", method="post", data_whole=True)[
                hidden(csrf=visit.csrf), h.button[t("Close this session")]
            ],
        ],
    )  # fmt: skip


def part(page: Page, t: Translator) -> AsyncIterator[str]:
    """A part of a page, in a document of its own."""
    return _document(t, page.title, h.div("#content")[page.content])


def entrance(t: Translator) -> AsyncIterator[str]:
    """The page without a session; its script sends the part of the URL after the #."""
    return _document(
        t, "vaultmem",
        h.main("#main")[
            h.h1["vaultmem"],
            h.noscript[h.p(".problem")[t("To let this browser in, the page needs JavaScript.")]],
            h.p("#entrance")[
                t("Type vaultmem ui in a terminal: it opens this page with a link that lets this browser in.")
            ],
        ],
    )  # fmt: skip


def trouble(t: Translator, message: str) -> Page:
    """A page for an error, which is loaded again when something changes; messages of verbs are in English."""
    return Page(t("That did not work"), h.p(".problem")[t(message)], "", "notes memories jobs")


async def _document(t: Translator, title: str, *body: h.Node) -> AsyncIterator[str]:
    """The HTML, in one piece up to the first part that is rendered later."""
    html = h.html(lang=t.language)[
        h.head[
            h.meta(charset="utf-8"),
            h.meta(name="viewport", content="width=device-width, initial-scale=1"),
            h.title[title if title == "vaultmem" else f"{title} - vaultmem"],
            h.link(rel="icon", href="/ui/static/icon.svg", type="image/svg+xml"),
            h.link(rel="stylesheet", href="/ui/static/page.css"),
            h.script(type="module", src="/ui/static/page.js"),
        ],
        h.body[body],
    ]
    pieces: list[str] = []
    async for piece in html.aiter_chunks():
        if piece == _LATER:
            yield "".join(pieces)
            pieces.clear()
        # Attributes, and texts of fields that are sent back, keep every character.
        is_visible = not (piece.startswith("<") or pieces[-1].startswith("<textarea"))
        pieces.append(in_order(piece) if is_visible else piece)
    yield "".join(pieces)


async def later(work: Awaitable[h.Node]) -> AsyncIterator[h.Node]:
    """A slow part: what precedes it is displayed first."""
    yield h.comment("later")
    try:
        yield await work
    except VaultmemError as error:
        yield h.p(".problem")[str(error)]


def _notice(visit: Visit, notice: Notice) -> h.Node:
    t = visit.t
    return [
        h.div(".problem" if notice.is_problem else ".done")[
            h.span[t(notice.text)],
            notice.undo and form(visit, notice.undo, h.button(data_key="u")[t("Undo")], **notice.fields),
        ],
        notice.draft
        and h.label[t("Your text, which is not saved:"), h.textarea(rows="6", readonly=True)[notice.draft]],
    ]  # fmt: skip


# --- forms


def hidden(**fields: str) -> Iterator[h.VoidElement]:
    """Hidden fields."""
    return (h.input(type="hidden", name=name, value=value) for name, value in fields.items())


def form(visit: Visit, action: str, *children: h.Node, **fields: str) -> h.Element:
    """A form for an action, which returns to this page unless `back` names another."""
    return h.form(".act", action=f"/ui/act/{action}", method="post")[
        hidden(**{"csrf": visit.csrf, "back": f"/ui{visit.address}", **fields}), children
    ]


def select(name: str, label: str, options: Mapping[str, str], chosen: str = "") -> h.Element:
    """A labelled choice."""
    return h.label[
        h.span[label],
        h.select(name=name)[
            (h.option(value=key, selected=key == chosen)[text] for key, text in options.items())
        ],
    ]


def facets(visit: Visit, counts: Mapping[str, Mapping[str, int]]) -> h.Node:
    """The filters of a list: category, assistant, tag and time."""
    t = visit.t
    labels = (t("category"), t("assistant"), t("tag"), t("from"), t("to"))
    numbers = {
        name: {
            "": t("any"),
            **{value: f"{value} ({count:,})" for value, count in sorted(values.items())},
        }
        for name, values in counts.items()
    }
    return [
        select(name, label, numbers[name], visit.text(name)) if name in counts
        else field(name, label, visit.text(name), type="date")
        for name, label in zip(FACETS, labels, strict=True)
    ]  # fmt: skip


def field(name: str, label: str, value: str = "", **attributes: str) -> h.Element:
    """A labelled text field."""
    return h.label[h.span[label], h.input(name=name, value=value, **attributes)]


def button(visit: Visit, action: str, text: str, key: str = "", **fields: str) -> h.Element:
    """A button for an action, with the shortcut `key`."""
    return form(visit, action, h.button(data_key=key or None)[text], **fields)


# --- components


def section(title: str, *content: h.Node) -> h.Element:
    """A part of a page with its heading."""
    return h.section[h.h2[title], content]


def rows(listed: Iterable[h.Node], otherwise: str = "") -> h.Element:
    """A list with keyboard navigation, or a text if it is empty."""
    items = list(listed)
    return h.ul(".rows")[items] if items else h.p(".empty")[otherwise]


def first(visit: Visit, total: int, page: str, **query: str) -> tuple[int, h.Node]:
    """How many of many items to list, and a line that counts all, with a link to ten times as many."""
    most = int(visit.number("most", FIRST_ITEMS, FIRST_ITEMS, 1_000_000))
    more = h.a(href=url(page, **query, most=10 * most))[visit.t("Show more")]
    return most, total > most and h.p(".count")[f"{most:,} / {total:,} ", more]


def row(id_: str, body: h.Node, *buttons: h.Node, kind: str = "") -> h.Element:
    """An item of a list, with its buttons."""
    return h.li(f".row{kind}", tabindex="0", id=id_ or None)[
        h.div[body], any(buttons) and h.div(".buttons")[buttons]
    ]


def table(heads: Iterable[str], lines: Iterable[Iterable[h.Node]]) -> h.Element:
    """A table, which scrolls on a narrow screen."""
    return h.table(tabindex="0")[
        h.tr[(h.th(scope="col")[name] for name in heads)],
        (h.tr[(h.td[cell] for cell in line)] for line in lines),
    ]


def when(stamp: str) -> h.Node:
    """A stored time, which the script displays in the zone and format of the browser."""
    return stamp and h.time(datetime=stamp)[stamp.replace("T", " ")[:16]]


def editor_link(uri: str | None, t: Translator) -> h.Node:
    """A link that opens a note in its editor; nothing without a URI."""
    return uri and h.a(".button", href=uri)[t("Open in the editor")]


def note_link(path: str, text: str = "") -> h.Element:
    """A link to the page of a note; "path:line" names a line of it."""
    bare = re.sub(r":\d+$", "", path)
    return h.a(href=url("/note", path=bare))[text or path]


def name_of(path: str) -> str:
    """The name of the note at a path."""
    return path.rpartition("/")[2].removesuffix(".md")


def entry(visit: Visit, memory: Record, labels: h.Node, more: h.Node = None) -> h.Element:
    """An entry of the history, with its undo button."""
    why = memory["why"].removeprefix(f"{memory['by']} ")  # dream 3: 1 changed
    text = [h.strong[memory["by"]], " ", why, h.p(".labels")[when(memory["at"]), labels], more]
    undo = button(visit, "undo", visit.t("Undo"), "u", commits=memory["commit"])
    return row(f"c{memory['commit'][:12]}", text, undo)


def as_seen(row: Record) -> str:
    """The id of a memory for a form, with the hash of its text that the person sees."""
    return f"{row['id']}\t{row['content_hash']}"


def memory_link(row: Record) -> h.Element:
    """A link to a memory."""
    return h.a(href=url("/memory", id=row["id"]))[row["title"]]


def excerpt(row: Record) -> h.Node:
    """The beginning of its text on one line; nothing where the title is all of it."""
    text = " ".join(str(row["content"])[:480].split())[:240]
    return text.rstrip(".") != row["title"] and h.p[text]


def labels(row: Record) -> h.Node:
    """Category, author and tags of a memory."""
    return h.p(".labels")[
        h.a(href=url("/memories", category=row["category"]))[row["category"]],
        row["agent"] and h.a(href=url("/memories", agent=row["agent"]))[row["agent"]],
        [h.a(href=url("/memories", tags=tag))[f"#{tag}"] for tag in row["tags"]],
        when(row["created_at"] or ""),
    ]


def bar(value: float, label: str) -> h.Element:
    """A bar for a share from 0 to 1."""
    return h.meter(min="0", max="1", value=f"{value:.2f}", title=f"{label}: {value:.0%}", aria_label=label)[
        f"{value:.0%}"
    ]  # fmt: skip


def marked(text: str, parts: Iterable[str]) -> h.Node:
    """A text in which some parts are marked."""
    return _marked(text, map(re.escape, sorted(parts, key=len, reverse=True)))


def with_matches(text: str, query: str) -> h.Node:
    """A text in which the words of a query are marked, also with other endings; short ones where it has no others."""
    words = re.findall(r"\w+", query)
    long_words = [word for word in words if len(word) > 3 or max(word) >= _CJK]
    return _marked(text, map(_form, long_words or words))


def _form(word: str) -> str:
    if max(word) >= _CJK:
        return f"[{re.escape(word)}]{{{min(2, len(word))},}}"
    return rf"\b{re.escape(word[: max(4, len(word) - 2)])}\w{{0,4}}\b"


def _marked(text: str, patterns: Iterable[str]) -> h.Node:
    either = "|".join(patterns)
    pieces = re.split(f"({either})", text, flags=re.IGNORECASE) if either else [text]
    return [h.mark[piece] if at % 2 else piece for at, piece in enumerate(pieces)]


def facts(rows: Iterable[tuple[str, h.Node]]) -> h.Element:
    """Names with their values; empty ones are left out."""
    return h.dl[([h.dt[name], h.dd[value]] for name, value in rows if value)]


# --- differences


def difference(unified: str, t: Translator) -> h.Element:
    """A unified diff, word by word."""
    return h.div(".diff", role="group", aria_label=t("what changes"))[_difference(unified)]


def _difference(unified: str) -> Iterator[h.Node]:
    old: list[str] = []
    new: list[str] = []
    room = PAIRS
    for line in [*unified.splitlines(), ""]:
        if line.startswith("-") and not line.startswith("---"):
            old.append(line[1:])
        elif line.startswith("+") and not line.startswith("+++"):
            new.append(line[1:])
        else:
            before, after = (_WORDS.findall("\n".join(lines)) for lines in (old, new))
            room -= len(before) * len(after)
            yield from _changed(before, after) if old and new and room > 0 else _lines(old, new)
            old, new = [], []
            if line.startswith("@@"):
                yield h.hr
            elif line and not line.startswith(("---", "+++", "\\", "diff ", "index ")):
                yield h.p[line[1:] or " "]


def _lines(old: Sequence[str], new: Sequence[str]) -> Iterator[h.Node]:
    yield from (h.p[h.del_[line or " "]] for line in old)
    yield from (h.p[h.ins[line or " "]] for line in new)


def _changed(before: Sequence[str], after: Sequence[str]) -> Iterator[h.Node]:
    """The changed words of a line; unchanged ones appear once."""
    parts: list[h.Node] = []
    for kind, a, b, c, d in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        gone, come = "".join(before[a:b]), "".join(after[c:d])
        parts += [gone] if kind == "equal" else [gone and h.del_[gone], come and h.ins[come]]
    yield h.p[parts]
