"""A write lands whole or not at all, never over somebody else's words, also when it is killed."""

from __future__ import annotations

import os
import signal
import stat
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultmem.errors import (
    FrontMatterError,
    NoteChangedError,
    NoteNotFoundError,
    StateError,
    VaultmemError,
)
from vaultmem.vault import moves
from vaultmem.vault import write as write_module
from vaultmem.vault.files import digest
from vaultmem.vault.frontmatter_edit import set_property
from vaultmem.vault.journal import Intent, is_torn, recorded, recover
from vaultmem.vault.write import change, create, replace

if TYPE_CHECKING:
    import contextlib
    from collections.abc import Callable

OLD = b"---\nstatus: open\n---\nold words\n"


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    folder = tmp_path / "vault"
    folder.mkdir()
    (folder / "n.md").write_bytes(OLD)
    return folder


@pytest.fixture
def journal(tmp_path: Path) -> str:
    return str(tmp_path / "state" / "journal")


def done(data: bytes) -> bytes:
    return set_property(data, "status", "done")


NEW = done(OLD)


def everything(folder: Path) -> dict[str, bytes]:
    """All files below a folder, hidden ones too."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


# --- The plain way


def test_change(vault: Path, journal: str) -> None:
    note = vault / "n.md"
    note.chmod(0o640)
    inode = note.stat().st_ino
    written = change(str(vault), "n.md", done, journal)
    assert everything(vault) == {"n.md": NEW}
    assert written == ("n.md", digest(NEW), len(NEW), note.stat().st_mtime_ns, True)
    assert stat.S_IMODE(note.stat().st_mode) == 0o640
    assert note.stat().st_ino != inode
    assert os.listdir(journal) == []
    assert stat.S_IMODE(os.stat(journal).st_mode) == 0o700


def test_nothing_is_touched_when_nothing_differs(vault: Path, journal: str) -> None:
    before = (vault / "n.md").stat()
    written = change(str(vault), "n.md", lambda data: data, journal)
    assert not written.changed
    assert written.hash == digest(OLD)
    after = (vault / "n.md").stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)
    assert not os.path.exists(journal)


def test_a_note_deep_down_with_an_accent_in_another_form(vault: Path, journal: str) -> None:
    (vault / "cafe\u0301").mkdir()
    (vault / "cafe\u0301" / "u\u0308.md").write_bytes(OLD)
    written = change(str(vault), "caf\xe9/\xfc.md", done, journal)
    assert written.path == "caf\xe9/\xfc.md"
    assert everything(vault / "cafe\u0301") == {"u\u0308.md": NEW}


def test_replace_compares_first(vault: Path, journal: str) -> None:
    root = str(vault)
    replace(root, "n.md", b"one", digest(OLD), journal)
    with pytest.raises(NoteChangedError, match=r"n\.md"):
        replace(root, "n.md", b"two", digest(OLD), journal)
    assert not replace(root, "n.md", b"one", digest(OLD), journal).changed
    assert everything(vault) == {"n.md": b"one"}


def test_what_the_edit_raises_comes_through(vault: Path, journal: str) -> None:
    (vault / "n.md").write_bytes(b"---\na: 1\na: 2\n---\n")
    with pytest.raises(FrontMatterError):
        change(str(vault), "n.md", done, journal)
    assert everything(vault) == {"n.md": b"---\na: 1\na: 2\n---\n"}


# --- Where it must not write


@pytest.mark.parametrize("path", ["gone.md", "gone/n.md", "folder", "pipe.md", "", "dangling.md"])
def test_what_is_not_there(vault: Path, journal: str, path: str) -> None:
    (vault / "folder").mkdir()
    os.mkfifo(vault / "pipe.md")
    (vault / "dangling.md").symlink_to("nowhere.md")
    with pytest.raises(NoteNotFoundError):
        change(str(vault), path, done, journal)


@pytest.mark.parametrize("path", ["out.md", "away/out.md", "../out.md", "folder/../../out.md"])
def test_never_out_of_the_vault(vault: Path, journal: str, path: str) -> None:
    outside = vault.parent / "out.md"
    outside.write_bytes(OLD)
    (vault / "out.md").symlink_to(outside)
    (vault / "away").symlink_to(vault.parent)
    (vault / "folder").mkdir()
    with pytest.raises(VaultmemError):
        change(str(vault), path, done, journal)
    with pytest.raises(VaultmemError):
        create(str(vault), path, b"x", journal)
    if "/" in path:
        with pytest.raises(VaultmemError):
            create(str(vault), path.replace("out", "fresh"), b"x", journal)
    assert outside.read_bytes() == OLD
    assert not (vault.parent / "fresh.md").exists()


def test_a_link_inside_the_vault_is_followed(vault: Path, journal: str) -> None:
    (vault / "sub").mkdir()
    (vault / "sub" / "link.md").symlink_to("../n.md")
    change(str(vault), "sub/link.md", done, journal)
    assert (vault / "sub" / "link.md").is_symlink()
    assert (vault / "n.md").read_bytes() == NEW
    assert sorted(os.listdir(vault / "sub")) == ["link.md"]


def test_a_vault_that_is_a_link_itself(vault: Path, journal: str) -> None:
    door = vault.parent / "door"
    door.symlink_to(vault)
    change(str(door), "n.md", done, journal)
    assert everything(vault) == {"n.md": NEW}


@pytest.mark.parametrize("new", [b"", b"short", OLD + b"more", b"x" * len(OLD)])
def test_hard_links_stay_together(vault: Path, journal: str, new: bytes) -> None:
    os.link(vault / "n.md", vault / "twin.md")
    written = change(str(vault), "n.md", lambda _: new, journal)
    assert written.hash == digest(new)
    assert everything(vault) == {"n.md": new, "twin.md": new}
    assert (vault / "n.md").stat().st_ino == (vault / "twin.md").stat().st_ino
    assert os.listdir(journal) == []


def test_read_only_notes_are_left_alone(vault: Path, journal: str) -> None:
    (vault / "n.md").chmod(0o444)
    with pytest.raises(VaultmemError, match="read-only"):
        change(str(vault), "n.md", done, journal)
    assert everything(vault) == {"n.md": OLD}


def test_a_full_disk_leaves_nothing_behind(
    vault: Path, journal: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(write_module, "write_all", full)
    with pytest.raises(VaultmemError, match="No space left"):
        change(str(vault), "n.md", done, journal)
    with pytest.raises(VaultmemError, match="No space left"):
        create(str(vault), "new.md", b"x", journal)
    assert everything(vault) == {"n.md": OLD}
    assert os.listdir(journal) == []


def test_no_journal_no_write(vault: Path) -> None:
    with pytest.raises(StateError):
        change(str(vault), "n.md", done, str(vault / "n.md" / "journal"))
    assert everything(vault) == {"n.md": OLD}


# --- Beside an editor


@pytest.mark.parametrize("times", [1, 2])
def test_an_editor_that_writes_meanwhile_keeps_its_words(
    vault: Path, journal: str, times: int
) -> None:
    saves = iter(range(times))

    def edit(data: bytes) -> bytes:
        number = next(saves, None)
        if number is not None:
            (vault / "n.md").write_bytes(OLD + b"save %d\n" % number)
        return done(data)

    change(str(vault), "n.md", edit, journal)
    assert everything(vault) == {"n.md": NEW + b"save %d\n" % (times - 1)}


@pytest.mark.parametrize("by_rename", [False, True])
def test_after_three_tries_the_editor_has_won(vault: Path, journal: str, by_rename: bool) -> None:
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
        change(str(vault), "n.md", edit, journal)
    assert len(calls) == 3
    assert everything(vault) == {"n.md": OLD + b"save 3\n"}
    assert os.listdir(journal) == []


@pytest.mark.parametrize("hard_link", [False, True])
def test_the_last_look_comes_after_the_preparations(
    vault: Path, journal: str, monkeypatch: pytest.MonkeyPatch, hard_link: bool
) -> None:
    """An editor that saves while the journal is written is seen before the note is touched."""
    if hard_link:
        os.link(vault / "n.md", vault / "twin.md")
    found: list[bytes] = []
    saves = iter([b"saved\n"])

    def slow(folder: str, intent: Intent) -> contextlib.AbstractContextManager[None]:
        found.append(intent.old)
        if (save := next(saves, None)) is not None:
            (vault / "n.md").write_bytes(OLD + save)
        return recorded(folder, intent)

    monkeypatch.setattr(write_module, "recorded", slow)
    monkeypatch.setattr(write_module, "_late_text", lambda *_: None)
    change(str(vault), "n.md", done, journal)
    assert found == [OLD, OLD + b"saved\n"]
    assert (vault / "n.md").read_bytes() == NEW + b"saved\n"


def test_a_note_that_vanishes_meanwhile(vault: Path, journal: str) -> None:
    def edit(data: bytes) -> bytes:
        (vault / "n.md").unlink()
        return done(data)

    with pytest.raises(VaultmemError):
        change(str(vault), "n.md", edit, journal)
    assert everything(vault) == {}


@pytest.fixture(params=["exchanged", "renamed over"])
def swap(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """How the new file takes the note's place: in one step for both, where the system can do that."""
    if request.param == "renamed over":
        monkeypatch.setattr(moves, "_system_rename", lambda: None)
    return str(request.param)


