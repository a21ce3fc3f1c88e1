"""State that is damaged, from another version, or on a full disk."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.bad_input_vault import Mark, found, state, sync_cli, untouched
from tests.cli_run import on, one_line, process
from tests.conftest import Write
from tests.index_dump import (
    assert_equals_rebuilt,
    contents,
    differences,
    generation,
    other_state,
    rebuilt,
    removed,
    synced,
)
from tests.mounting import mounts, runs_with_mounts
from vaultmem.index.state import State

__all__ = ["state", "untouched"]  # fixtures


DAMAGES = ["removed", "empty", "garbage", "cut in half", "a folder", "one byte"]


def _damage(file: Path, how: str) -> None:
    data = file.read_bytes()
    file.unlink()
    if how == "empty":
        file.write_bytes(b"")
    elif how == "garbage":
        file.write_bytes(os.urandom(max(4096, len(data))))
    elif how == "cut in half":
        file.write_bytes(data[: len(data) // 2])
    elif how == "a folder":
        file.mkdir()
    elif how == "one byte":
        file.write_bytes(data[:-1] + bytes([data[-1] ^ 0xFF]) if data else b"x")


# Each file is read by the first command, and by one of the others in turn.
READING = "search apple|status|doctor|tasks|links Note|related Note|why apple Note".split("|")


@pytest.mark.parametrize("how", DAMAGES)
def test_damaged_state(
    vault: Path, write: Write, untouched: Mark, how: str, tmp_path: Path
) -> None:
    """Each file of the index in turn. Reading prints one line or works; a sync repairs it (at worst by a rebuild)."""
    write("Note.md", "---\ntags: [x]\n---\nAn apple and [[Other]].\n\n- [ ] task")
    write("Other.md", "Another apple.")
    synced(vault)
    untouched()
    folder = Path(State(str(vault)).folder)
    files = [file for file in sorted(folder.rglob("*")) if file.is_file() and file.name != "lock"]
    names = [str(file.relative_to(folder)) for file in files]
    kept = shutil.copytree(folder, tmp_path / "kept")
    should = rebuilt(vault, tmp_path / "scratch")
    assert len(names) >= 5
    for number, name in enumerate(names):
        if (name, how) == ("manifest.json", "a folder"):
            continue  # only a person makes one; "Is a directory" is clear enough
        removed(folder)
        shutil.copytree(kept, folder)
        _damage(folder / name, how)
        for command in (READING[0], READING[1 + number % 6]):
            ended = on(vault, *command.split(), "--format", "text")
            assert ended.code in (0, 1), (name, command)
            assert "Traceback" not in ended.err
            if ended.code == 1 and command != "doctor":
                assert "vaultmem" in ended.err.splitlines()[-1], (name, command)
        ended = sync_cli(vault)
        assert ended.code in (0, 1), (name, ended.err)
        assert "Traceback" not in ended.err
        if ended.code or on(vault, "search", "apple").code:
            ended = sync_cli(vault, "--rebuild")
        assert ended.code == 0, (name, ended.err)
        assert not differences(contents(vault), should), name


def test_another_version(vault: Path, write: Write, untouched: Mark) -> None:
    write("Note.md", "apple")
    synced(vault)
    untouched()
    manifest = generation(vault).parent / "manifest.json"
    for key, value in (
        ("format", 99), ("catalog", 99), ("analyzer", "other"), ("generation", "one"), ("generation", 7)
    ):  # fmt: skip
        change = {key: value}
        manifest.write_text(json.dumps({**json.loads(manifest.read_text()), **change}))
        assert found(vault, "apple") == ["Note.md"], change  # indexed again on the way
        assert generation(vault).is_dir()
    for broken in ("", "[]", "{", "null", '{"generation": true}'):
        manifest.write_text(broken)
        assert found(vault, "apple") == ["Note.md"], broken


def test_state_folder_that_cannot_be_made(
    vault: Path, write: Write, untouched: Mark, tmp_path: Path
) -> None:
    write("Note.md", "apple")
    untouched()
    (tmp_path / "file").write_text("")
    with other_state(tmp_path / "file" / "below"):
        ended = sync_cli(vault)
    assert ended.code == 1
    assert "VAULTMEM_STATE" in one_line(ended)


def test_full_disk(vault: Path, write: Write, untouched: Mark, tmp_path: Path) -> None:
    for number in range(400):
        write(
            f"Note {number}.md", f"apple {number} " + " ".join(f"w{number}x{n}" for n in range(400))
        )
    untouched()
    small = tmp_path / "small"
    small.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1500k", "tmpfs", str(small)],
        capture_output=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip("no right to mount a small disk")
    try:
        with other_state(small / "state"):
            ended = process("sync", "--no-embed", "--format", "text", "--vault", str(vault))
            assert ended.code == 1
            assert "Traceback" not in ended.err
            assert len([line for line in ended.err.splitlines() if line]) == 1, ended.err
            assert "space" in ended.err or "full" in ended.err
            subprocess.run(["mount", "-o", "remount,size=60m", str(small)], check=True)
            assert sync_cli(vault).code == 0
            assert_equals_rebuilt(vault, tmp_path / "scratch")
    finally:
        subprocess.run(["umount", str(small)], check=True)


SMALLER_AND_SMALLER = """
import gc, os, subprocess, sys
from vaultmem.errors import NoRoomError
from vaultmem.index.catalog_write import Entry
from vaultmem.index.keyword import KeywordWriter

def fill(folder):
    for note in range(1, 10_000):
        writer = KeywordWriter(folder)
        writer.add(note, Entry(0, {"body": " ".join(f"w{note}x{word}" for word in range(900))}, 1))
        writer.commit()
        writer.close()

for size in range(60, 400, 40):
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}k", "tmpfs", sys.argv[1]], check=True)
    folder = sys.argv[1] + "/kw"
    os.mkdir(folder)
    for _ in range(3):
        try:
            fill(folder)
        except NoRoomError as error:
            assert "No space left" in str(error)
        gc.collect()
    subprocess.run(["umount", "-l", sys.argv[1]], check=True)
"""


@mounts
def test_a_full_disk_is_no_damage_wherever_the_index_meets_it(tmp_path: Path) -> None:
    runs_with_mounts(SMALLER_AND_SMALLER, tmp_path)


LIMITED = """
import resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), resource.RLIM_INFINITY))
from vaultmem import cli
sys.exit(cli.main(["sync", "--no-embed", "--format", "text", "--vault", sys.argv[2]]))
"""


@pytest.mark.parametrize("size", [10, 40_000])
def test_files_that_may_not_grow(
    vault: Path, write: Write, untouched: Mark, size: int, tmp_path: Path
) -> None:
    for number in range(100):
        write(
            f"Note {number}.md",
            f"apple {number} [[Note {number + 1}]] " + "roof bell " * 200 + str(number) * 50,
        )
    untouched()
    command = [sys.executable, "-B", "-c", LIMITED, str(size), str(vault)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode in (0, 1), ended.stderr
    assert "Traceback" not in ended.stderr
    assert len(ended.stderr.splitlines()) == 1, ended.stderr
    assert sync_cli(vault).code == 0
    assert_equals_rebuilt(vault, tmp_path / "scratch")
