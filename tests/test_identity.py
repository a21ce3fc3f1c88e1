"""While another folder is in the place of a vault, nothing is written there and nothing is considered removed."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli_run import Ran, on, tree_hash
from tests.conftest import Write, disk_full
from tests.index_dump import other_state
from tests.mounting import mounts, runs_with_mounts
from tests.vault_sync import git_merge_markers
from vaultmem.paths import state_folder, vault_id
from vaultmem.plugins import resolve
from vaultmem.vault.identity import MARKER, RECORD, follow, shared_name

pytestmark = pytest.mark.usefixtures("without_a_model")

CALL = b'{"name": "memory_write", "params": {"content": "The roof was mended"}}\n'
WRITES = (
    ("write", "The roof was mended by Anne"),
    ("remind", "call Anne", "--at", "tomorrow"),
    ("tag", "boiler", "house"),
    ("delete", "boiler"),
    ("dream",),
    ("agent",),
    ("sync",),
    ("sync", "--rebuild"),
)


@pytest.fixture
def mounted(vault: Path, write: Write) -> Path:
    """A vault in use: notes, an index, a memory and its history."""
    for number in range(4):
        write(f"Note {number}.md", f"Note {number} of the house")
    done(vault, "sync")
    done(vault, "write", "The boiler is serviced by Ben")
    done(vault, "history")
    return vault


def done(vault: Path, *words: str) -> Ran:
    said = on(vault, *words)
    assert said.code == 0, said.err
    return said


def unmounted(vault: Path) -> Path:
    """What is there if the drive is not mounted: another folder with other contents."""
    away = vault.with_name("drive")
    vault.rename(away)
    vault.mkdir()
    (vault / "not mounted").touch()
    return away


def mounted_again(vault: Path, away: Path) -> None:
    shutil.rmtree(vault)
    away.rename(vault)


def commits(vault: Path) -> list[tuple[str, str]]:
    return [
        (one["by"], one["why"])
        for one in done(vault, "history", "--format", "json").data["history"]
    ]


def test_no_door_writes_while_the_vault_is_away(mounted: Path) -> None:
    before = commits(mounted)
    away = unmounted(mounted)
    bare, drive = tree_hash(mounted), tree_hash(away)
    for words in WRITES:
        said = on(mounted, *words, stdin=CALL)
        assert said.code != 0, words
        assert "not the folder that was the vault" in said.err + said.out, words
        assert (tree_hash(mounted), tree_hash(away)) == (bare, drive), words
    assert "not the folder that was the vault" in on(mounted, "doctor").out
    mounted_again(mounted, away)
    assert commits(mounted) == before
    assert "Ben" in done(mounted, "list").out
    done(mounted, "write", "The roof was mended by Anne")


@pytest.mark.parametrize(
    ("words", "step", "is_before"),
    [
        (["sync"], "vaultmem.index.sync:first_or_next", False),
        (["sync", "--rebuild"], "vaultmem.index.sync:rebuilt", False),
        (["export"], "vaultmem.exchange.export:_line", True),
        (["backup", "{tmp}/saved"], "vaultmem.operations.backup:_collect", True),
    ],
)
def test_a_vault_that_goes_away_in_the_middle(
    mounted: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], step: str, is_before: bool
) -> None:
    """No folder in its place becomes the vault, and none of its memories counts as deleted."""
    real, away = resolve(step), list[Path]()

    def swapped(*args: object, **more: object) -> object:
        result = None if is_before else real(*args, **more)
        if not away:
            away.append(unmounted(mounted))
            (mounted / "vaultmem").mkdir()
        return real(*args, **more) if is_before else result

    monkeypatch.setattr(step.replace(":", "."), swapped)
    said = on(mounted, *(word.format(tmp=mounted.parent) for word in words))
    assert (said.code == 0) != is_before, said
    assert not (mounted / "vaultmem" / MARKER).exists()
    mounted_again(mounted, *away)
    done(mounted, "write", "The roof was mended by Anne")


def test_the_state_follows_a_vault_that_was_renamed(mounted: Path, tmp_path: Path) -> None:
    history = done(mounted, "history").out
    copy = shutil.copytree(mounted, tmp_path / "copy")
    assert "write" not in done(copy, "history").out
    new = mounted.rename(tmp_path / "renamed")
    stub = Path(state_folder(str(new)), "ledger.db")  # as by an agent that ran there before
    stub.parent.mkdir()
    stub.touch()
    assert done(new, "history").out == history
    assert not Path(state_folder(str(mounted))).exists()
    assert list(stub.parent.glob(f"*/{stub.name}"))
    other = shutil.copytree(new, tmp_path / "copy of the renamed one")
    assert "write" not in done(other, "history").out, "its place is known, too"
    done(new, "undo", "--last")


def test_a_vault_may_go_back_and_forth_between_two_places(mounted: Path, tmp_path: Path) -> None:
    """Each time, an agent that still ran has left something at the place where the vault comes to."""
    history, names = done(mounted, "history").out, [tmp_path / "there", mounted]
    for new, old in (names, names[::-1]) * 3:
        old.rename(new)
        stub = Path(state_folder(str(new)), "ledger.db")
        stub.parent.mkdir()
        stub.touch()
        assert done(new, "history").out == history


def test_the_state_is_copied_for_a_vault_that_was_moved_to_another_disk(
    mounted: Path, tmp_path: Path
) -> None:
    """It may also be the copy of a vault on a drive, which comes back."""
    history = done(mounted, "history").out
    new = shutil.copytree(mounted, tmp_path / "another disk")
    away = mounted.rename(tmp_path / "drive")
    mounted.mkdir()
    assert "write" not in done(new, "history").out, "its place is still there"
    shutil.rmtree(state_folder(str(new)))
    mounted.rmdir()
    assert done(new, "history").out == history
    done(new, "undo", "--last")
    away.rename(mounted)
    assert done(mounted, "history").out == history


@pytest.mark.parametrize("problem", ["a full disk", "a file that cannot be copied"])
def test_a_state_that_cannot_be_moved_along_is_missed(
    mounted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, problem: str
) -> None:
    """A vault that began anew would have lost its history and all decisions."""
    history, odd = done(mounted, "history").out, Path(state_folder(str(mounted)), "odd")
    new = shutil.copytree(mounted, tmp_path / "another disk")
    shutil.rmtree(mounted)
    with monkeypatch.context() as patch:
        if problem == "a full disk":
            patch.setattr(shutil, "copytree", disk_full)
        else:
            os.mkfifo(odd)
        for words in (("history",), ("write", "The roof was mended"), ("sync",)):
            said = on(new, *words)
            assert said.code != 0
            assert "its state, with the history, cannot be moved along" in said.err
            assert ("No space left" if problem == "a full disk" else "named pipe") in said.err
    odd.unlink(missing_ok=True)
    assert done(new, "history").out == history


def test_two_processes_that_copy_a_state_at_once_leave_one(
    mounted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done(mounted, "history")
    new = shutil.copytree(mounted, tmp_path / "another disk")
    mounted.rename(tmp_path / "drive")
    copytree, state = shutil.copytree, Path(state_folder(str(new)))

    def overtaken(old: str, copy: str) -> str:
        monkeypatch.setattr(shutil, "copytree", copytree)
        copytree(old, state)
        (state / "newer").touch()
        return str(copytree(old, copy))

    monkeypatch.setattr(shutil, "copytree", overtaken)
    follow(str(new))
    assert (state / "newer").exists()
    hidden = {path.name for path in state.parent.glob(".*")}
    assert hidden <= {".lock"}, "no copy is left"


def test_a_copy_without_the_marker_is_believed_when_its_notes_are_there(mounted: Path) -> None:
    """Editors' sync services leave out files with a leading dot."""
    away = unmounted(mounted)
    shutil.rmtree(mounted)
    shutil.copytree(away, mounted, ignore=shutil.ignore_patterns(MARKER))
    assert on(mounted, "write", "The roof was mended").code != 0
    done(mounted, "sync")
    done(mounted, "write", "The roof was mended by Anne")
    assert len(list(mounted.glob(f"*/{MARKER}"))) == 1


