"""What people did by hand gets understood: new files, moved ones, edited ones, and those taken out of the archive."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from vaultmem.adapter import Value
from vaultmem.memories.draft import Draft
from vaultmem.memories.model import CATEGORIES, INBOX, Memory
from vaultmem.text.times import seconds, stamp

QUIET = 120.0  # seconds without a change until a person has likely finished with a file


class Seen(Protocol):
    """A memory as vaultmem left it."""

    @property
    def path(self) -> str:
        """Where it was."""

    @property
    def hash(self) -> str:
        """The hash of its content."""

    @property
    def category(self) -> str:
        """The category it was in."""


def adopt(draft: Draft, seen: Mapping[str, Seen]) -> None:
    """Give people's files their properties and follow what people did. `seen` tells by id how vaultmem left a memory;
    of one that is not in it nobody knows. Files that are being worked on are left alone by the whole draft."""
    at_work = leave_unquiet(draft, seen)
    for memory in sorted(draft.view.memories(), key=lambda each: each.path):
        if memory.path not in at_work:
            _follow(draft, memory, _left(memory, seen))


def leave_unquiet(draft: Draft, seen: Mapping[str, Seen]) -> set[str]:
    """Let the draft leave alone what a person may be typing in: a fresh file that is not as vaultmem wrote it.
    The paths of such files."""
    now = draft.view.now.timestamp()
    found = set()
    for memory in draft.view.memories():
        left = _left(memory, seen)
        theirs = not memory.adopted or (left is not None and left.hash != memory.hash)
        if theirs and abs(now - memory.mtime) < QUIET:
            draft.leave(memory)
            found.add(memory.path)
    draft.at_work |= found
    return found


def _left(memory: Memory, seen: Mapping[str, Seen]) -> Seen | None:
    return seen.get(memory.id) if memory.adopted else None


def _follow(draft: Draft, memory: Memory, left: Seen | None) -> None:
    category = _category(memory, left)
    in_inbox = memory.path.startswith(f"{draft.view.folder}/{INBOX}/")
    moves = category != memory.category or (in_inbox and category != INBOX)
    sets, whys = _understood(memory, left, category, draft.view.now.timestamp())
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


def _category(memory: Memory, left: Seen | None) -> str:
    """Where it belongs after what was done by hand. Its folder speaks before its property (category_of has seen to
    that), but a property that is another than vaultmem wrote, in a file that lies where it lay, was changed."""
    if left is None:
        return memory.category
    given = memory.text("category")
    if memory.path == left.path and given in CATEGORIES and given != left.category:
        return given
    back = memory.path.rpartition("/")[0].endswith("/" + INBOX) and memory.path != left.path
    return INBOX if back and given == left.category else memory.category


def _understood(
    memory: Memory, left: Seen | None, category: str, now: float
) -> tuple[dict[str, Value], list[str]]:
    """The properties to set, and why."""
    sets: dict[str, Value] = {}
    whys: list[str] = []
    if not memory.adopted:
        whys.append("a file of yours, taken up as a memory")
        sets["id"] = memory.id
        if category == INBOX:  # an old file has as much time in the inbox as a new one
            sets["updated_at"] = stamp(now)
    elif left is not None and category != left.category:
        how = "moved" if memory.path != left.path else "its category changed"
        whys.append(f"{how} to {category} by hand")
    if memory.text("deleted_at"):
        whys.append("taken out of the archive by hand")
        sets |= _revived(memory, now)
    elif left is not None and left.hash != memory.hash and _is_newer(memory, now):
        whys.append("edited by hand")
        sets["updated_at"] = stamp(min(memory.mtime, now))
    for key, value in _always(memory, category).items():
        if memory.properties.get(key) != value and key not in sets:
            sets[key] = value
    if sets and not whys:
        whys.append("it lacked " + ", ".join(sets))
    return sets, whys


def _revived(memory: Memory, now: float) -> dict[str, Value]:
    """What it gets back from the archive with. `replaced_by` stays: whoever takes a merged memory out again says
    that it is not the same, and it will not be merged into that one again."""
    sets: dict[str, Value] = {"deleted_at": None, "by": None, "updated_at": stamp(now)}
    if memory.expires is not None and memory.expires <= now:
        sets["expires_at"] = None
    return sets


def _is_newer(memory: Memory, now: float) -> bool:
    written = seconds(memory.properties.get("updated_at"))
    return written is None or written < int(min(memory.mtime, now))


def _always(memory: Memory, category: str) -> dict[str, Value]:
    """What every memory has; times and scope are only filled in where nobody has said anything."""
    phase = INBOX if category == INBOX else "organized"
    otherwise: dict[str, Value] = {
        "scope": memory.scope,
        "created_at": stamp(memory.created),
        "updated_at": stamp(memory.updated),
    }
    lacking = {
        key: value for key, value in otherwise.items() if memory.properties.get(key) in (None, "")
    }
    return {"phase": phase, "category": category, **lacking}
