"""Reminders that hide in longer memories get a memory of their own, linked with the one they come from."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import NamedTuple

from vaultmem.adapter import Value
from vaultmem.languages import reminder_phrase
from vaultmem.languages.when import Moment, absolute, reminder
from vaultmem.memories.classify import due, is_plain, times_of
from vaultmem.memories.draft import Draft, New, is_known, is_own
from vaultmem.memories.links import entries, link_to
from vaultmem.memories.model import REMINDERS, Memory
from vaultmem.reminders.due_notes import OWN
from vaultmem.text.similarity import content_hash
from vaultmem.text.times import stamp
from vaultmem.text.titles import free_title

# "Tomorrow" means nothing a week later: relative days get the date they meant.

STALE = 86400.0  # seconds after which a relative day is no longer today's
LONGEST_DATED = 100_000  # characters; nobody notes days in what is longer


def stale_days(draft: Draft, looked: set[str] | None = None) -> None:
    """Write the day behind relative expressions in memories that are older than a day. In one that was edited later
    nobody knows from which day to reckon; it is left as it is. `looked`: see found_reminders()."""
    for memory in draft.memories():
        if (
            is_own(memory)
            or not is_stale(draft, memory)
            or was_edited(memory)
            or memory.size > LONGEST_DATED
        ):
            continue
        if looked is not None and is_known(memory, looked):
            continue
        content = draft.content(memory)
        dated = absolute(content, written(draft, memory))
        if dated != content and draft.may(memory):
            draft.rewrite(memory, dated, "relative days got their date")


def is_stale(draft: Draft, memory: Memory) -> bool:
    """Whether it is older than a day."""
    return draft.view.now.timestamp() - memory.created > STALE


def was_edited(memory: Memory) -> bool:
    """Whether its words may be from another day than its beginning."""
    return memory.updated - memory.created > STALE


def written(draft: Draft, memory: Memory) -> datetime:
    """When it was written, in the person's zone."""
    now = draft.view.now
    return datetime.fromtimestamp(min(memory.created, now.timestamp()), now.tzinfo)


FAMILY = uuid.UUID("6f3c2f0e-8a51-5d0c-9d8e-2f1b7c4a9e10")  # of the ids that are made here
MOST = 5  # reminders out of one memory
LONGEST = 20_000  # characters that are looked at
_TIMED = re.compile(
    r"[📅⏳🛫🔁]|SCHEDULED:|DEADLINE:|\(@\d|@due|\[(?:due|scheduled|remind)::"
)  # has a date of its own
_MARK = re.compile(r"\s*(?:[-*+]|\d+[.)])?\s*(?:\[.\]\s*)?")
_STOP = re.compile(
    r"(?<!\bDr)(?<!\bMr)(?<!\bMrs)(?<!\bMs)(?<!\bSt)(?<!\bNo)[.!?]\s+(?=[A-ZÀ-Þ])|[。！？]"
)
_DATED = re.compile(r"\s?[(（]\d{4}-\d{2}-\d{2}[)）]")
_LINK = re.compile(r"\[\[([^\[\]|\n]{1,300})(?:\|([^\[\]\n]{1,300}))?\]\]")
_KEPT = ("agent", "personality", "project")


_What = tuple[object, ...]


class Found(NamedTuple):
    """A sentence of a memory that wants to remind of something."""

    words: str
    span: str  # the words that say when
    moment: Moment


def found_reminders(draft: Draft, looked: set[str] | None = None) -> None:
    """Make reminders of future times that memories name. Each one once: also one that was archived since counts.
    `looked` holds the memories that were looked at before, with their hashes, and what reminds by
    now, and is added to."""
    everything = [*draft.memories(), *draft.view.archived()]
    known: set[_What] = {
        _what(memory, memory.properties, memory.hash)
        for memory in everything
        if memory.text("remind")
    }
    open_ones = [memory for memory in draft.memories() if _is_open(memory, looked)]
    for memory in open_ones:
        if memory.category == REMINDERS:
            _complete(draft, memory, known)
    longer: list[tuple[Memory, list[Found]]] = []
    for memory in open_ones:
        if memory.category != REMINDERS:
            text = draft.content(memory)[:LONGEST]
            found = list(_found(draft, memory, text))
            if found and _is_all(found[0], text):
                _remind(draft, memory, found[0].moment, known)
            else:
                longer.append((memory, found))
    for memory, found in longer:  # after those that remind by themselves of the same
        _make(draft, memory, found, known, looked or set())
    if looked is not None:
        looked |= {_token(what) for what in known}


def _is_open(memory: Memory, looked: set[str] | None) -> bool:
    """Whether it has no time yet, and was not looked at before."""
    if is_own(memory) or any(key in memory.properties for key in ("remind", "due")):
        return False
    return looked is None or not is_known(memory, looked)