def test_another_vault_with_the_same_daily_notes_is_not_believed(mounted: Path) -> None:
    away = unmounted(mounted)
    shutil.rmtree(mounted)
    shutil.copytree(away, mounted)
    (marker,) = mounted.glob(f"*/{MARKER}")
    marker.write_text(f"{32 * 'a'}\n")
    for words in (["sync"], ["sync", "--rebuild"], ["write", "The roof was mended"]):
        assert "not the folder that was the vault" in on(mounted, *words).err, words
    done(mounted, "sync", "--confirm-removals")
    done(mounted, "write", "The roof was mended by Anne")


@pytest.mark.parametrize("kind", ["fifo", "link", "folder"])
def test_a_marker_must_be_a_plain_file(vault: Path, tmp_path: Path, kind: str) -> None:
    """A fifo is not waited for, and nothing is read through a link that leads out of the vault."""
    outside = tmp_path / "outside"
    outside.write_text("a word of another file\n")
    (vault / "vaultmem").mkdir()
    marker = vault / "vaultmem" / MARKER
    if kind == "fifo":
        os.mkfifo(marker)
    elif kind == "link":
        marker.symlink_to(outside)
    else:
        marker.mkdir()
    done(vault, "sync", "--no-embed")
    assert shared_name(str(vault), "vaultmem") == vault_id(str(vault))
    assert outside.read_text() == "a word of another file\n"


