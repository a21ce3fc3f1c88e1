"""Writing a memory: duplicates, similar and contradicting ones, its title."""

from __future__ import annotations

import contextlib
import datetime as dt
import re
from collections.abc import Iterable, Sequence

from vaultmem.adapter import JsonObject, Properties, Value
from vaultmem.dreams import short_texts, supersede
from vaultmem.dreams.same import kin
from vaultmem.dreams.short_texts import CAP
from vaultmem.dreams.supersede import may_replace, replace
from vaultmem.errors import NoteChangedError, NoteNotFoundError, VaultmemError
from vaultmem.light import TYPE_CHECKING, NamedTuple
from vaultmem.memories import access
from vaultmem.memories.arguments import Arguments
from vaultmem.memories.draft import Draft, New
from vaultmem.memories.model import DEFAULT_SCOPE, INBOX, PASSING, REMINDERS, Memory
from vaultmem.memories.records import is_visible_to
from vaultmem.memories.reports import header, report_planned
from vaultmem.memories.store import MemoryStore, Session
from vaultmem.notes.places import phase_of
from vaultmem.plugins import language
from vaultmem.text import secrets, similarity, titles
from vaultmem.text.sanitize import quote_text
from vaultmem.text.times import stamp
from vaultmem.text.values import TEXT_PROPERTIES, lazy

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ALIKE = 0.7  # resemblance above which a memory is reported as similar
MOST_SIMILAR = 5
ABOUT = 30  # memories compared, found by words, and as many by meaning
ABOUT_UNSEARCHED = 200  # the same without an index
CENTROID_LIFE = 600.0  # seconds
SAMPLE = 1_000  # memories for an approximate centroid
WEIGHED = 500  # characters embedded per text, for speed
TRIES = 3
_CALL = lazy(
    lambda: str(language().table("sentences")["remember"]).replace("\n", ""), re.IGNORECASE
)
_CALL_ENDS = (":", "：", ",", "，", "that", "dass")
_FLAGS = {"global": "everywhere", "private": "private"}
_TEXTS = (*TEXT_PROPERTIES, "session_id")


class Existing(NamedTuple):
    """Memories that a new one may repeat or contradict."""

    same: Memory | None
    similar: list[tuple[Memory, float]]
    against: list[Against]
    alike: Sequence[Memory] = ()  # paraphrases


class Against(NamedTuple):
    """An older memory that contradicts the new one."""

    memory: Memory
    why: str
    sure: bool  # replaced by the new one


def write(session: Session, params: Arguments) -> JsonObject:
    """Write a memory, unless the same text already exists in that scope."""
    return write_each(session, params, [None])[0]


def write_each(
    session: Session, params: Arguments, every: Sequence[Properties | None]
) -> list[JsonObject]:
    """Write a reminder for each of these properties, as one change; None for a memory of another kind."""
    content = session.in_its_style(_without_call(params.content()))
    # None if an assistant writes: then they are removed.
    kinds = secrets.redact(content).kinds
    secret_kinds = {"redacted": [*params.redacted], "secrets": [*kinds]}
    scope, by = params.scope() or DEFAULT_SCOPE, params.text("by")
    looked = [(look(session, content, scope, times=each, by=by), each) for each in every]
    new = [
        (new_memory(session, params, content, existing, times), existing)
        for existing, times in looked
        if existing.same is None
    ]
    created = iter(_create_each(session, params, new, secret_kinds) if new else ())
    return [
        next(created) if existing.same is None else {
            **_report(session, existing.same, existing), **secret_kinds,
            "created": False, "duplicate_of": existing.same.id,
            **_replace_named(session, params, existing.same),
            **{name: existing.same.text(name) for name in times or ()},
        }
        for existing, times in looked
    ]  # fmt: skip


