"""What happens in a vault is told, on real folders and with the real kernel; and so is what was missed."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from vaultmem.vault import watch_events
from vaultmem.vault.watch import Watcher
from vaultmem.vault.watch_events import SETTINGS_FILES

linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has these limits")
PATIENCE = 60.0  # seconds; only a failing test waits for so long
Call = tuple[str, ...]


class Heard:
    """A listener that remembers."""

    def __init__(self) -> None:
        self.calls: list[Call] = []

    def touched(self, path: str) -> None:
        self.calls.append(("touched", path))

    def folder_touched(self, path: str) -> None:
        self.calls.append(("folder", path))

    def settings_touched(self) -> None:
        self.calls.append(("settings",))

    def git_touched(self) -> None:
        self.calls.append(("git",))

    def lost(self) -> None:
        self.calls.append(("lost",))

    def blind(self, what: str, fix: str) -> None:
        self.calls.append(("blind", what, fix))

    def wait(self, *calls: Call) -> None:
        """Wait for calls, in any order among others."""
        until(lambda: set(calls) <= set(self.calls), lambda: (set(calls), self.calls))

    def of(self, kind: str) -> list[Call]:
        return [call for call in self.calls if call[0] == kind]

    def covers(self, path: str) -> bool:
        """Whether a file was told of, or a folder that it is in."""
        return ("touched", path) in self.calls or any(
            path.startswith(call[1] + "/") for call in self.of("folder")
        )


def until(happened: Callable[[], bool], state: Callable[[], object] = lambda: "") -> None:
    end = time.monotonic() + PATIENCE
    while not happened():
        assert time.monotonic() < end, state()
        time.sleep(0.005)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "vault"
    folder.mkdir()
    return folder


@pytest.fixture
def heard() -> Heard:
    return Heard()


@pytest.fixture
def watcher(root: Path, heard: Heard) -> Iterator[Watcher]:
    """One that is started by the test, so that the folder can be filled before."""
    one = Watcher(str(root), heard)
    before = set(threading.enumerate())
    yield one
    one.stop()
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


def fill(root: Path, *paths: str) -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(path, encoding="utf-8")


# Which changes are told


def test_a_note_that_is_made_saved_and_deleted(
    root: Path, watcher: Watcher, heard: Heard, marks: Marks
) -> None:
    fill(root, "sub/old.md")
    watcher.start()
    assert watcher.is_alive()
    assert watcher.is_whole()
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
    watcher.start()
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


def test_noise_is_not_told(root: Path, watcher: Watcher, heard: Heard, marks: Marks) -> None:
    fill(root, "note.md", ".obsidian/plugins/dataview/x", "node_modules/p/x.md", "m/c/a.md")
    watcher.start()
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
def test_reading_is_not_even_asked_for(watcher: Watcher) -> None:
    """With these events watchdog never comes to an end in thousands of folders."""
    before = watch_events.open_queues()
    watcher.start()
    (queue,) = watch_events.open_queues() - before
    lines = Path(f"/proc/self/fdinfo/{queue}").read_text("ascii").splitlines()
    masks = [int(line.split("mask:")[1].split()[0], 16) for line in lines if "mask:" in line]
    assert len(masks) == 2
    accessed, left_unwritten, opened = 0x01, 0x10, 0x20
    assert not any(mask & (accessed | left_unwritten | opened) for mask in masks)


@linux
def test_a_note_that_left_does_not_hold_up_the_next(watcher: Watcher) -> None:
    """Watchdog waits for the other half of its rename, and all that follows waits with it."""
    from watchdog.observers.inotify_move_event_grouper import InotifyMoveEventGrouper

    watcher.start()
    assert InotifyMoveEventGrouper.delay <= 0.05


@pytest.mark.parametrize(
    "name", [b"caf\xe9.md", "é.md".encode(), "e\u0301.md".encode(), "计划.md".encode(), b"a\nb.md"]
)
def test_names_come_as_the_disk_spells_them(
    root: Path, watcher: Watcher, heard: Heard, name: bytes
) -> None:
    watcher.start()
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
    watcher.start()
    (root / "a").rename(root / "c")
    assert marks.settled() == [("folder", "a"), ("folder", "c")]
    heard.calls.clear()
    fill(root, "c/b/0.md")
    assert set(marks.settled()) == {("touched", "c/b/0.md")}


def test_nothing_is_lost_in_folders_made_in_one_go(
    root: Path, watcher: Watcher, heard: Heard, marks: Marks
) -> None:
    watcher.start()
    paths = [f"t{tree}/b/c/d/{note}.md" for tree in range(40) for note in range(3)]
    fill(root, *paths)
    marks.settled()
    assert [path for path in paths if not heard.covers(path)] == []
    heard.calls.clear()
    fill(root, *paths)  # by now each folder is watched
    marks.settled()
    assert [path for path in paths if ("touched", path) not in heard.calls] == []


@pytest.mark.parametrize("path", sorted(SETTINGS_FILES))
def test_settings_are_told_of_however_they_are_saved(
    root: Path, watcher: Watcher, heard: Heard, path: str
) -> None:
    fill(root, path)
    watcher.start()
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
        heard.wait(("settings",))


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
    watcher.start()
    for path in GIT:
        heard.calls.clear()
        fill(root, path)
        assert set(marks.settled()) == {("git",)}, path
    heard.calls.clear()
    fill(root, *NOT_GIT)
    assert marks.settled() == []
    (root / ".git/index.lock").rename(root / ".git/index")
    assert marks.settled() == [("git",)]


class Faulty(Heard):
    """A listener that fails at the first call."""

    def touched(self, path: str) -> None:
        super().touched(path)
        if len(self.calls) == 1:
            raise ValueError(path)


def test_a_fault_of_the_listener_is_logged_and_no_more(
    root: Path, caplog: pytest.LogCaptureFixture
) -> None:
    faulty = Faulty()
    watcher = Watcher(str(root), faulty)
    watcher.start()
    fill(root, "first.md")
    until(lambda: "ValueError: first.md" in caplog.text)
    fill(root, "second.md")
    faulty.wait(("touched", "second.md"))
    assert {record.name for record in caplog.records} == {"vaultmem.watch"}
    assert watcher.is_alive()
    watcher.stop()


def test_the_portable_way(
    root: Path, watcher: Watcher, heard: Heard, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What runs where there is no inotify, on whatever watchdog takes here."""
    fill(root, "a/x.md", "../outside/y.md")
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(sys, "platform", "darwin")
        watcher.start()
        assert watcher.is_alive()
        assert watcher.is_whole()
    (root / "a").rename(root / "b")
    fill(root, "b/x.md")
    heard.wait(("folder", "a"), ("folder", "b"), ("touched", "b/x.md"))
    (root / "../outside").rename(root / "c")
    heard.wait(("folder", "c"))
    root.rename(root.parent / "away")
    assert not watcher.is_alive()
    heard.wait(("folder", ""))


