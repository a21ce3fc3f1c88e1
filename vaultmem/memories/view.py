"""The vault as a plan sees it: files, catalog, ledger and model; none of it changes while the plan is made."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cached_property, partial

from vaultmem.adapter import FrontMatter
from vaultmem.index import catalog_read
from vaultmem.light import TYPE_CHECKING
from vaultmem.memories.model import ARCHIVE, CATEGORIES, Memory
from vaultmem.memories.records import reads_of
from vaultmem.notes.places import file_name, is_our_page
from vaultmem.plugins import language
from vaultmem.vault.walk import walk

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from vaultmem.index.catalog import Catalog
    from vaultmem.memories.store import Session
    from vaultmem.search.model_vectors import ModelVectors
    from vaultmem.search.search import Searcher
    from vaultmem.search.semantic import Meaning


class View:
    """The state of the vault for one plan."""

    def __init__(self, session: Session) -> None:
        self.now: datetime = session.local_time  # aware, in the person's zone
        self.folder = session.store.folder  # the memory folder's path in the vault
        self._session, self._store = session, session.store
        self._collection, self._reader = session.store.collection, session.reader
        # All living memories and those of the archive, by path; no conversations, no sync conflict copies.
        self.memories, self.archived = self._collection.live, self._collection.archived
        # The content of a memory, as it was when it was last seen to change; whether a person has approved it.
        self.content, self.is_approved = self._collection.text, session.is_approved

    def reads(self, memory: Memory) -> int:
        """How often it was read (listing does not count), as far as this machine knows."""
        return reads_of(memory, self._session.reads)

    def last_read(self, memory: Memory) -> float | None:
        """When it was last read, as far as this machine knows."""
        counted = self._session.reads.get(memory.id)
        return counted.last if counted else None

    def reinforced(self, memory: Memory) -> str:
        """When a person or an assistant last reinforced it, on any machine; "" for never."""
        return self._session.reinforced.get(memory.id, "")

    def has_id(self, id_: str) -> bool:
        """Whether any memory, living or archived, has this id."""
        return id_ in self._ids

    @cached_property
    def _ids(self) -> set[str]:
        return {memory.id for memory in (*self.memories(), *self.archived())}

    def is_taken(self, title: str) -> bool:
        """Whether [[title]] already leads somewhere, even if only as an alias of a page."""
        root = f"{self._store.vault}/{self.folder}"
        blocked = (f"{root}/{name}/{title}.md" for name in (*CATEGORIES, ARCHIVE))
        if self._collection.has_title(title) or any(map(os.path.lexists, blocked)):
            return True
        path = f"{self.folder}/inbox/{title}.md"
        catalog = self._catalog
        if catalog is None:
            return title.lower() in self._stems
        rules = self._store.rules
        note = rules.at(path).parse(path, "", FrontMatter({}, None, 0))
        names = rules.names(path, note)
        keys = {key for name in names for key in rules.affected(name)}
        names |= {name for key in keys for name in rules.lookups(key)}
        return any(catalog_read.files_named(catalog, name) for name in names)

    @cached_property
    def _catalog(self) -> Catalog | None:
        searcher = self._reader.searcher()
        return searcher.catalog if searcher else None

    @cached_property
    def _stems(self) -> set[str]:
        entries = walk(self._store.vault, [])
        return {os.path.basename(entry.path).removesuffix(".md").lower() for entry in entries}

    def exists(self, path: str) -> bool:
        """Whether there is such a file, ignoring case, or something else of that name."""
        return self._collection.exists(path) or os.path.lexists(f"{self._store.vault}/{path}")

    def target(self, name: str) -> str | None:
        """The target of [[name]] for a note in the memory folder."""
        memory = self._collection.titled(name.strip())
        if memory is not None:
            return memory.path
        catalog = self._catalog
        if catalog is None:
            return None
        source = f"{self.folder}/inbox/-.md"
        return self._store.rules.follow(name, source, partial(catalog_read.files_named, catalog))

    def name_of(self, path: str) -> str:
        """The shortest name by which links find the file at a path; "" for none."""
        if not path or self._catalog is None:
            return ""
        ids = catalog_read.note_ids(self._catalog, [path])
        heads = catalog_read.note_heads(self._catalog, [*ids.values()])
        titles = [head.title for head in heads.values()]
        names = [*titles, file_name(path), path.removesuffix(".md")]
        return next((name for name in names if self.target(name) == path), "")

    def sources(self, path: str) -> Sequence[str]:
        """The notes that link there."""
        if self._catalog is None:
            return ()
        links = catalog_read.links_to(self._catalog, path)
        return sorted({link.source for link in links} - {path})

    def is_linked(self, path: str) -> bool:
        """Whether a page written by a person links there; True without an index, since it may."""
        inner = (source.removeprefix(f"{self.folder}/") for source in self.sources(path))
        return self._catalog is None or not all(map(is_our_page, inner))

    def closeness(self, texts: Sequence[str]) -> Mapping[str, Mapping[str, float]] | None:
        """How close texts are to the categories' examples."""
        meaning = self._reader.local_meaning()
        if meaning is None or not texts:
            return None
        if self._store.examples is None:
            self._store.examples = Examples()
        return self._store.examples.closeness(meaning, texts)

    def familiarity(self, texts: Sequence[str]) -> Mapping[str, float | None] | None:
        """How near texts are to the centroid of all memories."""
        meaning = self._reader.local_meaning()
        if meaning is None or self._nearness is None:
            return None
        centroid = self._nearness.centroid()
        if centroid is None:
            return dict.fromkeys(texts)
        return dict(zip(texts, (meaning.embedder.embed(texts) @ centroid).tolist(), strict=True))

    def alike(self, memory: Memory, least: float) -> Sequence[tuple[str, float]]:
        """Memories with nearly the same meaning."""
        return self._nearness.alike(memory.path, least) if self._nearness else ()

    @cached_property
    def _nearness(self) -> Nearness | None:
        meaning = self._reader.meaning()
        if meaning is None:
            return None
        return Nearness(*meaning, self.memories())


