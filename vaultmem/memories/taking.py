"""Take in what was found in another program: what is new becomes memories in the inbox, once and for all.

A memory keeps where it comes from (`source`, `source_path`) and the hash of the text that it was made of
(`source_hash`): edited, filed or deleted, it does not come in again. The path is what the source says; nothing is read
here but what was handed over.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from vaultmem.core import chunks, likeness, secrets
from vaultmem.core.blocks import MAX_TOKENS, count_tokens
from vaultmem.core.machinery import without_machinery
from vaultmem.core.memory import Memory
from vaultmem.core.stamps import seconds, stamp
from vaultmem.memories import ingesting
from vaultmem.memories.asked import Asked
from vaultmem.memories.desk import Session
from vaultmem.memories.handed import Item, item_of
from vaultmem.memories.ingesting import Part
from vaultmem.memories.reports import Report, header
from vaultmem.store.taken import take, taken

TEXT = "text"  # the source of texts, which are cut as those on stdin are
HASH = "source_hash"
_HASH_LENGTH = 16  # hex digits: enough among all texts of a person's life


class _Result(NamedTuple):
    """What became of an item."""

    parts: list[Part]
    hashes: list[str]  # to be known from now on
    redacted: tuple[str, ...] = ()
    rest: int = 0  # memories that the text would make, and there was no room for


class _Seen:
    """What need not come in: what memories say or were made of, alive or archived, and what was looked at before."""

    def __init__(self, session: Session) -> None:
        collection = session.desk.collection
        self._memories: dict[str, Memory] = {}
        for memory in (*collection.archived(), *collection.live()):
            self._memories[memory.hash[:_HASH_LENGTH]] = memory
            if made_of := memory.text(HASH):
                self._memories[made_of] = memory
        self._taken = taken(session.desk.ledger)
        self._now: set[str] = set()
        self._texts: list[tuple[tuple[int, ...], str]] = []  # what comes in now, and its sketch

    def part(self, text: str) -> Part | None:
        """What a text is known for, if it is."""
        hash_ = hash_of(text)
        memory = self._memories.get(hash_)
        if memory is not None:
            reason = "it is in the archive" if memory.archived else ""
            return Part(text, known=memory.id, reason=reason)
        if hash_ in self._now:
            return Part(text, reason="it came in with another text just now", seen=True)
        if hash_ in self._taken:
            return Part(text, reason="it was looked at before", seen=True)
        if any(ingesting.is_same(text, text_, near) for text_, near in self._alike(text)):
            return Part(text, reason="another text just now says the same", seen=True)
        return None

    def _alike(self, text: str) -> Iterator[tuple[str, float]]:
        own = likeness.sketch(text)
        return ((each, likeness.resemblance(own, sketch)) for sketch, each in self._texts)

    def add(self, part: Part, hash_: str) -> None:
        """It comes in now."""
        self._now.add(hash_)
        self._texts.append((likeness.sketch(part.text), part.text))


def hash_of(text: str) -> str:
    """By what a text is known again."""
    return likeness.content_hash(text)[:_HASH_LENGTH]


def take_in(session: Session, asked: Asked) -> Report:
    """Write what is new of the items of one source; "results" tells of each what became of it, in their order. At most
    `limit` memories are written: what is too many of an item ("rest") waits for another time, and all behind it."""
    items = [item_of(asked, given) for given in asked.records("items")]
    most = asked.whole("limit", 1_000_000)
    seen = _Seen(session)
    draft = session.draft()
    results: list[_Result] = []
    room = most
    for item in items:
        result = _no_more(_judged(session, asked, item, seen), room)
        results.append(result)
        for part in result.parts:
            if part.new is not None:
                ingesting.create(draft, part.new, part.text, session.now)
                seen.add(part, str(part.new.properties[HASH]))
                room -= 1
        if not room:
            break
    plan = draft.plan("ingest")
    failed: dict[str, str] = {}
    if not asked.flag("dry_run"):
        why = f"ingest from {asked.needed('source')}: {len(plan.changes)} memories"
        failed = dict(session.carry_out(plan, header(asked, why, session.now)).skipped)
        ids = {change.id for change in plan.changes if change.target in failed}
        whole = [one for one in results if not any(p.new and p.new.id in ids for p in one.parts)]
        take(session.desk.ledger, {each for one in whole for each in one.hashes}, session.now)
    places = {change.id: change.target for change in plan.changes}
    told = [_told(result, places, failed) for result in results]
    return {"results": told, "left": len(items) - len(results)}


def _no_more(result: _Result, room: int) -> _Result:
    """The beginning of a text, of which there is room for so many memories only. The text as a whole is not known then,
    so that another run goes on with what is left of it."""
    fresh = [number for number, part in enumerate(result.parts) if part.new is not None]
    if len(fresh) <= room:
        return result
    parts = result.parts[: fresh[room]]
    return result._replace(
        parts=parts, hashes=[hash_of(part.text) for part in parts], rest=len(fresh) - room
    )


def _judged(session: Session, asked: Asked, item: Item, seen: _Seen) -> _Result:
    found = secrets.redacted(item.text)
    text = likeness.normal(without_machinery(found.text))
    if not text.strip():
        return _Result([Part("", reason="there is nothing in it")], [])
    redacted = (*found.kinds, *item.redacted)
    known = seen.part(text)
    if known is not None:
        return _Result([known], [hash_of(text)])
    if _is_one(text, asked.needed("source")):
        parts = [ingesting.whole(session, item.about, text)]
    else:
        parts = ingesting.judged(session, item.about, text, seen.part)
    begins = (
        None if any(map(_is_known, parts)) else next((each for each in parts if each.new), None)
    )
    placed = [_placed(part, item, first=part is begins) for part in parts]
    return _Result(placed, [hash_of(text), *(hash_of(part.text) for part in parts)], redacted)


def _is_one(text: str, source: str) -> bool:
    """Whether a text is one memory: a note is while it is short, a text while it is one part. So a text says the same
    from a file as from stdin, and is known again by either way."""
    if source == TEXT:
        return len(chunks.joined(chunks.pieces(chunks.clean(text)))) <= 1
    return count_tokens(text) <= MAX_TOKENS


def _is_known(part: Part) -> bool:
    return bool(part.known) or part.seen


def _placed(part: Part, item: Item, *, first: bool) -> Part:
    """A new memory with where it comes from. What names the whole text is said of its first part."""
    if part.new is None:
        return part
    named = {} if first else {"aliases": None, "links": None}
    given = {**item.properties, **named, **part.new.properties, HASH: hash_of(part.text)}
    if item.date and (at := seconds(item.date)) and at < (seconds(given["created_at"]) or 0):
        given["created_at"] = stamp(at)  # when it was written there
    properties = {key: value for key, value in given.items() if value not in (None, [])}
    title = item.title if first else ""
    return part._replace(new=part.new._replace(title=title, properties=properties))


def _told(
    result: _Result, places: Mapping[str, str], failed: Mapping[str, str]
) -> dict[str, object]:
    """An item as JSON: "new" if any of its parts is, "known" if all that matters of it is."""
    written = [part.new.id for part in result.parts if part.new is not None]
    lost = [failed[places[id_]] for id_ in written if places[id_] in failed]
    memories = [{"id": id_, "path": places[id_]} for id_ in written if places[id_] not in failed]
    known = any(map(_is_known, result.parts))
    reasons = Counter(part.reason for part in result.parts if part.reason)
    outcome = "new" if memories else "known" if known and not lost else "skipped"
    reason = "; ".join([*lost, *(f"{n} × {why}" if n > 1 else why for why, n in reasons.items())])
    return {
        "result": outcome, "memories": memories, "known": [one.known for one in result.parts if one.known],
        "reason": reason, "rest": result.rest, "redacted": list(result.redacted) if memories else [],
    }  # fmt: skip