# The vault itself


def test_a_vault_that_is_deleted_and_made_anew(root: Path, watcher: Watcher, heard: Heard) -> None:
    watcher.start()
    root.rmdir()
    heard.wait(("folder", ""))
    assert not watcher.is_alive()
    root.mkdir()
    assert not watcher.is_alive()
    watcher.start()
    assert watcher.is_alive()
    fill(root, "a.md")
    heard.wait(("touched", "a.md"))
    assert heard.of("folder") == [("folder", "")]


def test_a_vault_that_is_renamed_away_and_back(root: Path, watcher: Watcher, heard: Heard) -> None:
    watcher.start()
    away = root.parent / "away"
    root.rename(away)
    heard.wait(("folder", ""))
    assert not watcher.is_alive()
    assert heard.calls == [("folder", "")]
    away.rename(root)
    assert not watcher.is_alive()
    watcher.start()
    assert watcher.is_alive()
    fill(root, "a.md")
    heard.wait(("touched", "a.md"))
    assert heard.of("folder") == [("folder", "")]


def test_a_folder_that_leaves_the_vault_and_comes_back(
    root: Path, watcher: Watcher, heard: Heard, marks: Marks
) -> None:
    outside = root.parent / "outside"
    fill(root, "a/x.md")
    watcher.start()
    (root / "a").rename(outside)
    heard.wait(("folder", "a"), ("lost",))
    heard.calls.clear()
    fill(outside, "x.md")
    assert marks.settled() == []
    outside.rename(root / "b")
    heard.wait(("folder", "b"))
    fill(root, "b/x.md")
    heard.wait(("touched", "b/x.md"))
    assert watcher.is_whole()


