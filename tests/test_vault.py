"""Any bytes can be read as text, nothing hangs, and no link leads out of the vault, whenever it was created."""

import os
import socket
import subprocess
from contextlib import suppress
from pathlib import Path
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import fill
from vaultmem import Vault, config
from vaultmem.adapter import Folder
from vaultmem.cli import main
from vaultmem.errors import VaultmemError
from vaultmem.vault import files as vault_module
from vaultmem.vault import moves
from vaultmem.vault import write as write_module
from vaultmem.vault.files import MOST_OPEN, Inside, Root, decode, digest, on_disk, open_inside, read
from vaultmem.vault.moves import move
from vaultmem.vault.walk import sqlite_int
from vaultmem.vault.write import change, create


def reading(folder: Path, data: bytes, cap: int = 1000) -> vault_module.Read:
    (folder / "n.md").write_bytes(data)
    return read(str(folder), "n.md", cap)


@pytest.mark.parametrize(
    ("data", "text", "trouble"),
    [
        (b"", "", None),
        (b"a\r\nb\r\n", "a\nb\n", None),
        (b"\xef\xbb\xbf# x", "# x", None),
        ("\ufeffä\r\n".encode("utf-16-le"), "ä\n", None),
        ("\ufeffä\n".encode("utf-16-be"), "ä\n", None),
        ("\ufeff🌲".encode("utf-32-le"), "🌲", None),
        ("\ufeff🌲".encode("utf-32-be"), "🌲", None),
        (b"\xff\xfea\0b", "a\ufffd", "line 1: not valid UTF-16-LE"),
        (b"a\ncaf\xe9\nb", "a\ncaf\ufffd\nb", "line 2: not valid UTF-8"),
        (b"a\n\nb\0c", "a\n\nb\ufffdc", "line 3: a NUL byte; is this a text file?"),
        (b"\xed\xa0\x80", "\ufffd\ufffd\ufffd", "line 1: not valid UTF-8"),
        (b"x\xef\xbb\xbfy", "x\ufeffy", None),
    ],
)
def test_bytes_to_text(tmp_path: Path, data: bytes, text: str, trouble: str | None) -> None:
    found = reading(tmp_path, data)
    assert (found.text, found.trouble) == (text, trouble)
    assert found.hash == digest(data)


@given(st.binary())
def test_any_bytes_become_a_text_that_can_be_stored(data: bytes) -> None:
    text, trouble = decode(data)
    text.encode()
    assert "\0" not in text
    assert "\r\n" not in text
    assert trouble is None or "\n" not in trouble


