"""A long text becomes memories: cleaned, cut, weighed, routed (the "logic" seed, section 1); and so do the texts that
other programs keep, once and for all."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping

from vaultmem.dreams import short_texts
from vaultmem.dreams.paraphrase import plain
from vaultmem.exchange import incoming
from vaultmem.exchange.incoming import Item, item_of, without_editor_markup
from vaultmem.ledger.ledger import take, taken_hashes
from vaultmem.light import TYPE_CHECKING, NamedTuple, NotRequired, TypedDict, cast
from vaultmem.memories.arguments import Arguments
from vaultmem.memories.draft import New
from vaultmem.memories.model import DEFAULT_SCOPE, Memory
from vaultmem.memories.reports import PlanReport, header, report_done, report_planned
from vaultmem.memories.store import Session
from vaultmem.notes.blocks import MAX_TOKENS, count_tokens
from vaultmem.operations.writing import Existing, create, find_same, look, new_memory
from vaultmem.text import secrets, similarity
from vaultmem.text.times import seconds, stamp

if TYPE_CHECKING:
    from vaultmem.adapter import JsonObject, Value

TEXT = "text"  # the source of texts, which are cut as those on stdin are
HASH = "source_hash"
_HASH_LENGTH = 16  # hex digits: enough among all texts of a person's life
_MOST_PRINTED = 100  # characters of a part in the report
_SIMILAR = 0.9  # resemblance from which two texts are one
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

    @property
    def is_known(self) -> bool:
        """Whether nothing of it is new."""
        return bool(self.known) or self.seen


Known = Callable[[str], Part | None]  # what a text is taken for that was seen elsewhere


class PartReport(TypedDict):
    """What became of a part of a text."""

    result: str  # new, known or skipped
    text: str  # its beginning
    id: NotRequired[str]
    reason: NotRequired[str]
    importance: NotRequired[float | None]
    memory_type: NotRequired[Value]


class TextReport(PlanReport):
    """What became of a text."""

    parts: list[PartReport]
    redacted: list[str]


def ingest_text(session: Session, params: Arguments) -> TextReport:
    """Write what is worth it of a text; the report tells of each part whether it is new, known or left out. What looks
    like a secret is taken out of it first."""
    clean = secrets.redact(without_editor_markup(params.whole_text("text")))
    parts = judge(session, params, clean.text)
    draft = session.draft()
    for part in parts:
        if part.new is not None:
            create(draft, part.new, "ingested")
    plan = draft.plan("ingest")
    if params.flag("dry_run"):
        report = report_planned(session, plan)
    else:
        why = f"ingest: {len(plan.changes)} memories of {len(parts)} parts"
        outcome = session.carry_out(plan, header(params, why, session.now))
        report = report_done(plan, outcome)
    return cast(
        "TextReport",
        {
            **report,
            "parts": [*map(_part_report, parts)],
            "redacted": [*params.redacted, *clean.kinds],
        },
    )


def _part_report(part: Part) -> PartReport:
    begins = " ".join(part.text.split())[:_MOST_PRINTED]
    if part.known:
        return {"result": "known", "id": part.known, "text": begins}
    if part.new is None:
        return {"result": "skipped", "reason": part.reason, "text": begins}
    kind = part.new.properties["memory_type"]
    return {
        "result": "new", "id": part.new.id, "importance": part.importance, "memory_type": kind, "text": begins,
    }  # fmt: skip


# What is new in a text


def judge(
    session: Session, params: Arguments, text: str, known: Known = lambda _: None
) -> list[Part]:
    """Each paragraph for itself: whether it is known, or stands in the text twice. What is left between those joins
    into parts, which are weighed."""
    scope = params.scope() or DEFAULT_SCOPE
    parts: list[Part] = []
    fresh: list[str] = []
    hashes: set[str] = set()

    def weigh_fresh() -> None:
        parts.extend(
            known(each) or _weigh(session, params, each) for each in incoming.join_short(fresh)
        )
        fresh.clear()

    for piece in incoming.pieces(incoming.clean(incoming.without_small_talk(text))):
        repeated = (
            None if incoming.is_heading(piece) else _find_repeated(session, piece, scope, hashes)
        )
        if repeated is None:
            fresh.append(piece)
        else:
            weigh_fresh()
            parts.append(repeated)
    weigh_fresh()
    return parts


def whole_text(session: Session, params: Arguments, text: str) -> Part:
    """A text that is short enough for one memory, whatever its importance: somebody has written it down."""
    matches = look(session, text, params.scope() or DEFAULT_SCOPE, contradictions=False)
    if same := _same(session, text, matches):
        return Part(text, known=same.id)
    return Part(text, new_memory(session, params, text, matches))


def _find_repeated(session: Session, piece: str, scope: str, hashes: set[str]) -> Part | None:
    """Why a paragraph says nothing new, to the letter; None when it does. `hashes` are those of this text."""
    if same := find_same(session, piece, scope):
        return Part(piece, known=same[0].id)
    hash_ = similarity.content_hash(piece)
    if hash_ in hashes:
        return Part(piece, reason="it stands in this text before")
    hashes.add(hash_)
    return None


def _weigh(session: Session, params: Arguments, text: str) -> Part:
    part = whole_text(session, params, text)
    if part.new is None:
        return part
    if _is_empty_talk(text):
        return Part(text, reason="nothing in it to remember")
    weight = part.new.properties["importance"]
    assert isinstance(weight, float)
    if weight < short_texts.THRESHOLD:
        reason = f"importance {weight:.2f} is below {short_texts.THRESHOLD}"
        return Part(text, importance=weight, reason=reason)
    return part._replace(importance=weight)


def _same(session: Session, text: str, matches: Existing) -> Memory | None:
    """The memory that says the same, to the letter or all but: nothing that matters is in one of them alone."""
    if matches.same:
        return matches.same
    for memory, resemblance in matches.similar:
        if is_same(text, session.store.collection.content(memory), resemblance):
            return memory
    return None


def is_same(text: str, other: str, resemblance: float) -> bool:
    """Whether two texts that resemble each other so much say the same."""
    if resemblance < _SIMILAR:
        return False
    mine, theirs = plain(text), plain(other)
    return mine.particulars == theirs.particulars and mine.denials == theirs.denials


def _is_empty_talk(text: str) -> bool:
    """Thanks, ok, and headings of nothing: new they are, but that is all. So is longer talk that states nothing, tells
    of nothing that happened and is about nobody."""
    if short_texts.salience(text):
        return False
    return len(_WORD.findall(text)) < _TOO_FEW or not short_texts.says_something(text)


# Texts of other programs: what is new becomes memories in the inbox, once and for all


class _Result(NamedTuple):
    """What became of an item."""

    parts: list[Part]
    hashes: list[str]  # to be known from now on
    redacted: tuple[str, ...] = ()
    rest: int = 0  # memories that the text would make, and there was no room for


class _Seen:
    """What need not come in: what memories say or were made of, alive or archived, and what was looked at before."""

    def __init__(self, session: Session) -> None:
        collection = session.store.collection
        self._memories: dict[str, Memory] = {}
        for memory in (*collection.archived(), *collection.live()):
            self._memories[memory.hash[:_HASH_LENGTH]] = memory
            if made_of := memory.text(HASH):
                self._memories[made_of] = memory
        self._taken = taken_hashes(session.store.ledger)
        self._now: set[str] = set()
        self._texts: list[tuple[bytes, str]] = []  # what comes in now, and its sketch

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
        own = similarity.sketch(text)
        if any(
            is_same(text, each, similarity.resemblance(own, sketch)) for sketch, each in self._texts
        ):
            return Part(text, reason="another text just now says the same", seen=True)
        return None

    def add(self, part: Part, hash_: str) -> None:
        """It comes in now."""
        self._now.add(hash_)
        self._texts.append((similarity.sketch(part.text), part.text))


def hash_of(text: str) -> str:
    """By what a text is known again."""
    return similarity.content_hash(text)[:_HASH_LENGTH]


def take_in(session: Session, params: Arguments) -> JsonObject:
    """Take in what is new of the items of one source; "results" tells of each what became of it, in their order. At
    most `limit` memories are written: what is too many of an item ("rest") waits for another time, and all behind it.
    """
    items = [item_of(params, record) for record in params.records("items")]
    room = params.whole("limit", 1_000_000)
    seen = _Seen(session)
    draft = session.draft()
    results: list[_Result] = []
    for item in items:
        result = _truncate(_judge_item(session, params, item, seen), room)
        results.append(result)
        for part in result.parts:
            if part.new is not None:
                create(draft, part.new, "ingested")
                seen.add(part, str(part.new.properties[HASH]))
                room -= 1
        if not room:
            break
    plan = draft.plan("ingest")
    failed: dict[str, str] = {}
    if not params.flag("dry_run"):
        why = f"ingest from {params.needed('source')}: {len(plan.changes)} memories"
        failed = dict(session.carry_out(plan, header(params, why, session.now)).skipped)
        ids = {change.id for change in plan.changes if change.target in failed}
        whole = [one for one in results if not any(p.new and p.new.id in ids for p in one.parts)]
        take(session.store.ledger, {each for one in whole for each in one.hashes}, session.now)
    places = {change.id: change.target for change in plan.changes}
    reports = [_item_report(result, places, failed) for result in results]
    return {"results": reports, "left": len(items) - len(results)}


def _truncate(result: _Result, room: int) -> _Result:
    """The beginning of a text, of which there is room for so many memories only. The text as a whole is not known then,
    so that another run goes on with what is left of it."""
    fresh = [number for number, part in enumerate(result.parts) if part.new is not None]
    if len(fresh) <= room:
        return result
    parts = result.parts[: fresh[room]]
    hashes = [hash_of(part.text) for part in parts]
    return result._replace(parts=parts, hashes=hashes, rest=len(fresh) - room)


def _judge_item(session: Session, params: Arguments, item: Item, seen: _Seen) -> _Result:
    clean = secrets.redact(item.text)
    text = similarity.normal_form(without_editor_markup(clean.text))
    if params.needed("source") == TEXT:
        text = incoming.without_small_talk(text)
    if not text.strip():
        return _Result([Part("", reason="there is nothing in it")], [])
    known = seen.part(text)
    if known is not None:
        return _Result([known], [hash_of(text)])
    if _is_one(text, params.needed("source")):
        parts = [whole_text(session, item.about, text)]
    else:
        parts = judge(session, item.about, text, seen.part)
    is_known = any(part.is_known for part in parts)
    begins = None if is_known else next((each for each in parts if each.new), None)
    placed = [_add_origin(part, item, first=part is begins) for part in parts]
    hashes = [hash_of(text), *(hash_of(part.text) for part in parts)]
    return _Result(placed, hashes, (*clean.kinds, *item.redacted))


def _is_one(text: str, source: str) -> bool:
    """Whether a text is one memory: a note is while it is short, a text while it is one part. So a text says the same
    from a file as from stdin, and is known again by either way."""
    if source == TEXT:
        return len(incoming.chunks(incoming.clean(text))) <= 1
    return count_tokens(text) <= MAX_TOKENS


def _add_origin(part: Part, item: Item, *, first: bool) -> Part:
    """A new memory with where it comes from. What names the whole text belongs to its first part."""
    if part.new is None:
        return part
    unnamed = {} if first else {"aliases": None, "links": None}
    own = {**item.properties, **unnamed, **part.new.properties, HASH: hash_of(part.text)}
    if item.date and (at := seconds(item.date)) and at < (seconds(own["created_at"]) or 0):
        own["created_at"] = stamp(at)  # when it was written there
    properties = {key: value for key, value in own.items() if value not in (None, [])}
    title = item.title if first else ""
    return part._replace(new=part.new._replace(title=title, properties=properties))


def _item_report(
    result: _Result, places: Mapping[str, str], failed: Mapping[str, str]
) -> JsonObject:
    """An item as JSON: "new" if any of its parts is, "known" if all that matters of it is."""
    written = [part.new.id for part in result.parts if part.new is not None]
    lost = [failed[places[id_]] for id_ in written if places[id_] in failed]
    memories = [{"id": id_, "path": places[id_]} for id_ in written if places[id_] not in failed]
    is_known = not lost and any(part.is_known for part in result.parts)
    reasons = Counter(part.reason for part in result.parts if part.reason)
    reason = "; ".join([*lost, *(f"{n} × {why}" if n > 1 else why for why, n in reasons.items())])
    return {
        "result": "new" if memories else "known" if is_known else "skipped", "memories": memories,
        "known": [one.known for one in result.parts if one.known], "reason": reason, "rest": result.rest,
        "redacted": list(result.redacted) if memories else [],
    }  # fmt: skip
