"""kill -9 at any moment of a sync: the next sync repairs it, and the index equals one built from scratch."""

import json
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.forks import Forks, forks_of
from tests.index_dump import contents, generation, other_state, rebuilt, removed, synced
from tests.laws import some
from vaultmem.config import Config
from vaultmem.search.query import Ask
from vaultmem.search.search import Searcher

ROOT = Path(__file__).parents[1]

# The child counts what it does to files, tables and the keyword index, and kills itself at a given count.
SYNC = """
import json, os, signal, sys
from vaultmem import cli; from vaultmem.index import indexer
from vaultmem.index import catalog, keyword, state; from vaultmem.vault import files as vault

at, events = int(sys.argv[1]), []

def event(name):
    events.append(name)
    if len(events) == at:
        os.kill(os.getpid(), signal.SIGKILL)

def around(owner, name):
    real = getattr(owner, name)
    def hooked(*args, **given):
        event(f"before {name}")
        result = real(*args, **given)
        event(f"after {name}")
        return result
    setattr(owner, name, hooked)

class Traced(catalog.Catalog):
    def __init__(self, path, **given):
        event("before opening")
        super().__init__(path, **given)
        self.db.set_trace_callback(event)

indexer.Catalog = Traced
indexer.BATCH_NOTES, indexer.PART_NOTES = 7, 3
for owner, names in ((os, "fsync replace"), (vault, "read"), (state.State, "adopt sweep new_generation"),
                     (keyword.KeywordWriter, "__init__ add remove commit close")):
    for name in names.split():
        around(owner, name)
code = cli.main(["sync", "--no-embed", "--vault", sys.argv[2]])
print(json.dumps(events), file=sys.stderr)
sys.exit(code)
"""

EMBED = """
import os, signal, sys
import numpy as np
from vaultmem import cli; from vaultmem.search import semantic as meaning
from vaultmem.embedding import models
from vaultmem.embedding.models import Model
from vaultmem.vectors.exact import RowFile

at, done = int(sys.argv[1]), 0

def step():
    global done
    done += 1
    if done == at:
        os.kill(os.getpid(), signal.SIGKILL)

class Quick(models.Embedder):
    def batches(self, texts):
        for start in range(0, len(texts), 4):
            part = texts[start:start + 4]
            step()
            yield list(range(start, start + len(part))), np.array([[len(t), t.count("e"), 1.0] for t in part], dtype=np.float32)

real = os.fsync
def fsync(handle):
    step()
    real(handle)
    step()

os.fsync = fsync
models.Embedder = Quick
models.resolve_model = lambda setting, folder: Model("quick", "quick", 3, folder, "")
meaning.BLOCKS_AT_ONCE = 8
code = cli.main(["sync", "--format", "json", "--vault", sys.argv[2]])
print(done, file=sys.stderr)
sys.exit(code)
"""


class Child:
    """The source of the processes that are killed."""

    def __init__(self, forks: Forks) -> None:
        self.forks = forks

    def __call__(self, code: str, at: int, vault: Path) -> subprocess.CompletedProcess[str]:
        return self.forks.run(code, (str(at), str(vault)))

    def killed(self, code: str, at: int, vault: Path) -> None:
        ended = self(code, at, vault)
        assert ended.returncode == -signal.SIGKILL, ended.stderr


@pytest.fixture(scope="module")
def child() -> Iterator[Child]:
    with forks_of(
        "import numpy; from vaultmem import cli; from vaultmem.vectors import exact; from vaultmem.embedding import models; from vaultmem.search import search, semantic\n"
    ) as forks:
        yield Child(forks)


def fill(vault: Path) -> None:
    (vault / ".obsidian").mkdir(parents=True)
    for number in range(60):
        folder = vault / f"folder{number % 4}"
        folder.mkdir(exist_ok=True)
        front = (
            f"---\naliases: [Name {number}]\ntags: [t{number % 7}]\n---\n"
            if number % 3 == 0
            else ""
        )
        text = f"# Note {number}\n\nApple roof {number} [[Note {number + 1}]] [[folder1/Note {number * 7 % 60}]]\n\n- [ ] task\n"
        (folder / f"Note {number}.md").write_text(front + text)


