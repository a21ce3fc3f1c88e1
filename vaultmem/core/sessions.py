"""The sessions of a conversation: which turns belong together, which are old enough to be compressed, and what has to
go when there are too many entries (the "logic" seed, section 3, and the "proxy" seed, section 4.5)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple, Protocol, TypeVar

from vaultmem.core.conversation import ASSISTANT, MEMORY, USER, Entry, derived_id

TOKENS = 160  # of what stands for a session
NOTHING = "Nothing to remember was said."  # of one with nothing but greetings


class Compressible(Protocol):
    """A session, of whatever it is made."""

    @property
    def is_compressed(self) -> bool:
        """Whether a summary stands for it."""


Some = TypeVar("Some", bound=Compressible)


class Session(NamedTuple):
    """Turns that were spoken in one go, in their order."""

    id: str
    turns: tuple[Entry, ...]

    @property
    def is_compressed(self) -> bool:
        """Whether a summary stands for it."""
        return all(turn.properties.get("compressed") is True for turn in self.turns)


def sessions(entries: Iterable[Entry], gap: float) -> list[Session]:
    """The sessions of a conversation, the oldest first. A turn that names its session belongs to it; the others are
    apart where nobody spoke for `gap` seconds."""
    turns = sorted(
        (one for one in entries if one.role in (USER, ASSISTANT)),
        key=lambda one: (one.created, one.path),
    )
    named: dict[str, list[Entry]] = {}
    spoken: list[Entry] = []
    for turn in turns:
        given = turn.properties.get("session_id")
        if given not in (None, "") and not isinstance(given, (list, dict)):
            named.setdefault(str(given), []).append(turn)
        else:
            spoken.append(turn)
    found = [Session(name, tuple(each)) for name, each in named.items()]
    found += [Session(derived_id(one[0].id, "session"), tuple(one)) for one in _apart(spoken, gap)]
    return sorted(found, key=lambda one: (one.turns[0].created, one.turns[0].path))


def _apart(turns: Sequence[Entry], gap: float) -> list[list[Entry]]:
    found: list[list[Entry]] = [[turn] for turn in turns[:1]]
    for before, turn in pairwise(turns):
        if turn.created - before.created > gap:
            found.append([])
        found[-1].append(turn)
    return found


def to_compress(found: Sequence[Some], threshold: int) -> list[Some]:
    """The oldest sessions that nobody has compressed: half as many as the threshold once there are more sessions than
    that, and as many again each time that many have come. It follows from how many there are, so that a job that
    was cut off goes on where it was. The last one never: somebody may be speaking in it."""
    if len(found) <= threshold:
        return []
    half = max(1, threshold // 2)
    wanted = half * (1 + (len(found) - threshold - 1) // half)
    done = sum(one.is_compressed for one in found)
    loose = [one for one in found[:-1] if not one.is_compressed]
    return loose[: max(0, wanted - done)]


def to_evict(entries: Iterable[Entry], most: int) -> list[Entry]:
    """The oldest turns, until no more than `most` facts and turns are left; facts only when no turn is left to go: a
    fact is what the turns were kept for. Summaries stay, also those of sessions."""
    found = [
        one
        for one in entries
        if one.role in (MEMORY, USER, ASSISTANT)
        and one.properties.get("compression_source") is not True
    ]
    found.sort(key=lambda one: (one.role == MEMORY, one.created, one.path))
    return found[: max(0, len(found) - most)]
