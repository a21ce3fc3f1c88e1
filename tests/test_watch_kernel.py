"""What the kernel does not take: events that it drops, too few watches, a disk that goes."""

import errno
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.test_watch import PATIENCE, Heard, fill, heard, linux, root, until
from tests.test_watch import end as end_of
from vaultmem.vault.watch import Watcher

__all__ = ["heard", "root"]  # fixtures

CHILD = """
import json, logging, signal, sys, threading
from vaultmem.vault import watch

watch.CHECK_EVERY = float(sys.argv[2])
speaking, ready = threading.Lock(), threading.Event()

def say(*words):
    with speaking:  # a line is two writes, and two threads speak
        print(json.dumps(words), flush=True)

class Heard:
    def __getattr__(self, name):
        return lambda *words, **more: say(name, *words)

class Log(logging.Handler):
    def emit(self, record):
        if record.msg.startswith("watching"):
            ready.set()
        elif record.levelno >= logging.WARNING:
            say("blind", record.getMessage())

logging.getLogger("vaultmem.watch").addHandler(Log())
logging.getLogger("vaultmem.watch").setLevel(logging.INFO)
signal.alarm(60)  # a test that waits in vain fails
watcher = watch.Watcher(sys.argv[1], Heard())
watcher.start()
ready.wait()
say("started", watcher._still_watches(), watcher.as_dict()["whole"])
for line in sys.stdin:
    say(line.strip(), watcher._still_watches(), watcher.as_dict()["whole"])
watcher.stop()
watcher.join()
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


def run_child(root: Path, *before: str, checks: float = 30.0) -> Child:
    words = [*before, sys.executable, "-W", "error", "-c", CHILD, str(root), str(checks)]
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
    assert said(child, "look_at_all") == []
    fill(root, "a/after.md")
    assert child.stdout
    for line in child.stdout:  # a loss that is found only then is said anew, and includes it
        if json.loads(line) in (["touched", "a/after.md"], ["look_at_all"]):
            break
    assert ask(child) == [True, True]
    end(child)


@linux
def test_more_folders_later_than_may_be_watched(root: Path) -> None:
    fill(root, "a/a.md")
    child = run_child(root, *in_own_kernel_limits("echo 21 > /proc/sys/user/max_inotify_watches"))
    assert said(child, "started") == [True, True]
    many = root.parent / "many"
    fill(many, *(f"f{number}/a.md" for number in range(30)))
    many.rename(root / "many")  # they come at once, however slow the machine is
    (what,) = said(child, "blind")
    assert str(what).startswith("only 21 of 33 folders can be watched")
    assert said(child, "look_at_all") == []  # it was tried anew before it said so
    (root / "a").rename(root / "another")
    time.sleep(4.0)  # more than two counts wait for
    print("?", file=child.stdin, flush=True)
    assert child.stdout
    calls = [json.loads(line) for line in iter(child.stdout.readline, '["?", true, false]\n')]
    assert ["look_at_all"] not in calls, "a changed folder is no reason to compare everything"
    end(child)


@linux
@pytest.mark.parametrize("limit", ["max_user_watches", "max_user_instances"])
def test_no_watch_at_all(root: Path, limit: str) -> None:
    name = limit.replace("user", "inotify")
    child = run_child(root, *in_own_kernel_limits(f"echo 0 > /proc/sys/user/{name}"))
    (what,) = said(child, "blind")
    assert "watched" in str(what)
    assert f"to mend it: sudo sysctl fs.inotify.{limit}=" in str(what)
    assert said(child, "started") == [False, False]
    end(child)


@linux
def test_a_vault_that_is_unmounted_and_comes_back(root: Path) -> None:
    disk = root / "disk"
    disk.mkdir()
    child = run_child(disk, *in_own_kernel_limits(f"mount -t tmpfs none '{disk}'"), checks=3.0)
    assert said(child, "started") == [True, True]
    inside = ["nsenter", "--user", "--mount", f"--target={child.pid}"]
    try:
        subprocess.run([*inside, "umount", disk], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        child.kill()
        child.communicate()
        pytest.skip(f"this system does not let us: {error}")
    subprocess.run([*inside, "mount", "-t", "tmpfs", "none", disk], check=True)
    until(lambda: ask(child) == [True, True])
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
    until(lambda: watcher.trouble is not None)
    problem = f"the vault cannot be watched: [Errno {errno.ENOSYS}] {os.strerror(errno.ENOSYS)}; vaultmem sync"
    assert watcher.as_dict() == {"alive": False, "whole": False, "trouble": problem}
    end_of(watcher)
