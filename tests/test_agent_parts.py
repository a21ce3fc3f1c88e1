"""The small parts of the agent: what is believed, how much may go, who steps aside, what is being done."""

from __future__ import annotations

import os
import shutil
import sqlite3
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agent_run import differing
from tests.index_dump import catalog_dump, other_state
from vaultmem.agent.debounce import EMPTY_WAIT, GONE_WAIT, Listeners, Touch, place_of, too_early
from vaultmem.agent.events import LONGEST_REST, SHORTEST_WORK, Both, StageProgress, Throttle
from vaultmem.agent.reconciler import FIRST_BATCH, Reconciler
from vaultmem.agent.vanish_guard import WINDOW, VanishGuard
from vaultmem.api import Vault
from vaultmem.config import Config
from vaultmem.errors import VaultGoneError
from vaultmem.index import catalog_write as copies_module
from vaultmem.index import indexer as indexer_module
from vaultmem.index.compare import Diff, Known
from vaultmem.index.indexer import BATCH_NOTES, Indexer
from vaultmem.index.state import State
from vaultmem.paths import make_private, state_folder
from vaultmem.progress import Silent
from vaultmem.vault import files as reading
from vaultmem.vault import identity
from vaultmem.vault.walk import Entry


def touch(path: str, last: float, *, folder: bool = False) -> Touch:
    return Touch(path, folder=folder, first=last, last=last, due=last)


def known(file: int, size: int = 100, inode: int = 0) -> Known:
    return Known(file, "note", size, 1, inode or file, 0)


def diff(put: dict[str, int], gone: list[str], before: dict[str, Known], inode: int = 999) -> Diff:
    entries = [Entry(path, size, 2, inode, path) for path, size in put.items()]
    return Diff(entries, [], {before[p].file: p for p in gone}, {}, {}, before)


def test_a_deletion_waits_and_is_looked_at_again_as_the_touch_it_was() -> None:
    before = {"a.md": known(1)}
    early, again = too_early(diff({}, ["a.md"], before), [touch("a.md", 10.0)], 10.3)
    assert early == {"a.md"}
    assert again == {touch("a.md", 10.0): 10.0 + GONE_WAIT}
    assert too_early(
        diff({}, ["a.md"], before), [touch("a.md", 10.0)], 10.0 + GONE_WAIT + 0.01
    ) == (set(), {})


def test_a_rename_is_no_deletion() -> None:
    before = {"a.md": known(1, inode=7)}
    touches = [touch("a.md", 10.0), touch("b.md", 10.0)]
    moved = Diff([Entry("b.md", 100, 2, 7, "b.md")], [], {1: "a.md"}, {}, {}, before)
    assert too_early(moved, touches, 10.3) == (set(), {})


def test_below_a_touched_folder_the_folder_is_looked_at_again() -> None:
    before = {"f/a.md": known(1), "f/b.md": known(2)}
    touches = [touch("f", 10.0, folder=True), touch("other.md", 1.0)]
    early, again = too_early(diff({}, ["f/a.md", "f/b.md"], before), touches, 10.3)
    assert early == {"f/a.md", "f/b.md"}
    assert again == {touches[0]: 10.0 + GONE_WAIT}


def test_an_emptied_note_waits_and_its_neighbour_does_not() -> None:
    before = {"a.md": known(1), "b.md": known(2)}
    touches = [touch("a.md", 10.0), touch("b.md", 10.0)]
    early, again = too_early(diff({"a.md": 0, "b.md": 90}, [], before), touches, 10.3)
    assert early == {"a.md"}
    assert again == {touches[0]: 10.0 + EMPTY_WAIT}


def test_a_name_in_another_form_of_unicode_is_the_same_touch() -> None:
    before = {"café.md": known(1)}
    touches = [touch("cafe\u0301.md", 10.0)]
    early, again = too_early(diff({}, ["café.md"], before), touches, 10.3)
    assert early == {"café.md"}
    assert list(again) == touches, "the disk's own spelling, by which it can be looked at"


