"""A write lands whole or not at all, never over somebody else's words, also when it is killed."""

import errno
import os
import stat
from pathlib import Path

import pytest

from tests.conftest import disk_full, fill
from tests.kill_points import kill_everywhere
from vaultmem.errors import NoteChangedError, NoteNotFoundError, VaultmemError
from vaultmem.notes.frontmatter_edit import set_property
from vaultmem.vault import moves
from vaultmem.vault import write as write_module
from vaultmem.vault.moves import sweep
from vaultmem.vault.write import change, create

OLD = b"---\nstatus: open\n---\nold words\n"


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    return fill(tmp_path / "vault", {"n.md": OLD})


def done(data: bytes) -> bytes:
    return set_property(data.decode(), "status", "done").encode()


NEW = done(OLD)


def everything(folder: Path) -> dict[str, bytes]:
    """All files below a folder, hidden ones too."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


# --- The plain way


def test_change(vault: Path) -> None:
    note = vault / "n.md"
    note.chmod(0o640)
    inode = note.stat().st_ino
    assert change(str(vault), "n.md", done)
    assert everything(vault) == {"n.md": NEW}
    assert stat.S_IMODE(note.stat().st_mode) == 0o640
    assert note.stat().st_ino != inode


@pytest.mark.parametrize("code", [errno.ENOSYS, errno.EPERM])
def test_a_drive_without_modes(vault: Path, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    def refuse(*_: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "chmod", refuse)
    monkeypatch.setattr(os, "chown", refuse)
    assert change(str(vault), "n.md", done)
    assert everything(vault) == {"n.md": NEW}


def test_nothing_is_touched_when_nothing_differs(vault: Path) -> None:
    before = (vault / "n.md").stat()
    assert not change(str(vault), "n.md", lambda data: data)
    after = (vault / "n.md").stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


# --- Where it must not write


@pytest.mark.parametrize("path", ["gone.md", "gone/n.md", "folder", "pipe.md", "", "dangling.md"])
def test_changing_what_is_not_a_note_is_refused(vault: Path, path: str) -> None:
    (vault / "folder").mkdir()
    os.mkfifo(vault / "pipe.md")
    (vault / "dangling.md").symlink_to("nowhere.md")
    with pytest.raises(NoteNotFoundError):
        change(str(vault), path, done)


@pytest.mark.parametrize("path", ["out.md", "away/out.md", "../out.md", "folder/../../out.md"])
def test_never_out_of_the_vault(vault: Path, path: str) -> None:
    outside = vault.parent / "out.md"
    outside.write_bytes(OLD)
    (vault / "out.md").symlink_to(outside)
    (vault / "away").symlink_to(vault.parent)
    (vault / "folder").mkdir()
    with pytest.raises(VaultmemError):
        change(str(vault), path, done)
    with pytest.raises(VaultmemError):
        create(str(vault), path, b"x")
    if "/" in path:
        with pytest.raises(VaultmemError):
            create(str(vault), path.replace("out", "fresh"), b"x")
    assert outside.read_bytes() == OLD
    assert not (vault.parent / "fresh.md").exists()


def test_a_link_inside_the_vault_is_followed(vault: Path) -> None:
    (vault / "sub").mkdir()
    (vault / "sub" / "link.md").symlink_to("../n.md")
    change(str(vault), "sub/link.md", done)
    assert (vault / "sub" / "link.md").is_symlink()
    assert (vault / "n.md").read_bytes() == NEW
    assert sorted(os.listdir(vault / "sub")) == ["link.md"]


@pytest.mark.parametrize("new", [b"", b"short", OLD + b"more", b"x" * len(OLD)])
def test_hard_links_stay_together(vault: Path, new: bytes) -> None:
    os.link(vault / "n.md", vault / "twin.md")
    assert change(str(vault), "n.md", lambda _: new)
    assert everything(vault) == {"n.md": new, "twin.md": new}
    assert (vault / "n.md").stat().st_ino == (vault / "twin.md").stat().st_ino


def test_read_only_notes_are_left_alone(vault: Path) -> None:
    (vault / "n.md").chmod(0o444)
    with pytest.raises(VaultmemError, match="read-only"):
        change(str(vault), "n.md", done)
    assert everything(vault) == {"n.md": OLD}


def test_a_full_disk_leaves_nothing_behind(vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write_module, "write_all", disk_full)
    with pytest.raises(VaultmemError, match="No space left"):
        change(str(vault), "n.md", done)
    with pytest.raises(VaultmemError, match="No space left"):
        create(str(vault), "new.md", b"x")
    assert everything(vault) == {"n.md": OLD}


# --- Beside an editor


@pytest.mark.parametrize("times", [1, 2])
def test_an_editor_that_writes_meanwhile_keeps_its_words(vault: Path, times: int) -> None:
    saves = iter(range(times))

    def edit(data: bytes) -> bytes:
        number = next(saves, None)
        if number is not None:
            (vault / "n.md").write_bytes(OLD + b"save %d\n" % number)
        return done(data)

    change(str(vault), "n.md", edit)
    assert everything(vault) == {"n.md": NEW + b"save %d\n" % (times - 1)}


@pytest.mark.parametrize("by_rename", [False, True])
def test_after_three_tries_the_editor_has_won(vault: Path, by_rename: bool) -> None:
    calls: list[bytes] = []

    def edit(data: bytes) -> bytes:
        calls.append(data)
        saved = OLD + b"save %d\n" % len(calls)
        if by_rename:
            (vault / ".editor").write_bytes(saved)
            os.replace(vault / ".editor", vault / "n.md")
        else:
            (vault / "n.md").write_bytes(saved)
        return done(data)

    with pytest.raises(NoteChangedError, match=r"n\.md"):
        change(str(vault), "n.md", edit)
    assert len(calls) == 3
    assert everything(vault) == {"n.md": OLD + b"save 3\n"}


@pytest.fixture(params=["exchanged", "renamed over"])
def swap(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """How the new file takes the note's place: in one step for both, where the system can do that."""
    if request.param == "renamed over":
        monkeypatch.setattr(moves, "_system_rename", lambda: None)
    return str(request.param)


