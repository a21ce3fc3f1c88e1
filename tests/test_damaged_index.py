"""A damaged index or a full state disk, without an agent: writes succeed, readers answer, and it is reported once."""

import contextlib
import logging
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from unittest.mock import Mock

import pytest

from tests.agent_run import agent_on
from tests.cli_run import Ran, on, process
from tests.conftest import Write
from tests.index_dump import assert_equals_rebuilt, generation, synced
from tests.mounting import mounts, runs_with_mounts
from vaultmem import Vault
from vaultmem.errors import StateError
from vaultmem.index import keyword

DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda _: b"",
    "flipped": lambda data: bytes(255 - byte for byte in data),
    "a flipped middle": lambda data: data[:8] + bytes(255 - b for b in data[8:-64]) + data[-64:],
}
PARTS = ("kw/meta.json", "kw/*.term", "kw/*.idx", "kw/*.fast", "catalog.db")
DOORS = ("search apple", "recall pear", "tasks", "agent")


@pytest.fixture
def indexed(vault: Path, write: Write, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("VAULTMEM_EMBEDDING_MODEL", "off")
    for number in range(3):
        write(f"Note {number}.md", f"An apple {number}\n\n- [ ] task {number}\n")
    synced(vault)
    with Vault(str(vault)) as opened:
        opened.write("The pear is ripe in autumn")
    return vault


def damage(vault: Path, part: str, how: str) -> None:
    found = [*generation(vault).glob(part)]
    assert found, part
    for file in found:  # by another file: Tantivy's threads may have the old one mapped and would crash on a shorter one
        damaged = file.with_suffix(".damaged")
        damaged.write_bytes(DAMAGES[how](file.read_bytes()))
        damaged.replace(file)
    for beside in generation(vault).glob("catalog.db-*"):
        beside.unlink()


def asked(vault: Path, door: str) -> Ran:
    words = ("agent", "--prompt", "pear") if door == "agent" else door.split()
    return process(*words, "--vault", str(vault), "--format", "json")


@pytest.mark.parametrize("door", DOORS)
def test_a_reader_heals_the_index_and_tells_once(indexed: Path, door: str, tmp_path: Path) -> None:
    expected = asked(indexed, door)
    assert (expected.code, expected.err) == (0, "")
    damage(indexed, "kw/*.term", "flipped")
    ended = asked(indexed, door)
    assert ended.code == 0, ended.err
    assert "damaged" in ended.err
    assert len(ended.err.splitlines()) == 1
    again = asked(indexed, door)
    assert (again.code, again.err) == (0, "")
    assert_equals_rebuilt(indexed, tmp_path / "scratch")


READS: dict[str, Callable[[Vault], object]] = {
    "notes": Vault.notes, "links": lambda vault: vault.links("Note 1"), "tasks": Vault.tasks,
    "backlinks": lambda vault: vault.backlinks("Note 1"), "unresolved": Vault.unresolved,
    "ambiguous": Vault.ambiguous, "counts": Vault.counts, "troubles": Vault.troubles,
    "synced": lambda vault: vault.synced() is not None, "embedded": Vault.embedded,
    "mentions": lambda vault: vault.mentions("Note 1"), "pending": lambda vault: vault.ask("pending"),
}  # fmt: skip


def damage_all_tables(vault: Path) -> None:
    """Damage what is read after the catalog was opened."""
    catalog = generation(vault) / "catalog.db"
    with contextlib.closing(sqlite3.connect(catalog)) as db:
        (size,) = db.execute("PRAGMA page_size").fetchone()
        tables = "SELECT rootpage FROM sqlite_master WHERE rootpage > 0"
        roots = [row[0] for row in db.execute(tables)]
    data = bytearray(catalog.read_bytes())
    for page in roots:
        data[(page - 1) * size : page * size] = b"\xff" * size
    catalog.write_bytes(data)


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_damage_that_a_reader_meets_heals(indexed: Path, read: Callable[[Vault], object]) -> None:
    with Vault(str(indexed)) as vault:
        expected = read(vault)
    damage_all_tables(indexed)
    with Vault(str(indexed)) as vault:
        assert read(vault) == expected


@pytest.mark.parametrize("agent", [False, True], ids=["alone", "agent"])
def test_a_write_heals_what_turns_out_damaged_and_is_made_once(indexed: Path, agent: bool) -> None:
    with agent_on(indexed) if agent else contextlib.nullcontext(), Vault(str(indexed)) as vault:
        before = len(vault.memories())
        damage_all_tables(indexed)
        written = vault.write("Quinces grow behind the old wall")
        assert [one.path for one in vault.search("quinces")] == [written["path"]]
        assert len(vault.memories()) == before + 1


@pytest.mark.parametrize("how", DAMAGES)
@pytest.mark.parametrize("part", PARTS)
def test_a_write_does_not_depend_on_the_index(
    indexed: Path, part: str, how: str, caplog: pytest.LogCaptureFixture
) -> None:
    damage(indexed, part, how)
    with Vault(str(indexed)) as opened, caplog.at_level(logging.WARNING):
        written = opened.write("Quinces grow behind the old wall")
        assert written["created"]
        for _ in range(2):
            assert [one.path for one in opened.search("quinces")] == [written["path"]]
            assert [one["path"] for one in opened.recall("quinces")["memories"]] == [
                written["path"]
            ]
    assert len(caplog.records) <= 2, caplog.text  # one by the writer, one by the reader


STATE_DISK = """
import glob, os, subprocess, sys, tempfile
place, how = sys.argv[1:]
vault, disk = place + "/vault", place + "/disk"
os.makedirs(vault + "/.obsidian"); os.makedirs(disk)
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "none", disk], check=True)
os.makedirs(place + "/temp")
os.environ.update(VAULTMEM_STATE=disk + "/state", VAULTMEM_EMBEDDING_MODEL="off", TMPDIR=place + "/temp")
from tests.cli_run import ran
def asked(*words):
    done = ran(*words, "--vault", vault, "--format", "json")
    assert done.code == 0 and "damaged" not in done.err, (words, done.err)
    return done.out
for number in range(3):
    with open(f"{vault}/Note {number}.md", "w") as file:
        file.write(f"An apple {number} [[Note 1]]\\n\\n- [ ] task {number}\\n")
asked("sync"); asked("write", "The pear is ripe in autumn"); asked("history"); asked("write", "Plums are blue")
DOORS = (["search", "apple"], ["search", "pear"], ["recall", "pear"], ["list"], ["tasks"], ["links", "Note 2"],
         ["backlinks", "Note 1"], ["unresolved"], ["related", "Note 2"], ["why", "apple", "Note 2"],
         ["agent", "--prompt", "pear"], ["history"], ["pending"], ["status"])
before = [asked(*words) for words in DOORS]
asked("write", "Cherries are red")
if how == "full":
    with open(disk + "/fill", "wb", 0) as file:
        try:
            while True: file.write(b"x" * 1024)
        except OSError: pass
else:
    subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
for words, said in zip(DOORS, before):
    now = asked(*words)
    assert ("apple" in now) == ("apple" in said) and ("pear" in now) == ("pear" in said), (words, said, now)
found = ran("doctor", "--vault", vault).out
assert ("the disk is full" in found) == (how == "full"), found
assert "--rebuild" not in found, found
assert not glob.glob(tempfile.gettempdir() + "/vaultmem-*"), "something is left"
"""


@mounts
@pytest.mark.parametrize("how", ["full", "write-protected"])
def test_a_state_disk_that_takes_nothing_stops_no_reader(tmp_path: Path, how: str) -> None:
    runs_with_mounts(STATE_DISK, tmp_path, how)


def test_what_is_written_beside_the_links_to_an_index_is_no_damage(
    indexed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tantivy makes its lock there from its own thread, even while the links are removed."""
    folder, opened = str(generation(indexed) / "kw"), keyword._open
    makers: list[threading.Thread] = []

    def make(place: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            while True:
                Path(place, ".tantivy-meta.lock").touch()

    def stand_in(place: str) -> object:
        if place == folder:
            raise StateError("write-protected")
        makers.append(threading.Thread(target=make, args=[place]))
        makers[-1].start()
        return opened(place)

    (tmp_path / "temp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temp"))
    monkeypatch.setattr(keyword, "_open", stand_in)
    for _ in range(20):
        assert not keyword.open_to_read(folder)[2]
    for maker in makers:
        maker.join()


def test_what_was_not_indexed_is_in_the_end(indexed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the writer has trouble, as with a full disk: a reader sees nothing wrong, but has to be told."""

    with monkeypatch.context() as patch:
        patch.setattr(
            "vaultmem.index.keyword.KeywordWriter.__init__",
            Mock(side_effect=StateError("the index cannot be written (No space left on device)")),
        )
        written = on(indexed, "write", "Quinces are sour", "--format", "json")
        assert written.code == 0, written.err
        assert on(indexed, "search", "apple").code == 0
    found = on(indexed, "search", "quinces", "--format", "json").data["results"]
    assert [one["path"] for one in found] == [written.data["path"]]
