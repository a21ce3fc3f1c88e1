"""The vectors of one model: which block has its vector in which row, which blocks are nearest to a question, and how
close they are."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from vaultmem.embedding.embed import TextEmbedder
from vaultmem.embedding.minilm import MEAN
from vaultmem.embedding.models import Model
from vaultmem.errors import StateError
from vaultmem.index import ORD_BITS, catalog_read
from vaultmem.index.catalog import Catalog
from vaultmem.index.state import State
from vaultmem.light import TYPE_CHECKING
from vaultmem.notes.blocks import text_hash
from vaultmem.notes.dialects import open_rulebook
from vaultmem.progress import current_progress
from vaultmem.search import rank
from vaultmem.search.publish import text_at
from vaultmem.vectors.exact import Allowed
from vaultmem.vectors.vectors import VectorStore, open_index

if TYPE_CHECKING:
    from vaultmem.search.seats import Seats
    from vaultmem.search.semantic import Meaning
    from vaultmem.vectors.shared_index import Mirror

FIRST_BLOCKS = 32
ORDINAL = (1 << ORD_BITS) - 1
T = TypeVar("T")
Numbers = NDArray[np.int64]
Vectors = NDArray[np.float32]
Cosines = TypeVar("Cosines", float, Vectors)
P = ParamSpec("P")


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
    vectors: Vectors, blocks: Numbers, at: Numbers, shares: tuple[float, float]
) -> Vectors:
    """The normalised vectors of the blocks at the indices `at`, each mixed with a share of the vectors just before
    and after it. `blocks` is in ascending order."""
    result = vectors[at].copy()
    for step, share in zip((-1, 1), shares, strict=True):
        beside = np.clip(at + step, 0, len(blocks) - 1)
        is_next = blocks[beside] == blocks[at] + step
        result += np.where(is_next, share, 0.0).astype(np.float32)[:, None] * vectors[beside]
    result /= np.maximum(np.linalg.norm(result, axis=1, keepdims=True), 1e-9)
    return result


def _steady(
    work: Callable[Concatenate[ModelVectors, P], T],
) -> Callable[Concatenate[ModelVectors, P], T]:
    """Retry work that looks up rows and then reads them, if the rows were renumbered in between because another
    thread tidied them or started over."""

    @wraps(work)
    def steadily(self: ModelVectors, /, *args: P.args, **kwargs: P.kwargs) -> T:
        while True:
            before = self.store.generation
            try:
                result = work(self, *args, **kwargs)
            except IndexError:  # there are now fewer rows
                if before == self.store.generation:
                    raise
                continue
            if before == self.store.generation:
                return result

    return steadily


class ModelVectors:
    """The vectors of one model: for all blocks, only those in another script than Latin, or only the rest."""

    _shared: Mirror | None = None

    def __init__(
        self, state: State, embedder: TextEmbedder, threshold: int, other: bool | None
    ) -> None:
        self.embedder = embedder
        self.model: Model = embedder.model
        self.store = VectorStore(state.path("vec", self.model.key), self.model.dimensions)
        self.threshold, self.other = threshold, other
        self.live = LiveRows(self.store, other)

    def embed(self, texts: list[str], goes_on: Callable[[], bool]) -> set[bytes]:
        """Embed texts. Returns the hashes of those embedded before it had to stop."""
        stored: list[tuple[bytes, Vectors]] = []
        try:
            for indices, vectors in self.embedder.batches(texts):
                stored += zip((text_hash(texts[i]) for i in indices), vectors, strict=True)
                current_progress().advance(len(indices))
                if not goes_on():
                    break
        finally:
            if stored:
                self.store.append([key for key, _ in stored], np.array([row for _, row in stored]))
        return {key for key, _ in stored}

    def is_ready(self) -> bool:
        """Whether its model is loaded, or not needed because no block has a vector of it."""
        return self.embedder.is_loaded() or not len(self.store)

    @_steady
    def nearest(self, catalog: Catalog, query: Vectors, count: int,
                notes: Collection[int] | None = None, *, all_but: bool = False) -> dict[int, float]:  # fmt: skip
        """The blocks nearest to a vector: block number -> cosine. `notes` limits the search to some notes, or to
        `all_but` them."""
        live = self.live.look(catalog)
        some = notes is not None and not all_but
        allowed: Allowed | None = (
            np.unique(live.of_notes(notes or ())[1]) if some else live.in_use(notes or ())
        )
        if not len(live.rows) or (allowed is not None and not len(allowed)):
            return {}
        index = self._shared or open_index(self.store, self.threshold)
        hits = dict(index.search(query, count, allowed))
        return {
            block: self.comparable(hits[row])
            for block, row in live.at_rows(hits)
            if notes is None or (block >> ORD_BITS in notes) is not all_but
        }

    @_steady
    def closeness(
        self,
        catalog: Catalog,
        query: Vectors,
        block_ids: Collection[int],
        seats: Seats | None = None,
    ) -> dict[int, rank.Closeness]:
        """How close each wanted block with a vector is, including the blocks around it and its note. A long note is
        represented by its first FIRST_BLOCKS blocks and those near wanted ones."""
        live = self.live.look(catalog)
        notes = {block >> ORD_BITS for block in block_ids}
        blocks, rows = live.of_notes(seats.mates(notes) if seats else notes)
        places = np.fromiter(map(seats.of, blocks.tolist()), np.int64) if seats else blocks
        numbers = np.fromiter(map(seats.of if seats else int, block_ids), np.int64)
        near = np.isin(places, np.concatenate([numbers - 1, numbers, numbers + 1]))
        keep = np.flatnonzero(near | ((places & ORDINAL) < FIRST_BLOCKS))
        keep = keep[np.argsort(places[keep])]
        blocks, rows, places = blocks[keep], rows[keep], places[keep]
        vectors = self.store.matrix()[rows]
        cosines = self.comparable(vectors @ query)
        _, note = np.unique(places >> ORD_BITS, return_inverse=True)
        whole = (np.bincount(note, cosines) / np.bincount(note))[note]
        at = np.flatnonzero(np.isin(places, numbers))
        joined = self.comparable(joined_vectors(vectors, places, at, rank.JOINED_SHARES) @ query)
        columns = (array.tolist() for array in (blocks[at], cosines[at], joined, whole[at]))
        return {block: rank.Closeness(*parts) for block, *parts in zip(*columns, strict=True)}

    @_steady
    def note_vector(self, catalog: Catalog, note: int) -> Vectors | None:
        """The mean of a note's vectors, normalised; None if it has none yet."""
        _, vectors = self.live.look(catalog).of_notes([note])
        if not len(vectors):
            return None
        mean = self.store.matrix()[vectors].mean(axis=0)
        length = float(np.linalg.norm(mean))
        return mean / length if length else None

    def comparable(self, cosines: Cosines) -> Cosines:
        """Cosines rescaled to those of the default model: its thresholds and weights mean nothing to a model whose
        cosines all lie between 0.7 and 1."""
        if self.model.mean == MEAN:
            return cosines
        return 1 - (1 - cosines) * ((1 - MEAN) / (1 - self.model.mean))

    @_steady
    def vectors_of(self, hashes: Mapping[int, bytes]) -> tuple[list[int], Vectors]:
        """The existing vectors of these texts, with the positions of their hashes."""
        stored = self.store.known(dict.fromkeys(hashes.values()))
        places = [place for place, digest in hashes.items() if digest in stored]
        return places, self.store.matrix()[[stored[hashes[place]] for place in places]]

    def tidy(self, catalog: Catalog) -> None:
        """Drop vectors of missing texts if they are the majority; build a graph if that pays off."""
        seen = len(self.store)
        some = "" if self.other is None else f"WHERE other = {self.other:d}"
        live = catalog.db.execute(f"SELECT DISTINCT hash FROM blocks {some}")  # noqa: S608 - own text
        self.store.compact([row[0] for row in live], seen)
        if not self._shared:
            open_index(self.store, self.threshold).prepare()

    @property
    def across(self) -> float:
        """The correction for cosines between two scripts."""
        return (1 - self.model.mean) / (1 - (self.model.across or self.model.mean))


