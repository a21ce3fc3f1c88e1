"""The pages of a note with its surroundings, and of conversations."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Sequence

import htpy as h

from vaultmem_web import drawing, views
from vaultmem_web.data import Record, Visit
from vaultmem_web.texts import prose
from vaultmem_web.views import Page, button, note_link, url, when

# --- around a note


async def note(visit: Visit) -> Page:
    """A note and its surroundings: links, mentions, similar notes, and memories derived from it."""
    t, reader, named = visit.t, visit.reader, visit.name("path")
    if not _is_here(visit):  # the plugin of another vault, which may have a note of the same name
        return views.trouble(t, t("this page shows the vault {name}", name=reader.folder))
    back, related = await asyncio.gather(
        reader.call("backlinks", note=named), reader.call("related", note=named, limit=20)
    )
    path = str(back["note"])
    answer = await reader.ask("note", path=path)
    title, notes = str(answer["title"]), {*answer["links"].values()}
    targets = sorted([*notes, *answer["files"]])
    out = notes - {path}
    into = {str(link["source"]) for link in back["backlinks"]} - {path}
    like = {str(other["path"]): str(other["title"]) for other in related["related"]}
    linked = {other: views.name_of(other) for other in sorted(out | into)}
    unlinked = {other: name for other, name in like.items() if other not in linked}
    alike = (
        views.row("", [note_link(other["path"], other["title"]), h.p(".labels")[", ".join(other["reasons"])]])
        for other in related["related"]
    )  # fmt: skip
    return Page(
        title,
        [
            h.p(".labels")[path],
            views.later(_text(visit, answer)),
            bool(back["backlinks"]) and views.section(t("Linked from"), _places(visit, path, back["backlinks"], "source")),
            h.details(data_part=url("/mentions", path=path))[h.summary[t("Mentioned without a link")]],
            bool(targets) and views.section(
                t("Links to"), h.ul[(h.li[note_link(target) if target in notes else target] for target in targets)]
            ),
            bool(like) and views.section(t("Alike"), views.rows(alike)),
            path.isprintable() and views.later(_drawn(visit, path)),  # no memory can name another one as its source
            drawing.graph(title, linked, unlinked, t),
        ],
        "", "notes",
    )  # fmt: skip


def _is_here(visit: Visit) -> bool:
    """Whether the folder of a vault in the query, if there is one, is that of this page."""
    try:
        folder = visit.text("vault")
        return not folder or os.path.samefile(folder, visit.reader.folder)
    except (OSError, ValueError):
        return False


async def _text(visit: Visit, answer: Record) -> h.Node:
    """The text of the note, folded if an editor beside it shows it."""
    t = visit.t
    text = str(answer["text"]).lstrip("\n").removeprefix(f"# {answer['title']}\n")
    made = await asyncio.to_thread(prose, text, answer["links"])
    return [
        views.editor_link(answer["uri"], t),
        answer["properties"] and h.details("#properties")[h.summary[t("Properties")], h.pre(tabindex="0")[answer["properties"]]],
        h.details("#text", open=not visit.text("beside"))[
            h.summary[t("Text")],
            h.div(".prose")[made],
            answer["is_cut"] and h.p(".problem")[t("It is longer; the editor shows all of it.")],
        ],
    ]  # fmt: skip


async def mentions(visit: Visit) -> Page:
    """Where other notes name a note without a link. Reads the notes."""
    path = visit.name("path")
    back = await visit.reader.call("backlinks", note=path, mentions=True)
    places = _places(visit, path, back["mentions"], "path")
    nothing = h.p(".empty")[visit.t("Nothing is there.")]
    title = visit.t("Mentioned without a link")
    return Page(title, places if back["mentions"] else nothing, is_part=True)


def _places(visit: Visit, note: str, rows: Iterable[Record], key: str) -> h.Node:
    links = sorted({f"{row[key]}:{row['line']}" for row in rows})
    most, count = views.first(visit, len(links), "/note", path=note)
    return [h.ul[(h.li[note_link(link)] for link in links[:most])], count]


async def _drawn(visit: Visit, path: str) -> h.Node:
    drawn = (await visit.reader.list(source=path, limit=100))["memories"]
    links = (h.li[views.memory_link(row)] for row in drawn)
    return bool(drawn) and views.section(visit.t("Memories drawn from it"), h.ul[links])


# --- conversations


async def conversations(visit: Visit) -> Page:
    """All conversations, the most recent first."""
    t = visit.t
    answer = await visit.reader.ask("conversations")
    return Page(
        t("Conversations"),
        views.rows(
            (_talk(visit, talk) for talk in answer["conversations"]),
            t("No conversation was kept yet: vaultmem chat and the proxy keep them."),
        ),
        "/conversations", "notes memories",
    )  # fmt: skip


def _talk(visit: Visit, talk: Record) -> h.Element:
    id_, counts = str(talk["conversation_id"]), {name: talk[name] for name in ("turns", "facts")}
    labels = visit.t("turns: {turns}, facts: {facts}", **counts), when(str(talk["updated_at"]))
    link = h.a(href=url("/conversation", id=id_))[id_]
    return views.row(f"t-{id_}", [link, h.p(".labels")[labels]])


async def conversation(visit: Visit) -> Page:
    """A transcript in which the sources of learned facts are marked."""
    t, name = visit.t, visit.text("id")
    answer = await visit.reader.ask("entries", conversation=name)
    entries = answer["entries"]
    turns = [entry for entry in entries if entry["role"] in ("user", "assistant")]
    learned: dict[str, list[Record]] = {}
    for entry in entries:
        if entry["role"] == "memory":
            learned.setdefault(str(entry.get("of", "")), []).append(entry)
    summaries = [entry for entry in entries if entry["role"] == "summary"]
    return Page(
        name,
        [
            summaries and views.section(t("In short"), h.div(".prose")[prose(str(summaries[-1]["content"]))]),
            learned.get("") and views.section(t("Learned"), _learned(visit, learned[""])),
            h.ol(".turns")[(_turn(visit, turn, learned.get(str(turn["id"]), [])) for turn in turns)],
            not entries and h.p(".empty")[t("Nothing is there.")],
        ],
        "/conversations", "notes memories",
    )  # fmt: skip


def _turn(visit: Visit, turn: Record, learned: Sequence[Record]) -> h.Element:
    t, text, id_ = visit.t, str(turn["content"]), str(turn["id"])
    sources = [str(fact["sentence"]) for fact in learned if fact["sentence"]]
    return h.li(f".turn.{turn['role']}", tabindex="0", id=f"e{id_}")[
        h.p(".labels")[h.strong[t("you") if turn["role"] == "user" else t("assistant")], when(turn["created_at"])],
        h.div(".prose.marked")[views.marked(text, sources)] if sources else h.div(".prose")[prose(text)],
        learned and _learned(visit, learned),
        button(visit, "forget", t("Forget this and what was learned from it"), id=id_, derived="1"),
    ]  # fmt: skip


def _learned(visit: Visit, learned: Sequence[Record]) -> h.Element:
    t = visit.t
    return views.rows(
        views.row(
            f"f{fact['id']}", [h.strong[t("learned: ")], str(fact["content"])],
            button(visit, "promote", t("Make it a memory"), id=str(fact["id"])),
            button(visit, "forget", t("Forget"), id=str(fact["id"]), derived="1"),
        )
        for fact in learned
    )  # fmt: skip
