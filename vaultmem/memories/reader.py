"""What memories need to know of the rest of the vault: its index, and the model if there is one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from vaultmem.errors import EmbeddingServiceError, ModelError, StateError, VaultmemError

if TYPE_CHECKING:
    from vaultmem.search.related import Related
    from vaultmem.search.search import Searcher
    from vaultmem.search.semantic import Meaning


class Opened(Protocol):
    """A vault with its index, as far as it is needed here (see vaultmem.api.Vault)."""

    def is_indexed(self) -> bool:
        """Whether there is an index that has once been whole."""

    def searcher(self) -> Searcher:
        """The open index."""

    def meaning_searcher(self) -> Searcher:
        """The open index with its vectors."""

    def warm_meaning(self) -> Meaning | None:
        """The vectors and the model, if the model is in memory already."""

    def mended(self, work: Callable[[], object]) -> object:
        """What some work gives that needs the index; where that is damaged, it is built anew first, if it can be."""


class Reader:
    """Asks the index and never fails for the want of one: a memory can be written before the first sync."""

    def __init__(self, vault: Opened) -> None:
        self._vault = vault
        self.trouble = ""  # why the service that embeds gave no vectors at the last try

    def searcher(self) -> Searcher | None:
        """The open index; None before the first sync, and when it is damaged."""
        try:
            return self._vault.searcher() if self._vault.is_indexed() else None
        except StateError:
            return None

    def meaning(self) -> tuple[Searcher, Meaning] | None:
        """The vectors, loading the model if need be; None without an index or a model."""
        self.trouble = ""
        try:
            if not self._vault.is_indexed():
                return None
            searcher = self._vault.meaning_searcher()
            return searcher, searcher.meaning()
        except EmbeddingServiceError as error:
            self.trouble = str(error)
        except (ModelError, StateError):
            pass
        return None

    def warm_meaning(self) -> Meaning | None:
        """The model, if that costs no more than a few milliseconds, and no service hears of it."""
        try:
            found = self._vault.warm_meaning()
        except VaultmemError:
            return None
        return found if found and found.embedder.is_local else None

    def local_meaning(self) -> Meaning | None:
        """The model, if it is one of this process: for texts that are not in the index, and may be private."""
        found = self.meaning()
        return found[1] if found and found[1].embedder.is_local else None

    def related(self, path: str, limit: int) -> list[Related]:
        """The notes nearest to the one at `path`, best first."""
        from vaultmem.search.related import related

        searcher = self.searcher()
        return [] if searcher is None else related(searcher, path, limit)

    def near(self, text: str, folder: str, limit: int) -> dict[str, float | None]:
        """The paths of notes below a folder that speak of the same, best first, with their cosines where those
        are known: by words, and by meaning if a model is warm."""
        from vaultmem.search.query import Ask, Filter
        from vaultmem.search.recall_text import plain

        searcher = self.searcher()
        if searcher is None:
            return {}
        opened = self.meaning() if self.warm_meaning() is not None else None
        searcher = opened[0] if opened else searcher
        below = (Filter("path", folder, False),)
        ask = Ask(plain(text), limit, opened is not None, "note", below, 0.0)
        try:
            found = searcher.search(ask, texts=False)
            return {hit.path: hit.similarity for hit in found.results}
        except StateError:  # a memory can be written, whatever became of the index
            return {}
