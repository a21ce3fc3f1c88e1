"""Search by meaning: which blocks still need a vector, and which are nearest to a question."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path

from vaultmem import paths
from vaultmem.config import Config
from vaultmem.embedding.embed import TextEmbedder
from vaultmem.embedding.models import DEFAULT, open_embedder
from vaultmem.errors import ConfigError, ModelError
from vaultmem.index import LOCAL, catalog_read
from vaultmem.index.catalog import Catalog, among
from vaultmem.index.state import State
from vaultmem.light import TYPE_CHECKING, NamedTuple
from vaultmem.memories import access
from vaultmem.notes import blocks as note_facts
from vaultmem.notes.blocks import text_hash
from vaultmem.notes.dialects import Rulebook, open_rulebook, read_note
from vaultmem.progress import current_progress
from vaultmem.search import publish, rank
from vaultmem.search.model_vectors import ModelVectors, Vectors, similarities
from vaultmem.search.search import Searcher
from vaultmem.text import scripts
from vaultmem.vault import identity
from vaultmem.vectors.shared_index import Health

if TYPE_CHECKING:
    from vaultmem.search.seats import Seats
    from vaultmem.vectors.shared_index import Mirror, Place

BLOCKS_AT_ONCE = 512  # read, embed and store this many at a time
BLOCKS_ASIDE = 128  # the same if someone may be waiting for the newest
NEAR_A_NOTE = 200  # blocks that may relate notes
SAME = "same"  # the value of embedding.other_scripts for no second model
SERVING = "serving"  # file beside the vectors: the setting of the last model with complete vectors


class Pending(NamedTuple):
    """A note with blocks that have no vector yet."""

    note: int
    path: str
    raw: str | None
    hashes: set[bytes]


class Second(NamedTuple):
    """The model for other scripts: its name, their blocks, those that it has embedded, and why there is none."""

    model: str
    blocks: int
    embedded: int
    problem: str | None


class Done(NamedTuple):
    """The result of embed_pending."""

    blocks: int  # newly embedded
    left: list[Pending]  # notes not reached before it had to stop


class Meaning(ModelVectors):
    """The vectors of one vault under the configured model, or that of another `setting`. Raises ModelError if there
    is none. Blocks in other scripts than Latin may use a second model (`others`)."""

    successor: Meaning | None = None  # of the configured model, while its vectors are being made
    others: ModelVectors | None = None
    others_problem: str | None = None  # why a configured second model is missing

    def __init__(
        self, state: State, config: Config, threads: int | None, setting: str = ""
    ) -> None:
        self.folder = state.vault
        self.cap = config.number("index.max_note_bytes")
        self.dialect = config.text("dialect")
        is_local = not config.text("embedding.base_url")
        self.setting = setting or (config.text("embedding.model") if is_local else "")
        threads = threads or config.number("embedding.threads")
        embedder = open_embedder(config, state.models_folder(), threads, setting)
        threshold = config.number("vectors.hnsw_threshold")
        try:
            second = _open_second(state, config, threads, embedder.model.key)
        except ModelError as error:
            second, self.others_problem = None, str(error)
        super().__init__(state, embedder, threshold, False if second else None)
        if second:
            self.others = ModelVectors(state, second, threshold, True)
        # No service gets a private note unless its owner allows it.
        self._tells_all = self.embedder.is_local or config.text("embedding.private") == "on"
        self._config = config
        self._shared, self._shared_problem = self._open_shared() if not setting else (None, None)
        self._serving = Path(state.path("vec", SERVING))

    def close(self) -> None:
        """Close the files."""
        if self._shared:
            self._shared.close()
        for part in self.parts():
            part.store.close()
        if self.successor:
            self.successor.close()

    def parts(self) -> list[ModelVectors]:
        """The vectors of the one or two models."""
        return [self, self.others] if self.others else [self]

    def part_of(self, text: str) -> ModelVectors:
        """The vectors of the model for a text."""
        return self.others if self.others and scripts.is_other(text) else self

    def count(self) -> int:
        """How many vectors there are."""
        return sum(len(part.store) for part in self.parts())

    def second(self, catalog: Catalog) -> Second | None:
        """The second model, if configured."""
        name = (
            self.others.model.name if self.others else self._config.text("embedding.other_scripts")
        )
        if not (self.others or self.others_problem):
            return None
        rows = {row[2] for row in catalog_read.block_hashes(catalog, None, True)}
        done = len(rows) - len(self.others.store.missing(rows)) if self.others else 0
        return Second(name, len(rows), done, self.others_problem)

    def generations(self) -> list[int]:
        """The versions of the stores, which change when vectors are dropped."""
        return [part.store.generation for part in self.parts()]

    def serve(self) -> None:
        """All blocks have their vectors: searches use them from now on."""
        with contextlib.suppress(OSError):  # then the previous model's vectors serve again
            if not self._serving.exists() or self._serving.read_text("utf-8") != self.setting:
                Path(paths.keep_private(str(self._serving))).write_text(self.setting, "utf-8")

    def _open_shared(self) -> tuple[Mirror | None, str | None]:
        """The shared index that the settings name in place of this machine's own, or why there is none."""
        if self._config.text("index.backend") == LOCAL:
            return None, None
        from vaultmem.vectors import shared_index  # few have one

        name = identity.shared_name(self.folder, self._config.text("memory_folder"))
        try:
            setup = shared_index.Setup(self.store, self._config, name, self._text_at)
            return shared_index.open_shared(setup), None
        except ConfigError as error:
            return None, str(error)

    def _text_at(self, place: Place, digest: bytes) -> str:
        rules = open_rulebook(self.folder, self.dialect)
        return publish.text_at(rules, self.folder, place.path, self.cap, digest)

    def health(self) -> Health | None:
        """The health of the shared index; None if there is none."""
        if self._shared_problem:
            return Health(self._shared_problem, 0)
        return self._shared.health() if self._shared else None

    def publish(self, catalog: Catalog, notes: Collection[int] | None = None) -> bool:
        """Add to the shared index what it lacks (of `notes`, if given, in a vault large enough to make that
        worthwhile). Returns whether it is complete."""
        if self._shared is None:
            return True
        some = notes if notes and len(self.store) > self.threshold else None
        self._shared.publish(publish.places(catalog, some), whole=some is None)
        return self._shared.health() == Health(None, 0)

    def is_loaded(self) -> bool:
        """Whether all models with vectors to search are in memory."""
        return self.embedder.is_loaded() and all(part.is_ready() for part in self.parts())

    def load(self) -> None:
        """Load the models."""
        self.embedder.load()
        if self.others and not self.others.is_ready():
            self.others.embedder.load()

    def knows(self, text: str) -> bool:
        """Whether the model understands a text: the default one was trained on Latin letters."""
        return self.setting != DEFAULT or bool(self.others) or not scripts.OTHER_SCRIPT.search(text)

    def unload(self) -> None:
        """Unload the embedding models until the next use."""
        for part in self.parts():
            part.embedder.unload()
        if self.successor:
            self.successor.unload()

    def pending(self, catalog: Catalog, notes: Iterable[int] | None = None) -> list[Pending]:
        """The notes with blocks to embed (of `notes` only, if given), most recently changed first."""
        chosen, values = among("b.note", notes)
        statement = f"""SELECT b.note, f.path, f.raw, b.hash, b.other FROM blocks b JOIN files f ON f.id = b.note
            JOIN notes n ON n.id = b.note WHERE n.excluded = 0 {chosen}
            ORDER BY f.mtime_ns DESC, b.note"""  # noqa: S608 - own text
        rows = catalog.db.execute(statement, values).fetchall()
        missing = self.missing((digest, other) for *_, digest, other in rows)
        result: dict[int, Pending] = {}
        for note, path, raw, digest, _ in rows:
            if digest in missing:
                result.setdefault(note, Pending(note, path, raw, set())).hashes.add(digest)
        return list(result.values())

    def missing(self, blocks: Iterable[tuple[bytes, int]]) -> set[bytes]:
        """The hashes without a vector, given pairs of a hash and whether its text is in another script than Latin."""
        hashes: list[list[bytes]] = [[], []]
        for digest, other in blocks:
            hashes[other].append(digest)
        if self.others is None:
            return set(self.store.missing(hashes[0] + hashes[1]))
        return {*self.store.missing(hashes[0]), *self.others.store.missing(hashes[1])}

    def embed_pending(
        self, pending: list[Pending], rules: Rulebook, aside: Callable[[], bool] | None = None
    ) -> Done:
        """Embed what these notes lack, in their order.

        After any interruption, the next call continues. `aside` is called between two pieces of work, so that others
        can go first; if it returns False, finished work is stored and no more is begun.
        """
        current_progress().stage("embedding", sum(len(note.hashes) for note in pending))
        ended = False

        def goes_on() -> bool:
            nonlocal ended
            ended = ended or (aside is not None and not aside())
            return not ended

        size = BLOCKS_ASIDE if aside else BLOCKS_AT_ONCE
        stored: set[bytes] = set()
        for texts in self._portions(pending, rules, size, goes_on):
            for part in self.parts():
                of_one = [text for text in texts if self.part_of(text) is part]
                if not ended:
                    stored |= part.embed(of_one, goes_on)
            if ended:
                break
        rest = ((note, note.hashes - stored) for note in pending if ended)
        left = [Pending(note.note, note.path, note.raw, hashes) for note, hashes in rest if hashes]
        return Done(len(stored), left)

    def _portions(
        self, pending: list[Pending], rules: Rulebook, size: int, goes_on: Callable[[], bool]
    ) -> Iterator[list[str]]:
        texts: dict[bytes, str] = {}
        for item in pending:
            note = read_note(rules, self.folder, item.path, item.raw, self.cap)
            if access.is_private(note.note.properties) and not self._tells_all:
                continue
            for block in note.blocks:
                text = note_facts.embedded_text(note.note.title, block)
                if text_hash(text) in item.hashes:
                    texts[text_hash(text)] = text
            if not goes_on():
                return
            if len(texts) >= size:
                yield list(texts.values())
                texts = {}
        if texts:
            yield list(texts.values())

    def tidy(self, catalog: Catalog) -> None:
        """Drop vectors of missing texts if they are the majority; build a graph if that pays off."""
        if self._shared:
            self._shared.prepare()
            self.publish(catalog)
        super().tidy(catalog)
        if self.others:
            self.others.tidy(catalog)

    def look(self, catalog: Catalog) -> None:
        """Map blocks to vectors so that the next search need not: the first time takes seconds in a very large
        vault."""
        for part in self.parts():
            part.live.look(catalog)

    def lacking(self, catalog: Catalog, blocks: Iterable[int]) -> dict[int, bytes]:
        """The blocks without a vector, each with its hash."""
        block_list, result = list(blocks), dict[int, bytes]()
        for part in self.parts():
            result |= part.live.look(catalog).lacking(block_list)
        return result

    def blocks_near(self, catalog: Catalog, text: str, count: int,
                    notes: Collection[int] | None = None, *, all_but: bool = False) -> dict[int, float]:  # fmt: skip
        """The blocks nearest to a question by each model, with their cosines."""
        result: dict[int, float] = {}
        for part, query, share in self._queries(text):
            near = part.nearest(catalog, query, count, notes, all_but=all_but)
            result |= {block: 1 - (1 - cosine) * share for block, cosine in near.items()}
        return result

    def close_to(self, catalog: Catalog, text: str, blocks: Collection[int], seats: Seats | None,
                 ) -> dict[int, rank.Closeness]:  # fmt: skip
        """How close each wanted block is to a question, if embedded by a model that can compare the two."""
        result: dict[int, rank.Closeness] = {}
        for part, query, share in self._queries(text):
            near = part.closeness(catalog, query, blocks, seats)
            result |= {block: close.scaled(share) for block, close in near.items()}
        return result

    def _queries(self, text: str) -> list[tuple[ModelVectors, Vectors, float]]:
        """The models that can compare a question with their blocks, each with its vector, and the correction of
        cosines between two scripts."""
        is_other = bool(self.others) and scripts.is_other(text)
        queries: list[tuple[ModelVectors, Vectors, float]] = []
        if not is_other:
            queries.append((self, self.embedder.query(text), 1.0))
        if self.others and len(self.others.store):
            query = self.others.embedder.query(text)
            queries.append((self.others, query, 1.0 if is_other else self.others.across))
        return queries

    def near_note(self, catalog: Catalog, note: int) -> dict[int, float]:
        """The blocks nearest to a note, as far as embedded by the same model."""
        result: dict[int, float] = {}
        for part in self.parts():
            if (vector := part.note_vector(catalog, note)) is not None:
                result |= part.nearest(catalog, vector, NEAR_A_NOTE)
        return result

    def similarities(self, hashes: list[bytes]) -> list[list[float]] | None:
        """The cosine of each text to each, by hash; None if one has no vector yet. Texts embedded by two models are
        not comparable."""
        return similarities(self.parts(), hashes)


