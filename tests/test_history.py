"""The history has every byte that was there, once, and nothing of anybody else's Git has a say in it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.kept_history import Kept
from tests.kill_points import killed_after, killed_at, moments
from vaultmem.errors import StateError, VaultmemError
from vaultmem.history import history as history_module
from vaultmem.history import repository
from vaultmem.history.commits import FileChange, FileLine, Message, format_message, parse_message
from vaultmem.history.repository import blob_id
from vaultmem.vault.batches import Header, Wish

ROOT = Path(__file__).parents[1]
ODD = ["memories/pl ain.md", "memories/\"q\"/'\\.md", "memories/a\nb\tc.md", "memories/\u8ba1\u5212 \U0001f642.md",
       "memories/\udcff\udc80.md", "memories/:(top)*.md", "memories/-x.md", "memories/caf\xe9.md"]  # fmt: skip
BYTES = [b"", b"a\r\nb\r\n", b"\0\xff\0", b"no end", b"\xef\xbb\xbf---\n", b"x" * 100_000]


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    return Kept(tmp_path)


def in_git(kept: Kept) -> dict[str, bytes]:
    """The memories as the newest commit has them."""
    return {path: kept.bytes_at(tip(kept), path) or b"" for path in kept.memories()}


def tip(kept: Kept) -> str:
    return kept.history.log(limit=1)[0].commit


def tree(kept: Kept) -> dict[str, str]:
    """Paths and ids, as a new process finds them."""
    found = repository.Repository(str(kept.state / "history.git"))
    return found.tree(found.tip())


def true(kept: Kept) -> bool:
    """Whether the newest commit is what the folder holds."""
    return tree(kept) == {path: blob_id(data) for path, data in kept.memories().items()}


# --- What goes in


def test_a_batch_becomes_a_commit(kept: Kept) -> None:
    kept.apply(
        Wish(None, "memories/a.md", lambda _: b"a", "asked for"), why="two\nlines", by="Claude <x>"
    )
    assert kept.take_in() == 1
    assert kept.batches.waiting() == []
    [record] = kept.history.log()
    assert record[1:5] == (1001.0, "Claude <x>", "assistant", "two lines")
    assert record.files == (FileChange(None, "memories/a.md", "asked for"),)
    assert record.is_ours
    assert len(record.commit) == 40
    assert kept.take_in() == 0


@pytest.mark.parametrize(
    ("path", "data"), [*zip(ODD, BYTES * 2, strict=False), *((ODD[0], data) for data in BYTES[1:])]
)
def test_every_name_and_every_byte_come_back(tmp_path: Path, path: str, data: bytes) -> None:
    kept = Kept(tmp_path)
    first = kept.make(path, data)
    second = kept.edit(path, b"other")
    assert kept.bytes_at(first, path) == data
    assert kept.history.files(second) == [(path, data, path, b"other")]
    assert [one.commit for one in kept.history.log(path)] == [second, first]
    assert true(kept)


def test_the_first_commit_is_what_was_found(kept: Kept) -> None:
    kept.put("memories/mine.md", b"mine\r\n")
    kept.put("memories/other.md", b"other")
    kept.apply(Wish("memories/mine.md", "memories/x/mine.md", lambda _: b"ours", ""))
    kept.apply(Wish(None, "memories/new.md", lambda _: b"new", ""))
    kept.put("memories/late.md", b"late")
    kept.take_in()
    found, first, second = reversed(kept.history.log())
    assert (found.why, found.by, found.kind) == ("as it was found", "you", "person")
    assert kept.bytes_at(found.commit, "memories/mine.md") == b"mine\r\n"
    assert kept.bytes_at(found.commit, "memories/late.md") == b"late"
    assert kept.history.files(first.commit) == [("memories/mine.md", b"mine\r\n", "memories/x/mine.md", b"ours")]  # fmt: skip
    assert second.files == (FileChange(None, "memories/new.md", ""),)
    assert true(kept)


def test_what_a_person_does_in_between_is_theirs(kept: Kept) -> None:
    kept.make("memories/a.md", b"a")
    kept.make("memories/b.md", b"b")
    kept.make("memories/c.md", b"c")
    kept.put("memories/a.md", b"a, edited by hand")
    kept.apply(Wish("memories/a.md", "memories/a.md", lambda data: (data or b"") + b"!", ""), why="ours")  # fmt: skip
    kept.put("memories/n.md", b"new")
    (kept.vault / "memories" / "b.md").rename(kept.vault / "memories" / "z.md")
    (kept.vault / "memories" / "c.md").unlink()
    kept.put("memories/a.md", b"edited again")
    assert kept.take_in() == 3
    before, ours, after = reversed(kept.history.log(limit=3))
    assert (before.by, before.kind) == ("you", "person")
    assert before.why == "created and edited and moved and removed outside vaultmem"
    assert kept.history.files(ours.commit) == [("memories/a.md", b"a, edited by hand", "memories/a.md", b"a, edited by hand!")]  # fmt: skip
    assert after.why == "edited outside vaultmem"
    assert {(one.path, one.target) for one in before.files} == {
        ("memories/b.md", "memories/z.md"), ("memories/c.md", None), (None, "memories/n.md"),
        ("memories/a.md", "memories/a.md"),
    }  # fmt: skip
    assert true(kept)


def test_a_move_by_hand_before_a_batch_is_a_move(kept: Kept) -> None:
    kept.make("memories/inbox/a.md", b"a")
    kept.put("memories/people/a.md", b"a")
    (kept.vault / "memories/inbox/a.md").unlink()
    kept.edit("memories/people/a.md", b"a, edited")
    assert [one.why for one in kept.history.log("memories/people/a.md")] == [
        "edit memories/people/a.md", "moved outside vaultmem", "make memories/inbox/a.md"
    ]  # fmt: skip


def test_a_file_that_came_back_where_one_was_removed_by_hand(kept: Kept) -> None:
    kept.make("memories/a.md", b"a")
    (kept.vault / "memories/a.md").unlink()
    kept.make("memories/a.md", b"another")
    assert kept.subjects() == ["make memories/a.md", "removed outside vaultmem", "make memories/a.md"]  # fmt: skip
    assert true(kept)


def test_a_file_moves_to_the_place_that_another_frees(kept: Kept) -> None:
    """Also when both hold the same."""
    kept.make("memories/a.md", b"same")
    kept.make("memories/b.md", b"same")
    stays = [("memories/a.md", "memories/old/a.md"), ("memories/b.md", "memories/a.md")]
    commit = kept.commit(*(Wish(path, to, lambda data: data or b"", "") for path, to in stays))
    assert true(kept)
    assert tip(kept) == commit
    assert {(one.path, one.target) for one in kept.history.show(commit).files} == {*stays}


def test_user_notes_are_in_it_only_as_far_as_they_were_changed(kept: Kept) -> None:
    kept.put("Note.md", b"mine")
    kept.put("Other.md", b"not looked at")
    kept.make("memories/a.md", b"a")
    kept.edit("Note.md", b"with a link")
    kept.put("Note.md", b"edited by hand")
    assert kept.take_in() == 0, "it is not looked at"
    kept.edit("Note.md", b"with two links")
    assert [one.why for one in kept.history.log("Note.md")] == [
        "edit Note.md", "edited outside vaultmem", "edit Note.md", "as it was found"
    ]  # fmt: skip


def test_a_folder_that_is_suddenly_empty_is_not_believed(kept: Kept) -> None:
    kept.make("memories/a.md", b"a")
    shutil.rmtree(kept.vault / "memories")
    assert kept.take_in() == 0
    assert "memories/a.md" in tree(kept)


def test_paths_that_git_keeps_for_itself_do_no_harm(kept: Kept) -> None:
    for path in ("memories/.git/config", "memories/.GIT/x.md", "memories/git~1/y.md"):
        kept.apply(Wish(None, path, lambda _: b"x", ""), why=path)
    kept.make("memories/a.md", b"a")
    assert [*tree(kept)] == ["memories/a.md"]


def test_a_thousand_batches_at_once(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a few processes of Git, and not with some for each."""
    calls: list[object] = []
    real = repository.Repository._execute

    def counted(self: repository.Repository, *given: Any) -> tuple[int, bytes, str]:
        calls.append(given)
        return real(self, *given)

    for number in range(1_000):
        kept.apply(Wish(None, f"memories/n{number}.md", lambda _, n=number: b"%d" % n * 200, "w"))
    monkeypatch.setattr(repository.Repository, "_execute", counted)
    assert kept.take_in() == 1_000
    assert len(calls) < 20
    assert true(kept)


