"""What happens in a vault is told, on real folders and with the real kernel; and so is what was missed."""

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from vaultmem.vault import watch, watch_events
from vaultmem.vault.watch import Watcher
from vaultmem.vault.watch_events import SETTINGS_FILES

linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has these limits")
PATIENCE = 60.0  # seconds; only a failing test waits this long
Call = tuple[str, ...]


class Heard:
    """A listener that records calls."""

    def __init__(self) -> None:
        self.calls: list[Call] = []

    def touched(self, path: str, *, folder: bool = False) -> None:
        self.calls.append(("folder" if folder else "touched", path))

    def look_at_all(self, within: float = 0.0) -> None:
        self.calls.append(("later",) if within else ("at once",))

    def wait(self, *calls: Call) -> None:
        """Wait for these calls, in any order and among others."""
        until(lambda: set(calls) <= set(self.calls), lambda: (set(calls), self.calls))

    def of(self, kind: str) -> list[Call]:
        return [call for call in self.calls if call[0] == kind]

    def covers(self, path: str) -> bool:
        """Whether a file, or a folder that contains it, was reported."""
        return ("touched", path) in self.calls or any(
            path.startswith(call[1] + "/") for call in self.of("folder")
        )


def until(happened: Callable[[], bool], state: Callable[[], object] = lambda: "") -> None:
    end = time.monotonic() + PATIENCE
    while not happened():
        assert time.monotonic() < end, state()
        time.sleep(0.005)


def begin(watcher: Watcher) -> None:
    """Start it, and wait until it watches all folders, and has what was changed before looked at."""
    heard = watcher._listener
    assert isinstance(heard, Heard)
    watcher.start()
    heard.wait(("at once",))
    heard.calls.remove(("at once",))
    assert watcher.as_dict() == {"alive": True, "whole": True, "trouble": None}


def end(watcher: Watcher) -> None:
    """Stop it, if it was started, and wait until it has ended."""
    watcher.stop()
    if watcher.ident:
        watcher.join()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "vault"
    folder.mkdir()
    return folder


@pytest.fixture
def heard() -> Heard:
    return Heard()


def fill(root: Path, *paths: str) -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(path, encoding="utf-8")


@pytest.fixture
def watcher(root: Path, heard: Heard) -> Iterator[Watcher]:
    """One that is started by the test, so that the folder can be filled before."""
    one = Watcher(str(root), heard)
    before = set(threading.enumerate())
    yield one
    end(one)
    assert set(threading.enumerate()) <= before


class Marks:
    """Says when all that was done before has been told: events come in order."""

    def __init__(self, root: Path, heard: Heard) -> None:
        self._root = root
        self._heard = heard
        self._count = 0

    def settled(self) -> list[Call]:
        """All calls so far, without those of the marks."""
        self._count += 1
        name = f"mark {self._count}.md"
        (self._root / name).touch()
        self._heard.wait(("touched", name))
        return [call for call in self._heard.calls if "mark" not in call[-1]]


@pytest.fixture
def marks(root: Path, heard: Heard) -> Marks:
    return Marks(root, heard)


def test_a_note_that_is_made_saved_and_deleted(
    root: Path, watcher: Watcher, heard: Heard, marks: Marks
) -> None:
    fill(root, "sub/old.md")
    begin(watcher)
    assert heard.calls == []
    fill(root, "new.md", "pictures.png")
    assert set(marks.settled()) == {("touched", "new.md"), ("touched", "pictures.png")}
    heard.calls.clear()
    fill(root, "sub/old.md")
    assert set(marks.settled()) == {("touched", "sub/old.md")}
    heard.calls.clear()
    (root / "new.md").unlink()
    assert marks.settled() == [("touched", "new.md")]


def test_a_moved_note_is_told_of_at_both_places(
    root: Path, watcher: Watcher, heard: Heard, marks: Marks
) -> None:
    fill(root, "a/x.md", "b/y.md", ".trash/z.md", "../outside/in.md")
    begin(watcher)
    (root / "a/x.md").rename(root / "b/x.md")
    assert marks.settled() == [("touched", "a/x.md"), ("touched", "b/x.md")]
    heard.calls.clear()
    (root / "b/x.md").rename(root / ".trash/x.md")
    (root / ".trash/z.md").rename(root / "a/z.md")
    assert marks.settled() == [("touched", "b/x.md"), ("touched", "a/z.md")]
    heard.calls.clear()
    (root / "b/y.md").rename(root / "../outside/y.md")
    (root / "../outside/in.md").rename(root / "in.md")
    assert marks.settled() == [("touched", "b/y.md"), ("touched", "in.md")]


