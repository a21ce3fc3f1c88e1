"""Memories with several writers: assistants at once, a person in the same file, kills, with and without an agent."""

import multiprocessing
import os
import shutil
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from tests.agent_run import agent_on, until
from tests.kill_points import killed_after
from tests.laws import WHOLE, some
from vaultmem import Vault
from vaultmem.errors import NoteNotFoundError, VaultmemError
from vaultmem.memories.memory_file import Reader
from vaultmem.notes import pages
from vaultmem.notes.frontmatter import split

ASSISTANTS, EACH = 20, some(9)
PROCESSES = 4

WRITER = """
import sys, threading
from vaultmem import Vault
first, count, each, folder = *map(int, sys.argv[1:4]), sys.argv[4]
def work(number):
    vault = Vault(folder)
    for n in range(each):
        said = vault.write(f"Assistant {number} noted as its fact number {n}: a{number}x{n}", by=f"a{number}")
        assert said["created"], said
threads = [threading.Thread(target=work, args=(first + n,)) for n in range(count)]
for t in threads: t.start()
for t in threads: t.join()
"""


def writers(folder: Path, processes: int, assistants: int, each: int) -> None:
    """This many assistants write at once, each in its own process."""
    share = assistants // processes
    started = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(n * share), str(share), str(each), str(folder)])
        for n in range(processes)
    ]  # fmt: skip
    assert [process.wait(240) for process in started] == [0] * processes


def check_all_there(folder: Path, assistants: int, each: int) -> None:
    """Each memory is there once, in its own file, with its own id."""
    files = [path for path in (folder / "vaultmem").glob("*/*.md") if path.parent.name != "sync"]
    found = [pages.read("frontmatter", path.read_text()) for path in files]
    assert len({front.properties["id"] for front in found}) == assistants * each
    bodies = Counter(path.read_text().rpartition(": ")[2].strip() for path in files)
    assert bodies == Counter(f"a{a}x{n}" for a in range(assistants) for n in range(each))


def test_twenty_assistants_at_once_lose_nothing(vault: Path) -> None:
    with agent_on(vault) as agent:
        writers(vault, PROCESSES, ASSISTANTS, EACH)
        check_all_there(vault, ASSISTANTS, EACH)
        with Vault(str(vault)) as opened:
            assert opened.overview()["memory_count"] == ASSISTANTS * EACH
            commits = opened.history(limit=1000)
        assert Counter(commit["by"] for commit in commits) == Counter(
            {f"a{n}": EACH for n in range(ASSISTANTS)}
        )
        until(agent.is_current)
        assert len(agent.search("a7x2")) == 1


def test_without_an_agent_they_wait_for_each_other(vault: Path) -> None:
    writers(vault, 3, 3, 4)
    check_all_there(vault, 3, 4)


def test_a_person_s_edit_is_seen_by_the_agent_s_next_answer(vault: Path) -> None:
    with agent_on(vault) as agent, Vault(str(vault)) as opened:
        agent.watches()
        one = opened.write("First words")
        note = vault / one["path"]
        note.write_text(note.read_text().replace("First words", "Other words"))

        def words() -> object:
            # between emptying a file and writing it, it is not a memory
            with suppress(NoteNotFoundError):
                return opened.read(one["id"])["content"]
            return None

        until(lambda: words() == "Other words", seconds=60)
        note.unlink()
        until(lambda: not opened.memories(), seconds=60)


