"""The agent's writer: what it believes about a vault, and what it does with a lost or damaged index."""

import os
import shutil
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.agent_run import differing
from tests.index_dump import catalog_dump, other_state
from vaultmem.agent.debounce import QUIET, Listeners, Touch
from vaultmem.agent.events import Throttle
from vaultmem.agent.reconciler import FIRST_BATCH, FRESH_WAIT, Reconciler
from vaultmem.api import Vault
from vaultmem.config import Config
from vaultmem.index import catalog_write as copies_module
from vaultmem.index import indexer as indexer_module
from vaultmem.index.indexer import BATCH_NOTES, Indexer
from vaultmem.index.state import State
from vaultmem.vault import files as reading
from vaultmem.vault import walk as walking

# The writer


class Bench:
    """A reconciler whose turns the test takes."""

    def __init__(self, vault: Path, notes: int) -> None:
        self.vault = vault
        for number in range(notes):
            self.write(f"folder/Note {number}.md", f"apple {number}")
        self.replaced = self.commits = 0
        listeners = Listeners(self._committed, self._heard, lambda _: None)
        self.reconciler = Reconciler(State(str(vault)), Config({}), Throttle(), listeners)
        self.full()

    def _heard(self) -> None:
        self.replaced += 1

    def _committed(self, _notes: object) -> None:
        self.commits += 1

    def write(self, path: str, text: str, *, fresh: bool = False) -> None:
        file = self.vault / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        if not fresh:
            at = time.time_ns() - 60 * 10**9
            os.utime(file, ns=(at, at))

    def full(self) -> None:
        """Check everything now."""
        self.reconciler.look_at_all()
        self.reconciler._turn()

    def look(self, *paths: str, folder: bool = False) -> None:
        """Check paths that have not changed for a long time."""
        self.reconciler._full_due = None
        at = time.monotonic() - 100.0
        for path in paths:
            touch = Touch(path, folder, at, at, at, doubted=at)
            self.reconciler._debounce._touches[path] = touch
        self.reconciler._turn()

    def due(self) -> float | None:
        """The seconds until everything is checked."""
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


def test_notes_of_an_unmounted_vault_stay_indexed(bench: Bench, tmp_path: Path) -> None:
    before = bench.indexed()
    away = bench.vault.rename(tmp_path / "away")
    bench.look("folder/Note 1.md", "folder/Note 2.md")
    assert "missing" in (bench.reconciler.vanished or "")
    assert bench.indexed() == before
    bench.vault.mkdir()
    bench.look("folder/Note 1.md")
    bench.full()
    assert bench.indexed() == before
    (bench.vault / "lost+found").mkdir()
    bench.reconciler._guard.vanished = None  # as if a check had just ended
    bench.look("folder/Note 3.md")
    assert "not the folder" in (bench.reconciler.vanished or "")
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
    """What is kept is read by the new settings when it is back; the rest is not read again and again."""
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


@pytest.mark.parametrize("harm", ["", "{}", '{"generation": 77}'])
def test_after_a_manifest_is_lost_all_notes_are_read_again(bench: Bench, harm: str) -> None:
    manifest = Path(State(str(bench.vault)).folder, "manifest.json")
    manifest.write_text(harm) if harm else manifest.unlink()
    bench.write("folder/Note 1.md", "another text")
    bench.look("folder/Note 1.md")
    assert bench.due() is not None, "a look at everything heals it"
    bench.reconciler._turn()
    assert bench.replaced
    with Vault(str(bench.vault)) as opened:
        assert opened.is_indexed()
        assert opened.search("another")


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


def test_what_only_a_look_at_everything_shows_is_announced(bench: Bench) -> None:
    """Conflict copies and unreadable files are listed on pending.md, which would keep the former ones."""
    text = "The roof of the house leaks when the wind is in the west, and nobody knows why.\n" * 9
    for path in ("Plan.md", "Plan 2.md"):
        bench.write(path, text)
        bench.look(path)
    for is_new in (True, False):
        before = bench.commits
        bench.full()
        assert (bench.commits > before) is is_new
    assert catalog_dump(bench.vault)["conflicts"] == [("Plan 2.md", "Plan.md")]
    (bench.vault / os.fsdecode(b"\xff.md")).write_text("no name")
    before = bench.commits
    bench.full()
    assert bench.commits > before


@pytest.mark.usefixtures("never_settled")
def test_a_note_that_moves_as_it_is_looked_at_again_stays(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its folder was renamed a moment before, and the hint about that has not arrived yet."""
    bench.write("deep/Note.md", "fathoms", fresh=True)
    bench.look("deep/Note.md")
    before = bench.indexed()
    (bench.vault / "deep").rename(bench.vault / "far")
    start = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: start + FRESH_WAIT)
    bench.reconciler._turn()
    assert bench.indexed() == before
    for path in ("deep", "far"):
        bench.reconciler.touched(path, folder=True)
    monkeypatch.setattr(time, "monotonic", lambda: start + FRESH_WAIT + QUIET)
    bench.reconciler._turn()
    assert bench.indexed() == before - {"deep/Note.md"} | {"far/Note.md"}


@pytest.mark.parametrize("is_known", [True, False], ids=["known", "new"])
def test_a_note_that_moves_between_being_listed_and_read_stays_as_it_was(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, is_known: bool
) -> None:
    bench.write("deep/Note.md", "fathoms", fresh=True)
    if is_known:
        bench.look("deep/Note.md")

    def rename() -> None:
        if (bench.vault / "deep").exists():
            (bench.vault / "deep").rename(bench.vault / "far")

    before = bench.indexed()
    monkeypatch.setattr(bench.reconciler._indexer, "breathe", rename)
    bench.look("deep/Note.md")
    assert not (bench.vault / "deep").exists()
    assert bench.indexed() == before
    with Vault(str(bench.vault)) as opened:
        assert [hit.path for hit in opened.search("fathoms")] == ["deep/Note.md"] * is_known
    bench.look("deep", "far", folder=True)
    assert bench.indexed() == before - {"deep/Note.md"} | {"far/Note.md"}


@pytest.mark.parametrize(("walk", "then"), [(1, "far/Note.md"), (2, "deep/Note.md")])
def test_a_folder_that_is_renamed_while_the_vault_is_walked_is_not_gone(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, walk: int, then: str
) -> None:
    before = bench.indexed()
    bench.write("deep/Note.md", "fathoms")
    bench.full()
    (bench.vault / "folder" / "Note 1.md").unlink()
    real, walks = walking._list, []

    def listed(root: str, folder: str, *rest: Any) -> list[walking.Entry]:
        entries = real(root, folder, *rest)
        walks.extend([1] * (not folder))
        if not folder and len(walks) == walk:  # when the vault is listed, and not the folder
            (bench.vault / "deep").rename(bench.vault / "far")
        return entries

    monkeypatch.setattr(walking, "_list", listed)
    bench.full()
    assert bench.indexed() == before - {"folder/Note 1.md"} | {then}
    bench.full()
    assert bench.indexed() == before - {"folder/Note 1.md"} | {"far/Note.md"}


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
    bench.reconciler.order(rebuild=True, confirmed=False)
    bench.reconciler._turn()
    bench.full()
    assert sizes == [BATCH_NOTES, FIRST_BATCH]


def test_an_index_that_a_killed_agent_was_building_is_removed(bench: Bench) -> None:
    half = Path(State(str(bench.vault)).folder, "gen-half")
    half.mkdir()
    bench.reconciler._close()
    bench.full()
    assert not half.exists()
