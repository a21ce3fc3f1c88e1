"""Keeps the summaries of a conversation true, compresses its old sessions, and puts away what is too much: one round
after a turn, as arguments of the verb `converse`. Without a model, the summaries are sentences as they were said."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from vaultmem.adapter import Value
from vaultmem.core import extractive, summary_prompts
from vaultmem.core.asking import Model, Question
from vaultmem.core.conversation import (
    ASSISTANT,
    MEMORY,
    SUMMARY,
    USER,
    Entry,
    derived_id,
    place_of,
)
from vaultmem.core.places import ENTRIES
from vaultmem.core.sessions import Session, sessions, to_compress, to_evict
from vaultmem.core.stamps import fine_stamp, seconds, stamp
from vaultmem.core.summary_levels import (
    HIERARCHICAL,
    NONE,
    PART,
    Spoken,
    aim,
    full_chunks,
    full_groups,
    is_chunked,
    is_stale,
    level_of,
)
from vaultmem.errors import LlmError

log = logging.getLogger("vaultmem.conversations")

Arguments = dict[str, list[dict[str, object]]]
FINAL = "L3/final"
EXTRACTIVE = "sentences"  # what made a summary where no model did
MOST_AT_ONCE = 2  # chunks, groups and sessions that are summed up in one round
LATELY = 12_000  # characters of new turns that the summary of all is told
SESSION_TOKENS = 160


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
    """What is to be written now, of all living entries of one conversation; None where all is well."""
    return _Round([one for one in entries if not one.deleted], model, limits, count).made()


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
        self._entries = sorted(entries, key=lambda one: (one.created, one.path))
        self._turns = [one for one in self._entries if one.role in (USER, ASSISTANT)]
        self._facts = [one for one in self._entries if one.role == MEMORY]
        self._sums = {_name(one): one for one in self._entries if one.role == SUMMARY}
        self._model, self._limits, self._count = model, limits, count
        self._new: list[dict[str, object]] = []
        self._marks: list[dict[str, object]] = []

    def made(self) -> Arguments | None:
        """Summaries first: what is put away has been summed up by then."""
        if self._limits.summaries:
            self._sum_up()
        for session in to_compress(
            sessions(self._entries, self._limits.gap), self._limits.threshold
        )[:MOST_AT_ONCE]:
            self._compress(session)
        retire: list[dict[str, object]] = [
            {"id": one.id} for one in to_evict(self._entries, self._limits.most)
        ]
        gone = {one["id"] for one in retire}
        marks = [one for one in self._marks if one["id"] not in gone]
        if not (self._new or marks or retire):
            return None
        return {"new": self._new, "mark": marks, "retire": retire}

    # --- Summaries

    def _sum_up(self) -> None:
        tokens = self._tokens()
        level = level_of(tokens)
        if level == NONE:
            return
        if is_chunked(level):
            self._chunks()
            if level == HIERARCHICAL:
                self._groups()
        before = self._sums.get(FINAL)
        until = _until(before)
        facts = [one for one in self._facts if one.created > until]
        summed = _number(before, "input_tokens")
        if before is not None and not is_stale(tokens, summed, new_facts=bool(facts)):
            return
        self._final(level, tokens, before, facts)

    def _tokens(self) -> int:
        """All that was said, also what a chunk has summed up and what was put away since."""
        covered = max((_until(one) for one in self._level("L1")), default=0.0)
        summed = sum(_number(one, "input_tokens") for one in self._level("L1"))
        return summed + sum(
            self._count(one.content) for one in self._turns if one.created > covered
        )

    def _chunks(self) -> None:
        done = self._level("L1")
        covered = max((_until(one) for one in done), default=0.0)
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
            text, by = self._answer(summary_prompts.chunk(turns, most), (), said, most)
            self._write(_Sum(f"L1/chunk_{number}", text, by, tokens, turns[-1].created, turns))

    def _groups(self) -> None:
        chunks = self._level("L1")
        numbers = {_number_of(one): one for one in chunks}
        for group in full_groups(max(numbers, default=-1) + 1, self._next("L2"))[:MOST_AT_ONCE]:
            parts = [numbers[number] for number in group if number in numbers]
            if not parts:
                continue
            texts = [one.content for one in parts]
            tokens = sum(_number(one, "output_tokens") for one in parts)
            most = max(1, round(tokens * PART * 2))
            text, by = self._answer(summary_prompts.group(texts, most), (), texts, most)
            number = group.start // len(group)
            self._write(_Sum(f"L2/group_{number}", text, by, tokens, _until(parts[-1]), parts))

    def _final(self, level: str, tokens: int, before: Entry | None, facts: Sequence[Entry]) -> None:
        most = aim(level, tokens)
        parts = self._parts() if is_chunked(level) else []
        since = [one for one in self._turns if one.created > _until(before)]
        texts = [one.content for one in parts] or [_lately(since)]
        told = [one.content for one in facts]
        question = summary_prompts.final(level, before.content if before else "", told, texts, most)
        known = [one.content for one in self._facts]  # without a model all of them are weighed anew
        said = [one.content for one in parts or self._turns]
        text, by = self._answer(question, known, said, most)
        newest = max(one.created for one in [*self._turns, *self._facts])
        self._write(_Sum(FINAL, text, by, tokens, newest, parts, level))

    def _parts(self) -> list[Entry]:
        """What the summary of all is made of: groups, and the chunks that are in none yet."""
        groups = self._level("L2")
        grouped = max((_until(one) for one in groups), default=0.0)
        return [*groups, *(one for one in self._level("L1") if _until(one) > grouped)]

    def _level(self, level: str) -> list[Entry]:
        """The summaries of a level in their order, those of this round among them."""
        found = [one for name, one in self._sums.items() if name.startswith(f"{level}/")]
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
            "by": made.by,
            "links": [f"[[{_link(one)}]]" for one in made.parts],
        }
        if made.level:
            properties["summary_level"] = made.level
        self._new.append(
            {"role": SUMMARY, "name": made.name, "content": made.text, "properties": properties}
        )
        talk = self._entries[0].conversation
        folder = self._entries[0].path.partition(f"/{ENTRIES}/")[0]
        path = f"{folder}/{place_of(talk, SUMMARY, made.name)}"
        self._sums[made.name] = Entry(
            path, derived_id(talk, made.name), talk, SUMMARY, made.text,
            made.until, made.until, properties,
        )  # fmt: skip

    # --- Sessions

    def _compress(self, session: Session) -> None:
        said = [one.content for one in session.turns]
        question = summary_prompts.session(session.turns, SESSION_TOKENS)
        text, by = self._answer(question, (), said, SESSION_TOKENS)
        if not text:  # nothing but greetings: there is nothing to keep of it but the turns
            text = "Nothing to remember was said."
        properties: dict[str, Value] = {
            "memory_type": "semantic",
            "compression_source": True,
            "source_session_id": session.id,
            "by": by,
            "links": [f"[[{_link(one)}]]" for one in session.turns],
        }
        self._new.append(
            {
                "role": MEMORY,
                "id": derived_id(session.id, "session"),
                "content": text,
                "created_at": stamp(session.turns[0].created),
                "properties": properties,
            }
        )
        self._marks += [
            {"id": one.id, "properties": {"compressed": True, "session_id": session.id}}
            for one in session.turns
        ]

    def _answer(
        self, question: Question, facts: Sequence[str], texts: Iterable[str], most: int
    ) -> tuple[str, str]:
        """A summary, and what made it."""
        if self._model is not None:
            try:
                said = self._model.ask(question)
            except LlmError as error:
                log.info("summed up without a model: %s", error)
            else:
                if isinstance(said, str) and said.strip():
                    return said.strip(), "model"
        return extractive.summary(facts, texts, most, self._count), EXTRACTIVE


def _lately(turns: Sequence[Entry]) -> str:
    return summary_prompts.spoken(turns)[-LATELY:]


def _name(one: Entry) -> str:
    """The name of a summary, with its level: the last two parts of its path."""
    return "/".join(one.path.removesuffix(".md").rsplit("/", 2)[1:])


def _number_of(one: Entry) -> int:
    digits = one.path.removesuffix(".md").rpartition("_")[2]
    return int(digits) if digits.isdecimal() and len(digits) < 9 else -1


def _until(one: Entry | None) -> float:
    """Up to when it sums up what was said."""
    return 0.0 if one is None else seconds(one.properties.get("covers_until")) or 0.0


def _number(one: Entry | None, key: str) -> int:
    found = one.properties.get(key) if one is not None else 0
    return found if isinstance(found, int) and not isinstance(found, bool) and found > 0 else 0


def _link(one: Entry) -> str:
    """What leads to an entry: names of turns are unique, those of summaries are not."""
    path = one.path.removesuffix(".md")
    return path if one.role == SUMMARY else path.rpartition("/")[2]
