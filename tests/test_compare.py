"""When a folder has lost too many files to be believed."""

import os
from contextlib import closing, nullcontext
from pathlib import Path

import pytest

from tests.conftest import fill
from tests.index_dump import other_state, synced
from vaultmem import Vault
from vaultmem.errors import VaultGoneError
from vaultmem.index.compare import Diff, Place, check_vanished, missing
from vaultmem.index.sync import open_indexer
from vaultmem.vault.walk import Entry


def diff(stay: int, gone: list[str], new: list[str]) -> Diff:
    known = {f"stay/{n}.md": n for n in range(stay)}
    put = [Entry(path, 1, 1, 1, path) for path in new]
    return Diff(put, [], {1000 + n: path for n, path in enumerate(gone)}, known, {}, {})


def names(count: int, folder: str = "a") -> list[str]:
    return [f"{folder}/note {n}.md" for n in range(count)]


@pytest.mark.parametrize(
    ("stay", "gone", "new", "believed"),
    [
        (79, names(21), [], False),  # 21 of 100: more than 20 notes and more than a fifth
        (0, names(3), [], False),  # a small vault that is empty all at once
        (60, names(40), names(10, "b"), False),  # 10 moved, 30 lost
        (100, [], [], True),
        (10, names(20), [], True),  # not more than 20 notes
        (200, names(40), [], True),  # not more than a fifth
        (0, names(50), names(50, "b"), True),  # a folder was renamed
        (0, names(1), ["b/other.md"], True),
    ],
)
def test_too_much_that_is_gone_at_once_is_not_believed(
    stay: int, gone: list[str], new: list[str], believed: bool
) -> None:
    with nullcontext() if believed else pytest.raises(VaultGoneError, match="confirm-removals"):
        check_vanished("/vault", diff(stay, gone, new))


@pytest.mark.parametrize("how", ["renamed over it", "written into it"])
def test_one_of_the_same_size_and_time_differs(vault: Path, tmp_path: Path, how: str) -> None:
    note = vault / "Note.md"
    note.write_text("apple")
    os.utime(note, (1e9, 1e9))  # long ago, so freshness is no reason to read it
    with other_state(tmp_path / "state"):
        synced(vault)
        before = note.stat()
        if how == "renamed over it":
            (vault / "other.md").write_text("grape")
            os.utime(vault / "other.md", (1e9, 1e9))
            os.replace(vault / "other.md", note)
            assert note.stat().st_ino != before.st_ino
        else:
            note.write_text("grape")
            os.utime(note, (1e9, 1e9))
            assert note.stat().st_ino == before.st_ino
        assert (note.stat().st_size, note.stat().st_mtime_ns) == (
            before.st_size,
            before.st_mtime_ns,
        )
        assert synced(vault).changed == 1


def test_a_large_folder_whose_new_place_was_read_first_is_not_lost(vault: Path) -> None:
    synced(fill(vault, {f"Old/{at}.md": f"note {at}" for at in range(30)}))
    opened = Vault(str(vault))
    with opened.state.lock():
        indexer = open_indexer(opened.state, opened.config)
        for at in range(25):  # a sync program writes them anew under other names
            fill(vault, {f"New/and {at}.md": f"note {at}"})
            (vault / "Old" / f"{at}.md").unlink()
        new = indexer.differences(Place(folders=frozenset(["New"])))
        indexer.apply(new)
        gone = indexer.differences(Place(folders=frozenset(["Old"])))
        assert len(gone.gone) == 25
        assert missing(gone) == []
        indexer.apply(gone)
        for at in range(25):
            (vault / "New" / f"and {at}.md").unlink()
        assert len(missing(indexer.differences())) == 25, "now they are nowhere"
        indexer.close()


@pytest.mark.usefixtures("never_settled")
def test_only_notes_read_soon_after_a_change_are_looked_at_again(vault: Path) -> None:
    (vault / "Settled.md").write_text("old")
    os.utime(vault / "Settled.md", (1_700_000_000, 1_700_000_000))
    (vault / "Fresh.md").write_text("new")
    opened = Vault(str(vault))
    with opened.state.lock(), closing(open_indexer(opened.state, opened.config)) as indexer:
        indexer.run(confirmed=False)
        assert indexer.fresh_paths == {"Fresh.md"}
