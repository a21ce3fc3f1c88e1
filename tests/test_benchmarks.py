"""The benchmarks run on a tiny vault and print what they should."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


def run(script: str, *words: str) -> str:
    """What a benchmark prints. Bytecode is compiled once for all of them."""
    done = subprocess.run(
        [sys.executable, str(BENCHMARKS / script), *words],
        capture_output=True, text=True, encoding="utf-8", check=False,
        env={**os.environ, "PYTHONIOENCODING": "utf-8", "PYTHONPYCACHEPREFIX": ""},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def fingerprint(folder: Path) -> str:
    """A digest of all names and contents."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        digest.update(str(path.relative_to(folder)).encode())
        digest.update(path.read_bytes() if path.is_file() else b"")
    return digest.hexdigest()


@pytest.fixture(scope="module")
def vault(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twenty notes."""
    folder = tmp_path_factory.mktemp("benchmarks") / "vault"
    run("make_vault.py", str(folder), "--notes", "20")
    return folder


def test_the_same_arguments_make_the_same_vault(vault: Path, tmp_path: Path) -> None:
    run("make_vault.py", str(tmp_path / "other"), "--notes", "20", "--seed", "2")
    assert fingerprint(tmp_path / "other") != fingerprint(vault)
    assert len(list(vault.rglob("*.md"))) == 20


def test_run_makes_a_vault_and_prints_one_table_with_every_row(vault: Path, tmp_path: Path) -> None:
    few = ["--rounds", "1", "--pairs", "1", "--repeats", "1", "--notes", "20"]
    lines = run("run.py", "--folder", str(tmp_path / "made"), *few).splitlines()
    assert lines[0].startswith("20 notes, ")
    assert lines[2] == "| what | budget | measured | ratio |"
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[4:]]
    assert len(cells) > 12
    assert all(len(row) == 4 and row[2] for row in cells), lines
    assert fingerprint(tmp_path / "made") == fingerprint(vault), (
        "one was changed, or made otherwise"
    )


def test_the_agent_is_measured_from_outside_and_leaves_nothing_in_the_vault(vault: Path) -> None:
    before = fingerprint(vault)
    words = ["--saves", "2", "--storm", "30", "--pairs", "1", "--repeats", "1"]
    words += ["--questions", "20", "--rest", "0", "--idle", "0.2", "--folder", str(vault)]
    assert len(run("agent.py", *words).splitlines()) == 11
    assert fingerprint(vault) == before


def test_the_doors_are_measured(tmp_path: Path) -> None:
    words = ["--notes", "30", "--folder", str(tmp_path / "made"), "--calls", "2", "--pairs", "1"]
    rows = run("doors.py", *words).splitlines()
    assert rows[0].startswith("30 notes, ")
    assert len(rows) == 13


def test_memories_are_measured_and_none_is_lost(tmp_path: Path) -> None:
    words = ["--memories", "0", "--only", "write,storm,past", "--writes", "2", "--pairs", "1"]
    words += ["--assistants", "2", "--each", "3", "--batches", "4", "--state", str(tmp_path)]
    table = run("memories.py", *words).splitlines()
    assert table[0].startswith("0 notes, ")
    assert len(table) == 14
    lost = next(line for line in table if line.startswith("  lost"))
    assert lost.split()[-2:] == ["0,", "0"]


def test_a_benchmark_that_cannot_run_says_why(tmp_path: Path) -> None:
    folder = tmp_path / "not a folder"
    folder.write_text("a file where the vault should be", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(BENCHMARKS / "index.py"), "--folder", str(folder), "--rounds", "1"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert "is not a folder" in done.stderr


def test_the_same_arguments_make_the_same_memories(tmp_path: Path) -> None:
    for name, words in (("one", []), ("two", []), ("other", ["--seed", "2"])):
        run("make_memories.py", str(tmp_path / name), "--memories", "40", *words)
    assert fingerprint(tmp_path / "one") == fingerprint(tmp_path / "two")
    assert fingerprint(tmp_path / "one") != fingerprint(tmp_path / "other")
