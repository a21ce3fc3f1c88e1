"""Today and search: what is due, what was done, and what is found."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

import htpy as h

from vaultmem.errors import VaultmemError
from vaultmem.memories.model import CATEGORIES
from vaultmem_web.data import Record, Row, Visit
from vaultmem_web.views import (
    Page,
    facts,
    field,
    form,
    labels,
    marked,
    memory_link,
    note_link,
    select,
    url,
    values_of,
    when,
)

_DUE = (
    ("overdue", "Overdue"),
    ("today", "Today"),
    ("soon", "Soon"),
    ("upcoming", "Upcoming"),
    ("review", "To decide"),
)
_MOST_DONE = 30


# --- today


async def today(visit: Visit) -> Page:
    """What is due and waits, what was done since yesterday, and what is held back."""
    t, reader = visit.t, visit.reader
    since = (datetime.now().astimezone() - timedelta(days=1)).isoformat(timespec="seconds")
    due, past, rows = await asyncio.gather(
        reader.ask("pending"), reader.ask("history", since=since, limit=200), reader.rows()
    )
    done = [one for one in past["history"] if one["kind"] != "person"]
    held = [row for row in rows if row.is_held_back]
    items = [*due["items"], *due["chores"]]
    known = dict(_DUE)
    sections: dict[str, list[Record]] = {}
    for item in items:
        sections.setdefault(known.get(item["section"], item["section"]), []).append(item)
    return Page(
        t("Today"),
        [
            h.section(aria_label=t("due"))[
                ([h.h2[t(name)], _items(visit, some)] for name, some in sections.items())
                if items
                else h.p(".empty")[t("Nothing is due.")]
            ],
            h.section[h.h2[t("Held back until you approve it")], _held_back(visit, held)],
            h.section[h.h2[t("Done since yesterday")], _deeds(visit, done[:_MOST_DONE])],
        ],
        "/", "memories notes jobs",
    )  # fmt: skip


def _items(visit: Visit, items: Iterable[Record]) -> h.Node:
    t = visit.t
    later = {
        "tomorrow": t("tomorrow"),
        "3d": t("in three days"),
        "monday": t("on Monday"),
        "7d": t("in a week"),
    }
    return h.ul(".rows")[
        (
            h.li(".row", tabindex="0", id=item["id"])[
                h.div[h.strong[item["text"]], h.p(".labels")[
                    item["due"] and h.time[item["due"].replace("T", " ")],
                    item["repeat"] and h.span[item["repeat"]],
                    note_link(item["source"]),
                    item["author"] and h.span[item["author"]],
                ]],
                h.div(".buttons")[
                    form(visit, "answer", h.button(data_key="a")[t("Let it in") if item["asks"] else t("Done")],
                         id=item["id"], state="done"),
                    form(visit, "answer", select("until", t("later"), later), h.button(data_key="s")[t("Put off")],
                         id=item["id"], state="snoozed"),
                    form(visit, "answer", h.button(data_key="r")[t("Drop")], id=item["id"], state="dropped"),
                ],
            ]
            for item in items
        )
    ]  # fmt: skip


def _held_back(visit: Visit, rows: Sequence[Row]) -> h.Node:
    t = visit.t
    if not rows:
        return h.p(".empty")[t("Nothing is held back.")]
    return h.ul(".rows")[
        (
            h.li(".row", tabindex="0", id=f"held-{row.id}")[
                h.div[memory_link(row), h.p[row.excerpt], labels(row)],
                h.div(".buttons")[
                    form(visit, "approve", h.button(data_key="a")[t("Approve")], id=row.id),
                    form(visit, "delete", h.button(data_key="r")[t("Refuse")], id=row.id),
                ],
            ]
            for row in rows[:_MOST_DONE]
        )
    ]


def _deeds(visit: Visit, entries: Sequence[Record]) -> h.Node:
    t = visit.t
    if not entries:
        return h.p(".empty")[t("Nothing was done.")]
    return h.ul(".rows")[
        (
            h.li(".row", tabindex="0", id=f"c{entry['commit'][:12]}")[
                h.div[
                    h.strong[entry["by"]], " ", entry["why"],
                    h.p(".labels")[when(entry["at"]), [_file_link(one) for one in entry["files"][:3]]],
                ],
                h.div(".buttons")[
                    form(visit, "undo", h.button(data_key="u")[t("Undo")], commits=entry["commit"])
                ],
            ]
            for entry in entries
        )
    ]  # fmt: skip


def _file_link(one: Record) -> h.Node:
    path = one["target"] or one["path"]
    name = path.rpartition("/")[2].removesuffix(".md")
    return h.a(href=url("/memory", id=path))[name]


# --- search


async def search(visit: Visit) -> Page:
    """What is found by words and meaning, narrowed down by facets."""
    t, query = visit.t, visit.text("q")
    facets = {name: visit.text(name) for name in ("category", "agent", "tags", "from", "to")}
    rows = await visit.reader.rows()
    return Page(
        t("Search"),
        [
            h.form("#search", action="/ui/search", role="search", data_typed="#results")[
                h.label(".wide")[h.span[t("Words or a question")], h.input(type="search", name="q", value=query, autofocus=True)],
                select("category", t("category"), values_of(t("any"), CATEGORIES), facets["category"]),
                select("agent", t("assistant"), values_of(t("any"), (row.agent for row in rows)), facets["agent"]),
                select("tags", t("tag"), values_of(t("any"), (tag for row in rows for tag in row.tags)), facets["tags"]),
                field("from", t("from"), facets["from"], type="date"),
                field("to", t("to"), facets["to"], type="date"),
                select("how", t("how"), {"": t("words and meaning"), "keyword": t("words"), "semantic": t("meaning")}, visit.text("how")),
                h.button[t("Search")],
            ],
            h.div("#results", aria_live="polite")[await _results(visit, query, facets)],
        ],
        "/search",
    )  # fmt: skip


async def _results(visit: Visit, query: str, facets: dict[str, str]) -> h.Node:
    t = visit.t
    if not query:
        return h.p(".empty")[t("Type a word, a name or a question.")]
    params: dict[str, object] = {name: value for name, value in facets.items() if value}
    if facets["tags"]:
        params["tags"] = [facets["tags"]]
    if how := visit.text("how"):
        params[how] = True
    try:
        found = await visit.reader.call("search", query=query, limit=30, **params)
    except VaultmemError as error:
        return h.p(".problem")[str(error)]
    results = found["results"]
    return [
        h.p(".count")[t("{count} found", count=len(results))],
        h.ol(".rows")[(_result(visit, query, one) for one in results)],
    ]


def _result(visit: Visit, query: str, one: Record) -> h.Element:
    t, path = visit.t, one["path"]
    is_memory = bool(one.get("id"))
    place = f"{path}:{one['line']}" if one.get("line") else path
    return h.li(".row", tabindex="0", id=f"r{abs(hash(place))}")[
        h.div[
            h.a(href=url("/memory", id=one["id"]) if is_memory else url("/note", path=path))[one["title"]],
            h.p[marked(one.get("snippet") or one.get("content", ""), query)],
            h.p(".labels")[(h.span[text] for key in ("day", "category", "agent") if (text := one.get(key))), h.span[place]],
            h.details(data_part=url("/why", q=query, note=path))[h.summary[t("Why is this here?")]],
        ],
        h.div(".buttons")[one.get("uri") and h.a(".button", href=one["uri"])[t("Open in the editor")]],
    ]  # fmt: skip


async def why(visit: Visit) -> Page:
    """Why something was found, in words."""
    t = visit.t
    answer = await visit.reader.call("why", query=visit.text("q"), note=visit.text("note"))
    parts = sorted(answer["parts"].items(), key=lambda part: -abs(part[1]))
    score = answer["score"]
    rank = t("number {rank} of {count}", rank=answer["rank"], count=answer["of"]) if score else ""
    return Page(
        t("Why is this here?"),
        [
            facts([(t("place"), rank), (t("score"), score and f"{score:.2f}")]),
            h.table[
                (
                    h.tr[h.th(scope="row")[name], h.td[f"{value:+.2f}"]]
                    for name, value in parts
                    if value
                )
            ],
            [h.p[remark] for remark in answer["remarks"]],
        ],
        is_part=True,
    )