def test_the_same_folder_stays_the_vault_whatever_becomes_of_the_marker(mounted: Path) -> None:
    (marker,) = mounted.glob(f"*/{MARKER}")
    marker.write_text("of another machine, through a sync\n")
    done(mounted, "sync")
    done(mounted, "write", "The roof was mended by Anne")
    marker.unlink()
    done(mounted, "write", "The cellar is dry")
    shutil.rmtree(marker.parent)
    done(mounted, "write", "The garden is green")
    Path(state_folder(str(mounted)), RECORD).write_bytes(b"\0damaged")
    done(mounted, "write", "The door is red")


UNMOUNT = """
import json, os, subprocess, sys, time
from pathlib import Path
from tests.agent_run import agent_on, until
from tests.cli_run import process, tree_hash
from vaultmem import client
place = Path(sys.argv[1])
os.environ["VAULTMEM_STATE"] = str(place / "state")
vault, disk = place / "mnt" / "vault", place / "disk"
for folder in (vault, disk):
    folder.mkdir(parents=True)
(vault / "below.txt").write_text("what lies below the mount")
bare = tree_hash(vault)
for number in range(3):
    (disk / f"Note {number}.md").write_text(f"Note {number}")

def mount():
    subprocess.run(["mount", "--bind", str(disk), str(vault)], check=True)

def asked(*words, stdin=b""):
    return process(*words, "--vault", str(vault), "--format", "json", stdin=stdin)

def commits():
    return [one["why"] for one in asked("history").data["history"]]

mount()
with agent_on(vault) as agent:
    agent.watches()
    assert asked("write", "The boiler is serviced by Ben").code == 0
    assert asked("remind", "call Anne", "--at", "in 1 minute").code == 0
    until(lambda: (vault / "vaultmem" / "pending.md").exists())
    before = commits()
    subprocess.run(["umount", "-l", str(vault)], check=True)
    kept = tree_hash(disk, times=False)
    for words in (("write", "The roof was mended"), ("agent",), ("done", "call Anne"), ("delete", "boiler")):
        said = asked(*words, stdin=CALL)
        assert "not the folder that was the vault" in said.err + said.out, (words, said)
    try:
        agent.call("sync")
        raise AssertionError("it was not refused")
    except client.AgentError as error:
        assert "not the folder that was the vault" in str(error)
    assert agent.search("boiler")
    time.sleep(3)  # the page of pending items and the history had their turns
    assert tree_hash(vault) == bare
    mount()
    assert tree_hash(disk, times=False) == kept
    until(lambda: asked("write", "The roof was mended").code == 0)
    until(lambda: len(commits()) > len(before))
    assert commits()[1:] == before, commits()
""".replace("CALL", repr(CALL))


