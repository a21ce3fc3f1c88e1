"""Old sessions among the memories are summed up: one new memory stands for many, which are kept and marked (the
"logic" seed, section 3)."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Mapping

from vaultmem.adapter import Value
from vaultmem.light import NamedTuple
from vaultmem.memories import summaries as extractive
from vaultmem.memories.access import is_private
from vaultmem.memories.conversation import NOTHING, TOKENS, derived_id, to_compress
from vaultmem.memories.draft import Draft, New
from vaultmem.memories.links import entries, fold, link_to
from vaultmem.memories.model import REMINDERS, Memory, link_targets
from vaultmem.text import secrets
from vaultmem.text.times import stamp
from vaultmem.text.titles import free_title
from vaultmem.text.values import plural
from vaultmem.vault.places import ENTRIES

LONGEST = 4_000  # characters of one, whoever wrote it
MOST_OF_ONE = 2_000  # characters of a memory that a model is sent,
MOST_SENT = 24_000  # and of a session
FILED = "knowledge"
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
# A summary says whose words it sums up, so that it is not trusted more than them: they are never mixed.
_COPIED = ("agent", "source", "url", "personality", "project", "type", "global", "conversation_id")
_NO_EVENTS = ("preferences", REMINDERS)  # whatever session they come from


class Means(NamedTuple):
    """With what it is done."""

    threshold: int  # sessions that are not compressed
    count: Callable[[str], int]  # tokens
    # By id, of those that are to be written now, "" where sentences have to do; None: all in sentences.
    summaries: Mapping[str, str] | None = None


class Sitting(NamedTuple):
    """A session: what is remembered of one sitting, in the order of time."""

    scope: str
    name: str
    memories: tuple[Memory, ...]

    @property
    def is_compressed(self) -> bool:
        """Whether summaries stand for all of it."""
        return all(map(_is_compressed, self.memories))


class Part(NamedTuple):
    """What one summary stands for: memories of one session, of one writer and origin."""

    id: str  # of the summary
    session: str
    memories: tuple[Memory, ...]

    @property
    def is_private(self) -> bool:
        """Whether the person keeps it from assistants and models."""
        return is_private(self.memories[0].properties)


def compress(draft: Draft, means: Means) -> None:
    """Sum up the oldest sessions when there are too many; the same again after a kill."""
    living = {memory.id for memory in draft.memories()}
    for part in parts(draft, means.threshold):
        if means.summaries is not None and part.id not in means.summaries:
            draft.left |= {memory.path for memory in part.memories}
        elif part.id in living:
            _mark(draft, part, "a summary stands for it")
        elif draft.may(*part.memories, new=1):
            _sum_up(draft, part, means)


def parts(draft: Draft, threshold: int) -> list[Part]:
    """What is to be summed up now, the oldest first; without summaries that a person has archived."""
    archived = {memory.id for memory in draft.view.archived()}
    sittings = to_compress(_sittings(draft), threshold)
    return [part for one in sittings for part in _parts(one) if part.id not in archived]


def texts(draft: Draft, part: Part) -> list[str]:
    """What a model is sent of it: without secrets, and no more than it can take."""
    sent: list[str] = []
    room = MOST_SENT
    for text in _texts(draft, part):
        sent.append(text[: min(MOST_OF_ONE, room)])
        room -= len(sent[-1])
        if room <= 0:
            break
    return sent


def _texts(draft: Draft, part: Part) -> list[str]:
    return [secrets.redact(draft.content(memory))[0].strip() for memory in part.memories]


def _sittings(draft: Draft) -> list[Sitting]:
    """All sessions, the oldest first. One of a single memory has nothing to sum up."""
    groups: dict[tuple[str, str], list[Memory]] = defaultdict(list)
    for memory in sorted(draft.memories(), key=lambda each: (each.created, each.path)):
        if name := _session_of(memory):
            groups[memory.scope, name].append(memory)
    sittings = [Sitting(*key, tuple(group)) for key, group in groups.items() if len(group) > 1]
    return sorted(sittings, key=lambda one: (one.memories[0].created, one.memories[0].path, *one[:2]))  # fmt: skip


def _session_of(memory: Memory) -> str:
    """The session of what has happened; "" for what belongs to none, or holds beyond it."""
    name, kind = (memory.properties.get(key) for key in ("session_id", "memory_type"))
    if name in (None, "") or isinstance(name, (list, dict)) or kind not in (None, "", "episodic"):
        return ""
    is_summary = bool(memory.properties.get("compression_source"))
    in_conversation = f"/{ENTRIES}/" in f"/{memory.path}"
    return "" if is_summary or in_conversation or memory.category in _NO_EVENTS else str(name)


def _is_compressed(memory: Memory) -> bool:
    return memory.properties.get("compressed") is True


def _parts(sitting: Sitting) -> list[Part]:
    groups: dict[tuple[str, ...], list[Memory]] = defaultdict(list)
    for memory in sitting.memories:
        if not _is_compressed(memory):
            own = memory.properties
            groups[*(repr(own.get(each) or "") for each in _COPIED), str(is_private(own))].append(memory)  # fmt: skip
    return [
        Part(_id(sitting, key, group), sitting.name, tuple(group))
        for key, group in sorted(groups.items())
    ]


def _id(sitting: Sitting, key: tuple[str, ...], group: list[Memory]) -> str:
    contents = sorted(f"{memory.id} {memory.hash}" for memory in group)
    return derived_id("session", sitting.scope, sitting.name, *key, *contents)


def _sum_up(draft: Draft, part: Part, means: Means) -> None:
    answer = _CONTROL.sub(" ", (means.summaries or {}).get(part.id, ""))
    answer = secrets.redact(answer)[0].strip()[:LONGEST]
    text = answer or extractive.summary((), _texts(draft, part), TOKENS, means.count)
    text = text[:LONGEST].strip() or NOTHING
    last = part.memories[-1].created
    title = free_title(text, stamp(last)[:10], part.id, draft.is_taken)
    many = plural(len(part.memories), "memory", "memories")
    by = "a model" if answer else "their own sentences"
    draft.create(
        New(part.id, title, FILED, f"{text}\n", _properties(draft, part, last)),
        f"sums up {many} of an old session, by {by}",
    )
    _mark(draft, part, f"“{title}” stands for it", title)


def _properties(draft: Draft, part: Part, last: float) -> dict[str, Value]:
    first = part.memories[0]
    now = stamp(draft.view.now.timestamp())
    ratings = [one.importance for one in part.memories if one.importance is not None]
    optional: dict[str, Value] = {key: first.properties.get(key) for key in _COPIED}
    optional |= {"private": part.is_private, "importance": max(ratings, default=None)}
    return {
        "id": part.id,
        "phase": "organized",
        "category": FILED,
        "scope": first.scope,
        "memory_type": "semantic",
        "compression_source": True,
        "source_session_id": part.session,
        **{
            key: each
            for key, each in optional.items()
            if each is not False and each not in (None, "")
        },
        "links": [link_to(memory) for memory in part.memories],
        "created_at": stamp(last),
        "updated_at": now,
        "last_reinforced_at": now,
    }


def _mark(draft: Draft, part: Part, why: str, title: str = "") -> None:
    for memory in part.memories:
        before = entries(memory)
        known = {fold(name) for each in before for name in link_targets(each)}
        links: list[Value] = [*before, f"[[{title}]]"]
        is_new = bool(title) and fold(title) not in known
        draft.set(memory, why, compressed=True, **({"links": links} if is_new else {}))