def similarities(
    parts: Sequence[ModelVectors], hashes: Sequence[bytes]
) -> list[list[float]] | None:
    """See Meaning.similarities. A vector in the last part may also remain in the first, from before."""
    cosines = np.zeros((len(hashes), len(hashes)), np.float32)
    left = dict(enumerate(hashes))
    for part in reversed(parts):
        places, vectors = part.vectors_of(left)
        cosines[np.ix_(places, places)] = part.comparable(vectors @ vectors.T)
        left = {place: left[place] for place in left.keys() - set(places)}
    rows: list[list[float]] = cosines.tolist()
    return None if left else rows


# Keyword results without a vector are embedded during the search, within a short time limit: the first embedding of a
# large vault takes minutes, and people search for what they are working on.

AT_ONCE_WITHIN = 0.15  # seconds
AT_ONCE = 32  # best blocks by words: more do not fit into the time


def embed_best(
    meaning: Meaning,
    catalog: Catalog,
    scores: Mapping[int, float],
    now: Callable[[], float] = time.monotonic,
) -> int:
    """Embed the best blocks by words that have no vector, as far as time allows. Returns how many.

    Only with a loaded model of this process: a service has its own pace, and sees no private note.
    """
    begun = now()
    if not (meaning.embedder.is_local and meaning.is_loaded()):
        return 0
    best = sorted(scores, key=lambda block: -scores[block])[:AT_ONCE]
    done = 0
    last = longest = now() - begun
    for digest, text in _texts_of(meaning, catalog, meaning.lacking(catalog, best)):
        with contextlib.suppress(StateError):  # nothing can be written
            part = meaning.part_of(text)
            part.store.append([digest], part.embedder.embed([text]))
            done += 1
        last, longest = now() - begun, max(longest, now() - begun - last)
        if last + longest > AT_ONCE_WITHIN:
            break
    return done


def _texts_of(
    meaning: Meaning, catalog: Catalog, lacking: Mapping[int, bytes]
) -> Iterator[tuple[bytes, str]]:
    """The current texts of blocks, each with its hash; changed ones are left out."""
    if not lacking:
        return
    rules = open_rulebook(meaning.folder, meaning.dialect)
    paths = catalog_read.paths_of(catalog, {block >> ORD_BITS for block in lacking})
    for block, digest in lacking.items():
        path = paths.get(block >> ORD_BITS, "")
        text = text_at(rules, meaning.folder, path, meaning.cap, digest) if path else ""
        if text:
            yield digest, text