def test_touches_make_a_place() -> None:
    place = place_of([touch("a.md", 1.0), touch("f", 1.0, folder=True)])
    assert place.files == {"a.md", "f"}, "a note may have taken the place of the folder"
    assert place.folders == {"f"}


def test_below_many_nested_folders_each_path_knows_its_own() -> None:
    deep = ["/".join(["f"] * n) for n in range(1, 400)]
    before = {f"{folder}/{n}.md": known(n) for n, folder in enumerate(deep)}
    touches = [touch(folder, float(n), folder=True) for n, folder in enumerate(deep)]
    early, again = too_early(diff({}, list(before), before), touches, 0.0)
    assert early == set(before)
    assert again == {each: each.last + GONE_WAIT for each in touches}


def test_of_nested_folders_the_outermost_is_looked_at() -> None:
    touches = [touch(path, 1.0, folder=True) for path in ("f/a/b", "f/a", "fa", "g/a", "f/a/c")]
    touches += [touch(path, 1.0) for path in ("f/a/b/x.md", "f/x.md", "fa.md", "h/a")]
    place = place_of(touches)
    assert place.folders == {"f/a", "fa", "g/a"}
    assert place.files == {"f/a", "fa", "g/a", "f/x.md", "fa.md", "h/a"}


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
            self.losses.count(len(going), now)

    def wholly(self, now: float, *, confirmed: bool = False) -> None:
        """A look at everything."""
        self.losses.begin()
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


def test_the_same_losses_over_a_day_are() -> None:
    vault = Dwindling(100)
    for hour in range(90):
        vault.lose(1)
        vault.partly(hour * 3600.0)
        assert vault.indexed == vault.there


def test_the_last_file_is_not_given_up() -> None:
    vault = Dwindling(1)
    vault.lose(1)
    vault.partly(0.0)
    assert vault.losses.vanished
    assert vault.indexed


def test_losses_count_for_a_minute() -> None:
    vault = Dwindling(100)
    for at in (0.0, WINDOW + 1.0):
        vault.lose(20)
        vault.partly(at)
    vault.wholly(WINDOW + 2.0, confirmed=True)
    vault.lose(12)
    vault.partly(WINDOW + 3.0)
    assert vault.losses.vanished is None
    assert len(vault.indexed) == 48


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
    assert vault.losses.are_back(vault.seen()) is None
    vault.there |= set(sorted(kept)[:10])
    assert vault.losses.are_back(vault.seen()) is False
    assert vault.losses.are_back(vault.seen()) is None
    vault.there |= kept
    assert vault.losses.are_back(vault.seen()) is True
    vault.wholly(9.0)
    assert vault.losses.vanished is None
    assert len(vault.indexed) == 100


def test_a_loss_that_could_not_be_written_down_counts_once() -> None:
    vault = Dwindling(100)
    vault.lose(15)
    vault.partly(0.0, applied=False)
    vault.partly(1.0)
    assert vault.losses.vanished is None
    assert vault.indexed == vault.there
    vault.lose(5)
    vault.losses.begin()
    vault.losses.check(vault.seen(), 2.0)  # and this time, too, writing fails
    vault.wholly(3.0)
    assert vault.losses.vanished is None
    assert vault.indexed == vault.there
    vault.lose(1)
    vault.partly(4.0)
    assert vault.losses.vanished, "all 21 count"


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
    with pytest.raises(VaultGoneError, match="not there"):
        losses.check_root()
    (root / "folder").mkdir(parents=True)
    with pytest.raises(VaultGoneError, match="another folder"):
        losses.check_root()
    identity.remember(str(root), "memories")
    losses.check_root()


# The writer