def test_ignored_files_are_silent(root: Path, watcher: Watcher, heard: Heard, marks: Marks) -> None:
    fill(root, "note.md", ".obsidian/plugins/dataview/x", "node_modules/p/x.md", "m/c/a.md")
    begin(watcher)
    fill(root, ".hidden.md", ".obsidian/workspace.json", ".obsidian/plugins/dataview/data.json")
    fill(root, ".trash/a/b.md", "sub.swp", "~sync~note.md.tmp", "note.md~", ".stversions/note.md")
    fill(root, "node_modules/p/y.md", "node_modules/q/z.md", ".obsidian/app.json.bak")
    (root / "node_modules/q").rename(root / "node_modules/r")
    (root / "note.md").read_bytes()
    list(root.rglob("*"))
    assert marks.settled() == []
    fill(root, "my_node_modules/a.md", "m/entries/c/.records/a.md", "m/c/.records/b.md")
    marks.settled()
    assert heard.covers("my_node_modules/a.md")
    assert heard.covers("m/entries/c/.records/a.md")
    assert not heard.covers("m/c/.records/b.md")


@linux
def test_no_read_events_are_requested_from_the_kernel(watcher: Watcher) -> None:
    """With these events watchdog never comes to an end in thousands of folders."""
    before = watch_events.open_queues()
    begin(watcher)
    (queue,) = watch_events.open_queues() - before
    lines = Path(f"/proc/self/fdinfo/{queue}").read_text("ascii").splitlines()
    masks = [int(line.split("mask:")[1].split()[0], 16) for line in lines if "mask:" in line]
    assert len(masks) == 1
    accessed, left_unwritten, opened = 0x01, 0x10, 0x20
    assert not any(mask & (accessed | left_unwritten | opened) for mask in masks)


@pytest.mark.parametrize("name", [b"caf\xe9.md", "e\u0301.md".encode(), b"a\nb.md"])
def test_names_come_as_the_disk_spells_them(
    root: Path, watcher: Watcher, heard: Heard, name: bytes
) -> None:
    begin(watcher)
    folder = os.fsencode(root)
    try:
        with open(os.path.join(folder, name), "wb"):
            pass
    except OSError:
        pytest.skip("this disk takes no such name")
    (spelled,) = os.listdir(folder)
    heard.wait(("touched", os.fsdecode(spelled)))
    (root / "f").mkdir()
    os.rename(os.path.join(folder, name), os.path.join(folder, b"f", name))
    heard.wait(("touched", "f/" + os.fsdecode(spelled)))
    os.mkdir(os.path.join(folder, b"folder " + name))
    heard.wait(("folder", "folder " + os.fsdecode(name)))


def test_a_moved_folder_is_told_of_once_at_both_places(
    root: Path, watcher: Watcher, heard: Heard, marks: Marks
) -> None:
    fill(root, *(f"a/b/{number}.md" for number in range(50)))
    begin(watcher)
    (root / "a").rename(root / "c")
    assert marks.settled() == [("folder", "a"), ("folder", "c")]
    heard.calls.clear()
    fill(root, "c/b/0.md")
    assert set(marks.settled()) == {("touched", "c/b/0.md")}


def test_nothing_is_lost_in_folders_made_in_one_go(
    root: Path, watcher: Watcher, heard: Heard, marks: Marks
) -> None:
    begin(watcher)
    paths = [f"t{tree}/b/c/d/{note}.md" for tree in range(40) for note in range(3)]
    fill(root, *paths)
    marks.settled()
    assert [path for path in paths if not heard.covers(path)] == []
    heard.calls.clear()
    fill(root, *paths)  # by now each folder is watched
    marks.settled()
    assert [path for path in paths if ("touched", path) not in heard.calls] == []


@pytest.mark.parametrize("path", sorted(SETTINGS_FILES))
def test_settings_are_always_told_of(root: Path, watcher: Watcher, heard: Heard, path: str) -> None:
    fill(root, path)
    begin(watcher)
    acts: list[Callable[[], object]] = [
        lambda: (root / path).write_text("{}"),
        lambda: fill(root, path + ".tmp") or (root / (path + ".tmp")).replace(root / path),
        (root / path).unlink,
        lambda: (root / path).parent.rename(root / "elsewhere"),
        lambda: (root / "elsewhere").rename((root / path).parent),
    ]
    for act in acts:
        heard.calls.clear()
        act()
        heard.wait(("later",))


