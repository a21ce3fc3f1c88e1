"""Finds the title that a name which nothing answers to is a slip of the pen for, among very many."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

from vaultmem.plans.slips import slips, spelling

LOOKED_AT = 20
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
        """The titles that the name may be a slip for, best first; none when two are equally near."""
        shared: Counter[int] = Counter()
        for piece in _pieces(name):
            holders = self._with.get(piece, ())
            if len(holders) <= TOO_MANY:
                shared.update(holders)
        best = sorted(shared, key=lambda n: (-shared[n], self._titles[n]))[:LOOKED_AT]
        rated = [(slips(name, self._titles[number]), self._titles[number]) for number in best]
        near = sorted((count, title) for count, title in rated if count is not None)
        if len(near) > 1 and near[0][0] == near[1][0]:
            return ()
        return tuple(title for _, title in near[:limit])


def _pieces(text: str) -> set[str]:
    folded = f" {spelling(text[:200])} "
    return {folded[at : at + 3] for at in range(len(folded) - 2)} or {folded}
