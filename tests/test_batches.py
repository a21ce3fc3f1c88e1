"""A batch is carried out completely, never overwrites anybody's words, and is repaired after a kill at any moment."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import disk_full
from tests.kill_points import kill_everywhere, killed_at
from tests.laws import WHOLE, points
from vaultmem.errors import NoteChangedError, StateError
from vaultmem.vault import write
from vaultmem.vault.batch_record import Header, Outcome, PlannedWrite
from vaultmem.vault.batches import Batches, is_torn

HEADER = Header("claude", "assistant", "because", 1.5)


class Place:
    """A vault with some notes, and its state."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.vault = folder / "vault"
        self.state = folder / "state"
        self.fill()

    def fill(self) -> None:
        """Restore the initial files."""
        for made in (self.vault, self.state):
            shutil.rmtree(made, ignore_errors=True)
        (self.vault / "m").mkdir(parents=True)
        for name in ("a", "b", "c", "d", "e"):
            (self.vault / "m" / f"{name}.md").write_bytes(old(name))
        os.link(self.vault / "m" / "e.md", self.vault / "m" / "twin.md")

    @property
    def batches(self) -> Batches:
        return Batches(str(self.state / "batches"), str(self.vault))

    def apply(self, *wishes: PlannedWrite, between: Callable[[], None] = lambda: None) -> Outcome:
        """`between` runs before each step."""
        carry_out = write._Run.carry_out

        def interrupted(run: write._Run, at: int) -> None:
            between()
            carry_out(run, at)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(write._Run, "carry_out", interrupted)
            return write.apply(self.batches, HEADER, wishes)

    def notes(self) -> dict[str, bytes]:
        """All files of the vault, hidden ones too."""
        files = (path for path in self.vault.rglob("*") if path.is_file())
        return {str(path.relative_to(self.vault)): path.read_bytes() for path in files}

    def records(self) -> list[str]:
        folder = self.state / "batches"
        return sorted(os.listdir(folder)) if folder.exists() else []


def old(name: str) -> bytes:
    return f"old {name}\r\n\0".encode() * 20


def new(name: str) -> bytes:
    return f"new words of {name}\n".encode() * 30


def edit(path: str, data: bytes, target: str = "") -> PlannedWrite:
    return PlannedWrite(path, target or path, lambda _: data, f"edit {path}")


def make(target: str, data: bytes) -> PlannedWrite:
    return PlannedWrite(None, target, lambda _: data, f"make {target}")


def keep(path: str, target: str) -> PlannedWrite:
    return PlannedWrite(path, target, lambda data: data or b"", f"move {path}")


BEFORE = {f"m/{name}.md": old(name) for name in "abcde"} | {"m/twin.md": old("e")}
AFTER = {
    "m/a.md": new("a"), "m/arch/b.md": new("b"), "m/b.md": old("c"), "m/deep/x/d.md": old("d"), "m/e.md": new("e"),
    "m/twin.md": new("e"), "m/new.md": new("new"), "other/new.md": b"",
}  # fmt: skip


def everything() -> list[PlannedWrite]:
    """An edit, a move with an edit, a move to the place that it frees, a plain move, a hard link, new files."""
    return [
        edit("m/a.md", new("a")), edit("m/b.md", new("b"), "m/arch/b.md"), keep("m/c.md", "m/b.md"),
        keep("m/d.md", "m/deep/x/d.md"), edit("m/e.md", new("e")), make("m/new.md", new("new")),
        make("other/new.md", b""),
    ]  # fmt: skip


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


# --- Beside other programs


def test_an_edit_is_made_again_on_newer_bytes(place: Place) -> None:
    """And they are recorded before it is written."""
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


# --- Kills


def healed(place: Place) -> None:
    """All of a batch or nothing of it, nothing left over, and the record says what is there."""
    place.batches.heal()
    notes = place.notes()
    assert notes in (BEFORE, AFTER)
    assert place.records() == ([] if notes == BEFORE else ["1.done"])
    if notes == AFTER:
        assert len(place.batches.waiting()[0].steps) == 7
    assert place.batches.heal() == []


