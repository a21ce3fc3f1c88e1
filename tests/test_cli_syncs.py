"""Syncs as commands: interrupted, two at once, dry runs, and the first one."""

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli_run import on, one_line, ran, tree_hash
from tests.index_dump import other_state, synced
from vaultmem.index.state import State
from vaultmem.vault import write


def big_vault(folder: Path, count: int) -> Path:
    (folder / ".obsidian").mkdir(parents=True)
    for number in range(count):
        (folder / f"Note {number}.md").write_text(
            f"apple {number} [[Note {number + 1}]]\n\n" + "roof bell tree " * 60
        )
    return folder


def test_interrupted_sync(tmp_path: Path) -> None:
    vault = big_vault(tmp_path / "vault", 1500)
    running = subprocess.Popen(
        [sys.executable, "-m", "vaultmem", "sync", "--no-embed", "--vault", str(vault), "--format", "text"],
        stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    lock = Path(State(str(vault)).folder) / "lock"
    deadline = time.monotonic() + 20
    while not (lock.exists() and lock.read_text()) and time.monotonic() < deadline:
        time.sleep(0.005)
    time.sleep(0.1)
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=60)
    assert running.returncode == 130
    assert len(err.splitlines()) == 1
    assert "interrupted" in err
    assert out == ""
    report = on(vault, "sync --no-embed", "--format", "json").data
    assert report["added"] + report["changed"] + report["unchanged"] == 1500
    assert on(vault, "status", "--format", "json").data["notes"] == 1500


HOLD = """
import sys, time
from vaultmem.index.state import State
from vaultmem.vault import write
from vaultmem.output import JSON_VERSION
with State(sys.argv[1]).lock():
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_second_sync_says_who_is_at_work(indexed: Path) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(indexed)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdin
    assert holder.stdout
    assert holder.stdout.readline() == "held\n"
    ended = on(indexed, "sync --no-embed", "--format", "text")
    assert ended.code == 1
    assert f"process {holder.pid}" in one_line(ended)
    assert on(indexed, "search knee", "--format", "json").data["count"] > 0, "searches go on"
    holder.kill()
    holder.wait()
    holder.stdin.close()
    holder.stdout.close()
    assert on(indexed, "sync --no-embed").code == 0, "a killed holder holds nothing"


def test_two_syncs_at_once(tmp_path: Path) -> None:
    vault = big_vault(tmp_path / "vault", 800)
    words = [sys.executable, "-m", "vaultmem", "sync", "--no-embed", "--vault", str(vault)]
    both = [
        subprocess.Popen(words, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        for _ in range(2)
    ]
    ended = [(running.communicate(timeout=60)[1], running.returncode) for running in both]
    codes = sorted(code for _, code in ended)
    assert codes in ([0, 0], [0, 1]), ended
    for said, code in ended:
        assert "Traceback" not in said
        assert code == 0 or "is at work on this vault" in said
    assert on(vault, "status", "--format", "json").data["notes"] == 800


def test_dry_runs_write_nothing(tmp_path: Path) -> None:
    vault = big_vault(tmp_path / "vault", 5)
    with other_state(tmp_path / "state"):
        before = tree_hash(tmp_path)
        assert "5 added" in on(vault, "sync --dry-run", "--format", "text").err
        first = on(vault, "init --dry-run --write-config", "--format", "json").data
        assert first["written"] == [str(vault / ".vaultmem/config.yaml")]
        assert tree_hash(tmp_path) == before
        synced(vault)
        (vault / "New.md").write_text("new")
        (vault / "Note 1.md").unlink()
        (vault / "Note 2.md").write_text("changed, and shorter")
        both = (tree_hash(vault), tree_hash(tmp_path / "state", times=False))
        again = on(vault, "sync --rebuild --dry-run", "--format", "json").data
        assert (again["added"], again["unchanged"], again["rebuilt"]) == (5, 0, True)
        told = on(vault, "sync --dry-run", "--format", "json").data
        assert (told["added"], told["changed"], told["removed"], told["dry_run"]) == (1, 1, 1, True)
        assert (tree_hash(vault), tree_hash(tmp_path / "state", times=False)) == both
        done = on(vault, "sync --no-embed", "--format", "json").data
        assert (done["added"], done["changed"], done["removed"]) == (1, 1, 1)


def test_settings_are_written_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault = big_vault(tmp_path / "vault", 3)

    def write_until_full(path: str, data: bytes, *_: int) -> None:
        Path(path).write_bytes(data[:9])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(write, "_write_new", write_until_full)
    ended = ran("init", str(vault), "--write-config")
    assert (ended.code, "config.yaml cannot be written: No space" in ended.err) == (1, True)
    assert not any((vault / ".vaultmem").iterdir())


def test_init_writes_only_what_was_asked_for(tmp_path: Path) -> None:
    vault = big_vault(tmp_path / "vault", 3)
    before = tree_hash(vault)
    assert ran("init", str(vault), "--format", "json").data["notes"] == 3
    assert tree_hash(vault) == before
    assert ran("init", str(vault), "--write-config").code == 0
    config = vault / ".vaultmem" / "config.yaml"
    text = config.read_text()
    config.write_text(text + "dialect: logseq\n")
    again = ran("init", str(vault), "--write-config", "--format", "text")
    assert "left as it is" in again.err
    assert config.read_text() == text + "dialect: logseq\n"
