"""What holds now, about the person and of each project: what an assistant is told when it starts."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING

from vaultmem.errors import DamagedError
from vaultmem.index.catalog import NOTES_BELOW, below
from vaultmem.memories import model, reads
from vaultmem.memories.model import (
    CONNECTED,
    EVERYBODY,
    OWN,
    PASSING,
    Origin,
    is_private,
)
from vaultmem.memories.short_texts import is_about_person
from vaultmem.reminders import learned
from vaultmem.reminders.answers import DONE, DROPPED, Answer
from vaultmem.reminders.pending_items import approval
from vaultmem.text.sanitize import one_line
from vaultmem.text.times import seconds
from vaultmem.vault.places import ENTRIES, REMINDERS, category_of, named

if TYPE_CHECKING:
    from vaultmem.reminders.listing import Fact
    from vaultmem.reminders.review import Sight

MOST = 12  # of one subject that one reader may be told
OF_PERSON = ("soul", "character", "people", "habits")  # categories that are about the person
_DOUBLED = 30.0  # days by which a memory is as good as newer, for each time its uses have doubled
_MEMORIES = (
    f"SELECT f.path, n.title, n.dialect, n.properties {NOTES_BELOW} AND n.properties IS NOT NULL"
)


def facts(sight: Sight, answers: Mapping[str, Answer], trust: str = CONNECTED) -> list[Fact]:
    """The newest and most used facts of each subject, the person ("") or a project, that may be told: nothing private,
    replaced or ended, and from elsewhere only what the person has approved. Who sees them is in their scope."""
    groups: defaultdict[tuple[str, str, str], list[tuple[float, str, str, Fact]]] = defaultdict(
        list
    )
    counts = _counts(sight)
    rows = sight.catalog.db.execute(_MEMORIES, below(sight.folder)).fetchall()
    for path, title, dialect, properties in rows:
        inner = path[len(sight.folder) + 1 :]
        if not _may_tell(inner, title, properties):
            continue  # most of them, and to read properties takes its time
        own = named(json.loads(properties))
        fact = _fact(sight, inner, title, own, answers)
        scope = "" if fact is None else _seen_by(fact["scope"], fact["author"], trust)
        if fact is None or not scope:
            continue
        uses = counts.get(fact["id"], own.get("access_count"))
        score = _score(own, uses if isinstance(uses, int) else 0)
        kept: Fact = {**fact, "scope": scope}
        groups[fact["project"].casefold(), scope, fact["author"]].append(
            (score, path, dialect, kept)
        )
    best = [each for found in groups.values() for each in sorted(found, key=_rank)[:MOST]]
    return [
        _told(fact, learned.content(sight.vault, path, dialect))
        for _, path, dialect, fact in sorted(best, key=_rank)
    ]


def _may_tell(inner: str, title: str, properties: str) -> bool:
    """Whether a memory may be about the person or a project, by what can be seen at once."""
    if inner.startswith(f"{ENTRIES}/"):
        return False
    words = f"{inner.partition('/')[0]} {properties.lower()}"
    return is_about_person(title) or any(word in words for word in ("project", *OF_PERSON))


def _told(fact: Fact, content: str) -> Fact:
    """A fact as it may be shown to anybody."""
    text = one_line(content) or one_line(fact["text"])
    return {**fact, "text": text, "author": one_line(fact["author"])}


def _rank(found: tuple[float, str, str, Fact]) -> tuple[float, str]:
    return -found[0], found[1]


def _score(own: Mapping[str, object], uses: int) -> float:
    """When it was written, in days; a memory that is used more counts as newer."""
    return (seconds(own.get("created_at")) or 0.0) / 86_400 + _DOUBLED * math.log2(1 + max(0, uses))


def _fact(
    sight: Sight, inner: str, title: str, own: Mapping[str, object], answers: Mapping[str, Answer]
) -> Fact | None:
    """A memory as it is told; None for one that is not."""
    id_, project = str(own.get("id") or ""), own.get("project")
    category = category_of(inner, own.get("category"))
    project = project.strip() if isinstance(project, str) else ""
    if not id_ or is_private(own):
        return None
    if not (project or category in OF_PERSON or is_about_person(title)):
        return None
    kind = own.get("memory_type")
    if kind in (*PASSING, "procedural") or category in (REMINDERS, "preferences"):
        return None  # what passes, and what is told among preferences and what waits
    ends, now = seconds(own.get("expires_at")), sight.now.timestamp()
    if own.get("replaced_by") or own.get("compressed") is True or (ends and ends <= now):
        return None
    origin, answer = model.origin(own), answers.get(approval(id_))
    approved = answer is not None and answer.state == DONE
    if (origin.outside and not approved) or (answer is not None and answer.state == DROPPED):
        return None
    created = seconds(own.get("created_at"))
    return {
        "id": id_,
        "text": title,
        "day": "" if created is None else _local(sight, created)[:10],
        "author": "" if approved else origin.writer,
        "scope": model.scope_of(own, memory=True),
        "project": project,
        "ends": "" if ends is None else _local(sight, ends),
    }


@lru_cache(1024)
def _seen_by(scope: str, author: str, trust: str) -> str:
    """The scope of those who are told; "" for nobody. Where the person wants to see first what assistants write, an
    assistant is told its own words alone."""
    if not author or model.is_trusted(Origin(author), model.viewer("?"), trust):
        return scope
    mine = model.viewer(author)
    return mine.scope if trust == OWN and scope in (EVERYBODY, mine.scope) else ""


def _local(sight: Sight, at: float) -> str:
    """The minute on the clock on the wall."""
    return datetime.fromtimestamp(at, UTC).astimezone(sight.now.tzinfo).isoformat()[:16]


def _counts(sight: Sight) -> dict[str, int]:
    try:
        return {id_: one.number for id_, one in reads.counts(sight.ledger).items()}
    except DamagedError:
        return {}  # whoever writes next replaces the ledger
