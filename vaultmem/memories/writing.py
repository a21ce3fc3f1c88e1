"""Writing a memory: what is in it already, what it resembles or contradicts, what it is called."""

from __future__ import annotations

import contextlib
import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from vaultmem.adapter import Value
from vaultmem.errors import NoteChangedError, NoteNotFoundError, VaultmemError
from vaultmem.memories import importance, model, supersede
from vaultmem.memories.asked import Asked
from vaultmem.memories.desk import Desk, Session
from vaultmem.memories.draft import New
from vaultmem.memories.model import DEFAULT_SCOPE, INBOX, PASSING, REMINDERS, Memory
from vaultmem.memories.records import is_visible_to
from vaultmem.memories.reports import header, planned
from vaultmem.memories.same import kin
from vaultmem.memories.short_texts import CAP
from vaultmem.memories.supersede import may_replace, replace
from vaultmem.text import secrets, similarity, titles
from vaultmem.text.sanitize import quoted
from vaultmem.text.times import stamp

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ALIKE = 0.7  # resemblance from which a memory is named as similar
MOST_SIMILAR = 5
DOUBTFUL = 0.0  # log odds from which the person is told of an older memory
ABOUT = 30  # memories that are compared, found by words, and as many by meaning
ABOUT_UNSEARCHED = 200  # the same where there is no index to ask which
CENTROID_KEPT = 600.0  # seconds
SAMPLE = 1_000  # memories whose middle is that of all, near enough: somebody waits
WEIGHED = 500  # characters of a text that are embedded, for the same reason
TRIES = 3
_TEXTS = ("source", "agent", "personality", "project", "type", "session_id")


class Found(NamedTuple):
    """What there is already that a new memory may clash with."""

    same: Memory | None
    similar: list[tuple[Memory, float]]
    against: list[Against]
    alike: Sequence[Memory] = ()  # that state the same in other words


class Against(NamedTuple):
    """An older memory of the same thing that says something else."""

    memory: Memory
    why: str
    sure: bool  # the new one takes its place


def write(
    session: Session, asked: Asked, times: Mapping[str, Value] | None = None
) -> dict[str, object]:
    """Write a memory, unless the very same text is there in that scope. `times` are the properties of a reminder; what
    is said of one that is there already has its own."""
    content, secrets_found = _without_secrets(asked)
    scope = asked.scope() or DEFAULT_SCOPE
    found = look(session, content, scope, times=times)
    if found.same is not None:
        return {
            **_shown(session, found.same, found), **secrets_found, "created": False, "duplicate_of": found.same.id,
            **{name: found.same.text(name) for name in times or ()},
        }  # fmt: skip
    new = new_memory(session, asked, content, found, times)
    replaced = superseded(session, asked, new, found)
    for _ in range(TRIES):
        draft = session.draft()
        title = titles.free_title(
            new.title or secrets.named_by(content), stamp(session.now)[:10], new.id, draft.is_taken
        )
        draft.create(new._replace(title=title), "written")
        for old in replaced:
            replace(draft, old, new.id, f"replaced by {title}")
        plan = draft.plan("write")
        if asked.flag("dry_run"):
            return {
                **planned(session, plan), **_clashes(found), **secrets_found, "created": False,
            }  # fmt: skip
        outcome = session.carry_out(plan, header(asked, f"write {title}", session.now))
        written = session.desk.collection.at(plan.changes[-1].target)
        if written is not None:
            return {
                **_shown(session, written, found), **secrets_found, "created": True, "duplicate_of": None,
                "replaced": [old.id for old in replaced],
            }  # fmt: skip
        if not outcome.skipped:
            break
        session.desk.collection.refresh()
    reason = outcome.skipped[0][1] if outcome.skipped else "it was gone as soon as it was written"
    raise NoteChangedError(f"the memory was not written: {reason}")


def superseded(session: Session, asked: Asked, new: New, found: Found) -> list[Memory]:
    """The memories whose place the new one takes: the one that was named, and those that speak of the same."""
    if asked.text("replaces"):
        return [_named(session, asked.needed("replaces"))]
    trust = session.desk.config.text("recall.trust")
    if new.category == REMINDERS:
        return []
    return [
        each.memory
        for each in found.against
        if each.sure and may_replace(each.memory, new.properties, trust)
    ]