# How near memories are in meaning: to each other, to typical sentences of each category, to the centroid of all.

NEAREST = 3  # the mean of this many of the best: one lucky sentence is not enough
NEIGHBOURS = 64  # of a memory: thousands may be filled-in copies of one template
ROWS_AT_ONCE = 256


class Nearness:
    """The vectors of memories that have one. Not thread-safe."""

    def __init__(self, searcher: Searcher, meaning: Meaning, memories: Sequence[Memory]) -> None:
        import numpy as np  # not needed to look up names

        ids = catalog_read.note_ids(searcher.catalog, [memory.path for memory in memories])
        self._parts: list[tuple[ModelVectors, list[str], NDArray[np.float32]]] = []
        for part in meaning.parts():
            similar = {
                path: vector
                for path, note in ids.items()
                if (vector := part.note_vector(searcher.catalog, note)) is not None
            }
            if similar:
                self._parts.append((part, [*similar], np.array([*similar.values()])))
        self._pairs: dict[float, dict[str, list[tuple[str, float]]]] = {}

    def alike(self, path: str, least: float) -> list[tuple[str, float]]:
        """The nearest memories with at least that cosine to one of these, nearest first."""
        if least not in self._pairs:
            self._pairs[least] = self._all_pairs(least)
        return self._pairs[least].get(path, [])

    def _all_pairs(self, least: float) -> dict[str, list[tuple[str, float]]]:
        import numpy as np

        near: dict[str, list[tuple[str, float]]] = {}
        for part, paths, rows in self._parts:
            for start in range(0, len(paths), ROWS_AT_ONCE):
                cosines = part.comparable(rows[start : start + ROWS_AT_ONCE] @ rows.T)
                most = min(NEIGHBOURS + 1, len(paths))  # and the memory itself
                nearest = np.argpartition(-cosines, most - 1)[:, :most]
                for one, others in enumerate(nearest, start):
                    row = cosines[one - start]
                    near.setdefault(paths[one], []).extend(
                        (paths[other], round(float(row[other]), 4))
                        for other in others
                        if row[other] >= least and other != one
                    )
        for pairs in near.values():
            pairs.sort(key=lambda pair: (-pair[1], pair[0]))
        return near

    def centroid(self) -> NDArray[np.float32] | None:
        """The normalized centroid of the first model's vectors; None if there are none."""
        import numpy as np

        rows = next((rows for part, _, rows in self._parts if part.other is not True), None)
        if rows is None:
            return None
        mean = rows.mean(axis=0)
        length = float(np.linalg.norm(mean))
        return mean / length if length else None


class Examples:
    """The embedded prototypes of the categories: typical sentences of each, embedded once."""

    def __init__(self) -> None:
        self._model: object = None
        self._rows: dict[str, NDArray[np.float32]] = {}

    def closeness(self, meaning: Meaning, texts: Sequence[str]) -> dict[str, dict[str, float]]:
        """For each text, how close it is to each category: the mean of its NEAREST best cosines."""
        import numpy as np

        if self._model is not meaning:
            groups = language().table("categories")["prototypes"].items()
            self._rows = {category: meaning.embedder.embed(group) for category, group in groups}
            self._model = meaning
        vectors, results = (
            meaning.embedder.embed(texts),
            {text: dict[str, float]() for text in texts},
        )
        for category, rows in self._rows.items():
            cosines = np.sort(meaning.comparable(vectors @ rows.T))[:, -NEAREST:]
            for text, close in zip(texts, cosines.astype(np.float64).mean(axis=1), strict=True):
                results[text][category] = float(close)
        return results