class Bench:
    """A reconciler whose turns are taken by the test."""

    def __init__(self, vault: Path, notes: int) -> None:
        self.vault = vault
        for number in range(notes):
            self.write(f"folder/Note {number}.md", f"apple {number}")
        self.replaced = 0
        listeners = Listeners(lambda _: None, self._heard, lambda _: None)
        self.reconciler = Reconciler(State(str(vault)), Config({}), Throttle(), listeners)
        self.full()

    def _heard(self) -> None:
        self.replaced += 1

    def write(self, path: str, text: str, *, fresh: bool = False) -> None:
        file = self.vault / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        if not fresh:
            at = time.time_ns() - 60 * 10**9
            os.utime(file, ns=(at, at))

    def full(self) -> None:
        """A look at everything, now."""
        self.reconciler.look_at_all()
        self.reconciler._turn()

    def look(self, *paths: str, folder: bool = False) -> None:
        """A look at paths that have been quiet for a long time."""
        self.reconciler._full_due = None
        for path in paths:
            self.reconciler._debounce.touch(path, time.monotonic() - 100.0, folder=folder)
        self.reconciler._turn()

    def due(self) -> float | None:
        """In how many seconds everything is looked at."""
        due = self.reconciler._full_due
        return None if due is None else due - time.monotonic()

    def indexed(self) -> set[str]:
        indexer = self.reconciler._indexer
        assert indexer
        return {row[0] for row in indexer.catalog.db.execute("SELECT path FROM files")}


@pytest.fixture
def bench(vault: Path, tmp_path: Path) -> Iterator[Bench]:
    with other_state(tmp_path / "state"), State(str(vault)).lock():
        made = Bench(vault, 60)
        yield made
        made.reconciler._close()


def test_gone_in_an_unmounted_vault_is_not_gone(bench: Bench, tmp_path: Path) -> None:
    before = bench.indexed()
    away = bench.vault.rename(tmp_path / "away")
    bench.look("folder/Note 1.md", "folder/Note 2.md")
    assert "not there" in (bench.reconciler.vanished or "")
    assert bench.indexed() == before
    bench.vault.mkdir()
    bench.look("folder/Note 1.md")
    bench.full()
    assert bench.indexed() == before
    (bench.vault / "lost+found").mkdir()
    bench.reconciler._guard.vanished = None  # as if a look had just come to its end
    bench.look("folder/Note 3.md")
    assert "another folder" in (bench.reconciler.vanished or "")
    assert bench.indexed() == before
    shutil.rmtree(bench.vault)
    away.rename(bench.vault)
    bench.full()
    assert bench.reconciler.vanished is None
    (bench.vault / "folder" / "Note 1.md").unlink()
    bench.look("folder/Note 1.md")
    assert bench.indexed() == before - {"folder/Note 1.md"}


def test_what_is_new_is_read_while_the_rest_is_kept(bench: Bench) -> None:
    before = bench.indexed()
    (bench.vault / "folder").rename(bench.vault / ".hidden")
    bench.write("New.md", "unseen")
    bench.write("folder/Note 1.md", "another text")
    bench.full()
    assert bench.reconciler.vanished
    assert bench.indexed() == before | {"New.md"}
    with Vault(str(bench.vault)) as opened:
        assert {hit.path for hit in opened.search("unseen")} == {"New.md"}
        assert {hit.path for hit in opened.search("another")} == {"folder/Note 1.md"}
    (bench.vault / "folder" / "Note 1.md").unlink()
    (bench.vault / "folder").rmdir()
    (bench.vault / ".hidden").rename(bench.vault / "folder")
    bench.full()
    assert bench.reconciler.vanished is None
    with Vault(str(bench.vault)) as opened:
        assert not opened.search("another")


