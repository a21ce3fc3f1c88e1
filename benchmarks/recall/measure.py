"""Measure how well `vaultmem search` finds what a labelled set of queries says it should find.

    python benchmarks/recall/measure.py VAULT QUERIES.jsonl [--mode keyword|hybrid] [--top 10]
                                        [--split dev|test] [--json]

A query is a JSON line {"id", "query", "kind", "split", "relevant": [label, ...]}, a label is
{"path", "line", "end_line", "grade"}; without lines it stands for its whole note. A query with the
key "from" was cut out of that note, whose blocks are then no results. Two levels:

block  a result is relevant when its path is that of a label and the two line ranges overlap;
       every labelled range counts once, however many blocks touch it
note   only paths count; the results are first reduced to their distinct notes, in order

recall@k is the share of the labels met by the first k results. nDCG@10 gives 2^grade - 1 a label,
divided by log2(rank + 1) (Järvelin and Kekäläinen 2002), over the same sum for the best order.
"""

import argparse
import json
import math
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypedDict

CUTOFFS = (1, 5, 10)
DEPTH = 10
MEASURES = (*(f"recall@{k}" for k in CUTOFFS), f"ndcg@{DEPTH}")
LAST_LINE = sys.maxsize


class Span(NamedTuple):
    """A range of lines of one note, both ends included; grade says how relevant it is, 1 to 3."""

    path: str
    line: int = 1
    end_line: int = LAST_LINE
    grade: int = 1


class Query(NamedTuple):
    """One labelled query."""

    id: str
    text: str
    kind: str
    split: str
    labels: tuple[Span, ...]
    source: str = ""


class Row(TypedDict, total=False):
    """One label or one result as in its JSON; other keys are ignored."""

    path: str
    line: int
    end_line: int
    grade: int


Scores = dict[str, float]
Answers = dict[str, list[Span]]


def overlaps(one: Span, other: Span) -> bool:
    """Whether the two share a line of one note."""
    return one.path == other.path and one.line <= other.end_line and other.line <= one.end_line


def recall_at(cutoff: int, labels: Sequence[Span], results: Sequence[Span]) -> float:
    """The share of the labels that the first results touch."""
    first = results[:cutoff]
    met = sum(any(overlaps(label, result) for result in first) for label in labels)
    return met / len(labels)


def discounted(gains: Iterable[float]) -> float:
    """The sum of gains, each divided by log2(rank + 1)."""
    return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, 1))


def gain_of(label: Span) -> float:
    """2^grade - 1: a perfect answer is worth seven passable ones."""
    return float(2**label.grade - 1)


def ndcg_at(depth: int, labels: Sequence[Span], results: Sequence[Span]) -> float:
    """nDCG of the first results; a result earns the best label that none before it has earned."""
    unearned = sorted(labels, key=gain_of, reverse=True)
    ideal = discounted(gain_of(label) for label in unearned[:depth])
    gains = []
    for result in results[:depth]:
        earned = next((label for label in unearned if overlaps(label, result)), None)
        gains.append(gain_of(earned) if earned else 0.0)
        if earned:
            unearned.remove(earned)
    return discounted(gains) / ideal


def whole_notes(spans: Sequence[Span]) -> list[Span]:
    """The distinct notes of the spans in order, each with the best grade it has among them."""
    grades: dict[str, int] = {}
    for span in spans:
        grades[span.path] = max(span.grade, grades.get(span.path, 0))
    return [Span(path, grade=grade) for path, grade in grades.items()]


def scores(labels: Sequence[Span], results: Sequence[Span]) -> Scores:
    """All measures of one query at one level."""
    values = [recall_at(cutoff, labels, results) for cutoff in CUTOFFS]
    return dict(zip(MEASURES, [*values, ndcg_at(DEPTH, labels, results)], strict=True))


def mean(rows: Sequence[Scores]) -> Scores:
    """The plain average of every measure."""
    return {name: sum(row[name] for row in rows) / len(rows) for name in MEASURES}


