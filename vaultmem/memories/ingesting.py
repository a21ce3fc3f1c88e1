"""A long text becomes memories: cleaned, cut, weighed, routed (the "logic" seed, section 1)."""

from __future__ import annotations

from typing import NamedTuple

from vaultmem.core import chunks, importance, likeness, titles
from vaultmem.core.memory import DEFAULT_SCOPE
from vaultmem.core.stamps import stamp
from vaultmem.core.view import Draft, New
from vaultmem.memories.asked import Asked
from vaultmem.memories.desk import Session
from vaultmem.memories.reports import Report, done, header, planned
from vaultmem.memories.writing import look, new_memory

_SHOWN = 100  # characters of a part that is told about


class _Part(NamedTuple):
    """What becomes of one part of the text."""

    text: str
    new: New | None
    known: str  # the id of the memory that says it already
    importance: float | None


def ingest_text(session: Session, asked: Asked) -> Report:
    """Write what is worth it of a text; the report tells of each part whether it is new, known or left out."""
    text = chunks.clean(asked.whole_text("text"))
    parts = _judged(session, asked, chunks.chunks(text))
    draft = session.draft()
    for part in parts:
        if part.new is not None:
            draft.create(part.new._replace(title=_title(part, draft, session.now)), "ingested")
    plan = draft.plan("ingest")
    told = {"parts": [_told(part) for part in parts]}
    if asked.flag("dry_run"):
        return {**planned(session, plan), **told}
    who = header(asked, f"ingest: {len(plan.changes)} memories of {len(parts)} parts", session.now)
    return {**done(plan, session.carry_out(plan, who)), **told}


def _judged(session: Session, asked: Asked, texts: list[str]) -> list[_Part]:
    scope = asked.scope() or DEFAULT_SCOPE
    here: dict[str, str] = {}  # hash -> id, of this text
    parts = []
    for text in texts:
        hash_ = likeness.content_hash(text)
        found = look(session, text, scope, contradictions=False)
        known = found.same.id if found.same else here.get(hash_, "")
        if known:
            parts.append(_Part(text, None, known, None))
            continue
        new = new_memory(session, asked, text, found)
        weight = new.properties["importance"]
        assert isinstance(weight, float)
        if weight < importance.THRESHOLD:
            parts.append(_Part(text, None, "", weight))
            continue
        here[hash_] = new.id
        parts.append(_Part(text, new, "", weight))
    return parts


def _title(part: _Part, draft: Draft, now: float) -> str:
    assert part.new is not None
    return titles.free_title(part.text, stamp(now)[:10], part.new.id, draft.is_taken)


def _told(part: _Part) -> dict[str, object]:
    begins = " ".join(part.text.split())[:_SHOWN]
    if part.known:
        return {"result": "known", "id": part.known, "text": begins}
    if part.new is None:
        reason = f"importance {part.importance:.2f} is below {importance.THRESHOLD}"
        return {"result": "skipped", "reason": reason, "text": begins}
    kind = part.new.properties["memory_type"]
    return {
        "result": "new", "id": part.new.id, "importance": part.importance, "memory_type": kind, "text": begins,
    }  # fmt: skip