GIT = [
    *(".git/HEAD", ".git/index", ".git/ORIG_HEAD", ".git/packed-refs", ".git/refs/heads/a/b"),
    *("sub/.git/HEAD", ".git/modules/x/HEAD", ".git/reftable/0001.ref", "sub/tree/.git"),
]
NOT_GIT = [
    *(".git/objects/ab/cdef", ".git/logs/HEAD", ".git/logs/refs/heads/a", ".git/index.lock"),
    *(".git/COMMIT_EDITMSG", ".git/config", ".obsidian/plugins/x/.git/HEAD", ".github/HEAD"),
    *(".git/refs/heads/a.lock", ".git/FETCH_HEAD", "sub/.gitignore"),
]


def test_git_is_told_of_when_its_head_index_or_refs_move(
    root: Path, watcher: Watcher, heard: Heard, marks: Marks
) -> None:
    for path in (*GIT, *NOT_GIT):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
    begin(watcher)
    for path in GIT:
        heard.calls.clear()
        fill(root, path)
        assert set(marks.settled()) == {("later",)}, path
    heard.calls.clear()
    fill(root, *NOT_GIT)
    assert marks.settled() == []
    (root / ".git/index.lock").rename(root / ".git/index")
    assert marks.settled() == [("later",)]


class Faulty(Heard):
    """A listener that fails at the first call."""

    def touched(self, path: str, *, folder: bool = False) -> None:
        super().touched(path, folder=folder)
        if len(self.calls) == 1:
            raise ValueError(path)


def test_a_fault_of_the_listener_is_logged(root: Path, caplog: pytest.LogCaptureFixture) -> None:
    faulty = Faulty()
    watcher = Watcher(str(root), faulty)
    begin(watcher)
    fill(root, "first.md")
    until(lambda: "ValueError: first.md" in caplog.text)
    fill(root, "second.md")
    faulty.wait(("touched", "second.md"))
    assert {record.name for record in caplog.records} == {"vaultmem.watch"}
    assert watcher.as_dict()["alive"]
    end(watcher)


def test_the_portable_way(
    root: Path, watcher: Watcher, heard: Heard, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What runs where there is no inotify, on whatever watchdog takes here."""
    fill(root, "a/x.md", "../outside/y.md")
    monkeypatch.setattr(watch, "CHECK_EVERY", 0.1)
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(sys, "platform", "darwin")
        begin(watcher)
    (root / "a").rename(root / "b")
    fill(root, "b/x.md")
    heard.wait(("folder", "a"), ("folder", "b"), ("touched", "b/x.md"))
    (root / "../outside").rename(root / "c")
    heard.wait(("folder", "c"))
    root.rename(root.parent / "away")
    heard.wait(("folder", ""))
    assert not watcher.as_dict()["alive"]


@pytest.mark.parametrize("kept", [False, True], ids=["made anew", "renamed away and back"])
def test_a_vault_that_is_gone_and_there_again(
    root: Path, watcher: Watcher, heard: Heard, monkeypatch: pytest.MonkeyPatch, kept: bool
) -> None:
    away = root.parent / "away"
    monkeypatch.setattr(watch, "CHECK_EVERY", 0.1)
    monkeypatch.setattr(watch, "GONE_EVERY", 0.05)
    begin(watcher)
    root.rename(away) if kept else root.rmdir()
    heard.wait(("folder", ""))
    until(lambda: not watcher.as_dict()["alive"])
    assert {*heard.calls} == {("folder", "")}
    away.rename(root) if kept else root.mkdir()
    heard.wait(("at once",))
    assert watcher.as_dict()["alive"]
    fill(root, "a.md")
    heard.wait(("touched", "a.md"))
    assert {*heard.of("folder")} == {("folder", "")}


def test_a_folder_that_leaves_the_vault_and_comes_back(
    root: Path, watcher: Watcher, heard: Heard, marks: Marks
) -> None:
    outside = root.parent / "outside"
    fill(root, "a/x.md")
    begin(watcher)
    (root / "a").rename(outside)
    heard.wait(("folder", "a"), ("at once",))
    heard.calls.clear()
    fill(outside, "x.md")
    assert marks.settled() == []
    outside.rename(root / "b")
    heard.wait(("folder", "b"))
    fill(root, "b/x.md")
    heard.wait(("touched", "b/x.md"))
    assert watcher.as_dict()["whole"]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_thread_killed_by_a_clash_is_replaced(root: Path, watcher: Watcher, heard: Heard) -> None:
    """Too fast for a renewal: watchdog knows two watches by one name, forgets one and misses it."""
    outside = root.parent / "outside"
    (root / "a").mkdir()
    begin(watcher)
    (root / "a").rename(outside)
    (root / "a").mkdir()
    (root / "a").rename(root / "b")
    outside.rmdir()
    heard.wait(("at once",))
    fill(root, "b/y.md")
    heard.wait(("touched", "b/y.md"))
    assert watcher.as_dict()["alive"]