def test_long_files_are_read_up_to_the_cap(tmp_path: Path) -> None:
    line = "计划计划\n".encode()
    found = reading(tmp_path, line * 1000, cap=1000)
    assert found.size == 13_000
    assert found.text == "计划计划\n" * (1000 // 13)
    assert found.trouble == "0.0 MB long; only the first 0.001 MB are read"
    assert reading(tmp_path, b"x" * 1000, cap=1000).trouble is None
    assert reading(tmp_path, b"x" * 1001, cap=1000).text == "x" * 1000
    assert reading(tmp_path, b"x" * 5_000_000, cap=vault_module.CAP).size == 5_000_000


def test_what_is_no_file_gives_one_clear_line(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.md")
    (tmp_path / "folder.md").mkdir()
    (tmp_path / "secret").write_text("x")
    (tmp_path / "link.md").symlink_to("secret")
    (tmp_path / "loop.md").symlink_to("loop.md")
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(str(tmp_path / "sock.md"))
    said = {
        name: read(str(tmp_path), f"{name}.md")
        for name in ("pipe", "folder", "link", "loop", "sock", "gone", "a\0b", "gone/é", "x" * 300)
    }
    for found in said.values():
        assert found[:4] == ("", "", 0, 0)
        assert found.trouble is not None
        assert found.trouble.startswith("cannot be read: ")
    assert said["pipe"].trouble == "cannot be read: not a regular file"
    assert said["folder"].trouble == "cannot be read: not a regular file"
    assert said["link"].trouble == "cannot be read: a symbolic link"
    assert said["gone"].trouble == "cannot be read: No such file or directory"


def test_a_disk_error_while_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "n.md").write_text("x")
    monkeypatch.setattr(os, "pread", Mock(side_effect=OSError(5, "Input/output error")))
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    assert read(str(tmp_path), "n.md").trouble == "cannot be read: Input/output error"
    if before:
        assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize("times", [1, 2, 9])
def test_a_file_that_changes_while_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    note = tmp_path / "n.md"
    note.write_text("first\n")
    real, left = os.pread, times

    def pread(handle: int, length: int, offset: int) -> bytes:
        nonlocal left
        data = real(handle, length, offset)
        if left and not offset:
            left -= 1
            note.write_text("x" * (20 - left) + "\n")
        return data

    monkeypatch.setattr(os, "pread", pread)
    found = read(str(tmp_path), "n.md")
    if times < 3:
        assert found.text == note.read_text()
        assert found.trouble is None
        assert found.hash == digest(note.read_bytes())
    else:
        assert found.trouble == "another program wrote to it while it was read"


def test_names_in_another_unicode_form(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unlistable(folder: str) -> list[str]:
        raise AssertionError(f"{folder} is listed")

    root = str(fill(tmp_path, {"cafe\u0301/u\u0308.md": "x"}))
    assert read(root, "caf\xe9/\xfc.md").text == "x"
    assert read(root, "cafe\u0301/u\u0308.md").text == "x"
    assert on_disk(root, "caf\xe9/\xfc.md") == "cafe\u0301/u\u0308.md"
    assert on_disk(root, "caf\xe9/o.md") is None
    assert on_disk(root, "n\xe9/o.md") is None
    monkeypatch.setattr("os.listdir", unlistable)
    assert on_disk(root, "too long…, 二.md") is None, "written in one way only: nobody has to look"
    monkeypatch.undo()
    assert Root(root).exists("caf\xe9/\xfc.md")
    assert Root(root).read("caf\xe9/\xfc.md") == b"x"


# --- Settings


@pytest.fixture
def root(tmp_path: Path) -> Path:
    vault = fill(tmp_path / "vault", {".obsidian/app.json": "{}"})
    fill(tmp_path, {"secret": "no", "vault2/secret": "no"})
    (vault / "out").symlink_to(tmp_path)
    (vault / "secret").symlink_to(tmp_path / "secret")
    (vault / "near").symlink_to(tmp_path / "vault2")
    (vault / "again").symlink_to(".obsidian")
    os.mkfifo(vault / "pipe")
    return vault


def test_settings_are_read(root: Path) -> None:
    folder: Folder = Root(str(root))
    assert folder.exists(".obsidian")
    assert folder.exists(".obsidian/app.json")
    assert folder.read(".obsidian/app.json") == b"{}"
    assert folder.read("again/app.json") == b"{}"
    assert folder.exists("")
    assert folder.read(".obsidian") is None
    assert folder.read("pipe") is None
    assert folder.read("gone") is None
    assert not folder.exists("gone")


@pytest.mark.parametrize(
    "path",
    [
        "../secret", "out/secret", "secret", "near/secret", "/etc/passwd", ".obsidian/../../secret", "..",
        "out", "a\0b",
    ],
)  # fmt: skip
def test_settings_never_lead_out(root: Path, path: str) -> None:
    assert not Root(str(root)).exists(path)
    assert Root(str(root)).read(path) is None


@pytest.mark.parametrize("part", [1, 4, 100])
def test_a_file_is_read_in_as_few_parts_as_the_disk_gives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: int
) -> None:
    (tmp_path / "n.md").write_text("ten bytes\n")
    real, parts = os.pread, list[bytes]()

    def pread(handle: int, length: int, offset: int) -> bytes:
        parts.append(real(handle, min(length, part), offset))
        return parts[-1]

    monkeypatch.setattr(os, "pread", pread)
    assert read(str(tmp_path), "n.md").text == "ten bytes\n" == b"".join(parts).decode()
    assert all(parts), "that it has not grown is known from its size"


# --- No way out of the vault


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    return fill(tmp_path / "outside", {"note.md": "a secret of somebody else\n"})


@pytest.mark.parametrize("path", ["../outside/note.md", "sub/../../outside/note.md", "link.md"])
def test_no_way_leads_out(vault: Path, outside: Path, path: str) -> None:
    (vault / "sub").mkdir()
    (vault / "link.md").symlink_to(outside / "note.md")
    with pytest.raises(OSError, match=r"\w"):
        os.close(open_inside(str(vault), path))


@pytest.mark.parametrize("kind", ["link", "folder link", "fifo"])
def test_settings_are_a_plain_file_or_none(vault: Path, outside: Path, kind: str) -> None:
    (outside / "config.yaml").write_text("search.limit: 3\n")
    if kind == "folder link":
        (vault / ".vaultmem").symlink_to(outside)
    else:
        (vault / ".vaultmem").mkdir()
        file = vault / ".vaultmem/config.yaml"
        file.symlink_to(outside / "config.yaml") if kind == "link" else os.mkfifo(file)
    loaded = config.load(str(vault))
    assert loaded["search.limit"] == 10
    assert "not a regular file" in loaded.warnings[0]


def test_settings_are_not_written_through_a_link(
    vault: Path, outside: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (vault / ".vaultmem").symlink_to(outside)
    assert main(["init", str(vault), "--write-config"]) == 1
    assert not (outside / "config.yaml").exists()
    assert ".vaultmem is a link" in capsys.readouterr().err


def test_a_file_of_a_far_century_is_indexed(vault: Path, opened: Vault) -> None:
    (vault / "Far.md").write_text("from the future\n")
    os.utime(vault / "Far.md", (10_413_792_000, 10_413_792_000))
    opened.sync()
    assert [result.path for result in opened.search("future")] == ["Far.md"]
    assert opened.sync().unchanged == 1
    assert sqlite_int(2**64 - 1) == -1
    assert sqlite_int(2**63 - 1) == 2**63 - 1


def test_a_chain_of_folders_without_end_hurts_only_itself(vault: Path, opened: Vault) -> None:
    (vault / "Note.md").write_text("A lamp.")
    here = os.open(vault, os.O_RDONLY)
    for _ in range(1500):  # longer than any path may be
        os.mkdir("d", dir_fd=here)
        inner = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    with open(
        os.open("Deep.md", os.O_WRONLY | os.O_CREAT, dir_fd=here), "w", encoding="utf-8"
    ) as file:
        file.write("A lamp down there.")
    os.close(here)
    assert opened.sync().added == 1
    assert [one.path for one in opened.search("lamp")] == ["Note.md"]
    assert any("too deep" in reason for _, reason in opened.troubles())
    subprocess.run(["rm", "-rf", str(vault / "d")], check=True)


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="paths by handles")
@pytest.mark.parametrize("step", ["temp_beside", "_write_new", "take_name", "exchange", "mkdir"])
@pytest.mark.parametrize("verb", [create, change, move])
def test_a_folder_that_is_swapped_for_a_link_in_the_middle_leads_nowhere(
    vault: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, verb: object
) -> None:
    module = {"mkdir": os, "take_name": moves if verb is move else write_module}.get(
        step, write_module
    )
    outside, inner = tmp_path / "elsewhere", vault / "a"
    outside.mkdir()
    inner.mkdir()
    (inner / "n.md").write_bytes(b"old words\n")
    own = getattr(module, step)

    def swapping(*args: object) -> object:
        if not inner.is_symlink():
            inner.rename(vault / "away")
            inner.symlink_to(outside)
        result = own(*args)
        assert not [*outside.iterdir()]
        return result

    monkeypatch.setattr(module, step, swapping)
    with suppress(VaultmemError):
        if verb is create:
            create(str(vault), "a/b/new.md", b"new words\n")
        elif verb is change:
            change(str(vault), "a/n.md", lambda _: b"new words\n")
        else:
            move(str(vault), "a/n.md", "a/b/new.md")
    monkeypatch.undo()
    assert not [*outside.iterdir()]


def test_many_folders_do_not_use_up_the_open_files(vault: Path) -> None:
    with Inside(str(vault)) as inside:
        for number in range(3 * MOST_OPEN):
            folder = vault / f"a{number % 7}" / f"b{number}" / "c"
            folder.mkdir(parents=True)
            (folder / "note.md").write_text(str(number))
            handle = inside.open(f"a{number % 7}/b{number}/c/note.md")
            assert os.read(handle, 10) == str(number).encode()
            os.close(handle)
            assert len(inside._folders) <= MOST_OPEN + 3
        first = inside.open("a0/b0/c/note.md")
        assert os.read(first, 10) == b"0"
        os.close(first)
