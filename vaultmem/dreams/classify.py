"""The category of a memory by its words, in the languages of the table: weighted signals, and an embedding's vote.

Each category adds up the weights of its signals and, if the caller knows how close the text's meaning is to the
category's prototypes (memories.view), that closeness above the mean. A softmax over these sums, with one more place
for "none of them", is the confidence; below THRESHOLD no category is certain, and a dream files the memory under the
likeliest and says so.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import cache
from itertools import islice

from vaultmem.adapter import Moment, Value
from vaultmem.dreams.short_texts import (
    HANS,
    INSTRUCTION,
    form,
    importance,
    memory_type,
    novelty,
    salience,
)
from vaultmem.light import NamedTuple
from vaultmem.memories.draft import Draft
from vaultmem.memories.model import CATEGORIES, INBOX, REMINDERS, Memory
from vaultmem.plugins import language
from vaultmem.progress import current_progress
from vaultmem.text.times import reminds_on
from vaultmem.text.values import lazy, plural

CAP = 4000  # characters; the topic of a text shows early
THRESHOLD = 0.5  # nine of ten memories above it are filed correctly: see benchmarks/classify.py
CHANCE = 0.2  # confidence required of closeness alone
TARGETS = tuple(category for category in CATEGORIES if category != INBOX)
SHARPNESS = 1.2  # of the softmax
NONE_OF_THEM = 1.0  # the fixed sum of "none of them"
CLOSENESS_WEIGHT = 8.0  # points for one whole cosine above the mean
IMPERSONAL = 1.6  # for knowledge: a text that names no person
INSTRUCTS = 1.0  # for preferences: how somebody wants something done
_MOST_REASONS = 6

_DENIAL = form("denied")
_DENIAL_REACH = 32
_PERSON = form("somebody")


class Signal(NamedTuple):
    """One row of the table; each thing that its pattern finds counts once, and at most two of them."""

    category: str
    pattern: re.Pattern[str]
    weight: float
    deniable: bool  # cancelled by a denial just before it
    han: bool


@cache
def signals() -> tuple[Signal, ...]:
    """The words of each language that hint at a category, with their weights."""
    tables = language().table("categories")
    with_signals = [(name, table) for name, table in tables.items() if "signals" in table]
    return tuple(
        signal for name, table in with_signals for signal in _read(table, han=name == "chinese")
    )


def _read(language: Mapping[str, Mapping[str, str]], *, han: bool) -> Iterator[Signal]:
    parts = {f"<{name}>": part for name, part in language["parts"].items()}
    for category, rows in language["signals"].items():
        for row in rows.strip("\n").replace("\n    ", "").split("\n"):
            weight, _, words = row.partition(" ")
            deniable, words = words.startswith("~"), words.removeprefix("~")
            for name, part in parts.items():
                words = words.replace(name, part)
            pattern = words if han else rf"(?<!\w)(?:{words})(?!\w)"
            yield Signal(category, lazy(pattern, re.MULTILINE), float(weight), deniable, han)


class Scored(NamedTuple):
    """Non-zero sums of weights by category, and the signals behind them, strongest first."""

    scores: Mapping[str, float]
    why: tuple[str, ...]


class Verdict(NamedTuple):
    """The verdict on a text; `category` is None if it is not certain enough."""

    category: str | None
    confidence: float  # 0.0 to 1.0, of the best category even if none is certain
    why: tuple[str, ...]  # 'preferences: "prefers" +2.6'
    scores: Mapping[str, float]
    by_words: bool  # whether a signal supports the best category, not only closeness


class _Hit(NamedTuple):
    category: str
    word: str
    weight: float


def scores(text: str) -> Scored:
    """The scores from signals alone."""
    hits = sorted(_hits(text[:CAP]), key=lambda hit: (-hit.weight, hit.category, hit.word))
    why = [f'{hit.category}: "{hit.word}" +{hit.weight:g}' for hit in hits]
    sums: dict[str, float] = defaultdict(float)
    for hit in hits:
        sums[hit.category] = round(sums[hit.category] + hit.weight, 4)
    head = text[:CAP]
    is_long = len(head.split()) + len(HANS.findall(head)) > 3
    if INSTRUCTION.search(head):
        sums["preferences"] = round(sums["preferences"] + INSTRUCTS, 4)
        why.append(f"preferences: says how to do something +{INSTRUCTS:g}")
    elif "people" not in sums and is_long and not _PERSON.search(head.lower()):
        sums["knowledge"] = round(sums["knowledge"] + IMPERSONAL, 4)
        why.append(f"knowledge: names no person +{IMPERSONAL:g}")
    return Scored(sums, tuple(why))


def classify(text: str, closeness: Mapping[str, float] | None = None) -> Verdict:
    """The category of a text. `closeness`: cosines by category, see memories.view.Examples."""
    scored = scores(text)
    sums = {category: scored.scores.get(category, 0.0) for category in TARGETS}
    for category, extra in _lift(closeness).items():
        sums[category] += extra
    best = max(sums, key=sums.__getitem__)
    confidence = round(_share(sums, best), 4)
    why = [line for line in scored.why if line.startswith(f"{best}: ")][:_MOST_REASONS]
    by_words = bool(why)
    if closeness and best in closeness:
        why.append(f"{best}: close in meaning ({closeness[best]:.2f})")
    rounded = {category: round(total, 4) for category, total in sums.items()}
    sure = best if confidence >= THRESHOLD else None
    return Verdict(sure, confidence, tuple(why), rounded, by_words)


def _hits(text: str) -> Iterator[_Hit]:
    folded = text.lower()
    scripts = {
        True: HANS.search(folded) is not None,
        False: re.search(r"[a-z]", folded) is not None,
    }
    for signal in signals():
        if scripts[signal.han]:
            matches = signal.pattern.finditer(folded)
            sure = (m for m in matches if not (signal.deniable and _is_denied(folded, m.start())))
            words = dict.fromkeys(word for match in sure if (word := match[0].strip()))
            for word in islice(words, 2):
                yield _Hit(signal.category, word, signal.weight)


def _is_denied(text: str, at: int) -> bool:
    return _DENIAL.search(text[max(0, at - _DENIAL_REACH) : at]) is not None


def _lift(closeness: Mapping[str, float] | None) -> dict[str, float]:
    """The points that each category gains or loses by being closer in meaning than average."""
    cosines = (closeness or {}).items()
    cosine_by_category = {
        c: min(1.0, max(-1.0, v)) for c, v in cosines if c in TARGETS and math.isfinite(v)
    }
    if not cosine_by_category:
        return {}
    mean = sum(cosine_by_category.values()) / len(cosine_by_category)
    return {category: CLOSENESS_WEIGHT * (v - mean) for category, v in cosine_by_category.items()}


def _share(sums: Mapping[str, float], best: str) -> float:
    top = max(*sums.values(), NONE_OF_THEM)
    odds = {category: math.exp(SHARPNESS * (value - top)) for category, value in sums.items()}
    return odds[best] / (sum(odds.values()) + math.exp(SHARPNESS * (NONE_OF_THEM - top)))


# Files memories under the classifier's category.

BATCH = 64  # texts per call: faster for a model
JUDGED = 4000  # characters that the classifier looks at
OTHERWISE = "knowledge"
UNSURE = "unsure"  # finding: filed under a category that is uncertain
SHORT = 240  # characters: a longer text is more than a reminder
# Seconds for which a past reminder is still set: as long as it is listed.
LATE = 14 * 86400.0
READS = 3  # reads in the inbox that make a memory worth filing


def judge_all(draft: Draft, memories: Sequence[Memory]) -> Iterator[tuple[Memory, str, Verdict]]:
    """Each memory that may still be changed, with its content and verdict."""
    heard = current_progress()
    heard.stage("filing", len(memories))
    for batch in _batches(memories):
        changeable = [memory for memory in batch if draft.may(memory)]
        heard.advance(len(batch) - len(changeable))
        texts = [draft.content(memory) for memory in changeable]
        near = draft.view.closeness([text[:JUDGED] for text in texts]) or {}
        for memory, text in zip(changeable, texts, strict=True):
            yield memory, text, classify(text, near.get(text[:JUDGED]))
            heard.advance()


def _batches(memories: Sequence[Memory]) -> Iterator[Sequence[Memory]]:
    return (memories[at : at + BATCH] for at in range(0, len(memories), BATCH))


def guesses(verdict: Verdict) -> list[str]:
    """The possible categories of a content, likeliest first."""
    rated = sorted(verdict.scores.items(), key=lambda guess: (-guess[1], guess[0]))
    return [name for name, score in rated if score > 0 and name != REMINDERS]


def best(verdict: Verdict) -> str:
    """The likeliest category, however uncertain; a default if no word supports it and its closeness may be chance, as
    for a text in a language that the model does not know."""
    is_chance = verdict.confidence < CHANCE and not verdict.by_words
    likely = [] if is_chance else guesses(verdict)
    return verdict.category or next(iter(likely), OTHERWISE)


def file_inbox(draft: Draft) -> None:
    """Move inbox memories to their category; also judge people's files that were put into a category's folder, and
    give those that only remind their times."""
    file_all(draft, [memory for memory in draft.memories() if memory.phase == INBOX])
    adopted = [
        memory
        for memory in draft.memories()
        if memory.phase != INBOX
        and draft.is_changed(memory)
        and not {"importance", "memory_type"} <= memory.properties.keys()
    ]
    _rate(draft, adopted)
    _set_times(draft, draft.memories())


def file_all(draft: Draft, waiting: Sequence[Memory]) -> None:
    """File these memories of the inbox."""
    for memory, text, verdict in judge_all(draft, waiting):
        _file(draft, memory, text, verdict)
    _rate(draft, waiting)
    _set_times(draft, waiting)


def upgrade(draft: Draft, reads: int = READS) -> None:
    """File inbox memories that were read `reads` times under their likeliest category."""
    often = [m for m in draft.memories() if m.phase == INBOX and draft.reads(m) >= reads]
    for memory, _, verdict in judge_all(draft, often):
        if draft.may(memory):
            why = f"read {plural(draft.reads(memory), 'time')} in the inbox"
            draft.move(memory, best(verdict), why)


def _file(draft: Draft, memory: Memory, text: str, verdict: Verdict) -> None:
    """File one memory. Of tied categories the stronger wins; the other becomes a tag."""
    names = guesses(verdict)
    category = best(verdict)
    if category == REMINDERS:
        is_timed = any(map(memory.properties.get, ("remind", "due")))
        is_timed = is_timed or bool(
            language().times(language().prose(text), draft.written_at(memory))
        )
        category = REMINDERS if is_plain(text) and is_timed else next(iter(names), OTHERWISE)
    if not draft.may(memory):
        return
    category_signs = [sign for sign in verdict.why if sign.startswith(f"{category}: ")][:2]
    signs = ", ".join(sign.removeprefix(f"{category}: ") for sign in category_signs)
    why = f"{category}: {signs or 'no other category fits'} ({verdict.confidence:.2f})"
    draft.move(memory, category, why)
    if verdict.category is None:
        draft.find(UNSURE, why, memory)
        if (second := _tied(text, category, names)) and second not in memory.tags:
            draft.set(memory, f"tagged #{second}", tags=[*memory.tags, second])


def _tied(text: str, category: str, names: Sequence[str]) -> str:
    """The next category, if the words of the text support it equally."""
    by_words = scores(text).scores
    score = by_words.get(category, 0.0)
    return next(
        (name for name in names if name != category and by_words.get(name, 0.0) >= score > 0), ""
    )


def _rate(draft: Draft, memories: Sequence[Memory]) -> None:
    """Set importance and type if missing; without a model, importance waits."""
    for batch in _batches(memories):
        texts = [draft.content(memory)[:JUDGED] for memory in batch]
        near = draft.view.familiarity(texts)
        for memory, text in zip(batch, texts, strict=True):
            properties = draft.see(memory).properties
            sets: dict[str, Value] = {}
            if "memory_type" not in properties:
                sets["memory_type"] = memory_type(text)
            if "importance" not in properties and near is not None:
                sets["importance"] = importance(novelty(near.get(text)), salience(text))
            if sets and draft.may(memory):
                draft.set(memory, "judged: " + ", ".join(sets), **sets)


# When a memory wants to remind.


def _set_times(draft: Draft, memories: Sequence[Memory]) -> None:
    """Set the times of reminders from their words, if missing."""
    for memory in map(draft.see, memories):
        if memory.category == REMINDERS and not {"remind", "due"} & memory.properties.keys():
            text, since = draft.content(memory), draft.written_at(memory)
            times = times_of(due(text, since, draft.view.now)) if is_plain(text) else {}
            if times and draft.may(memory):
                draft.set(memory, reminds_on(times), **times)


def is_plain(text: str) -> bool:
    """Whether a text is a reminder and nothing else."""
    return len(text) <= SHORT and text.strip().count("\n") < 2


def due(text: str, since: datetime, now: datetime) -> Moment | None:
    """When a text written at `since` reminds: its first future time; None if that is past."""
    moment = language().reminder(text, since) or _to_come(text, since)
    if moment is not None and moment.repeat:
        if language().phrase(text, since).rest:
            return None
        return language().reminder(text, now) or _to_come(text, now) or moment
    return moment if moment and moment.when.timestamp() > now.timestamp() - LATE else None


def _to_come(text: str, now: datetime) -> Moment | None:
    for moment in language().times(language().prose(text), now):
        if moment.when > now or (moment.all_day and moment.when.date() == now.date()):
            return moment
    return None


def times_of(moment: Moment | None) -> dict[str, Value]:
    """The properties that say when to remind."""
    if moment is None:
        return {}
    repeat: dict[str, Value] = {"repeat": moment.repeat} if moment.repeat else {}
    return {"remind": moment.iso(), **repeat}
