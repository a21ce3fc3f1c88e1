"""Keeps the summaries of a conversation up to date, compresses its old sessions, and puts away surplus entries: one
round after a turn. Without a model, summaries are sentences of the conversation.

The property `covers` of a summary names its sources. If one of them was forgotten, corrected or made private since,
the summary is written again from the rest, without the old one. Entries evicted for lack of room still count.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from vaultmem.adapter import Value
from vaultmem.adapter.services import Model, Question
from vaultmem.api import Vault
from vaultmem.dreams import summaries
from vaultmem.embedding import wordpieces
from vaultmem.errors import LlmError
from vaultmem.memories import conversation as talk
from vaultmem.memories.conversation import ASSISTANT, MEMORY, SUMMARY, USER, Entry
from vaultmem.notes.places import ENTRIES
from vaultmem.text.times import fine_stamp, stamp
from vaultmem_chat import levels
from vaultmem_chat.conversations import entry_of
from vaultmem_chat.levels import BRIEF, HIERARCHICAL, NONE, PART, Session, sessions

log = logging.getLogger("vaultmem.conversations")

Record = dict[str, object]
MODEL, EXTRACTIVE = "model", "sentences"  # who wrote a summary
MOST_AT_ONCE = 2  # chunks, groups and sessions per round
LINKED = 12  # facts that the summary of a short conversation links to
LATELY = 12_000  # characters of new turns that go into the overall summary


class Limits(NamedTuple):
    """The limits, from the settings."""

    most: int = 500  # facts and turns of a conversation
    threshold: int = 20  # newest sessions that are not compressed
    gap: float = 6 * 3600.0  # seconds of silence between two sessions
    summaries: bool = True


class Changes(NamedTuple):
    """The changes to write, as arguments of the verb `converse`."""

    new: list[Record]
    mark: list[Record]
    retire: list[Record]  # summaries of removed entries, or replaced ones
    evict: list[Record]  # entries to put away for lack of room


def update(vault: Vault, conversation: str, model: Model | None, until: float | None = None) -> bool:  # fmt: skip
    """Update the summaries and put away surplus entries. Returns whether something was written."""
    config = vault.config
    limits = Limits(
        config.number("conversations.max_entries"),
        config.number("conversations.compress_after"),
        config.seconds("conversations.session_gap"),
        config.text("conversations.summaries") == "on",
    )
    every = [entry_of(entry) for entry in vault.entries(conversation, deleted=True)]
    if until is not None:
        every = [entry for entry in every if not entry.is_turn or entry.created <= until]
    changes = next_round(every, model, limits, wordpieces.count)
    if changes is None:
        return False
    new, mark, retire, evict = changes
    scope = talk.scope_of(conversation)
    if new or retire or mark:
        why = f"summary of conversation {conversation}"
        vault.converse(conversation, new=new, retire=retire, mark=mark, by=scope, why=why)
    if evict:
        why = f"put away the oldest of conversation {conversation}"
        vault.converse(conversation, retire=evict, by=scope, why=why)
    return bool(new)


def next_round(
    entries: Iterable[Entry], model: Model | None, limits: Limits, count: Callable[[str], int]
) -> Changes | None:
    """The changes due for one conversation, given all its entries; None when there are none."""
    return _Round(list(entries), model, limits, count).changes()


class _Sum(NamedTuple):
    name: str  # with its level: L1/chunk_0
    text: str
    by: str  # who wrote it
    tokens: int  # the entries that it sums up
    until: float  # the time of the last of them
    parts: Sequence[Entry]
    level: str = ""


class _Round:
    def __init__(
        self, entries: Sequence[Entry], model: Model | None, limits: Limits, count: Callable[[str], int]
    ) -> None:  # fmt: skip
        ordered = sorted(entries, key=lambda entry: (entry.created, entry.path))
        visible = [entry for entry in ordered if not entry.is_private]
        self._entries = [entry for entry in visible if not entry.deleted]
        self._turns = [entry for entry in self._entries if entry.is_turn]
        self._facts = [entry for entry in self._entries if entry.role == MEMORY]
        self._sources = summaries.sources(visible)
        living = [entry for entry in ordered if not entry.deleted]
        self._sums = {_name(entry): entry for entry in living if entry.role == SUMMARY}
        self._ids = {name: entry.id for name, entry in self._sums.items()}
        self._model, self._limits, self._count = model, limits, count
        self._new: list[Record] = []
        self._marks: list[Record] = []
        self._retire: list[Record] = []

    def changes(self) -> Changes | None:
        """The changes of the round; summaries first, so that entries are summed up before they are put away."""
        if self._limits.summaries:
            self._sum_up()
        for fact in self._facts:
            self._renew_session(fact)
        every = sessions(self._entries, self._limits.gap)
        for session in talk.to_compress(every, self._limits.threshold)[:MOST_AT_ONCE]:
            self._compress(session)
        gone = {entry.id for entry in talk.to_evict(self._entries, self._limits.most)}
        evict: list[Record] = [{"id": id_, "properties": {"evicted": True}} for id_ in sorted(gone)]
        marks = [mark for mark in self._marks if mark["id"] not in gone]
        result = Changes(self._new, marks, self._retire, evict)
        return result if any(result) else None

    # --- Summaries

    def _sum_up(self) -> None:
        is_renewed = self._renew()
        tokens = self._tokens()
        level = levels.level_of(tokens)
        if levels.is_chunked(level):
            self._add_chunks()
            if level == HIERARCHICAL:
                self._add_groups()
        before = self._sums.get(talk.FINAL)
        if before is not None and not summaries.is_ours(before):
            return
        visible = [*self._sums.values(), *self._sources]
        if before is not None and (is_renewed or summaries.reveals_removed(before, visible)):
            self._retire.append({"id": before.id})  # unless it is rewritten
            before = None
        facts = [
            entry
            for entry in self._sources_by(MEMORY)
            if entry.created > summaries.sums_up_to(before)
        ]
        summed = _number(before, "input_tokens")
        is_due = before is None or levels.is_stale(tokens, summed, new_facts=bool(facts))
        if level != NONE and is_due:
            self._write_final(level, tokens, before, facts)

    def _sources_by(self, *roles: str) -> list[Entry]:
        return [source for source in self._sources if source.role in roles]

    def _renew(self) -> bool:
        """Rewrite the parts with removed sources. Returns whether there were any."""
        turns = self._sources_by(USER, ASSISTANT)
        chunks = [self._renew_part(summary, turns) for summary in self._level("L1")]
        parts = [summary for summary in self._level("L1") if not summary.is_private]
        return any([*chunks, *[self._renew_part(summary, parts) for summary in self._level("L2")]])

    def _renew_part(self, summary: Entry, there: Sequence[Entry]) -> bool:
        left = _linked_entries(summary, there)
        if not summaries.is_ours(summary) or not summaries.is_other(summary, left):
            return False
        del self._sums[_name(summary)]
        self._retire.append({"id": summary.id})  # unless it is rewritten
        if left:
            self._write_part(_name(summary), left)
        return True

    def _tokens(self) -> int:
        """The tokens of the whole conversation, including turns that were summed up or put away."""
        summed = sum(_number(summary, "input_tokens") for summary in self._level("L1"))
        return summed + sum(self._count(turn.content) for turn in self._uncovered_turns())

    def _uncovered_turns(self) -> list[Entry]:
        """The turns that are in no chunk."""
        covered = max((summaries.sums_up_to(summary) for summary in self._level("L1")), default=0.0)
        return [turn for turn in self._turns if turn.created > covered]

    def _add_chunks(self) -> None:
        chunks = levels.full_chunks(self._uncovered_turns(), self._count)[:MOST_AT_ONCE]
        for number, chunk in enumerate(chunks, self._next("L1")):
            self._write_part(f"L1/chunk_{number}", chunk)

    def _add_groups(self) -> None:
        numbers = {_number_of(summary): summary for summary in self._level("L1")}
        full = levels.full_groups(max(numbers, default=-1) + 1, self._next("L2"))
        for group in full[:MOST_AT_ONCE]:
            parts = [numbers[n] for n in group if n in numbers and not numbers[n].is_private]
            if parts:
                self._write_part(f"L2/group_{group.start // len(group)}", parts)

    def _write_part(self, name: str, parts: Sequence[Entry]) -> None:
        """The summary of a part of the turns, or of a group of such summaries."""
        is_group = parts[0].role == SUMMARY
        tokens = sum(_number(part, "output_tokens") or self._count(part.content) for part in parts)
        most = max(1, round(tokens * PART * (2 if is_group else 1)))
        texts = [part.content for part in parts]
        text, by = self._answer(levels.part(parts, most), (), texts, most)
        until = summaries.sums_up_to(parts[-1]) if is_group else parts[-1].created
        self._write(_Sum(name, text, by, tokens, until, parts))

    def _write_final(
        self, level: str, tokens: int, before: Entry | None, facts: Sequence[Entry]
    ) -> None:
        most = levels.aim(level, tokens)
        parts = self._parts() if levels.is_chunked(level) else []
        turns = self._sources_by(USER, ASSISTANT)
        since = [turn for turn in turns if turn.created > summaries.sums_up_to(before)]
        texts = [part.content for part in parts] or [levels.spoken(since)[-LATELY:]]
        new = [fact.content for fact in facts]
        question = levels.final(level, before.content if before else "", new, texts, most)
        # Without a model all of them are considered again.
        contents = [fact.content for fact in self._facts]
        words = [part.content for part in parts or self._turns]
        if level == BRIEF:
            text, by = self._ask(question), MODEL
            if not text:
                text, by = levels.sentence(contents, words, most, self._count), EXTRACTIVE
        else:
            text, by = self._answer(question, contents, words, most)
        newest = max(source.created for source in self._sources)
        linked = parts or self._sources_by(MEMORY)[-LINKED:]
        self._write(_Sum(talk.FINAL, text, by, tokens, newest, linked, level))

    def _parts(self) -> list[Entry]:
        """The sources of the final summary: groups, and chunks that are in no group yet."""
        groups = self._level("L2")
        grouped = max((summaries.sums_up_to(group) for group in groups), default=0.0)
        every = [
            *groups,
            *(entry for entry in self._level("L1") if summaries.sums_up_to(entry) > grouped),
        ]
        return [entry for entry in every if not entry.is_private]

    def _level(self, level: str) -> list[Entry]:
        """The summaries of a level in their order, including those of this round."""
        result = [entry for name, entry in self._sums.items() if name.startswith(f"{level}/")]
        return sorted(result, key=_number_of)

    def _next(self, level: str) -> int:
        return max((_number_of(entry) for entry in self._level(level)), default=-1) + 1

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
            "covers": summaries.covers(self._sources if made.name == talk.FINAL else made.parts),
            "made_by": made.by,
            "links": [f"[[{summaries.name(part)}]]" for part in made.parts],
        }
        if made.level:
            properties["summary_level"] = made.level
        self._new.append(
            {"role": SUMMARY, "name": made.name, "content": made.text, "properties": properties}
        )
        summary_id = self._ids.get(made.name)
        self._retire = [record for record in self._retire if record["id"] != summary_id]
        conversation = self._entries[0].conversation
        folder = self._entries[0].path.partition(f"/{ENTRIES}/")[0]
        path = f"{folder}/{talk.place_of(conversation, SUMMARY, made.name)}"
        self._sums[made.name] = Entry(
            path, talk.derived_id(conversation, made.name), conversation, SUMMARY, made.text,
            made.until, made.until, properties,
        )  # fmt: skip

    # --- Sessions

    def _compress(self, session: Session) -> None:
        """Compress a session, unless it is not longer than its summary would be."""
        if sum(self._count(turn.content) for turn in session.turns) > talk.TOKENS:
            summary = self._session(session.id, session.turns)
            self._new.append({**summary, "id": talk.derived_id(session.id, "session")})
        self._marks += [
            {"id": turn.id, "properties": {"compressed": True, "session_id": session.id}}
            for turn in session.turns
        ]

    def _renew_session(self, summary: Entry) -> None:
        """Rewrite the summary of a session if a source of it was removed."""
        if not (summary.is_of_session and summaries.is_ours(summary)):
            return
        left = _linked_entries(summary, self._sources_by(USER, ASSISTANT))
        if not summaries.is_other(summary, left):
            return
        self._retire.append({"id": summary.id})
        if left:  # under another id: the old one stays known
            self._new.append(self._session(str(summary.properties.get("source_session_id")), left))

    def _session(self, id_: str, turns: Sequence[Entry]) -> Record:
        """The summary that replaces a session."""
        texts = [turn.content for turn in turns]
        text, by = self._answer(levels.session(turns, talk.TOKENS), (), texts, talk.TOKENS)
        properties: dict[str, Value] = {
            "memory_type": "semantic", "compression_source": True, "source_session_id": id_,
            "covers": summaries.covers(turns), "made_by": by,
            "links": [f"[[{summaries.name(turn)}]]" for turn in turns],
        }  # fmt: skip
        created = stamp(turns[0].created)
        return {
            "role": MEMORY, "content": text or talk.NOTHING, "created_at": created, "properties": properties,
        }  # fmt: skip

    # --- The model

    def _ask(self, question: Question) -> str:
        """The model's answer; "" without a model or a usable answer."""
        if self._model is None:
            return ""
        try:
            answer = self._model.ask(question)
        except LlmError as error:
            log.info("summed up without a model: %s", error)
            return ""
        return summaries.summary_text(answer) if isinstance(answer, str) else ""

    def _answer(
        self, question: Question, facts: Sequence[str], texts: Iterable[str], most: int
    ) -> tuple[str, str]:
        """A summary, and who wrote it."""
        if text := self._ask(question):
            return text, MODEL
        return summaries.summary(facts, texts, most, self._count), EXTRACTIVE


def _linked_entries(summary: Entry, there: Sequence[Entry]) -> list[Entry]:
    links = summaries.links(summary)
    return [entry for entry in there if f"[[{summaries.name(entry)}]]" in links]


def _name(entry: Entry) -> str:
    """The name of a summary, with its level: the last two parts of its path."""
    parts = entry.path.removesuffix(".md").rsplit("/", 2)[1:]
    return talk.FINAL if entry.is_final else "/".join(parts)


def _number_of(entry: Entry) -> int:
    digits = entry.path.removesuffix(".md").rpartition("_")[2]
    return int(digits) if digits.isdecimal() and len(digits) < 9 else -1


def _number(entry: Entry | None, key: str) -> int:
    result = entry.properties.get(key) if entry is not None else 0
    return result if isinstance(result, int) and not isinstance(result, bool) and result > 0 else 0
