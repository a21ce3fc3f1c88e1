"""When a changed path is checked, how background work steps aside for requests and says how far it is; and what seems to be
gone or cut off: when it is believed, and how much may go."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import given

from vaultmem.agent.debounce import (
    EMPTY_WAIT,
    GONE_WAIT,
    LONGEST,
    QUIET,
    SHRUNK_WAIT,
    WINDOW,
    Debounce,
    Touch,
    VanishGuard,
    place_of,
    settle_time,
    too_early,
)
from vaultmem.agent.events import LONGEST_REST, SHORTEST_WORK, Both, StageProgress, Throttle
from vaultmem.errors import VaultGoneError
from vaultmem.index.compare import Diff, Known
from vaultmem.paths import make_private, state_folder
from vaultmem.vault import identity
from vaultmem.vault.walk import Entry


def touch(path: str, last: float, *, folder: bool = False) -> Touch:
    return Touch(path, folder=folder, first=last, last=last, due=last)


def doubted(one: Touch, since: float) -> Touch:
    """The touch after a look that saw something not to be believed at once."""
    return one._replace(doubted=since)


def known(file: int, size: int = 100, inode: int = 0) -> Known:
    return Known(file, "note", size, 1, inode or file, 0)


def diff(put: dict[str, int], gone: list[str], before: dict[str, Known], inode: int = 999) -> Diff:
    entries = [Entry(path, size, 2, inode, path) for path, size in put.items()]
    return Diff(entries, [], {before[p].file: p for p in gone}, {}, {}, before)


@pytest.mark.parametrize("looked", [10.3, 99.0], ids=["soon", "late"])
def test_a_deletion_waits_from_the_look_that_sees_it(looked: float) -> None:
    """However old the hint is that brought us there: the file may have been moved a moment before the look."""
    before, hint = {"a.md": known(1)}, touch("a.md", 10.0)
    gone = diff({}, ["a.md"], before)
    early, again = too_early(gone, [hint], looked)
    assert early == {"a.md"}
    assert again == {doubted(hint, looked): looked + GONE_WAIT}
    early, again = too_early(gone, [*again], looked + 1.0)
    assert again == {doubted(hint, looked): looked + GONE_WAIT}, "what was doubted stays so"
    assert too_early(gone, [*again], looked + GONE_WAIT) == (set(), {})


def test_an_emptied_note_waits_and_its_neighbour_does_not() -> None:
    before = {"a.md": known(1), "b.md": known(2)}
    touches = [touch("a.md", 10.0), touch("b.md", 10.0)]
    early, again = too_early(diff({"a.md": 0, "b.md": 90}, [], before), touches, 10.3)
    assert early == {"a.md"}
    assert again == {doubted(touches[0], 10.3): 10.3 + EMPTY_WAIT}


def test_below_many_nested_folders_each_path_knows_its_own() -> None:
    deep = ["/".join(["f"] * n) for n in range(1, 400)]
    before = {f"{folder}/{n}.md": known(n) for n, folder in enumerate(deep)}
    touches = [doubted(touch(at, 0.0, folder=True), n / 1000) for n, at in enumerate(deep)]
    early, again = too_early(diff({}, list(before), before), touches, 1.0)
    assert early == set(before)
    assert again == {each: each.doubted + GONE_WAIT for each in touches}


# How much may go


class Dwindling:
    """How many files there are, how many the index has, and what is believed of those that go."""

    def __init__(self, files: int) -> None:
        self.losses = VanishGuard("/vault")
        self.there = {f"{number}.md" for number in range(files)}
        self.indexed = set(self.there)

    def seen(self) -> Diff:
        gone = sorted(self.indexed - self.there)
        before = {path: known(number, inode=5000 + number) for number, path in enumerate(gone)}
        return diff({}, gone, before)._replace(known=dict.fromkeys(self.there, 0))

    def partly(self, now: float, *, applied: bool = True) -> None:
        """A look at some paths."""
        found = self.seen()
        kept = self.losses.not_believed(found, len(self.indexed), now)
        if applied:
            going = set(found.gone.values()) - set(kept)
            self.indexed -= going
            lost = going.intersection(self.losses.missing(found))
            self.losses.count(len(lost), now, found)

    def wholly(self, now: float, *, confirmed: bool = False) -> None:
        """A look at everything."""
        try:
            if not confirmed:
                self.losses.check(self.seen(), now)
        except VaultGoneError as error:
            self.losses.hold(str(error))
            return
        self.indexed = set(self.there)
        self.losses.end(now, confirmed=confirmed)

    def lose(self, count: int) -> set[str]:
        gone = set(sorted(self.there)[:count])
        self.there -= gone
        return gone


def test_many_losses_in_little_time_are_not_believed() -> None:
    vault = Dwindling(100)
    for second in range(20):
        vault.lose(1)
        vault.partly(float(second))
        assert vault.losses.vanished is None
    vault.lose(1)
    vault.partly(20.0)
    assert "21 of 100" in (vault.losses.vanished or "")
    assert len(vault.indexed) == 80


def test_the_last_file_is_not_given_up() -> None:
    vault = Dwindling(1)
    vault.lose(1)
    vault.partly(0.0)
    assert vault.losses.vanished
    assert vault.indexed


def test_what_is_kept_stays_kept_when_the_minute_is_over() -> None:
    """Else what is left of a vault that goes bit by bit would be few enough to be believed."""
    vault = Dwindling(1000)
    for second in range(50):
        vault.lose(5)
        vault.partly(float(second))
    assert len(vault.indexed) == 800
    for later in range(1, 100):
        vault.wholly(50.0 + later * WINDOW)
        vault.partly(51.0 + later * WINDOW)
    assert "250 of 1000" in (vault.losses.vanished or "")
    assert len(vault.indexed) == 800
    vault.wholly(9000.0, confirmed=True)
    assert vault.losses.vanished is None
    assert len(vault.indexed) == 750


def test_it_heals_when_what_was_kept_is_back() -> None:
    vault = Dwindling(100)
    kept = vault.lose(30)
    vault.wholly(0.0)
    vault.partly(1.0)
    assert vault.losses.vanished
    vault.there |= kept
    vault.wholly(9.0)
    assert vault.losses.vanished is None
    assert len(vault.indexed) == 100


def test_the_vault_itself_has_to_be_there(tmp_path: Path) -> None:
    root = tmp_path / "vault"
    (root / "folder").mkdir(parents=True)
    make_private(state_folder(str(root)))
    losses = VanishGuard(str(root))
    losses.check_root()
    identity.remember(str(root), "memories")
    losses.check_root()
    (root / "folder").rmdir()
    with pytest.raises(VaultGoneError, match="empty"):
        losses.check_root()
    root.rename(tmp_path / "keeps the inode")
    with pytest.raises(VaultGoneError, match="missing or empty"):
        losses.check_root()
    (root / "folder").mkdir(parents=True)
    with pytest.raises(VaultGoneError, match="not the folder"):
        losses.check_root()
    identity.remember(str(root), "memories")
    losses.check_root()


def test_a_loss_that_could_not_be_written_down_counts_once() -> None:
    vault = Dwindling(100)
    vault.lose(15)
    vault.partly(0.0, applied=False)
    vault.partly(1.0)
    assert vault.losses.vanished is None
    assert vault.indexed == vault.there
    vault.lose(5)
    vault.losses.check(vault.seen(), 2.0)  # and this time, too, writing fails
    vault.wholly(3.0)
    assert vault.losses.vanished is None
    assert vault.indexed == vault.there
    vault.lose(1)
    vault.partly(4.0)
    assert vault.losses.vanished, "all 21 count"


def test_the_same_losses_over_a_day_are() -> None:
    vault = Dwindling(100)
    for hour in range(90):
        vault.lose(1)
        vault.partly(hour * 3600.0)
        assert vault.indexed == vault.there


def test_of_nested_folders_the_outermost_is_looked_at() -> None:
    touches = [touch(path, 1.0, folder=True) for path in ("f/a/b", "f/a", "fa", "g/a", "f/a/c")]
    touches += [touch(path, 1.0) for path in ("f/a/b/x.md", "f/x.md", "fa.md", "h/a")]
    place = place_of(touches)
    assert place.folders == {"f/a", "fa", "g/a"}
    assert place.files == {"f/a", "fa", "g/a", "f/x.md", "fa.md", "h/a"}


NAMES = st.sampled_from(["a.md", "b.md", "folder", "计划.md"])


def test_a_new_change_takes_precedence_over_a_planned_second_look() -> None:
    pace = Debounce()
    pace.touch("a.md", 0.0)
    (touch,) = pace.take(1.0)
    pace.touch("a.md", 1.1)
    pace.again(touch, 9.0)
    assert pace.due() == pytest.approx(1.1 + QUIET)
    pace.take(2.0)
    pace.again(touch, 9.0)
    pace.touch("a.md", 3.0)
    assert pace.due() == pytest.approx(3.0 + QUIET)


def test_only_unread_changes_count_as_behind() -> None:
    pace = Debounce()
    pace.touch("a.md", 0.0)
    pace.touch("b.md", 0.0)
    assert pace.behind() == 2
    one, other = pace.take(1.0)
    pace.again(one, 2.0, known=True)
    assert (len(pace), pace.behind()) == (1, 0)
    pace.again(other, 2.0)
    assert (len(pace), pace.behind()) == (2, 1)
    pace.touch("a.md", 1.1)
    assert pace.behind() == 2, "something has happened since"


@given(
    st.lists(
        st.tuples(NAMES, st.floats(0.0, 0.7), st.booleans(), st.booleans()), min_size=1, max_size=60
    )
)
def test_every_change_is_read_once_and_in_time(steps: list[tuple[str, float, bool, bool]]) -> None:
    pace, now = Debounce(), 0.0
    first: dict[str, float] = {}
    last: dict[str, float] = {}

    def take() -> None:
        for touch in pace.take(now):
            since, until = first.pop(touch.path), last.pop(touch.path)
            assert now >= min(until + QUIET, since + LONGEST) - 1e-9
            assert touch.last == until
        for path, since in first.items():
            assert now < min(last[path] + QUIET, since + LONGEST) + 1e-9, path

    for path, pause, folder, looks in steps:
        now += pause
        pace.touch(path, now, folder=folder)
        first.setdefault(path, now)
        last[path] = now
        if looks:
            take()
    assert len(pace) == len(first)
    now += LONGEST
    take()
    assert not first


@pytest.mark.parametrize(
    ("size", "before", "moved", "patience"),
    [
        (None, 100, False, GONE_WAIT),
        (None, 100, True, 0.0),
        (0, 100, False, EMPTY_WAIT),
        (49, 100, False, SHRUNK_WAIT),
        (50, 100, False, 0.0),
        (0, 0, False, 0.0),
        (0, None, False, 0.0),
        (200, 100, False, 0.0),
    ],
)
def test_what_seems_to_be_gone_or_cut_off_gets_time(
    size: int | None, before: int | None, moved: bool, patience: float
) -> None:
    assert settle_time(size, before, moved=moved) == patience


class Clock:
    """The time, and how long a gate has had somebody wait."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 100.0
        self.waits: list[float] = []
        self.gate = Throttle(clock=lambda: self.now)
        monkeypatch.setattr(self.gate._changed, "wait_for", self._wait)

    def _wait(self, _: object, most: float) -> None:
        self.waits.append(most)
        self.now += most


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def test_background_work_waits_for_an_answer_but_not_for_ever(clock: Clock) -> None:
    clock.gate.rest()  # nobody asks
    assert clock.waits == []
    with clock.gate.answering():
        clock.gate.rest()
    assert clock.waits == [LONGEST_REST]
    gate = Throttle()
    with ThreadPoolExecutor(1) as pool:
        with gate.answering():
            background = pool.submit(gate.rest)
        background.result(60)


def test_background_work_gets_half_of_the_time_under_steady_searching(clock: Clock) -> None:
    with clock.gate.answering():
        clock.gate.rest()
        clock.waits.clear()
        for _ in range(12):
            clock.now += SHORTEST_WORK * 1.2
            clock.gate.rest()
        assert clock.waits == pytest.approx([SHORTEST_WORK * 1.2] * 12)
        for _ in range(1000):
            clock.gate.rest()  # a thousand tiny pieces are one piece of work
        assert len(clock.waits) == 12


def test_a_stage_tells_how_far_it_is() -> None:
    stage, other = StageProgress(), StageProgress()
    both = Both(stage, other)
    assert stage.as_dict() is None
    both.stage("reading notes", 10)
    both.advance()
    both.advance(3)
    assert stage.as_dict() == other.as_dict() == {"stage": "reading notes", "done": 4, "total": 10}
    stage.end()
    assert stage.as_dict() is None
