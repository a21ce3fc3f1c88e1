"""Finds the titles that look most like a name that nothing answers to, among very many."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from difflib import SequenceMatcher

LEAST = 0.8  # of all letters must agree
LOOKED_AT = 8
TOO_MANY = 2_000  # a piece that so many titles have tells nothing


class Titles:
    """Titles by the three-letter pieces in them."""

    def __init__(self, titles: Iterable[str]) -> None:
        self._titles = sorted(set(titles))
        self._with: dict[str, list[int]] = defaultdict(list)
        for number, title in enumerate(self._titles):
            for piece in _pieces(title):
                self._with[piece].append(number)

    def nearest(self, name: str, limit: int = 3) -> tuple[str, ...]:
        """The nearest titles, best first; none that is not really near."""
        shared: Counter[int] = Counter()
        for piece in _pieces(name):
            holders = self._with.get(piece, ())
            if len(holders) <= TOO_MANY:
                shared.update(holders)
        best = sorted(shared, key=lambda n: (-shared[n], self._titles[n]))[:LOOKED_AT]
        rated = [
            (self._likeness(name, self._titles[number]), self._titles[number]) for number in best
        ]
        near = sorted((-rate, title) for rate, title in rated if rate >= LEAST)
        return tuple(title for _, title in near[:limit])

    def _likeness(self, name: str, title: str) -> float:
        return SequenceMatcher(
            None, name.lower()[:200], title.lower()[:200], autojunk=False
        ).ratio()


def _pieces(text: str) -> set[str]:
    folded = f" {text.lower()[:200]} "
    return {folded[at : at + 3] for at in range(len(folded) - 2)} or {folded}