# --- What comes out


def test_log_by_whom_since_when_and_how_many(kept: Kept) -> None:
    for number in range(6):
        kept.make(f"memories/n{number}.md", b"x", by=("ann", "ann b")[number % 2])
    log = kept.history.log
    assert [one.at for one in log()] == [1006, 1005, 1004, 1003, 1002, 1001]
    assert [one.at for one in log(limit=2)] == [1006, 1005]
    assert [one.at for one in log(by="ann")] == [1005, 1003, 1001]
    assert [one.at for one in log(by="ann", limit=1, since=1002)] == [1005]
    assert [one.at for one in log(since=1004)] == [1006, 1005, 1004]
    assert log(by="a.n") == []
    assert [one.at for one in log("memories/n3.md", by="ann b")] == [1004]
    assert log("memories/never.md") == []


def test_log_follows_moves(kept: Kept) -> None:
    kept.make("memories/a.md", b"1")
    kept.edit("memories/a.md", b"2")
    kept.edit("memories/a.md", b"3", "memories/b.md")
    kept.make("memories/a.md", b"another")
    kept.edit("memories/b.md", b"4", "memories/c.md")
    assert [one.at for one in kept.history.log("memories/c.md")] == [1005, 1003, 1002, 1001]
    assert kept.history.moved_since(kept.history.log()[-1].commit) == {
        "memories/a.md": "memories/c.md", "memories/b.md": "memories/c.md"
    }  # fmt: skip


