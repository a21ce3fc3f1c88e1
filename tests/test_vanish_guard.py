"""What seems to be gone or cut off: when it is believed, and how much may go."""

from pathlib import Path

import pytest

from vaultmem.agent.debounce import (
    EMPTY_WAIT,
    GONE_WAIT,
    WINDOW,
    Touch,
    VanishGuard,
    place_of,
    too_early,
)
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
