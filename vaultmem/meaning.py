"""Search by meaning: which blocks still need a vector, and which are nearest to a question."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vaultmem.config import Config
from vaultmem.core import note_facts, rank
from vaultmem.dialects import Rulebook
from vaultmem.progress import Progress
from vaultmem.reading import read_note
from vaultmem.store.catalog import Catalog
from vaultmem.store.embed import Embedder
from vaultmem.store.keyword import ORD_BITS
from vaultmem.store.model import Model, resolve_model
from vaultmem.store.state import State
from vaultmem.store.vectors import VectorStore, open_index, text_hash

BLOCKS_AT_ONCE = 512  # read, embed and store so many, then the next
FIRST_BLOCKS = 32
ORDINAL = (1 << ORD_BITS) - 1
NEAR_ENOUGH = 0.25  # a lower cosine means nothing with this kind of model


class Pending(NamedTuple):
    """A note with blocks that have no vector yet."""

    note: int
    path: str
    raw: str | None
    hashes: set[bytes]


class Meaning:
    """The vectors of one vault under the configured model. Raises ModelError when there is none."""

    def __init__(self, state: State, config: Config) -> None:
        self._folder = state.vault
        self._cap = config.number("index.max_note_bytes")
        self.model: Model = resolve_model(config.text("embedding.model"), models_folder(state))
        self.embedder = Embedder(self.model, config.number("embedding.threads"))
        self.store = VectorStore(state.path("vec", self.model.key), self.model.dimensions)
        self._threshold = config.number("vectors.hnsw_threshold")
        self._all_rows: NDArray[np.int64] | None = None  # None: every row is some block's
        self._live: tuple[object, NDArray[np.int64], NDArray[np.int64]] | None = None

    def close(self) -> None:
        """Let go of the files."""
        self.store.close()

    def pending(self, catalog: Catalog) -> list[Pending]:
        """The notes with blocks to embed, the most recently changed first."""
        rows = catalog.db.execute(
            "SELECT b.note, f.path, f.raw, b.hash FROM blocks b JOIN files f ON f.id = b.note"
            " JOIN notes n ON n.id = b.note WHERE n.excluded = 0 ORDER BY f.mtime_ns DESC, b.note"
        ).fetchall()
        missing = set(self.store.missing(row[3] for row in rows))
        notes: dict[int, Pending] = {}
        for note, path, raw, digest in rows:
            if digest in missing:
                notes.setdefault(note, Pending(note, path, raw, set())).hashes.add(digest)
        return list(notes.values())

    def embed_pending(self, catalog: Catalog, rules: Rulebook, progress: Progress) -> int:
        """Embed what is missing; how many blocks were. Whatever stops it, the next call goes on."""
        pending = self.pending(catalog)
        progress.stage("embedding", sum(len(one.hashes) for one in pending))
        done = 0
        for texts in self._portions(pending, rules):
            hashes = [text_hash(text) for text in texts]
            stored: list[tuple[bytes, NDArray[np.float32]]] = []
            try:
                for indices, vectors in self.embedder.batches(texts):
                    stored += zip((hashes[i] for i in indices), vectors, strict=True)
                    progress.advance(len(indices))
            finally:
                if stored:
                    self.store.append(
                        [key for key, _ in stored], np.array([row for _, row in stored])
                    )
                    done += len(stored)
        return done

    def _portions(self, pending: list[Pending], rules: Rulebook) -> Iterator[list[str]]:
        texts: dict[bytes, str] = {}
        for one in pending:
            found = read_note(rules, self._folder, one.path, one.raw, self._cap)
            for block in found.blocks:
                text = note_facts.embedded_text(found.note.title, block)
                if text_hash(text) in one.hashes:
                    texts[text_hash(text)] = text
            if len(texts) >= BLOCKS_AT_ONCE:
                yield list(texts.values())
                texts = {}
        if texts:
            yield list(texts.values())

    def tidy(self, catalog: Catalog) -> None:
        """Drop vectors of texts that are gone, when these are the most; make a graph when it pays."""
        self.store.compact(row[0] for row in catalog.db.execute("SELECT DISTINCT hash FROM blocks"))
        open_index(self.store, self._threshold).prepare()

    def nearest(self, catalog: Catalog, query: NDArray[np.float32], count: int,
                notes: Iterable[int] | None = None) -> dict[int, float]:  # fmt: skip
        """The blocks nearest to a vector: block number -> cosine. `notes` limits the search to some."""
        blocks, rows = self._live_rows(catalog)
        if notes is not None:
            keep = np.isin(blocks >> ORD_BITS, np.fromiter(notes, dtype=np.int64))
            blocks, rows = blocks[keep], rows[keep]
        if not len(rows):
            return {}
        allowed = self._all_rows if notes is None else np.unique(rows)
        hits = dict(open_index(self.store, self._threshold).search(query, count, allowed))
        found = np.isin(rows, np.fromiter(hits, dtype=np.int64))
        pairs = zip(blocks[found].tolist(), rows[found].tolist(), strict=True)
        return {block: hits[row] for block, row in pairs if hits[row] >= NEAR_ENOUGH}

    def closeness(
        self, catalog: Catalog, query: NDArray[np.float32], wanted: Iterable[int]
    ) -> dict[int, rank.Closeness]:
        """How close each wanted block that has a vector is, with the blocks around it and its note.

        Of a long note the first FIRST_BLOCKS blocks and those near wanted ones stand for the whole.
        """
        asked = np.unique(np.fromiter(wanted, dtype=np.int64))
        blocks, rows = self._live_rows(catalog)
        inside = np.isin(blocks >> ORD_BITS, asked >> ORD_BITS)
        blocks, rows = blocks[inside], rows[inside]
        near = np.isin(blocks, np.concatenate([asked - 1, asked, asked + 1]))
        keep = near | ((blocks & ORDINAL) < FIRST_BLOCKS)
        blocks, rows = blocks[keep], rows[keep]
        cosines = self.store.matrix()[rows] @ query
        _, note = np.unique(blocks >> ORD_BITS, return_inverse=True)
        whole = (np.bincount(note, cosines) / np.bincount(note))[note]
        known = dict(zip(blocks.tolist(), cosines.tolist(), strict=True))
        found = np.isin(blocks, asked)
        return {
            block: rank.Closeness(known[block], _around(known, block), mean)
            for block, mean in zip(blocks[found].tolist(), whole[found].tolist(), strict=True)
        }

    def note_vector(self, catalog: Catalog, note: int) -> NDArray[np.float32] | None:
        """The mean of a note's vectors, normalised; None when it has none yet."""
        blocks, rows = self._live_rows(catalog)
        own = rows[(blocks >> ORD_BITS) == note]
        if not len(own):
            return None
        mean = self.store.matrix()[own].mean(axis=0)
        length = float(np.linalg.norm(mean))
        return mean / length if length else None

    def _live_rows(self, catalog: Catalog) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Block numbers and the rows of their vectors, remembered until either side changes."""
        version = (catalog.version(), self.store.generation, len(self.store))
        if self._live and self._live[0] == version:
            return self._live[1:]
        table = catalog.db.execute(
            "SELECT b.note, b.ordinal, b.hash FROM blocks b JOIN notes n ON n.id = b.note WHERE n.excluded = 0"
        ).fetchall()
        known = self.store.known({row[2] for row in table})
        pairs = [
            (note << ORD_BITS | n, known[digest]) for note, n, digest in table if digest in known
        ]
        columns = np.array(pairs, dtype=np.int64).reshape(-1, 2)
        self._live = (version, columns[:, 0].copy(), columns[:, 1].copy())
        distinct = np.unique(columns[:, 1])
        self._all_rows = None if len(distinct) == len(self.store) else distinct
        return self._live[1:]


def _around(cosines: dict[int, float], block: int) -> float:
    """The mean cosine of the blocks just before and after; a block alone stands in for them."""
    beside = [cosines[near] for near in (block - 1, block + 1) if near in cosines]
    return sum(beside) / len(beside) if beside else cosines[block]


def models_folder(state: State) -> str:
    """Where prepared models are: beside the states of all vaults, shared by them."""
    return state.path("..", "models")
