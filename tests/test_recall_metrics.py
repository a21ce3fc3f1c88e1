"""The recall metrics against values computed by hand, and measure.py with a real child process."""

import json
import os
import subprocess
import sys
from math import log2
from pathlib import Path

import pytest

from benchmarks.recall.measure import Query, Span, ndcg_at, read_queries, recall_at, report

MEASURE = Path(__file__).parents[1] / "benchmarks" / "recall" / "measure.py"
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


def test_report_counts_an_unanswered_query_as_zero_and_splits_kinds() -> None:
    queries = [
        Query("q1", "one", "name", "dev", (Span("a.md", 1, 2),)),
        Query("q2", "two", "typo", "dev", (Span("b.md", 1, 2),)),
    ]
    measured = report(queries, {"q1": [Span("a.md", 8, 9)]})
    assert measured["block"]["name"]["recall@10"] == 0
    assert measured["note"]["name"]["recall@10"] == 1
    assert measured["note"]["typo"]["recall@10"] == 0
    assert measured["note"]["all"]["recall@10"] == 0.5


def test_a_query_without_labels_is_refused(tmp_path: Path) -> None:
    queries = tmp_path / "q.jsonl"
    queries.write_text('{"id": "q1", "query": "x", "relevant": []}\n', encoding="utf-8")
    with pytest.raises(SystemExit, match=r"q\.jsonl:1: query q1"):
        read_queries(queries, None)


FAKE = """#!{python}
import json, sys
assert sys.argv[1:4] == ["search", "--vault", "the vault"], sys.argv
flags = "--batch --format json --semantic --limit 10 --group block"
assert sys.argv[4:] == flags.split(), sys.argv
for line in sys.stdin:
    asked = json.loads(line)
    lines = (4, 6) if asked["query"] == "hit" else (90, 91)
    found = {{"path": "a.md", "line": lines[0], "end_line": lines[1], "score": 1.5}}
    print(json.dumps({{"id": asked["id"], "results": [found]}}))
"""


def test_the_command_asks_once_and_prints_json(tmp_path: Path) -> None:
    fake = tmp_path / "vaultmem"
    fake.write_text(FAKE.format(python=sys.executable), encoding="utf-8")
    fake.chmod(0o755)
    label = {"path": "a.md", "line": 5, "end_line": 5, "grade": 2}
    rows = [
        {"id": "q1", "query": "hit", "kind": "k", "split": "dev", "relevant": [label]},
        {"id": "q2", "query": "miss", "kind": "k", "split": "dev", "relevant": [label]},
        {"id": "q3", "query": "miss", "kind": "k", "split": "test", "relevant": [label]},
    ]
    queries = tmp_path / "q.jsonl"
    queries.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    command = [sys.executable, str(MEASURE), "the vault", str(queries), "--mode", "hybrid"]
    done = subprocess.run(
        [*command, "--split", "dev", "--json"],
        env={**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=True,
    )
    shown = json.loads(done.stdout)
    assert shown["queries"] == {"all": 2, "k": 2}
    assert shown["measures"]["block"]["all"]["recall@1"] == 0.5
    assert shown["measures"]["note"]["all"]["recall@1"] == 1.0
