"""A vault and its store of memories, at a fixed time."""

import datetime as dt
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Write
from tests.index_dump import synced
from vaultmem import Vault
from vaultmem.api.rpc import Reader, carry_out
from vaultmem.memories.item_answers import DONE
from vaultmem.pending import carrying
from vaultmem.pending.open_store import open_store
from vaultmem.reminders.items import Item
from vaultmem.text.values import SOON

NOW = dt.datetime(2026, 11, 22, 10, 0).astimezone()
HOW = "VAULTMEM_PENDING_COMPLETE_IN_NOTES"
TASKS = (
    "# Tasks\r\n- [ ] call Anne 📅 2026-11-22\r\n- [ ] pay rent 🔁 every month 📅 2026-11-20\r\n"
)


class Bench:
    """A vault and its store of memories, at a fixed time."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.vault = Vault(str(folder))
        self.store = open_store(self.vault.state, self.vault.config)
        self.at = NOW
        self.store.now = self.seconds

    def seconds(self) -> float:
        return self.at.timestamp()

    def ask(self, verb: str, **params: object) -> Any:
        return carry_out(self.store, Reader(self.vault), verb, params)

    def answer(self, id_: str, state: str = DONE, **params: object) -> Any:
        return self.ask("answer", id=id_, state=state, **params)

    def later(self, minutes: int = 1) -> None:
        """Advance the time, and index what happened in the vault."""
        self.at += dt.timedelta(minutes=minutes)
        synced(self.folder)
        self.store.touched_all()

    def id(self, words: str) -> str:
        """The id of the due item with these words."""
        with self.store.session(Reader(self.vault), writes=False) as session:
            return next(due.id for due in carrying.dues(session) if words in due.text)

    def words(self) -> list[str]:
        """What is pending."""
        return [one.text for one in self.items()]

    def items(self, days: int = SOON) -> list[Item]:
        catalog = self.vault.searcher().catalog
        return self.store.pending.at(catalog, self.at).items(days)

    def text(self, path: str) -> str:
        return (self.folder / path).read_bytes().decode()

    def stated(self) -> dict[str, str]:
        return {id_: one.state for id_, one in self.store.pending.record.answers().items()}


Open = Callable[..., Bench]


@pytest.fixture
def bench(vault: Path, write: Write, monkeypatch: pytest.MonkeyPatch) -> Open:
    """Makes a bench over a vault with two tasks; how their notes are ticked is a setting."""

    def opened(complete: str = "ask") -> Bench:
        write("Tasks.md", TASKS)
        monkeypatch.setenv(HOW, complete)
        synced(vault)
        return Bench(vault)

    return opened
