"""What a search costs: as a whole process, and inside a process that stays.

    python benchmarks/search.py [--notes 10000] [--folder FOLDER] [--pairs 21] [--keyword-only]

The vault is made by make_vault.py, in a temporary folder, or in FOLDER, where a later run finds it again.
Whole processes run in turns with `python -c pass`. Inside the process each question is asked
several times and its median counts; p50 and p99 are over the questions. Search by meaning gets
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

from queries import make_queries
from timing import (
    BARE,
    VAULTMEM,
    Row,
    about,
    in_turns,
    print_table,
    quantile,
    ratios,
    ready_vault,
    run,
    surroundings,
    typical,
)

from vaultmem import Vault

REPEATS = 5


def cold(vault: Path, env: dict[str, str], pairs: int) -> list[Row]:
    """`vaultmem search WORD` and `vaultmem --help` as whole processes."""
    word = make_queries(vault)["rare word"][0]
    search = [*VAULTMEM, "search", word, "--vault", str(vault)]
    rows = []
    for what, budget, command in (
        ("vaultmem search WORD, whole process", "≤ 4.5 × bare Python", search),
        ("vaultmem --help", "", [*VAULTMEM, "--help"]),
    ):
        run(command, env)
        mine, bare = in_turns(partial(run, command, env), partial(run, BARE, env), pairs)
        took, times = typical(mine), ratios(mine, bare)
        measured = f"{took.wall * 1000:.0f} ms, CPU {took.cpu * 1000:.0f} ms"
        rows.append(
            Row(what, budget, measured, f"{times.wall:.2f} × bare Python (CPU {times.cpu:.2f} ×)")
        )
    return rows


def warm(vault: Path, *, keyword_only: bool) -> list[Row]:
    """Keyword search of every kind, then search by keyword and meaning."""
    kinds = make_queries(vault)
    everything = [query for queries in kinds.values() for query in queries]
    with Vault(str(vault)) as opened:
        rows = keyword_rows(opened, kinds, everything)
        if keyword_only:
            return rows
        from stand_in import store_vectors

        embedder = opened.searcher().meaning().embedder
        once = timed(partial(embedder.query, everything[0]))
        thinking = [timed(partial(embedder.query, query)) for query in everything]
        count = store_vectors(opened.searcher())
        rows.append(_row(f"by keyword and meaning, {count:,} vectors", "p50 ≤ 15 ms, p99 ≤ 20 ms at 100,000 notes",
                         asked(opened, everything, semantic=True)))  # fmt: skip
        rows.append(Row("  first question loads the model", "", f"{once:.0f} ms"))
        rows.append(_row("  embedding a question after that", "", thinking))
    return rows


def keyword_rows(opened: Vault, kinds: dict[str, list[str]], everything: list[str]) -> list[Row]:
    """All questions together, then each kind."""
    took = dict(zip(everything, asked(opened, everything, semantic=False), strict=True))
    budget = "p50 ≤ 1 ms, p99 ≤ 20 ms at 100,000 notes"
    rows = [_row("by keyword, all questions", budget, list(took.values()))]
    return rows + [
        _row(f"  {kind}", "", [took[q] for q in queries]) for kind, queries in kinds.items()
    ]


def asked(opened: Vault, queries: Sequence[str], *, semantic: bool) -> list[float]:
    """Milliseconds that each question takes; the first round only warms up."""
    rounds = [
        [timed(partial(opened.search, query, semantic=semantic)) for query in queries]
        for _ in range(REPEATS + 1)
    ]
    return [median(times) for times in zip(*rounds[1:], strict=True)]


def timed(action: Callable[[], object]) -> float:
    """Milliseconds."""
    started = time.perf_counter()
    action()
    return (time.perf_counter() - started) * 1000


def _row(what: str, budget: str, took: Sequence[float]) -> Row:
    return Row(what, budget, f"p50 {median(took):.2f} ms, p99 {quantile(took, 0.99):.2f} ms")


def measure(
    notes: int, folder: Path | None, pairs: int, *, keyword_only: bool = False
) -> tuple[str, list[Row]]:
    """A heading and the rows."""
    with tempfile.TemporaryDirectory(prefix="vaultmem-search-") as temporary:
        work = Path(temporary)
        env = surroundings(work)
        vault = ready_vault(folder or work / "vault", notes, env)
        run([*VAULTMEM, "sync", "--no-embed", "--vault", str(vault)], env)
        rows = cold(vault, env, pairs)
        os.environ.update(env)  # for the searches in this process
        return about(vault, notes), rows + warm(vault, keyword_only=keyword_only)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--notes", type=int, default=10_000)
    parser.add_argument("--folder", type=Path, help="where the vault is, or shall be made")
    parser.add_argument("--pairs", type=int, default=21)
    parser.add_argument("--keyword-only", action="store_true", help="no vectors")
    options = parser.parse_args()
    heading, rows = measure(
        options.notes, options.folder, options.pairs, keyword_only=options.keyword_only
    )
    print(heading)
    print_table(rows)


if __name__ == "__main__":
    main()
