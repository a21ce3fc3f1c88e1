"""Writing a memory: what is in it already, what it resembles or contradicts, what it is called."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from vaultmem.adapter import Value
from vaultmem.core import importance, likeness, secrets, statements, titles
from vaultmem.core.decay import POLICIES
from vaultmem.core.memory import DEFAULT_SCOPE, INBOX, REMINDERS, Memory
from vaultmem.core.stamps import stamp
from vaultmem.core.statements import Statement
from vaultmem.core.view import New
from vaultmem.errors import NoteChangedError, NoteNotFoundError, VaultmemError
from vaultmem.memories.asked import Asked, one_of
from vaultmem.memories.desk import Desk, Session, Topics
from vaultmem.memories.records import is_visible_to
from vaultmem.memories.reports import header, planned

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ALIKE = 0.7  # resemblance from which a memory is named as similar
MOST_SIMILAR = 5
ABOUT = 20  # memories that are read to see whether one contradicts
ABOUT_UNSEARCHED = 200  # the same where there is no index to ask which
MOST_TOPICS = 20_000  # memories of which it is known what they speak of
CENTROID_KEPT = 600.0  # seconds
SAMPLE = 1_000  # memories whose middle is that of all, near enough: somebody waits
WEIGHED = 500  # characters of a text that are embedded, for the same reason
TRIES = 3
_TEXTS = ("source", "agent", "personality", "project", "type", "session_id")


class Found(NamedTuple):
    """What there is already that a new memory may clash with."""

    same: Memory | None
    similar: list[tuple[Memory, float]]
    against: list[tuple[Memory, str]]  # with the reason


def write(
    session: Session, asked: Asked, times: Mapping[str, Value] | None = None
) -> dict[str, object]:
    """Write a memory, unless the very same text is there in that scope. `times` are the properties of a reminder; what
    is said of one that is there already has its own."""
    content, secrets_found = _without_secrets(asked)
    scope = asked.scope() or DEFAULT_SCOPE
    replaced = session.find(asked.needed("replaces")) if asked.text("replaces") else None
    found = look(session, content, scope, times=times)
    if found.same is not None:
        return {
            **_shown(session, found.same, found), **secrets_found, "created": False, "duplicate_of": found.same.id,
            **{name: found.same.text(name) for name in times or ()},
        }  # fmt: skip
    new = new_memory(session, asked, content, found, times)
    for _ in range(TRIES):
        draft = session.draft()
        title = titles.free_title(
            new.title or secrets.named_by(content), stamp(session.now)[:10], new.id, draft.is_taken
        )
        draft.create(new._replace(title=title), "written")
        if replaced is not None:
            draft.archive(
                replaced, header(asked, "", session.now).by, f"replaced by {title}", new.id
            )
        plan = draft.plan("write")
        if asked.flag("dry_run"):
            return {
                **planned(session, plan), **_clashes(session, found), **secrets_found, "created": False,
            }  # fmt: skip
        outcome = session.carry_out(plan, header(asked, f"write {title}", session.now))
        written = session.desk.collection.at(plan.changes[-1].target)
        if written is not None:
            return {
                **_shown(session, written, found), **secrets_found, "created": True, "duplicate_of": None,
            }  # fmt: skip
        if not outcome.skipped:
            break
        session.desk.collection.refresh()
    reason = outcome.skipped[0][1] if outcome.skipped else "it was gone as soon as it was written"
    raise NoteChangedError(f"the memory was not written: {reason}")


def _without_secrets(asked: Asked) -> tuple[str, dict[str, object]]:
    """The content, and what of it looks like secrets: the kinds of what was taken out ("redacted"). An assistant
    writes what it has read somewhere; a person may keep a password on purpose, and is only told ("secrets")."""
    content = asked.content()
    found = secrets.redacted(content)
    if _is_assistant(asked):
        return found.text, {"redacted": list(found.kinds), "secrets": []}
    return content, {"redacted": [], "secrets": list(found.kinds)}


def _is_assistant(asked: Asked) -> bool:
    return bool(asked.text("by") or asked.text("agent"))


def new_memory(
    session: Session,
    asked: Asked,
    content: str,
    found: Found,
    times: Mapping[str, Value] | None = None,
) -> New:
    """A memory as it is going to be written; its title is what was asked for, or ""."""
    category = REMINDERS if times else asked.category() or INBOX
    now = stamp(session.now)
    properties: dict[str, Value] = {
        "id": session.desk.new_id(),
        "phase": "inbox" if category == INBOX else "organized",
        "category": category,
        "scope": asked.scope() or DEFAULT_SCOPE,
    }
    if tags := asked.tags():
        properties["tags"] = list(tags)
    properties.update({name: given for name in _TEXTS if (given := asked.text(name))})
    if by := asked.text(
        "by"
    ):  # what an assistant wrote is told to assistants when a person has approved it
        properties.setdefault("agent", by)
    if asked.flag("global"):
        properties["global"] = True
    if category == REMINDERS:
        properties |= times or _times(session, content)
    properties["memory_type"] = asked.memory_type() or importance.memory_type(content)
    if policy := one_of("decay policy", asked.text("decay").lower(), POLICIES):
        properties["decay_policy"] = policy
    properties["importance"] = weigh(session, content, found)
    if asked.text("expires"):
        properties["expires_at"] = stamp(_end(session, asked))
    properties.update({"created_at": now, "updated_at": now})
    given = asked.text("title")
    if _is_assistant(asked):
        given = secrets.title_without_marks(secrets.redacted(given).text)
    given = titles.safe(given) if given else ""
    return New(str(properties["id"]), given, category, content, properties)


def _times(session: Session, content: str) -> dict[str, Value]:
    """When a reminder wants to remind, if its text says so."""
    from vaultmem.core import reminder_phrase, when

    now = session.view.now
    moment = when.reminder(content, now) or next(
        (one for one in when.find(content, now) if one.repeat or one.when >= now), None
    )
    if moment is None or (moment.repeat and not reminder_phrase.is_whole(content, now)):
        return {}
    return {"remind": when.iso(moment), **({"repeat": moment.repeat} if moment.repeat else {})}


def _end(session: Session, asked: Asked) -> float:
    """When it expires."""
    at = asked.moment("expires", session.view.now, ahead=True)
    if at <= session.now:
        raise VaultmemError(
            f"expires is over ({asked.text('expires')}); name a time that is still to come"
        )
    return at


def _reminds_alike(memory: Memory, times: Mapping[str, Value]) -> bool:
    """Whether it reminds at these times. A repeating one does from either day on if its rule leads from the earlier
    to the later: it may have moved on since it was set, but every month on the 1st is not every month on the 15th."""
    repeat, at, kept = str(times.get("repeat", "")), str(times["remind"]), memory.text("remind")
    if memory.text("repeat") != repeat or kept[10:] != at[10:]:
        return False
    return kept == at or (bool(repeat) and _leads(repeat, *sorted((kept[:10], at[:10]))))


def _leads(repeat: str, earlier: str, later: str) -> bool:
    """Whether what repeats from the earlier day on has the later one."""
    from vaultmem.core import recurrence  # only who has a rule needs dateutil

    rule = recurrence.read_rule(repeat)
    try:
        start, day = dt.date.fromisoformat(earlier), dt.date.fromisoformat(later)
    except ValueError:  # somebody has written something else there
        return False
    return rule is not None and recurrence.around(rule, start, day)[0] == day


def look(
    session: Session,
    content: str,
    scope: str,
    *,
    contradictions: bool = True,
    times: Mapping[str, Value] | None = None,
) -> Found:
    """What there is already. Of duplicates, those count that the writer and its scope can see, and of a reminder
    those that remind at the same `times`."""
    collection = session.desk.collection

    def is_seen(memory: Memory) -> bool:
        return is_visible_to(memory, scope) and session.sees(memory)

    same = [
        memory
        for memory in collection.with_hash(likeness.content_hash(content))
        if is_seen(memory) and (times is None or _reminds_alike(memory, times))
    ]
    if same:
        return Found(min(same, key=lambda memory: (memory.created, memory.path)), [], [])
    sketch = likeness.sketch(content)
    near = [(memory, likeness.resemblance(sketch, memory.sketch))
            for memory in collection.like(sketch, ALIKE) if is_seen(memory)]  # fmt: skip
    near.sort(key=lambda pair: (-pair[1], pair[0].path))
    nearest = (memory for memory, _ in near)
    against = _contradicted(session, content, scope, nearest) if contradictions else []
    return Found(None, near[:MOST_SIMILAR], against)


def _contradicted(
    session: Session, content: str, scope: str, near: Iterable[Memory]
) -> list[tuple[Memory, str]]:
    said = statements.statements(content)
    if not said:
        return []
    words = " ".join(dict.fromkeys(w for one in said for w in (one.subject, one.property) if w))
    known = session.desk.collection
    if session.reader.searcher() is None:
        newest = sorted(known.live(), key=lambda memory: (-memory.created, memory.path))
        paths = [memory.path for memory in newest[:ABOUT_UNSEARCHED]]
    else:
        paths = session.reader.paths_about(words, session.desk.folder, ABOUT)
    about = [known.at(path) for path in [*paths, *session.desk.recent[:ABOUT]]]
    candidates = {
        memory.path: memory
        for memory in (*near, *about)
        if memory and not memory.archived and is_visible_to(memory, scope) and session.sees(memory)
    }
    mine = _topics(said)
    found = []
    for memory in candidates.values():
        reason = _why_not_both(session.desk, mine, content, memory)
        if reason:
            found.append((memory, reason))
    return found[:MOST_SIMILAR]


def _why_not_both(desk: Desk, mine: Topics, content: str, memory: Memory) -> str | None:
    """What speaks against a memory. Only one that speaks of the same can contradict, and what most speak of is known:
    they need not be read again."""
    topics = desk.topics.get(memory.hash)
    if topics is not None and not topics & mine:
        return None
    try:
        theirs = desk.collection.content(memory)
    except NoteNotFoundError:
        return None  # it is just being moved or removed
    if len(desk.topics) >= MOST_TOPICS:
        desk.topics.clear()
    topics = desk.topics[memory.hash] = topics or _topics(statements.statements(theirs))
    return statements.contradiction(content, theirs) if topics & mine else None


def _topics(said: Iterable[Statement]) -> Topics:
    return frozenset((one.subject, one.property) for one in said)


def weigh(session: Session, content: str, found: Found) -> float:
    """The importance of a text among what is known. The words stand in for a model that is not loaded."""
    salience = importance.salience(content).score
    near = _closeness_to_all(session, content)
    if near is None:
        near = max((alike for _, alike in found.similar), default=0.0)
    return importance.importance(importance.novelty(near), salience)


def _closeness_to_all(session: Session, content: str) -> float | None:
    """The cosine to the centroid of all memories; None when no model is loaded, or nothing has a vector."""
    meaning = session.reader.warm_meaning()
    if meaning is None:
        return None
    from vaultmem.memories import nearness

    centroid = _centroid(session, session.desk)
    return None if centroid is None else nearness.cosines(meaning, [content[:WEIGHED]], centroid)[0]


def _centroid(session: Session, desk: Desk) -> NDArray[np.float32] | None:
    """The middle of a sample of all memories, made anew now and then."""
    from vaultmem.memories import nearness

    if desk.centroid and session.now - desk.centroid[0] < CENTROID_KEPT:
        return desk.centroid[1]
    found = session.reader.meaning()  # lent to one thread at a time
    if found is None:
        return None
    live = desk.collection.live()
    made = nearness.Nearness(*found, live[:: 1 + len(live) // SAMPLE]).centroid()
    desk.centroid = (session.now, made)
    return made


def _shown(session: Session, memory: Memory, found: Found) -> dict[str, object]:
    return {**session.record(memory), **_clashes(session, found)}


def _clashes(session: Session, found: Found) -> dict[str, object]:  # noqa: ARG001 - as _shown
    similar: Sequence[dict[str, object]] = [
        {"id": memory.id, "title": memory.title, "path": memory.path, "similarity": round(near, 2)}
        for memory, near in found.similar
    ]
    against = [
        {"id": memory.id, "title": memory.title, "path": memory.path, "why": why}
        for memory, why in found.against
    ]
    return {"similar": similar, "contradicts": against}
