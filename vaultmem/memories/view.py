"""The vault as a plan sees it (memories.draft.View), from files, catalog, ledger and model."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING

from vaultmem.adapter import FrontMatter
from vaultmem.index import catalog_read
from vaultmem.memories.collection import Collection
from vaultmem.memories.decay import HALF_LIFE_HOURS
from vaultmem.memories.model import ARCHIVE, CATEGORIES, Memory
from vaultmem.memories.reader import Reader
from vaultmem.memories.reads import ReadCount
from vaultmem.memories.records import confidence, reads_of
from vaultmem.reminders.answers import Answer
from vaultmem.reminders.pending_items import is_approved
from vaultmem.vault.dialects import Rulebook
from vaultmem.vault.walk import walk

if TYPE_CHECKING:
    from vaultmem.index.catalog import Catalog
    from vaultmem.memories.prototypes import Examples, Nearness


class Sources:
    """Where a view looks."""

    def __init__(self, vault: str, folder: str, rules: Rulebook, collection: Collection) -> None:
        self.vault, self.folder, self.rules, self.collection = vault, folder, rules, collection
        self.examples: Examples | None = None
        self.half_life = HALF_LIFE_HOURS
        self.answers: Callable[[], Mapping[str, Answer]] = dict  # of the person


class VaultView:
    """One look at the vault. Made for one plan; what it has seen does not change under the plan."""

    def __init__(
        self, sources: Sources, reader: Reader, reads: Mapping[str, ReadCount], now: datetime
    ) -> None:
        self.now = now
        self.folder = sources.folder
        self._sources = sources
        self._reader = reader
        self._reads = reads
        self._live = sources.collection.live()

    def memories(self) -> Sequence[Memory]:
        """All memories that live, by path."""
        return self._live

    def archived(self) -> Sequence[Memory]:
        """All memories in the archive, by path."""
        return self._sources.collection.archived()

    def content(self, memory: Memory) -> str:
        """Its content, read now."""
        return self._sources.collection.content(memory)

    def reads(self, memory: Memory) -> int:
        """How often it was read."""
        return reads_of(memory, self._reads)

    def confidence(self, memory: Memory) -> float:
        """How sure it still is."""
        return confidence(memory, self._reads, self.now.timestamp(), self._sources.half_life)

    def is_approved(self, memory: Memory) -> bool:
        """Whether a person has said so."""
        return is_approved(memory.id, self._answers)

    @cached_property
    def _answers(self) -> Mapping[str, Answer]:
        return self._sources.answers()

    def has_id(self, id_: str) -> bool:
        """Whether any memory, alive or archived, has it."""
        return id_ in self._ids

    @cached_property
    def _ids(self) -> set[str]:
        return {memory.id for memory in (*self._live, *self._sources.collection.archived())}

    def is_taken(self, title: str) -> bool:
        """Whether [[title]] would lead somewhere already."""
        if self._sources.collection.has_title(title) or self._is_blocked(title):
            return True
        path = f"{self.folder}/inbox/{title}.md"
        catalog = self._catalog
        if catalog is None:
            return title.lower() in self._stems
        rules = self._sources.rules
        note = rules.parse(path, "", FrontMatter({}, None, 0))
        return any(self._named(catalog, name) for name in rules.names(path, note))

    def _is_blocked(self, title: str) -> bool:
        """Whether something that is no note has the name, in any folder of memories."""
        root = f"{self._sources.vault}/{self.folder}"
        return any(os.path.lexists(f"{root}/{name}/{title}.md") for name in (*CATEGORIES, ARCHIVE))

    @cached_property
    def _catalog(self) -> Catalog | None:
        searcher = self._reader.searcher()
        return searcher.catalog if searcher else None

    @cached_property
    def _stems(self) -> set[str]:
        """The names of all notes, of a vault that was never indexed."""
        found = walk(self._sources.vault, [])
        return {os.path.basename(entry.path).removesuffix(".md").lower() for entry in found}

    def exists(self, path: str) -> bool:
        """Whether there is such a file, in any case of letters, or something else of that name."""
        return self._sources.collection.exists(path) or os.path.lexists(
            f"{self._sources.vault}/{path}"
        )

    def target(self, name: str) -> str | None:
        """What [[name]] leads to, as a note in the memory folder would mean it."""
        own = self._sources.collection.titled(name.strip())
        if own is not None:
            return own.path
        catalog = self._catalog
        return None if catalog is None else self._resolved(catalog, name)

    def _resolved(self, catalog: Catalog, name: str) -> str | None:
        rules = self._sources.rules
        source = f"{self.folder}/inbox/-.md"
        note = rules.numbered(source, rules.parse(source, f"[[{name}]]", FrontMatter({}, None, 0)))
        if not note.links or not note.links[0].key:
            return None
        link = note.links[0]
        found = [self._named(catalog, wanted) for wanted in rules.lookups(link.key)]
        return rules.resolve(link.path, link.key, source, found).path

    def _named(self, catalog: Catalog, name: str) -> list[str]:
        rows = catalog.db.execute(
            "SELECT f.path FROM names n JOIN files f ON f.id = n.file WHERE n.name = ? ORDER BY f.path",
            (name,),
        )
        return [str(row[0]) for row in rows]

    def sources(self, path: str) -> Sequence[str]:
        """The notes that link there."""
        if self._catalog is None:
            return ()
        links = catalog_read.links_to(self._catalog, path)
        return sorted({link.source for link in links} - {path})

    def closeness(self, texts: Sequence[str]) -> Mapping[str, Mapping[str, float]] | None:
        """How close texts are to the categories' examples."""
        found = self._reader.local_meaning()
        if found is None or not texts:
            return None
        from vaultmem.memories.prototypes import Examples

        if self._sources.examples is None:
            self._sources.examples = Examples()
        return self._sources.examples.closeness(found, texts)

    def familiarity(self, texts: Sequence[str]) -> Mapping[str, float | None] | None:
        """How near texts are to the middle of all memories."""
        found = self._reader.local_meaning()
        if found is None or self._nearness is None:
            return None
        from vaultmem.memories.prototypes import cosines

        centroid = self._nearness.centroid()
        if centroid is None:
            return dict.fromkeys(texts)
        return dict(zip(texts, cosines(found, texts, centroid), strict=True))

    def alike(self, memory: Memory, least: float) -> Sequence[tuple[str, float]]:
        """Memories of nearly the same meaning."""
        return self._nearness.alike(memory.path, least) if self._nearness else ()

    @cached_property
    def _nearness(self) -> Nearness | None:
        found = self._reader.meaning()
        if found is None:
            return None
        from vaultmem.memories.prototypes import Nearness

        return Nearness(*found, self._live)
