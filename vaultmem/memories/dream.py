"""The nightly work on memories, as deep as there is time for, and the upkeep that comes round more often."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import combinations
from typing import NamedTuple

from vaultmem.languages.statements import CAP, Statement, contradicts, statements
from vaultmem.memories.adopt import Seen, adopt, leave_unquiet
from vaultmem.memories.classify import READS, UNSURE, file_all, file_inbox, upgrade
from vaultmem.memories.compress import Means, clusters, compress
from vaultmem.memories.draft import Draft, Finding, is_own
from vaultmem.memories.links import resolve
from vaultmem.memories.merge import MERGED, merge
from vaultmem.memories.model import ARCHIVE, CONNECTED, GENERATED, INBOX, Memory
from vaultmem.memories.supersede import supersede
from vaultmem.reminders.found import found_reminders, stale_days
from vaultmem.text.sanitize import quoted
from vaultmem.text.times import format_duration, seconds
from vaultmem.text.values import plural

# Memories that are fading although notes still build on them: a person may want to reinforce them.

FADING = 0.5  # confidence


def fading(draft: Draft) -> None:
    """Find "fading"."""
    away = f"{draft.view.folder}/{ARCHIVE}/"
    ours = {f"{draft.view.folder}/{name}" for name in GENERATED}
    for memory in draft.memories():
        sure = draft.view.confidence(memory)
        if sure >= FADING:
            continue
        sources = (path for path in draft.view.sources(memory.path) if path != memory.path)
        notes = tuple(sorted(p for p in set(sources) if p not in ours and not p.startswith(away)))
        if notes:
            verb = "links" if len(notes) == 1 else "link"
            said = f"[[{memory.title}]] is fading ({sure:.2f}), but {plural(len(notes), 'note')} {verb} to it"
            draft.find(Finding("fading", memory.path, said, notes))


# Memories that cannot both be true: two values for what has one, or a thing said and denied.

MOST_OF_ONE = 16  # statements that are kept of a memory
MOST_OF_A_SUBJECT = 40  # different statements on one thing that are compared with each other
MOST = 50  # findings; whoever has more does not read them

_Topic = tuple[str, ...]


class _Said(NamedTuple):
    memory: Memory
    statement: Statement
    words: str


def contradictions(draft: Draft) -> None:
    """Find "contradiction": the newer memory, with the older one as evidence."""
    topics: dict[_Topic, list[_Said]] = {}
    for memory in draft.memories():
        if is_own(memory):
            continue
        text = draft.content(memory)[:CAP]
        for statement in statements(text)[:MOST_OF_ONE]:
            topic = _topic(memory, statement)
            if topic is not None:
                words = quoted(text[slice(*statement.span)])
                topics.setdefault(topic, []).append(_Said(memory, statement, words))
    found: dict[tuple[str, str], Finding] = {}
    for _, said in sorted(topics.items()):
        for one, other in combinations(_distinct(said), 2):
            if one.memory.path != other.memory.path and contradicts(one.statement, other.statement):
                _note(found, one, other)
    for _, finding in sorted(found.items())[:MOST]:
        draft.find(finding)


def _topic(memory: Memory, statement: Statement) -> _Topic | None:
    """Statements are only compared within one: what two assistants know of two projects is no contradiction."""
    project = memory.text("project")
    if not statement.subject and not project:
        return None  # "port: 8100": of what, nobody knows
    return memory.scope, memory.text("agent"), project, statement.subject, statement.property


def _distinct(said: list[_Said]) -> list[_Said]:
    """The newest of those that say the same."""
    newest: dict[tuple[object, ...], _Said] = {}
    for each in sorted(said, key=lambda one: (-one.memory.updated, one.memory.path)):
        statement = each.statement._replace(span=(0, 0))
        newest.setdefault(tuple(statement), each)
        if len(newest) == MOST_OF_A_SUBJECT:
            break
    return list(newest.values())


def _note(found: dict[tuple[str, str], Finding], one: _Said, other: _Said) -> None:
    old, new = sorted((one, other), key=lambda each: (each.memory.updated, each.memory.path))
    said = f"“{new.words}” against “{old.words}” in [[{old.memory.title}]]"
    key = new.memory.path, old.memory.path
    found.setdefault(key, Finding("contradiction", new.memory.path, said, (old.memory.path,)))


# The deep level of dream: what memories say together, what contradicts, what has become stale.


def deep(draft: Draft) -> None:
    """All of it. Reminders are looked for before relative days get their date, in the words as they were written."""
    for step in changing():
        step(draft)
    across(draft)


def changing() -> list[Callable[[Draft], None]]:
    """The steps that change memories; when they are taken again, they look only at what has become another."""
    return [partial(found_reminders, looked=set()), partial(stale_days, looked=set())]


def across(draft: Draft) -> None:
    """Find what memories say together."""
    contradictions(draft)
    clusters(draft)
    fading(draft)


# Brings the numbers of reads, which live in the state, into the files, so that they move with the vault.


def counts(draft: Draft) -> None:
    """Write `access_count` where it differs; once a dream at most, for every write wakes the editor."""
    for memory in draft.memories():
        reads = draft.reads(memory)
        if reads != memory.stored_reads and draft.may(memory):
            draft.set(memory, f"read {plural(reads, 'time')}", access_count=reads)


# Events and working notes that nobody ever read fade away into the archive. Facts stay: see docs/adr/0019.

THRESHOLD = 30 * 86400.0
IMPORTANT = 0.8


def decay(draft: Draft, threshold: float = THRESHOLD, *, facts: bool = False) -> None:
    """Archive organized events and working notes that are older than `threshold` (seconds), were never read, and whose
    policy is not "stable"; with `facts`, every memory that was not written as stable."""
    now = draft.view.now.timestamp()
    for memory in draft.memories():
        if memory.phase == INBOX or not _may_fade(memory, facts=facts):
            continue
        if draft.reads(memory) or _is_spared(memory):
            continue
        since = _last_touched(memory)
        if draft.is_over(memory, since + threshold, "decay") and draft.may(memory):
            age = (now - since) / 86400
            why = f"never read in {age:.0f} days, longer than {format_duration(threshold)}"
            draft.archive(memory, "decay", f"{why} ({memory.decay_policy})")


def _may_fade(memory: Memory, *, facts: bool) -> bool:
    if memory.text("decay_policy") == "stable":
        return False
    return facts or memory.is_passing or memory.decay_policy != "stable"


def is_awaited(memory: Memory) -> bool:
    """Whether it is due or reminds at some time: then it goes when the person says so."""
    return any(memory.text(key) for key in ("due", "remind", "repeat"))


def _is_spared(memory: Memory) -> bool:
    return (memory.importance or 0.0) >= IMPORTANT or is_awaited(memory)


def _last_touched(memory: Memory) -> float:
    reinforced = seconds(memory.properties.get("last_reinforced_at"))
    return max(memory.created, memory.updated, reinforced or 0.0)


# The inbox does not keep forever: events that stayed unfiled too long go to the archive, facts are filed; and what

TTL = 7 * 86400.0


def expire(draft: Draft, ttl: float = TTL, reads: int = READS, *, facts: bool = False) -> None:
    """Archive what has expired. `ttl` in seconds; what was read `reads` times is for upgrade to file. A fact of the
    inbox is filed when its time is over, or archived with `facts`."""
    now = draft.view.now.timestamp()
    over: list[Memory] = []
    for memory in draft.memories():
        since = max(memory.created, memory.updated)
        if memory.expires is not None and draft.is_over(memory, memory.expires, "expire"):
            said = memory.text("expires_at")
            _archive(draft, memory, f"expired at its own word, expires_at {said}")
            continue
        if memory.phase != INBOX or now - since <= ttl:
            continue
        if is_awaited(memory) or draft.reads(memory) >= reads:
            continue
        if not (facts or memory.is_passing):
            over.append(memory)
        elif draft.is_over(memory, since + ttl, "expire"):
            age = f"{(now - since) / 86400:.0f} days"
            _archive(draft, memory, f"in the inbox for {age}, longer than {format_duration(ttl)}")
    file_all(draft, over)


def _archive(draft: Draft, memory: Memory, why: str) -> None:
    if draft.may(memory):
        draft.archive(memory, "expire", why)


LIGHT, MEDIUM, DEEP = 1, 2, 3
ROUNDS = 6  # more than any vault needed; so many steps of a chain in one night are enough
Step = Callable[[Draft], None]


class Options(NamedTuple):
    """What the settings say. Times in seconds."""

    seen: Mapping[str, Seen] = {}  # by id: how vaultmem left each memory
    ttl: float = TTL  # of the inbox
    threshold: float = THRESHOLD  # of decay
    reads: int = READS  # that make a memory worth a place
    facts: bool = False  # whether facts expire and decay, too
    trust: str = CONNECTED  # whose words are told to assistants
    sessions: Means | None = None  # how old sessions are summed up; None: not at all


def dream(draft: Draft, level: int, options: Options) -> None:
    """Level 1 understands and files what is new; 2 also merges and links; 3 also sums up old sessions and looks at what
    memories say together.
    It reads living memories only: never the archive, pending.md, What changed.md, or a reminder it made itself."""
    adopt(draft, options.seen)
    steps: list[Step] = [file_inbox]
    if level >= MEDIUM:
        steps += [supersede, partial(merge, trust=options.trust), resolve]
    if level >= DEEP:
        steps += changing()
    _until_settled(draft, steps)
    if level >= DEEP:
        if options.sessions is not None:
            compress(draft, options.sessions)
        across(draft)
    if level >= MEDIUM:
        counts(draft)


def consolidate(draft: Draft, options: Options) -> None:
    """All upkeep once. What people dropped in waits for dream to take it up; what they are typing in is left alone."""
    leave_unquiet(draft, options.seen)
    _until_settled(
        draft,
        [
            partial(expire, ttl=options.ttl, reads=options.reads, facts=options.facts),
            partial(decay, threshold=options.threshold, facts=options.facts),
            partial(upgrade, reads=options.reads),
            partial(merge, trust=options.trust),
        ],
    )


def _until_settled(draft: Draft, steps: Sequence[Step]) -> None:
    """Take the steps again as long as they change anything, for what one does may give another one work: a merged
    memory says more than each did. What was found is found anew; a memory is filed or merged only once."""
    for _ in range(ROUNDS):
        before = draft.revision
        draft.findings = [one for one in draft.findings if one.kind in (MERGED, UNSURE)]
        for step in steps:
            step(draft)
        if draft.revision == before:
            return
