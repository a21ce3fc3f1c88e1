"""The benchmarks print what they should, their metrics are right, and their labelled queries point at real lines."""

import hashlib
import json
import os
import re
import subprocess
import sys
from math import log2
from pathlib import Path

import pytest
import yaml

from benchmarks.recall.measure import Span, ndcg_at, recall_at

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
    rows = run("agent.py", *words).splitlines()
    assert len(rows) == 11
    assert next(row for row in rows if "each once" in row).endswith("× bare Python")
    assert fingerprint(vault) == before


def test_memories_are_measured_and_none_is_lost(tmp_path: Path) -> None:
    words = ["--memories", "0", "--only", "write,storm,past", "--writes", "2", "--pairs", "1"]
    words += ["--assistants", "2", "--each", "3", "--batches", "4", "--state", str(tmp_path)]
    table = run("memories.py", *words).splitlines()
    assert table[0].startswith("0 notes, ")
    assert len(table) == 14
    lost = next(line for line in table if line.startswith("  lost"))
    assert lost.split()[-2:] == ["0,", "0"]


LABELS = (Span("a.md", 3, 5, 3), Span("a.md", 20, 20, 1), Span("b.md", 1, 2, 2))


def test_recall_counts_each_label_once() -> None:
    twice = [Span("a.md", 1, 3), Span("a.md", 4, 6), Span("c.md", 1, 9), Span("b.md", 2, 8)]
    assert recall_at(1, LABELS, twice) == pytest.approx(1 / 3)
    assert recall_at(2, LABELS, twice) == pytest.approx(1 / 3)
    assert recall_at(4, LABELS, twice) == pytest.approx(2 / 3)
    assert recall_at(10, LABELS, []) == 0


def test_ndcg_by_hand() -> None:
    ideal = 7 + 3 / log2(3) + 1 / log2(4)
    backwards = [Span("a.md", 20, 21), Span("b.md", 1, 1), Span("x.md", 1, 1), Span("a.md", 5, 5)]
    reached = 1 + 3 / log2(3) + 0 + 7 / log2(5)
    assert ndcg_at(10, LABELS, backwards) == pytest.approx(reached / ideal)
    best = [Span("a.md", 5, 5), Span("b.md", 1, 1), Span("a.md", 20, 21)]
    assert ndcg_at(10, LABELS, best) == pytest.approx(1.0)


# --- The sample vault


ROOT = Path(__file__).parents[1]
VAULT = ROOT / "sample-vault"
QUERIES = ROOT / "benchmarks" / "recall" / "sample.jsonl"
UNREADABLE = "House/Damp quotes.md"
NOT_UTF8 = "Inbox/Letter from Aunt Winnie.md"


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


TEXTS = {path.relative_to(VAULT).as_posix(): read(path) for path in sorted(VAULT.rglob("*.md"))}
OUTLINES = {key: text for key, text in TEXTS.items() if key.startswith(("pages/", "journals/"))}
PROSE = {key: text for key, text in TEXTS.items() if key not in OUTLINES}
RECORDS = [json.loads(row) for row in QUERIES.read_text(encoding="utf-8").splitlines()]


def front_matter(text: str) -> str | None:
    found = re.match(r"---\n(.*?)^---$", text, re.DOTALL | re.MULTILINE)
    return found[1] if found else None


def test_both_editors_claim_the_vault() -> None:
    app = json.loads(read(VAULT / ".obsidian" / "app.json"))
    assert app["userIgnoreFilters"] == ["Templates/"]
    assert (VAULT / "Templates" / "Daily.md").is_file()
    daily = json.loads(read(VAULT / ".obsidian" / "daily-notes.json"))
    assert len(list((VAULT / daily["folder"]).glob("????-??-??.md"))) >= 12
    types = json.loads(read(VAULT / ".obsidian" / "types.json"))["types"]
    assert types["remind"] == "datetime"
    assert ":file/name-format :triple-lowbar" in read(VAULT / "logseq" / "config.edn")
    assert len(OUTLINES) >= 8


def test_only_two_notes_are_broken() -> None:
    unreadable = []
    for key, text in PROSE.items():
        try:
            yaml.safe_load(front_matter(text) or "")
        except yaml.YAMLError:
            unreadable.append(key)
    assert unreadable == [UNREADABLE]
    assert [key for key, text in TEXTS.items() if "\ufffd" in text] == [NOT_UTF8]
    with pytest.raises(UnicodeDecodeError):
        (VAULT / NOT_UTF8).read_text(encoding="utf-8")


@pytest.mark.parametrize("record", RECORDS, ids=[record["id"] for record in RECORDS])
def test_labels_point_at_their_anchor(record: dict[str, object]) -> None:
    labels = record["relevant"]
    assert isinstance(labels, list)
    assert labels
    assert max(label["grade"] for label in labels) >= 2
    for label in labels:
        lines = TEXTS[label["path"]].splitlines()
        assert 1 <= label["line"] <= label["end_line"] <= len(lines)
        assert 0 < len(label["anchor"]) <= 40
        assert label["grade"] in (1, 2, 3)
        chosen = lines[label["line"] - 1 : label["end_line"]]
        assert any(label["anchor"] in line for line in chosen), label
        assert sum(label["anchor"] in line for line in lines) == 1, label
