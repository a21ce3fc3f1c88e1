"""A conversation as one page for people: the summary on top, what was learned, then who said what.

It is generated from the entries, which remain authoritative. A comment at its end holds what a person need not see,
so that records can be recreated from the page if a sync program carries only the page.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from itertools import groupby

from vaultmem.adapter import JsonObject, Value
from vaultmem.dreams.summaries import is_outdated
from vaultmem.light import NamedTuple
from vaultmem.memories import conversation as talk
from vaultmem.memories.conversation import ASSISTANT, MEMORY, USER, Entry
from vaultmem.memories.draft import CREATE, TO_ARCHIVE, Change, Plan
from vaultmem.memories.entries import Talk
from vaultmem.memories.model import link_targets
from vaultmem.memories.store import Session
from vaultmem.notes import pages
from vaultmem.notes.places import CHAT, file_name
from vaultmem.operations import generated
from vaultmem.text.sanitize import not_run, quote_text
from vaultmem.text.similarity import content_hash
from vaultmem.text.times import fine_stamp, seconds, stamp
from vaultmem.text.values import json_object, lazy
from vaultmem.vault.batch_record import Header

MOST = 1_000  # newest turns on a page
MOST_CHARACTERS = 1_000_000
PRIVATE = "(private)"
_NAMES = {USER: "You", ASSISTANT: "Assistant"}
_NO_NAME = lazy(r"[0-9a-f]{8}[0-9a-f-]{8,}")  # an id that means nothing to a person
_SHORT = 8  # characters of such an id
_DAY = slice(len(f"{CHAT} 2026-11-22"), None)  # what follows the day in the name of a page
_MARKS = lazy(r"^<!-- vaultmem\n(.*?)\n-->$", re.MULTILINE | re.DOTALL)
_KEYS = ("id", "role", "created_at", "hash")  # of each line
_HASH = 12  # digits that identify a line's words
_ESCAPES = str.maketrans({character: f"\\u{ord(character):04x}" for character in "<>[]#"})
# Properties derived from others, or specific to a machine.
_OWN = frozenset(
    ("id", "role", "phase", "category", "scope", "decay_policy", "conversation_id", "created_at", "updated_at",
     "content_hash", "compressed", "links")
)  # fmt: skip


class Row(NamedTuple):
    """A turn or fact as on a page."""

    id: str
    role: str
    created_at: str
    content: str
    properties: dict[str, Value]  # properties that are not derived


def keep(session: Session) -> int:
    """Read pages of other machines, write changed ones, archive pages of other names. Returns how many were written."""
    store = session.store
    but, listed, talks = take_in(session, store.talks.talks())
    titles = {memory.id: memory.title for memory in store.collection.live()}
    texts, lacking = dict[str, str](), set[str]()
    for conversation in talks:
        if conversation.entries:
            path = page_path(session, conversation.entries)
            sets: dict[str, Value] = {"generated": generated.BY, "TP_ignore_this_file": True}
            if path not in but:
                body = render(conversation.entries, titles)
                if path in listed and not {row.id for row in read(body)[1]} <= listed[path]:
                    lacking.add(path)
                texts[path] = pages.compose(store.rules.page_style(path), sets, body).decode()
            others = (
                page.path
                for page in conversation.pages
                if page.path != path and page.path not in but
            )
            generated.put_away(store, others)
    return generated.keep(store, texts, lacking)


def links_to(session: Session, conversation: str) -> list[Value]:
    """The link to the page of a conversation, if such pages are written."""
    if session.store.config.text("memories.pages") == "off":
        return []
    path = page_path(session, session.store.talks.entries(conversation))
    return [f"[[{file_name(path)}]]"]


def page_path(session: Session, entries: Sequence[Entry]) -> str:
    """The path of the page for these entries. It has no words that may be removed later, and never changes, unless
    another machine has written the page under an earlier day: the first entries may be on that machine alone."""
    day = _day(min((entry.created for entry in entries), default=0.0))
    folder = talk.folder_of(entries[0].conversation) if entries else ""
    title = folder[:_SHORT] if _NO_NAME.fullmatch(folder) else folder
    name, place = f"{CHAT} {day:%Y-%m-%d} {title}.md", f"{session.store.talks.place}/{folder}"
    with suppress(OSError):
        names = os.listdir(f"{session.store.vault}/{place}")
        same = (one for one in names if one[_DAY] == name[_DAY] and len(one) == len(name))
        name = min([name, *same])
    return f"{place}/{name}"


def _day(at: float) -> datetime:
    return datetime.fromtimestamp(at, UTC)  # the same on every machine


def render(entries: Sequence[Entry], titles: Mapping[str, str]) -> str:
    """The text of the page; `titles` are those of memories by id. Private entries are only mentioned."""
    first = _day(min(entry.created for entry in entries))
    parts = [f"# Conversation of {first.day} {first:%B %Y}", generated.ABOUT, *_summary(entries)]
    learned = [*_learned_links(entries, titles)]
    if learned:
        parts += ["## Learned", "\n".join(f"- {line}" for line in learned)]
    parts += [*_turns(entries), _comment(entries)]
    return "\n\n".join(parts) + "\n"


def _summary(entries: Sequence[Entry]) -> Iterator[str]:
    finals = [entry for entry in entries if entry.is_final and not entry.deleted]
    for entry in finals[-1:]:
        if not entry.is_private and not is_outdated(entry, entries):
            yield _quote(entry.content)


def _learned_links(entries: Sequence[Entry], titles: Mapping[str, str]) -> Iterator[str]:
    """The facts that hold, and links to the memories that others became."""
    for entry in entries:
        if not entry.is_fact:
            continue
        title = titles.get(str(entry.properties.get("replaced_by") or ""))
        if title and entry.deleted:
            yield f"[[{title}]]"
        elif not entry.deleted:
            yield PRIVATE if entry.is_private else _fact(entry)


def _turns(entries: Sequence[Entry]) -> list[str]:
    turns = [entry for entry in entries if entry.is_turn and not entry.deleted]
    room, latest = MOST_CHARACTERS, list[Entry]()
    for turn in reversed(turns[-MOST:]):
        room -= len(turn.content)
        if room < 0:
            break
        latest.insert(0, turn)
    parts = []
    if len(latest) < len(turns):
        parts.append(f"{len(turns) - len(latest):,} earlier turns are not shown.")
    before = ""
    for turn in latest:
        at = _day(turn.created)
        day = f"{at.day} {at:%B %Y}"
        parts += [f"## {day}"] if day != before else []
        before = day
        words = PRIVATE if turn.is_private else turn.content
        parts += [f"**{_NAMES[turn.role]}**", _quote(words)]
    return parts or ["Nothing is left of what was said."]


def _quote(text: str) -> str:
    """The text with its own headings, tasks and rules escaped, and with code that an editor would run made plain."""
    return "\n".join(f"> {line}".rstrip() for line in not_run(text.strip("\n")).split("\n"))


# For programs only: a comment at the end, with a line for each record whose words are on the page.


def _comment(entries: Sequence[Entry]) -> str:
    listed = [entry for entry in entries if is_on_page(entry)]
    gone = (entry for entry in entries if entry.deleted or entry.is_private)
    away = {entry.id for entry in gone if entry.properties.get("evicted") is not True}
    away -= {entry.id for entry in listed}
    ids = {file_name(entry.path): entry.id for entry in entries}
    first = {"conversation": entries[0].conversation, "away": " ".join(sorted(away))}
    rows = [first, *(_row(entry, ids) for entry in listed)]
    lines = (json.dumps(row, ensure_ascii=False, default=str) for row in rows)
    return "\n".join(["<!-- vaultmem", *(line.translate(_ESCAPES) for line in lines), "-->"])


def _row(entry: Entry, ids: Mapping[str, str]) -> JsonObject:
    fields = {
        "id": entry.id, "role": entry.role, "created_at": fine_stamp(entry.created),
        "hash": content_hash(_fact(entry) if entry.role == MEMORY else _unquoted(_quote(entry.content)))[:_HASH],
        **{key: value for key, value in entry.properties.items() if key not in _OWN},
    }  # fmt: skip
    of = [ids[name] for name in link_targets(entry.properties.get("links")) if name in ids]
    return {**fields, "of": " ".join(of)} if of else fields


def is_on_page(entry: Entry) -> bool:
    """Whether the page has its words."""
    return not (entry.deleted or entry.is_private) and (entry.is_fact or entry.is_turn)


def read(body: str) -> tuple[dict[str, Value], list[Row]]:
    """The conversation, turns and facts that the text of a page holds."""
    matches = _MARKS.findall(body)
    first, *rows = map(json_object, matches[-1].split("\n")) if matches else [{}]
    lines = body.split("\n")
    facts = [line[2:] for line in lines if line.startswith("- ")]
    runs = groupby(lines, key=lambda line: line.startswith(">"))
    turns = [_unquoted("\n".join(run)) for is_quote, run in runs if is_quote]
    words = {content_hash(text)[:_HASH]: text for text in (*facts, *turns)}
    every = []
    for row in rows:
        id_, role, at, key = (str(row.pop(name, "")) for name in _KEYS)
        if key in words and role in (*_NAMES, MEMORY):
            every.append(Row(id_, role, at, words[key], row))
    return first, every


def _unquoted(text: str) -> str:
    return "\n".join(line[1:].removeprefix(" ") for line in text.split("\n"))


def _fact(entry: Entry) -> str:
    return not_run(quote_text(entry.content, len(entry.content)))


# Restores records if only their page arrived, as with Obsidian Sync, which skips hidden folders. There a page
# counts for its records, once they have had time to arrive.

PATIENCE = 3600.0  # seconds that records may take to arrive
_ELSEWHERE = "from its page, which another machine wrote"


def take_in(
    session: Session, talks: list[Talk]
) -> tuple[set[str], dict[str, set[str]], list[Talk]]:
    """Make records from pages of other machines. Returns the pages to leave unchanged, the ids on all of them, and all
    conversations afterwards."""
    store, alone, is_changed = session.store, set[str](), False
    listed: dict[str, set[str]] = {}
    every = (page for each in talks for page in each.pages)
    for path, text, changed in generated.of_others(store, every):
        tail, rows = read(text)
        conversation = talk.in_folder(path.split("/")[-2], tail.get("conversation"))
        if not conversation:
            continue
        listed[path] = {row.id for row in rows}
        entries = store.talks.entries(conversation)
        new = _new_records(session, conversation, entries, rows)
        changes = [*new, *_taken_back(session, entries, tail.get("away"))]
        if changes and session.now - changed < PATIENCE:
            alone.add(path)
            continue
        if changes:
            _carry_out(session, conversation, changes)
            entries, is_changed = store.talks.entries(conversation), True
        ours = {entry.id for entry in entries if is_on_page(entry)}
        if ours == listed[path] and path == page_path(session, entries):
            alone.add(path)
    return alone, listed, store.talks.talks() if is_changed else talks


def _new_records(
    session: Session, conversation: str, entries: Sequence[Entry], rows: Sequence[Row]
) -> Iterator[Change]:
    entry_ids = {entry.id for entry in entries}
    names = {entry.id: file_name(entry.path) for entry in entries}
    names |= {row.id: _record_name(row) for row in rows if row.id not in entry_ids}
    for row in rows:
        if row.id in entry_ids or not (
            talk.is_entry_id(row.id) and _record_name(row) and row.content.strip()
        ):
            continue
        entry_ids.add(row.id)
        fields = dict(row.properties)
        of = [name for id_ in str(fields.pop("of", "")).split() if (name := names.get(id_))]
        properties: dict[str, Value] = {
            **fields, **talk.basic_properties(row.id, conversation, row.role),
            "created_at": row.created_at, "updated_at": row.created_at,
        }  # fmt: skip
        if of:
            properties["links"] = [f"[[{name}]]" for name in of]
        if row.role == ASSISTANT:
            properties["content_hash"] = content_hash(row.content)
        target = f"{session.store.folder}/{talk.place_of(conversation, row.role, names[row.id])}"
        yield Change(CREATE, row.id, None, target, properties, row.content, None, _ELSEWHERE)


def _record_name(row: Row) -> str:
    at = seconds(row.created_at)
    return "" if at is None else talk.name_of(stamp(at), row.id)


def _taken_back(session: Session, entries: Sequence[Entry], away: Value) -> Iterator[Change]:
    folder = session.store.folder
    gone = {*str(away or "").split()}
    for entry in entries:
        if entry.id in gone and not (entry.deleted or entry.is_private):
            target = f"{folder}/{talk.put_away(entry.path[len(folder) + 1 :])}"
            sets = {"deleted_at": stamp(session.now), "by": talk.scope_of(entry.conversation)}
            hash_ = content_hash(entry.content)
            yield Change(TO_ARCHIVE, entry.id, entry.path, target, sets, None, hash_, _ELSEWHERE)


def _carry_out(session: Session, conversation: str, changes: Sequence[Change]) -> None:
    who = Header(talk.scope_of(conversation), "job", _ELSEWHERE, session.now)
    session.carry_out(Plan("records", tuple(changes)), who)
