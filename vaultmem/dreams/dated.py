"""Times in memories, for a deep dream: relative days get the date they meant, sentences that ask for a reminder
become reminders, and memories that say until when they hold end then."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta

from vaultmem.adapter import Moment, Phrase, Value
from vaultmem.dreams.classify import is_plain, times_of
from vaultmem.dreams.memory_links import entries, link_to
from vaultmem.dreams.short_texts import stems
from vaultmem.light import NamedTuple
from vaultmem.memories.access import DREAM
from vaultmem.memories.draft import Draft, New, is_own
from vaultmem.memories.model import REMINDERS, Memory
from vaultmem.plugins import language
from vaultmem.text.times import reminds_on, stamp, without_days
from vaultmem.text.titles import free_title, safe_title
from vaultmem.text.values import lazy

# --- "Tomorrow" means nothing a week later: relative days get the date they meant

STALE = 86400.0  # seconds after which a relative day is no longer today's
LONGEST_DATED = 100_000  # characters; longer texts are not notes about days


def stale_days(draft: Draft) -> None:
    """Add the date to relative days in memories older than a day, unless edited since."""
    for memory in draft.memories():
        is_old = draft.view.now.timestamp() - memory.created > STALE
        if memory.category == REMINDERS or memory.text("remind"):
            continue  # the time is a property, and answers are matched by the words
        if is_own(memory) or not is_old or _was_edited(memory) or memory.size > LONGEST_DATED:
            continue
        content = draft.content(memory)
        dated = language().absolute(content, draft.written_at(memory))
        if dated != content and draft.may(memory):
            draft.rewrite(memory, dated, "relative days got their date")


def _was_edited(memory: Memory) -> bool:
    return memory.updated - memory.created > STALE


# --- Found in memories

FAMILY = uuid.UUID("6f3c2f0e-8a51-5d0c-9d8e-2f1b7c4a9e10")  # namespace of the ids made here
MOST = 5  # reminders per memory
LONGEST = 20_000  # characters examined
_HAS_DATE = lazy(r"[📅⏳🛫🔁]|SCHEDULED:|DEADLINE:|\(@\d|@due|\[(?:due|scheduled|remind)::")
_BULLET = lazy(r"\s*(?:[-*+]|\d+[.)])?\s*(?:\[.\]\s*)?")
_STOP = lazy(
    r"(?<!\bDr)(?<!\bMr)(?<!\bMrs)(?<!\bMs)(?<!\bSt)(?<!\bNo)[.!?]\s+(?=[A-ZÀ-Þ])|[。！？]"
)
_LINK = lazy(r"\[\[([^\[\]|\n]{1,300})(?:\|([^\[\]\n]{1,300}))?\]\]")
_INHERITED = ("agent", "personality", "project")


class _Sentence(NamedTuple):
    words: str
    span: str  # the words that say when
    moment: Moment


def make_reminders(draft: Draft) -> None:
    """Make a reminder for each future time that a memory names, once; one that says no more gets the time itself."""
    rest: list[tuple[Memory, str, list[_Sentence]]] = []
    reminders = _reminders(draft)
    for memory in draft.memories():
        is_timed = memory.category == REMINDERS or {"remind", "due"} & memory.properties.keys()
        if is_own(memory) or is_timed:
            continue
        text = draft.content(memory)[:LONGEST]
        sentences = _without(reminders, memory, _sentences(draft, memory, text))
        if not (sentences and _is_all(sentences[0], text)):
            rest.append((memory, text, sentences))
        elif draft.may(memory):
            times = times_of(sentences[0].moment)
            draft.set(memory, reminds_on(times), **times)
    reminders = _reminders(draft)
    for memory, text, sentences in rest:
        _set_end(draft, memory, text)
        reminders += _make(draft, memory, _without(reminders, memory, sentences))


class _Reminder(NamedTuple):
    """A reminder, also if it is done since."""

    at: str
    created: float
    name: frozenset[str]  # stems of its title
    words: str
    by_dream: bool = False
    is_changed: bool = False


def _reminders(draft: Draft) -> list[_Reminder]:
    results = []
    today = f"{draft.view.now:%Y-%m-%d}"
    for memory in (*draft.memories(), *draft.view.archived()):
        if at := memory.text("remind"):
            words = draft.content(memory).strip() if at >= today else ""
            results.append(_Reminder(
                at, memory.created, stems(memory.title), words, by_dream=memory.text("source") == DREAM,
                is_changed=memory.updated > memory.created,
            ))  # fmt: skip
    return results


def _time(sentence: _Sentence) -> str:
    return str(times_of(sentence.moment)["remind"])


def _without(
    reminders: list[_Reminder], memory: Memory, sentences: Iterable[_Sentence]
) -> list[_Sentence]:
    """The sentences of a memory that no reminder is about."""
    return [each for each in sentences if not any(_is_of(memory, each, one) for one in reminders)]


def _is_of(memory: Memory, sentence: _Sentence, other: _Reminder) -> bool:
    """Whether a reminder is about a sentence: of the same time and a word of it, or all if a dream has made it; or set
    since with words of it only, and at another time now."""
    words = stems(sentence.words)
    is_then = other.at == _time(sentence)
    if other.by_dream:
        return is_then and other.words == _unlinked(sentence.words)
    if is_then:
        return not words.isdisjoint(other.name | stems(other.words))
    is_since = memory.created - STALE < other.created
    return is_since and other.is_changed and len(other.name) > 1 and other.name <= words


def _set_end(draft: Draft, memory: Memory, text: str) -> None:
    """Set the end of a memory that says until when it holds, unless it has one or is stable."""
    if any(memory.text(key) for key in ("expires_at", "decay_policy")) or not is_plain(text):
        return
    until = language().end(text, draft.written_at(memory))
    if until is None or _bounds(text, until.start, until.end) != (0, len(text.rstrip())):
        return
    midnight = (until.when + timedelta(days=1)).replace(hour=0, minute=0)
    end = midnight if until.all_day else until.when
    if draft.may(memory):
        draft.set(memory, "its words say until when", expires_at=stamp(end.timestamp()))


def _make(draft: Draft, memory: Memory, sentences: Iterable[_Sentence]) -> Iterator[_Reminder]:
    """Make a reminder of each sentence, and yield them."""
    numbers: Counter[str] = Counter()
    for sentence in {(each.span, each.words): each for each in sentences}.values():
        numbers[sentence.span] += 1
        new = _new(draft, memory, sentence, numbers[sentence.span])
        if not draft.has_id(new.id) and draft.may(memory, new=1):
            draft.create(new, f"found in “{memory.title}”: {sentence.span}")
            links: list[Value] = [*entries(draft.see(memory)), f"[[{new.title}]]"]
            draft.set(memory, f"reminds of “{new.title}”", links=links)
            made = draft.view.now.timestamp()
            yield _Reminder(_time(sentence), made, stems(new.title), new.content, by_dream=True)


def other_time(text: str, before: str, now: datetime) -> Phrase | None:
    """The time that a reminder's words name and the words `before` do not, if any."""
    phrase = language().phrase(text.strip(), now)
    is_known = set(safe_title(phrase.words).split()) <= set(safe_title(before).split())
    return None if is_known or phrase.rest else phrase