@pytest.mark.usefixtures("swap")
def test_an_editor_that_saves_into_the_displaced_file(
    vault: Path, journal: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It opened the note before our rename and writes after it: its words must not be lost."""
    editor = os.open(vault / "n.md", os.O_WRONLY)
    real = write_module.fsync_folder
    saves: list[str] = []

    def late(folder: str) -> None:
        real(folder)
        if not saves:
            saves.append(folder)
            os.ftruncate(editor, 0)
            os.write(editor, OLD + b"late words\n")
            os.close(editor)

    monkeypatch.setattr(write_module, "fsync_folder", late)
    change(str(vault), "n.md", done, journal)
    assert everything(vault) == {"n.md": NEW + b"late words\n"}


def test_an_editor_that_renames_its_own_file_there_in_the_last_moment(
    vault: Path, journal: str, monkeypatch: pytest.MonkeyPatch
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
    change(str(vault), "n.md", done, journal)
    assert everything(vault) == {"n.md": NEW + b"just saved\n"}


# --- New notes


def test_create(vault: Path, journal: str) -> None:
    written = create(str(vault), "a/b/计划.md", b"x\n", journal)
    assert written == ("a/b/计划.md", digest(b"x\n"), 2, written.mtime_ns, True)
    note = vault / "a" / "b" / "计划.md"
    assert everything(vault) == {"n.md": OLD, "a/b/计划.md": b"x\n"}
    assert note.stat().st_nlink == 1
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE(note.stat().st_mode) == 0o666 & ~mask
    assert os.listdir(journal) == []


@pytest.mark.parametrize("path", ["n.md", "caf\xe9.md", "dangling.md"])
def test_create_never_overwrites(vault: Path, journal: str, path: str) -> None:
    (vault / "cafe\u0301.md").write_bytes(OLD)
    (vault / "dangling.md").symlink_to("nowhere.md")
    before = everything(vault)
    with pytest.raises(NoteChangedError, match="exists already"):
        create(str(vault), path, b"x", journal)
    assert everything(vault) == before


def test_create_loses_a_race(vault: Path, journal: str, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.link

    def late(source: str, target: str, **options: bool) -> None:
        Path(target).write_bytes(b"theirs")
        real(source, target, **options)

    monkeypatch.setattr(os, "link", late)
    with pytest.raises(NoteChangedError):
        create(str(vault), "new.md", b"ours", journal)
    assert everything(vault) == {"n.md": OLD, "new.md": b"theirs"}


def test_create_without_hard_links(
    vault: Path, journal: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unable(*_: object, **__: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", unable)
    create(str(vault), "new.md", b"ours", journal)
    assert everything(vault) == {"n.md": OLD, "new.md": b"ours"}
    with pytest.raises(NoteChangedError):
        create(str(vault), "new.md", b"again", journal)


def test_create_uses_the_folder_that_is_there(vault: Path, journal: str) -> None:
    (vault / "cafe\u0301").mkdir()
    create(str(vault), "caf\xe9/x.md", b"x", journal)
    assert os.listdir(vault / "cafe\u0301") == ["x.md"]


@pytest.mark.parametrize(
    "path", ["", "/x.md", "a//x.md", "a/../x.md", "x.md/", "a\0.md", "n.md/x.md"]
)
def test_create_refuses_odd_paths(vault: Path, journal: str, path: str) -> None:
    with pytest.raises(VaultmemError):
        create(str(vault), path, b"x", journal)
    assert everything(vault) == {"n.md": OLD}


# --- The knife

CALLS = ("open", "write", "fsync", "replace", "link", "unlink", "chmod", "ftruncate", "close")


def killed_at(number: int, work: Callable[[], object]) -> bool:
    """Do the work in a child that dies at its n-th system call, in the middle of a write.

    Whether it died; False means that the work had fewer calls and is done.
    """
    child = os.fork()
    if child:
        return os.WIFSIGNALED(os.waitpid(child, 0)[1])
    left = number

    def armed(name: str, real: Callable[..., object]) -> Callable[..., object]:
        def call(*args: object, **options: object) -> object:
            nonlocal left
            left -= 1
            if left == 0:
                if name == "write":
                    real(args[0], args[1][: len(args[1]) // 2])  # type: ignore[index,arg-type]
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*args, **options)

        return call

    try:
        for name in CALLS:
            setattr(os, name, armed(name, getattr(os, name)))
        work()
    finally:
        os._exit(0)


def kill_everywhere(work: Callable[[], object], check: Callable[[], None]) -> int:
    """Kill the work at each of its calls in turn; `check` sees what is left and cleans up."""
    for number in range(1, 200):
        if not killed_at(number, work):
            return number - 1
        check()
    raise AssertionError("the work never ends")


def test_killed_while_changing(vault: Path, journal: str) -> None:
    seen: set[bytes] = set()

    def check() -> None:
        assert (vault / "n.md").read_bytes() in {OLD, NEW}, "before any healing"
        recover(journal)
        assert set(everything(vault)) == {"n.md"}
        assert not os.path.exists(journal) or os.listdir(journal) == []
        assert recover(journal) == []
        seen.add((vault / "n.md").read_bytes())
        (vault / "n.md").write_bytes(OLD)

    points = kill_everywhere(lambda: change(str(vault), "n.md", done, journal), check)
    assert points > 15
    assert seen == {OLD, NEW}
    assert everything(vault) == {"n.md": NEW}


@pytest.mark.parametrize("new", [b"short", OLD[:20] + b"other end, and longer than before " * 3])
def test_killed_while_writing_in_place(vault: Path, journal: str, new: bytes) -> None:
    os.link(vault / "n.md", vault / "twin.md")
    torn = 0

    def check() -> None:
        nonlocal torn
        found = (vault / "n.md").read_bytes()
        said = recover(journal)
        assert bool(said) == (found not in {OLD, new})
        torn += bool(said)
        assert (vault / "n.md").read_bytes() in {OLD, new}
        assert set(everything(vault)) == {"n.md", "twin.md"}
        assert not os.path.exists(journal) or os.listdir(journal) == []
        (vault / "n.md").write_bytes(OLD)

    kill_everywhere(lambda: change(str(vault), "n.md", lambda _: new, journal), check)
    assert torn > 0
    assert everything(vault) == {"n.md": new, "twin.md": new}


@pytest.mark.parametrize("hard_links", [True, False])
def test_killed_while_creating(
    vault: Path, journal: str, monkeypatch: pytest.MonkeyPatch, hard_links: bool
) -> None:
    if not hard_links:

        def unable(*_: object, **__: object) -> None:
            raise PermissionError(1, "Operation not permitted")

        monkeypatch.setattr(os, "link", unable)

    def check() -> None:
        recover(journal)
        left = everything(vault)
        assert left in ({"n.md": OLD}, {"n.md": OLD, "new.md": b"new words"})
        assert not os.path.exists(journal) or os.listdir(journal) == []
        (vault / "new.md").unlink(missing_ok=True)

    points = kill_everywhere(lambda: create(str(vault), "new.md", b"new words", journal), check)
    assert points > 10
    assert everything(vault) == {"n.md": OLD, "new.md": b"new words"}


# --- Healing


def test_a_live_writer_is_not_disturbed(vault: Path, journal: str) -> None:
    temp = vault / ".vaultmem-1-1.tmp"
    temp.write_bytes(b"half")
    with recorded(journal, Intent(str(vault / "n.md"), str(temp), OLD)):
        child = os.fork()
        if not child:
            os._exit(len(recover(journal)) or (0 if temp.exists() else 9))
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert len(os.listdir(journal)) == 1
    assert os.listdir(journal) == []


def left_behind(journal: str, intent: Intent) -> None:
    os.makedirs(journal)
    Path(journal, "1-1.record").write_bytes(intent.packed())


def test_old_words_are_kept_when_a_note_was_changed_since(vault: Path, journal: str) -> None:
    left_behind(journal, Intent(str(vault / "n.md"), "", b"old", b"new"))
    said = recover(journal)
    assert len(said) == 1
    assert ".kept" in said[0]
    assert everything(vault) == {"n.md": OLD}
    assert recover(journal) == []
    assert Path(journal, "1-1.record.kept").read_bytes().endswith(b"oldnew")


def test_records_of_an_absent_vault_wait(vault: Path, journal: str) -> None:
    left_behind(journal, Intent(str(vault / "gone" / "n.md"), "", b"old", b"new"))
    assert recover(journal) == []
    assert os.listdir(journal) == ["1-1.record"]
    (vault / "gone").mkdir()
    (vault / "gone" / "n.md").write_bytes(b"nld")
    assert len(recover(journal)) == 1
    assert (vault / "gone" / "n.md").read_bytes() == b"old"
    assert os.listdir(journal) == []


def test_only_our_temporary_files_are_removed(vault: Path, journal: str) -> None:
    left_behind(journal, Intent(str(vault / "n.md"), str(vault / "n.md"), OLD))
    recover(journal)
    assert everything(vault) == {"n.md": OLD}


@pytest.mark.parametrize("data", [b"", b"{}", b"\xff", b"[]\n", b'{"target": 1', OLD])
def test_damaged_records_are_put_aside(journal: str, data: bytes) -> None:
    os.makedirs(journal)
    Path(journal, "1-1.record").write_bytes(data)
    Path(journal, "1-2.record.part").write_bytes(data)
    Path(journal, "unknown").write_bytes(data)
    assert len(recover(journal)) == 1
    assert sorted(os.listdir(journal)) == ["1-1.record.kept", "unknown"]
    assert recover(journal) == []


def test_no_journal_nothing_to_recover(tmp_path: Path) -> None:
    assert recover(str(tmp_path / "none")) == []


@given(st.binary(max_size=30), st.binary(max_size=30), st.integers(0, 30))
def test_every_moment_of_writing_in_place_is_known_as_torn(old: bytes, new: bytes, at: int) -> None:
    at = min(at, len(new))
    assert is_torn(new[:at] + old[at:], old, new)


@given(st.binary(max_size=20), st.binary(max_size=20), st.booleans(), st.text(max_size=20))
def test_records_read_back(old: bytes, new: bytes, fresh: bool, name: str) -> None:
    intent = Intent(f"/v/{name}\udcff.md", "", old, new, fresh)
    assert Intent.unpacked(intent.packed()) == intent
