"""The name that was meant by one that nobody has: a slip of the pen, the first part of one, or one without what all
names begin with. Rather none than a far-fetched one, which an assistant would take."""

from __future__ import annotations

from collections.abc import Iterable

_LOOKED_AT = 40  # letters
_LEAST = 3  # letters that may stand for all of a name
_LONG = 7  # letters: so long a name may have two slips


def nearest(given: str, known: Iterable[str]) -> str:
    """One of the known names, or none ("")."""
    wanted, names = given.strip().lower()[:_LOOKED_AT], sorted(known)
    rated = [(count, name) for name in names if (count := _slips(wanted, name.lower())) is not None]
    if rated:
        return min(rated)[1]
    begun = [name for name in names if name.lower().startswith(wanted)]
    return begun[0] if len(begun) == 1 and len(_own(wanted, begun[0])) >= _LEAST else ""


def _slips(wanted: str, name: str) -> int | None:
    """How many slips are between the two; None where they are two different names."""
    from vaultmem.memories.links import edits  # only where something went wrong

    if name.endswith(f"_{wanted}"):
        return 0
    one, other = _own(wanted, name), _own(name, wanted)
    short = min(len(one), len(other))
    most = 0 if short < _LEAST else 1 if short < _LONG else 2
    return edits(one, other, most)


def _own(name: str, other: str) -> str:
    """A name without the words that both begin with: `memory_nope` is not nearly `memory_done`."""
    words, others = name.split("_"), other.split("_")
    shared = next(
        (at for at, (a, b) in enumerate(zip(words, others, strict=False)) if a != b),
        min(len(words), len(others)) - 1,
    )
    return "_".join(words[min(shared, len(words) - 1) :])
