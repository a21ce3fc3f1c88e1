"""The vectors of one model: which blocks are nearest to a question, and how close they are."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from vaultmem.embedding.embed import TextEmbedder
from vaultmem.embedding.minilm import MEAN
from vaultmem.embedding.models import Model
from vaultmem.index import ORD_BITS
from vaultmem.index.catalog import Catalog
from vaultmem.index.state import State
from vaultmem.light import TYPE_CHECKING
from vaultmem.notes.blocks import text_hash
from vaultmem.progress import Progress
from vaultmem.search import rank
from vaultmem.vectors.exact import Allowed
from vaultmem.vectors.live_rows import LiveRows, joined_vectors
from vaultmem.vectors.vectors import VectorStore, open_index

if TYPE_CHECKING:
    from vaultmem.search.seats import Seats
    from vaultmem.vectors.shared_index import Mirror

FIRST_BLOCKS = 32
ORDINAL = (1 << ORD_BITS) - 1
T = TypeVar("T")
Vectors = NDArray[np.float32]
Cosines = TypeVar("Cosines", float, Vectors)
P = ParamSpec("P")


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

    def embed(
        self, texts: list[str], progress: Progress, goes_on: Callable[[], bool]
    ) -> set[bytes]:
        """Embed texts. Returns the hashes of those embedded before it had to stop."""
        stored: list[tuple[bytes, Vectors]] = []
        try:
            for indices, vectors in self.embedder.batches(texts):
                stored += zip((text_hash(texts[i]) for i in indices), vectors, strict=True)
                progress.advance(len(indices))
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
