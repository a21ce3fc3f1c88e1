"""A batch is carried out whole, over nobody's words, and a kill at any moment is healed."""

import errno
import os
from pathlib import Path

import pytest

from tests.batch_place import AFTER, BEFORE, Place, edit, everything, keep, make, new, old
from vaultmem.errors import NoteChangedError, StateError, VaultmemError
from vaultmem.vault import write as write_module
from vaultmem.vault.batch_record import PlannedWrite


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


# --- The plain way


def test_what_cannot_be_done_is_skipped_with_its_reason(place: Place) -> None:
    def declines(_: bytes | None) -> bytes:
        raise NoteChangedError("m/b.md was changed since the plan was made")

    (place.vault / "m" / "d.md").chmod(0o444)
    (place.vault / "out").symlink_to(place.folder)
    outcome = place.apply(
        edit("m/gone.md", b"x"), PlannedWrite("m/b.md", "m/b.md", declines, ""), make("m/c.md", b"x"), keep("m/c.md", "m/a.md"),
        edit("m/d.md", b"x"), make("out/x.md", b"x"), edit("m/a.md", new("a")), keep("m/a.md", "m/z.md"), make("../y", b""),
    )  # fmt: skip
    assert [step.target for step in outcome.done] == ["m/a.md"]
    assert [path for path, _ in outcome.skipped] == [
        "m/gone.md", "m/b.md", "m/c.md", "m/c.md", "m/a.md", "m/d.md", "out/x.md", "../y"
    ]  # fmt: skip
    assert all(reason and "\n" not in reason for _, reason in outcome.skipped)
    assert place.notes() == BEFORE | {"m/a.md": new("a")}
    assert sorted(os.listdir(place.folder)) == ["state", "vault"]
    assert [batch.steps for batch in place.batches.waiting()] == [outcome.done]


def test_nothing_is_written_before_it_is_on_record(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(StateError, match="No space left"):
        place.apply(*everything())
    assert place.notes() == BEFORE
    assert place.records() == []


# --- Beside other programs


def test_an_edit_is_made_again_on_newer_bytes(place: Place) -> None:
    """And they are on record before it is written."""
    seen: list[list[str]] = []

    def appended(data: bytes | None) -> bytes:
        assert data is not None
        return data + b"ours\n"

    def save() -> None:
        if not seen:
            for name in ("a", "b"):
                (place.vault / "m" / f"{name}.md").write_bytes(b"theirs\n")
        seen.append(place.records())

    outcome = place.apply(
        PlannedWrite("m/a.md", "m/a.md", appended, ""), PlannedWrite("m/b.md", "m/x/b.md", appended, ""), between=save
    )  # fmt: skip
    assert seen[0] == ["1.doing"]
    ours = b"theirs\nours\n"
    assert place.notes()["m/a.md"] == ours
    assert place.notes()["m/x/b.md"] == ours
    assert [step.old for step in outcome.done] == [b"theirs\n", b"theirs\n"]
    assert place.batches.waiting()[0].steps == outcome.done


def test_a_file_goes_back_when_its_edit_is_declined_at_the_last_moment(place: Place) -> None:
    def careful(data: bytes | None) -> bytes:
        if data != old("b"):
            raise NoteChangedError("m/b.md was changed")
        return new("b")

    def save() -> None:
        (place.vault / "m" / "b.md").write_bytes(b"theirs")

    outcome = place.apply(PlannedWrite("m/b.md", "m/x/b.md", careful, ""), between=save)
    assert outcome == (None, (), (("m/b.md", "m/b.md was changed"),))
    assert place.notes() == BEFORE | {"m/b.md": b"theirs"}
    assert place.records() == []


def test_places_that_are_taken_meanwhile(place: Place) -> None:
    def taken() -> None:
        for name in ("new", "moved"):
            (place.vault / "m" / f"{name}.md").write_bytes(b"theirs")

    outcome = place.apply(make("m/new.md", b"x"), keep("m/a.md", "m/moved.md"), edit("m/b.md", b"y"), between=taken)  # fmt: skip
    assert [path for path, _ in outcome.skipped] == ["m/new.md", "m/a.md"]
    assert place.notes() == BEFORE | {"m/new.md": b"theirs", "m/moved.md": b"theirs", "m/b.md": b"y"}  # fmt: skip
    assert [batch.steps for batch in place.batches.waiting()] == [outcome.done]


@pytest.mark.parametrize("stop", [0, 1, 3])
def test_what_was_done_before_a_stop_is_recorded(place: Place, stop: int) -> None:
    class StoppedError(Exception):
        pass

    turns = iter(range(9))

    def between() -> None:
        if next(turns) == stop:
            raise StoppedError

    with pytest.raises(StoppedError):
        place.apply(*everything(), between=between)
    assert sum(len(batch.steps) for batch in place.batches.waiting()) == stop
    assert place.records() == (["1.done"] if stop else [])
    assert place.batches.heal() == []
    assert place.notes() == BEFORE if not stop else place.notes() != BEFORE


def test_a_disk_that_is_full_in_the_middle(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    real = write_module.write_all

    def filling(handle: int, data: bytes) -> None:
        if b"words of new" in bytes(data):
            raise OSError(errno.ENOSPC, "No space left on device")
        real(handle, data)

    monkeypatch.setattr(write_module, "write_all", filling)
    with pytest.raises(VaultmemError, match="No space left"):
        place.apply(*everything())
    assert len(place.batches.waiting()[0].steps) == 5
    rest = {path: data for path, data in AFTER.items() if "new.md" not in path}
    assert place.notes() == rest


def test_a_batch_of_one_small_write_waits_for_the_disk_only_as_often_as_it_must(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The record, its folder, the note, its folder: the batch serves as the journal of its writes."""
    place.apply(make("m/first.md", b"x"))
    waits: list[int] = []
    real = os.fsync
    monkeypatch.setattr(os, "fsync", lambda handle: (waits.append(handle), real(handle))[1])
    place.apply(make("m/new.md", b"x"))
    assert len(waits) == 4
