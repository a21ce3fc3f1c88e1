"""Files the memories of the inbox. A tie is no reason to leave one there: the stronger category wins, the other becomes
a tag, and what shows nothing at all is knowledge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from vaultmem.adapter import Value
from vaultmem.core import reminder_phrase
from vaultmem.core.changes import Finding
from vaultmem.core.classify import Verdict
from vaultmem.core.importance import importance, memory_type, novelty, salience
from vaultmem.core.intent import prose
from vaultmem.core.memory import INBOX, REMINDERS, Memory
from vaultmem.core.view import Draft
from vaultmem.core.when import Moment, find, iso, reminder
from vaultmem.plans.judge import BATCH, CAP, best_guess, guesses, judged

OTHERWISE = "knowledge"
UNSURE = "unsure"  # finding: filed, though no category is likelier than not
SHORT = 240  # characters: a longer text has more to say than when to be reminded
LATE = 86400.0  # seconds a reminder may be over and still be worth giving


def classify(draft: Draft) -> None:
    """Move inbox memories to their category."""
    file_all(draft, [memory for memory in draft.memories() if memory.phase == INBOX])
    _fill_adopted(draft)


def file_all(draft: Draft, waiting: Sequence[Memory]) -> None:
    """File these memories of the inbox."""
    for start in range(0, len(waiting), BATCH):
        batch = waiting[start : start + BATCH]
        texts: dict[str, str] = {}
        for memory, text, verdict in judged(draft, batch):
            texts[memory.path] = text
            _file(draft, memory, text, verdict)
        _fill(draft, batch, texts)


def _file(draft: Draft, memory: Memory, text: str, verdict: Verdict) -> None:
    moment: Moment | None = None
    names = [name for name, _ in guesses(verdict)]
    category = best_guess(verdict) or OTHERWISE
    if category == REMINDERS:
        moment = due(draft, memory, text)
        timed = _names_time(draft, memory, text) or any(
            map(memory.properties.get, ("remind", "due"))
        )
        category = REMINDERS if is_plain(text) and timed else next(iter(names), OTHERWISE)
    if not draft.may(memory):
        return
    signs = [sign.removeprefix(f"{category}: ") for sign in verdict.why[:2]]
    why = f"{category}: {', '.join(signs) or 'nearest in meaning'} ({verdict.confidence:.2f})"
    draft.move(memory, category, why)
    if verdict.category is None:
        draft.find(Finding(UNSURE, memory.path, why))
    if verdict.category is None and len(names) > 1 and names[1] not in memory.tags:
        draft.set(memory, why, tags=[*memory.tags, names[1]])
    if category == REMINDERS and moment is not None and "remind" not in memory.properties:
        draft.set(memory, why, **times_of(moment))


def is_plain(text: str) -> bool:
    """Whether a text is a reminder and nothing else."""
    return len(text) <= SHORT and text.strip().count("\n") < 2


def due(draft: Draft, memory: Memory, text: str) -> Moment | None:
    """When a text wants to remind, reckoned from the day it was written; None when that is over. Where no words say
    that something is to be done then, it is the first time to come that the text names."""
    now, since = draft.view.now, _written(draft, memory)
    moment = reminder(text, since) or _to_come(text, since)
    if moment is not None and moment.repeat:
        if not reminder_phrase.is_whole(text, since):
            return None
        return reminder(text, now) or _to_come(text, now) or moment
    return moment if moment and moment.when.timestamp() > now.timestamp() - LATE else None


def _to_come(text: str, now: datetime) -> Moment | None:
    for moment in find(prose(text), now):
        if moment.when > now or (moment.all_day and moment.when.date() == now.date()):
            return moment
    return None


def _names_time(draft: Draft, memory: Memory, text: str) -> bool:
    """Whether it says when, be that over by now."""
    return bool(find(prose(text), _written(draft, memory)))


def _written(draft: Draft, memory: Memory) -> datetime:
    now = draft.view.now
    return datetime.fromtimestamp(min(memory.created, now.timestamp()), now.tzinfo)


def times_of(moment: Moment) -> dict[str, Value]:
    """The properties that say when to remind."""
    repeat: dict[str, Value] = {"repeat": moment.repeat} if moment.repeat else {}
    return {"remind": iso(moment), **repeat}


def _fill_adopted(draft: Draft) -> None:
    """People's files that came into a category's folder have passed no inbox."""
    fresh = [
        memory for memory in draft.memories() if memory.phase != INBOX and _is_new(draft, memory)
    ]
    for start in range(0, len(fresh), BATCH):
        batch = fresh[start : start + BATCH]
        _fill(draft, batch, {memory.path: draft.content(memory) for memory in batch})


def _is_new(draft: Draft, memory: Memory) -> bool:
    return (
        draft.is_changed(memory) and not {"importance", "memory_type"} <= memory.properties.keys()
    )


def _fill(draft: Draft, batch: Sequence[Memory], texts: Mapping[str, str]) -> None:
    """Judge importance and type where nobody has. Without a model nobody can say what is new: it waits."""
    near = draft.view.familiarity([texts[memory.path][:CAP] for memory in batch])
    for memory in batch:
        seen, text = draft.see(memory), texts[memory.path]
        sets: dict[str, Value] = {}
        if "memory_type" not in seen.properties:
            sets["memory_type"] = memory_type(text[:CAP])
        if "importance" not in seen.properties and near is not None:
            new = novelty(near.get(text[:CAP]))
            sets["importance"] = importance(new, salience(text[:CAP]).score)
        if sets and draft.may(memory):
            draft.set(memory, "judged: " + ", ".join(sets), **sets)
