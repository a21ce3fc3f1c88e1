"""No link on the path to a file leads out of the vault, whenever it was created."""

import os
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from vaultmem import Vault, config
from vaultmem.cli import main
from vaultmem.errors import VaultmemError
from vaultmem.vault import moves
from vaultmem.vault import write as write_module
from vaultmem.vault.files import MOST_OPEN, Inside, open_inside, read
from vaultmem.vault.moves import move
from vaultmem.vault.walk import sqlite_int
from vaultmem.vault.write import change, create


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "note.md").write_text("a secret of somebody else\n")
    return folder


def test_a_folder_that_became_a_link_is_not_followed(
    vault: Path, opened: Vault, outside: Path
) -> None:
    (vault / "sub").mkdir()
    (vault / "sub/note.md").write_text("a secret of mine\n")
    opened.sync()
    shutil.rmtree(vault / "sub")
    (vault / "sub").symlink_to(outside)
    (result,) = opened.search("secret")
    assert result.content == ""
    found = read(str(vault), "sub/note.md")
    assert not found.text
    assert found.trouble is not None


@pytest.mark.parametrize("path", ["../outside/note.md", "sub/../../outside/note.md", "link.md"])
def test_no_way_leads_out(vault: Path, outside: Path, path: str) -> None:
    (vault / "sub").mkdir()
    (vault / "link.md").symlink_to(outside / "note.md")
    with pytest.raises(OSError, match=r"\w"):
        os.close(open_inside(str(vault), path))


@pytest.mark.parametrize("kind", ["link", "folder link", "fifo"])
def test_settings_of_the_vault_are_a_plain_file_or_none(
    vault: Path, outside: Path, kind: str
) -> None:
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
@pytest.mark.parametrize("step", ["_temp_beside", "_write_new", "take_name", "exchange", "mkdir"])
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