def test_other_settings_while_the_vault_has_vanished(bench: Bench, tmp_path: Path) -> None:
    """What is kept is read by them when it is back, and the rest is not read again and again."""
    (bench.vault / "folder" / "Note 1.md").rename(tmp_path / "Note 1.md")
    (bench.vault / "folder").rename(tmp_path / "away")
    bench.write("folder/Note 1.md", "apple")
    bench.write("folder/hidden/Note.md", "apple")
    bench.write(".obsidian/app.json", '{"userIgnoreFilters": ["folder/hidden/"]}')
    read: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        real = reading.read
        patch.setattr(reading, "read", lambda *given: read.append(given[1]) or real(*given))
        patch.setattr(indexer_module, "READER", "another")
        bench.reconciler._close()
        for _ in range(3):
            bench.full()
        assert bench.reconciler.vanished
        assert sorted(read) == ["folder/Note 1.md", "folder/hidden/Note.md"]
        for number in range(2, 60):
            name = f"Note {number}.md"
            (tmp_path / "away" / name).rename(bench.vault / "folder" / name)
        (tmp_path / "away" / "Note 0.md").rename(bench.vault / "folder" / "Note 0.md")
        bench.full()
        assert bench.reconciler.vanished is None
        assert len(read) == 61
        assert not differing(bench.vault, tmp_path / "scratch")


def test_a_save_in_a_vault_that_vanished_is_only_a_save(bench: Bench, tmp_path: Path) -> None:
    for number in range(30):
        (bench.vault / "folder" / f"Note {number}.md").rename(tmp_path / f"Note {number}.md")
    bench.full()
    assert bench.reconciler.vanished
    assert (bench.due() or 0) > 20
    bench.write("folder/Note 50.md", "saved")
    bench.look("folder/Note 50.md")
    assert bench.due() is None
    (tmp_path / "Note 0.md").rename(bench.vault / "folder" / "Note 0.md")
    bench.look("folder/Note 0.md")
    assert 0 < (bench.due() or 0) < 20
    for number in range(1, 30):
        (tmp_path / f"Note {number}.md").rename(bench.vault / "folder" / f"Note {number}.md")
    bench.look("folder", folder=True)
    assert (bench.due() or 99) <= 1
    bench.full()
    assert bench.reconciler.vanished is None


@pytest.mark.parametrize("harm", ["", "{}", '{"generation": 77}'])
def test_a_manifest_that_is_lost_is_written_again(bench: Bench, harm: str) -> None:
    manifest = Path(State(str(bench.vault)).folder, "manifest.json")
    before = manifest.read_bytes()
    manifest.write_text(harm) if harm else manifest.unlink()
    bench.write("folder/Note 1.md", "another text")
    bench.look("folder/Note 1.md")
    assert bench.due() is not None, "a look at everything heals it"
    bench.reconciler._turn()
    assert manifest.read_bytes() == before
    assert bench.replaced
    with Vault(str(bench.vault)) as opened:
        assert opened.search("another")


def test_a_part_of_the_index_that_is_lost_is_made_again(bench: Bench) -> None:
    state = State(str(bench.vault))
    shutil.rmtree(f"{state.generation()}/kw")
    bench.full()
    with Vault(str(bench.vault)) as opened:
        assert len(opened.search("apple", limit=100)) == 60


def test_a_save_needs_no_look_at_all_copies(bench: Bench) -> None:
    text = "The roof of the house leaks when the wind is in the west, and nobody knows why.\n" * 9
    bench.write("Plan.md", text)
    bench.write("Plan 2.md", "something else")
    bench.full()
    reconciler = bench.reconciler
    bench.write("folder/Note 1.md", "saved")
    bench.look("folder/Note 1.md")  # the first save after a start may need one
    reconciler._settle_due = 0.0
    reconciler._tidy_up()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(copies_module, "Places", lambda *_: 1 / 0)
        bench.write("folder/Note 1.md", "saved again")
        bench.look("folder/Note 1.md")
        assert reconciler._settle_due is None
        for text_now, wanted in ((text + "More.", [("Plan 2.md", "Plan.md")]), ("else", [])):
            bench.write("Plan 2.md", text_now)
            bench.look("Plan 2.md")
            assert reconciler._settle_due is not None
            reconciler._settle_due = 0.0
            reconciler._tidy_up()
            assert catalog_dump(bench.vault)["conflicts"] == wanted
    bench.write("Plan 3.md", text)
    bench.look("Plan 3.md")
    assert reconciler._settle_due is not None


