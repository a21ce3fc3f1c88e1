"""The pages today and search."""

from __future__ import annotations

from datetime import datetime, timedelta

import htpy as h

from vaultmem_web import views
from vaultmem_web.data import Record, Visit
from vaultmem_web.texts import rule_text
from vaultmem_web.views import Page, button, form, url

_DUE = (
    ("overdue", "Overdue"), ("today", "Due today"), ("soon", "Next 7 days"), ("review", "To decide"),
    ("older", "Overdue for more than two weeks"),
)  # fmt: skip


_RESULTS = 30  # at most

# --- today


async def today(visit: Visit) -> Page:
    """Due and pending items, unapproved memories, and changes since yesterday."""
    t = visit.t
    return Page(
        t("Today"),
        [
            h.section(aria_label=t("due"))[views.later(_due(visit))],
            views.section(t("Not approved yet"), views.later(_unapproved(visit))),
            views.section(t("Done since yesterday"), views.later(_done(visit))),
        ],
        "/", "memories notes jobs",
    )  # fmt: skip


async def _due(visit: Visit) -> h.Node:
    t, headings = visit.t, dict(_DUE)
    due = await visit.reader.ask("pending")
    sections: dict[str, dict[str, Record]] = {}
    for item in (*due["items"], *due["chores"]):
        # Preferences are not due; items that a line only counts are listed here.
        if (section := headings.get(item["section"])) and not item["counts_others"]:
            sections.setdefault(section, {})[item["id"]] = item
    return [_section(visit, name, [*some.values()]) for name, some in sections.items()] or h.p(
        ".empty"
    )[t("Nothing is due.")]


def _section(visit: Visit, name: str, items: list[Record]) -> h.Node:
    most, count = views.first(visit, len(items), "/")
    return [h.h2[visit.t(name)], views.rows(_item(visit, item) for item in items[:most]), count]


async def _unapproved(visit: Visit) -> h.Node:
    listed = await visit.reader.list(unapproved=True, limit=_RESULTS)
    rows = (to_approve(visit, row) for row in listed["memories"])
    more = listed["total"] > _RESULTS and h.p(".count")[f"{_RESULTS} / {listed['total']:,}"]
    return [views.rows(rows, visit.t("All is approved.")), more]


def _item(visit: Visit, item: Record) -> h.Element:
    t, id_ = visit.t, str(item["id"])
    later = {
        "tomorrow": t("tomorrow"), "3d": t("in three days"), "monday": t("on Monday"), "7d": t("in a week"),
    }  # fmt: skip
    labels = h.p(".labels")[
        views.when(item["due"]), item["repeat"] and h.span[rule_text(item["repeat"], t)],
        views.note_link(item["source"]), item["author"] and h.span[item["author"]],
    ]  # fmt: skip
    return views.row(
        id_, [h.strong[item["text"]], labels],
        button(visit, "answer", t("Accept") if item["asks"] else t("Done"), "a", id=id_, state="done"),
        form(visit, "answer", views.select("until", t("until"), later), h.button(data_key="s")[t("Snooze")],
             id=id_, state="snoozed"),
        button(visit, "answer", t("Drop"), "r", id=id_, state="dropped"),
    )  # fmt: skip


def to_approve(visit: Visit, row: Record) -> h.Element:
    """A memory that waits for approval."""
    t = visit.t
    return views.row(
        f"new-{row['id']}",
        [views.memory_link(row), views.excerpt(row), views.labels(row), h.p(".labels")[row.get("attribution")]],
        button(visit, "approve", t("Approve"), "a", id=views.as_seen(row)),
        button(visit, "delete", t("Refuse"), "r", id=row["id"]),
    )  # fmt: skip


async def _done(visit: Visit) -> h.Node:
    since = (datetime.now().astimezone() - timedelta(days=1)).isoformat(timespec="seconds")
    past = await visit.reader.ask("history", since=since, limit=200)
    done = [entry for entry in past["history"] if entry["kind"] != "person"][:30]
    return views.rows((_deed(visit, entry) for entry in done), visit.t("Nothing was done."))


def _deed(visit: Visit, deed: Record) -> h.Node:
    paths = [str(file["target"] or file["path"]) for file in deed["files"][:3]]
    links = (h.a(href=url("/memory", id=path))[views.name_of(path)] for path in paths)
    return views.entry(visit, deed, links)


# --- search


async def search(visit: Visit) -> Page:
    """The results of a search by words and meaning, with facets."""
    t, query = visit.t, visit.text("q")
    facets = {name: visit.text(name) for name in views.FACETS}
    ways = {"": t("words and meaning"), "keyword": t("words"), "semantic": t("meaning")}
    how = visit.one_of("how", ways)
    return Page(
        t("Search"),
        [
            not visit.is_part and h.form("#search", action="/ui/search", role="search", data_typed="#results")[
                h.label(".wide")[h.span[t("Words or a question")], h.input(type="search", name="q", value=query, autofocus=True)],
                views.later(_facets(visit)),
                views.select("how", t("how"), ways, how),
                h.button[t("Search")],
            ],
            h.div("#results")[views.later(_results(visit, query, facets, how))],
        ],
        "/search", is_part=visit.is_part,
    )  # fmt: skip


async def _facets(visit: Visit) -> h.Node:
    return views.facets(visit, (await visit.reader.list(limit=1, facets=True))["facets"])


async def _results(visit: Visit, query: str, facets: dict[str, str], how: str) -> h.Node:
    t = visit.t
    if not query:
        return h.p(".empty")[t("Type a word, a name or a question.")]
    params: dict[str, object] = {name: value for name, value in facets.items() if value}
    if how:
        params[how] = True
    results = (await visit.reader.call("search", query=query, limit=_RESULTS, **params))["results"]
    count = t(
        "{count} found" if len(results) < _RESULTS else "the best {count}", count=len(results)
    )
    return [
        h.p(".count")[count],
        h.ol(".rows")[(_result(visit, query, result) for result in results)],
    ]


def _result(visit: Visit, query: str, hit: Record) -> h.Element:
    t, path = visit.t, hit["path"]
    place = f"{path}:{hit['line']}" if hit.get("line") else path
    snippet = hit.get("snippet") or hit.get("content", "")
    address = url("/memory", id=hit["id"]) if hit.get("id") else url("/note", path=path)
    labels = [h.span[text] for key in ("category", "agent") if (text := hit.get(key))]
    return views.row(
        f"r{abs(hash(place))}",
        [
            h.a(href=address)[hit["title"]],
            h.p[views.with_matches(snippet, query)],
            h.p(".labels")[views.when(hit.get("day") or ""), labels, h.span[place]],
            h.details(data_part=url("/why", q=query, note=path))[h.summary[t("Why is this here?")]],
        ],
        views.editor_link(hit.get("uri"), t),
    )


async def why(visit: Visit) -> Page:
    """The explanation of a result, in words."""
    t = visit.t
    answer = await visit.reader.call("why", query=visit.text("q"), note=visit.name("note"))
    parts = sorted(answer["parts"].items(), key=lambda part: -abs(part[1]))
    score = answer["score"]
    rank = t("number {rank} of {count}", rank=answer["rank"], count=answer["of"]) if score else ""
    return Page(
        t("Why is this here?"),
        [
            views.facts([(t("place"), rank), (t("score"), score and f"{score:.2f}")]),
            h.table[(h.tr[h.th(scope="row")[name], h.td[f"{value:+.2f}"]] for name, value in parts if value)],
            [h.p[remark] for remark in answer["remarks"]],
        ],
        is_part=True,
    )  # fmt: skip
