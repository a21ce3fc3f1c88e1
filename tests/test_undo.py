"""The history has every byte once; undo restores exact bytes, keeps later changes, deletes nothing, and can be undone."""

import os
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.kept_history import Kept, tree, true
from tests.kill_points import kill_everywhere
from vaultmem.errors import VaultmemError
from vaultmem.history import repository
from vaultmem.history.commits import Commit, FileChange, format_message, parse_message
from vaultmem.vault.batch_record import PlannedWrite

ODD = ["memories/pl ain.md", "memories/\"q\"/'\\.md", "memories/a\nb\tc.md", "memories/\u8ba1\u5212 \U0001f642.md",
       "memories/\udcff\udc80.md", "memories/:(top)*.md", "memories/-x.md", "memories/caf\xe9.md"]  # fmt: skip
BYTES = [b"", b"a\r\nb\r\n", b"\0\xff\0", b"no end", b"\xef\xbb\xbf---\n", b"x" * 100_000]


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    return Kept(tmp_path)


# --- What goes in


def test_every_name_and_every_byte_come_back(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = [
        *zip(ODD, BYTES * 2, strict=False),
        *((f"memories/{n}.md", data) for n, data in enumerate(BYTES)),
    ]
    first = kept.commit(
        *(PlannedWrite(None, path, lambda _, data=data: data, "") for path, data in whole)
    )
    second = kept.commit(*(PlannedWrite(path, path, lambda _: b"other", "") for path, _ in whole))
    changed = sorted((path, data, path, b"other") for path, data in whole)
    assert sorted(kept.history.files(kept.history.show(second))) == changed
    for path, data in whole:
        assert kept.bytes_at(first, path) == data
        assert [one.commit for one in kept.history.log(path)] == [second, first]
    assert true(kept)
    monkeypatch.setattr(repository, "_LOOSE", -1)
    assert kept.history.tidy()
    assert true(kept), "git reads the same as we do"


def test_the_first_commit_is_what_was_found(kept: Kept) -> None:
    kept.put("memories/mine.md", b"mine\r\n")
    kept.put("memories/other.md", b"other")
    kept.apply(PlannedWrite("memories/mine.md", "memories/x/mine.md", lambda _: b"ours", ""))
    kept.apply(PlannedWrite(None, "memories/new.md", lambda _: b"new", ""))
    kept.put("memories/late.md", b"late")
    kept.take_in()
    found, first, second = reversed(kept.history.log())
    assert (found.why, found.by, found.kind) == ("as it was found", "you", "person")
    assert kept.bytes_at(found.commit, "memories/mine.md") == b"mine\r\n"
    assert kept.bytes_at(found.commit, "memories/late.md") == b"late"
    assert kept.history.files(first) == [("memories/mine.md", b"mine\r\n", "memories/x/mine.md", b"ours")]  # fmt: skip
    assert [file[:3] for file in second.files] == [(None, "memories/new.md", "")]
    assert true(kept)


def test_what_a_person_does_in_between_is_theirs(kept: Kept) -> None:
    kept.make("memories/a.md", b"a")
    kept.make("memories/b.md", b"b")
    kept.make("memories/c.md", b"c")
    kept.put("memories/a.md", b"a, edited by hand")
    kept.apply(PlannedWrite("memories/a.md", "memories/a.md", lambda data: (data or b"") + b"!", ""), why="ours")  # fmt: skip
    kept.put("memories/n.md", b"new")
    (kept.vault / "memories" / "b.md").rename(kept.vault / "memories" / "z.md")
    (kept.vault / "memories" / "c.md").unlink()
    kept.put("memories/a.md", b"edited again")
    assert kept.take_in() == 3
    before, ours, after = reversed(kept.history.log(limit=3))
    assert (before.by, before.kind) == ("you", "person")
    assert before.why == "created and edited and moved and removed outside vaultmem"
    assert kept.history.files(ours) == [("memories/a.md", b"a, edited by hand", "memories/a.md", b"a, edited by hand!")]  # fmt: skip
    assert after.why == "edited outside vaultmem"
    assert {(file.path, file.target) for file in before.files} == {
        ("memories/b.md", "memories/z.md"), ("memories/c.md", None), (None, "memories/n.md"),
        ("memories/a.md", "memories/a.md"),
    }  # fmt: skip
    assert true(kept)


def test_a_memory_that_was_renamed_and_edited_by_hand_is_a_move(kept: Kept) -> None:
    head = b"---\ncategory: inbox\nvaultmem: 0918e9ac-f781-4e4d-ab79-d8653e2411e1 memory_type=semantic\n---\n"
    kept.make("memories/inbox/a.md", head + b"one\n")
    kept.make("memories/inbox/x.md", b"other\n")
    (kept.vault / "memories/inbox/a.md").unlink()
    (kept.vault / "memories/inbox/x.md").unlink()
    kept.put("memories/inbox/b.md", head + b"two\n")
    kept.take_in()
    [record] = kept.history.log(limit=1)
    assert record.why == "edited and moved and removed outside vaultmem"
    assert [file[:2] for file in record.files] == [
        ("memories/inbox/a.md", "memories/inbox/b.md"), ("memories/inbox/x.md", None)
    ]  # fmt: skip
    assert kept.undo(record.commit) == []
    assert kept.memories()["memories/inbox/a.md"] == head + b"one\n"


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


def test_a_folder_that_a_person_removed_comes_back_with_one_undo(kept: Kept) -> None:
    first = kept.make("memories/a.md", b"a")
    shutil.rmtree(kept.vault / "memories")
    assert kept.take_in() == 1
    removal = kept.history.log()[0]
    assert removal.why == "removed outside vaultmem"
    assert kept.bytes_at(first, "memories/a.md") == b"a"
    kept.undo(removal.commit)
    assert kept.read("memories/a.md") == b"a"


def test_paths_that_git_keeps_for_itself_do_no_harm(kept: Kept) -> None:
    for path in ("memories/.git/config", "memories/.GIT/x.md", "memories/git~1/y.md"):
        kept.apply(PlannedWrite(None, path, lambda _: b"x", ""), why=path)
    kept.make("memories/a.md", b"a")
    assert [*tree(kept)] == ["memories/a.md"]


# --- What comes out


def test_log_by_whom_since_when_and_how_many(kept: Kept) -> None:
    for number in range(6):
        kept.make(f"memories/n{number}.md", b"x", by=("ann", "ann b")[number % 2])
    log = kept.history.log
    assert [one.at for one in log()] == [1006, 1005, 1004, 1003, 1002, 1001]
    assert [one.at for one in log(limit=2)] == [1006, 1005]
    assert [one.at for one in log(by="ann".__eq__)] == [1005, 1003, 1001]
    assert [one.at for one in log(by="ann".__eq__, limit=1, since=1002)] == [1005]
    assert [one.at for one in log(since=1004)] == [1006, 1005, 1004]
    assert log(by="a.n".__eq__) == []
    assert [one.at for one in log("memories/n3.md", by="ann b".__eq__)] == [1004]
    assert log("memories/never.md") == []


def test_log_follows_moves(kept: Kept) -> None:
    kept.make("memories/a.md", b"1")
    kept.edit("memories/a.md", b"2")
    kept.edit("memories/a.md", b"3", "memories/b.md")
    kept.make("memories/a.md", b"another")
    kept.edit("memories/b.md", b"4", "memories/c.md")
    assert [one.at for one in kept.history.log("memories/c.md")] == [1005, 1003, 1002, 1001]
    newest, *_, moved, _, first = [one.commit for one in kept.history.log()]
    b_to_c = {"memories/b.md": "memories/c.md"}
    a_to_c = {"memories/a.md": "memories/c.md", **b_to_c}
    assert kept.history.moved_since([newest, moved, first]) == [{}, b_to_c, a_to_c]
    assert kept.history.moved_since([newest]) == [{}]


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
    message = Commit("", 0.0, by, "job", why, tuple(FileChange(*file) for file in files), "abc")
    text = format_message(message).decode()
    found = parse_message(text)
    assert found.files == message.files
    assert (found.kind, found.token) == ("job", "abc")
    assert "\n" not in found.by + found.why
    assert format_message(found) == format_message(message)


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])  # fmt: skip
@given(st.lists(st.tuples(st.sampled_from("make edit move hand gone shift take".split()), st.integers(0, 3), st.integers(0, 3)), max_size=14))  # fmt: skip
def test_whatever_happens_the_newest_commit_is_what_the_folder_holds(tmp_path: Path, steps: list[tuple[str, int, int]]) -> None:  # fmt: skip
    shutil.rmtree(tmp_path)
    kept = Kept(tmp_path)
    kept.put("memories/always.md", b"here")
    for number, (kind, one, other) in enumerate(steps):
        path, target, data = f"memories/{one}.md", f"memories/{other}/x.md", b"%d" % (number % 3)
        file = kept.vault / path
        if kind in ("make", "edit"):
            kept.apply(
                PlannedWrite(None if kind == "make" else path, path, lambda _, data=data: data, "")
            )
        elif kind == "move":
            kept.apply(PlannedWrite(path, target, lambda found: found or b"", ""))
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
    assert kept.history.damage() is None
    assert kept.take_in() == 0
    for record in kept.history.log(limit=None):
        assert record.files, "no commit is empty"


