"""Which notes of the catalog are conflict copies of which. That depends on the paths of all notes, so it is put off
until after many changes; while no path comes or goes, only the texts of pairs that look like copies count."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Set
from typing import NamedTuple

from vaultmem.core.conflicts import Places, conflicts, doubtful, nearly_equal
from vaultmem.store.catalog import Catalog

Pair = tuple[str, str]  # the paths of a copy and its note

_NOTE = "(SELECT id FROM files WHERE path = ? AND kind = 'note')"


class Judged(NamedTuple):
    """What has to be written."""

    pairs: list[Pair]  # all that look like a copy and its note
    again: list[Pair] | None  # of these, which were judged; None: everything was
    found: list[Pair]  # what turned out to be copies


class Copies:
    """Marks what has to be judged again, in the transaction of each change, and judges it later. `text_of` reads
    a note."""

    def __init__(self, catalog: Catalog, text_of: Callable[[str], str]) -> None:
        self._catalog = catalog
        self._text_of = text_of
        self._pairs: list[Pair] | None = None  # None: not known, or paths have come or gone
        self._paired: set[str] = set()  # the paths in them
        self._changed: set[str] = (
            set()
        )  # of these, whose texts are others than when they were judged

    def is_settled(self) -> bool:
        """Whether there is nothing to judge."""
        return self._catalog.meta("settled") == "yes"

    def paths_changed(self) -> None:
        """Notes have come or gone."""
        self._pairs = None
        self._catalog.set_meta("settled", "no")

    def texts_changed(self, paths: Set[str]) -> None:
        """Notes that were there before have been read again."""
        if self._pairs is None:
            self.paths_changed()
        elif not self._paired.isdisjoint(paths):
            self._changed.update(paths)
            self._catalog.set_meta("settled", "no")

    def judged(self, breathe: Callable[[], None]) -> Judged | None:
        """Judge what has to be; None when nothing has. Reads notes, so call it outside of a transaction."""
        if self.is_settled():
            return None
        if self._pairs is not None:
            again = [pair for pair in self._pairs if not self._changed.isdisjoint(pair)]
            return Judged(self._pairs, again, self._alike(again, breathe))
        rows = self._catalog.db.execute("SELECT path FROM files WHERE kind = 'note'")
        places = Places(str(row[0]) for row in rows)
        breathe()
        pairs = doubtful(places)
        breathe()
        found = [*conflicts(places).items(), *self._alike(pairs, breathe)]
        return Judged(pairs, None, found)

    def write(self, judged: Judged) -> None:
        """Write it down, in a transaction."""
        db = self._catalog.db
        if judged.again is None:
            db.execute("DELETE FROM conflicts")
        else:
            copies = [(copy,) for copy, _ in judged.again]
            db.executemany(f"DELETE FROM conflicts WHERE copy = {_NOTE}", copies)  # noqa: S608 - own text
        db.executemany(f"INSERT INTO conflicts VALUES ({_NOTE}, {_NOTE})", judged.found)  # noqa: S608 - own text
        self._catalog.set_meta("settled", "yes")

    def know(self, judged: Judged | None) -> None:
        """It has been written for good."""
        if judged is not None:
            self._pairs, self._changed = judged.pairs, set()
            self._paired = {path for pair in judged.pairs for path in pair}

    def _alike(self, pairs: Iterable[Pair], breathe: Callable[[], None]) -> list[Pair]:
        """Of notes that only look like copies by name, those whose texts are alike."""
        found = []
        for pair in pairs:
            breathe()
            if nearly_equal(*map(self._text_of, pair)):
                found.append(pair)
        return found