@pytest.mark.usefixtures("swap")
def test_an_editor_with_the_displaced_file(vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It opened the note before our rename and writes after it: its words must not be lost."""
    editor = os.open(vault / "n.md", os.O_WRONLY)
    real = write_module.flush_names
    saves: list[str] = []

    def late(folder: str) -> None:
        real(folder)
        if not saves:
            saves.append(folder)
            os.ftruncate(editor, 0)
            os.write(editor, OLD + b"late words\n")
            os.close(editor)

    monkeypatch.setattr(write_module, "flush_names", late)
    change(str(vault), "n.md", done)
    assert everything(vault) == {"n.md": NEW + b"late words\n"}


def test_an_editor_that_renames_its_own_file_there_in_the_last_moment(
    vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between our last look and the swap: what it has put there comes back, and is edited like any other."""
    real = write_module.exchange
    saves: list[str] = []

    def late(temp: str, target: str) -> bool:
        if not saves:
            saves.append(target)
            (vault / "saved").write_bytes(OLD + b"just saved\n")
            os.replace(vault / "saved", target)
        return real(temp, target)

    monkeypatch.setattr(write_module, "exchange", late)
    change(str(vault), "n.md", done)
    assert everything(vault) == {"n.md": NEW + b"just saved\n"}


# --- New notes


def test_create(vault: Path) -> None:
    create(str(vault), "a/b/计划.md", b"x\n")
    note = vault / "a" / "b" / "计划.md"
    assert everything(vault) == {"n.md": OLD, "a/b/计划.md": b"x\n"}
    assert note.stat().st_nlink == 1
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE(note.stat().st_mode) == 0o666 & ~mask


@pytest.mark.parametrize("path", ["n.md", "caf\xe9.md", "dangling.md"])
def test_create_never_overwrites(vault: Path, path: str) -> None:
    (vault / "cafe\u0301.md").write_bytes(OLD)
    (vault / "dangling.md").symlink_to("nowhere.md")
    before = everything(vault)
    with pytest.raises(NoteChangedError, match="already exists"):
        create(str(vault), path, b"x")
    assert everything(vault) == before


@pytest.mark.usefixtures("swap")
def test_create_loses_a_race(vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = write_module.take_name

    def late(source: str, target: str) -> None:
        Path(target).write_bytes(b"theirs")
        real(source, target)

    monkeypatch.setattr(write_module, "take_name", late)
    with pytest.raises(NoteChangedError):
        create(str(vault), "new.md", b"ours")
    assert everything(vault) == {"n.md": OLD, "new.md": b"theirs"}


@pytest.mark.parametrize(
    "path", ["", "/x.md", "a//x.md", "a/../x.md", "x.md/", "a\0.md", "n.md/x.md"]
)
def test_create_refuses_odd_paths(vault: Path, path: str) -> None:
    with pytest.raises(VaultmemError):
        create(str(vault), path, b"x")
    assert everything(vault) == {"n.md": OLD}


# --- The knife


def test_killed_while_changing(vault: Path) -> None:
    seen: set[bytes] = set()

    def check() -> None:
        assert (vault / "n.md").read_bytes() in {OLD, NEW}
        sweep(str(vault), older=0.0)
        assert set(everything(vault)) == {"n.md"}
        seen.add((vault / "n.md").read_bytes())
        (vault / "n.md").write_bytes(OLD)

    points = kill_everywhere(lambda: change(str(vault), "n.md", done), check)
    assert points > 15
    assert seen == {OLD, NEW}
    assert everything(vault) == {"n.md": NEW}


@pytest.mark.parametrize("in_one_step", [True, False])
def test_killed_while_creating(
    vault: Path, monkeypatch: pytest.MonkeyPatch, in_one_step: bool
) -> None:
    if not in_one_step:
        monkeypatch.setattr(moves, "_system_rename", lambda: None)

    def check() -> None:
        sweep(str(vault), older=0.0)
        left = everything(vault)
        new = left.pop("new.md", None)
        assert new in (None, b"new words") or (not in_one_step and not new)
        assert left == {"n.md": OLD}
        (vault / "new.md").unlink(missing_ok=True)

    points = kill_everywhere(lambda: create(str(vault), "new.md", b"new words"), check)
    assert points > 6
    assert everything(vault) == {"n.md": OLD, "new.md": b"new words"}


def test_only_our_old_temporary_files_are_swept(vault: Path) -> None:
    for name in (".vaultmem-1-a-1.tmp", ".vaultmem-1-a-2.tmp", ".vaultmem-notes.md", "x.tmp"):
        (vault / name).write_bytes(b"")
    os.utime(vault / ".vaultmem-1-a-1.tmp", (0, 0))
    sweep(str(vault))
    assert sorted(os.listdir(vault)) == [
        ".vaultmem-1-a-2.tmp",
        ".vaultmem-notes.md",
        "n.md",
        "x.tmp",
    ]
    sweep(str(vault / "none"))


def test_the_last_look_is_after_preparing(vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An editor that saves while the new bytes are written is seen before the note is touched."""
    found: list[bytes] = []
    saves = iter([b"saved\n"])
    real = write_module._write_new

    def slow(path: str, data: bytes) -> None:
        found.append(data)
        if (save := next(saves, None)) is not None:
            (vault / "n.md").write_bytes(OLD + save)
        real(path, data)

    monkeypatch.setattr(write_module, "_write_new", slow)
    monkeypatch.setattr(write_module, "_late_text", lambda *_: None)
    change(str(vault), "n.md", done)
    assert found == [NEW, NEW + b"saved\n"]
    assert everything(vault) == {"n.md": NEW + b"saved\n"}
