"""Maintenance of memories, as steps on one draft: dreams of the requested depth, and the more frequent upkeep:
expire, decay, upgrade and merge."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial

from vaultmem.adapter import Value
from vaultmem.dreams.classify import READS, UNSURE, file_all, file_inbox, upgrade
from vaultmem.dreams.dated import make_reminders, other_time, stale_days
from vaultmem.dreams.memory_links import resolve
from vaultmem.dreams.merge import merge
from vaultmem.dreams.summaries import Means, compress
from vaultmem.dreams.supersede import supersede
from vaultmem.ledger.reads import Left
from vaultmem.light import NamedTuple
from vaultmem.memories.access import CONNECTED
from vaultmem.memories.draft import Draft, undeleted
from vaultmem.memories.model import (
    CAN_BE_REINFORCED,
    CATEGORIES,
    INBOX,
    REMINDERS,
    Memory,
)
from vaultmem.notes.places import file_name, phase_of
from vaultmem.text.times import format_duration, seconds, stamp
from vaultmem.text.values import plural

LIGHT, MEDIUM, DEEP = 1, 2, 3
ROUNDS = 6  # more than any vault needed; a longer chain continues in the next dream
TTL = 7 * 86400.0  # time in the inbox
THRESHOLD = 30 * 86400.0  # of decay
IMPORTANT = 0.8  # a memory at or above it does not decay
QUIET = 120.0  # seconds without a change after which a person has probably finished with a file
Step = Callable[[Draft], None]
_ENDED = ("deleted_at", "by", "replaced_by", "until")  # properties of an archived memory


class Options(NamedTuple):
    """The settings of maintenance. Times in seconds."""

    seen: Mapping[str, Left] = {}  # by id: how vaultmem left each memory
    ttl: float = TTL
    threshold: float = THRESHOLD
    reads: int = READS  # reads that make a memory worth filing
    facts: bool = False  # whether facts expire and decay, too
    trust: str = CONNECTED  # whose words assistants are given
    sessions: Means | None = None  # how old sessions are summed up; None: they are not
    compared: float = 0.0  # when all files were last compared
    # By path, the content of files that vaultmem wrote so on some machine.
    written: Mapping[str, str] = {}


DEFAULT = Options()


# Dreams


def dream(draft: Draft, level: int, options: Options) -> None:
    """Level 1 adopts and files new memories; 2 also merges and links; 3 also sums up."""
    reunite(draft, options)
    adopt(draft, options.seen)
    archive_again(draft)
    steps: list[Step] = [file_inbox]
    if level >= MEDIUM:
        steps.append(partial(supersede, compared=options.compared))
        steps += [partial(merge, trust=options.trust), resolve]
    _until_settled(draft, steps)
    if level >= DEEP:
        # Reminders first, in the original words, before relative days get their date.
        make_reminders(draft)
        stale_days(draft)
        _until_settled(draft, steps)  # with their days resolved, memories may now say the same
        if options.sessions is not None:
            compress(draft, options.sessions)
    if level >= MEDIUM:
        write_counts(draft)
        write_reinforced(draft)


def consolidate(draft: Draft, options: Options) -> None:
    """Expire, decay, upgrade and merge once. Files added by people wait for a dream."""
    leave_unquiet(draft, options.seen)
    steps = [
        partial(expire, options=options),
        partial(decay, options=options),
        partial(upgrade, reads=options.reads),
        partial(merge, trust=options.trust),
    ]
    _until_settled(draft, steps)


def _until_settled(draft: Draft, steps: Sequence[Step]) -> None:
    """Repeat the steps until nothing changes, or something must wait for the next run; each memory is filed or merged
    only once."""
    for _ in range(ROUNDS):
        before = draft.revision
        draft.findings = [finding for finding in draft.findings if finding["kind"] == UNSURE]
        for step in steps:
            step(draft)
        if draft.revision == before or draft.left:
            return


def write_counts(draft: Draft) -> None:
    """Write `access_count` into the files once it has doubled, so that it moves with the vault, and not every memory
    of every answer is written each night; reminders are left unchanged."""
    for memory in draft.memories():
        reads = draft.reads(memory)
        if (
            reads >= max(1, 2 * memory.stored_reads)
            and memory.category != REMINDERS
            and draft.may(memory)
        ):
            draft.set(memory, f"read {plural(reads, 'time')}", access_count=reads)


def write_reinforced(draft: Draft) -> None:
    """Write `last_reinforced_at` into files that lost it, to an edit on another machine or to a sync conflict."""
    for memory in draft.memories():
        newest = draft.view.reinforced(memory)
        in_file = memory.reinforced or 0.0
        has_lost = (seconds(newest) or 0.0) > in_file and memory.decay_policy in CAN_BE_REINFORCED
        if has_lost and draft.may(memory):
            draft.set(memory, "reinforced", last_reinforced_at=newest)


# Age: unread events and working notes go to the archive; facts are filed and stay (docs/adr/0019).


def expire(draft: Draft, options: Options = DEFAULT) -> None:
    """Archive memories that are past their expires_at, or too long in the inbox; facts there are filed instead."""
    now = draft.view.now.timestamp()
    facts: list[Memory] = []
    for memory in draft.memories():
        since = max(memory.created, memory.updated)
        if memory.expires is not None and draft.is_over(memory, memory.expires, "expire"):
            _archive(draft, memory, "expire", f"expired on {memory.text('expires_at')[:10]}")
        elif memory.phase == INBOX and now - since > options.ttl:
            if is_awaited(memory) or draft.reads(memory) >= options.reads:
                continue
            if not (options.facts or memory.is_passing):
                facts.append(memory)
            elif draft.is_over(memory, since + options.ttl, "expire"):
                age = f"{(now - since) / 86400:.0f} days"
                limit = format_duration(options.ttl)
                _archive(draft, memory, "expire", f"in the inbox for {age}, longer than {limit}")
    file_all(draft, facts)


def decay(draft: Draft, options: Options = DEFAULT) -> None:
    """Archive organized events and working notes that nobody has read or changed for the threshold, unless their
    policy is "stable"; with `facts`, every memory that was never read and was not written as stable."""
    now = draft.view.now.timestamp()
    for memory in draft.memories():
        if memory.phase == INBOX or not _may_decay(memory, options):
            continue
        ages = memory.is_passing and not options.facts
        read = draft.view.last_read(memory) if ages else None
        if draft.reads(memory) and read is None:
            continue
        since = max(memory.created, memory.updated, memory.reinforced or 0.0, read or 0.0)
        if draft.is_over(memory, since + options.threshold, "decay"):
            age = (now - since) / 86400
            limit = format_duration(options.threshold)
            _archive(draft, memory, "decay", f"not read for {age:.0f} days, longer than {limit}")


def _may_decay(memory: Memory, options: Options) -> bool:
    if memory.text("decay_policy") == "stable" or is_awaited(memory):
        return False
    if (memory.importance or 0.0) >= IMPORTANT:
        return False
    return options.facts or memory.is_passing or memory.decay_policy != "stable"


def is_awaited(memory: Memory) -> bool:
    """Whether it has a due or reminder time, so that only the person ends it."""
    return any(memory.text(key) for key in ("due", "remind", "repeat"))


def _archive(draft: Draft, memory: Memory, job: str, why: str) -> None:
    if draft.may(memory):
        draft.archive(memory, job, why)


# What people did by hand: new files, moved ones, edited ones, and those taken out of the archive.


def adopt(draft: Draft, seen: Mapping[str, Left]) -> None:
    """Give people's files their properties and follow their changes; `seen` has the state in which vaultmem left each
    memory."""
    leave_unquiet(draft, seen)
    memories = sorted(draft.view.memories(), key=lambda each: each.path)
    known = {each.id for each in (*memories, *draft.view.archived()) if each.adopted}
    # A memory whose file was rewritten without its properties keeps its id.
    lost = {left.path: id_ for id_, left in seen.items() if id_ not in known}
    for each in memories:
        memory = each if each.adopted else each._replace(id=lost.get(each.path, each.id))
        # An empty file without an id may still be filled by a sync program.
        if memory.path not in draft.at_work and (memory.adopted or memory.sketch):
            _follow(draft, memory, _left(memory, seen))


def reunite(draft: Draft, options: Options) -> None:
    """Of two files of one memory, one filed and one edited on another machine, archive the one that was edited earlier;
    the other is left to the next dream, when it alone has the id. A copy that a person made has the same content as
    the original, or one that vaultmem did not write."""
    files: defaultdict[str, dict[str, Memory]] = defaultdict(dict)
    for memory in draft.view.memories():
        id_, path = memory.text("id"), memory.path
        left = options.seen.get(id_)
        is_left = left is not None and (left.path, left.hash) == (path, memory.hash)
        if id_ and (is_left or path in options.written):
            files[id_][options.written.get(path, path)] = memory
    for id_, each in files.items():
        newest, *older = sorted(
            each.values(), key=lambda one: (-one.updated, one.phase == INBOX, one.path)
        )
        paths = {memory.path for memory in each.values()}
        if not older or not paths.isdisjoint(draft.at_work) or not draft.may(*older):
            continue
        draft.leave(newest)
        draft.at_work |= paths
        for memory in older:
            draft.archive(memory, "dream", f"{newest.path} is newer", id_)
            draft.set(memory, "older", deleted_at=stamp(newest.updated))


def archive_again(draft: Draft) -> None:
    """Archive memories that another machine has archived while this one filed, counted or linked them: a sync program
    brings back both files. One that was edited later stays."""
    quiet = draft.view.now.timestamp() - QUIET  # until then, the file may only be on its way
    ended = {memory.id: memory for memory in sorted(draft.view.archived(), key=_deleted_at)}
    for memory in draft.memories():
        same = ended.get(memory.id)
        if same is None or same.hash != memory.hash:
            continue
        if memory.updated < _deleted_at(same) < quiet and draft.may(memory):
            why = "archived on another machine meanwhile"
            draft.archive(memory, same.text("by"), why)
            draft.set(memory, why, **{key: same.properties.get(key) for key in _ENDED})


def _deleted_at(memory: Memory) -> float:
    return seconds(memory.text("deleted_at")) or 0.0


def leave_unquiet(draft: Draft, seen: Mapping[str, Left]) -> None:
    """Exclude from the draft files that a person may be typing in or a sync program may be moving (a second file with
    the same id has appeared before the first is gone)."""
    now, memories = draft.view.now.timestamp(), draft.view.memories()
    fresh = [
        candidate
        for candidate in memories
        if abs(now - candidate.mtime) < QUIET and _is_theirs(candidate, seen)
    ]
    ids = {candidate.properties.get("id", candidate.id) for candidate in fresh}
    at_work = [
        *fresh,
        *(candidate for candidate in memories if candidate.adopted and candidate.id in ids),
    ]
    for memory in at_work:
        draft.leave(memory)
        draft.at_work.add(memory.path)


def _is_theirs(memory: Memory, seen: Mapping[str, Left]) -> bool:
    left = _left(memory, seen)
    return not memory.adopted or (left is not None and left.hash != memory.hash)


def _left(memory: Memory, seen: Mapping[str, Left]) -> Left | None:
    return seen.get(memory.id) if memory.adopted else None


def _follow(draft: Draft, memory: Memory, left: Left | None) -> None:
    category = _category(memory, left)
    in_inbox = memory.path.startswith(f"{draft.view.folder}/{INBOX}/")
    moves = category != memory.category or (in_inbox and category != INBOX)
    sets, whys = _changes(memory, left, category, draft.view.now.timestamp())
    if times := _times(draft, memory, left):
        sets |= times
        whys = whys or ["edited by hand"]
    if not (sets or moves):
        return
    if not draft.may(memory):
        if not memory.adopted:
            draft.leave(memory)
        return
    if moves:
        draft.move(memory, category, whys[0] if whys else f"its property says {category}")
    for why in whys:
        draft.set(memory, why, **sets)


def _category(memory: Memory, left: Left | None) -> str:
    """The category after manual changes. The folder takes precedence over the property (see category_of), but a
    property that differs from what vaultmem wrote, in a file that was not moved, is a person's change."""
    if left is None:
        return memory.category
    written = memory.text("category")
    if memory.path == left.path and written in CATEGORIES and written != left.category:
        return written
    back = memory.path.rpartition("/")[0].endswith("/" + INBOX) and memory.path != left.path
    return INBOX if back and written == left.category else memory.category


