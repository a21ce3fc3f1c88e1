"""Undo restores exact bytes, keeps what was changed since, deletes nothing, and can be undone."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.kept_history import Kept
from tests.kill_points import kill_everywhere
from vaultmem.vault.batch_record import PlannedWrite

LINES = b"".join(b"line %d\r\n" % number for number in range(12))


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    return Kept(tmp_path)


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
