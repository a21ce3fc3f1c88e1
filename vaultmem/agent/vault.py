"""The vault as a request sees it: the warm index of the agent, whose only writer is the agent itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from vaultmem.agent.pool import Borrowed, Pool
from vaultmem.api import Embedded, Vault, searched
from vaultmem.api.rpc import only_reads
from vaultmem.config import Config
from vaultmem.index.state import State
from vaultmem.progress import Progress, Silent
from vaultmem.search.query import Answer, Ask
from vaultmem.search.search import Searcher

if TYPE_CHECKING:
    from typing import Any

    from vaultmem.index.sync import Report
    from vaultmem.search.related import Related, Why
    from vaultmem.search.semantic import Meaning


SETTLED_WITHIN = 1.0  # seconds
WARMING = "searched by words alone; the agent loads the model for the next search"
TOLD_OF_LOSSES = (
    "pending",
    "notify",
    "answer",
    "settle",
)  # verbs that say when the vault has vanished


class Writer(Protocol):
    """The parts of the agent that write, as far as a request may ask them."""

    def sync_now(self, progress: Progress, *, rebuild: bool, confirmed: bool) -> Report:
        """Compare the whole vault now."""

    def embed_now(self) -> Embedded:
        """Wait until what is waiting has been embedded."""

    def is_warm(self) -> bool:
        """Whether a search by meaning has its model and its vectors at hand."""

    def warm(self) -> None:
        """Have them at hand soon."""

    def first_vectors(self) -> None:
        """Wait for the first vectors of a vault that has none yet, if there will be some soon."""

    def remarks(self, *, semantic: bool) -> list[str]:
        """How far the index is behind, as far as a search could suffer from it."""

    def status(self) -> dict[str, object]:
        """How the agent is."""

    def idle_seconds(self) -> float:
        """For how long nobody has edited or asked anything."""

    def settled(self, within: float) -> None:
        """Wait until what was edited just now is known, but not for longer."""

    def index_writes(self) -> bool:
        """Have what was written through the agent indexed; whether it was, soon enough."""

    def vanished(self) -> str | None:
        """Why the vault cannot be believed."""

    def memory(self, vault: AgentVault, verb: str, params: dict[str, object]) -> object:
        """Carry out a verb of memories."""


class AgentVault(Vault):
    """For one request. close() and `with` leave the index open; release() gives back what was borrowed."""

    def __init__(self, folder: str, config: Config, pool: Pool, writer: Writer) -> None:
        self.path = folder
        self.config = config
        self.state = State(folder)
        self._writer = writer
        self._pool = pool
        self._borrowed = Borrowed(pool)
        self._is_writing = False

    def close(self) -> None:
        """Nothing: the index stays open."""

    def release(self) -> None:
        """Give back what was borrowed for the request."""
        self._borrowed.release()

    def searcher(self) -> Searcher:
        """A warm searcher that sees what was written last."""
        return self._lent(meaning=False)

    def is_indexed(self) -> bool:
        """The agent answers from what there is, from the first note on."""
        return True

    def meaning_searcher(self) -> Searcher:
        """The warm searcher that knows meaning."""
        return self._lent(meaning=True)

    def _lent(self, *, meaning: bool) -> Searcher:
        """A searcher that finds what was written before it was asked for. A write itself looks only for what it may
        contradict, and knows the newest without the index (see Desk.recent): it waits for nothing."""
        if not self._is_writing:
            self._writer.index_writes()
        return self._borrowed.searcher(meaning=meaning)

    def warm_meaning(self) -> Meaning | None:
        """The shared vectors, if the model is in memory."""
        opened = self._pool.shared.opened()
        return opened if opened and opened.is_loaded() else None

    def idle_seconds(self) -> float:
        """For how long nobody has edited or asked anything."""
        return self._writer.idle_seconds()

    def ask(self, verb: str, **params: object) -> Any:
        """Carry out a verb of memories, at the one desk. Who waits for it holds no searcher."""
        self.release()
        if verb in TOLD_OF_LOSSES and (vanished := self._writer.vanished()):
            params = {**params, "vanished": vanished}
        self._is_writing = not only_reads(verb)
        try:
            return self._writer.memory(self, verb, params)
        finally:
            self._is_writing = False

    def settled(self) -> Vault:
        """The vault, with what was edited just now, as far as that is known soon."""
        self._writer.settled(SETTLED_WITHIN)
        return self

    def sync(
        self,
        *,
        rebuild: bool = False,
        confirm_removals: bool = False,
        progress: Progress | None = None,
    ) -> Report:
        """Compare the whole vault now, or read all of it anew."""
        self.release()
        return self._writer.sync_now(
            progress or Silent(), rebuild=rebuild, confirmed=confirm_removals
        )

    def embed(self, *, progress: Progress | None = None) -> Embedded:  # noqa: ARG002 - its queue tells
        """Wait until what is waiting has been embedded."""
        self.release()
        return self._writer.embed_now()

    def answer(self, ask: Ask) -> Answer:
        """Search, and say so when the index is known to be behind. Who leaves open how, waits for no model."""
        by_meaning = self._writer.is_warm() if ask.semantic is None else ask.semantic
        if ask.semantic:
            self._writer.first_vectors()
        answer = searched(self._lent(meaning=by_meaning), ask.decided(by_meaning))
        answer.remarks.extend(self._writer.remarks(semantic=bool(ask.semantic)))
        if ask.semantic is None and not by_meaning and self.has_meaning(ask):
            self._writer.warm()
            answer.remarks.append(WARMING)
        return answer

    def why(self, text: str, note: str, *, semantic: bool | None = None, by: str = "") -> Why:
        """Explain the place of one note in the results of a query."""
        by_meaning = self._writer.is_warm() if semantic is None else semantic
        self._lent(meaning=by_meaning)
        return super().why(text, note, semantic=by_meaning, by=by)

    def related(self, note: str, *, limit: int = 10) -> list[Related]:
        """Notes near a note: by distinctive words, by meaning, by links."""
        self._lent(meaning=True)
        return super().related(note, limit=limit)

    def agent(self) -> dict[str, object] | None:
        """How the agent is."""
        return self._writer.status()