def test_a_new_folder_by_the_name_of_one_that_left(
    root: Path, watcher: Watcher, heard: Heard
) -> None:
    outside = root.parent / "outside"
    (root / "a").mkdir()
    watcher.start()
    (root / "a").rename(outside)
    heard.wait(("lost",))
    (root / "a").mkdir()
    (root / "a").rename(root / "b")
    outside.rmdir()
    heard.wait(("folder", "b"))
    fill(root, "b/y.md")
    heard.wait(("touched", "b/y.md"))
    assert watcher.is_alive()
    assert heard.of("lost") == [("lost",)]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_thread_that_dies_of_that_is_replaced(root: Path, watcher: Watcher, heard: Heard) -> None:
    """Too fast for a renewal: watchdog knows two watches by one name, forgets one and misses it."""
    outside = root.parent / "outside"
    (root / "a").mkdir()
    watcher.start()
    (root / "a").rename(outside)
    (root / "a").mkdir()
    (root / "a").rename(root / "b")
    outside.rmdir()
    heard.wait(("lost",))
    fill(root, "b/y.md")
    heard.wait(("touched", "b/y.md"))
    assert watcher.is_alive()


# What the kernel does not take


CHILD = """
import json, signal, sys, threading
from vaultmem.vault.watch import Watcher

speaking = threading.Lock()

def say(*words):
    with speaking:  # a line is two writes, and two threads speak
        print(json.dumps(words), flush=True)

class Heard:
    def __getattr__(self, name):
        return lambda *words: say(name, *words)

signal.alarm(30)  # a test that waits in vain fails
watcher = Watcher(sys.argv[1], Heard())
watcher.start()
say("started", watcher.is_alive(), watcher.is_whole())
for line in sys.stdin:
    if line.strip() == "start":
        watcher.start()
    say(line.strip(), watcher.is_alive(), watcher.is_whole())
watcher.stop()
assert not [one for one in threading.enumerate() if one is not threading.main_thread()]
"""
Child = subprocess.Popen[str]


def ask(child: Child, word: str = "?") -> list[object]:
    """What a child says to a word, all other calls read over."""
    assert child.stdin
    print(word, file=child.stdin, flush=True)
    return said(child, word)


def said(child: Child, kind: str) -> list[object]:
    """The next call of a kind."""
    assert child.stdout
    for line in child.stdout:
        call: list[object] = json.loads(line)
        if call[0] == kind:
            return call[1:]
    pytest.fail(f"the child ended without {kind}")


def end(child: Child) -> None:
    """Let it end, and see that it printed nothing on anybody's terminal."""
    _, errors = child.communicate(timeout=PATIENCE)
    assert (child.returncode, errors) == (0, "")


def run_child(root: Path, *before: str) -> Child:
    words = [*before, sys.executable, "-W", "error", "-c", CHILD, str(root)]
    pipe = subprocess.PIPE
    return subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=pipe, text=True)


def in_own_kernel_limits(command: str) -> list[str]:
    """The start of a command line that is root of its own, small world."""
    words = ["unshare", "--user", "--map-root-user", "--mount"]
    words += ["sh", "-ec", f'{command}; exec "$@"', "sh"]
    try:
        done = subprocess.run([*words, "true"], capture_output=True, check=False)
    except FileNotFoundError:
        pytest.skip("needs unshare")
    if done.returncode:
        pytest.skip(f"this system does not let us: {done.stderr!r}")
    return words


