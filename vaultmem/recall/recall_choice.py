"""Choosing the answer of a recall: the best candidates within the budget of tokens, and their order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

from vaultmem.light import NamedTuple
from vaultmem.recall.recall_candidate import Candidate

PINNED = 0.5  # share of a better score above which a preference or a newer text comes first
Count = Callable[[Candidate], int]


class Chosen(NamedTuple):
    """The answer in order, each item with its tokens."""

    items: list[tuple[Candidate, int]]
    tokens: int
    skipped: int = 0  # further answers without room


def within(ranked: Sequence[Candidate], top_k: int, budget: int, count: Count) -> Chosen:
    """The best candidates within the limits, no line twice. What exceeds the budget is skipped, not cut."""
    chosen: list[tuple[Candidate, int]] = []
    left, repeated = budget, 0
    for whole in ranked:
        if len(chosen) == top_k:
            break
        item = reduce(without_lines, (other for other, _ in chosen), whole)
        tokens = count(item)
        if item is not whole and not item.content.strip():
            repeated += 1
        elif tokens <= left:
            chosen.append((item, tokens))
            left -= tokens
    return Chosen(chosen, budget - left, len(ranked) - len(chosen) - repeated)


def without_lines(item: Candidate, other: Candidate) -> Candidate:
    """A block without the lines that another of its note has, too: of a long line, each part has all of it."""
    if not (item.note and other.note and item.path == other.path):
        return item
    first, last = max(item.line, other.line), min(item.end_line, other.end_line)
    lines, start = item.content.split("\n"), first - item.line
    shared = lines[start : last + 1 - item.line]
    is_same = shared == other.content.split("\n")[first - other.line : last + 1 - other.line]
    if not (first <= last and is_same) or (start and last < item.end_line):
        return item
    kept = lines[:start] if start else lines[len(shared) :]
    line = item.line if start else last + 1
    return item._replace(line=line, end_line=line + len(kept) - 1, content="\n".join(kept))


def arrange(chosen: Chosen, clash: Callable[[str, str], bool]) -> Chosen:
    """The same with preferences first, unless there is a far better answer, and with possible contradictions side by
    side, newest first, unless the older one answers far better: `clash` of an older and a newer text. Notes and turns
    of conversations keep their places: only memories state what holds."""
    least = PINNED * max((item.score for item, _ in chosen.items), default=0.0)
    first = sorted(
        chosen.items, key=lambda pair: not (pair[0].is_preference and pair[0].score >= least)
    )
    results: list[tuple[Candidate, int]] = []
    for item, tokens in first:
        at = next((at for at, (other, _) in enumerate(results) if _clash(other, item, clash)), None)
        if at is None:
            results.append((item, tokens))
            continue
        while (
            at < len(results)
            and results[at][0].created >= item.created
            and _clash(results[at][0], item, clash)
        ):
            at += 1
        results.insert(at, (item, tokens))
    return chosen._replace(items=results)


def _clash(one: Candidate, other: Candidate, clash: Callable[[str, str], bool]) -> bool:
    old, new = sorted((one, other), key=lambda item: item.created)
    before, after = (
        item.parts.get("search", item.score) - item.parts.get("length", 0.0) for item in (old, new)
    )
    is_apart = any(item.note or item.turn for item in (old, new)) or after < PINNED * before
    return not is_apart and clash(old.content, new.content)
