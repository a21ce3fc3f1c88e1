"""kill -9 of the agent at any moment while notes are edited: the next one repairs the index and never touches a
note."""

import contextlib
import os
import random
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.agent_run import PATIENCE, Agent, agent_on, differing, ending, launched
from tests.laws import some
from vaultmem import client
from vaultmem.vault.identity import MARKER
from vaultmem.vault.moves import TEMP_PREFIX

KILLS = int(os.environ.get("VAULTMEM_KILLS", some(64)))  # half of them at counted events
SIDE_BY_SIDE = 4
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no agent")

# The agent counts what it does to files, tables and the keyword index, and kills itself at a given count.
# Its patience is short, so that more happens in the time.
COUNTING = """
import os, signal
from vaultmem.agent import reconciler, server
from vaultmem.agent import debounce as pace
from vaultmem.index import catalog, keyword, state; from vaultmem.vault import files as vault
from vaultmem.index import indexer
from vaultmem.vault.identity import MARKER

at, done = int(os.environ["KILL_AT"]), 0

def event(*_):
    global done
    done += 1
    if done == at:
        os.kill(os.getpid(), signal.SIGKILL)

def around(owner, name):
    real = getattr(owner, name)
    def hooked(*args, **given):
        event()
        result = real(*args, **given)
        event()
        return result
    setattr(owner, name, hooked)

class Traced(catalog.Catalog):
    def __init__(self, path, **given):
        event()
        super().__init__(path, **given)
        self.db.set_trace_callback(event)

indexer.Catalog = Traced
pace.QUIET, pace.LONGEST, pace.GONE_WAIT, pace.EMPTY_WAIT, pace.SHRUNK_WAIT = 0.02, 0.1, 0.1, 0.1, 0.05
reconciler.SETTLE_AFTER = reconciler.REST_AFTER = 0.1
reconciler.FIRST_BATCH = 7
for owner, names in ((os, "fsync replace"), (vault, "read"), (state.State, "adopt sweep new_generation lock"),
                     (keyword.KeywordWriter, "__init__ add remove commit close"), (server, "listen")):
    for name in names.split():
        around(owner, name)
"""
PATCH = f"exec({COUNTING!r}, {{}})"
WORDS = ("apple roof", "a bell [[Note 3]] and [[N5]]", "\u8fd9\u5ea7\u6865\u7684\u8ba1\u5212", "- [ ] task \U0001f4c5 2026-12-01", "#tag deep page",
         "---\naliases: [Alias {0}]\n---\nred apple", "", "note " * 40, "[[Alias 4]] ![[pic.png]]")  # fmt: skip


class Writer:
    """A person, an editor and a sync program at work on a small vault. Knows what every note must contain."""

    def __init__(self, vault: Path, seed: int) -> None:
        self.vault = vault
        self.chance = random.Random(seed)
        self.notes: dict[Path, bytes] = {}
        for number in range(30):
            self.write(vault / f"folder{number % 3}" / f"Note {number}.md")

    def write(self, note: Path) -> None:
        """In place or through a temporary file, as editors do."""
        text = (
            self.chance.choice(WORDS).format(self.chance.randrange(9))
            + f"\n\n{self.chance.random()}\n"
        )
        note.parent.mkdir(parents=True, exist_ok=True)
        target = note if self.chance.random() < 0.5 else note.with_name(f".{note.name}.tmp")
        target.write_text(text, "utf-8")
        target.rename(note)
        self.notes[note] = text.encode()

    def step(self) -> None:
        """One thing that happens to a vault."""
        kind = self.chance.randrange(10)
        note = self.chance.choice(sorted(self.notes))
        if kind < 5 or len(self.notes) < 20:
            self.write(note)
        elif kind == 5:
            self.write(
                self.vault / f"new{self.chance.randrange(4)}" / f"N{self.chance.randrange(9)}.md"
            )
        elif kind == 6 and len(self.notes) > 28:
            note.unlink()
            del self.notes[note]
        elif kind == 7:
            self.move(note, self.vault / f"folder{self.chance.randrange(3)}" / note.name)
        elif kind == 8:
            self.move(note, note.with_name(f"{note.stem[:12]} {self.chance.randrange(9)}.md"))
        else:
            self.move_folder(self.vault / f"new{self.chance.randrange(4)}")

    def move(self, note: Path, to: Path) -> None:
        to.parent.mkdir(exist_ok=True)
        note.rename(to)
        self.notes[to] = self.notes.pop(note)

    def move_folder(self, folder: Path) -> None:
        to = self.vault / f"new{self.chance.randrange(4)}"
        if folder.is_dir() and not to.exists():
            folder.rename(to)
            for note in [note for note in self.notes if note.parent == folder]:
                self.notes[to / note.name] = self.notes.pop(note)

    def unchanged(self) -> None:
        """Nobody else has written a note or left files among them, except our page of pending items."""
        page = self.vault / "vaultmem" / "pending.md"
        there = {path: path.read_bytes() for path in self.vault.rglob("*.md") if path != page}
        assert there == self.notes
        odd = [path for path in self.vault.rglob("*") if path.is_file() and path.suffix != ".md"]
        # The temporary file of a killed page is removed after an hour: until then it may be another machine's.
        cut_off = {
            path for path in odd if path.parent == page.parent and path.name.startswith(TEMP_PREFIX)
        }
        assert {path.name for path in set(odd) - cut_off} <= {MARKER}


