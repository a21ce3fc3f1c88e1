"""Verbs that change one memory: edit, delete, restore, tag, upgrade, link, reinforce."""

from __future__ import annotations

from vaultmem.adapter import JsonObject, Properties
from vaultmem.errors import NoteChangedError, NoteNotFoundError, UsageError, VaultmemError
from vaultmem.ledger import reads
from vaultmem.memories import access
from vaultmem.memories.arguments import Arguments, which_day
from vaultmem.memories.draft import CREATE, Change, Draft, Plan, restored
from vaultmem.memories.memory_file import fold
from vaultmem.memories.model import INBOX, Memory
from vaultmem.memories.reports import finish, header
from vaultmem.memories.store import Session
from vaultmem.notes.places import file_name
from vaultmem.text.times import stamp
from vaultmem.text.titles import free_path, free_title, safe_title, title_of

_NO_REINFORCING = {
    "stable": "Memory has stable decay policy, reinforcement has no effect",
    "contextual": "Memory has contextual decay policy, reinforcement is not supported",
}


def delete(session: Session, params: Arguments) -> JsonObject:
    """Move a memory to the archive."""
    memory = session.find(params.needed("id"))
    who = header(params, f"delete {memory.title}", session.now)
    draft = session.draft()
    draft.archive(memory, who.by, f"deleted by {who.by}")
    plan = draft.plan("delete")
    return finish(session, params, plan, who.why) or {
        "id": memory.id, "deleted": True, "title": memory.title, "path": plan.changes[0].target,
    }  # fmt: skip


def restore(session: Session, params: Arguments) -> JsonObject:
    """Bring a memory back from the archive, or from the history if its file was removed by hand."""
    try:
        memory = session.find(params.needed("id"), archived=True)
    except NoteNotFoundError:
        from vaultmem.operations.reading import find_removed  # rarely needed

        gone = find_removed(session, params.needed("id"))
        if gone is None:
            raise
        target = free_path(gone.memory.path, session.store.new_id(), session.view.exists)
        why = "restored from the history"
        return _restore(
            session, params, Change(CREATE, "", None, target, {}, None, None, why, gone.data)
        )
    if not memory.archived:
        raise VaultmemError(f"{memory.title!r} is not deleted; there is nothing to restore")
    if alive := next(
        (other for other in session.store.collection.live() if other.id == memory.id), None
    ):
        raise VaultmemError(
            f"{memory.title!r} is not deleted: it is {alive.path}, and {memory.path} is a copy of it"
        )
    return _restore(session, params, restored(session.view, memory, "restored from the archive"))


def _restore(session: Session, params: Arguments, change: Change) -> JsonObject:
    plan = Plan("restore", (change,))
    why = f"restore {file_name(change.target)}"
    return finish(session, params, plan, why) or _record_at(session, change.target)


def edit(session: Session, params: Arguments) -> JsonObject:
    """Replace the text of a memory; with `seen`, a content_hash, only if it still has that text. After an assistant's
    edit the words are its own, no longer the person's."""
    memory, by = session.find(params.needed("id")), params.text("by")
    if (seen := params.text("seen")) and seen != memory.hash:
        raise NoteChangedError(f"{memory.title!r} was changed meanwhile; look at it again first")
    if by and session.is_approved(memory):
        raise VaultmemError(f"{memory.title!r} was approved by a person; write another memory")
    before = session.view.content(memory)
    content = session.in_its_style(params.content())
    content, times = _with_its_time(session, memory, before, content)
    draft = session.draft()
    draft.rewrite(memory, content, "text changed")
    is_new = draft.see(memory).hash != memory.hash or bool(times)
    if is_new and by and not access.is_same(memory.text("agent"), by):
        draft.set(memory, "text changed", agent=by)
    if is_new and (title := _title_after(draft, memory, before, content)):
        draft.retitle(memory, title, "text changed")
    if is_new:
        draft.set(memory, "text changed", **times)
    plan = draft.plan("edit") if is_new else Plan("edit")
    return _edit(session, params, plan, memory, f"edit {memory.title}")


def _title_after(draft: Draft, memory: Memory, before: str, content: str) -> str:
    """A title from the new text, if the old one came from the old text and no link would break; or ""."""
    from vaultmem.dreams.memory_links import Linkers  # not needed to list memories
    from vaultmem.text import secrets

    before, content = secrets.text_for_title(before), secrets.text_for_title(content)
    old, new = (fold(safe_title(title_of(text))) for text in (before, content))
    day = (memory.text("remind") or draft.written_at(memory).date().isoformat())[:10]
    if new == old or fold(memory.title) not in (old, f"{old}, {day}"):
        return ""
    if draft.view.is_linked(memory.path) or Linkers(draft.memories()).of(memory.title):
        return ""
    return free_title(content, day, memory.id, draft.is_taken)


