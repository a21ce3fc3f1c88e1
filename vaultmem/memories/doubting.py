"""What a model may be asked about memories: those whose category is not sure, and pairs that may say the same or
contradict each other. What is private stays here, and so does all that is no memory."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from functools import cached_property
from itertools import combinations

from vaultmem.core import paraphrase, secrets
from vaultmem.core.advice import CLASSIFY, CONTRADICTION, MERGE, MOST_OF_ONE
from vaultmem.core.memory import Memory
from vaultmem.core.private import is_private
from vaultmem.core.statements import CAP, Statement, contradiction, contradicts, statements
from vaultmem.errors import NoteNotFoundError
from vaultmem.memories.asked import Asked
from vaultmem.memories.desk import Session
from vaultmem.memories.reports import Report
from vaultmem.plans.classify import UNSURE
from vaultmem.plans.likes import is_of_one_writer, kin, may_join
from vaultmem.plans.own import is_own
from vaultmem.store import reviews

MOST = 20  # of a kind, at once
NEAR = 0.75  # cosine from which two memories may say the same
MOST_OF_A_TOPIC = 6  # memories on one thing that are compared with each other, the newest
MOST_STATEMENTS = 16  # of a memory

Meant = tuple[Memory, ...]


def doubts(session: Session, asked: Asked) -> Report:  # noqa: ARG001 - every verb has the same form
    """What nobody has asked a model yet: "doubts", each with "id", "kind", "memories" (ids), "texts" and "days". Texts
    are without secrets, and cut."""
    known = {one.id for one in reviews.kept(session.desk.ledger)}
    look = _Look(session)
    found: list[Report] = []
    for kind, groups in (
        (CLASSIFY, look.filed_unsurely()),
        (CONTRADICTION, look.on_one_subject()),
        (MERGE, look.near_ones()),
    ):
        fresh = {own: group for group in groups if (own := doubt_id(kind, group)) not in known}
        found += [look.told(own, kind, fresh[own]) for own in list(fresh)[:MOST]]
    return {"doubts": found}


def doubt_id(kind: str, memories: Iterable[Memory]) -> str:
    """The same as long as the same is said in the same place: what was asked once is not asked again."""
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

    def told(self, own: str, kind: str, group: Meant) -> Report:
        """A doubt as a model is told of it."""
        texts = [secrets.redact(self._text(one))[0].strip()[:MOST_OF_ONE] for one in group]
        days = [
            datetime.fromtimestamp(one.updated).astimezone().date().isoformat() for one in group
        ]
        ids = [one.id for one in group]
        return {"id": own, "kind": kind, "memories": ids, "texts": texts, "days": days}

    def filed_unsurely(self) -> list[Meant]:
        """What is still where a dream has filed it without being sure."""
        findings = reviews.findings(self._session.desk.ledger)
        paths = [str(each["subject"]) for each in findings if each["kind"] == UNSURE]
        found = [self._by_path[path] for path in paths if path in self._by_path]
        return [(one,) for one in found if self._text(one).strip()]

    def near_ones(self) -> list[Meant]:
        """Pairs that are near in meaning and were not merged; the nearest first. Other numbers make another fact."""
        apart = {one.path: kin(self._view, one) for one in self._by_path.values()}
        return [
            (one, other)
            for _, one, other in self._near
            if apart[one.path] == apart[other.path]
            and is_of_one_writer(one, other)
            and not paraphrase.features(self._text(one), self._text(other))["numbers differ"]
            and not _are_told_apart(one, other)
        ]

    def on_one_subject(self) -> list[Meant]:
        """Pairs that speak of the same: those of which nobody knows yet whether they contradict each other, then those
        that rules know to do so, for which of two holds no rule can tell."""
        pairs = [*self._on_topics(), *((one, other) for _, one, other in self._near)]
        once = {(one.path, other.path): (one, other) for one, other in pairs}
        found = [
            pair
            for pair in once.values()
            if side(pair[0]) == side(pair[1]) and not _are_told_apart(*pair)
        ]
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


def _are_told_apart(one: Memory, other: Memory) -> bool:
    """Whether a person has taken one of them back out of the archive, where the other had put it."""
    return one.text("replaced_by") == other.id or other.text("replaced_by") == one.id


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
