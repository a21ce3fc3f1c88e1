"""The store of memories together with what is pending: what verbs, jobs and searches work with.

Memories know of pending items only what the answers to them say; how these are collected, listed and answered is known
here, above them. A command that needs none of it loads none of it.
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


class Desk(MemoryStore):
    """The memories of one vault, and what is pending in it. Any thread may use it."""

    def __init__(
        self, state: State, config: Config, on_write: Callable[[Iterable[str]], None] | None = None
    ) -> None:
        super().__init__(state, config, on_write)
        self._making = allocate_lock()
        self._pending: Pending | None = None

    @property
    def pending(self) -> Pending:
        """The pending items and their page. Needs no lock of the store."""
        from vaultmem.pending.pending import Pending

        with self._making:
            if self._pending is None:
                self._pending = Pending(self.state, self.config, self.rules, self.ledger)
            return self._pending

    def named(self, session: Session, name: str) -> str:
        """The id of the memory that a pending item is of; any other name as it is."""
        id_ = name.strip().removeprefix("^")
        if not id_.startswith("vm-"):
            return name
        from vaultmem.pending.carrying import dues

        due = next((each for each in dues(session) if id_ in (each.id, each.series)), None)
        if due and not due.memory and not session.viewer.name:
            place = f"{due.path}:{due.line}" if due.line else due.path
            raise NoteNotFoundError(f"{id_} is no memory but stands in {place}; change it there")
        return due.memory if due and due.memory else name

    def answers(self) -> Mapping[str, Answer]:
        """The person's answers to pending items, without collecting the items themselves."""
        if self._pending is not None:
            return self._pending.record.answers()
        from vaultmem.pending.record import open_record

        return open_record(self.state, self.config, self.rules, self.ledger).answers()