@pytest.fixture
def writers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Writer]:
    """Vaults whose agents are killed side by side."""
    monkeypatch.setenv("VAULTMEM_STATE", str(tmp_path / "state"))
    for number in range(SIDE_BY_SIDE):
        (tmp_path / f"vault{number}" / ".obsidian").mkdir(parents=True)
    return [Writer(tmp_path / f"vault{number}", seed=number) for number in range(SIDE_BY_SIDE)]


def healed(writer: Writer, scratch: Path, hint: object) -> None:
    """A new agent answers, has repaired everything, and has removed what the killed one left."""
    writer.unchanged()
    with agent_on(writer.vault) as agent:
        agent.call("sync", embed=False, confirm_removals=True)
        assert not (found := differing(writer.vault, scratch)), (hint, found, agent.err())
        assert agent.ends() == 0, agent.err()
    assert len([*agent.state.glob("gen-*")]) == 1, hint
    odd = [path.name for path in agent.state.rglob("*") if ".tmp" in path.name]
    # Those are removed with the next manifest; Tantivy's own with their index.
    assert all(name.startswith(("manifest.json.", ".tmp")) for name in odd), (hint, odd)
    writer.unchanged()
    assert "Traceback" not in agent.err()


def rebuilds(agent: Agent) -> threading.Thread:
    """Asks for a new index as soon as the agent answers; the agent may be killed during it."""

    def ask() -> None:
        end = time.monotonic() + PATIENCE
        while agent.process.poll() is None and time.monotonic() < end:
            with contextlib.suppress(client.AgentError):
                if isinstance(agent.call("sync", rebuild=True, embed=False), dict):
                    return
            time.sleep(0.01)

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    return thread


def killed_at(writer: Writer, at: int, *, rebuild: bool) -> None:
    """Run an agent while notes are edited, until it kills itself."""
    agent = launched(
        writer.vault, writer.vault.parent / f"{writer.vault.name}.killed", PATCH, KILL_AT=str(at)
    )
    with ending(agent):
        asking = rebuilds(agent) if rebuild else None
        end = time.monotonic() + PATIENCE
        while agent.process.poll() is None:
            assert time.monotonic() < end, (at, agent.err())
            writer.step()
            time.sleep(0.01)
        assert agent.process.returncode == -signal.SIGKILL, agent.err()
        if asking:
            asking.join(PATIENCE)


def killed_after(writer: Writer, seconds: float, *, rebuild: bool) -> None:
    """Run an agent while notes are edited, and kill it at some moment."""
    agent = launched(writer.vault, writer.vault.parent / f"{writer.vault.name}.killed")
    with ending(agent):
        asking = rebuilds(agent) if rebuild else None
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            writer.step()
            time.sleep(0.01)
        assert agent.process.poll() is None, agent.err()
        agent.process.kill()
        agent.process.wait()
        if asking:
            asking.join(PATIENCE)


Kill = Callable[[Writer, random.Random, bool], object]


def rounds(writers: list[Writer], scratch: Path, kill: Kill) -> Iterator[int]:
    """Half of the kills, a few at a time, with a check of one vault now and then and of all in the end."""
    chances = [random.Random(number) for number in range(len(writers))]
    total = -(-KILLS // 2 // len(writers))
    with ThreadPoolExecutor(len(writers)) as threads:
        for turn in range(1, total + 1):
            yield turn
            thirds = [turn % 3 == 0] * len(writers)
            list(threads.map(kill, writers, chances, thirds))
            last = turn == total
            if turn % 2 == 0 or last:
                for writer in writers if last else [writers[turn // 2 % len(writers)]]:
                    healed(writer, scratch, turn)


def test_killed_at_counted_events(writers: list[Writer], tmp_path: Path) -> None:
    def kill(writer: Writer, chance: random.Random, rebuild: bool) -> None:
        killed_at(
            writer, chance.randrange(1, 60 if chance.random() < 0.3 else 900), rebuild=rebuild
        )

    for turn in rounds(writers, tmp_path / "scratch", kill):
        if turn % 6 == 1:
            # so that first indexing is killed, too
            shutil.rmtree(tmp_path / "state", ignore_errors=True)


def test_killed_at_random_moments(writers: list[Writer], tmp_path: Path) -> None:
    def kill(writer: Writer, chance: random.Random, rebuild: bool) -> None:
        killed_after(writer, 0.1 + 0.6 * chance.random(), rebuild=rebuild)

    assert sum(1 for _ in rounds(writers, tmp_path / "scratch", kill)) > 0
    with agent_on(writers[0].vault) as last:
        last.settles(tmp_path / "scratch")
        assert last.search("apple")