def test_resolve(kept: Kept) -> None:
    with pytest.raises(VaultmemError, match="no commit abcd"):
        kept.history.resolve("abcd")
    commits = [kept.make(f"memories/n{number}.md", b"x") for number in range(3)]
    for commit in commits:
        assert kept.history.resolve(commit[:12].upper()) == commit
    for wrong in ("", "abc", "HEAD", "--all", "x" * 40, commits[0] + "0", "main", "0" * 40):
        with pytest.raises(VaultmemError, match="commit") as error:
            kept.history.resolve(wrong)
        assert "\n" not in str(error.value)


def test_diff_of_text_and_of_bytes(kept: Kept) -> None:
    kept.make("memories/a.md", b"one\ntwo\n")
    text = kept.history.diff(kept.edit("memories/a.md", b"one\n\xe8\xae\xa1\n"))
    assert "-two\n+\u8ba1\n" in text
    assert "Binary files" in kept.history.diff(kept.edit("memories/a.md", b"\0\xff"))


def test_merging(kept: Kept) -> None:
    lines = [b"%d\r\n" % number for number in range(9)]
    base = b"".join(lines)
    ours, theirs = base.replace(b"1\r", b"one\r"), base.replace(b"7\r", b"seven\r")
    merged = kept.history.merged
    assert merged(base, ours, theirs) == base.replace(b"1\r", b"one\r").replace(b"7\r", b"seven\r")
    assert merged(base, ours, base.replace(b"1\r", b"eins\r")) is None
    assert merged(base, base, theirs) == theirs
    assert merged(base, ours, base) == ours
    assert merged(b"\0a", b"\0b", b"\0c") is None
    assert not [name for name in os.listdir(kept.state) if name.startswith("merge-")]