@mounts
@pytest.mark.skipif(sys.platform != "linux", reason="mounts as Linux does")
def test_a_drive_that_is_unmounted_below_a_running_agent(tmp_path: Path) -> None:
    runs_with_mounts(UNMOUNT, tmp_path)


def git(folder: Path, *words: str) -> str:
    own = (
        "-c", "user.name=Anne", "-c", "user.email=anne@example.org", "-c", "init.defaultBranch=main",
    )  # fmt: skip
    done_ = subprocess.run(
        ["git", "-C", str(folder), *own, *words], check=False, capture_output=True, text=True
    )
    return done_.stdout + done_.stderr


def test_git_merges_the_markers_of_two_machines(tmp_path: Path) -> None:
    """Both have used their clones before the first pull."""
    shared, laptop, desktop = (tmp_path / name for name in ("shared.git", "laptop", "desktop"))
    git(tmp_path, "init", "--bare", str(shared))
    states = {}
    for machine in (laptop, desktop):
        git(tmp_path, "clone", str(shared), str(machine))
        if machine == laptop:
            git(laptop, "commit", "--allow-empty", "-m", "begun")
            git(laptop, "push", "origin", "main")
        (machine / f"{machine.name}.md").write_text("A note")
        states[machine] = tmp_path / f"state of {machine.name}"

    def at(machine: Path, *words: str) -> Ran:
        with other_state(states[machine]):
            return done(machine, *words)

    def ids(machine: Path) -> list[str]:
        return (machine / "vaultmem" / MARKER).read_text().splitlines()

    for machine in (laptop, desktop):
        at(machine, "sync")
        at(machine, "write", f"The boiler of the {machine.name} is serviced by Ben")
        git(machine, "add", "-A")
        git(machine, "commit", "-m", "used")
    both = sorted(ids(laptop) + ids(desktop))
    assert len(both) == 2
    git(laptop, "push", "origin", "main")
    assert f"vaultmem/{MARKER}" in git(desktop, "pull", "--no-rebase")
    assert "<<<<<<<" in ids(desktop)[0]
    at(desktop, "write", "Written in the middle of the merge")
    at(desktop, "sync")
    assert ids(desktop) == both, "what Git could not merge is merged"
    git(desktop, "add", "-A")
    git(desktop, "commit", "-m", "merged")
    git(desktop, "push", "origin", "main")
    git(laptop, "pull", "--no-rebase")
    assert ids(laptop) == both
    at(laptop, "sync")
    for machine in (laptop, desktop):
        assert git(machine, "status", "--short", f"vaultmem/{MARKER}") == ""
        assert {"laptop", "desktop"} <= {*at(machine, "list").out.split()}
        moved = machine.rename(machine.with_name("moved"))
        shutil.copytree(moved, machine)  # another folder: only the marker says which vault it is
        shutil.rmtree(moved)
        at(machine, "write", f"The roof of the {machine.name} was mended")
        assert ids(machine) == both


def test_an_old_backup_with_two_markers_is_of_this_vault(mounted: Path, tmp_path: Path) -> None:
    done(mounted, "backup", str(tmp_path / "backup"))
    (marker,) = mounted.glob(f"*/{MARKER}")
    git_merge_markers(marker, b"0" * 32 + b"\n")
    done(mounted, "backup", str(tmp_path / "backup"), "--restore")


def test_a_person_may_say_that_it_is_the_vault(mounted: Path) -> None:
    unmounted(mounted)
    (mounted / "Start.md").write_text("A vault that begins again")
    assert on(mounted, "sync").code != 0
    done(mounted, "sync", "--confirm-removals")
    done(mounted, "write", "The roof was mended by Anne")
