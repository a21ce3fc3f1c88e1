"""A kill at any moment of a batch is healed, over nobody's words."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.batch_place import AFTER, BEFORE, Place, everything
from tests.kill_points import kill_everywhere, killed_after, killed_at, moments
from tests.laws import WHOLE, points
from vaultmem.vault.batches import is_torn


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


# --- The knife


def healed(place: Place) -> None:
    """All of a batch or nothing of it, nothing left over, and the record tells what is there."""
    place.batches.heal()
    found = place.notes()
    assert found in (BEFORE, AFTER)
    assert place.records() == ([] if found == BEFORE else ["1.done"])
    if found == AFTER:
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


def test_killed_at_random_moments(place: Place) -> None:
    for moment in moments(40, 0.03):
        killed_after(moment, lambda: place.apply(*everything()))
        healed(place)
        place.fill()


def test_a_person_changes_what_a_kill_has_cut_off(place: Place) -> None:
    """Their words stay, the rest is finished, and only that is on record."""
    for point in points(110, 6):
        place.fill()
        assert killed_at(point, lambda: place.apply(*everything()))
        theirs = dict.fromkeys(("m/a.md", "m/b.md", "m/new.md"), b"theirs")
        for path, data in theirs.items():
            (place.vault / path).write_bytes(data)
        place.batches.heal()
        found = place.notes()
        assert {path: found[path] for path in theirs} == theirs
        steps = [step for batch in place.batches.waiting() for step in batch.steps]
        for step in steps:
            assert found[step.target] in (step.new, b"theirs")
        assert place.batches.heal() == [], "a second healing has nothing to say"
        assert not any(name.endswith(".doing") for name in place.records())
        assert not any(".vaultmem" in path for path in found)


def left_behind(place: Place) -> Path:
    """The record of a batch of which nothing was done."""
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


def test_changes_that_are_given_up_are_said(place: Place) -> None:
    left_behind(place)
    (place.vault / "m" / "a.md").write_bytes(b"theirs")
    (place.vault / "m" / "d.md").unlink()
    said = place.batches.heal()
    assert len(said) == 3
    assert "m/a.md was changed since" in said[0]
    assert "m/d.md" in said[1]
    assert [step.target for step in place.batches.waiting()[0].steps] == [
        "m/arch/b.md", "m/b.md", "m/e.md", "m/new.md", "other/new.md"
    ]  # fmt: skip


def test_a_damaged_record_is_put_aside(place: Place) -> None:
    record = left_behind(place)
    data = record.read_bytes()
    for cut in (0, 1, 100, 500, -1):
        record.write_bytes(data[:cut])
        [message] = place.batches.heal()
        assert "put aside" in message
        assert place.records() == ["1.doing.kept"]
        assert place.notes() == BEFORE
        assert place.batches.heal() == []
        assert place.batches.waiting() == []


@given(st.binary(max_size=30), st.binary(max_size=30), st.integers(0, 30))
def test_every_moment_of_writing_in_place_is_known_as_torn(old: bytes, new: bytes, at: int) -> None:
    at = min(at, len(new))
    assert is_torn(new[:at] + old[at:], old, new)
