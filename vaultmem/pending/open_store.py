"""Opens a vault's store of memories together with its pending items.

Memories only know the answers to pending items; collecting, listing and answering items is the layer above. A command
that needs no pending items imports none of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from vaultmem.errors import NoteNotFoundError
from vaultmem.light import TYPE_CHECKING, allocate_lock
from vaultmem.memories.store import MemoryStore, Session

if TYPE_CHECKING:
    from vaultmem.config import Config
    from vaultmem.index.state import State
    from vaultmem.memories.item_answers import Answer
    from vaultmem.pending.pending import Pending


def open_store(
    state: State, config: Config, on_write: Callable[[Iterable[str]], None] | None = None
) -> MemoryStore:
    """The memories and pending items of one vault. `on_write` is called with the paths after each write; without it,
    they are indexed at once. A caller that writes through the store holds the lock of the state folder."""
    return _StoreWithPending(state, config, on_write)


class _StoreWithPending(MemoryStore):
    def __init__(
        self, state: State, config: Config, on_write: Callable[[Iterable[str]], None] | None
    ) -> None:
        super().__init__(state, config, on_write)
        self._making = allocate_lock()
        self._pending: Pending | None = None

    @property
    def pending(self) -> Pending:
        from vaultmem.pending.pending import Pending

        with self._making:
            if self._pending is None:
                self._pending = Pending(self.state, self.config, self.rules, self.ledger)
                self._pending.vanished = self.vanished
            return self._pending

    def memory_name(self, session: Session, name: str) -> str:
        id_ = name.strip().removeprefix("^")
        if not id_.startswith("vm-"):
            return name
        from vaultmem.pending.carrying import dues

        due = next((item for item in dues(session) if id_ in (item.id, item.series)), None)
        if due and not due.memory and not session.viewer.name:
            place = f"{due.path}:{due.line}" if due.line else due.path
            raise NoteNotFoundError(f"{id_} is not a memory: it stands in {place}; change it there")
        return due.memory if due and due.memory else name

    def answers(self) -> Mapping[str, Answer]:
        if self._pending is not None:
            return self._pending.record.answers()
        from vaultmem.pending.record import open_record

        return open_record(self.state, self.config, self.rules, self.ledger).answers()
