"""Questions with two hops: the answer is beside a name that only another line gives.

python benchmarks/recall/hops.py [--split dev|test|all] [--show] [--without]

The lines of hops.tsv are put into a copy of the sample vault, among lines that look like answers: two memories, or a
note with a link and the note it leads to. Printed is the share of questions whose second line is among the first three,
five, ten of a recall; and how questions with one hop (sample.jsonl) fare, which another round must not harm.
"""

import argparse
import os
import re
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import measure

from vaultmem import Vault

HERE = Path(__file__).parent
SAMPLE = HERE.parents[1] / "sample-vault"


class Hop(NamedTuple):
    """Two lines, and the question that needs both."""

    split: str
    form: str
    first: str
    second: str
    question: str


def hops() -> list[Hop]:
    """All of them."""
    lines = (HERE / "hops.tsv").read_text("utf-8").splitlines()
    rows = (line.split("\t") for line in lines if not line.startswith("#"))
    return [Hop(*[*row, "", ""][:5]) for row in rows]


def write(vault: Path, every: list[Hop]) -> None:
    """Write the lines into a vault."""
    for number, hop in enumerate(every):
        if hop.form == "note":
            name = re.search(r"\[\[(.+)\]\]", hop.first)
            assert name
            (vault / f"Things {number}.md").write_text(f"{hop.first}\n", "utf-8")
            (vault / f"{name[1]}.md").write_text(f"{hop.second}\n", "utf-8")
            continue
        for part, text in (("a", hop.first), ("b", hop.second)):
            if not text:  # what looks like an answer has one line
                continue
            place = vault / f"vaultmem/knowledge/{number}{part}.md"
            place.parent.mkdir(parents=True, exist_ok=True)
            head = f"---\nid: hop-{number}-{part}\ncreated_at: 2026-10-01T12:00:00Z\n---\n"
            place.write_text(f"{head}{text}\n", "utf-8")


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="Measure questions with two hops.")
    parser.add_argument("--split", choices=["dev", "test", "all"], default="dev")
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--without", action="store_true", help="no second round")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made) / "vault"
        os.environ["VAULTMEM_STATE"] = f"{made}/state"
        shutil.copytree(SAMPLE, folder)
        write(folder, hops())
        vault = Vault(str(folder))
        vault.sync()
        vault.embed()
        without = ["hop"] if chosen.without else []
        asked = [hop for hop in hops() if hop.question and chosen.split in (hop.split, "all")]
        ranks, times = [], []
        for hop in asked:
            begun = time.process_time()
            told = vault.recall(hop.question, budget=2000, top_k=50, without=without)["memories"]
            times.append(1000 * (time.process_time() - begun))
            places = [n for n, one in enumerate(told, 1) if hop.second in str(one["content"])]
            ranks.append(min(places, default=99))
            if chosen.show:
                sys.stdout.write(f"{ranks[-1]:3} {hop.question}\n")
                for one in told[:3]:
                    parts = {key: value for key, value in one["parts"].items() if "hop" in key}
                    sys.stdout.write(f"      {one['score']:.2f} {parts} {one['content'][:80]!r}\n")
        for most in (3, 5, 10, 50):
            share = sum(rank <= most for rank in ranks) / len(ranks)
            sys.stdout.write(f"two hops: {share:4.0%} among the first {most}\n")
        sys.stdout.write(f"two hops: {statistics.median(times):.0f} ms of processor time\n")
        split = None if chosen.split == "all" else chosen.split
        queries = measure.read_queries(HERE / "sample.jsonl", split)
        rows, times = [], []
        for query in queries:
            begun = time.process_time()
            told = vault.recall(query.text, budget=2000, top_k=10, without=without)["memories"]
            times.append(1000 * (time.process_time() - begun))
            spans = [measure.Span(one["path"], one["line"], one["end_line"]) for one in told]
            rows.append(measure.scores(query.labels, spans))
        mean = measure.mean(rows)
        points = " ".join(f"{name} {100 * value:.1f}" for name, value in mean.items())
        sys.stdout.write(f"one hop: {points}, {statistics.median(times):.0f} ms\n")
        vault.close()


if __name__ == "__main__":
    main()
