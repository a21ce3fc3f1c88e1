"""Turns a long text into memories: cleans, cuts, weighs and files it (the "logic" seed, section 1); and likewise the
texts of other programs, each once."""

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
from vaultmem.plugins import language
from vaultmem.text import secrets, similarity
from vaultmem.text.times import seconds, stamp
from vaultmem.text.values import plural

if TYPE_CHECKING:
    from vaultmem.adapter import JsonObject, Value

TEXT = "text"  # the source of plain texts, which are cut like those on stdin
HASH = "source_hash"
_HASH_LENGTH = 16  # hex digits: enough for a lifetime of texts
_MOST_PRINTED = 100  # characters per part in the report
_SIMILAR = 0.9  # resemblance above which two texts count as the same
_TOO_FEW = 5  # shorter texts, in words, are skipped unless they state something lasting
_SPEAKERS = frozenset(["user", "we"])  # subjects of passing states, too: I'm ready
_WORD = re.compile(r"[\u3400-\u9fff]|[^\W\u3400-\u9fff]+")


class Part(NamedTuple):
    """The result for one part of a text."""

    text: str
    new: New | None = None
    known: str = ""  # the id of the memory that says the same
    importance: float | None = None
    reason: str = ""  # why it is skipped
    seen: bool = False  # it was ingested before; its memory may be gone

    @property
    def is_known(self) -> bool:
        """Whether it is known already."""
        return bool(self.known) or self.seen


Known = Callable[[str], Part | None]  # finds the result for a known text


class PartReport(TypedDict):
    """The result for a part of a text."""

    result: str  # new, known or skipped
    text: str  # its beginning
    id: NotRequired[str]
    reason: NotRequired[str]
    importance: NotRequired[float | None]
    memory_type: NotRequired[Value]


class TextReport(PlanReport):
    """The result for a text."""

    parts: list[PartReport]
    redacted: list[str]


def ingest_text(session: Session, params: Arguments) -> TextReport:
    """Write the parts of a text that are worth remembering; the report says for each whether it is new, known or
    skipped. Secrets are removed first."""
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
        count = len(plan.changes)
        why = f"ingest: {plural(count, 'memory', 'memories')} of {plural(len(parts), 'part')}"
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


# The new parts of a text