@given(st.text(), st.text(), st.lists(st.tuples(st.none() | st.text(), st.none() | st.text(), st.text()), max_size=3))  # fmt: skip
def test_messages_read_back(by: str, why: str, files: list[tuple[str | None, str | None, str]]) -> None:  # fmt: skip
    message = Message(by, "job", why, 0.0, "abc", tuple(FileLine(*one) for one in files))
    text = format_message(message).decode()
    found = parse_message(text)
    assert found.files == message.files
    assert (found.kind, found.token) == ("job", "abc")
    assert "\n" not in found.by + found.why
    assert format_message(found) == format_message(message)


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)  # fmt: skip
@given(st.lists(st.tuples(st.sampled_from("make edit move hand gone shift take".split()), st.integers(0, 3), st.integers(0, 3)), max_size=14))  # fmt: skip
def test_whatever_happens_the_newest_commit_is_what_the_folder_holds(tmp_path: Path, steps: list[tuple[str, int, int]]) -> None:  # fmt: skip
    shutil.rmtree(tmp_path)
    kept = Kept(tmp_path)
    kept.put("memories/always.md", b"here")
    for number, (kind, one, other) in enumerate(steps):
        path, target, data = f"memories/{one}.md", f"memories/{other}/x.md", b"%d" % (number % 3)
        file = kept.vault / path
        if kind in ("make", "edit"):
            kept.apply(Wish(None if kind == "make" else path, path, lambda _, data=data: data, ""))
        elif kind == "move":
            kept.apply(Wish(path, target, lambda found: found or b"", ""))
        elif kind == "hand":
            kept.put(path, data)
        elif kind == "gone":
            file.unlink(missing_ok=True)
        elif kind == "shift" and file.exists():
            file.rename(kept.vault / f"memories/{other}.md")
        elif kind == "take":
            kept.take_in()
    kept.take_in()
    assert true(kept)
    assert kept.take_in() == 0
    for record in kept.history.log(limit=None):
        assert record.files, "no commit is empty"


# --- The knife


def test_killed_while_it_commits(kept: Kept) -> None:
    """Nothing is lost, nothing is committed twice."""
    made = 0

    def more() -> None:
        nonlocal made
        for _ in range(3):
            kept.apply(Wish(None, f"memories/n{made}.md", lambda _: b"x", ""), why=f"n{made}")
            made += 1

    more()
    kept.take_in()
    for point in range(1, 40, 4):
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