def _create_each(
    session: Session, params: Arguments, every: Sequence[tuple[New, Existing]], more: JsonObject
) -> list[JsonObject]:
    """Write them as one change; the reports have `more`."""
    replaced = find_superseded(session, params, *every[0])
    for _ in range(TRIES):
        draft = session.draft()
        names = [create(draft, new, "written") for new, _ in every]
        for old in replaced:
            replace(draft, old, every[0][0].id, f"replaced by {names[0]}")
        plan = draft.plan("write")
        if params.flag("dry_run"):
            report = report_planned(session, plan)
            return [{**report, **_clashes(each), **more, "created": False} for _, each in every]
        outcome = session.carry_out(plan, header(params, f"write {names[0]}", session.now))
        new = plan.changes[-len(every) :]  # they come last
        written = [session.store.collection.at(change.target) for change in new]
        if None not in written:
            ids = [old.id for old in replaced]
            made = {**more, "created": True, "duplicate_of": None, "replaced": ids}
            pairs = zip(written, every, strict=True)
            return [{**_report(session, one, each), **made} for one, (_, each) in pairs if one]
        if not outcome.skipped:
            break
        session.store.collection.refresh()
    reason = outcome.skipped[0][1] if outcome.skipped else "it was gone as soon as it was written"
    raise NoteChangedError(f"the memory was not written: {reason}")


def _without_call(content: str) -> str:
    """Without "remember: " or "merk dir, dass ", which addresses us."""
    if not any(end in content.lower() for end in _CALL_ENDS):
        return content
    match = _CALL.match(content)
    is_call = match is not None and match[0].rstrip().lower().endswith(_CALL_ENDS)
    return (content[match.end() :] if match and is_call else "") or content


def create(draft: Draft, new: New, why: str) -> str:
    """Write a memory under a free title, its own or one from its text. Returns the title."""
    title_text = new.title or secrets.text_for_title(secrets.redact(new.content).text)
    day = str(new.properties.get("remind") or stamp(draft.view.now.timestamp()))[:10]
    title = titles.free_title(title_text, day, new.id, draft.is_taken)
    draft.create(new._replace(title=title), why)
    return title


def find_superseded(session: Session, params: Arguments, new: New, existing: Existing) -> list[Memory]:  # fmt: skip
    """The memories that the new one replaces: the named one, and those about the same thing."""
    if params.text("replaces"):
        return [_find(session, params.needed("replaces"))]
    trust = session.store.config.text("recall.trust")
    if new.category == REMINDERS:
        return []
    return [
        match.memory
        for match in existing.against
        if match.sure and may_replace(match.memory, new.properties, trust)
    ]


def _replace_named(session: Session, params: Arguments, same: Memory) -> JsonObject:
    """For a text that exists already: the named memory is replaced by that one."""
    old = _find(session, params.needed("replaces")) if params.text("replaces") else same
    if same.id in (old.id, old.text("replaced_by")):
        return {}
    draft = session.draft()
    replace(draft, old, same.id, f"replaced by {same.title}")
    plan = draft.plan("write")
    if params.flag("dry_run"):
        return report_planned(session, plan)
    outcome = session.carry_out(plan, header(params, f"write {same.title}", session.now))
    if outcome.skipped:
        raise NoteChangedError(f"the memory was not replaced: {outcome.skipped[0][1]}")
    return {"replaced": [old.id]}


def _find(session: Session, text: str) -> Memory:
    try:
        return session.find(text)
    except NoteNotFoundError:
        return session.find(text, archived=True)


def new_memory(
    session: Session, params: Arguments, content: str, existing: Existing, times: Properties | None = None
) -> New:  # fmt: skip
    """The new memory; its title is the requested one, or ""."""
    category = REMINDERS if times else params.text("category") or INBOX
    now = stamp(session.now)
    properties: dict[str, Value] = {
        "id": session.store.new_id(),
        "phase": phase_of(category),
        "category": category,
        "scope": params.scope() or DEFAULT_SCOPE,
    }
    if tags := params.tags():
        properties["tags"] = list(tags)
    properties.update({name: value for name in _TEXTS if (value := params.text(name))})
    if by := params.text("by"):
        # Assistants read an assistant's words once a person has approved them.
        properties.setdefault("agent", by)
    properties.update({key: True for key, name in _FLAGS.items() if params.flag(name)})
    if category == REMINDERS:
        from vaultmem.dreams.classify import due, times_of  # few memories are reminders

        moment = due(content, session.local_time, session.local_time)
        properties |= times or times_of(moment)
    properties["memory_type"] = params.text("memory_type") or short_texts.memory_type(content)
    policy = params.text("decay")
    if policy or properties["memory_type"] in PASSING:
        properties["decay_policy"] = policy or "contextual"
    properties["importance"] = weigh(session, content, existing, is_new=bool(times))
    if params.text("expires"):
        properties["expires_at"] = stamp(_end(session, params))
    properties.update({"created_at": now, "updated_at": now})
    value = secrets.title_without_marks(params.text("title"))
    value = titles.safe_title(value) if value else ""
    return New(str(properties["id"]), value, category, content, properties)