LINES = b"".join(b"line %d\r\n" % number for number in range(12))


def newest(kept: Kept) -> str:
    return kept.history.log(limit=1)[0].commit


def test_a_new_memory_goes_to_the_archive_and_comes_back(kept: Kept) -> None:
    kept.make("memories/people/a.md", b"other")
    kept.edit("memories/people/a.md", b"other", "memories/archive/a.md")
    commit = kept.make("memories/people/a.md", b"new\n")
    assert kept.undo(commit) == []
    assert kept.memories() == {
        "memories/archive/a.md": b"other", "memories/archive/a, undone.md": b"new\ndeleted\n"
    }  # fmt: skip
    assert kept.undo(newest(kept)) == []
    assert kept.memories()["memories/people/a.md"] == b"new\n"


def test_a_new_memory_that_was_edited_since_keeps_the_edit(kept: Kept) -> None:
    commit = kept.make("memories/a.md", b"new\n")
    kept.put("memories/a.md", b"new, and more\n")
    assert kept.undo(commit) == []
    assert kept.memories() == {"memories/archive/a.md": b"new, and more\ndeleted\n"}


def test_later_changes_to_other_lines_are_kept(kept: Kept) -> None:
    """By a person, and by a later commit of ours."""
    kept.make("memories/a.md", LINES)
    commit = kept.edit("memories/a.md", LINES.replace(b"line 1\r", b"ours\r"))
    kept.edit("memories/a.md", LINES.replace(b"line 1\r", b"ours\r").replace(b"line 5\r", b"later\r"))  # fmt: skip
    kept.put("memories/a.md", kept.memories()["memories/a.md"] + b"by hand\r\n")
    assert kept.undo(commit) == []
    assert kept.memories() == {"memories/a.md": LINES.replace(b"line 5\r", b"later\r") + b"by hand\r\n"}  # fmt: skip


