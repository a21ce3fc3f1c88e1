"""A long text becomes memories: cleaned, cut, weighed, routed (the "logic" seed, section 1)."""

from __future__ import annotations

import re
from typing import NamedTuple

from vaultmem.core import chunks, importance, likeness, titles
from vaultmem.core.memory import DEFAULT_SCOPE
from vaultmem.core.stamps import stamp
from vaultmem.core.view import Draft, New
from vaultmem.memories.asked import Asked
from vaultmem.memories.desk import Session
from vaultmem.memories.records import is_visible_to
from vaultmem.memories.reports import Report, done, header, planned
from vaultmem.memories.writing import look, new_memory

_SHOWN = 100  # characters of a part that is told about


_TOO_FEW = 8  # words, where nothing in them matters
_WORD = re.compile(r"[\u3400-\u9fff]|[^\W\u3400-\u9fff]+")


class _Part(NamedTuple):
    """What becomes of one part of the text."""

    text: str
    new: New | None = None
    known: str = ""  # the id of the memory that says it already
    importance: float | None = None
    reason: str = ""  # why it is left out


def ingest_text(session: Session, asked: Asked) -> Report:
    """Write what is worth it of a text; the report tells of each part whether it is new, known or left out."""
    text = chunks.clean(asked.whole_text("text"))
    parts = _judged(session, asked, chunks.pieces(text))
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


def _judged(session: Session, asked: Asked, pieces: list[str]) -> list[_Part]:
    """Each paragraph for itself: whether it is known, or stands in the text twice. What is left between those joins
    into parts, which are weighed."""
    scope = asked.scope() or DEFAULT_SCOPE
    parts: list[_Part] = []
    fresh: list[str] = []
    said: set[str] = set()
    for piece in pieces:
        left_out = None if chunks.is_heading(piece) else _said_before(session, piece, scope, said)
        if left_out is None:
            fresh.append(piece)
            continue
        parts += [_weighed(session, asked, text, scope) for text in chunks.joined(fresh)]
        parts.append(left_out)
        fresh = []
    return parts + [_weighed(session, asked, text, scope) for text in chunks.joined(fresh)]


def _said_before(session: Session, piece: str, scope: str, said: set[str]) -> _Part | None:
    """Why a paragraph says nothing new, to the letter; None when it does. `said` are the hashes of this text."""
    hash_ = likeness.content_hash(piece)
    found = [
        each for each in session.desk.collection.with_hash(hash_) if is_visible_to(each, scope)
    ]
    if found:
        return _Part(piece, known=min(found, key=lambda each: (each.created, each.path)).id)
    if hash_ in said:
        return _Part(piece, reason="it stands in this text before")
    said.add(hash_)
    return None


def _weighed(session: Session, asked: Asked, text: str, scope: str) -> _Part:
    found = look(session, text, scope, contradictions=False)
    if found.same:
        return _Part(text, known=found.same.id)
    if _is_empty_talk(text):
        return _Part(text, reason="nothing in it to remember")
    new = new_memory(session, asked, text, found)
    weight = new.properties["importance"]
    assert isinstance(weight, float)
    if weight < importance.THRESHOLD:
        reason = f"importance {weight:.2f} is below {importance.THRESHOLD}"
        return _Part(text, importance=weight, reason=reason)
    return _Part(text, new, importance=weight)


def _is_empty_talk(text: str) -> bool:
    """Thanks, ok, and headings of nothing: new they are, but that is all."""
    return not importance.salience(text).score and len(_WORD.findall(text)) < _TOO_FEW


def _title(part: _Part, draft: Draft, now: float) -> str:
    assert part.new is not None
    return titles.free_title(part.text, stamp(now)[:10], part.new.id, draft.is_taken)


def _told(part: _Part) -> dict[str, object]:
    begins = " ".join(part.text.split())[:_SHOWN]
    if part.known:
        return {"result": "known", "id": part.known, "text": begins}
    if part.new is None:
        return {"result": "skipped", "reason": part.reason, "text": begins}
    kind = part.new.properties["memory_type"]
    return {
        "result": "new", "id": part.new.id, "importance": part.importance, "memory_type": kind, "text": begins,
    }  # fmt: skip