def _end(session: Session, params: Arguments) -> float:
    at = params.moment("expires", session.local_time, ahead=True)
    if at <= session.now:
        raise VaultmemError(
            f"{params.spelled('expires')} is over ({params.text('expires')}); name a time that is still to come"
        )
    return at


def _reminds_alike(memory: Memory, times: Properties) -> bool:
    """Whether it reminds at these times. A repeating one counts from either day if its rule leads from the earlier to
    the later: it may have moved on since it was set, but every month on the 1st is not every month on the 15th."""
    repeat, new, old = str(times.get("repeat", "")), str(times["remind"]), memory.text("remind")
    if memory.text("repeat") != repeat or old[10:] != new[10:]:
        return False
    return old == new or (bool(repeat) and _leads(repeat, *sorted((old[:10], new[:10]))))


def _leads(repeat: str, earlier: str, later: str) -> bool:
    from vaultmem.text import recurrence  # only needed for a rule

    rule = recurrence.read_rule(repeat)
    try:
        start, day = dt.date.fromisoformat(earlier), dt.date.fromisoformat(later)
    except ValueError:  # something else has been written there
        return False
    return rule is not None and recurrence.occurrences_around(rule, start, day)[0] == day


def look(
    session: Session, content: str, scope: str, *, times: Properties | None = None, by: str | None = None
) -> Existing:  # fmt: skip
    """Related memories visible to the writer and its scope; for a reminder, those of the same `times`. Contradictions
    are only looked for in what somebody writes: an assistant is `by`, the person ""."""
    same = find_same(session, content, scope)
    if times is not None:
        same = [memory for memory in same if _reminds_alike(memory, times)]
    if same:
        return Existing(same[0], [], [])
    like = session.store.collection.like(similarity.sketch(content), ALIKE)
    near = [pair for pair in like if _is_seen(session, pair[0], scope)]
    if by is None or len(content) > CAP:
        return Existing(None, near[:MOST_SIMILAR], [])
    stated = short_texts.of_user(content) if by else content
    against, alike = _against(session, stated, [memory.path for memory, _ in near])
    against = [match for match in against if _is_seen(session, match.memory, scope)]
    alike = [] if times else [memory for memory in alike if _is_seen(session, memory, scope)]
    return Existing(None, near[:MOST_SIMILAR], against[:MOST_SIMILAR], alike[:MOST_SIMILAR])


def find_same(session: Session, content: str, scope: str) -> list[Memory]:
    """Memories with exactly this text, visible to the writer and its scope, oldest first."""
    same = session.store.collection.with_hash(similarity.content_hash(content))
    seen = [memory for memory in same if _is_seen(session, memory, scope)]
    return sorted(seen, key=lambda memory: (memory.created, memory.path))


def _is_seen(session: Session, memory: Memory, scope: str) -> bool:
    return is_visible_to(memory, scope) and session.sees(memory)