def test_killed_before_it_forgets(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(5):
        kept.apply(Wish(None, f"memories/n{number}.md", lambda _: b"x", ""), why=f"n{number}")
    with monkeypatch.context() as patched:
        patched.setattr(type(kept.batches), "forget", lambda *_: None)
        kept.take_in()
    kept.batches.forget(1)
    assert len(kept.batches.waiting()) == 4
    fresh = Kept(kept.vault.parent)
    fresh.apply(Wish(None, "memories/last.md", lambda _: b"x", ""), why="last")
    assert fresh.take_in() == 1
    assert fresh.subjects() == ["n0", "n1", "n2", "n3", "n4", "last"]
    assert fresh.batches.waiting() == []


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


def without_objects(folder: Path) -> None:
    shutil.rmtree(folder / "objects")


def without_head(folder: Path) -> None:
    (folder / "HEAD").unlink()


def emptied(folder: Path) -> None:
    """What a loss of power leaves of files that were not safe on the disk."""
    for file in (folder / "objects").rglob("*"):
        if file.is_file():
            file.chmod(0o600)
            file.write_bytes(b"")


def with_a_broken_branch(folder: Path) -> None:
    (folder / "refs/heads/main").write_bytes(b"\0\0garbage")


def with_a_lost_commit(folder: Path) -> None:
    (folder / "refs/heads/main").write_text("1" * 40 + "\n")


def no_folder(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.write_bytes(b"")


@pytest.mark.parametrize(
    "spoil",
    [without_objects, without_head, emptied, with_a_broken_branch, with_a_lost_commit, no_folder],
)
@pytest.mark.parametrize("waits", [True, False])
def test_a_damaged_history_is_set_aside_and_begins_again(
    kept: Kept, spoil: Callable[[Path], None], *, waits: bool
) -> None:
    kept.make("memories/a.md", b"a")
    spoil(kept.state / "history.git")
    if waits:
        kept.apply(Wish(None, "memories/b.md", lambda _: b"b", "make b"), why="make b")
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


def test_what_else_fails_sets_no_history_aside(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    kept.make("memories/a.md", b"a")
    kept.apply(Wish(None, "memories/b.md", lambda _: b"b", ""))

    def full(*_: object) -> None:
        raise StateError("no space left")

    with monkeypatch.context() as patch:
        patch.setattr(repository.Repository, "take", full)
        with pytest.raises(StateError, match="no space left"):
            kept.take_in()
    assert kept.history.damaged() == []
    assert len(kept.batches.waiting()) == 1
    assert kept.take_in() == 1


def test_tidying_loses_nothing(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(4):
        kept.make(f"memories/n{number}.md", b"%d" % number)
    assert not kept.history.tidy()
    monkeypatch.setattr(repository, "_LOOSE", -1)
    before = kept.history.log()
    assert kept.history.tidy()
    assert len([*(kept.state / "history.git/objects/pack").glob("*.pack")]) == 1
    assert kept.history.log() == before
    kept.make("memories/more.md", b"x")
    assert true(kept)


# --- Other people's Git


def test_without_git(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    kept.make("memories/a.md", b"a")
    with monkeypatch.context() as patched:
        patched.setenv("PATH", "")
        patched.setattr(history_module, "_WITHOUT_GIT", 2)
        for number in range(4):
            kept.apply(Wish(None, f"memories/n{number}.md", lambda _: b"x", ""), why=f"n{number}")
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


def test_a_missing_git_is_no_reason_to_fail_at_import(tmp_path: Path) -> None:
    code = (
        "from tests.kept_history import Kept; import pathlib, sys; kept = Kept(pathlib.Path(sys.argv[1]));"
        "from vaultmem.history.repository import _git; _git('.'); kept.take_in(); print(kept.history.trouble())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], env={"PATH": "", "PYTHONPATH": str(ROOT)}, cwd=ROOT,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stderr == ""
    assert done.stdout.startswith("git is not installed")


HOSTILE = """
import pathlib, sys
from tests.kept_history import Kept
from vaultmem.history import repository
from vaultmem.vault.batches import Wish
kept = Kept(pathlib.Path(sys.argv[1]))
first = kept.make("memories/a.md", b"1\\n2\\n3\\n4\\n5\\n")
second = kept.edit("memories/a.md", b"1\\n2\\n3\\n4\\nfive\\n")
kept.put("memories/.gitattributes", b"* diff=evil merge=evil filter=evil\\n")
assert kept.history.diff(second) and kept.history.files(second)
assert not kept.undo(second, first), "undone"
repository._LOOSE = -1
assert kept.history.tidy()
print(len(kept.history.log()))
"""


def test_hostile_settings_run_nothing(tmp_path: Path) -> None:
    """Neither those of a repository in the vault, nor of the person, nor the variables of a caller."""
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
        env={"PATH": os.environ["PATH"], "HOME": str(home), "PYTHONPATH": str(ROOT), **{k: str(v) for k, v in variables.items()}},
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
    kept.batches.apply(Header("", "", "", -5), [Wish(None, "memories/b.md", lambda _: b"", "")])
    kept.take_in()
    assert kept.history.log()[0][1:5] == (0, "", "", "changed")
