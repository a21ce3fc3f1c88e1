"""Upkeep of the records of conversations: they leave the editor's sight, and come back where only their page arrived.

Obsidian Sync and some others carry no hidden folders. There a page says what the records would, once it has had the
time to be overtaken by them.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence

from vaultmem.adapter import Value
from vaultmem.memories import generated, links, reads, transcript
from vaultmem.memories.access import is_private
from vaultmem.memories.conversation import (
    ASSISTANT,
    DELETED,
    FACTS,
    SUMMARIES,
    TURNS,
    Entry,
    basic_properties,
    in_folder,
    is_entry_id,
    name_of,
    place_of,
    put_away,
    role_in,
    scope_of,
)
from vaultmem.memories.draft import CREATE, MOVE, TO_ARCHIVE, Change, Plan
from vaultmem.memories.model import link_targets
from vaultmem.memories.store import Session
from vaultmem.text.similarity import content_hash
from vaultmem.text.times import seconds, stamp
from vaultmem.vault.batches import Header
from vaultmem.vault.places import RECORDS, file_name

PATIENCE = 3600.0  # seconds for which records may be on their way
_HIDDEN = "records of a conversation, out of the editor's sight"
_ELSEWHERE = "from its page, which another machine wrote"


def hide(session: Session, limit: int, *, dry_run: bool) -> int:
    """Move the records of earlier versions, a batch for each conversation, until `limit` are moved: the next dream goes
    on. How many. Undone, they stay."""
    desk = session.desk
    undone, count = reads.undone(desk.ledger), 0
    for talk in desk.talks.talks():
        if count >= limit:
            break
        here = f"{desk.talks.place}/{talk.folder}"
        changes = []
        for one in talk.entries:
            rest = one.path[len(here) + 1 :]
            target = f"{here}/{RECORDS}/{rest}"
            if role_in(rest) and one.path not in undone and not session.view.exists(target):
                changes.append(Change(MOVE, one.id, one.path, target, {}, None, None, _HIDDEN))
        count += len(changes)
        if changes and not dry_run:
            changes += _relinked(session, talk.entries, undone).changes
            _carry_out(session, talk.entries[0].conversation, changes, _HIDDEN)
            _clear_folders(f"{desk.vault}/{here}")
    return count


def _relinked(
    session: Session, entries: Sequence[Entry], undone: Mapping[str, tuple[str, str]]
) -> Plan:
    """Memories link to the page instead, and name the fact that they were made of."""
    facts, draft = {file_name(one.path): one for one in entries}, session.draft()
    for memory in session.view.memories():
        name = next((name for name in memory.linked if name in facts), "")
        if name and undone.get(memory.id) != (memory.path, memory.hash):
            fact = facts[name]
            others = [each for each in links.entries(memory) if name not in link_targets(each)]
            every = [*others, *transcript.links_to(session, fact.conversation)]
            draft.set(memory, _HIDDEN, drawn_from=fact.id, links=every or None)
    return draft.plan("records")


def take_in(session: Session) -> set[str]:
    """Make records of pages that this machine did not write, and put away what these take back. The paths of
    pages to be left as they are: this machine has nothing to add, or their records may be on their way."""
    desk, alone = session.desk, set()
    every = (page for talk in desk.talks.talks() for page in talk.pages)
    for path, text, changed in generated.of_others(desk, every):
        tail, rows = transcript.read(text)
        conversation = in_folder(path.split("/")[-2], tail.get("conversation"))
        if not conversation:
            continue
        entries = desk.talks.entries(conversation)
        new = _new(session, conversation, entries, rows)
        changes = [*new, *_taken_back(session, entries, tail.get("away"))]
        if changes and session.now - changed < PATIENCE:
            alone.add(path)
            continue
        if changes:
            _carry_out(session, conversation, changes, _ELSEWHERE)
            entries = desk.talks.entries(conversation)
        ours = {one.id for one in entries if transcript.is_on_page(one)}
        if ours == {one.id for one in rows} and path == transcript.page_path(session, entries):
            alone.add(path)
    return alone


def _new(
    session: Session, conversation: str, entries: Sequence[Entry], rows: Sequence[transcript.Row]
) -> Iterator[Change]:
    known = {one.id for one in entries}
    names = {one.id: file_name(one.path) for one in entries}
    names |= {one.id: _name(one) for one in rows if one.id not in known}
    for one in rows:
        if one.id in known or not (is_entry_id(one.id) and _name(one) and one.content.strip()):
            continue
        known.add(one.id)
        own = dict(one.properties)
        of = [name for id_ in str(own.pop("of", "")).split() if (name := names.get(id_))]
        properties: dict[str, Value] = {
            **own, **basic_properties(one.id, conversation, one.role),
            "created_at": one.created_at, "updated_at": one.created_at,
        }  # fmt: skip
        if of:
            properties["links"] = [f"[[{name}]]" for name in of]
        if one.role == ASSISTANT:
            properties["content_hash"] = content_hash(one.content)
        target = f"{session.desk.folder}/{place_of(conversation, one.role, names[one.id])}"
        yield Change(CREATE, one.id, None, target, properties, one.content, None, _ELSEWHERE)


def _name(one: transcript.Row) -> str:
    at = seconds(one.created_at)
    return "" if at is None else name_of(stamp(at), one.id)


def _taken_back(session: Session, entries: Sequence[Entry], away: Value) -> Iterator[Change]:
    folder = session.desk.folder
    gone = {*str(away or "").split()}
    for one in entries:
        if one.id in gone and not (one.deleted or is_private(one.properties)):
            target = f"{folder}/{put_away(one.path[len(folder) + 1 :])}"
            sets = {"deleted_at": stamp(session.now), "by": scope_of(one.conversation)}
            hash_ = content_hash(one.content)
            yield Change(TO_ARCHIVE, one.id, one.path, target, sets, None, hash_, _ELSEWHERE)


def _carry_out(session: Session, conversation: str, changes: Sequence[Change], why: str) -> None:
    who = Header(scope_of(conversation), "job", why, session.now)
    session.carry_out(Plan("records", tuple(changes)), who)


def _clear_folders(place: str) -> None:
    for name in (TURNS, FACTS, SUMMARIES, DELETED):
        for folder, _, _ in os.walk(f"{place}/{name}", topdown=False):
            with contextlib.suppress(OSError):  # there is something in it
                os.rmdir(folder)