def _against(
    session: Session, content: str, like: Iterable[str]
) -> tuple[list[Against], list[Memory]]:
    """Older memories that the text may replace, surest first; and paraphrases."""
    collection = session.store.collection
    if not collection.live():
        return [], []
    close = _near(session, content)
    indexed, recent = {*like, *close}, session.store.recent[:ABOUT]
    words = supersede.topics(content) if recent else frozenset[str]()
    olds: list[tuple[Memory, str]] = []
    for path in dict.fromkeys([*like, *close, *recent]):
        memory = collection.at(path)
        if memory is None or not _states_one_thing(memory):
            continue
        with contextlib.suppress(NoteNotFoundError):  # it is being moved or removed
            text = supersede.stated(memory, collection.text(memory))
            # Recent writes may not be indexed yet: add those that share a word.
            if path in indexed or not words.isdisjoint(supersede.topics(text)):
                olds.append((memory, text))
    if not olds:
        return [], []
    from vaultmem.dreams.changes import Text, probable  # not needed for the first memory

    cosines = [close.get(memory.path) for memory, _ in olds]
    texts = supersede.relations(content, [text for _, text in olds], cosines)
    known = [Text(text, memory.created) for memory, text in olds]
    changed = probable(Text(content, session.now), known, cosines)
    results: list[tuple[float, Against]] = []
    alike: list[Memory] = []
    for (memory, text), relation, may in zip(olds, texts, changed, strict=True):
        sure = relation.kind == supersede.REPLACES
        is_same = relation.kind == supersede.SAME
        if is_same:
            alike.append(memory)
        if sure or relation.contradicts or relation.is_doubtful or (may and not is_same):
            why = f"“{quote_text(content)}” against “{quote_text(text)}”"
            results.append((-relation.replaces, Against(memory, why, sure)))
    results.sort(key=lambda pair: (not pair[1].sure, pair[0], pair[1].memory.path))
    return [item for _, item in results], alike


def _states_one_thing(memory: Memory) -> bool:
    if memory.archived or memory.properties.get("compressed") is True:
        return False
    return memory.size <= CAP and memory.category != REMINDERS


def _near(session: Session, content: str) -> dict[str, float | None]:
    if session.reader.searcher() is not None:
        text = f"{content[:CAP]} {supersede.properties(content)}"
        return session.reader.near(text, session.store.folder, ABOUT, content[:WEIGHED])
    newest = sorted(
        session.store.collection.live(), key=lambda memory: (-memory.created, memory.path)
    )
    return {memory.path: None for memory in newest[:ABOUT_UNSEARCHED]}


def weigh(session: Session, content: str, existing: Existing, *, is_new: bool) -> float:
    """The importance of a text given the known memories; by words if no model is loaded. A reminder is always new:
    the same words at another time."""
    near = None if is_new else _closeness_to_all(session, content)
    if near is None and not is_new:
        near = max((alike for _, alike in existing.similar), default=0.0)
    return short_texts.importance(short_texts.novelty(near), short_texts.salience(content))


def _closeness_to_all(session: Session, content: str) -> float | None:
    meaning = session.reader.warm_meaning()
    if meaning is None:
        return None
    centroid = _centroid(session, session.store)
    return None if centroid is None else float(meaning.embedder.query(content[:WEIGHED]) @ centroid)


def _centroid(session: Session, store: MemoryStore) -> NDArray[np.float32] | None:
    """The centroid of a sample of all memories, computed every ten minutes."""
    from vaultmem.memories.view import Nearness

    if store.centroid and session.now - store.centroid[0] < CENTROID_LIFE:
        return store.centroid[1]
    model_ = session.reader.meaning()  # one thread at a time
    if model_ is None:
        return None
    live = store.collection.live()
    made = Nearness(*model_, live[:: 1 + len(live) // SAMPLE]).centroid()
    store.centroid = (session.now, made)
    return made


def _report(session: Session, memory: Memory, existing: Existing) -> JsonObject:
    same = [_named(twin, merges=may_merge(session, twin, memory)) for twin in existing.alike]
    return {**session.record(memory), **_clashes(existing), "same_as": same}


def may_merge(session: Session, one: Memory, other: Memory) -> bool:
    """Whether a dream may merge two memories that state the same."""
    trust = session.store.config.text("recall.trust")
    first, second = access.origin(one.properties), access.origin(other.properties)
    return kin(one, session.is_approved) == kin(other, session.is_approved) and (
        access.may_stand_for(first, second, trust) or access.may_stand_for(second, first, trust)
    )


def _clashes(existing: Existing) -> JsonObject:
    similar = [_named(memory, similarity=round(near, 2)) for memory, near in existing.similar]
    return {
        "similar": similar,
        "contradicts": [_named(match.memory, why=match.why) for match in existing.against],
    }


def _named(memory: Memory, **more: object) -> JsonObject:
    return {"id": memory.id, "title": memory.title, "path": memory.path, **more}
