"""Two machines with a copy of one vault each, and a sync program between them."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.conftest import fill
from tests.index_dump import other_state, synced
from tests.vault_sync import Syncing, copy_vault
from vaultmem import Vault, now
from vaultmem.memories.item_answers import DONE, Answer, item_ids
from vaultmem.memories.store import MemoryStore
from vaultmem.pending.open_store import open_store
from vaultmem.pending.record import Record

IDS = item_ids([("a.md", str(number)) for number in range(6)])
HOUR = 3600.0


def store(vault: Vault) -> MemoryStore:
    return open_store(vault.state, vault.config)


class Machine:
    """A copy of the vault with a state of its own."""

    def __init__(self, vault: Path, state: Path) -> None:
        self.vault, self.state = vault, state

    @contextmanager
    def opened(self) -> Iterator[Vault]:
        with other_state(self.state), Vault(str(self.vault)) as vault:
            yield vault

    @contextmanager
    def record(self) -> Iterator[Record]:
        with self.opened() as vault:
            yield store(vault).pending.record

    def settle(self) -> None:
        """As the agent does now and then; the page is old enough for another write."""
        with self.record() as record:
            for page in (self.vault / "vaultmem/sync").glob("*.md"):
                os.utime(page, (time.time() - HOUR, time.time() - HOUR))
            record.settle(None, now.seconds())

    @property
    def page(self) -> Path:
        with self.record() as record:
            assert record._pages is not None
            return self.vault / record._pages.path


class Pair:
    """Two machines that know of each other, and what is between them."""

    def __init__(self, folder: Path) -> None:
        first = fill(
            folder / "laptop" / "vault", {".obsidian/app.json": "{}", "Home.md": "# Home\n"}
        )
        second = copy_vault(first, folder / "desktop" / "vault")
        self.laptop = Machine(first, folder / "laptop" / "state")
        self.desktop = Machine(second, folder / "desktop" / "state")
        self.machines = (self.laptop, self.desktop)
        self.syncing = Syncing(first, second)
        for machine, id_ in zip(self.machines, IDS, strict=False):
            with other_state(machine.state):
                synced(machine.vault)
            with machine.record() as record:
                record.add([Answer(id_, DONE, "2026-11-22T10:00:00Z")], [], time.time())
        self.agree()

    def agree(self) -> None:
        """Sync and settle until nothing changes any more."""
        for _ in range(6):
            count = self.syncing.run()
            for machine in self.machines:
                machine.settle()
            if not count and not self.syncing.run():
                return
        raise AssertionError("the machines write back and forth")

    def page_on(self, machine: Machine, of: Machine) -> str:
        """The page of one machine as it is on the disk of another."""
        return (machine.vault / "vaultmem/sync" / of.page.name).read_text("utf-8")


@pytest.fixture
def pair(tmp_path: Path) -> Pair:
    return Pair(tmp_path)


@pytest.fixture
def pass_time(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Let two seconds pass: answers have the second in which they were given."""
    return lambda: monkeypatch.setenv("VAULTMEM_NOW", str(now.seconds() + 2))


def carry_out(machine: Machine) -> list[str]:
    """As the agent does on a change; returns the open items."""
    with machine.opened() as vault:
        vault.sync()
        vault.notify()
        vault.settle()
        return [item["id"] for item in vault.pending()]


def reminded(pair: Pair) -> str:
    """The id of a reminder that both know."""
    with pair.laptop.opened() as vault:
        vault.remind("water the plants", at="tomorrow at 9")
    pair.agree()
    ids = [carry_out(machine) for machine in pair.machines]
    assert ids[0] == ids[1]
    return ids[0][0]
