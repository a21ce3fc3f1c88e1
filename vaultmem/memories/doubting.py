"""What a model may be asked about memories: those whose category is not sure, and pairs that may say the same or
contradict each other. What is private stays here, and so does all that is no memory."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import cached_property
from itertools import combinations

from vaultmem.core import paraphrase, secrets
from vaultmem.core.advice import BATCH, CLASSIFY, CONTRADICTION, MERGE, MOST_OF_ONE
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

NEAR = 0.75  # cosine from which two memories may say the same
MOST_OF_A_TOPIC = 6  # memories on one thing that are compared with each other, the newest
MOST_STATEMENTS = 16  # of a memory

Meant = tuple[Memory, ...]


def doubts(session: Session, asked: Asked) -> Report:  # noqa: ARG001 - every verb has the same form
    """What no model has been asked yet: "doubts", each with "id", "memories" (ids), "texts" and "days". Texts are
    without secrets, and cut."""
    known = {one.id for one in reviews.kept(session.desk.ledger)}
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
        findings = reviews.findings(self._session.desk.ledger)
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