def test_later_changes_to_the_same_lines_are_not_run_over(kept: Kept) -> None:
    kept.make("memories/a.md", b"1\n")
    kept.make("memories/b.md", b"1\n")
    commit = kept.commit(
        PlannedWrite("memories/a.md", "memories/a.md", lambda _: b"2\n", ""),
        PlannedWrite("memories/b.md", "memories/c.md", lambda _: b"2\n", ""),
    )
    kept.put("memories/a.md", b"3\n")
    kept.put("memories/c.md", b"3\n")
    refused = kept.undo(commit)
    assert {path for path, _ in refused} == {"memories/a.md", "memories/c.md"}
    assert all("same lines" in reason for _, reason in refused)
    assert kept.memories() == {"memories/a.md": b"3\n", "memories/c.md": b"3\n"}


def test_what_stands_in_the_way_of_a_move(kept: Kept) -> None:
    kept.make("memories/a.md", b"a")
    commit = kept.edit("memories/a.md", b"a", "memories/b.md")
    kept.make("memories/a.md", b"another")
    [(path, reason)] = kept.undo(commit)
    assert (path, "memories/a.md" in reason) == ("memories/b.md", True)
    kept.edit("memories/b.md", b"a", "memories/c.md")
    [(_, reason)] = kept.undo(commit)
    assert "moved on to memories/c.md" in reason
    (kept.vault / "memories/c.md").unlink()
    [(_, reason)] = kept.undo(commit)
    assert "no longer exists" in reason
    assert kept.memories() == {"memories/a.md": b"another"}


def test_what_a_person_did_can_be_undone(kept: Kept) -> None:
    kept.make("memories/a.md", b"a")
    kept.make("memories/b.md", b"b")
    (kept.vault / "memories/a.md").unlink()
    kept.take_in()
    removed = newest(kept)
    assert kept.undo(removed) == []
    assert kept.memories() == {"memories/a.md": b"a", "memories/b.md": b"b"}
    assert kept.undo(removed) == []
    kept.put("memories/a.md", b"another")
    [(path, _)] = kept.undo(removed)
    assert path == "memories/a.md"


