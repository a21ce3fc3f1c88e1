"""The history survives kills, damage, and other people's Git settings."""

import errno
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.conftest import disk_full
from tests.kept_history import Kept, true
from tests.kill_points import killed_after, killed_at, moments
from tests.laws import points
from vaultmem import machine
from vaultmem.errors import StateError, VaultmemError
from vaultmem.history import history as history_module
from vaultmem.history import objects, repository
from vaultmem.vault import write
from vaultmem.vault.batch_record import AnswerChange, Header, PlannedWrite

ROOT = Path(__file__).parents[1]


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    return Kept(tmp_path)


# --- Kills


def test_killed_while_it_commits(kept: Kept) -> None:
    """Nothing is lost, nothing is committed twice."""
    made = 0

    def more() -> None:
        nonlocal made
        for _ in range(3):
            kept.apply(
                PlannedWrite(None, f"memories/n{made}.md", lambda _: b"x", ""), why=f"n{made}"
            )
            made += 1

    more()
    kept.take_in()
    for point in points(40, 4):
        more()
        fresh = Kept(kept.vault.parent)
        killed_at(point, fresh.take_in)
    for moment in moments(15, 0.06):
        more()
        fresh = Kept(kept.vault.parent)
        killed_after(moment, fresh.take_in)
        if made % 2:
            Kept(kept.vault.parent).take_in()
    again = Kept(kept.vault.parent)
    again.take_in()
    assert again.subjects() == [f"n{number}" for number in range(made)]
    assert true(again)
    assert again.history.damage() is None


def test_a_lock_that_a_killed_git_left(kept: Kept) -> None:
    kept.make("memories/a.md", b"a")
    (kept.state / "history.git/refs/heads/main.lock").write_bytes(b"")
    kept.make("memories/b.md", b"b")
    assert true(kept)


def test_a_state_folder_whose_batches_were_thrown_away(kept: Kept) -> None:
    kept.make("memories/a.md", b"a")
    shutil.rmtree(kept.state / "batches")
    kept.make("memories/b.md", b"b")
    shutil.rmtree(kept.state / "history.git")
    Kept(kept.vault.parent).take_in()
    assert kept.subjects() == ["as it was found"]


def emptied(folder: Path) -> None:
    """What a power loss leaves of files that were not yet safe on the disk."""
    for file in (folder / "objects").rglob("*"):
        if file.is_file():
            file.chmod(0o600)
            file.write_bytes(b"")


