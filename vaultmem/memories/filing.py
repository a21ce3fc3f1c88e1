"""Verbs on memories that are there: read, list, delete, restore, tag, upgrade, link, reinforce."""

from __future__ import annotations

import contextlib

from vaultmem.adapter import Value
from vaultmem.errors import (
    NoteChangedError,
    NoteNotFoundError,
    StateError,
    UsageError,
    VaultmemError,
)
from vaultmem.memories import links, model, reads
from vaultmem.memories.asked import Asked
from vaultmem.memories.desk import Session
from vaultmem.memories.draft import CREATE, RESTORE, Change, Plan
from vaultmem.memories.model import INBOX, Memory, category_of
from vaultmem.memories.records import Known, Wanted, chosen
from vaultmem.memories.reports import Report, header, planned
from vaultmem.reminders.pending_items import is_approved
from vaultmem.text.sanitize import one_line
from vaultmem.text.times import stamp
from vaultmem.text.titles import free_path

SHORTEST_ID = 4  # characters of an id that can mean an entry
MOST_LOOKED = 1_000  # commits in which a file is looked for that a person has deleted
_NO_REINFORCING = {
    "stable": "Memory has stable decay policy, reinforcement has no effect",
    "contextual": "Memory has contextual decay policy, reinforcement is not supported",
}


def read(session: Session, asked: Asked) -> dict[str, object]:
    """One memory; being read is remembered."""
    try:
        memory = session.find(asked.needed("id"))
    except NoteNotFoundError as error:
        raise (not asked.text("by") and _said(session, asked.needed("id"))) or error from None
    with contextlib.suppress(StateError):  # to read is possible where nothing can be written
        reads.add(session.desk.ledger, {memory.id: memory.stored_reads}, session.now)
    return {**session.record(memory)}


def _said(session: Session, given: str) -> NoteNotFoundError | None:
    """What to do where the id is that of an entry of a conversation, which is no memory."""
    if len(given) < SHORTEST_ID:
        return None
    for talk in session.desk.talks.talks():
        for one in talk.entries:
            if one.id.startswith(given.lower()):
                return NoteNotFoundError(
                    f"{given!r} is an entry of a conversation ({one.path}); "
                    f"vaultmem conversations show {one.conversation} shows it"
                )
    return None


def listed(session: Session, asked: Asked) -> dict[str, object]:
    """Memories, the newest first."""
    wanted = Wanted(
        asked.text("phase"), asked.text("category"), asked.scope(), asked.text("source"), asked.text("agent"),
        asked.text("personality"), asked.text("project"), asked.text("type"), asked.flag("everywhere"),
        asked.tags(), asked.day("since", session.view.now), asked.day("until", session.view.now),
        asked.number("min_confidence"), asked.whole("limit"),
        asked.flag("include_compressed") or asked.flag("deleted"),
    )  # fmt: skip
    collection = session.desk.collection
    everything = collection.archived() if asked.flag("deleted") else collection.live()
    if session.viewer.name:
        everything = [memory for memory in everything if session.sees(memory)]
    known = Known(session.reads, session.id_of, session.now, session.desk.half_life)
    found = chosen(everything, wanted, known)
    shown = []
    for memory in found:
        with contextlib.suppress(NoteNotFoundError):  # a person has deleted it this very moment
            shown.append({**session.record(memory), **_attributed(session, memory)})
    return {"memories": shown, "count": len(shown)}


def _attributed(session: Session, memory: Memory) -> dict[str, str]:
    """Whose words they are, where these are neither the viewer's nor approved."""
    said = model.attribution(model.origin(memory.properties), session.viewer)
    if not said or is_approved(memory.id, session.answers):
        return {}
    return {"attribution": one_line(said)}


def delete(session: Session, asked: Asked) -> Report:
    """Move a memory to the archive."""
    memory = session.find(asked.needed("id"))
    who = header(asked, f"delete {memory.title}", session.now)
    draft = session.draft()
    draft.archive(memory, who.by, f"deleted by {who.by}")
    plan = draft.plan("delete")
    if asked.flag("dry_run"):
        return planned(session, plan)
    _carry_out(session, plan, asked, who.why)
    return {"id": memory.id, "deleted": True, "title": memory.title, "path": plan.changes[0].target}


def restore(session: Session, asked: Asked) -> Report:
    """Bring a memory back from the archive."""
    try:
        memory = session.find(asked.needed("id"), archived=True)
    except NoteNotFoundError:
        removed = _removed_by_hand(session, asked.needed("id"))
        if removed is None:
            raise
        return _written_again(session, asked, *removed)
    if not memory.archived:
        raise VaultmemError(f"{memory.title!r} is not deleted; there is nothing to restore")
    view = session.view
    category = category_of("", memory.properties.get("category"))
    wanted = f"{view.folder}/{category}/{memory.title}.md"
    target = free_path(wanted, memory.id, view.exists)
    # `replaced_by` stays: whoever brings a merged memory back says that it is not the same.
    gone: dict[str, Value] = {"deleted_at": None, "by": None, "updated_at": stamp(session.now)}
    if memory.expires is not None and memory.expires <= session.now:
        gone["expires_at"] = None
    change = Change(
        RESTORE,
        memory.id,
        memory.path,
        target,
        gone,
        None,
        memory.hash,
        "restored from the archive",
    )
    plan = Plan("restore", (change,))
    if asked.flag("dry_run"):
        return planned(session, plan)
    return _carry_out(session, plan, asked, f"restore {memory.title}")


