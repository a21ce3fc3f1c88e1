"""Keeps the summaries of a conversation true, compresses its old sessions, and puts away what is too much: one round
after a turn, as arguments of the verb `converse`. Without a model, the summaries are sentences as they were said.

A summary says in `covers` of which words it was made. Where one of them was forgotten, corrected or made private since,
it is made anew out of what is left, without a look at the old one. What was evicted for want of room is not forgotten.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from vaultmem.adapter import Value
from vaultmem.errors import LlmError
from vaultmem.llm.request import Model, Question
from vaultmem.memories import summaries
from vaultmem.memories import summaries as extractive
from vaultmem.memories.conversation import (
    ASSISTANT,
    FINAL,
    MEMORY,
    NOTHING,
    SUMMARY,
    TOKENS,
    USER,
    Entry,
    Session,
    derived_id,
    place_of,
    sessions,
    to_compress,
    to_evict,
)
from vaultmem.memories.model import is_private
from vaultmem.memories.summaries import (
    BRIEF,
    HIERARCHICAL,
    NONE,
    PART,
    Spoken,
    aim,
    covers,
    full_chunks,
    full_groups,
    is_chunked,
    is_other,
    is_ours,
    is_stale,
    is_told_on,
    level_of,
    links,
    may_be_told,
    name,
    sources,
    sums_up_to,
)
from vaultmem.text.times import fine_stamp, stamp
from vaultmem.vault.places import ENTRIES

log = logging.getLogger("vaultmem.conversations")

Arguments = dict[str, list[dict[str, object]]]
MODEL = "model"  # what made a summary
EXTRACTIVE = "sentences"  # and what did where no model did
MOST_AT_ONCE = 2  # chunks, groups and sessions that are summed up in one round
LINKED = 12  # facts that the summary of a short conversation links to
LATELY = 12_000  # characters of new turns that the summary of all is told


class Limits(NamedTuple):
    """What is wanted, from the settings."""

    most: int = 500  # facts and turns of a conversation
    threshold: int = 20  # sessions that are not compressed
    gap: float = 6 * 3600.0  # seconds of silence between two sessions
    summaries: bool = True


def next_round(
    entries: Iterable[Entry],
    model: Model | None,
    limits: Limits,
    count: Callable[[str], int],
) -> Arguments | None:
    """What is to be written now, of all entries of one conversation, also those that were put away or are private;
    None where all is well."""
    return _Round(list(entries), model, limits, count).made()


class _Sum(NamedTuple):
    """A summary that is to be written."""

    name: str  # with its level: L1/chunk_0
    text: str
    by: str  # what made it
    tokens: int  # that it sums up
    until: float  # when the last of that was said
    parts: Sequence[Entry]
    level: str = ""


class _Round:
    """One round over one conversation."""

    def __init__(
        self,
        entries: Sequence[Entry],
        model: Model | None,
        limits: Limits,
        count: Callable[[str], int],
    ) -> None:
        ordered = sorted(entries, key=lambda one: (one.created, one.path))
        told = [one for one in ordered if not is_private(one.properties)]
        self._entries = [one for one in told if not one.deleted]
        self._turns = [one for one in self._entries if one.role in (USER, ASSISTANT)]
        self._facts = [one for one in self._entries if one.role == MEMORY]
        self._sources = sources(told)
        living = [one for one in ordered if not one.deleted]
        self._sums = {_name(one): one for one in living if one.role == SUMMARY}
        self._ids = {each: one.id for each, one in self._sums.items()}
        self._model, self._limits, self._count = model, limits, count
        self._new: list[dict[str, object]] = []
        self._marks: list[dict[str, object]] = []
        self._retire: list[dict[str, object]] = []

    def made(self) -> Arguments | None:
        """Summaries first: what is put away has been summed up by then."""
        if self._limits.summaries:
            self._sum_up()
        for one in self._facts:
            self._renew_session(one)
        for session in to_compress(
            sessions(self._entries, self._limits.gap), self._limits.threshold
        )[:MOST_AT_ONCE]:
            self._compress(session)
        gone = {one.id for one in to_evict(self._entries, self._limits.most)}
        retire = list(self._retire)
        retire += [{"id": id_, "properties": {"evicted": True}} for id_ in sorted(gone)]
        marks = [one for one in self._marks if one["id"] not in gone]
        if not (self._new or marks or retire):
            return None
        return {"new": self._new, "mark": marks, "retire": retire}

    # --- Summaries

    def _sum_up(self) -> None:
        is_renewed = self._renew()
        tokens = self._tokens()
        level = level_of(tokens)
        if is_chunked(level):
            self._chunks()
            if level == HIERARCHICAL:
                self._groups()
        before = self._sums.get(FINAL)
        if before is not None and not is_ours(before):
            return
        if before is not None and (
            is_renewed or is_told_on(before, [*self._sums.values(), *self._sources])
        ):
            self._retire.append({"id": before.id})  # unless it is written anew
            before = None
        facts = [one for one in self._told(MEMORY) if one.created > sums_up_to(before)]
        summed = _number(before, "input_tokens")
        if level != NONE and (before is None or is_stale(tokens, summed, new_facts=bool(facts))):
            self._final(level, tokens, before, facts)

    def _told(self, *roles: str) -> list[Entry]:
        """The words that summaries are made of."""
        return [one for one in self._sources if one.role in roles]

    def _renew(self) -> bool:
        """Make those parts anew of which something is gone; whether there were any."""
        turns = self._told(USER, ASSISTANT)
        chunks = [self._renew_part(one, turns, summaries.chunk) for one in self._level("L1")]
        parts = [one for one in self._level("L1") if may_be_told(one)]
        groups = [self._renew_part(one, parts, summaries.group) for one in self._level("L2")]
        return any((*chunks, *groups))

    def _renew_part(
        self, one: Entry, there: Sequence[Entry], asking: Callable[[Sequence[Entry], int], Question]
    ) -> bool:
        linked = links(one)
        left = [each for each in there if f"[[{name(each)}]]" in linked]
        if not is_ours(one) or not is_other(one, left):
            return False
        del self._sums[_name(one)]
        self._retire.append({"id": one.id})  # unless it is written anew
        if left:
            sizes = [_number(each, "output_tokens") or self._count(each.content) for each in left]
            is_group = left[0].role == SUMMARY
            most = max(1, round(sum(sizes) * PART * (2 if is_group else 1)))
            text, by = self._answer(asking(left, most), (), [each.content for each in left], most)
            until = sums_up_to(left[-1]) if is_group else left[-1].created
            self._write(_Sum(_name(one), text, by, sum(sizes), until, left))
        return True

    def _tokens(self) -> int:
        """All that was said, also what a chunk has summed up and what was put away since."""
        covered = max((sums_up_to(one) for one in self._level("L1")), default=0.0)
        summed = sum(_number(one, "input_tokens") for one in self._level("L1"))
        return summed + sum(
            self._count(one.content) for one in self._turns if one.created > covered
        )

    def _chunks(self) -> None:
        done = self._level("L1")
        covered = max((sums_up_to(one) for one in done), default=0.0)
        by_id = {one.id: one for one in self._turns}
        spoken = [
            Spoken(one.id, one.created, self._count(one.content))
            for one in self._turns
            if one.created > covered
        ]
        for number, chunk in enumerate(full_chunks(spoken)[:MOST_AT_ONCE], self._next("L1")):
            turns = [by_id[one.id] for one in chunk]
            tokens = sum(one.tokens for one in chunk)
            most = round(tokens * PART)
            said = [one.content for one in turns]
            text, by = self._answer(summaries.chunk(turns, most), (), said, most)
            self._write(_Sum(f"L1/chunk_{number}", text, by, tokens, turns[-1].created, turns))

    def _groups(self) -> None:
        chunks = self._level("L1")
        numbers = {_number_of(one): one for one in chunks}
        for group in full_groups(max(numbers, default=-1) + 1, self._next("L2"))[:MOST_AT_ONCE]:
            parts = [
                numbers[number]
                for number in group
                if number in numbers and may_be_told(numbers[number])
            ]
            if not parts:
                continue
            texts = [one.content for one in parts]
            tokens = sum(_number(one, "output_tokens") for one in parts)
            most = max(1, round(tokens * PART * 2))
            text, by = self._answer(summaries.group(parts, most), (), texts, most)
            number = group.start // len(group)
            self._write(_Sum(f"L2/group_{number}", text, by, tokens, sums_up_to(parts[-1]), parts))

    def _final(self, level: str, tokens: int, before: Entry | None, facts: Sequence[Entry]) -> None:
        most = aim(level, tokens)
        parts = self._parts() if is_chunked(level) else []
        turns = self._told(USER, ASSISTANT)
        since = [one for one in turns if one.created > sums_up_to(before)]
        texts = [one.content for one in parts] or [_lately(since)]
        told = [one.content for one in facts]
        question = summaries.final(level, before.content if before else "", told, texts, most)
        known = [one.content for one in self._facts]  # without a model all of them are weighed anew
        said = [one.content for one in parts or self._turns]
        if level == BRIEF:
            asked = self._asked(question)
            text = asked or extractive.sentence(known, said, most, self._count)
            by = MODEL if asked else EXTRACTIVE
        else:
            text, by = self._answer(question, known, said, most)
        newest = max(one.created for one in self._sources)
        linked = parts or self._told(MEMORY)[-LINKED:]
        self._write(_Sum(FINAL, text, by, tokens, newest, linked, level))

    def _parts(self) -> list[Entry]:
        """What the summary of all is made of: groups, and the chunks that are in none yet."""
        groups = self._level("L2")
        grouped = max((sums_up_to(one) for one in groups), default=0.0)
        every = [*groups, *(one for one in self._level("L1") if sums_up_to(one) > grouped)]
        return [one for one in every if may_be_told(one)]

    def _level(self, level: str) -> list[Entry]:
        """The summaries of a level in their order, those of this round among them."""
        found = [one for each, one in self._sums.items() if each.startswith(f"{level}/")]
        return sorted(found, key=_number_of)

    def _next(self, level: str) -> int:
        return max((_number_of(one) for one in self._level(level)), default=-1) + 1

    def _write(self, made: _Sum) -> None:
        if not made.text:
            return
        written = self._count(made.text)
        properties: dict[str, Value] = {
            "summary_kind": made.name.partition("/")[0],
            "input_tokens": made.tokens,
            "output_tokens": written,
            "compression": round(written / made.tokens, 3) if made.tokens else 1.0,
            "covers_until": fine_stamp(made.until),
            "covers": covers(self._sources if made.name == FINAL else made.parts),
            "made_by": made.by,
            "links": [f"[[{name(one)}]]" for one in made.parts],
        }
        if made.level:
            properties["summary_level"] = made.level
        self._new.append(
            {"role": SUMMARY, "name": made.name, "content": made.text, "properties": properties}
        )
        own = self._ids.get(made.name)
        self._retire = [one for one in self._retire if one["id"] != own]
        talk = self._entries[0].conversation
        folder = self._entries[0].path.partition(f"/{ENTRIES}/")[0]
        path = f"{folder}/{place_of(talk, SUMMARY, made.name)}"
        self._sums[made.name] = Entry(
            path, derived_id(talk, made.name), talk, SUMMARY, made.text,
            made.until, made.until, properties,
        )  # fmt: skip

    # --- Sessions

    def _compress(self, session: Session) -> None:
        """What is no longer than its summary would be needs none, and is told on as it is."""
        if sum(self._count(one.content) for one in session.turns) > TOKENS:
            made = self._session(session.id, session.turns)
            self._new.append({**made, "id": derived_id(session.id, "session")})
        self._marks += [
            {"id": one.id, "properties": {"compressed": True, "session_id": session.id}}
            for one in session.turns
        ]

    def _renew_session(self, one: Entry) -> None:
        """Make the summary of a session anew when something of it is gone."""
        if one.properties.get("compression_source") is not True or not is_ours(one):
            return
        linked = links(one)
        left = [each for each in self._told(USER, ASSISTANT) if f"[[{name(each)}]]" in linked]
        if not is_other(one, left):
            return
        self._retire.append({"id": one.id})
        if left:  # under another id: that of what was put away stays known
            self._new.append(self._session(str(one.properties.get("source_session_id")), left))

    def _session(self, id_: str, turns: Sequence[Entry]) -> dict[str, object]:
        """The memory that stands for a session."""
        said = [one.content for one in turns]
        text, by = self._answer(summaries.session(turns, TOKENS), (), said, TOKENS)
        properties: dict[str, Value] = {
            "memory_type": "semantic",
            "compression_source": True,
            "source_session_id": id_,
            "covers": covers(turns),
            "made_by": by,
            "links": [f"[[{name(one)}]]" for one in turns],
        }
        return {
            "role": MEMORY,
            "content": text or NOTHING,
            "created_at": stamp(turns[0].created),
            "properties": properties,
        }

    def _asked(self, question: Question) -> str:
        """What the model says; "" where it says nothing of use, or there is none."""
        if self._model is None:
            return ""
        try:
            said = self._model.ask(question)
        except LlmError as error:
            log.info("summed up without a model: %s", error)
            return ""
        return summaries.told(said) if isinstance(said, str) else ""

    def _answer(
        self, question: Question, facts: Sequence[str], texts: Iterable[str], most: int
    ) -> tuple[str, str]:
        """A summary, and what made it."""
        if text := self._asked(question):
            return text, MODEL
        return extractive.summary(facts, texts, most, self._count), EXTRACTIVE


def _lately(turns: Sequence[Entry]) -> str:
    return summaries.spoken(turns)[-LATELY:]


def _name(one: Entry) -> str:
    """The name of a summary, with its level: the last two parts of its path."""
    return "/".join(one.path.removesuffix(".md").rsplit("/", 2)[1:])


def _number_of(one: Entry) -> int:
    digits = one.path.removesuffix(".md").rpartition("_")[2]
    return int(digits) if digits.isdecimal() and len(digits) < 9 else -1


def _number(one: Entry | None, key: str) -> int:
    found = one.properties.get(key) if one is not None else 0
    return found if isinstance(found, int) and not isinstance(found, bool) and found > 0 else 0