def _named(session: Session, given: str) -> Memory:
    """A memory, also one in the archive."""
    try:
        return session.find(given)
    except NoteNotFoundError:
        return session.find(given, archived=True)


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
    category = REMINDERS if times else asked.text("category") or INBOX
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
    if asked.flag("everywhere"):
        properties["global"] = True
    if category == REMINDERS:
        properties |= times or _times(session, content)
    properties["memory_type"] = asked.text("memory_type") or importance.memory_type(content)
    policy = asked.text("decay")
    if policy or properties["memory_type"] in PASSING:
        properties["decay_policy"] = policy or "contextual"
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
    from vaultmem.languages import reminder_phrase, when

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
    from vaultmem.languages import recurrence  # only who has a rule needs dateutil

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
        for memory in collection.with_hash(similarity.content_hash(content))
        if is_seen(memory) and (times is None or _reminds_alike(memory, times))
    ]
    if same:
        return Found(min(same, key=lambda memory: (memory.created, memory.path)), [], [])
    sketch = similarity.sketch(content)
    near = [(memory, similarity.resemblance(sketch, memory.sketch))
            for memory in collection.like(sketch, ALIKE) if is_seen(memory)]  # fmt: skip
    near.sort(key=lambda pair: (-pair[1], pair[0].path))
    if not contradictions or len(content) > CAP:
        return Found(None, near[:MOST_SIMILAR], [])
    like = [memory.path for memory, _ in near]
    against, alike = _against(session, content, like)
    against = [each for each in against if is_seen(each.memory)]
    alike = [] if times else [each for each in alike if is_seen(each)]
    return Found(None, near[:MOST_SIMILAR], against[:MOST_SIMILAR], alike[:MOST_SIMILAR])


def _against(
    session: Session, content: str, like: Iterable[str]
) -> tuple[list[Against], list[Memory]]:
    """Older memories that the text replaces, or may replace, those that are surest first; and those that state the
    same."""
    known, close = session.desk.collection, _near(session, content)
    olds: list[tuple[Memory, str]] = []
    for path in dict.fromkeys([*like, *close, *session.desk.recent[:ABOUT]]):
        memory = known.at(path)
        if memory is not None and _states_one_thing(memory):
            with contextlib.suppress(NoteNotFoundError):  # it is just being moved or removed
                olds.append((memory, known.content(memory)))
    cosines = [close.get(memory.path) for memory, _ in olds]
    said = supersede.relations(content, [text for _, text in olds], cosines)
    found: list[tuple[float, Against]] = []
    for (memory, text), each in zip(olds, said, strict=True):
        sure = each.kind == supersede.REPLACES
        if sure or each.contradicts or each.replaces > max(DOUBTFUL, each.same):
            why = f"“{quoted(content)}” against “{quoted(text)}”"
            found.append((-each.replaces, Against(memory, why, sure)))
    found.sort(key=lambda pair: (not pair[1].sure, pair[0], pair[1].memory.path))
    alike = [
        memory for (memory, _), each in zip(olds, said, strict=True) if each.kind == supersede.SAME
    ]
    return [each for _, each in found], alike


def _states_one_thing(memory: Memory) -> bool:
    return not memory.archived and memory.size <= CAP and memory.category != REMINDERS


def _near(session: Session, content: str) -> dict[str, float | None]:
    """Paths of memories that may speak of the same, with cosines where they are known."""
    if session.reader.searcher() is not None:
        text = f"{content[:CAP]} {supersede.properties(content)}"
        return session.reader.near(text, session.desk.folder, ABOUT)
    newest = sorted(
        session.desk.collection.live(), key=lambda memory: (-memory.created, memory.path)
    )
    return {memory.path: None for memory in newest[:ABOUT_UNSEARCHED]}


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
    from vaultmem.memories import prototypes

    centroid = _centroid(session, session.desk)
    return (
        None if centroid is None else prototypes.cosines(meaning, [content[:WEIGHED]], centroid)[0]
    )


def _centroid(session: Session, desk: Desk) -> NDArray[np.float32] | None:
    """The middle of a sample of all memories, made anew now and then."""
    from vaultmem.memories import prototypes

    if desk.centroid and session.now - desk.centroid[0] < CENTROID_KEPT:
        return desk.centroid[1]
    found = session.reader.meaning()  # lent to one thread at a time
    if found is None:
        return None
    live = desk.collection.live()
    made = prototypes.Nearness(*found, live[:: 1 + len(live) // SAMPLE]).centroid()
    desk.centroid = (session.now, made)
    return made


def _shown(session: Session, memory: Memory, found: Found) -> dict[str, object]:
    same = [
        {
            "id": each.id,
            "title": each.title,
            "path": each.path,
            "merges": may_merge(session, each, memory),
        }
        for each in found.alike
    ]
    return {**session.record(memory), **_clashes(found), "same_as": same}


def may_merge(session: Session, one: Memory, other: Memory) -> bool:
    """Whether a dream may make one of two memories that state the same."""
    trust = session.desk.config.text("recall.trust")
    first, second = model.origin(one.properties), model.origin(other.properties)
    return kin(session.view, one) == kin(session.view, other) and (
        model.may_stand_for(first, second, trust) or model.may_stand_for(second, first, trust)
    )


def _clashes(found: Found) -> dict[str, object]:
    similar: Sequence[dict[str, object]] = [
        {"id": memory.id, "title": memory.title, "path": memory.path, "similarity": round(near, 2)}
        for memory, near in found.similar
    ]
    against = [
        {
            "id": each.memory.id,
            "title": each.memory.title,
            "path": each.memory.path,
            "why": each.why,
        }
        for each in found.against
    ]
    return {"similar": similar, "contradicts": against}