def test_several_commits_at_once(kept: Kept) -> None:
    """Newest first, in one batch: a move after edits, a new file, a place that was taken by another."""
    kept.make("memories/a.md", b"1")
    kept.make("memories/b.md", b"b")
    before = kept.memories()
    commits = [
        kept.edit("memories/a.md", b"2"),
        kept.edit("memories/a.md", b"3", "memories/x/a.md"),
        kept.edit("memories/b.md", b"bb", "memories/a.md"),
        kept.edit("memories/x/a.md", b"4", "memories/b.md"),
        kept.make("memories/c.md", b"c"),
    ]
    after = kept.memories()
    refused = kept.undo(*reversed(commits))
    assert {reason for _, reason in refused} == {"two files have changed places"}
    del after["memories/c.md"]  # the last new file is in the archive
    assert kept.memories() == after | {"memories/archive/c.md": b"cdeleted\n"}
    assert kept.undo(newest(kept)) == []
    kept.edit("memories/a.md", b"bb", "memories/free.md")
    assert kept.undo(newest(kept), *reversed(commits[:4])) == []
    assert kept.memories() == before | {"memories/c.md": b"c"}


def test_a_person_who_writes_while_it_is_undone(kept: Kept) -> None:
    kept.make("memories/a.md", LINES)
    commit = kept.edit("memories/a.md", LINES + b"ours\r\n")
    files = kept.history.files(kept.history.show(commit))
    reads = iter([LINES + b"ours\r\n"])
    kept.read = lambda _: next(reads, None)  # type: ignore[method-assign]
    kept.put("memories/a.md", b"first by hand\r\n" + LINES + b"ours\r\n")
    assert files
    assert kept.undo(commit) == []
    assert kept.memories() == {"memories/a.md": b"first by hand\r\n" + LINES}


def test_killed_in_the_middle(kept: Kept) -> None:
    """After healing an undo has happened, or not at all."""
    kept.make("memories/a.md", b"1")
    commit = kept.commit(
        PlannedWrite("memories/a.md", "memories/x/a.md", lambda _: b"2", ""),
        PlannedWrite(None, "memories/new.md", lambda _: b"new", ""),
    )
    done = kept.memories()
    undone = {"memories/a.md": b"1", "memories/archive/new.md": b"newdeleted\n"}
    seen = set()

    def check() -> None:
        kept.batches.heal()
        kept.take_in()
        assert kept.memories() in (done, undone)
        seen.add(len(kept.subjects()))
        if kept.memories() == undone:
            assert kept.undo(newest(kept)) == []
        assert kept.memories() == done

    writes, refused = kept.unmade(commit)
    assert not refused
    assert kill_everywhere(lambda: kept.apply(*writes), check, step=3) > 20
    assert len(seen) > 1


@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])  # fmt: skip
@given(st.binary(max_size=40), st.binary(max_size=40), st.booleans())
def test_undo_of_undo_is_as_if_nothing_had_been(tmp_path_factory: pytest.TempPathFactory, old: bytes, new: bytes, moves: bool) -> None:  # fmt: skip
    kept = Kept(tmp_path_factory.mktemp("undo"))
    kept.make("memories/a.md", old + b"1")
    before = kept.memories()
    commit = kept.edit("memories/a.md", new + b"2", "memories/b.md" if moves else "")
    after = kept.memories()
    for expected in (before, after, before):
        assert kept.undo(commit) == []
        assert kept.memories() == expected
        commit = newest(kept)


def test_an_older_commit_finds_a_file_that_was_moved_since(kept: Kept) -> None:
    """And not another one that has its old name by now."""
    created = kept.make("memories/a.md", LINES)
    edited = kept.edit("memories/a.md", LINES + b"more\r\n")
    kept.edit("memories/a.md", LINES + b"more\r\n", "memories/b.md")
    kept.make("memories/a.md", b"another")
    assert kept.undo(edited) == []
    assert kept.memories() == {"memories/b.md": LINES, "memories/a.md": b"another"}
    assert kept.undo(created) == []
    assert kept.memories() == {"memories/archive/b.md": LINES + b"deleted\n", "memories/a.md": b"another"}  # fmt: skip
