"""What a merge has left on a page of pending items where two machines wrote it: both versions, between marker lines."""

from __future__ import annotations

from collections.abc import Sequence

from vaultmem.core import pending_lines

FIRST, OTHER, END = "first", "other", "end"  # where a version begins, or the last one ends
_SIGNS = frozenset("<|=>")


def marker_lines(lines: Sequence[str]) -> dict[int, str]:
    """The numbers of the markers around versions of our part, and what each is. A conflict inside the notes of a
    person is theirs to settle, and its markers are not among these."""
    found: dict[int, str] = {}
    around: dict[int, str] = {}  # the markers of the conflict that is read
    seen = ""  # their signs, in order
    for at, line in enumerate(lines):
        sign = line[:1] if line[:1] in _SIGNS and pending_lines.is_conflict(line) else ""
        if sign == "<":
            around, seen = {at: FIRST}, sign
        elif not sign or not around or sign in seen or (sign == "|" and "=" in seen):
            continue
        elif sign != ">":
            around[at], seen = OTHER, seen + sign
        else:
            if "=" in seen and _is_ours(list(lines[min(around) + 1 : at])):
                found |= {**around, at: END}
            around, seen = {}, ""
    return found


def once(versions: Sequence[Sequence[str]]) -> list[str]:
    """The lines of all versions, in their order; those with which a later one begins and ends like the first stand
    there once."""
    first = list(versions[0]) if versions else []
    more: list[str] = []
    for version in versions[1:]:
        start = _alike(first, version)
        end = _alike(first[start:][::-1], version[start:][::-1])
        more += version[start : len(version) - end]
    return first + more


def _alike(one: Sequence[str], other: Sequence[str]) -> int:
    """With how many of the same lines both begin."""
    least = min(len(one), len(other))
    return next((n for n in range(least) if one[n] != other[n]), least)


def _is_ours(lines: list[str]) -> bool:
    """Whether these lines are of our part of the page: its mark, an item, or where the notes begin."""
    for at, line in enumerate(lines):
        if pending_lines.is_mark(line) or pending_lines.is_notes(line):
            return True
        piece = pending_lines.piece(lines, at)
        if piece and piece.found.id:
            return True
    return False
