"""Maps the blocks of the vault to the rows of their vectors, and is updated from changes."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from vaultmem.index import ORD_BITS, catalog_read
from vaultmem.index.catalog import Catalog
from vaultmem.vectors.vectors import VectorStore

Numbers = NDArray[np.int64]


class LiveRows:
    """`blocks` are the ids of all blocks that have a vector, in ascending order, `rows` their rows; with `other`,
    only those of texts in a script other than Latin (True), or only those of the rest (False).

    Reading all of them takes 60 ms for 10,000 notes. The catalog says which notes have changed since, the store which
    rows are new, so that a search right after a save does not read the whole vault.
    """

    def __init__(self, store: VectorStore, other: bool | None = None) -> None:
        self._store, self._other = store, other
        self._catalog: Catalog | None = None
        self._version: object = None
        self._seen = 0  # the last change of the catalog that was applied
        self._generation = self._count = -1  # of the store
        self._start_empty()

    def _start_empty(self) -> None:
        self.blocks: Numbers = np.empty(0, dtype=np.int64)
        self.rows: Numbers = np.empty(0, dtype=np.int64)
        self._uses: Numbers = np.empty(0, dtype=np.int64)  # how many blocks use each row
        self._lacking: dict[int, dict[int, bytes]] = {}  # note -> its blocks without a vector

    def look(self, catalog: Catalog) -> LiveRows:
        """Apply what has changed in the catalog and the store. Returns self."""
        # Read first: others may append meanwhile, and the next look must not miss their rows.
        generation, count = self._store.generation, len(self._store)
        version = catalog.version(), generation, count
        if version == self._version:
            return self
        same = catalog is self._catalog and generation == self._generation
        last, changed = catalog_read.changed_notes(catalog, self._seen if same else None)
        if not same or changed is None or count < self._count:
            self._start_empty()
            self._take_in(catalog, None)
        else:
            self._take_new_rows()
            if changed:
                self._drop(changed)
                self._take_in(catalog, changed)
        self._catalog, self._version, self._seen = catalog, version, last
        self._generation, self._count = generation, count
        return self

    def of_notes(self, notes: Iterable[int] | Numbers) -> tuple[Numbers, Numbers]:
        """The blocks of some notes and their rows."""
        places = self._places(_rising(notes))
        return self.blocks[places], self.rows[places]

    def in_use(self, all_but: Iterable[int] = ()) -> NDArray[np.bool_] | None:
        """For every row of the store, whether a block uses it (not counting the notes `all_but`); None when all rows
        are in use."""
        uses = self._uses
        if len(hidden := self._places(_rising(all_but))):
            uses = uses.copy()
            np.subtract.at(uses, self.rows[hidden], 1)
        used = np.zeros(len(self._store), dtype=np.bool_)
        overlap = min(len(used), len(uses))
        used[:overlap] = uses[:overlap] > 0
        return None if used.all() else used

    def at_rows(self, rows: Iterable[int]) -> Iterable[tuple[int, int]]:
        """The blocks whose vectors are in these rows, each with its row."""
        mask = np.zeros(len(self._uses), dtype=np.bool_)
        numbers = np.fromiter(rows, dtype=np.int64)
        mask[numbers[numbers < len(mask)]] = True  # the store may have grown since
        inside = mask[self.rows]
        return zip(self.blocks[inside].tolist(), self.rows[inside].tolist(), strict=True)

    def lacking(self, blocks: Iterable[int]) -> dict[int, bytes]:
        """The given blocks that have no vector, in their order, each with its hash."""
        hashes = ((block, self._lacking.get(block >> ORD_BITS, {}).get(block)) for block in blocks)
        return {block: digest for block, digest in hashes if digest is not None}

    def _places(self, notes: Numbers) -> Numbers:
        """The indices in `blocks` of the blocks of some notes, which are given in ascending order."""
        first = np.searchsorted(self.blocks, notes << ORD_BITS)
        count = np.searchsorted(self.blocks, (notes + 1) << ORD_BITS) - first
        before = np.cumsum(count) - count
        return np.repeat(first - before, count) + np.arange(count.sum())

    def _drop(self, notes: set[int]) -> None:
        places = self._places(_rising(notes))
        np.subtract.at(self._uses, self.rows[places], 1)
        self.blocks, self.rows = np.delete(self.blocks, places), np.delete(self.rows, places)
        for note in notes:
            self._lacking.pop(note, None)

    def _take_in(self, catalog: Catalog, notes: set[int] | None) -> None:
        """Read the blocks of some notes, or of all."""
        table = catalog_read.block_hashes(catalog, notes, self._other)
        stored = self._store.known({digest for _, _, digest in table})
        results: list[tuple[int, int]] = []
        for note, ordinal, digest in table:
            block = note << ORD_BITS | ordinal
            if digest in stored:
                results.append((block, stored[digest]))
            else:
                self._lacking.setdefault(note, {})[block] = digest
        self._add(results)

    def _take_new_rows(self) -> None:
        """Add the blocks that lacked a vector and have one now."""
        if len(self._store) == self._count or not self._lacking:
            return
        rows = self._store.rows_from(self._count)
        results: list[tuple[int, int]] = []
        for note, lacking in list(self._lacking.items()):
            for block, digest in list(lacking.items()):
                if digest in rows:
                    results.append((block, rows[digest]))
                    del lacking[block]
            if not lacking:
                del self._lacking[note]
        self._add(results)

    def _add(self, pairs: list[tuple[int, int]]) -> None:
        columns = np.array(sorted(pairs), dtype=np.int64).reshape(-1, 2)
        size = max(len(self._store), int(columns[:, 1].max(initial=-1)) + 1)
        if size > len(self._uses):
            self._uses = np.concatenate((self._uses, np.zeros(size - len(self._uses), np.int64)))
        np.add.at(self._uses, columns[:, 1], 1)
        places = np.searchsorted(self.blocks, columns[:, 0])
        self.blocks = np.insert(self.blocks, places, columns[:, 0])
        self.rows = np.insert(self.rows, places, columns[:, 1])


def _rising(notes: Iterable[int] | Numbers) -> Numbers:
    return np.unique(np.fromiter(notes, dtype=np.int64))


def joined_vectors(
    vectors: NDArray[np.float32], blocks: Numbers, at: Numbers, shares: tuple[float, float]
) -> NDArray[np.float32]:
    """The normalised vectors of the blocks at the indices `at`, each mixed with a share of the vectors just before
    and after it. `blocks` is in ascending order."""
    result = vectors[at].copy()
    for step, share in zip((-1, 1), shares, strict=True):
        beside = np.clip(at + step, 0, len(blocks) - 1)
        is_next = blocks[beside] == blocks[at] + step
        result += np.where(is_next, share, 0.0).astype(np.float32)[:, None] * vectors[beside]
    result /= np.maximum(np.linalg.norm(result, axis=1, keepdims=True), 1e-9)
    return result
