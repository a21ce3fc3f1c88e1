"""How well `vaultmem recall` answers, what each of its steps is worth, and how many tokens a right answer costs.

python benchmarks/recall/recalls.py [--split dev|test|all] [--budget 2000]

Sets: the sample vault and the talks by hand, the chats of chats.py, each asked as notes (`--notes`); the talks and
chats again with every turn written as a memory of its own. A row takes one step away, or asks `vaultmem search`.
"Session" is the share of questions with a right note among the first five. Made in a temporary folder.
"""

import argparse
import json
import os
import re
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import chats
import measure

from vaultmem import Vault
from vaultmem.api.rpc import Reader, carry_out
from vaultmem.pending.open_store import open_store
from vaultmem.recall.criteria import STEPS
from vaultmem.search.query import Ask

HERE = Path(__file__).parent
DEPTH = 10
TURN = re.compile(r"\S.*\S")


class Set(NamedTuple):
    """A labelled set, and whether its turns are memories."""

    name: str
    vault: Path
    queries: list[measure.Query]
    notes: bool


class Row(NamedTuple):
    """What one row of the table measures."""

    recall5: float
    recall10: float
    ndcg: float
    session: float
    tokens_a_hit: float


def as_memories(source: Path, target: Path, queries: list[measure.Query]) -> list[measure.Query]:
    """Write each line of each note as a memory, and move the labels there."""
    places: dict[tuple[str, int], str] = {}
    for note in sorted(source.rglob("*.md")):
        path = note.relative_to(source).as_posix()
        lines = note.read_text("utf-8").split("\n")
        for number, line in enumerate(lines, 1):
            if not TURN.match(line) or line.startswith(("---", "date:", "#")):
                continue
            place = f"vaultmem/knowledge/m{len(places):05}.md"
            places[path, number] = place
            day = f"{note.stem[:10]}T12:00:00Z"
            written = target / place
            written.parent.mkdir(parents=True, exist_ok=True)
            head = f"---\nid: m{len(places)}\nmemory_type: episodic\ndecay_policy: stable\ncreated_at: {day}\n---\n"
            written.write_text(f"{head}{line}\n", "utf-8")
    return [query._replace(labels=tuple(moved(query, places))) for query in queries]


def moved(query: measure.Query, places: dict[tuple[str, int], str]) -> list[measure.Span]:
    """The labels of a query as memories."""
    return [
        measure.Span(places[label.path, line], grade=label.grade)
        for label in query.labels
        for line in range(label.line, min(label.end_line, label.line + 40) + 1)
        if (label.path, line) in places
    ]


def sets(folder: Path, split: str | None) -> list[Set]:
    """All sets, with their vaults made."""
    made = folder / "chats"
    sys.argv = ["chats.py", str(made)]
    chats.main()
    found = []
    for name, vault, file in (
        ("sample", HERE.parents[1] / "sample-vault", HERE / "sample.jsonl"),
        ("talks", HERE / "talks", HERE / "talks.jsonl"),
        ("chats", made / "vault", made / "queries.jsonl"),
    ):
        queries = measure.read_queries(file, split)
        found.append(Set(name, vault, queries, notes=True))
        if name != "sample":
            target = folder / f"{name}-memories"
            labelled = [memory for memory in as_memories(vault, target, queries) if memory.labels]
            found.append(Set(f"{name}, memories", target, labelled, notes=False))
    return found


class Asker:
    """One vault, asked inside the process."""

    def __init__(self, chosen: Set, budget: int) -> None:
        self.set, self.budget = chosen, budget
        self.vault = Vault(str(chosen.vault))
        self.vault.sync()
        self.vault.embed()
        self.store, self.reader = (
            open_store(self.vault.state, self.vault.config),
            Reader(self.vault),
        )

    def recalled(self, query: str, without: Sequence[str]) -> tuple[list[measure.Span], list[int]]:
        """The results of a recall, and the tokens of each."""
        params = {
            "query": query, "top_k": DEPTH, "budget": self.budget, "notes": self.set.notes, "untrusted": True,
            "without": list(without),
        }  # fmt: skip
        found = carry_out(self.store, self.reader, "recall", params)
        assert isinstance(found, dict)
        told = found["memories"]
        spans = [measure.Span(one["path"], one["line"], one["end_line"]) for one in told]
        return spans, [one["tokens"] for one in told]

    def searched(self, query: str) -> tuple[list[measure.Span], list[int]]:
        """The results of a search by words and meaning."""
        found = self.vault.answer(Ask(query, DEPTH, semantic=True, group="block")).results
        return [measure.Span(one.path, one.line, one.end_line) for one in found], []

    def row(self, without: Sequence[str] | None) -> Row:
        """The measures over all questions of the set."""
        rows, hits, spent = [], 0, 0
        for query in self.set.queries:
            ask = (
                self.searched(query.text) if without is None else self.recalled(query.text, without)
            )
            spans, tokens = ask
            first = {span.path for span in measure.whole_notes(spans)[:5]}
            session = float(any(label.path in first for label in query.labels))
            rows.append((measure.scores(query.labels, spans), session))
            hits += sum(
                any(measure.overlaps(label, span) for span in spans) for label in query.labels
            )
            spent += sum(tokens)
        mean = measure.mean([row for row, _ in rows])
        shares = sum(session for _, session in rows) / len(rows)
        return Row(
            mean["recall@5"], mean["recall@10"], mean["ndcg@10"], shares, spent / max(1, hits)
        )


def main() -> None:
    """Print a table for each set."""
    parser = argparse.ArgumentParser(description="Measure vaultmem recall.")
    parser.add_argument("--split", choices=["dev", "test", "all"], default="all")
    parser.add_argument("--budget", type=int, default=2000)
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    split = None if chosen.split == "all" else chosen.split
    rows: list[tuple[str, Sequence[str] | None]] = [("search", None), ("recall", ())]
    rows += [(f"without {step}", (step,)) for step in STEPS if step not in ("filters", "rerank")]
    rows += [("without recency, mmr", ("recency", "mmr"))]
    with tempfile.TemporaryDirectory() as folder:
        os.environ["VAULTMEM_STATE"] = f"{folder}/state"
        for one in sets(Path(folder), split):
            asker = Asker(one, chosen.budget)
            sys.stdout.write(f"\n{one.name}, {len(one.queries)} questions\n")
            sys.stdout.write(f"{'':24}recall@5 recall@10 nDCG@10 session tokens/hit\n")
            for name, without in rows:
                found = asker.row(without)
                if chosen.json:
                    sys.stdout.write(
                        json.dumps({"set": one.name, "row": name, **found._asdict()}) + "\n"
                    )
                    continue
                points = "".join(f"{100 * part:9.1f}" for part in found[:4])
                sys.stdout.write(f"{name:23}{points}{found.tokens_a_hit:9.0f}\n")


if __name__ == "__main__":
    main()