@linux
def test_events_that_the_kernel_dropped(root: Path) -> None:
    """The child is stopped, so that it cannot take events, until the kernel holds too many of them."""
    fill(root, "a/a.md")
    room = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text("ascii"))
    if room > 50_000:
        pytest.skip("the queue of this kernel is too long to fill")
    child = run_child(root)
    assert said(child, "started") == [True, True]
    child.send_signal(signal.SIGSTOP)
    state = Path(f"/proc/{child.pid}/stat")
    until(lambda: state.read_text("ascii").rpartition(")")[2].split()[0] == "T")
    for number in range(room // 2 + 1000):  # two events each
        names = ("a/a.md", "a/c.md") if number % 2 == 0 else ("a/c.md", "a/a.md")
        os.rename(root / names[0], root / names[1])
    child.send_signal(signal.SIGCONT)
    assert said(child, "lost") == []
    fill(root, "a/after.md")
    assert child.stdout
    for line in child.stdout:  # a loss that is found only then is said anew, and includes it
        if json.loads(line) in (["touched", "a/after.md"], ["lost"]):
            break
    assert ask(child) == [True, True]
    end(child)


@linux
def test_more_folders_than_may_be_watched(root: Path) -> None:
    fill(root, *(f"f{number}/a.md" for number in range(30)))
    child = run_child(root, *in_own_kernel_limits("echo 21 > /proc/sys/user/max_inotify_watches"))
    what, fix = said(child, "blind")
    assert str(what).startswith("only 20 of 31 folders can be watched")
    assert str(fix).startswith("sudo sysctl fs.inotify.max_user_watches=")
    assert said(child, "started") == [True, False]
    assert ask(child, "start") == [True, False]
    end(child)


@linux
def test_more_folders_later_than_may_be_watched(root: Path) -> None:
    fill(root, "a/a.md")
    child = run_child(root, *in_own_kernel_limits("echo 21 > /proc/sys/user/max_inotify_watches"))
    assert said(child, "started") == [True, True]
    fill(root, *(f"f{number}/a.md" for number in range(30)))
    what, _ = said(child, "blind")
    assert str(what).startswith("only 20 of 32 folders can be watched")
    assert said(child, "lost") == []  # it was tried anew before it said so
    assert ask(child) == [True, False]
    end(child)


@linux
@pytest.mark.parametrize(
    ("limit", "room"), [("max_user_watches", 0), ("max_user_watches", 1), ("max_user_instances", 0)]
)
def test_no_watch_at_all(root: Path, limit: str, room: int) -> None:
    name = limit.replace("user", "inotify")
    child = run_child(root, *in_own_kernel_limits(f"echo {room} > /proc/sys/user/{name}"))
    what, fix = said(child, "blind")
    assert "watched" in str(what)
    assert str(fix).startswith(f"sudo sysctl fs.inotify.{limit}=")
    assert said(child, "started") == [False, False]
    assert ask(child, "start") == [False, False]
    end(child)


@linux
def test_a_vault_that_is_unmounted_and_comes_back(root: Path) -> None:
    disk = root / "disk"
    disk.mkdir()
    child = run_child(disk, *in_own_kernel_limits(f"mount -t tmpfs none '{disk}'"))
    assert said(child, "started") == [True, True]
    inside = ["nsenter", "--user", "--mount", f"--target={child.pid}"]
    try:
        subprocess.run([*inside, "umount", disk], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        child.kill()
        child.communicate()
        pytest.skip(f"this system does not let us: {error}")
    subprocess.run([*inside, "mount", "-t", "tmpfs", "none", disk], check=True)
    assert ask(child) == [False, True]
    assert ask(child, "start") == [True, True]
    subprocess.run([*inside, "touch", disk / "a.md"], check=True)
    assert said(child, "touched") == ["a.md"]
    end(child)


def test_a_system_that_cannot_tell(
    root: Path, heard: Heard, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails() -> None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))

    monkeypatch.setattr("vaultmem.vault.watch._new_observer", fails)
    watcher = Watcher(str(root), heard)
    watcher.start()
    watcher.start()
    assert not watcher.is_alive()
    assert not watcher.is_whole()
    ((_, what, fix),) = heard.calls
    assert os.strerror(errno.ENOSYS) in what
    assert fix == "vaultmem sync"
    watcher.stop()