def _make(
    draft: Draft, memory: Memory, all_found: list[Found], known: set[_What], looked: set[str]
) -> None:
    """A reminder out of each sentence that is not known to be one, nor was made before in this run."""
    seen: dict[str, list[str]] = {}
    for found in all_found:
        words = seen.setdefault(found.span, [])
        if found.words in words:
            continue
        words.append(found.words)
        made = _made(draft, memory, found, len(words))
        what = _what(memory, made.properties, content_hash(made.content))
        if (
            what in known
            or _token(what) in looked
            or draft.has_id(made.id)
            or _is_said(draft, made, what[1:])
        ):
            continue
        if draft.may(memory, new=1):
            known.add(what)
            draft.create(made, f"found in “{memory.title}”: {found.span}")
            links: list[Value] = [*entries(draft.see(memory)), f"[[{made.title}]]"]
            draft.set(memory, f"reminds of “{made.title}”", links=links)


def _token(what: _What) -> str:
    return repr(what)


def _is_said(draft: Draft, made: New, when: _What) -> bool:
    """Whether a longer memory reminds of it at the same time: merge would only put the two together again."""
    return any(
        made.content.strip() in draft.content(memory)
        for memory in draft.memories()
        if memory.text("remind") and _what(memory, memory.properties, "")[1:] == when
    )


def _is_all(found: Found, text: str) -> bool:
    """Whether a memory says nothing else: a second one would only repeat it."""
    return is_plain(text) and found.words == _MARK.sub("", _DATED.sub("", text), count=1).strip()


def _remind(draft: Draft, memory: Memory, moment: Moment, known: set[_What]) -> None:
    """Let a memory that is a reminder and nothing else remind by itself; it stays in its category."""
    times = times_of(moment)
    what = _what(memory, times, memory.hash)
    if what not in known and draft.may(memory):
        known.add(what)
        draft.set(memory, "its words say when", **times)


def _what(memory: Memory, properties: Mapping[str, Value], own_hash: str) -> _What:
    """What is reminded of, when, and in whose sight: the same in two memories is one reminder."""
    return (own_hash, *(properties.get(key) for key in ("remind", "repeat")), memory.scope,
            *(memory.text(key) for key in _KEPT))  # fmt: skip


def _complete(draft: Draft, memory: Memory, known: set[_What]) -> None:
    """A reminder that a person put into the folder does not say yet when."""
    text = draft.content(memory)
    moment = due(draft, memory, text) if is_plain(text) else None
    if moment is not None and draft.may(memory):
        known.add(_what(memory, times_of(moment), memory.hash))
        draft.set(memory, "its words say when", **times_of(moment))


def _found(draft: Draft, memory: Memory, text: str) -> Iterator[Found]:
    now, since = draft.view.now, written(draft, memory)
    bare = _DATED.sub("", text)
    text = bare if absolute(bare, since) == text else text  # without what stale_days has put in
    for _ in range(MOST):
        moment = reminder(text, since)
        if moment is None:
            return
        begin, end = _sentence(text, moment.start, moment.end)
        words = text[begin:end]
        span = " ".join(text[moment.start : moment.end].split()).casefold()
        text = text[:begin] + " " * (end - begin) + text[end:]
        if moment.repeat and not reminder_phrase.is_whole(words, since):
            continue
        if moment.repeat and moment.when <= now:
            moment = reminder(words, now) or moment
        unsure = moment.relative and was_edited(memory)
        if moment.when > now and not unsure and not _TIMED.search(words):
            yield Found(_MARK.sub("", words, count=1).strip(), span, moment)


def _sentence(text: str, start: int, end: int) -> tuple[int, int]:
    """From where to where the sentence goes that says when; the whole line where it says little else."""
    first = text.rfind("\n", 0, start) + 1
    last = text.find("\n", end)
    last = len(text) if last < 0 else last
    stops = [match.end() for match in _STOP.finditer(text, first, last)]
    begin = max((stop for stop in stops if stop <= start), default=first)
    stop = min((stop for stop in stops if stop >= end), default=last)
    enough = len(text[begin:stop].split()) > len(text[start:end].split()) or not text.isascii()
    return (begin, stop) if enough else (first, last)


def _made(draft: Draft, memory: Memory, found: Found, number: int) -> New:
    """The reminder; its id follows from where it was found, so that it is never made twice."""
    own_id = str(uuid.uuid5(FAMILY, f"{memory.id}\n{found.span}\n{number}"))
    now = draft.view.now
    title = free_title(found.words, now.date().isoformat(), own_id, draft.is_taken)
    properties: dict[str, Value] = {
        "id": own_id,
        "phase": "organized",
        "category": REMINDERS,
        "scope": memory.scope,
        "source": OWN,
        **{key: memory.properties[key] for key in _KEPT if key in memory.properties},
        "links": [link_to(memory)],
        **times_of(found.moment),
        "created_at": stamp(now.timestamp()),
        "updated_at": stamp(now.timestamp()),
    }
    origin = memory.text("source") or memory.text("url")
    if origin and not properties.get(
        "agent"
    ):  # said in another program: so it stays, until a person approves it
        properties["agent"] = origin
    words = _LINK.sub(lambda link: link[2] or link[1], found.words)  # it is linked with its source
    return New(own_id, title, REMINDERS, words, properties)