def _changes(
    memory: Memory, left: Left | None, category: str, now: float
) -> tuple[dict[str, Value], list[str]]:
    sets: dict[str, Value] = {}
    whys: list[str] = []
    if not memory.adopted:
        whys.append("a file of yours, taken up as a memory")
        sets["id"] = memory.id
        if category == INBOX:  # an old file gets as much time in the inbox as a new one
            sets["updated_at"] = stamp(now)
    elif left is not None and category != left.category:
        how = "moved" if memory.path != left.path else "its category changed"
        whys.append(f"{how} to {category} by hand")
    if memory.text("deleted_at"):
        whys.append("taken out of the archive by hand")
        # `replaced_by` stays, so that a restored memory is not merged into that one again.
        sets |= undeleted(memory, now)
    elif left is not None and left.hash != memory.hash and _is_newer(memory, now):
        whys.append("edited by hand")
        sets["updated_at"] = stamp(min(memory.mtime, now))
    required = _required_properties(memory, category).items()
    sets |= {k: v for k, v in required if memory.properties.get(k) != v and k not in sets}
    if sets and not whys:
        whys.append("it lacked " + ", ".join(sets))
    return sets, whys


def _times(draft: Draft, memory: Memory, left: Left | None) -> dict[str, Value]:
    """The new times of a reminder whose edited words name one; its title still has the old words."""
    if left is None or left.hash == memory.hash or not memory.text("remind") or memory.archived:
        return {}
    now = draft.view.now
    edited = datetime.fromtimestamp(min(memory.mtime, now.timestamp()), now.tzinfo)
    phrase = other_time(draft.content(memory), file_name(left.path), edited)
    if phrase is None or phrase.moment is None:
        return {}
    times = {"remind": phrase.moment.iso(), "repeat": phrase.moment.repeat}
    return {} if all(memory.properties.get(key) == at for key, at in times.items()) else {**times}


def _is_newer(memory: Memory, now: float) -> bool:
    written = seconds(memory.properties.get("updated_at"))
    return written is None or written < int(min(memory.mtime, now))


def _required_properties(memory: Memory, category: str) -> dict[str, Value]:
    """The properties of every memory; times and scope only if missing."""
    properties = memory.properties
    defaults: dict[str, Value] = {
        "scope": memory.scope,
        "created_at": stamp(memory.created),
        "updated_at": stamp(memory.updated),
    }
    lacking = {key: value for key, value in defaults.items() if properties.get(key) in (None, "")}
    return {"phase": phase_of(category), "category": category, **lacking}