def _is_all(sentence: _Sentence, text: str) -> bool:
    """Whether the sentence is the whole memory, so that a second one would only repeat it."""
    words = _BULLET.sub("", without_days(text), count=1).strip()
    return is_plain(text) and sentence.words == words


def _sentences(draft: Draft, memory: Memory, text: str) -> Iterator[_Sentence]:
    now, since = draft.view.now, draft.written_at(memory)
    bare = without_days(text)
    # Without the dates that stale_days added.
    text = bare if language().absolute(bare, since) == text else text
    for _ in range(MOST):
        moment = language().reminder(text, since)
        if moment is None:
            return
        begin, end = _bounds(text, moment.start, moment.end)
        words = text[begin:end]
        span = " ".join(text[moment.start : moment.end].split()).casefold()
        text = text[:begin] + " " * (end - begin) + text[end:]
        if moment.repeat and language().phrase(words, since).rest:
            continue
        if moment.repeat and moment.when <= now:
            moment = language().reminder(words, now) or moment
        unsure = moment.relative and _was_edited(memory)
        if moment.when > now and not unsure and not _HAS_DATE.search(words):
            yield _Sentence(_BULLET.sub("", words, count=1).strip(), span, moment)


def _bounds(text: str, start: int, end: int) -> tuple[int, int]:
    """Where the sentence with the time begins and ends; the whole line if the sentence says little else."""
    first = text.rfind("\n", 0, start) + 1
    last = text.find("\n", end)
    last = len(text) if last < 0 else last
    stops = [match.end() for match in _STOP.finditer(text, first, last)]
    begin = max((stop for stop in stops if stop <= start), default=first)
    stop = min((stop for stop in stops if stop >= end), default=last)
    enough = len(text[begin:stop].split()) > len(text[start:end].split()) or not text.isascii()
    return (begin, stop) if enough else (first, last)


def _new(draft: Draft, memory: Memory, sentence: _Sentence, number: int) -> New:
    """The reminder; its id follows from its place, so that it is never made twice."""
    own_id = str(uuid.uuid5(FAMILY, f"{memory.id}\n{sentence.span}\n{number}"))
    now = draft.view.now
    title = free_title(sentence.words, now.date().isoformat(), own_id, draft.is_taken)
    properties: dict[str, Value] = {
        "id": own_id, "phase": "organized", "category": REMINDERS, "scope": memory.scope, "source": DREAM,
        **{key: memory.properties[key] for key in _INHERITED if key in memory.properties},
        "links": [link_to(memory)], **times_of(sentence.moment), "created_at": stamp(now.timestamp()),
        "updated_at": stamp(now.timestamp()),
    }  # fmt: skip
    origin = memory.text("source") or memory.text("url")
    if origin and not properties.get("agent"):
        properties["agent"] = origin  # another program, until a person approves it
    return New(own_id, title, REMINDERS, _unlinked(sentence.words), properties)


def _unlinked(words: str) -> str:
    """The words with links as plain words: a reminder links to its source."""
    return _LINK.sub(lambda link: link[2] or link[1], words)