def report(
    queries: Sequence[Query], answers: dict[str, list[Span]]
) -> dict[str, dict[str, Scores]]:
    """Averages by level ("block", "note") and kind ("all" first); a query without answer is 0."""
    rows: dict[str, dict[str, list[Scores]]] = {
        "block": defaultdict(list),
        "note": defaultdict(list),
    }
    for query in queries:
        results = [found for found in answers.get(query.id, []) if found.path != query.source]
        by_level = {
            "block": scores(query.labels, results),
            "note": scores(whole_notes(query.labels), whole_notes(results)),
        }
        for level, row in by_level.items():
            rows[level]["all"].append(row)
            rows[level][query.kind].append(row)
    return {
        level: {kind: mean(found) for kind, found in kinds.items()} for level, kinds in rows.items()
    }


def span_of(row: Row) -> Span:
    """A label or a result; without lines it covers its whole note."""
    return Span(
        row["path"], row.get("line", 1), row.get("end_line", LAST_LINE), row.get("grade", 1)
    )


def query_of(row: dict[str, Any]) -> Query:
    """A query as in its JSON."""
    labels = tuple(span_of(label) for label in row["relevant"])
    kind, half = row.get("kind", "-"), row.get("split", "-")
    return Query(row["id"], row["query"], kind, half, labels, row.get("from", ""))


def read_queries(path: Path, split: str | None) -> list[Query]:
    """The labelled set, or the half with this split."""
    queries = []
    for number, text in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        row = json.loads(text)
        if not row["relevant"]:
            raise SystemExit(f"{path}:{number}: query {row['id']} has no relevant label")
        queries.append(query_of(row))
    return [query for query in queries if split in (None, query.split)]


def search(vault: Path, queries: Sequence[Query], mode: str, top: int) -> dict[str, list[Span]]:
    """Ask one child process all queries; its errors are shown on the terminal."""
    command = ["vaultmem", "search", "--vault", str(vault), "--batch", "--format", "json"]
    command += ["--semantic"] if mode == "hybrid" else []
    spare = top if any(query.source for query in queries) else 0  # room for blocks of the source
    command += ["--limit", str(top + spare), "--group", "block"]
    asked = "".join(
        json.dumps({"id": query.id, "query": query.text}, ensure_ascii=False) + "\n"
        for query in queries
    )
    done = subprocess.run(
        command, input=asked, stdout=subprocess.PIPE, encoding="utf-8", check=False
    )
    if done.returncode != 0:
        raise SystemExit(f"vaultmem search stopped with exit code {done.returncode}")
    answers = (json.loads(line) for line in done.stdout.splitlines() if line.strip())
    return {row["id"]: [span_of(result) for result in row["results"]] for row in answers}


def table(measured: dict[str, dict[str, Scores]], counts: dict[str, int]) -> str:
    """The averages as text, in points of 100."""
    heading = f"{'level':6}{'kind':14}{'queries':>8}" + "".join(f"{name:>11}" for name in MEASURES)
    rows = [
        f"{level:6}{kind:14}{counts[kind]:>8}"
        + "".join(f"{100 * averages[name]:>11.1f}" for name in MEASURES)
        for level, kinds in measured.items()
        for kind, averages in kinds.items()
    ]
    return "\n".join([heading, *rows])


def counted(queries: Sequence[Query]) -> dict[str, int]:
    """The number of queries of each kind."""
    counts = {"all": len(queries)}
    for query in queries:
        counts[query.kind] = counts.get(query.kind, 0) + 1
    return counts


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description="Measure vaultmem search on a labelled set.")
    parser.add_argument("vault", type=Path)
    parser.add_argument("queries", type=Path)
    parser.add_argument("--mode", choices=["keyword", "hybrid"], default="keyword")
    parser.add_argument("--top", type=int, default=DEPTH, help="results to ask for (default 10)")
    parser.add_argument("--split", choices=["dev", "test"], help="only this half of the set")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    return parser.parse_args()


def main() -> None:
    """Ask, measure, print."""
    chosen = arguments()
    queries = read_queries(chosen.queries, chosen.split)
    if not queries:
        raise SystemExit(f"{chosen.queries} has no queries for this split")
    measured = report(queries, search(chosen.vault, queries, chosen.mode, chosen.top))
    if chosen.json:
        shown = {"mode": chosen.mode, "queries": counted(queries), "measures": measured}
        sys.stdout.write(json.dumps(shown, indent=2) + "\n")
        return
    sys.stdout.write(table(measured, counted(queries)) + "\n")


if __name__ == "__main__":
    main()
