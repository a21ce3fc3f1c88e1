"""The pages of memories: the list, and the life of one memory."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import htpy as h

from vaultmem.memories.model import CAN_BE_REINFORCED, CATEGORIES
from vaultmem_web import drawing, views
from vaultmem_web.actions import LIKELIEST
from vaultmem_web.data import Record, Visit, named
from vaultmem_web.texts import prose
from vaultmem_web.views import Page, button, form, note_link, url, when

MOST_MERGED = 10
FIRST_ROWS, MOST_ROWS = 40, 200  # rows: in the page, and in each part that the script requests
_FILED = {name: name for name in CATEGORIES if name != "inbox"}


def _category(visit: Visit, chosen: str = "inbox") -> h.Element:
    """A choice of category to file under; in the inbox, the default is the one that the text suggests."""
    t = visit.t
    by_text = {LIKELIEST: t("by its text")} if chosen == "inbox" else {}
    return views.select("category", t("category"), {**by_text, **_FILED}, chosen)


# --- memories


async def memories(visit: Visit) -> Page:
    """All memories, as cards, a table or by day, with bulk actions."""
    part = views.later(_chosen(visit))
    return Page(visit.t("Memories"), part, "/memories", "memories", visit.is_part)


async def _chosen(visit: Visit) -> h.Node:
    t, deleted = visit.t, bool(visit.text("deleted"))
    ways = {"cards": t("cards"), "table": t("table"), "days": t("by day")}
    view = visit.one_of("view", ways, "cards")
    query = {name: visit.text(name) for name in ("words", *views.FACETS, "deleted", "view")}
    listed = await _listed(visit, limit=FIRST_ROWS, facets=not visit.is_part)
    part = h.div("#list")[
        h.p(".count")[t("memories: {count}", count=f"{listed['total']:,}")],
        h.div(
            f".list.{view}", role="list", tabindex="0", aria_label=t("Memories"),
            data_total=str(listed["total"]), data_rows=url("/memories/rows", **query),
        )[_articles(visit, listed, 0)],
    ]  # fmt: skip
    return part if visit.is_part else [
        h.form("#narrow", action="/ui/memories", data_typed="#list")[
            views.field("words", t("words"), query["words"], type="search"),
            views.facets(visit, listed.get("facets", {})),
            views.select("view", t("shown as"), ways, view),
            h.label[h.input(type="checkbox", name="deleted", value="1", checked=deleted), h.span[t("archive")]],
            h.button[t("Show")],
        ],
        h.form("#several.act", method="post", action="/ui/act/delete")[
            views.hidden(csrf=visit.csrf, back=f"/ui{visit.address}"), _bulk(visit, deleted=deleted)
        ],
        part,
    ]  # fmt: skip


async def rows(visit: Visit) -> Page:
    """One part of the list."""
    start = int(visit.number("offset", 0, 0, 1_000_000))
    listed = await _listed(visit, limit=MOST_ROWS, offset=start)
    return Page(visit.t("Memories"), _articles(visit, listed, start), is_part=True)


async def _listed(visit: Visit, **params: object) -> Record:
    facets = {name: value for name in ("words", *views.FACETS) if (value := visit.text(name))}
    return await visit.reader.list(**facets, deleted=bool(visit.text("deleted")), **params)


def _articles(visit: Visit, listed: Record, start: int) -> Iterator[h.Element]:
    t = visit.t
    return (
        h.article(
            ".row", role="listitem", tabindex="0", id=f"m{row['id'][:13]}",
            aria_setsize=str(listed["total"]), aria_posinset=str(at + 1), data_at=str(at),
        )[
            h.input(type="checkbox", name="id", value=views.as_seen(row), form="several", aria_label=f"{t('choose')}: {row['title']}"),
            h.div[
                views.memory_link(row), views.excerpt(row),
                views.labels(row),
            ],
            views.bar(row["confidence"], t("confidence")),
        ]
        for at, row in enumerate(listed["memories"], start)
    )  # fmt: skip


def _bulk(visit: Visit, *, deleted: bool) -> h.Node:
    t = visit.t
    if deleted:
        return h.button(formaction="/ui/act/restore", data_key="e")[t("Restore the chosen")]
    return [
        h.button(formaction="/ui/act/delete", data_key="r")[t("Forget the chosen")],
        h.button(formaction="/ui/act/approve", data_key="a")[t("Approve")],
        h.button(formaction="/ui/act/reinforce")[t("Still true")],
        _category(visit),
        h.button(formaction="/ui/act/file")[t("File")],
        views.field("add", t("tags"), placeholder="home garden"),
        h.button(formaction="/ui/act/tag")[t("Tag")],
        h.button(formaction="/ui/merge", data_whole=True)[t("Merge")],
    ]


# --- one memory


async def memory(visit: Visit) -> Page:
    """One memory: its text, origin, confidence and history."""
    t = visit.t
    params = {"deleted": True, "provenance": True, "counts": False}
    record = named(await visit.reader.ask("read", id=visit.text("id"), **params))
    content, is_archived = str(record["content"]), bool(record["deleted"])
    shown = await asyncio.to_thread(
        prose, str(record.get("text") or content)
    )  # a long history takes seconds, during which others are served
    return Page(
        record["title"],
        [
            views.labels(record),
            record.get("attribution") and h.p(".problem")[record["attribution"]],
            h.div(".prose")[shown],
            h.div(".buttons")[_deeds_for(visit, record, archived=is_archived)],
            None if is_archived else h.details("#editor", data_key="e")[
                h.summary[t("Edit")],
                form(
                    visit, "edit", h.label[h.span[t("Text")], h.textarea(name="content", rows="8")[content]],
                    h.button[t("Save")], id=views.as_seen(record),
                ),
            ],
            views.section(t("How sure"), views.bar(record["confidence"], t("confidence")), drawing.curve(record, t)),
            views.section(t("Where it comes from"), _provenance(visit, record)),
            views.section(t("Its life"), views.later(_life(visit, record["path"]))),
        ],
        "/memories", "memories notes",
    )  # fmt: skip


def _deeds_for(visit: Visit, row: Record, *, archived: bool) -> h.Node:
    t = visit.t
    if archived:
        return button(visit, "restore", t("Restore"), "a", id=row["id"])
    return [
        row["decay_policy"] in CAN_BE_REINFORCED and button(visit, "reinforce", t("Still true"), id=row["id"]),
        row.get("attribution") and button(visit, "approve", t("Approve"), "a", id=views.as_seen(row)),
        form(visit, "file", _category(visit, row["category"]), h.button[t("File")], id=row["id"]),
        form(visit, "tag", views.field("add", t("tags"), placeholder="home garden"), h.button[t("Tag")], id=row["id"]),
        button(visit, "delete", t("Forget"), "r", id=row["id"]),
        views.later(_forget_derived(visit, row)),
        h.a(".button", href=url("/note", path=row["path"]))[t("What is near it")],
    ]  # fmt: skip


async def _forget_derived(visit: Visit, row: Record) -> h.Node:
    """A button to forget it together with all memories derived from it."""
    ids = {row["path"]: row["id"]}
    for path in (sources := [row["path"]]):
        for derived in (await visit.reader.list(source=path, limit=MOST_ROWS))["memories"]:
            if derived["path"] not in ids:
                ids[derived["path"]] = derived["id"]
                sources.append(derived["path"])
    text = visit.t("Forget with what was derived from it: {count}", count=len(ids) - 1)
    return len(ids) > 1 and button(visit, "delete", text, id="\n".join(ids.values()))


def _provenance(visit: Visit, record: Record) -> h.Element:
    t, source = visit.t, str(record["source"])
    return views.facts([
        (t("written by"), record["agent"] or t("you")),
        (t("from"), _origin(record["drawn_from"]) or source),
        (t("it replaced"), [[h.a(href=url("/memory", id=one["id"]))[one["title"]], " "] for one in record["replaced"]] or None),
        (t("replaced by"), (newer := record["replaced_by"]) and h.a(href=url("/memory", id=newer))[newer[:8]]),
        (t("project"), record["project"]),
        (t("seen by"), record["scope"]),
        (t("kind"), record["memory_type"]),
        (t("written"), when(record["created_at"])),
        (t("changed"), when(record["updated_at"])),
        (t("confirmed"), when(record["last_reinforced_at"])),
        (t("ends"), when(record["expires_at"])),
        (t("told or read"), f"{record['access_count']:,} ×"),
        (t("by whom"), [
            h.div[row["by"] or t("you"), " ", when(row["day"]), f" × {row['times']:,}"]
            for row in record["recalled"]
        ] or None),
        (t("links"), [[note_link(str(link)), " "] for link in record["links"]] or None),
        (t("file"), note_link(record["path"])),
    ])  # fmt: skip


def _origin(provenance: Record | None) -> h.Node:
    """The source sentence, with a link to its note or turn."""
    if not provenance:
        return None
    talk = provenance.get("conversation")
    place = (
        f"{provenance['path']}:{provenance['line']}"
        if provenance["line"]
        else str(provenance["path"])
    )
    turn = f"{url('/conversation', id=talk)}#e{provenance['entry']}" if talk else ""
    link = h.a(href=turn)[talk] if talk else note_link(place)
    return [link, provenance["sentence"] and h.blockquote[provenance["sentence"]]]


async def _life(visit: Visit, path: str) -> h.Element:
    past = await visit.reader.ask("history", id=path, limit=12)
    return h.ol(".rows")[
        (await asyncio.gather(*(_change(visit, change) for change in past["history"])))
    ]


async def _change(visit: Visit, entry: Record) -> h.Element:
    diff = await visit.reader.ask("diff", commit=entry["commit"])
    part = h.details[h.summary[visit.t("What changed")], views.difference(diff["diff"], visit.t)]
    return views.entry(visit, entry, None, part)


async def merge(visit: Visit) -> Page:
    """Several memories side by side, to merge them."""
    t = visit.t
    ids = [id_.partition("\t")[0] for id_ in visit.query.get("id", [])]
    if not 2 <= len(ids) <= MOST_MERGED:
        return Page(t("Merge"), h.p(".problem")[t("Choose two to ten memories.")], "/memories")
    records = await asyncio.gather(*(visit.reader.ask("read", id=id_, counts=False) for id_ in ids))
    joined = "\n\n".join(dict.fromkeys(str(record["content"]) for record in records))
    return Page(
        t("Merge"),
        [
            h.div(".beside")[
                (
                    h.article[h.h2[record["title"]], h.div(".prose")[prose(str(record["content"]))], views.labels(record)]
                    for record in records
                )
            ],
            form(
                visit, "merge",
                h.label[h.span[t("The one text that stays; the others go to the archive")],
                        h.textarea(name="content", rows="8")[joined]],
                h.button[t("Merge")],
                id="\n".join(views.as_seen(named(record)) for record in records), back="/ui/memories",
            ),
        ],
        "/memories",
    )  # fmt: skip