def _with_its_time(session: Session, memory: Memory, before: str, content: str) -> tuple[str, Properties]:  # fmt: skip
    """The words of a reminder without a changed time, and that new time."""
    from vaultmem.dreams.dated import other_time  # few edit reminders

    phrase = other_time(content, before, session.local_time) if memory.text("remind") else None
    if phrase and phrase.either:
        raise VaultmemError(f"when? {which_day(phrase)}")
    if phrase is None or phrase.moment is None:
        return content, {}
    return phrase.task, {"remind": phrase.moment.iso(), "repeat": phrase.moment.repeat}


def tag(session: Session, params: Arguments) -> JsonObject:
    """Add and remove tags."""
    memory = session.find(params.needed("id"))
    if not params.tags("add") and not params.tags("remove"):
        raise UsageError("name a tag to add, or one to remove")
    removed = {tag.lower() for tag in params.tags("remove")}
    have = [tag for tag in memory.tags if tag.lower() not in removed]
    existing = {tag.lower() for tag in have}
    now = [*have, *(tag for tag in params.tags("add") if tag.lower() not in existing)]
    draft = session.draft()
    if now != list(memory.tags):
        draft.set(memory, "tags changed", tags=list(now) or None, updated_at=stamp(session.now))
    return _edit(session, params, draft.plan("tag"), memory, f"tag {memory.title}")


def upgrade(session: Session, params: Arguments) -> JsonObject:
    """File a memory of the inbox under the requested category, else the likeliest."""
    memory = session.find(params.needed("id"))
    value = params.text("category")
    if value == INBOX:
        raise VaultmemError("upgrade files a memory out of the inbox; name another category")
    if memory.category != INBOX and not value:
        raise VaultmemError(f"{memory.title!r} is in {memory.category} already; nothing to upgrade")
    draft = session.draft()
    why = "as asked"
    if not value:
        from vaultmem.dreams.classify import best, judge_all

        verdict = next(verdict for _, _, verdict in judge_all(draft, [memory]))
        value = best(verdict)
        why = "; ".join(verdict.why) or "nothing in it tells of another category"
    if value != memory.category:
        draft.move(memory, value, f"filed under {value}: {why}")
    return _edit(session, params, draft.plan("upgrade"), memory, f"upgrade {memory.title}")


def link(session: Session, params: Arguments) -> JsonObject:
    """Link two memories, both ways."""
    return _link_both(session, params, linked=True)


def unlink(session: Session, params: Arguments) -> JsonObject:
    """Remove the links between two memories."""
    return _link_both(session, params, linked=False)


def _link_both(session: Session, params: Arguments, *, linked: bool) -> JsonObject:
    one, other = session.find(params.needed("id")), session.find(params.needed("other"))
    if one.path == other.path:
        raise VaultmemError("a memory cannot be linked with itself")
    draft = session.draft()
    from vaultmem.dreams import memory_links

    (memory_links.link if linked else memory_links.unlink)(draft, one, other)
    plan = draft.plan("link" if linked else "unlink")
    return finish(session, params, plan, f"{plan.name} {one.title} and {other.title}") or {
        "source": one.id, "target": other.id, "linked": linked, "changed": bool(plan.changes),
    }  # fmt: skip


def reinforce(session: Session, params: Arguments) -> JsonObject:
    """Reset the decay of a memory."""
    memory = session.find(params.needed("id"))
    refused = _NO_REINFORCING.get(memory.decay_policy)
    if refused:
        raise VaultmemError(refused)
    draft = session.draft()
    draft.set(memory, "reinforced", last_reinforced_at=stamp(session.now))
    preview = finish(session, params, draft.plan("reinforce"), f"reinforce {memory.title}")
    if preview:
        return preview
    reads.reinforce(session.store.ledger, {memory.id: stamp(session.now)}, session.now)
    now = session.record(session.find(memory.id))
    return {
        "id": memory.id, "confidence": now["confidence"], "last_reinforced_at": now["last_reinforced_at"],
    }  # fmt: skip


def _edit(session: Session, params: Arguments, plan: Plan, memory: Memory, why: str) -> JsonObject:
    target = plan.changes[0].target if plan.changes else memory.path
    return finish(session, params, plan, why) or {
        **_record_at(session, target), "changed": bool(plan.changes),
    }  # fmt: skip


def _record_at(session: Session, path: str) -> JsonObject:
    memory = session.store.collection.at(path)
    if memory is None:
        raise NoteChangedError(f"{path} was removed as soon as it was written")
    return {**session.record(memory)}