def judge(
    session: Session, params: Arguments, text: str, known: Known = lambda _: None
) -> list[Part]:
    """The parts of a text with their results. Known and repeated paragraphs are parts of their own; the ones between
    them are joined into parts, which are weighed."""
    scope = params.scope() or DEFAULT_SCOPE
    parts: list[Part] = []
    fresh: list[str] = []
    hashes: set[str] = set()

    def weigh_fresh() -> None:
        parts.extend(
            known(item) or _weigh(session, params, item) for item in incoming.join_short(fresh)
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
    """The result for a text short enough for one memory, whatever its importance: someone wrote it down."""
    matches = look(session, text, params.scope() or DEFAULT_SCOPE)
    if same := _same(session, text, matches):
        return Part(text, known=same.id)
    return Part(text, new_memory(session, params, text, matches))


def _find_repeated(session: Session, piece: str, scope: str, hashes: set[str]) -> Part | None:
    """The result for a paragraph that repeats another literally; None for a new one. `hashes` are those of this
    text."""
    if same := find_same(session, piece, scope):
        return Part(piece, known=same[0].id)
    hash_ = similarity.content_hash(piece)
    if hash_ in hashes:
        return Part(piece, reason="it repeats an earlier paragraph")
    hashes.add(hash_)
    return None


def _weigh(session: Session, params: Arguments, text: str) -> Part:
    part = whole_text(session, params, text)
    if part.new is None:
        return part
    if _is_empty_talk(text):
        return Part(text, reason="it has nothing to remember")
    weight = part.new.properties["importance"]
    assert isinstance(weight, float)
    if weight < short_texts.THRESHOLD:
        reason = f"importance {weight:.2f} is below {short_texts.THRESHOLD}"
        return Part(text, importance=weight, reason=reason)
    return part._replace(importance=weight)


def _same(session: Session, text: str, matches: Existing) -> Memory | None:
    """The memory that says the same, literally or nearly so: neither has anything important that the other lacks."""
    if matches.same:
        return matches.same
    for memory, resemblance in matches.similar:
        if is_same(text, session.store.collection.content(memory), resemblance):
            return memory
    return None


def is_same(text: str, other: str, resemblance: float) -> bool:
    """Whether two texts of this resemblance say the same."""
    if resemblance < _SIMILAR:
        return False
    mine, theirs = plain(text), plain(other)
    return mine.particulars == theirs.particulars and mine.denials == theirs.denials


def _is_empty_talk(text: str) -> bool:
    """Whether it is small talk such as thanks, OK and "I'm back", a heading without text, or longer talk that states
    nothing, reports no event and is about nobody."""
    if short_texts.salience(text):
        return False
    if len(_WORD.findall(text)) >= _TOO_FEW:
        return not short_texts.says_something(text)
    others = (stated.subject not in _SPEAKERS for stated in language().statements(text))
    return not (language().facts(text) or any(others))


# Texts of other programs: new ones become memories in the inbox, once


class _Result(NamedTuple):
    """The result for an item."""

    parts: list[Part]
    hashes: list[str]  # hashes that count as known from now on
    redacted: tuple[str, ...] = ()
    rest: int = 0  # memories that the limit had no room for


class _Seen:
    """Known texts: the contents and origins of live and archived memories, and texts that were examined before."""

    def __init__(self, session: Session) -> None:
        collection = session.store.collection
        self._memories: dict[str, Memory] = {}
        for memory in (*collection.archived(), *collection.live()):
            self._memories[memory.hash[:_HASH_LENGTH]] = memory
            if made_of := memory.text(HASH):
                self._memories[made_of] = memory
        self._taken = taken_hashes(session.store.ledger)
        self._now: set[str] = set()
        self._texts: list[tuple[bytes, str]] = []  # texts of this run, with their sketches

    def part(self, text: str) -> Part | None:
        """The result for a known text; None for a new one."""
        hash_ = hash_of(text)
        memory = self._memories.get(hash_)
        if memory is not None:
            reason = "it is in the archive" if memory.archived else ""
            return Part(text, known=memory.id, reason=reason)
        if hash_ in self._now:
            return Part(text, reason="another text of this run says the same", seen=True)
        if hash_ in self._taken:
            return Part(text, reason="it was examined before", seen=True)
        text_sketch = similarity.sketch(text)
        if any(
            is_same(text, known_text, similarity.resemblance(text_sketch, sketch))
            for sketch, known_text in self._texts
        ):
            return Part(text, reason="another text of this run says nearly the same", seen=True)
        return None

    def add(self, part: Part, hash_: str) -> None:
        """Record a text that is ingested now."""
        self._now.add(hash_)
        self._texts.append((similarity.sketch(part.text), part.text))


def hash_of(text: str) -> str:
    """The hash by which a text is recognized."""
    return similarity.content_hash(text)[:_HASH_LENGTH]


def take_in(session: Session, params: Arguments) -> JsonObject:
    """Ingest the new texts among the items of one source; "results" has the result of each, in order. At most
    `limit` memories are written: the rest of the item that exceeds it ("rest") and all later items are left for
    another run."""
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
        why = f"ingest from {params.needed('source')}: {plural(len(plan.changes), 'memory', 'memories')}"
        failed = dict(session.carry_out(plan, header(params, why, session.now)).skipped)
        ids = {change.id for change in plan.changes if change.target in failed}
        whole = [
            judged for judged in results if not any(p.new and p.new.id in ids for p in judged.parts)
        ]
        take(
            session.store.ledger, {each for judged in whole for each in judged.hashes}, session.now
        )
    places = {change.id: change.target for change in plan.changes}
    reports = [_item_report(result, places, failed) for result in results]
    return {"results": reports, "left": len(items) - len(results)}


def _truncate(result: _Result, room: int) -> _Result:
    """The result cut to the memories that there is room for. The whole text then does not count as known, so that
    another run continues with the rest."""
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
        return _Result([Part("", reason="it is empty")], [])
    same_part = seen.part(text)
    if same_part is not None:
        return _Result([same_part], [hash_of(text)])
    if _is_one(text, params.needed("source")):
        parts = [whole_text(session, item.about, text)]
    else:
        parts = judge(session, item.about, text, seen.part)
    is_known = any(part.is_known for part in parts)
    begins = None if is_known else next((part for part in parts if part.new), None)
    placed = [_add_origin(part, item, first=part is begins) for part in parts]
    hashes = [hash_of(text), *(hash_of(part.text) for part in parts)]
    return _Result(placed, hashes, (*clean.kinds, *item.redacted))


def _is_one(text: str, source: str) -> bool:
    """Whether a text becomes a single memory: a note if it is short, a plain text if it is one part. So a text gives
    the same memories from a file and from stdin, and is recognized from either."""
    if source == TEXT:
        return len(incoming.chunks(incoming.clean(text))) <= 1
    return count_tokens(text) <= MAX_TOKENS


def _add_origin(part: Part, item: Item, *, first: bool) -> Part:
    """A new memory with its origin. Title, aliases and links of the whole text go to its first part."""
    if part.new is None:
        return part
    unnamed = {} if first else {"aliases": None, "links": None}
    combined = {**item.properties, **unnamed, **part.new.properties, HASH: hash_of(part.text)}
    if item.date and (at := seconds(item.date)) and at < (seconds(combined["created_at"]) or 0):
        combined["created_at"] = stamp(at)  # when it was written at its origin
    properties = {key: value for key, value in combined.items() if value not in (None, [])}
    title = item.title if first else ""
    return part._replace(new=part.new._replace(title=title, properties=properties))


def _item_report(
    result: _Result, places: Mapping[str, str], failed: Mapping[str, str]
) -> JsonObject:
    """An item as JSON: "new" if any of its parts is new, "known" if all important parts are known."""
    written = [part.new.id for part in result.parts if part.new is not None]
    lost = [failed[places[id_]] for id_ in written if places[id_] in failed]
    memories = [{"id": id_, "path": places[id_]} for id_ in written if places[id_] not in failed]
    is_known = not lost and any(part.is_known for part in result.parts)
    reasons = Counter(part.reason for part in result.parts if part.reason)
    reason = "; ".join([*lost, *(f"{n} × {why}" if n > 1 else why for why, n in reasons.items())])
    return {
        "result": "new" if memories else "known" if is_known else "skipped", "memories": memories,
        "known": [part.known for part in result.parts if part.known], "reason": reason, "rest": result.rest,
        "redacted": list(result.redacted) if memories else [],
    }  # fmt: skip
