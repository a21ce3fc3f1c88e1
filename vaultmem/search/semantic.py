"""Search by meaning: which blocks still need a vector, and which are nearest to a question."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import wraps
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from vaultmem import paths
from vaultmem.config import Config
from vaultmem.errors import ConfigError, ModelError
from vaultmem.index import ORD_BITS
from vaultmem.index.catalog import Catalog
from vaultmem.index.exact import Allowed
from vaultmem.index.live_rows import LiveRows, joined_vectors
from vaultmem.index.minilm import MEAN
from vaultmem.index.models import DEFAULT, Model, open_embedder
from vaultmem.index.state import State
from vaultmem.index.vectors import VectorStore, open_index
from vaultmem.light import TYPE_CHECKING, NamedTuple
from vaultmem.memories import access
from vaultmem.progress import Progress, Silent
from vaultmem.search import publish, rank
from vaultmem.search.search import Searcher
from vaultmem.text import scripts
from vaultmem.vault import blocks as note_facts
from vaultmem.vault import files, identity
from vaultmem.vault.blocks import text_hash
from vaultmem.vault.dialects import Rulebook, open_rulebook, read_note

if TYPE_CHECKING:
    from vaultmem.index.shared_index import Health, Place, SharedIndex
    from vaultmem.search.seats import Seats

BLOCKS_AT_ONCE = 512  # read, embed and store so many, then the next
BLOCKS_ASIDE = 128  # the same where somebody may wait for the newest of them
FIRST_BLOCKS = 32
ORDINAL = (1 << ORD_BITS) - 1
SERVING = "serving"  # beside the vectors: the setting of the model whose vectors were complete last
T = TypeVar("T")
Cosines = TypeVar("Cosines", float, NDArray[np.float32])
P = ParamSpec("P")


class Pending(NamedTuple):
    """A note with blocks that have no vector yet."""

    note: int
    path: str
    raw: str | None
    hashes: set[bytes]


class Done(NamedTuple):
    """What a call of embed_pending has done."""

    blocks: int  # newly embedded
    left: list[int]  # the notes that it did not come to, because it had to stop


def _steady(work: Callable[Concatenate[Meaning, P], T]) -> Callable[Concatenate[Meaning, P], T]:
    """Work that looks rows up and then reads them: done again when the rows have got other numbers in between, because
    another thread has tidied them or had to begin anew."""

    @wraps(work)
    def steadily(self: Meaning, /, *args: P.args, **kwargs: P.kwargs) -> T:
        while True:
            before = self.store.generation
            try:
                result = work(self, *args, **kwargs)
            except IndexError:  # there are fewer rows now
                if before == self.store.generation:
                    raise
                continue
            if before == self.store.generation:
                return result

    return steadily


class Meaning:
    """The vectors of one vault under the configured model, or under that of another `setting`. Raises ModelError when
    there is none."""

    successor: Meaning | None = None  # of the model that is set, while its vectors are being made

    def __init__(
        self, state: State, config: Config, threads: int | None = None, setting: str = ""
    ) -> None:
        self.folder = state.vault
        self.cap = config.number("index.max_note_bytes")
        self.dialect = config.text("dialect")
        is_local = not config.text("embedding.base_url")
        self.setting = setting or (config.text("embedding.model") if is_local else "")
        self.embedder = open_embedder(
            config, state.models_folder(), threads or config.number("embedding.threads"), setting
        )
        self.model: Model = self.embedder.model
        # No service gets a private note, unless its owner says so.
        self._tells_all = self.embedder.is_local or config.text("embedding.private") == "on"
        self.store = VectorStore(state.path("vec", self.model.key), self.model.dimensions)
        self._threshold = config.number("vectors.hnsw_threshold")
        self._live = LiveRows(self.store)
        self._config = config
        self._shared, self._shared_problem = self._open_shared() if not setting else (None, None)
        self._serving = Path(state.path("vec", SERVING))

    def close(self) -> None:
        """Let go of the files."""
        if self._shared:
            self._shared.close()
        self.store.close()
        if self.successor:
            self.successor.close()

    def serve(self) -> None:
        """All blocks have their vectors: from now on searches use them."""
        with contextlib.suppress(OSError):  # then those of the model before serve once more
            if not self._serving.exists() or self._serving.read_text("utf-8") != self.setting:
                Path(paths.keep_private(str(self._serving))).write_text(self.setting, "utf-8")

    def _open_shared(self) -> tuple[SharedIndex | None, str | None]:
        """The index that the settings name in place of this machine's own, or why there is none."""
        if self._config.text("index.backend") == "local":
            return None, None
        from vaultmem.index import shared_index  # few have one

        name = identity.shared_name(self.folder, self._config.text("memory_folder"))
        try:
            setup = shared_index.Setup(self.store, self._config, name, self._text_at)
            return shared_index.open_shared(setup), None
        except ConfigError as error:
            return None, str(error)

    def _text_at(self, place: Place, digest: bytes) -> str:
        rules = open_rulebook(files.Root(self.folder), self.dialect)
        return publish.text_at(rules, self.folder, place.path, self.cap, digest)

    def health(self) -> Health | None:
        """How the shared index is; None where there is none."""
        if self._shared_problem:
            return publish.Health(self._shared_problem, 0)
        return self._shared.health() if self._shared else None

    def publish(self, catalog: Catalog, notes: Collection[int] | None = None) -> bool:
        """Give the shared index what it lacks (of `notes`, if any, in a vault so large that they are worth choosing);
        whether it has all now."""
        if self._shared is None:
            return True
        some = notes if notes and len(self.store) > self._threshold else None
        self._shared.publish(publish.places(catalog, some), whole=some is None)
        return self._shared.health() == publish.Health(None, 0)

    def is_loaded(self) -> bool:
        """Whether the embedding model is in memory."""
        return self.embedder.is_loaded()

    def knows(self, text: str) -> bool:
        """Whether the model can know a text: the default one has learned texts in Latin letters."""
        return self.setting != DEFAULT or not scripts.OTHER_SCRIPT.search(text)

    def unload(self) -> None:
        """Give the memory of the embedding model back until the next use."""
        self.embedder.unload()
        if self.successor:
            self.successor.unload()

    def pending(self, catalog: Catalog, notes: Iterable[int] | None = None) -> list[Pending]:
        """The notes with blocks to embed (of `notes` only, if any), the most recently changed first."""
        chosen = "" if notes is None else "AND b.note IN (SELECT value FROM json_each(?))"
        statement = f"""SELECT b.note, f.path, f.raw, b.hash FROM blocks b JOIN files f ON f.id = b.note
            JOIN notes n ON n.id = b.note WHERE n.excluded = 0 {chosen}
            ORDER BY f.mtime_ns DESC, b.note"""  # noqa: S608 - own text
        values = [] if notes is None else [json.dumps(list(notes))]
        rows = catalog.db.execute(statement, values).fetchall()
        missing = set(self.store.missing(row[3] for row in rows))
        result: dict[int, Pending] = {}
        for note, path, raw, digest in rows:
            if digest in missing:
                result.setdefault(note, Pending(note, path, raw, set())).hashes.add(digest)
        return list(result.values())

    def embed_pending(self, catalog: Catalog, rules: Rulebook, progress: Progress, *,
                      notes: Iterable[int] | None = None, aside: Callable[[], bool] | None = None) -> Done:  # fmt: skip
        """Embed what is missing (of `notes` only, if any), newest notes first.

        Whatever stops it, the next call goes on. `aside` is called between two pieces of work, so that
        others can go first; when it says False, what is done is stored and nothing more is begun.
        """
        pending = self.pending(catalog, notes)
        progress.stage("embedding", sum(len(one.hashes) for one in pending))
        going = _Going(aside)
        size = BLOCKS_ASIDE if aside else BLOCKS_AT_ONCE
        stored: set[bytes] = set()
        for texts in self._portions(pending, rules, size, going):
            stored |= self._embed(texts, progress, going)
        left = [one.note for one in pending if one.hashes - stored] if going.ended else []
        return Done(len(stored), left)

    def _embed(self, texts: list[str], progress: Progress, going: _Going) -> set[bytes]:
        """Their hashes, as far as they were embedded before it was time to stop."""
        stored: list[tuple[bytes, NDArray[np.float32]]] = []
        try:
            for indices, vectors in self.embedder.batches(texts):
                stored += zip((text_hash(texts[i]) for i in indices), vectors, strict=True)
                progress.advance(len(indices))
                if not going.on():
                    break
        finally:
            if stored:
                self.store.append([key for key, _ in stored], np.array([row for _, row in stored]))
        return {key for key, _ in stored}

    def _portions(
        self, pending: list[Pending], rules: Rulebook, size: int, going: _Going
    ) -> Iterator[list[str]]:
        texts: dict[bytes, str] = {}
        for one in pending:
            note = read_note(rules, self.folder, one.path, one.raw, self.cap)
            is_private = access.is_private(note.note.properties) or access.says_private(
                note.read.text
            )
            if is_private and not self._tells_all:
                continue
            for block in note.blocks:
                text = note_facts.embedded_text(note.note.title, block)
                if text_hash(text) in one.hashes:
                    texts[text_hash(text)] = text
            if not going.on():
                return
            if len(texts) >= size:
                yield list(texts.values())
                texts = {}
            if going.ended:
                return
        if texts:
            yield list(texts.values())

    def tidy(self, catalog: Catalog) -> None:
        """Drop vectors of texts that are gone, when these are the most; make a graph when it pays."""
        if self._shared:
            self._shared.prepare()
            self.publish(catalog)
        seen = len(self.store)
        live = [row[0] for row in catalog.db.execute("SELECT DISTINCT hash FROM blocks")]
        self.store.compact(live, seen)
        if not self._shared:
            open_index(self.store, self._threshold).prepare()

    @_steady
    def nearest(self, catalog: Catalog, query: NDArray[np.float32], count: int,
                notes: Collection[int] | None = None, *, all_but: bool = False) -> dict[int, float]:  # fmt: skip
        """The blocks nearest to a vector: block number -> cosine. `notes` limits the search to some notes, or
        to `all_but` them."""
        live = self._live
        live.look(catalog)
        some = notes is not None and not all_but
        allowed: Allowed | None = (
            np.unique(live.of_notes(notes or ())[1]) if some else live.in_use(notes or ())
        )
        if not len(live.rows) or (allowed is not None and not len(allowed)):
            return {}
        index = self._shared or open_index(self.store, self._threshold)
        hits = dict(index.search(query, count, allowed))
        return {
            block: self._comparable(hits[row])
            for block, row in live.at_rows(hits)
            if notes is None or (block >> ORD_BITS in notes) is not all_but
        }

    @_steady
    def closeness(
        self,
        catalog: Catalog,
        query: NDArray[np.float32],
        wanted: Collection[int],
        seats: Seats | None = None,
    ) -> dict[int, rank.Closeness]:
        """How close each wanted block that has a vector is, with the blocks around it and its note. Of a long note the
        first FIRST_BLOCKS blocks and those near wanted ones stand for the whole."""
        self._live.look(catalog)
        notes = {block >> ORD_BITS for block in wanted}
        blocks, rows = self._live.of_notes(seats.mates(notes) if seats else notes)
        places = np.fromiter(map(seats.of, blocks.tolist()), np.int64) if seats else blocks
        numbers = np.fromiter(map(seats.of if seats else int, wanted), np.int64)
        near = np.isin(places, np.concatenate([numbers - 1, numbers, numbers + 1]))
        keep = np.flatnonzero(near | ((places & ORDINAL) < FIRST_BLOCKS))
        keep = keep[np.argsort(places[keep])]
        blocks, rows, places = blocks[keep], rows[keep], places[keep]
        vectors = self.store.matrix()[rows]
        cosines = self._comparable(vectors @ query)
        _, note = np.unique(places >> ORD_BITS, return_inverse=True)
        whole = (np.bincount(note, cosines) / np.bincount(note))[note]
        at = np.flatnonzero(np.isin(places, numbers))
        joined = self._comparable(joined_vectors(vectors, places, at, rank.JOINED_SHARES) @ query)
        columns = (one.tolist() for one in (blocks[at], cosines[at], joined, whole[at]))
        return {block: rank.Closeness(*parts) for block, *parts in zip(*columns, strict=True)}

    def lacking(self, catalog: Catalog, blocks: Iterable[int]) -> dict[int, bytes]:
        """Those of the blocks that have no vector yet, each with its hash."""
        self._live.look(catalog)
        return self._live.lacking(blocks)

    @_steady
    def note_vector(self, catalog: Catalog, note: int) -> NDArray[np.float32] | None:
        """The mean of a note's vectors, normalised; None when it has none yet."""
        self._live.look(catalog)
        _, own = self._live.of_notes([note])
        if not len(own):
            return None
        mean = self.store.matrix()[own].mean(axis=0)
        length = float(np.linalg.norm(mean))
        return mean / length if length else None

    @_steady
    def similarities(self, hashes: list[bytes]) -> list[list[float]] | None:
        """The cosine of each text to each, by their hashes; None where one has no vector yet."""
        known = self.store.known(dict.fromkeys(hashes))
        if len(known) < len(set(hashes)):
            return None
        vectors = self.store.matrix()[[known[key] for key in hashes]]
        rows: list[list[float]] = self._comparable(vectors @ vectors.T).tolist()
        return rows

    def _comparable(self, cosines: Cosines) -> Cosines:
        """Cosines as the default model would give them: its bars and weights mean nothing to a model whose cosines all
        lie between 0.7 and 1."""
        if self.model.mean == MEAN:
            return cosines
        return 1 - (1 - cosines) * ((1 - MEAN) / (1 - self.model.mean))

    def look(self, catalog: Catalog) -> None:
        """Find out which block has its vector where, so that the next search does not have to: the first
        look takes seconds in a very large vault."""
        self._live.look(catalog)