def test_an_outdated_list_takes_nothing_back(vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As when a file is written at the moment its memory is read."""
    with Vault(str(vault)) as opened:
        one = opened.write("First words", tags=["first"])
        note = vault / one["path"]
        os.utime(note, (1_700_000_000,) * 2)  # long ago, so that its state is remembered
        opened.read(one["id"])
        monkeypatch.setattr(Reader, "read", lambda *_: None)  # it is being written
        note.write_text(note.read_text().replace("first", "first\n  - second"))
        with pytest.raises(VaultmemError, match="changed meanwhile"):
            opened.tag(one["id"], "third")
        assert split(note.read_text()).properties["tags"] == ["first", "second"]
        monkeypatch.undo()
        opened.tag(one["id"], "third")
        assert split(note.read_text()).properties["tags"] == ["first", "second", "third"]


def _edit_often(path: str, count: int) -> None:
    """A person's editor: adds one line after another in place, as Obsidian does."""
    for number in range(count):
        with open(path, "a", encoding="utf-8") as file:
            file.write(f"line {number} by hand\n")
        time.sleep(0.002)


@pytest.mark.parametrize("through_agent", [False, True], ids=["alone", "agent"])
def test_a_person_beside_loses_nothing(vault: Path, opened: Vault, through_agent: bool) -> None:
    one = opened.write("A file that two write")
    if through_agent:
        with agent_on(vault):
            _race(opened, vault, one["id"], one["path"])
    else:
        _race(opened, vault, one["id"], one["path"])


def _race(opened: Vault, vault: Path, given: str, path: str) -> None:
    context = multiprocessing.get_context("fork")
    person = context.Process(target=_edit_often, args=(str(vault / path), 100))
    person.start()
    tagged = []
    number = 0
    while person.is_alive():
        number += 1
        try:
            opened.tag(given, f"t{number}")
        except VaultmemError:
            continue
        tagged.append(f"t{number}")
    person.join()
    assert person.exitcode == 0
    text = (vault / path).read_text()
    # What both wrote at the same moment, twice in a row, is kept beside it as a conflict copy.
    copies = (vault / path).parent.glob("*(Conflicted copy vaultmem *).md")
    beside = {line for copy in copies for line in copy.read_text().splitlines()}
    lines = [line for line in text.splitlines() if line.endswith("by hand")]
    wanted = [f"line {number} by hand" for number in range(100)]
    assert lines == [line for line in wanted if line in lines]
    assert {*lines, *beside} >= {*wanted}
    assert len(lines) >= 50
    found = split(text).properties.get("tags", [])
    assert isinstance(found, list)
    assert set(tagged) <= {str(tag) for tag in found}


def test_a_kill_in_the_middle_of_a_dream_or_an_undo_heals(tmp_path: Path) -> None:
    """Everything written is there after each kill, and the next run finishes what was begun."""
    vault = tmp_path / "vault"
    (vault / ".obsidian").mkdir(parents=True)
    with Vault(str(vault)) as opened:
        text = (
            "The release needs a tag, a changelog, a green build and two reviews before it goes out"
        )
        for number in range(6):
            opened.write(f"{text} to customer {'abcdef'[number]}", category="project")
            opened.write(f"We decided to use tool number {number} instead of nothing")
    words = _words(vault)
    for turn in range(0, 12, 1 if WHOLE else 2):
        kept = tmp_path / "kept"
        shutil.copytree(vault, kept)
        killed_after(0.02 + 0.03 * turn, lambda: _dream_and_undo(vault))
        with Vault(str(vault)) as opened:
            opened.tag(opened.memories()[0]["id"], f"turn{turn}")
            ids = [m["id"] for m in (*opened.memories(), *opened.memories(deleted=True))]
        assert len(ids) == len(set(ids)) == 12, turn
        assert words <= _words(vault), turn
        # A page that is rewritten each time is in no batch: a killed write's leftover is removed when it is old.
        left = [path for path in vault.rglob(".vaultmem-*") if path.parent != vault / "vaultmem"]
        assert not left, turn
        shutil.rmtree(kept)
    with Vault(str(vault)) as opened:
        opened.dream(2)
        assert not opened.dream(2)["changes"]


def _words(vault: Path) -> set[str]:
    """All words of all contents, live or archived."""
    texts = [path.read_text() for path in (vault / "vaultmem").rglob("*.md")]
    return {word for text in texts for word in text[split(text).body :].split()}


def _dream_and_undo(vault: Path) -> None:
    os.environ["VAULTMEM_EMBEDDING_MODEL"] = "off"
    with Vault(str(vault)) as opened:
        opened.dream(2)
        opened.undo(last=True)


def test_threads_of_one_process_may_share_a_vault(opened: Vault) -> None:
    def work(number: int) -> None:
        opened.write(f"thread {number} was here and noted something of its own")

    with ThreadPoolExecutor(4) as pool:
        [*pool.map(work, range(4))]
    assert len(opened.memories()) == 4