def no_folder(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.write_bytes(b"")


@pytest.mark.parametrize(
    "spoil",
    [
        lambda folder: shutil.rmtree(folder / "objects"),
        lambda folder: (folder / "HEAD").unlink(),
        lambda folder: (folder / "refs/heads/main").write_bytes(b"\0\0garbage"),
        lambda folder: (folder / "refs/heads/main").write_text("1" * 40 + "\n"),
        emptied,
        no_folder,
    ],
)
@pytest.mark.parametrize("waits", [True, False])
def test_a_damaged_history_is_set_aside_and_begins_again(
    kept: Kept, spoil: Callable[[Path], object], *, waits: bool
) -> None:
    kept.make("memories/a.md", b"a")
    spoil(kept.state / "history.git")
    if waits:
        kept.apply(PlannedWrite(None, "memories/b.md", lambda _: b"b", "make b"), why="make b")
    kept = Kept(kept.vault.parent)
    assert kept.history.damage()
    kept.take_in()
    assert kept.subjects() == ["as it was found", *["make b"][:waits]]
    assert true(kept)
    assert kept.history.damage() is None
    assert [Path(place).name for place in kept.history.damaged()] == ["history.git.damaged-1"]
    assert not kept.batches.waiting()
    kept.make("memories/c.md", b"c")
    assert true(kept)


def test_a_commit_during_a_look_is_no_damage(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    """Git has already read the folders of objects and misses what a new commit points to."""
    kept.make("memories/a.md", b"a")
    real, looks = repository.Repository._execute, 0

    def looked(self: repository.Repository, arguments: Sequence[str], stdin: int | None) -> object:
        nonlocal looks
        code, output, errors = real(self, arguments, stdin)
        if arguments[0] == "fsck":
            looks += 1
            if looks == 1:
                kept.make("memories/b.md", b"b")
                return 2, b"missing blob", ""
        return code, output, errors

    monkeypatch.setattr(repository.Repository, "_execute", looked)
    assert kept.history.damage() is None
    assert looks == 2
    blob = next((kept.state / "history.git/objects").glob("[0-9a-f][0-9a-f]/*"))
    blob.unlink()
    assert kept.history.damage()


def test_a_history_that_begins_with_an_answer_is_whole(kept: Kept) -> None:
    """Also one in which nobody wrote the empty folder down, for Git knows it."""
    answer = AnswerChange("vm-abcdef", "open", "", "done", "", "call Anne")
    write.apply(
        kept.batches, Header("you", "person", "done: call Anne", 1.0, answers=(answer,)), []
    )
    kept.take_in()
    assert kept.history.damage() is None
    empty = objects.object_id(objects.TREE, b"")
    (kept.state / "history.git/objects" / empty[:2] / empty[2:]).unlink()
    assert kept.history.damage() is None
    kept.make("memories/a.md", b"a")
    assert (kept.history.damage(), true(kept)) == (None, True)


@pytest.mark.parametrize("swap", [("", "/in.md"), ("/in.md", "")])
def test_a_file_that_became_a_folder_after_a_batch(kept: Kept, swap: tuple[str, str]) -> None:
    """The person's file is in a commit of the person, not in that of the next batch, which may be undone."""
    before, after = (f"memories/a.md{ending}" for ending in swap)
    kept.apply(PlannedWrite(None, before, lambda _: b"x", ""))
    kept.take_in()
    kept.apply(PlannedWrite(before, before, lambda _: b"y", ""))
    shutil.move(kept.vault / before, kept.vault / "moved")
    shutil.rmtree(kept.vault / "memories")
    kept.put(after, (kept.vault / "moved").read_bytes())
    kept.take_in()
    assert true(kept)
    next_one = kept.history.show(kept.make("memories/b.md", b"z"))
    assert [file.target for file in next_one.files] == ["memories/b.md"]


def test_damage_after_a_failure_is_noticed(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    kept.make("memories/a.md", b"a")
    kept.apply(PlannedWrite(None, "memories/b.md", lambda _: b"b", ""))
    kept = Kept(kept.vault.parent)
    with monkeypatch.context() as patch:
        patch.setattr(objects.Objects, "put_in_place", disk_full)
        with pytest.raises(StateError, match="No space left"):
            kept.take_in()
    emptied(kept.state / "history.git")
    kept.take_in()
    assert len(kept.history.damaged()) == 1
    assert true(kept)


def test_what_else_fails_sets_no_history_aside(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    kept.make("memories/a.md", b"a")
    kept.apply(PlannedWrite(None, "memories/b.md", lambda _: b"b", ""))

    checks: list[object] = []
    damage = repository.Repository.damage
    with monkeypatch.context() as patch:
        patch.setattr(objects.Objects, "put_in_place", disk_full)
        patch.setattr(
            repository.Repository, "damage", lambda self: checks.append(self) or damage(self)
        )
        for _ in range(3):
            with pytest.raises(StateError, match="No space left"):
                kept.take_in()
    assert len(checks) == 1, "what is intact is not read again at every attempt"
    assert kept.history.damaged() == []
    assert not [*(kept.state / "history.git").rglob("tmp_*")]
    assert len(kept.batches.waiting()) == 1
    assert kept.take_in() == 1


DENIED = f"error: unable to open objects/4a: {os.strerror(errno.EACCES)}\n"


@pytest.mark.parametrize(
    ("name", "instead"),
    [("_is_closed", lambda _: True), ("_execute", lambda *_: (2, b"", DENIED))],
)
def test_what_may_not_be_read_is_no_damage(
    kept: Kept, monkeypatch: pytest.MonkeyPatch, name: str, instead: object
) -> None:
    """As after sudo, when files belong to another user."""
    kept.make("memories/a.md", b"a")
    kept.apply(PlannedWrite(None, "memories/b.md", lambda _: b"b", ""))
    kept = Kept(kept.vault.parent)
    emptied(kept.state / "history.git")
    monkeypatch.setattr(repository.Repository, name, instead)
    assert kept.history.damage() is None
    with pytest.raises(StateError, match="history"):
        kept.take_in()
    assert kept.history.damaged() == []


def test_tidying_loses_nothing(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(4):
        kept.make(f"memories/n{number}.md", b"%d" % number)
    assert not kept.history.tidy()
    monkeypatch.setattr(repository, "_LOOSE", -1)
    before = kept.history.log()
    assert kept.history.tidy()
    assert len([*(kept.state / "history.git/objects/pack").glob("*.pack")]) == 1
    assert kept.history.log() == before
    repository.Repository(str(kept.state / "history.git")).run("pack-refs", "--all")
    kept.apply(PlannedWrite(None, "memories/sub/more.md", lambda _: b"x", ""))
    kept = Kept(kept.vault.parent)
    kept.take_in()
    assert true(kept)
    assert kept.history.damage() is None
    assert kept.history.log()[1:] == before


@pytest.mark.parametrize("few", [0, 100])
def test_nothing_has_its_name_before_it_is_safe_on_the_disk(
    kept: Kept, monkeypatch: pytest.MonkeyPatch, few: int
) -> None:
    kept.make("memories/a.md", b"a")
    kept.apply(PlannedWrite(None, "memories/b.md", lambda _: b"b", ""))
    fresh, safe, names = set[int](), set[int](), list[str]()
    replace, fsync = os.replace, os.fsync

    def replaced(source: str, target: str) -> None:
        assert os.stat(source).st_ino in safe
        assert "/refs/" not in source, "Git takes what a kill leaves there for a branch"
        names.append(target)
        replace(source, target)

    def synced(handle: int) -> None:
        fsync(handle)
        safe.add(os.fstat(handle).st_ino)

    def all_synced(_: str) -> None:
        fresh.update(one.stat().st_ino for one in (kept.state / "history.git").rglob("tmp_*"))
        safe.update(fresh)

    monkeypatch.setattr(objects, "_FEW", few)
    monkeypatch.setattr(os, "replace", replaced)
    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(machine, "flush_file_system", all_synced)
    assert kept.take_in() == 1
    assert bool(fresh) == (few == 0)
    assert len(names) == 5, "a blob, two folders, a commit and the branch"
    assert names[-1].endswith("refs/heads/main")


# --- Other people's Git


def test_without_git(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    kept.make("memories/a.md", b"a")
    with monkeypatch.context() as patched:
        patched.setenv("PATH", "")
        patched.setattr(history_module, "_WITHOUT_GIT", 2)
        for number in range(4):
            kept.apply(
                PlannedWrite(None, f"memories/n{number}.md", lambda _: b"x", ""), why=f"n{number}"
            )
        assert "install git" in (kept.history.trouble() or "")
        assert kept.take_in() == 0
        assert len(kept.batches.waiting()) == 2, "no heap grows"
        assert kept.history.merged(b"a\n", b"b\n", b"c\n") is None
        for ask in (kept.history.log, lambda: kept.history.show("abcd")):
            with pytest.raises(VaultmemError, match="git is not installed"):
                ask()
    assert kept.history.trouble() is None
    kept.take_in()
    assert kept.subjects()[-3:] == ["created outside vaultmem", "n2", "n3"]
    assert true(kept)


HOSTILE = """
import pathlib, sys
from tests.kept_history import Kept
from vaultmem.history import repository
from vaultmem.vault.batch_record import PlannedWrite
kept = Kept(pathlib.Path(sys.argv[1]))
first = kept.make("memories/a.md", b"1\\n2\\n3\\n4\\n5\\n")
second = kept.edit("memories/a.md", b"1\\n2\\n3\\n4\\nfive\\n")
kept.put("memories/.gitattributes", b"* diff=evil merge=evil filter=evil\\n")
assert kept.history.diff(second) and kept.history.files(kept.history.show(second))
assert not kept.undo(second, first), "undone"
repository._LOOSE = -1
assert kept.history.tidy()
print(len(kept.history.log()))
"""


@pytest.mark.parametrize("called_by_git", [True, False])
def test_hostile_settings_run_nothing(tmp_path: Path, *, called_by_git: bool) -> None:
    """Neither settings of a repository in the vault or of the person nor the caller's variables."""
    ran, theirs, vault, home = (tmp_path / name for name in ("ran", "theirs", "vault", "home"))
    evil = tmp_path / "evil" / "hooks"
    evil.mkdir(parents=True)
    script = f"#!/bin/sh\ntouch {ran}\n"
    for hook in ("reference-transaction", "pre-auto-gc", "post-commit", "post-rewrite", "pre-commit", "post-index-change"):  # fmt: skip
        (evil / hook).write_text(script)
        (evil / hook).chmod(0o755)
    (evil.parent / "run").write_text(script)
    (evil.parent / "run").chmod(0o755)
    run = evil.parent / "run"
    settings = {
        "core.hooksPath": evil, "core.fsmonitor": run, "alias.log": f"!{run}", "diff.external": run, "core.pager": run,
        "diff.evil.textconv": run, "diff.evil.command": run, "merge.evil.driver": run, "filter.evil.clean": run,
        "init.templateDir": evil.parent, "core.sshCommand": run, "core.editor": run, "gpg.program": run,
        "commit.gpgSign": "true", "pager.log": "true", "core.attributesFile": home / "attributes",
    }  # fmt: skip
    for folder in (vault, home):
        folder.mkdir()
    git = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    subprocess.run(["git", "init", "-q", vault], env=git, check=True)
    (home / "attributes").write_text("* diff=evil merge=evil\n")
    for file in (vault / ".git/config", home / ".gitconfig"):
        for key, value in settings.items():
            subprocess.run(["git", "config", "--file", file, key, str(value)], env=git, check=True)
    variables = {
        "GIT_DIR": vault / ".git", "GIT_WORK_TREE": vault, "GIT_INDEX_FILE": theirs / "index", "GIT_COMMON_DIR": vault / ".git",
        "GIT_OBJECT_DIRECTORY": theirs, "GIT_ALTERNATE_OBJECT_DIRECTORIES": theirs, "GIT_NAMESPACE": "theirs",
        "GIT_EXTERNAL_DIFF": run, "GIT_PAGER": run, "GIT_TEMPLATE_DIR": evil.parent, "GIT_CONFIG_GLOBAL": home / ".gitconfig",
        "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.hooksPath", "GIT_CONFIG_VALUE_0": evil, "GIT_PREFIX": "x/",
        "GIT_CONFIG_PARAMETERS": f"'core.hookspath={evil}'", "GIT_SHALLOW_FILE": theirs / "s", "GIT_QUARANTINE_PATH": theirs,
        "GIT_DEFAULT_HASH": "sha256", "GIT_AUTHOR_NAME": "theirs", "GIT_COMMITTER_DATE": "yesterday", "GIT_EDITOR": run,
        "GIT_GRAFT_FILE": theirs / "g", "GIT_REPLACE_REF_BASE": "refs/heads/", "GIT_GLOB_PATHSPECS": "1",
    }  # fmt: skip
    before = {path: path.read_bytes() for path in (vault / ".git").rglob("*") if path.is_file()}
    done = subprocess.run(
        [sys.executable, "-c", HOSTILE, str(tmp_path)], cwd=vault, capture_output=True, text=True, check=False,
        env=git | {"HOME": str(home), "PYTHONPATH": str(ROOT), **({k: str(v) for k, v in variables.items()} if called_by_git else {})},
    )  # fmt: skip
    assert done.stderr == ""
    assert done.stdout == "4\n"
    assert not ran.exists()
    assert not theirs.exists()
    after = {path: path.read_bytes() for path in (vault / ".git").rglob("*") if path.is_file()}
    assert after == before
    assert not (tmp_path / "state/history.git/hooks").exists()


def test_it_is_private(kept: Kept) -> None:
    kept.make("memories/a.md", b"a")
    assert (kept.state / "history.git").stat().st_mode & 0o077 == 0
    assert not list(kept.vault.rglob(".git"))
    write.apply(
        kept.batches,
        Header("", "", "", -5),
        [PlannedWrite(None, "memories/b.md", lambda _: b"", "")],
    )
    kept.take_in()
    assert kept.history.log()[0][1:5] == (0, "", "", "changed")
