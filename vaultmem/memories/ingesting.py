"""A long text becomes memories: cleaned, cut, weighed, routed (the "logic" seed, section 1)."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from vaultmem.core import chunks, importance, likeness, secrets, titles
from vaultmem.core.machinery import without_machinery
from vaultmem.core.memory import DEFAULT_SCOPE, Memory
from vaultmem.core.stamps import stamp
from vaultmem.core.view import Draft, New
from vaultmem.memories.asked import Asked
from vaultmem.memories.desk import Session
from vaultmem.memories.records import is_visible_to
from vaultmem.memories.reports import Report, done, header, planned
from vaultmem.memories.writing import Found as Looked
from vaultmem.memories.writing import look, new_memory
from vaultmem.plans.particulars import particulars

_SHOWN = 100  # characters of a part that is told about


_ALIKE = 0.9  # resemblance from which two texts are one
_TOO_FEW = 8  # words, where nothing in them matters
_WORD = re.compile(r"[\u3400-\u9fff]|[^\W\u3400-\u9fff]+")


class Part(NamedTuple):
    """What becomes of one part of a text."""

    text: str
    new: New | None = None
    known: str = ""  # the id of the memory that says it already
    importance: float | None = None
    reason: str = ""  # why it is left out
    seen: bool = False  # it was taken in before, and there may be no memory of it any more


Known = Callable[[str], Part | None]  # what a text is taken for that was seen elsewhere


def ingest_text(session: Session, asked: Asked) -> Report:
    """Write what is worth it of a text; the report tells of each part whether it is new, known or left out. What looks
    like a secret is taken out of it first."""
    found = secrets.redacted(without_machinery(asked.whole_text("text")))
    parts = judged(session, asked, found.text)
    draft = session.draft()
    for part in parts:
        if part.new is not None:
            create(draft, part.new, part.text, session.now)
    plan = draft.plan("ingest")
    told = {"parts": [_told(part) for part in parts], "redacted": list(found.kinds)}
    if asked.flag("dry_run"):
        return {**planned(session, plan), **told}
    who = header(asked, f"ingest: {len(plan.changes)} memories of {len(parts)} parts", session.now)
    return {**done(plan, session.carry_out(plan, who)), **told}


def _unknown(_: str) -> Part | None:
    return None


def judged(session: Session, asked: Asked, text: str, known: Known = _unknown) -> list[Part]:
    """Each paragraph for itself: whether it is known, or stands in the text twice. What is left between those joins
    into parts, which are weighed."""
    scope = asked.scope() or DEFAULT_SCOPE
    parts: list[Part] = []
    fresh: list[str] = []
    said: set[str] = set()
    for piece in chunks.pieces(chunks.clean(text)):
        left_out = None if chunks.is_heading(piece) else _said_before(session, piece, scope, said)
        if left_out is None:
            fresh.append(piece)
            continue
        parts += [
            known(each) or _weighed(session, asked, each, scope) for each in chunks.joined(fresh)
        ]
        parts.append(left_out)
        fresh = []
    return parts + [
        known(each) or _weighed(session, asked, each, scope) for each in chunks.joined(fresh)
    ]


def whole(session: Session, asked: Asked, text: str) -> Part:
    """A text that is short enough for one memory, whatever its importance: somebody has written it down."""
    found = look(session, text, asked.scope() or DEFAULT_SCOPE, contradictions=False)
    if same := _same(session, text, found):
        return Part(text, known=same.id)
    return Part(text, new_memory(session, asked, text, found))


def create(draft: Draft, new: New, text: str, now: float) -> None:
    """Write it, under a title that is free: its own, else one from the text."""
    title = titles.free_title(
        new.title or secrets.named_by(text), stamp(now)[:10], new.id, draft.is_taken
    )
    draft.create(new._replace(title=title), "ingested")


def _said_before(session: Session, piece: str, scope: str, said: set[str]) -> Part | None:
    """Why a paragraph says nothing new, to the letter; None when it does. `said` are the hashes of this text."""
    hash_ = likeness.content_hash(piece)
    found = [
        each
        for each in session.desk.collection.with_hash(hash_)
        if is_visible_to(each, scope) and session.sees(each)
    ]
    if found:
        return Part(piece, known=_first(found).id)
    if hash_ in said:
        return Part(piece, reason="it stands in this text before")
    said.add(hash_)
    return None


def _first(found: list[Memory]) -> Memory:
    return min(found, key=lambda each: (each.created, each.path))


def _weighed(session: Session, asked: Asked, text: str, scope: str) -> Part:
    found = look(session, text, scope, contradictions=False)
    if same := _same(session, text, found):
        return Part(text, known=same.id)
    if _is_empty_talk(text):
        return Part(text, reason="nothing in it to remember")
    new = new_memory(session, asked, text, found)
    weight = new.properties["importance"]
    assert isinstance(weight, float)
    if weight < importance.THRESHOLD:
        reason = f"importance {weight:.2f} is below {importance.THRESHOLD}"
        return Part(text, importance=weight, reason=reason)
    return Part(text, new, importance=weight)


def _same(session: Session, text: str, found: Looked) -> Memory | None:
    """The memory that says the same, to the letter or all but: nothing that matters is in one of them alone."""
    if found.same:
        return found.same
    for memory, resemblance in found.similar:
        if is_same(text, session.desk.collection.content(memory), resemblance):
            return memory
    return None


def is_same(text: str, other: str, resemblance: float) -> bool:
    """Whether two texts that resemble each other so much say the same."""
    if resemblance < _ALIKE:
        return False
    mine = particulars(text)
    return particulars(other)._replace(words=mine.words) == mine


def _is_empty_talk(text: str) -> bool:
    """Thanks, ok, and headings of nothing: new they are, but that is all. So is longer talk that states nothing, tells
    of nothing that happened and is about nobody."""
    if importance.salience(text).score:
        return False
    return len(_WORD.findall(text)) < _TOO_FEW or not importance.says_something(text)


def _told(part: Part) -> dict[str, object]:
    begins = " ".join(part.text.split())[:_SHOWN]
    if part.known:
        return {"result": "known", "id": part.known, "text": begins}
    if part.new is None:
        return {"result": "skipped", "reason": part.reason, "text": begins}
    kind = part.new.properties["memory_type"]
    return {
        "result": "new", "id": part.new.id, "importance": part.importance, "memory_type": kind, "text": begins,
    }  # fmt: skip
