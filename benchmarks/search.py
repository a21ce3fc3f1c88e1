"""The cost of a search, as a whole process and inside a running process.

python benchmarks/search.py [--notes 10000] [--folder FOLDER] [--pairs 21] [--keyword-only]

The vault is made by make_vault.py, in a temporary folder, or in FOLDER, where a later run finds it again.
Whole processes run in turns with `python -c pass`. Inside the process each question is asked
several times (--repeats) and its median counts; p50 and p99 are over the questions. Search by meaning gets
vectors that nobody computed (stand_in.py); what the model takes for one question stands apart.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import timing
from queries import make_queries
from timing import (
    VAULTMEM,
    Row,
    about,
    indexed_vault,
    print_table,
    quantile,
    run,
    surroundings,
    whole_process,
)

if TYPE_CHECKING:
    from vaultmem import Vault


def cold(vault: Path, env: dict[str, str], pairs: int) -> list[Row]:
    """`vaultmem search WORD` and `vaultmem --help` as whole processes."""
    word = make_queries(vault)["rare word"][0]
    search = [*VAULTMEM, "search", "--keyword", word, "--vault", str(vault)]
    rows = []
    for what, budget, command in (
        ("vaultmem search WORD, whole process", "≤ 4.5 × bare Python", search),
        ("vaultmem --help", "", [*VAULTMEM, "--help"]),
    ):
        run(command, env)
        rows.append(whole_process(what, budget, partial(run, command, env), env, pairs))
    return rows


class Warm:
    """Searches inside one process, each question `repeats` times."""

    def __init__(self, opened: Vault, vault: Path, repeats: int) -> None:
        self.opened = opened
        self.repeats = repeats
        self.kinds = make_queries(vault)
        self.everything = [query for queries in self.kinds.values() for query in queries]

    def keyword_rows(self) -> list[Row]:
        """All questions together, then each kind."""
        took = dict(zip(self.everything, self.asked(semantic=False), strict=True))
        budget = "p50 ≤ 1 ms, p99 ≤ 20 ms at 100,000 notes"
        rows = [_row("by keyword, all questions", budget, list(took.values()))]
        for kind, queries in self.kinds.items():
            rows.append(_row(f"  {kind}", "", [took[query] for query in queries]))
        return rows

    def hybrid_rows(self) -> list[Row]:
        """All questions by keyword and meaning, and the extra time for embedding them."""
        from stand_in import store_vectors

        embedder = self.opened.searcher().meaning().embedder
        once = timed(partial(embedder.query, self.everything[0]))
        thinking = [timed(partial(embedder.query, query)) for query in self.everything]
        count = store_vectors(self.opened.searcher())
        budget = "p50 ≤ 15 ms with the embedding"
        return [
            _row(f"by keyword and meaning, {count:,} vectors", budget, self.asked(semantic=True)),
            Row("  first question loads the model", "", f"{once:.0f} ms"),
            _row("  embedding a question after that", "", thinking),
        ]

    def asked(self, *, semantic: bool) -> list[float]:
        """Milliseconds that each question takes; the first round only warms up."""
        rounds = [
            [timed(partial(self.opened.search, q, semantic=semantic)) for q in self.everything]
            for _ in range(self.repeats + 1)
        ]
        return [median(times) for times in zip(*rounds[1:], strict=True)]


def timed(action: Callable[[], object]) -> float:
    """Milliseconds."""
    started = time.perf_counter()
    action()
    return (time.perf_counter() - started) * 1000


def _row(what: str, budget: str, took: Sequence[float]) -> Row:
    return Row(what, budget, f"p50 {median(took):.2f} ms, p99 {quantile(took, 0.99):.2f} ms")


def warm(vault: Path, repeats: int, *, keyword_only: bool) -> list[Row]:
    """Keyword search of every kind, then search by keyword and meaning."""
    from vaultmem import Vault  # after the children, which start as large as this process

    with Vault(str(vault)) as opened:
        bench = Warm(opened, vault, repeats)
        rows = bench.keyword_rows()
        return rows if keyword_only else rows + bench.hybrid_rows()


def measure(options: argparse.Namespace, folder: Path | None) -> tuple[str, list[Row]]:
    """A heading and the rows. Afterwards this process has the environment of its children."""
    with tempfile.TemporaryDirectory(prefix="vaultmem-search-") as temporary:
        work = Path(temporary)
        env = surroundings(work)
        vault = indexed_vault(folder or work / "vault", options.notes, env)
        rows = cold(vault, env, options.pairs)
        for name in os.environ.keys() - env.keys():
            del os.environ[name]
        os.environ.update(env)
        return about(vault), rows + warm(vault, options.repeats, keyword_only=options.keyword_only)


def arguments(parser: argparse.ArgumentParser) -> None:
    """The options shared with run.py."""
    parser.add_argument("--pairs", type=int, default=21, help="runs of each whole process")
    parser.add_argument("--repeats", type=int, default=5, help="of each question inside a process")
    parser.add_argument("--keyword-only", action="store_true", help="no vectors")


def main() -> None:
    """Print the table."""
    parser = timing.parser(__doc__)
    arguments(parser)
    options = parser.parse_args()
    heading, rows = measure(options, options.folder)
    print(heading)
    print_table(rows)


if __name__ == "__main__":
    main()
