"""The memories: all of them as a list, and the whole life of one."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import htpy as h

from vaultmem.errors import VaultmemError
from vaultmem.memories.model import CATEGORIES
from vaultmem_web import drawing
from vaultmem_web.data import Record, Row, Visit, row_of
from vaultmem_web.prose import prose
from vaultmem_web.views import (
    Page,
    bar,
    difference,
    facts,
    field,
    form,
    hidden,
    labels,
    memory_link,
    note_link,
    select,
    url,
    values_of,
    when,
)

FIRST_ROWS, MOST_ROWS = 40, 200  # of a list: in the page, and in one part that the script asks for
_LIFE = 12  # entries of the history


# --- memories


async def memories(visit: Visit) -> Page:
    """All memories, as cards, a table or by the day they were written, with what can be done to several."""
    t, view = visit.t, visit.text("view") or "cards"
    deleted = bool(visit.text("deleted"))
    rows = await visit.reader.rows(deleted=deleted)
    shown = _chosen(visit, rows)
    views = {"cards": t("cards"), "table": t("table"), "days": t("by day")}
    query = {
        name: visit.text(name) for name in ("q", "category", "agent", "tag", "deleted", "view")
    }
    return Page(
        t("Memories"),
        [
            h.form("#narrow", action="/ui/memories", data_typed="#list")[
                field("q", t("words"), query["q"], type="search"),
                select("category", t("category"), values_of(t("any"), CATEGORIES), query["category"]),
                select("agent", t("assistant"), values_of(t("any"), (row.agent for row in rows)), query["agent"]),
                select("tag", t("tag"), values_of(t("any"), (tag for row in rows for tag in row.tags)), query["tag"]),
                select("view", t("shown as"), views, view),
                h.label[h.input(type="checkbox", name="deleted", value="1", checked=deleted), h.span[t("archive")]],
                h.button[t("Show")],
            ],
            h.form("#several.act", method="post", action="/ui/act/delete")[
                hidden(csrf=visit.csrf, back=f"/ui{visit.address}"), _bulk(visit, deleted=deleted)
            ],
            h.div("#list")[
                h.p(".count", role="status")[t("{count} memories", count=f"{len(shown):,}")],
                h.div(
                    f".list.{view}", role="list", tabindex="0", aria_label=t("Memories"),
                    data_total=str(len(shown)), data_rows=url("/memories/rows", **query),
                )[_listed(visit, shown[:FIRST_ROWS], 0, len(shown))],
            ],
        ],
        "/memories", "memories",
    )  # fmt: skip


async def rows(visit: Visit) -> Page:
    """A part of the list."""
    start = int(visit.number("start", 0, 0, 1e9))
    shown = _chosen(visit, await visit.reader.rows(deleted=bool(visit.text("deleted"))))
    some = shown[start : start + MOST_ROWS]
    return Page(visit.t("Memories"), _listed(visit, some, start, len(shown)), is_part=True)


def _chosen(visit: Visit, rows: Sequence[Row]) -> list[Row]:
    words = visit.text("q").lower().split()
    category, agent, tag = (visit.text(name) for name in ("category", "agent", "tag"))
    return [
        row
        for row in rows
        if category in ("", row.category)
        and agent in ("", row.agent)
        and (not tag or tag in row.tags)
        and all(word in f"{row.title} {row.excerpt}".lower() for word in words)
    ]


def _listed(visit: Visit, rows: Sequence[Row], start: int, total: int) -> list[h.Element]:
    t = visit.t
    return [
        h.article(
            ".row", role="listitem", tabindex="0", id=f"m{row.id[:13]}",
            aria_setsize=str(total), aria_posinset=str(at + 1), data_at=str(at), data_day=row.created[:10],
        )[
            h.input(type="checkbox", name="id", value=row.id, form="several", aria_label=t("choose")),
            h.div[memory_link(row), h.p[row.excerpt if row.excerpt.rstrip(".") != row.title else None], labels(row)],
            bar(row.confidence, t("confidence")),
        ]
        for at, row in enumerate(rows, start)
    ]  # fmt: skip


def _bulk(visit: Visit, *, deleted: bool) -> h.Node:
    t = visit.t
    if deleted:
        return h.button(formaction="/ui/act/restore", data_key="e")[t("Restore the chosen")]
    return [
        h.button(formaction="/ui/act/delete", data_key="r")[t("Forget the chosen")],
        h.button(formaction="/ui/act/approve", data_key="a")[t("Approve")],
        h.button(formaction="/ui/act/reinforce")[t("Still true")],
        select("category", t("category"), {name: name for name in CATEGORIES if name != "inbox"}),
        h.button(formaction="/ui/act/file")[t("File")],
        field("add", t("tags"), placeholder="home garden"),
        h.button(formaction="/ui/act/tag")[t("Tag")],
        h.button(formaction="/ui/merge", formmethod="get", data_whole=True)[t("Merge")],
    ]


# --- one memory


async def memory(visit: Visit) -> Page:
    """One memory: its text, where it comes from, how sure it is, and its whole life."""
    t, reader = visit.t, visit.reader
    record, is_archived = await _record(visit)
    row = row_of(record)
    past = await reader.ask("history", id=row.path, limit=_LIFE)
    diffs = await asyncio.gather(
        *(reader.ask("diff", commit=one["commit"]) for one in past["history"])
    )
    content = str(record["content"])
    return Page(
        row.title,
        [
            labels(row),
            record.get("attribution") and h.p(".problem")[record["attribution"]],
            h.div(".prose")[prose(content)],
            h.div(".buttons")[_deeds_for(visit, row, archived=is_archived)],
            None if is_archived else _editor(visit, row, content, str(record["content_hash"])),
            h.section[
                h.h2[t("How sure")], bar(row.confidence, t("confidence")),
                drawing.curve(record, t),
            ],
            h.section[h.h2[t("Where it comes from")], _provenance(visit, record)],
            h.section[h.h2[t("Its life")], _life(visit, past["history"], diffs)],
        ],
        "/memories", "memories notes",
    )  # fmt: skip


async def _record(visit: Visit) -> tuple[Record, bool]:
    """The record of a memory, alive or in the archive."""
    id_ = visit.text("id")
    try:
        return await visit.reader.ask("read", id=id_, counts=False), False
    except VaultmemError as error:
        answer = await visit.reader.ask("list", deleted=True, limit=1_000_000)
        for one in answer["memories"]:
            if id_ in (one["id"], one["path"]):
                return one, True
        raise error from None


def _deeds_for(visit: Visit, row: Row, *, archived: bool) -> h.Node:
    t = visit.t
    if archived:
        return form(visit, "restore", h.button(data_key="a")[t("Restore")], id=row.id)
    categories = {name: name for name in CATEGORIES if name != "inbox"}
    return [
        form(visit, "reinforce", h.button[t("Still true")], id=row.id),
        row.is_held_back and form(visit, "approve", h.button(data_key="a")[t("Approve")], id=row.id),
        form(visit, "file", select("category", t("category"), categories, row.category), h.button[t("File")], id=row.id),
        form(visit, "tag", field("add", t("tags"), placeholder="home garden"), h.button[t("Tag")], id=row.id),
        form(visit, "delete", h.button(data_key="r")[t("Forget")], id=row.id),
        h.a(".button", href=url("/note", path=row.path))[t("What is near it")],
    ]  # fmt: skip


def _editor(visit: Visit, row: Row, content: str, seen: str) -> h.Element:
    t = visit.t
    return h.details("#editor", data_key="e")[
        h.summary[t("Edit")],
        form(
            visit, "edit",
            h.label[h.span[t("Text")], h.textarea(name="content", rows="8")[content]],
            h.button[t("Save")], id=row.id, seen=seen,
        ),
    ]  # fmt: skip


def _provenance(visit: Visit, record: Record) -> h.Element:
    t = visit.t
    source = str(record.get("source_path") or record["source"])
    return facts(
        [
            (t("written by"), record["agent"] or t("you")),
            (t("from"), note_link(source) if ".md" in source else source),
            (t("project"), record["project"]),
            (t("seen by"), record["scope"]),
            (t("kind"), record["memory_type"]),
            (t("written"), when(record["created_at"])),
            (t("changed"), when(record["updated_at"])),
            (t("confirmed"), when(record["last_reinforced_at"])),
            (t("ends"), when(record["expires_at"])),
            (t("told or read"), t("{count} times", count=record["access_count"])),
            (t("links"), [[note_link(str(link)), " "] for link in record["links"]] or None),
            (t("file"), note_link(record["path"])),
        ]
    )


def _life(visit: Visit, entries: Sequence[Record], diffs: Sequence[Record]) -> h.Element:
    t = visit.t
    return h.ol(".rows")[
        (
            h.li(".row", tabindex="0", id=f"c{entry['commit'][:12]}")[
                h.div[
                    h.strong[entry["by"]], " ", entry["why"], " ", when(entry["at"]),
                    h.details[h.summary[t("What changed")], difference(diff["diff"], t)],
                ],
                h.div(".buttons")[form(visit, "undo", h.button[t("Undo")], commits=entry["commit"])],
            ]
            for entry, diff in zip(entries, diffs, strict=True)
        )
    ]  # fmt: skip


async def merge(visit: Visit) -> Page:
    """Several memories side by side, to make one of them."""
    t = visit.t
    ids = visit.several.get("id", [])
    records = await asyncio.gather(
        *(visit.reader.ask("read", id=id_, counts=False) for id_ in ids[:10])
    )
    if len(records) < 2:
        return Page(t("Merge"), h.p(".problem")[t("Choose two memories or more.")], "/memories")
    joined = "\n\n".join(dict.fromkeys(str(one["content"]) for one in records))
    return Page(
        t("Merge"),
        [
            h.div(".beside")[
                (
                    h.article[h.h2[one["title"]], h.div(".prose")[prose(str(one["content"]))], labels(row_of(one))]
                    for one in records
                )
            ],
            form(
                visit, "merge",
                h.label[h.span[t("The one text that stays; the others go to the archive")],
                        h.textarea(name="content", rows="8")[joined]],
                h.button[t("Merge")],
                id="\n".join(str(one["id"]) for one in records), seen=str(records[0]["content_hash"]),
                back="/ui/memories",
            ),
        ],
        "/memories",
    )  # fmt: skip
