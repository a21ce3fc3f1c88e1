"""A file moves completely and at once, never over another, never out of the vault, also when killed."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import disk_full, fill
from tests.kill_points import kill_everywhere
from vaultmem.errors import NoteChangedError, NoteNotFoundError, VaultmemError
from vaultmem.vault import moves
from vaultmem.vault import moves as move_module
from vaultmem.vault.moves import move
from vaultmem.vault.write import create

WORDS = b"words\r\n\0 of mine"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return fill(tmp_path / "vault", {"n.md": WORDS})


@pytest.fixture(params=["one step", "over an empty file"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways of moving: file systems with the exclusive rename, and those without."""
    if request.param != "one step":
        monkeypatch.setattr(moves, "_system_rename", lambda: None)
    return str(request.param)


def everything(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("target", ["m.md", "a/b/n.md", "a/\u8ba1\u5212 \"x\".md", "N.md", "a\nb.md", "\udcff.md"])  # fmt: skip
def test_move_and_back(folder: Path, target: str) -> None:
    inode = (folder / "n.md").stat().st_ino
    (folder / "n.md").chmod(0o640)
    move(str(folder), "n.md", target)
    assert everything(folder) == {target: WORDS}
    assert (folder / target).stat().st_ino == inode
    assert (folder / target).stat().st_mode & 0o777 == 0o640
    move(str(folder), target, "n.md")
    assert everything(folder) == {"n.md": WORDS}


@pytest.mark.usefixtures("way")
def test_never_over_a_file_that_is_there(folder: Path) -> None:
    (folder / "m.md").write_bytes(b"theirs")
    (folder / "dangling.md").symlink_to("nowhere")
    (folder / "twin.md").hardlink_to(folder / "n.md")
    (folder / "e.md").write_bytes(b"")
    (folder / "cafe\u0301.md").write_bytes(b"theirs")
    before = everything(folder)
    for target in ("m.md", "dangling.md", "twin.md", "e.md", "caf\xe9.md"):
        with pytest.raises(NoteChangedError, match="already exists"):
            move(str(folder), "n.md", target)
    assert everything(folder) == before


def test_a_file_at_the_last_moment(way: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = move_module.new_path

    def late(root: str, path: str) -> str:
        place = real(root, path)
        Path(place).write_bytes(b"theirs")
        return place

    monkeypatch.setattr(move_module, "new_path", late)
    with pytest.raises(NoteChangedError):
        move(str(folder), "n.md", "m.md")
    assert everything(folder) == {"n.md": WORDS, "m.md": b"theirs"}, way


def test_what_comes_into_the_held_name_stays(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moves, "_system_rename", lambda: None)
    real = move_module._expect_empty

    def late(held: int, place: str) -> None:
        Path(place).write_bytes(b"theirs")
        real(held, place)

    monkeypatch.setattr(move_module, "_expect_empty", late)
    with pytest.raises(NoteChangedError):
        move(str(folder), "n.md", "m.md")
    assert everything(folder) == {"n.md": WORDS, "m.md": b"theirs"}


def test_a_file_in_the_place_of_a_folder_is_named(folder: Path) -> None:
    (folder / "archive").write_bytes(b"mine")
    for work in (
        lambda: move(str(folder), "n.md", "archive/n.md"),
        lambda: create(str(folder), "archive/b/m.md", b"x"),
    ):
        with pytest.raises(VaultmemError, match=r"^archive is a file in the place of a folder"):
            work()
    assert everything(folder) == {"n.md": WORDS, "archive": b"mine"}


@pytest.mark.parametrize("path", ["gone.md", "gone/n.md", "folder", "", "loop.md"])
def test_moving_what_is_not_a_note_changes_nothing(folder: Path, path: str) -> None:
    (folder / "folder").mkdir()
    (folder / "loop.md").symlink_to("loop.md")
    with pytest.raises(VaultmemError):
        move(str(folder), path, "m.md")
    assert everything(folder) == {"n.md": WORDS}


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize(
    ("path", "target"),
    [
        ("n.md", "../n.md"), ("n.md", "away/n.md"), ("n.md", "away/new/n.md"), ("n.md", "/n.md"), ("n.md", "a//n.md"),
        ("n.md", "n.md/x.md"), ("n.md", "dangling/x.md"), ("away/out.md", "in.md"), ("../out.md", "in.md"),
        ("link.md", "in.md"), ("outer.md", "in.md"), ("n.md", "a\0.md"),
    ],
)  # fmt: skip
def test_never_out_of_the_vault_and_never_a_link(folder: Path, path: str, target: str) -> None:
    out = folder.parent / "out.md"
    out.write_bytes(b"out")
    (folder / "away").symlink_to(folder.parent)
    (folder / "dangling").symlink_to(folder.parent / "nowhere")
    (folder / "link.md").symlink_to("n.md")
    (folder / "outer.md").symlink_to(out)
    before = everything(folder.parent)
    with pytest.raises(VaultmemError):
        move(str(folder), path, target)
    assert everything(folder.parent) == before


def test_a_drive_that_takes_both_spellings_for_one_name(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on macOS, where the new spelling finds the file itself, which is no reason to refuse."""
    real = os.lstat

    def folding(path: str, **given: int) -> os.stat_result:
        return real(path.replace("N.md", "n.md") if isinstance(path, str) else path, **given)

    monkeypatch.setattr(os, "lstat", folding)
    move(str(folder), "n.md", "N.md")
    assert os.listdir(folder) == ["N.md"]


@pytest.mark.parametrize("code", [errno.ENOSYS, errno.EINVAL, errno.EPERM])
def test_a_system_that_cannot(folder: Path, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    monkeypatch.setattr(moves, "_system_rename", lambda: lambda *_: code)
    move(str(folder), "n.md", "m.md")
    assert everything(folder) == {"m.md": WORDS}


def test_a_full_disk_leaves_the_file_there(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moves, "_system_rename", lambda: lambda *_: errno.ENOSPC)
    with pytest.raises(VaultmemError, match="cannot be moved"):
        move(str(folder), "n.md", "m.md")
    monkeypatch.setattr(moves, "_system_rename", lambda: None)

    monkeypatch.setattr(os, "replace", _unless(os.replace, disk_full, "n.md"))
    with pytest.raises(VaultmemError, match="No space left"):
        move(str(folder), "n.md", "m.md")
    assert everything(folder) == {"n.md": WORDS}


def _unless(
    real: Callable[..., None], instead: Callable[..., None], name: str
) -> Callable[..., None]:
    return lambda one, two: (instead if one.endswith(name) else real)(one, two)


def test_killed_at_any_moment(way: str, folder: Path) -> None:
    """The words are under the old name or the new one; meanwhile the new one may be an empty file."""
    seen = set()

    def check() -> None:
        found = {path: data for path, data in everything(folder).items() if data}
        assert found in ({"n.md": WORDS}, {"a/m.md": WORDS})
        assert way != "one step" or found == everything(folder)
        seen.update(found)
        if "a/m.md" in found:
            (folder / "a" / "m.md").rename(folder / "n.md")
        (folder / "a" / "m.md").unlink(missing_ok=True)

    points = kill_everywhere(lambda: move(str(folder), "n.md", "a/m.md"), check)
    assert points > (3 if way == "one step" else 8)
    assert seen == {"n.md", "a/m.md"}
    assert everything(folder) == {"a/m.md": WORDS}


@pytest.mark.usefixtures("way")
def test_gone_at_the_last_moment(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = move_module.new_path

    def late(root: str, path: str) -> str:
        (folder / "n.md").unlink()
        return real(root, path)

    monkeypatch.setattr(move_module, "new_path", late)
    with pytest.raises(NoteNotFoundError):
        move(str(folder), "n.md", "m.md")
    assert everything(folder) == {}
