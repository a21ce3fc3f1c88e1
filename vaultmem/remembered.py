"""What searches ask of the catalog again and again, remembered until the catalog changes."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from functools import cached_property

from vaultmem.core import access, decay, uri
from vaultmem.core.query import Filter
from vaultmem.core.values import TYPE_CHECKING
from vaultmem.store import catalog_read, filters
from vaultmem.store.catalog import Catalog

if TYPE_CHECKING:
    from vaultmem.store.catalog_read import BlockPlace, PlaceRow

LEARNING = "fsrs"
MOST_PLACES = 2000
MOST_FILTERS = 8  # each may be a set of all notes

Pair = tuple[int, int]  # a note and the ordinal of a block in it


class Remembered:
    """One state of the catalog, as far as somebody has asked for it. Nothing that is given out is copied:
    it is for reading. A change in the middle is no harm: the next look at the version ends all this.
    """

    half_life = decay.HALF_LIFE_HOURS

    def __init__(self, catalog: Catalog, version: object, folder: str, memory_folder: str) -> None:
        self.version = version
        self._catalog = catalog
        self._folder = folder
        self._memory_folder = memory_folder
        self._templates: dict[str, str] = {}
        self._fitting: dict[tuple[tuple[str, str, bool], ...], set[int]] = {}
        self._places: dict[Pair, PlaceRow] = {}
        self._ranges: dict[Pair, Pair] = {}
        self._hidden: dict[tuple[str, frozenset[str]], dict[int, tuple[str, str]]] = {}
        self._faded: tuple[int, set[int]] = (0, set())  # so many of the oldest, and which

    @cached_property
    def copies(self) -> set[int]:
        """The sync conflict copies."""
        return set(catalog_read.conflict_copies(self._catalog))

    @cached_property
    def gone(self) -> frozenset[int]:
        """Notes whose words are in the keyword index for a moment longer than they are: else they would take the
        places of others in an answer."""
        return frozenset(self._catalog.orphans())

    @cached_property
    def summed_up(self) -> frozenset[int]:
        """Memories that a summary stands for."""
        from vaultmem.store import recall_rows  # few need it to start

        return recall_rows.summed_up(self._catalog, self._memory_folder)

    @cached_property
    def spoken(self) -> frozenset[int]:
        """What was said in conversations: many short notes, which would stand before a person's own."""
        from vaultmem.store import recall_rows  # few need it to start

        return recall_rows.spoken(self._catalog, self._memory_folder)

    def hidden_from(self, viewer: access.Viewer) -> dict[int, tuple[str, str]]:
        """The notes that somebody may not see, with their paths and the reasons."""
        key = viewer.name, viewer.also
        if key not in self._hidden:
            from vaultmem.store import recall_rows  # few need it to start

            if len(self._hidden) >= MOST_FILTERS:
                self._hidden.clear()
            inside = self._memory_folder + "/"
            self._hidden[key] = {
                note: (path, reason)
                for note, path, own in recall_rows.restricted(self._catalog)
                if (reason := access.hidden(own, viewer, memory=path.startswith(inside)))
            }
        return self._hidden[key]

    def faded(self, minimum: float, now: float) -> set[int]:
        """Memories whose confidence has sunk below the minimum."""
        if minimum <= 0:
            return set()
        learning = [each for each in self._memories if each[1].policy == LEARNING]
        found = self._aged(minimum, now)
        if not learning:
            return found
        sure = self._by_reads([aging for _, aging in learning], now)
        return found | {note for note, aging in learning if sure[aging.id] < minimum}

    def _aged(self, minimum: float, now: float) -> set[int]:
        """Those that sink by age alone. The older one is, the less sure it is: only some in the middle of the row have
        to be looked at, instead of thousands at every search."""
        row = self._oldest_first
        end = bisect_left(row, True, key=lambda each: self._sinking(each[1], now) >= minimum)
        known = self._faded
        if end != known[0]:
            known = self._faded = end, {note for note, _ in row[:end]}
        return known[1]

    def confidence(self, aging: decay.Aging, now: float) -> float:
        """How sure one memory still is."""
        if aging.policy != LEARNING:
            return self._sinking(aging, now)
        return self._by_reads([aging], now)[aging.id]

    def _sinking(self, aging: decay.Aging, now: float) -> float:
        return aging.confidence(now, self.half_life)

    def _by_reads(self, agings: list[decay.Aging], now: float) -> dict[str, float]:
        """The same for those whose policy learns from being read, by id. Few have it, and it takes long to load."""
        from vaultmem.store import reads, spaced
        from vaultmem.store.ledger import Ledger
        from vaultmem.store.state import State

        known = reads.counts(Ledger(State(self._folder).path("ledger.db")))
        times = {each.id: known[each.id].times if each.id in known else () for each in agings}
        return {each.id: spaced.confidence(each, times[each.id], now) for each in agings}

    @cached_property
    def _oldest_first(self) -> list[tuple[int, decay.Aging]]:
        found = [each for each in self._memories if each[1].policy != LEARNING]
        return sorted(found, key=lambda each: each[1].since)

    @cached_property
    def _memories(self) -> list[tuple[int, decay.Aging]]:
        rows = catalog_read.aging_memories(self._catalog, self._memory_folder)
        agings = (
            (note, decay.aging_of(decay.policy(given), own_id, *times))
            for note, category, (own_id, given, *times) in rows
        )
        return [each for each in agings if each[1].policy != "stable"]

    def uri(self, dialect: str, path: str, title: str) -> str:
        """The link that opens a note in its editor."""
        if dialect not in self._templates:
            self._templates[dialect] = self._catalog.meta(f"uri {dialect}") or ""
        return uri.fill(self._templates[dialect], self._folder, path, title)

    def notes_that_fit(self, wanted: Iterable[Filter]) -> set[int] | None:
        """The notes that pass all filters; None without filters."""
        asked = tuple(wanted)
        if not asked:
            return None
        key = tuple((one.field, one.value, one.negated) for one in asked)
        if key not in self._fitting:
            if len(self._fitting) >= MOST_FILTERS:
                self._fitting.clear()
            self._fitting[key] = filters.notes_that_fit(self._catalog, asked) or set()
        return self._fitting[key]

    def places(self, blocks: list[Pair]) -> dict[Pair, BlockPlace]:
        """The places of blocks; those that are gone are left out."""
        if missing := [block for block in blocks if block not in self._places]:
            if len(self._places) > MOST_PLACES:
                self._places.clear()
                missing = blocks
            self._places.update(catalog_read.place_rows(self._catalog, missing))
        known = self._places
        return {block: catalog_read.as_place(known[block]) for block in blocks if block in known}

    def ranges(self, blocks: list[Pair]) -> dict[Pair, Pair]:
        """The first and last lines of blocks; those that are gone are left out."""
        if missing := [block for block in blocks if block not in self._ranges]:
            if len(self._ranges) > MOST_PLACES:
                self._ranges.clear()
                missing = blocks
            self._ranges.update(catalog_read.line_ranges(self._catalog, missing))
        return {block: self._ranges[block] for block in blocks if block in self._ranges}
