"""A searcher that stays open for days, and the vectors that all searchers share."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from vaultmem.config import Config
from vaultmem.search import Searcher
from vaultmem.store.model import resolve_model
from vaultmem.store.state import State

if TYPE_CHECKING:
    from vaultmem.meaning import Meaning


class SharedMeaning:
    """The vectors and the embedding model, opened once, on first use."""

    def __init__(self, state: State, config: Config) -> None:
        self._state, self._config = state, config
        self._lock = threading.Lock()
        self._meaning: Meaning | None = None

    def get(self) -> Meaning:
        """Open them if they are not. Raises ModelError when there is no model."""
        with self._lock:
            if self._meaning is None:
                if not self._config.text("embedding.base_url"):
                    # Says so when there is no model, without the 12 MB of numpy.
                    resolve_model(self._config.text("embedding.model"), self._state.models_folder())
                from vaultmem.meaning import Meaning

                threads = self._config.number("agent.threads")
                self._meaning = Meaning(self._state, self._config, threads=threads)
            return self._meaning

    def opened(self) -> Meaning | None:
        """Them, if they were opened."""
        return self._meaning

    def close(self) -> None:
        """Let go of the files."""
        with self._lock:
            meaning, self._meaning = self._meaning, None
        if meaning:
            meaning.close()


class WarmSearcher(Searcher):
    """A Searcher of the pool."""

    index = 0  # the number of the index it was opened on
    change = -1  # what it has seen of the writer's changes

    def __init__(self, folder: str, config: Config, shared: SharedMeaning) -> None:
        super().__init__(folder, config)
        self._shared = shared

    def meaning(self) -> Meaning:
        """The vectors that all searchers share."""
        return self._shared.get()
