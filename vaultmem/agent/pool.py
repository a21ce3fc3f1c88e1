"""Warm searchers, lent to requests, and the vault that a request sees: the index of the agent, its only writer."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from vaultmem.api.rpc import only_reads
from vaultmem.api.vault import Embedded, Vault, search_with_archive
from vaultmem.config import Config
from vaultmem.embedding.models import resolve_model
from vaultmem.errors import DamagedError, StateError, VaultmemError
from vaultmem.index.state import State
from vaultmem.light import TYPE_CHECKING
from vaultmem.search.query import Answer, Ask
from vaultmem.search.search import Searcher
from vaultmem.search.snippet import NoteTexts

if TYPE_CHECKING:
    from typing import Any, Self

    from vaultmem.agent.agent import Agent
    from vaultmem.index.compare import Report
    from vaultmem.search.related import Related, Why
    from vaultmem.search.semantic import Meaning
    from vaultmem.service.agent_health import AgentStatus


# A searcher that stays open for days, and the vectors that all searchers share.


class SharedMeaning:
    """The vectors and the embedding model, opened on first use."""

    def __init__(self, state: State, config: Config) -> None:
        self._state, self._config = state, config
        self._lock = threading.Lock()
        self._meaning: Meaning | None = None

    def get(self) -> Meaning:
        """Open them if needed. Raises ModelError when there is no model."""
        with self._lock:
            if self._meaning is None:
                if not self._config.text("embedding.base_url"):
                    # Without a model, fails before loading 12 MB of numpy.
                    resolve_model(self._config.text("embedding.model"), self._state.models_folder())
                from vaultmem.search.semantic import open_meaning

                threads = self._config.number("agent.threads")
                self._meaning = open_meaning(self._state, self._config, threads)
            return self._meaning

    def opened(self) -> Meaning | None:
        """The vectors, if they are open."""
        return self._meaning

    def loaded(self) -> Meaning | None:
        """The vectors, if the model is loaded."""
        meaning = self._meaning
        return meaning if meaning and meaning.is_loaded() else None

    def succeed(self) -> None:
        """Switch to the vectors of the configured model, now that they are complete."""
        with self._lock:
            if self._meaning and self._meaning.successor:
                older, self._meaning = self._meaning, self._meaning.successor
                older.successor = None
                older.embedder.unload()

    def close(self) -> None:
        """Close the files."""
        with self._lock:
            meaning, self._meaning = self._meaning, None
        if meaning:
            meaning.close()


class WarmSearcher(Searcher):
    """A Searcher of the pool."""

    index = 0  # number of the index it was opened on
    change = -1  # number of the last write it has seen

    def __init__(self, of: Pool, folder: str, config: Config) -> None:
        super().__init__(folder, config)
        self._shared, self.texts = of.shared, of.texts

    def meaning(self) -> Meaning:
        """The vectors that all searchers share."""
        return self._shared.get()


log = logging.getLogger("vaultmem.agent")

MOST = 8  # concurrent searches
MOST_IDLE = 3  # searchers kept open for the next requests; each caches some megabytes
FIRST_INDEX = 5.0  # seconds for a never-indexed vault to get its first, empty index
PAUSE = 0.02


class Pool:
    """Searchers that stay open. One thread at a time uses each."""

    def __init__(self, folder: str, config: Config) -> None:
        self.shared = SharedMeaning(State(folder), config)
        self._folder, self._config = folder, config
        self.state = State(folder)
        self.texts = NoteTexts(folder, MOST_IDLE, threading.Lock())
        self._slots = threading.BoundedSemaphore(MOST)
        self._by_meaning = threading.Lock()
        self._lock = threading.Lock()
        self._idle: list[WarmSearcher] = []
        self._idle_by_meaning: list[WarmSearcher] = []
        self._change = 0  # number of writes
        self._index = 0  # number of replaced indexes
        self.last_by_meaning = time.monotonic()

    @contextmanager
    def searcher(self) -> Iterator[WarmSearcher]:
        """A keyword searcher that sees the latest writes."""
        with self._slots:
            yield from self._lend(self._idle, MOST_IDLE)

    @contextmanager
    def by_meaning(self) -> Iterator[WarmSearcher]:
        """The only searcher with vectors: its cache of them is large."""
        with self._by_meaning:
            self.last_by_meaning = time.monotonic()
            yield from self._lend(self._idle_by_meaning, 1)

    def _lend(self, idle: list[WarmSearcher], most: int) -> Iterator[WarmSearcher]:
        """An idle searcher or a new one, which becomes idle afterwards unless there are enough or its index was
        replaced meanwhile."""
        with self._lock:
            held = idle.pop() if idle else None
        searcher = self._fresh(held)
        try:
            yield searcher
        finally:
            with self._lock:
                stays = searcher.index == self._index and len(idle) < most
                if stays:
                    idle.append(searcher)
            if not stays:
                searcher.close()

    def changed(self) -> None:
        """Record a write: searchers refresh before their next search."""
        self._change += 1

    def replaced(self) -> None:
        """Record that another index is in force."""
        with self._lock:
            self._index += 1
            old = [*self._idle, *self._idle_by_meaning]
            self._idle.clear()
            self._idle_by_meaning.clear()
        for searcher in old:
            searcher.close()

    def close(self) -> None:
        """Close all searchers that are not in use."""
        self.replaced()
        if self._by_meaning.acquire(timeout=0.5):
            try:
                self.shared.close()
            finally:
                self._by_meaning.release()

    def _fresh(self, searcher: WarmSearcher | None) -> WarmSearcher:
        """A searcher that sees the latest writes: this one, or a new one if its index was just swept away before
        replaced() reports it. If the disk refuses even the lock that Tantivy takes before it refreshes, this one
        unrefreshed: older results beat no answer."""
        if searcher is not None:
            try:
                change = self._change
                if searcher.change != change:
                    searcher.refresh()
                    searcher.change = change
            except DamagedError:
                searcher.close()
            except StateError as error:
                log.debug("searching what was read before: %s", error)
                return searcher
            else:
                return searcher
        try:
            return self._open()
        except StateError:
            return self._open()

    def _open(self) -> WarmSearcher:
        deadline = time.monotonic() + FIRST_INDEX
        while self.state.generation() is None:
            if time.monotonic() > deadline:
                raise VaultmemError("the agent has not begun to index yet; try again in a moment")
            time.sleep(PAUSE)
        index, change = self._index, self._change  # read first: later writes may not be seen
        searcher = WarmSearcher(self, self._folder, self._config)
        searcher.index, searcher.change = index, change
        return searcher


# The vault of a request.

SETTLED_WITHIN = 1.0  # seconds


class AgentVault(Vault):
    """A vault for one request. close() and `with` leave the index open; release() returns what was borrowed."""

    def __init__(self, folder: str, config: Config, pool: Pool, agent: Agent) -> None:
        self.path = folder
        self.config = config
        self.state = pool.state
        self._agent = agent
        self._pool = pool
        self._held = ExitStack()
        self._searcher: Searcher | None = None  # the keyword searcher, or the one with vectors
        self._knows_meaning = False
        self._is_writing = False

    def close(self) -> None:
        """Do nothing: the index stays open."""

    def release(self) -> None:
        """Return what was borrowed for the request."""
        self._searcher = None
        self._held.close()

    def searcher(self) -> Searcher:
        """A warm searcher that sees the latest writes."""
        return self._lent(meaning=False)

    def see_writes(self) -> None:
        """Index what this request has written, too."""
        self.release()
        self._agent.index_writes()

    def is_indexed(self) -> bool:
        """Always true: the agent answers from the first indexed note on."""
        return True

    def meaning_searcher(self) -> Searcher:
        """The warm searcher with vectors."""
        return self._lent(meaning=True)

    def _lent(self, *, meaning: bool) -> Searcher:
        """A searcher that finds everything written before this call. A write itself only looks for what it may
        contradict, and knows the newest memories without the index (see MemoryStore.recent), so it does not wait.
        Once the searcher has vectors, it keeps them; a thread waiting for that one holds no other."""
        if not self._is_writing:
            self._agent.index_writes()
        if self._searcher is None or (meaning and not self._knows_meaning):
            self.release()
            lent = self._pool.by_meaning() if meaning else self._pool.searcher()
            self._searcher = self._held.enter_context(lent)
            self._knows_meaning = meaning
        return self._searcher

    def warm_meaning(self) -> Meaning | None:
        """The shared vectors, if the model is in memory."""
        return self._pool.shared.loaded()

    def idle_seconds(self) -> float:
        """Seconds since the last edit or request."""
        return self._agent.idle_seconds()

    def ask(self, verb: str, /, **params: object) -> Any:
        """Run a verb in the one store of memories. Waits for its turn without holding a searcher."""
        self.release()
        self._is_writing = not only_reads(verb)
        try:
            return self._agent.memory(self, verb, params)
        finally:
            self._is_writing = False

    def settled(self) -> Self:
        """The vault, after a short wait for the latest edits to be indexed."""
        self._agent.reconciler.wait_until_current(SETTLED_WITHIN)
        return self

    def sync(self, *, rebuild: bool = False, confirm_removals: bool = False) -> Report:
        """Compare the whole vault now, or read all of it again."""
        self.release()
        return self._agent.sync_now(rebuild=rebuild, confirmed=confirm_removals)

    def embed(self) -> Embedded:
        """Wait until all waiting blocks are embedded."""
        self.release()
        return self._agent.embed_now()

    def answer(self, ask: Ask) -> Answer:
        """Search, and say if the index is behind. A search that leaves `semantic` open does not wait for the model."""
        by_meaning = self._agent.embedding.is_warm() if ask.semantic is None else ask.semantic
        answer = search_with_archive(self._lent(meaning=by_meaning), ask.but(semantic=by_meaning))
        answer.remarks.extend(self._agent.remarks(semantic=bool(ask.semantic)))
        if ask.semantic is None and not by_meaning and self.has_meaning(ask):
            answer.remarks.append(f"searched by words only; {self._agent.embedding.warm()}")
        return answer

    def why(self, text: str, note: str, *, semantic: bool | None = None, by: str = "") -> Why:
        """Explain the place of one note in the results of a query."""
        by_meaning = self._agent.embedding.is_warm() if semantic is None else semantic
        self._lent(meaning=by_meaning)
        return super().why(text, note, semantic=by_meaning, by=by)

    def related(self, note: str, *, limit: int = 10) -> list[Related]:
        """Notes near a note: by distinctive words, by meaning, by links."""
        self._lent(meaning=True)
        return super().related(note, limit=limit)

    def agent(self) -> AgentStatus | None:
        """The state of the agent."""
        return self._agent.status()