@pytest.fixture(params=["", "no exclusive rename"])
def drive(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Drives of several kinds."""
    if request.param:
        monkeypatch.setattr("vaultmem.vault.moves._system_rename", lambda: None)
    return str(request.param)


def test_killed_at_each_event(place: Place, drive: str) -> None:
    seen: set[int] = set()

    def check() -> None:
        healed(place)
        seen.add(len(place.notes()))
        place.fill()

    step = 1 if WHOLE and not drive else 3
    assert kill_everywhere(lambda: place.apply(*everything()), check, step) > 60
    assert seen == {len(BEFORE), len(AFTER)}
    healed(place)


def test_healing_killed_at_each_event(place: Place) -> None:
    kills = 0
    for first in (40, 90):
        for second in points(200, 7):
            place.fill()
            assert killed_at(first, lambda: place.apply(*everything()))
            again = killed_at(second, place.batches.heal)
            healed(place)
            kills += again
            if not again:
                break
    assert kills > (9 if WHOLE else 2)


def test_a_person_changes_what_a_kill_has_cut_off(place: Place) -> None:
    """Their words stay, the rest is finished, and only that is recorded."""
    for point in points(110, 6):
        place.fill()
        assert killed_at(point, lambda: place.apply(*everything()))
        theirs = dict.fromkeys(("m/a.md", "m/b.md", "m/new.md"), b"theirs")
        for path, data in theirs.items():
            (place.vault / path).write_bytes(data)
        place.batches.heal()
        notes = place.notes()
        assert {path: notes[path] for path in theirs} == theirs
        steps = [step for batch in place.batches.waiting() for step in batch.steps]
        for step in steps:
            assert notes[step.target] in (step.new, b"theirs")
        assert place.batches.heal() == [], "a second healing has nothing to say"
        assert not any(name.endswith(".doing") for name in place.records())
        assert not any(".vaultmem" in path for path in notes)


def left_behind(place: Place) -> Path:
    """The record of a batch that was never begun."""
    for point in range(1, 100):
        assert killed_at(point, lambda: place.apply(*everything()))
        if "1.doing" in place.records():
            return place.state / "batches" / "1.doing"
    raise AssertionError("no record was left")


def test_an_absent_vault_is_waited_for(place: Place) -> None:
    left_behind(place)
    place.vault.rename(place.folder / "away")
    assert place.batches.heal() == []
    place.vault.mkdir()
    assert place.batches.heal() == []
    assert place.records() == ["1.doing"]
    place.vault.rmdir()
    (place.folder / "away").rename(place.vault)
    healed(place)
    assert place.notes() == AFTER


def test_a_damaged_record_is_put_aside(place: Place) -> None:
    record = left_behind(place)
    data = record.read_bytes()
    for cut in (0, 1, 100, 500, -1):
        record.write_bytes(data[:cut])
        [message] = place.batches.heal()
        assert "set aside" in message
        assert place.records() == ["1.doing.kept"]
        assert place.notes() == BEFORE
        assert place.batches.heal() == []
        assert place.batches.waiting() == []


@given(st.binary(max_size=30), st.binary(max_size=30), st.integers(0, 30))
def test_every_moment_of_writing_in_place_is_known_as_torn(old: bytes, new: bytes, at: int) -> None:
    at = min(at, len(new))
    assert is_torn(new[:at] + old[at:], old, new)


def test_nothing_is_written_before_a_record(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "replace", disk_full)
    with pytest.raises(StateError, match=r"No space left.*free some space"):
        place.apply(*everything())
    assert place.notes() == BEFORE
    assert place.records() == []


def test_changes_that_are_given_up_are_said(place: Place) -> None:
    left_behind(place)
    (place.vault / "m" / "a.md").write_bytes(b"theirs")
    (place.vault / "m" / "d.md").unlink()
    messages = place.batches.heal()
    assert len(messages) == 3
    assert "m/a.md was changed since" in messages[0]
    assert "m/d.md" in messages[1]
    assert [step.target for step in place.batches.waiting()[0].steps] == [
        "m/arch/b.md", "m/b.md", "m/e.md", "m/new.md", "other/new.md"
    ]  # fmt: skip