def _open_second(state: State, config: Config, threads: int, first: str) -> TextEmbedder | None:
    setting = config.text("embedding.other_scripts")
    if setting == SAME or config.text("index.backend") != LOCAL:
        return None
    embedder = open_embedder(config, state.models_folder(), threads, setting)
    return embedder if embedder.model.key != first else None


def open_meaning(state: State, config: Config, threads: int | None = None) -> Meaning:
    """The vectors that searches use: those of the configured model or, while these are being made, those of its
    predecessor. Raises ModelError if there is no model."""
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
    if not older.count():
        older.close()
        return made
    if older.others and made.others:
        older.others.embedder = made.others.embedder
    older.successor = made
    return older


def embed(searcher: Searcher) -> tuple[int, str | None, str | None]:
    """Embed what is missing. Returns the number of blocks, the model's name, and why there is none."""
    try:
        serving = searcher.meaning()
    except ModelError as error:
        return 0, None, str(error)
    meaning = serving.successor or serving
    rules = open_rulebook(searcher.folder, searcher.config.text("dialect"))
    try:
        done = meaning.embed_pending(meaning.pending(searcher.catalog), rules).blocks
    except ModelError as error:
        return 0, meaning.model.name, str(error)
    meaning.serve()
    meaning.tidy(searcher.catalog)
    return done, meaning.model.name, None
