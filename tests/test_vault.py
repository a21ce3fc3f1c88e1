"""Any bytes can be read as text, nothing hangs, and nothing outside the vault is seen."""

import os
import socket
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultmem.adapter import Folder
from vaultmem.vault import files as vault_module
from vaultmem.vault.files import Root, decode, digest, on_disk, read


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


@given(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\r\ufeff")),
    st.booleans(),
)
def test_text_comes_back(text: str, windows: bool) -> None:
    written = text.replace("\n", "\r\n") if windows else text
    assert decode(written.encode()) == (text, None)


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
    def fail(*_: object) -> bytes:
        raise OSError(5, "Input/output error")

    (tmp_path / "n.md").write_text("x")
    monkeypatch.setattr(os, "pread", fail)
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


def test_names_in_another_unicode_form(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unlistable(folder: str) -> list[str]:
        raise AssertionError(f"{folder} is listed")

    folder = tmp_path / "cafe\u0301"
    folder.mkdir()
    (folder / "u\u0308.md").write_text("x")
    root = str(tmp_path)
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
    vault = tmp_path / "vault"
    (vault / ".obsidian").mkdir(parents=True)
    (vault / ".obsidian" / "app.json").write_text("{}")
    (tmp_path / "secret").write_text("no")
    (tmp_path / "vault2").mkdir()
    (tmp_path / "vault2" / "secret").write_text("no")
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