def change(vault: Path) -> None:
    """Changes between two syncs: some of everything."""
    notes = sorted(vault.rglob("*.md"))
    for note in notes[:9]:
        note.write_text(note.read_text() + "\nA red apple and a bell, [[Nowhere]] [[Fresh 1]].\n")
    for note in notes[9:14]:
        note.unlink()
    for note in notes[14:18]:
        note.rename(vault / f"moved {note.name}")
    for number in range(8):
        (vault / f"Fresh {number}.md").write_text(
            f"A deep page about the roof. [[Note {number}]]\n"
        )
    shutil.copy(notes[20], vault / f"{notes[20].stem}.sync-conflict-20261103-081512-ABCDEFG.md")
    (vault / "folder2").rename(vault / "folder9")
    (vault / "link.md").symlink_to(notes[20])


def spread(events: list[str], count: int) -> list[int]:
    """Points (from 1) to kill at: around everything that makes something durable, and evenly over the rest."""
    marks = (
        "fsync", "replace", "commit", "COMMIT", "BEGIN", "adopt", "sweep", "new_generation", "DELETE FROM stale",
    )  # fmt: skip
    edges = [n for n, name in enumerate(events, start=1) if any(mark in name for mark in marks)]
    wide, every = (max(1, len(each) // (count // 2)) for each in (edges, events))
    even = range(1, len(events) + 1, every)
    chosen = {*edges[::wide], *even, *edges[-4:], len(events)}
    assert len(chosen) >= count - 4
    return sorted(chosen)


def usable(vault: Path) -> None:
    """A search between the kill and the next sync may know less, but it works."""
    searcher = Searcher(str(vault), Config({}))
    assert searcher.search(Ask("apple")).results
    searcher.close()


@pytest.fixture
def state(tmp_path: Path) -> Iterator[Path]:
    with other_state(tmp_path / "state"):
        yield tmp_path / "state"


@pytest.mark.parametrize("is_first", [True, False], ids=["the first build", "a later sync"])
def test_killed_at_an_event(tmp_path: Path, state: Path, child: Child, is_first: bool) -> None:
    vault, before = tmp_path / "vault", tmp_path / "before"
    fill(vault)
    if not is_first:
        synced(vault)
        change(vault)
        shutil.copytree(state, before)
    should = rebuilt(vault, tmp_path / "scratch")
    events = json.loads(child(SYNC, 0, vault).stderr.splitlines()[-1])
    assert contents(vault) == should
    for at in spread(events, some(26)):
        removed(state)
        if not is_first:
            shutil.copytree(before, state)
        child.killed(SYNC, at, vault)
        if not is_first:
            usable(vault)
        synced(vault)
        assert contents(vault) == should, (at, events[at - 1])
        assert len(list(generation(vault).parent.glob("gen-*"))) == 1, (at, events[at - 1])


def test_killed_at_random_times(tmp_path: Path, state: Path, child: Child) -> None:
    """The same from outside, which also interrupts the native code of both engines."""
    vault = tmp_path / "vault"
    fill(vault)
    synced(vault)
    change(vault)
    before = shutil.copytree(state, tmp_path / "before")
    should = rebuilt(vault, tmp_path / "scratch")
    started = time.monotonic()
    assert child(SYNC, 0, vault).returncode == 0
    longest = time.monotonic() - started
    chance = random.Random(7)
    for _ in range(some(8)):
        removed(state)
        shutil.copytree(before, state)
        delay = longest * (0.4 + 0.6 * chance.random())  # the beginning only imports
        running = subprocess.Popen(
            [sys.executable, "-c", SYNC, "0", str(vault)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        time.sleep(delay)
        running.kill()
        running.wait()
        synced(vault)
        assert contents(vault) == should, delay


def test_killed_while_embedding(tmp_path: Path, state: Path, child: Child) -> None:
    vault = tmp_path / "vault"
    fill(vault)
    synced(vault)
    before = shutil.copytree(state, tmp_path / "before")
    whole = child(EMBED, 0, vault)
    assert whole.returncode == 0, whole.stderr
    steps, blocks = int(whole.stderr.splitlines()[-1]), json.loads(whole.stdout)["embedded"]
    assert blocks >= 60
    kept = []
    for at in range(2, steps, max(1, steps // some(7))):
        removed(state)
        shutil.copytree(before, state)
        child.killed(EMBED, at, vault)
        resumed = child(EMBED, 0, vault)
        assert resumed.returncode == 0, resumed.stderr
        kept.append(blocks - json.loads(resumed.stdout)["embedded"])
        again = child(EMBED, 0, vault)
        assert json.loads(again.stdout)["embedded"] == 0
    assert kept == sorted(kept), "what was embedded before the kill is kept"
    assert kept[-1] > blocks // 2