def test_a_copy_that_is_saved_stays_a_copy(bench: Bench) -> None:
    """It fires no reminder for a moment, either."""
    copy = "Plan.sync-conflict-20261103-081512-ABCDEFG.md"
    bench.write("Plan.md", "plan")
    bench.write(copy, "plan")
    bench.full()
    bench.write(copy, "another plan")
    bench.look(copy)
    assert catalog_dump(bench.vault)["conflicts"] == [(copy, "Plan.md")]


def test_who_is_only_looked_at_again_is_not_behind(bench: Bench) -> None:
    reconciler = bench.reconciler
    bench.write("folder/Note 1.md", "saved now", fresh=True)
    reconciler._full_due = None
    reconciler.touched("folder/Note 1.md")
    assert (reconciler.waiting(), reconciler.is_current()) == (1, False)
    bench.look("folder/Note 1.md")
    assert reconciler._debounce, "it is looked at again"
    assert (reconciler.waiting(), reconciler.is_current()) == (0, True)
    for number in range(600):
        bench.write(f"many/{number}.md", "apple", fresh=True)
    bench.look("many", folder=True)
    assert bench.due() is not None, "all is looked at again"
    assert reconciler.is_current()
    reconciler.look_at_all(100.0)
    assert not reconciler.is_current()


def test_an_index_that_cannot_be_closed_is_let_go(bench: Bench) -> None:
    indexer = bench.reconciler._indexer
    assert indexer
    for error in (sqlite3.OperationalError("disk I/O error"), OSError(28, "full"), SystemExit(1)):

        def fail(error: BaseException = error) -> None:
            raise error

        with pytest.MonkeyPatch.context() as patch:
            bench.reconciler._indexer = indexer
            patch.setattr(indexer, "close", fail)
            bench.reconciler._close()
        assert bench.reconciler._indexer is None
    indexer.close()


def test_only_an_index_that_is_searched_is_written_in_small_steps(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []
    real = Indexer.apply

    def apply(indexer: Indexer, *given: object) -> int:
        sizes.append(indexer.batch_notes)
        return real(indexer, *given)  # type: ignore[arg-type]

    monkeypatch.setattr(Indexer, "apply", apply)
    bench.reconciler.order(Silent(), rebuild=True)
    bench.reconciler._turn()
    bench.full()
    assert sizes == [BATCH_NOTES, FIRST_BATCH]


def test_background_work_waits_for_an_answer_but_not_for_ever() -> None:
    gate = Throttle()
    gate.rest()  # nobody asks
    with gate.answering():
        started = time.monotonic()
        gate.rest()
        assert time.monotonic() - started >= LONGEST_REST * 0.9
    released = threading.Event()

    def background() -> None:
        gate.rest()
        released.set()

    with gate.answering():
        thread = threading.Thread(target=background)
        thread.start()
    assert released.wait(5.0)
    thread.join()


def test_background_work_gets_half_of_the_time_under_steady_searching() -> None:
    gate = Throttle()
    worked = rested = 0.0
    with gate.answering():
        gate.rest()
        for _ in range(12):
            started = time.monotonic()
            time.sleep(SHORTEST_WORK * 1.2)
            worked += time.monotonic() - started
            started = time.monotonic()
            gate.rest()
            rested += time.monotonic() - started
        assert rested > 0
        for _ in range(1000):
            gate.rest()  # a thousand tiny pieces are one piece of work
    assert rested <= worked * 1.5


def test_requests_are_remembered_for_idleness() -> None:
    now = 100.0
    gate = Throttle(clock=lambda: now)
    now = 250.0
    assert gate.last_request == 100.0
    with gate.answering():
        assert gate.last_request == 250.0


def test_a_failing_request_is_not_counted_for_ever() -> None:
    gate = Throttle()
    with pytest.raises(ZeroDivisionError), gate.answering():
        1 / 0  # noqa: B018 - raises
    started = time.monotonic()
    for _ in range(100):
        gate.rest()
    assert time.monotonic() - started < 100 * LONGEST_REST / 2


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