def open_meaning(state: State, config: Config, threads: int | None = None) -> Meaning:
    """The vectors that searches use: those of the model that is set; while these are being made, those of the model
    before, of which these are the successor. Raises ModelError when there is no model."""
    made = Meaning(state, config, threads)
    try:
        before = Path(state.path("vec", SERVING)).read_text("utf-8")
    except (OSError, ValueError):
        before = DEFAULT
    if made.setting in ("", before):
        return made
    try:
        older = Meaning(state, config, threads, before)
    except ModelError:
        return made
    if not len(older.store):
        older.close()
        return made
    older.successor = made
    return older


class _Going:
    """Whether to go on, as the one says for whom we step aside."""

    def __init__(self, aside: Callable[[], bool] | None) -> None:
        self._aside = aside
        self.ended = False

    def on(self) -> bool:
        """Step aside, then say whether to go on."""
        self.ended = self.ended or (self._aside is not None and not self._aside())
        return not self.ended


# Give blocks their vectors: after a sync, in portions, going on where the last run stopped.


def embed(
    searcher: Searcher, progress: Progress | None = None
) -> tuple[int, str | None, str | None]:
    """Embed what is missing; blocks embedded, the model's name, and why there is none."""
    try:
        serving = searcher.meaning()
    except ModelError as error:
        return 0, None, str(error)
    meaning = serving.successor or serving
    rules = open_rulebook(files.Root(searcher.folder), searcher.config.text("dialect"))
    try:
        done = meaning.embed_pending(searcher.catalog, rules, progress or Silent()).blocks
    except ModelError as error:
        return 0, meaning.model.name, str(error)
    meaning.serve()
    meaning.tidy(searcher.catalog)
    return done, meaning.model.name, meaning.store.notice
