"""Measure the ranking on four kinds of text, and what a change is worth on each.

    python benchmarks/recall/kinds.py [--docs VAULT] [--split dev|test|all] [--folder FOLDER]
                                      [--save FILE] [--against FILE]

Talks between people (talks, chats.py), saved chats with an assistant (assistant_chats.py), notes with links (the
sample vault; with --docs also a checkout of logseq/docs: its questions, its headings, the words around its links), and
notes in several scripts. `--save` keeps the measures; `--against` prints what was saved before beside what is now. A
change stays when it helps the test halves of two kinds and hurts none. `--folder` keeps the generated sets,
indexes and vectors for the next run.
"""

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import assistant_chats
import chats
import headings
import measure
import wikilinks

from vaultmem import Vault
from vaultmem.search.query import Ask

HERE = Path(__file__).parent
SAMPLE = HERE.parents[1] / "sample-vault"
MODES = ("keyword", "hybrid")
NAMES = ("R@5", "R@10", "MRR", "nDCG")
DEPTH = 10


class Set(NamedTuple):
    """A labelled set: its kind of text, its vault, and whether whole notes are asked for."""

    kind: str
    name: str
    vault: Path
    queries: list[measure.Query]
    notes: bool = False


def sets(folder: Path, docs: Path | None) -> Iterator[Set]:
    """All sets; generated ones are written below `folder`."""
    if not (folder / "chats/vault").exists():
        chats.generate(folder / "chats")
    assistant_chats.generate(folder)
    read = measure.read_queries
    yield Set("talks", "talks", HERE / "talks", read(HERE / "talks.jsonl", None))
    yield Set("talks", "chats", folder / "chats/vault", read(folder / "chats/queries.jsonl", None))
    assistant = folder / "assistant"
    yield Set(
        "assistant", "assistant", assistant / "vault", read(assistant / "queries.jsonl", None)
    )
    yield Set("notes", "sample", SAMPLE, read(HERE / "sample.jsonl", None))
    yield from linked(SAMPLE)
    if docs:
        yield Set("notes", "questions", docs, read(HERE / "logseq_docs.jsonl", None), notes=True)
        yield from linked(docs)
    scripts = folder / "scripts"
    yield Set("scripts", "scripts", scripts / "vault", read(scripts / "queries.jsonl", None))


def linked(vault: Path) -> Iterator[Set]:
    """A vault's links and headings."""
    for name, rows in (
        ("links", wikilinks.records(vault, 300, 7)),
        ("headings", headings.records(vault, 200, 7)),
    ):
        queries = [measure.query_of(row) for row in rows]
        yield Set("notes", f"{name}, {vault.name}", vault, queries, notes=True)


def reciprocal(labels: Sequence[measure.Span], results: Sequence[measure.Span]) -> float:
    """One divided by the rank of the first right result."""
    ranks = (
        rank
        for rank, result in enumerate(results[:DEPTH], 1)
        if any(measure.overlaps(label, result) for label in labels)
    )
    return 1 / next(ranks, float("inf"))


def measured(vault: Vault, one: Set, query: measure.Query, mode: str) -> list[float]:
    """The four measures of one question."""
    spare = DEPTH if query.source else 0
    ask = Ask(query.text, DEPTH + spare, mode == "hybrid", "note" if one.notes else "block")
    hits = vault.searcher().search(ask, texts=False).results
    spans = [
        measure.Span(hit.path, hit.line, hit.end_line) for hit in hits if hit.path != query.source
    ]
    labels = query.labels
    if one.notes:
        spans, labels = measure.whole_notes(spans), tuple(measure.whole_notes(labels))
    if one.notes:  # any of the right notes counts
        first = [
            float(any(measure.overlaps(x, y) for x in labels for y in spans[:k])) for k in (5, 10)
        ]
    else:
        first = [measure.recall_at(k, labels, spans) for k in (5, 10)]
    return [*first, reciprocal(labels, spans), measure.ndcg_at(DEPTH, labels, spans)]


def opened(folder: Path) -> Vault:
    """The vault, synced and embedded."""
    vault = Vault(str(folder))
    vault.sync()
    if remark := vault.embed().remark:
        raise SystemExit(remark)
    return vault


def rows(chosen: Sequence[Set], split: str) -> dict[str, list[float]]:
    """The means of each set in each mode, in points of 100."""
    results = {}
    for one in chosen:
        vault = opened(one.vault)
        queries = [query for query in one.queries if split in ("all", query.split)]
        for mode in MODES:
            found = [measured(vault, one, query, mode) for query in queries]
            means = [100 * sum(column) / len(found) for column in zip(*found, strict=True)]
            results[f"{one.name}, {mode} ({len(found)})"] = means
        vault.close()
    return results


def show(now: dict[str, list[float]], before: dict[str, list[float]]) -> None:
    """Print the measures, each with the change."""
    sys.stdout.write(f"{'':40}" + "".join(f"{name:>16}" for name in NAMES) + "\n")
    for name, means in now.items():
        old = before.get(name, means)
        cells = [f"{mean:9.1f}{mean - was:+7.1f}" for mean, was in zip(means, old, strict=True)]
        sys.stdout.write(f"{name:40}{''.join(cells)}\n")


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="Measure the ranking on four kinds of text.")
    parser.add_argument("--docs", type=Path, help="a checkout of logseq/docs")
    parser.add_argument("--split", choices=["dev", "test", "all"], default="test")
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--save", type=Path)
    parser.add_argument("--against", type=Path)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        folder = asked.folder or Path(made)
        os.environ["VAULTMEM_STATE"] = f"{folder.resolve()}/state"
        now = rows(list(sets(folder.resolve(), asked.docs)), asked.split)
    before = json.loads(asked.against.read_text("utf-8")) if asked.against else {}
    show(now, before)
    if asked.save:
        asked.save.write_text(json.dumps(now), "utf-8")


if __name__ == "__main__":
    main()