def _removed_by_hand(session: Session, given: str) -> tuple[str, bytes] | None:
    """The path and bytes of a file that a person has deleted, as the history has them."""
    history = session.desk.history
    if history.trouble():
        return None
    session.desk.remember()
    wanted = given.strip().removeprefix("[[").removesuffix("]]").lower().removesuffix(".md")
    for commit in history.log(limit=MOST_LOOKED):
        for one in commit.files:
            if one.target is None and one.path is not None and not commit.is_ours:
                name = one.path.lower().removesuffix(".md")
                if wanted in (name, name.rpartition("/")[2]):
                    bytes_ = {each.path: each.old for each in history.files(commit.commit)}
                    data = bytes_.get(one.path)
                    return None if data is None else (one.path, data)
    return None


def _written_again(session: Session, asked: Asked, path: str, data: bytes) -> Report:
    target = free_path(path, session.desk.new_id(), session.view.exists)
    why = "restored from the history"
    change = Change(CREATE, "", None, target, {}, None, None, why, data)
    plan = Plan("restore", (change,))
    if asked.flag("dry_run"):
        return planned(session, plan)
    return _carry_out(session, plan, asked, f"restore {target.rpartition('/')[2]}")


def tag(session: Session, asked: Asked) -> Report:
    """Add and remove tags."""
    memory = session.find(asked.needed("id"))
    if not asked.tags("add") and not asked.tags("remove"):
        raise UsageError("name a tag to add, or one to remove")
    gone = {tag.lower() for tag in asked.tags("remove")}
    have = [tag for tag in memory.tags if tag.lower() not in gone]
    known = {tag.lower() for tag in have}
    now = [*have, *(tag for tag in asked.tags("add") if tag.lower() not in known)]
    draft = session.draft()
    if now != list(memory.tags):
        draft.set(memory, "tags changed", tags=list(now) or None, updated_at=stamp(session.now))
    return _edited(session, asked, draft.plan("tag"), memory, f"tag {memory.title}")


def upgrade(session: Session, asked: Asked) -> Report:
    """From the inbox to a category: the one that is given, else the likeliest."""
    memory = session.find(asked.needed("id"))
    given = asked.text("category")
    if given == INBOX:
        raise VaultmemError("upgrade files a memory out of the inbox; name another category")
    if memory.category != INBOX and not given:
        raise VaultmemError(f"{memory.title!r} is in {memory.category} already; nothing to upgrade")
    draft = session.draft()
    why = "as asked"
    if not given:
        from vaultmem.memories.classify import best, judged

        verdict = next(verdict for _, _, verdict in judged(draft, [memory]))
        given = best(verdict)
        why = "; ".join(verdict.why) or "nothing in it tells of another category"
    if given != memory.category:
        draft.move(memory, given, f"filed under {given}: {why}")
    return _edited(session, asked, draft.plan("upgrade"), memory, f"upgrade {memory.title}")


def link(session: Session, asked: Asked) -> Report:
    """Link two memories, both ways."""
    return _linked(session, asked, linked=True)


def unlink(session: Session, asked: Asked) -> Report:
    """Take the links between two memories away."""
    return _linked(session, asked, linked=False)


def _linked(session: Session, asked: Asked, *, linked: bool) -> Report:
    one, other = session.find(asked.needed("id")), session.find(asked.needed("other"))
    if one.path == other.path:
        raise VaultmemError("a memory cannot be linked with itself")
    draft = session.draft()
    (links.link if linked else links.unlink)(draft, one, other)
    plan = draft.plan("link" if linked else "unlink")
    if asked.flag("dry_run"):
        return planned(session, plan)
    if plan.changes:
        _carry_out(session, plan, asked, f"{plan.name} {one.title} and {other.title}")
    return {
        "source": one.id, "target": other.id, "linked": linked, "changed": bool(plan.changes),
    }  # fmt: skip


def reinforce(session: Session, asked: Asked) -> Report:
    """Begin the decay of a memory anew."""
    memory = session.find(asked.needed("id"))
    refused = _NO_REINFORCING.get(memory.decay_policy)
    if refused:
        raise VaultmemError(refused)
    draft = session.draft()
    draft.set(memory, "reinforced", last_reinforced_at=stamp(session.now))
    plan = draft.plan("reinforce")
    if asked.flag("dry_run"):
        return planned(session, plan)
    if plan.changes:
        _carry_out(session, plan, asked, f"reinforce {memory.title}")
    now = session.record(session.find(memory.id))
    return {
        "id": memory.id, "confidence": now["confidence"], "last_reinforced_at": now["last_reinforced_at"],
    }  # fmt: skip


def _edited(session: Session, asked: Asked, plan: Plan, memory: Memory, why: str) -> Report:
    if asked.flag("dry_run"):
        return planned(session, plan)
    if not plan.changes:
        return {**session.record(memory), "changed": False}
    return {**_carry_out(session, plan, asked, why), "changed": True}


def _carry_out(session: Session, plan: Plan, asked: Asked, why: str) -> Report:
    """Do it, or say why it could not be done; the memory as it is then."""
    outcome = session.carry_out(plan, header(asked, why, session.now))
    if outcome.skipped:
        raise NoteChangedError(f"{outcome.skipped[0][1]}")
    found = session.desk.collection.at(plan.changes[0].target)
    if found is None:
        raise NoteChangedError(f"{plan.changes[0].target} was gone as soon as it was written")
    return {**session.record(found)}
