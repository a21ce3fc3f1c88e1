"""Has the model of the settings help with jobs: it sums up old sessions before a deep dream, and is asked afterwards
about what rules could not decide. Nobody waits at the desk for its answers; without them a dream is as without it."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from functools import cached_property
from itertools import combinations
from typing import NamedTuple

from vaultmem.config import Config
from vaultmem.errors import LlmError, NoteNotFoundError, VaultmemError
from vaultmem.languages.statements import CAP, Statement, contradiction, contradicts, statements
from vaultmem.llm import request
from vaultmem.llm.llm import Budget, open_model
from vaultmem.llm.request import (
    BATCH,
    CLASSIFY,
    CONTRADICTION,
    FIRST,
    MERGE,
    MOST_OF_ONE,
    SECOND,
    Advice,
    Doubt,
    Model,
)
from vaultmem.memories import paraphrase, reads, summaries
from vaultmem.memories.asked import Asked
from vaultmem.memories.classify import UNSURE
from vaultmem.memories.conversation import TOKENS
from vaultmem.memories.desk import Session
from vaultmem.memories.draft import is_own
from vaultmem.memories.dream import DEEP
from vaultmem.memories.model import Memory, is_private
from vaultmem.memories.reports import Report
from vaultmem.memories.same import is_of_one_writer, kin, may_join
from vaultmem.text import secrets

log = logging.getLogger("vaultmem.memories")

Reply = dict[str, object]
Record = dict[str, object]


class Asking(NamedTuple):
    """A vault, as far as it is asked here."""

    ask: Callable[..., Reply]
    release: Callable[[], None]  # gives back what others may wait for
    config: Config


def dream(vault: Asking, given: Record) -> Reply:
    """Dream; with a model, a deep one is helped by it, and the report has "model": what it was asked, and what became
    of that."""
    level, trial = given.get("level"), bool(given.get("dry_run"))
    counsel = _Counsel(vault) if level == DEEP and not trial and _is_set(vault.config) else None
    if counsel is None:
        return vault.ask("dream", **given)
    summaries = counsel.summaries(only_news=bool(given.get("only_news")))
    report = vault.ask("dream", **given, summaries=summaries)
    if "proposals" in report:  # else there was nothing new
        counsel.advise(report)
    return {**report, "model": counsel.told()}


def compress(vault: Asking, given: Record) -> Reply:
    """Sum up old sessions; with a model in its words."""
    if given.get("dry_run") or not _is_set(vault.config):
        return vault.ask("compress", **given)
    counsel = _Counsel(vault)
    report = vault.ask("compress", **given, summaries=counsel.summaries(only_news=False))
    return {**report, "model": counsel.told()}


def _is_set(config: Config) -> bool:
    return bool(config.text("llm.base_url"))


class _Counsel:
    """The model, and what it did."""

    def __init__(self, vault: Asking) -> None:
        self._vault = vault
        self._calls = vault.config.number("llm.calls")
        self._name = vault.config.text("llm.model")
        self._asked = self._summed = self._proposed = 0
        self._trouble = ""
        self._model: Model | None = None
        try:
            self._model = open_model(vault.config)
        except LlmError as error:
            self._give_up(error)

    def told(self) -> Reply:
        """For the report."""
        return {
            "asked": self._asked, "summaries": self._summed, "proposed": self._proposed, "trouble": self._trouble,
        }  # fmt: skip

    def _give_up(self, error: VaultmemError) -> None:
        log.info("a model was of no help: %s", error)
        self._trouble = self._trouble or str(error)

    # --- Sessions

    def summaries(self, *, only_news: bool) -> list[Record]:
        """Summaries of old sessions, as many as there may be calls, each with the "id" it is to have. After a failure
        their own sentences have to do."""
        asked = self._vault.ask("old-sessions", limit=self._calls, only_news=only_news)["sessions"]
        assert isinstance(asked, list)
        self._vault.release()
        model = self._budget()
        return [{"id": one["id"], "text": self._summary(model, one["texts"])} for one in asked]

    def _budget(self) -> Model | None:
        return None if self._model is None else Budget(self._model, self._calls)

    def _summary(self, model: Model | None, texts: list[str]) -> str:
        if model is None or self._trouble or not texts:
            return ""
        self._asked += 1
        try:
            said = model.ask(summaries.remembered(texts, TOKENS))
        except LlmError as error:
            self._give_up(error)
            return ""
        text = summaries.told(said) if isinstance(said, str) else ""
        self._summed += bool(text)
        return text

    # --- Doubts

    def advise(self, report: Reply) -> None:
        """Ask one question about what is in doubt; the report counts the advice among the proposals. What does not fit
        into the question is asked by the next dream."""
        if self._model is None or self._trouble:
            return
        try:
            doubts = self._vault.ask("doubts")["doubts"]
            assert isinstance(doubts, list)
            self._vault.release()
            if not doubts:
                return
            answers = self._answers(self._model, doubts)
            kept = self._vault.ask("advise", answers=answers, model=self._name)
            proposed, open_, before = kept["proposed"], kept["open"], report["proposals"]
            assert isinstance(proposed, int)
            assert isinstance(before, int)
            self._proposed = proposed
            report["proposals"] = before + proposed
            log.info("a model has proposed %s, %s are open", proposed, open_)
        except VaultmemError as error:  # the dream itself is done
            self._give_up(error)

    def _answers(self, model: Model, doubts: list[Record]) -> list[Record]:
        """An answer for each doubt. Raises LlmError."""
        described = [Doubt(_texts(one, "texts"), _texts(one, "days")) for one in doubts]
        self._asked += 1
        found = {
            one.place: one
            for one in request.read(model.ask(request.question(described)), described)
        }
        if not found:
            raise LlmError(f"{self._name} did not answer as it was asked")
        return [_answer(one, found.get(at)) for at, one in enumerate(doubts)]


def _texts(one: Record, name: str) -> tuple[str, ...]:
    given = one.get(name)
    return tuple(map(str, given)) if isinstance(given, list) else ()


def _answer(doubt: Record, said: Advice | None) -> Record:
    """Of a pair the choice is the id of the memory that holds."""
    choice, ids = said.choice if said else "", _texts(doubt, "memories")
    if choice in (FIRST, SECOND):
        choice = ids[choice == SECOND]
    own = {name: doubt[name] for name in ("id", "memories")}
    return {**own, "choice": choice, "reason": said.reason if said else ""}


# What a model may be asked about memories: those whose category is not sure, and pairs that may say the same or

NEAR = 0.75  # cosine from which two memories may say the same
MOST_OF_A_TOPIC = 6  # memories on one thing that are compared with each other, the newest
MOST_STATEMENTS = 16  # of a memory

Meant = tuple[Memory, ...]


def doubts(session: Session, asked: Asked) -> Report:  # noqa: ARG001 - every verb has the same form
    """What no model has been asked yet: "doubts", each with "id", "memories" (ids), "texts" and "days". Texts are
    without secrets, and cut."""
    known = {one.id for one in reads.kept(session.desk.ledger)}
    look = _Look(session)
    fresh = [
        group
        for group in (*look.pairs(), *look.filed_unsurely())
        if not known & {doubt_id(group), _id_of(MERGE, group)}  # the second: of an earlier version
    ]
    return {"doubts": [look.described(group) for group in fresh[:BATCH]]}


def doubt_id(memories: Meant) -> str:
    """The same as long as the same is said in the same place: what was asked once is not asked again."""
    return _id_of(CLASSIFY if len(memories) == 1 else CONTRADICTION, memories)


def _id_of(kind: str, memories: Meant) -> str:
    said = sorted("\0".join((one.scope, one.text("agent"), one.hash)) for one in memories)
    return hashlib.sha256("\0".join((kind, *said)).encode("utf-8", "replace")).hexdigest()[:12]


def may_be_asked(memory: Memory) -> bool:
    """Whether a model may hear of it: a memory of its own right that the person keeps from nobody."""
    private = is_private(memory.properties)
    return (
        memory.adopted and not (private or memory.archived or is_own(memory)) and may_join(memory)
    )


def side(memory: Memory) -> tuple[str, ...]:
    """Only on one side memories can contradict each other: what came from elsewhere puts nothing away that did not."""
    outside = any(memory.properties.get(key) for key in ("source", "url"))
    return memory.scope, memory.text("agent"), memory.text("project"), str(outside)


class _Look:
    """One look at all memories."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._view = session.view
        self._by_path = {one.path: one for one in self._view.memories() if may_be_asked(one)}
        self._texts: dict[str, str] = {}

    def described(self, group: Meant) -> Report:
        """A doubt as a model is asked about it."""
        texts = [secrets.redact(self._text(one))[0].strip()[:MOST_OF_ONE] for one in group]
        days = [
            datetime.fromtimestamp(one.updated).astimezone().date().isoformat() for one in group
        ]
        ids = [one.id for one in group]
        return {"id": doubt_id(group), "memories": ids, "texts": texts, "days": days}

    def filed_unsurely(self) -> list[Meant]:
        """What is still where a dream has filed it without being sure."""
        findings = reads.findings(self._session.desk.ledger)
        paths = [str(each["subject"]) for each in findings if each["kind"] == UNSURE]
        found = [self._by_path[path] for path in paths if path in self._by_path]
        return [(one,) for one in found if self._text(one).strip()]

    def pairs(self) -> list[Meant]:
        """Pairs that are near in meaning or speak of the same thing: they may say the same, or contradict each other.
        Those that rules know to contradict each other come last: which of the two holds no rule can tell."""
        near = [(one, other) for _, one, other in self._near]
        once = {(one.path, other.path): (one, other) for one, other in (*self._on_topics(), *near)}
        found = [pair for pair in once.values() if _may_concern(*pair)]
        return sorted(found, key=self._is_known)

    def _is_known(self, pair: Meant) -> bool:
        one, other = pair
        return contradiction(self._text(one), self._text(other)) is not None

    @cached_property
    def _near(self) -> list[tuple[float, Memory, Memory]]:
        found = []
        for path, one in sorted(self._by_path.items()):
            for other, cosine in self._view.alike(one, NEAR):
                if other > path and other in self._by_path:
                    found.append((cosine, one, self._by_path[other]))
        return sorted(found, key=lambda each: (-each[0], each[1].path, each[2].path))

    def _on_topics(self) -> Iterator[tuple[Memory, Memory]]:
        topics: dict[tuple[str, ...], list[tuple[Memory, Statement]]] = {}
        for one in sorted(self._by_path.values(), key=lambda each: (-each.updated, each.path)):
            for said in statements(self._text(one)[:CAP])[:MOST_STATEMENTS]:
                if said.subject:
                    group = topics.setdefault((*side(one), said.subject, said.property), [])
                    if len(group) < MOST_OF_A_TOPIC:
                        group.append((one, said))
        for _, group in sorted(topics.items()):
            for (one, mine), (other, theirs) in combinations(group, 2):
                if one.path != other.path and (
                    mine.value != theirs.value or contradicts(mine, theirs)
                ):
                    first, second = sorted((one, other), key=lambda each: each.path)
                    yield first, second

    def _text(self, memory: Memory) -> str:
        if memory.path not in self._texts:
            try:
                self._texts[memory.path] = self._view.content(memory)
            except NoteNotFoundError:  # a person has deleted it this very moment
                self._texts[memory.path] = ""
        return self._texts[memory.path]


def _may_concern(one: Memory, other: Memory) -> bool:
    """Whether advice about the two can be followed. A person may have taken one of them back out of the archive, where
    the other had put it."""
    is_back = one.text("replaced_by") == other.id or other.text("replaced_by") == one.id
    return side(one) == side(other) and not is_back


def are_of_a_kind(session: Session, kind: str, memories: Sequence[Memory]) -> bool:
    """Whether advice of this kind can still be followed for these."""
    if not all(may_be_asked(one) for one in memories):
        return False
    if kind == CLASSIFY:
        return len(memories) == 1
    if len(memories) != 2 or memories[0].path == memories[1].path:
        return False
    if kind == CONTRADICTION:
        return side(memories[0]) == side(memories[1])
    one, other = memories
    is_kin = kin(session.view, one) == kin(session.view, other)
    return kind == MERGE and is_kin and is_of_one_writer(one, other)


def name_other_numbers(session: Session, memories: Sequence[Memory]) -> bool:
    """Whether each of the two has numbers that the other has not: other numbers make another fact."""
    one, other = (session.view.content(each) for each in memories)
    return bool(paraphrase.features(one, other)["numbers differ"])
