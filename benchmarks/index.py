"""The cost of indexing all notes, none and one, compared with a bare Tantivy loop and a bare start of Python.

python benchmarks/index.py [--notes 10000] [--folder FOLDER] [--rounds 3]

The vault is made by make_vault.py, in a temporary folder, or in FOLDER, where a later run finds it again.
Every figure is the median of processes that ran in turns with what they are compared with. Memory is
the highest of the process that did the work; vectors are no part of it.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import timing
from timing import (
    BARE,
    HERE,
    VAULTMEM,
    Row,
    Run,
    about,
    in_turns,
    print_table,
    ratios,
    ready_vault,
    run,
    surroundings,
    typical,
)

HVK, QMD = "hvk", "qmd"
SMALL_ROUNDS = 3  # runs with little to do are short: this many times the rounds


class IndexBench:
    """A vault and folders for state, bytecode and the bare loop's index."""

    def __init__(self, vault: Path, work: Path, rounds: int) -> None:
        self.vault = vault
        self.work = work
        self.rounds = rounds
        self.env = surroundings(work)
        self._notes = sorted(vault.rglob("*.md"))
        self._edited = 0

    def rows(self) -> list[Row]:
        """Measure everything."""
        run(BARE, self.env)
        run([*VAULTMEM, "--version"], self.env)
        first, raw = in_turns(self.first_index, self.bare_loop, self.rounds)
        sizes = self.sizes()
        bare = partial(run, BARE, self.env)
        nothing = in_turns(self.sync, bare, SMALL_ROUNDS * self.rounds)
        one = in_turns(self.one_note, bare, SMALL_ROUNDS * self.rounds)
        return [
            _row("bare Tantivy loop", "", raw, ""),
            _row("first index", "CPU ≤ 6 s, ≤ 4 × raw", first, _times(first, raw, "raw")),
            _row("sync, nothing changed", "≤ 0.3 s", nothing[0], _times(*nothing, "bare Python")),
            _row("sync, one note changed", "≤ 0.3 s", one[0], _times(*one, "bare Python")),
            *sizes,
        ]

    def sync(self) -> Run:
        """One sync as a person types it, without vectors."""
        return run([*VAULTMEM, "sync", "--no-embed", "--vault", str(self.vault)], self.env)

    def first_index(self) -> Run:
        """A sync with an empty state folder."""
        shutil.rmtree(self.work / "state", ignore_errors=True)
        return self.sync()

    def bare_loop(self) -> Run:
        """See raw_tantivy.py."""
        shutil.rmtree(self.work / "raw", ignore_errors=True)
        script = str(HERE / "raw_tantivy.py")
        return run([sys.executable, script, str(self.vault), str(self.work / "raw")], self.env)

    def one_note(self) -> Run:
        """Append a line to another note each time, sync, and remove the line again."""
        self._edited = (self._edited + 37) % len(self._notes)
        note = self._notes[self._edited]
        before = note.read_bytes()
        note.write_bytes(before + b"\nOne more line about the lighthouse.\n")
        try:
            return self.sync()
        finally:
            note.write_bytes(before)
            self.sync()

    def sizes(self) -> list[Row]:
        """The bytes on disk, separately for the catalog and the keyword index."""
        parts = {
            "catalog": [*self.work.glob("state/*/gen-*/catalog.db*")],
            "keyword index": [*self.work.glob("state/*/gen-*/kw/*")],
        }
        sizes = {name: sum(p.stat().st_size for p in found) / 1e6 for name, found in parts.items()}
        notes = sum(note.stat().st_size for note in self._notes) / 1e6
        raw = sum(part.stat().st_size for part in self.work.glob("raw/*")) / 1e6
        apart = ", ".join(f"{name} {size:.1f}" for name, size in sizes.items())
        total = sum(sizes.values())
        shown = f"{total:.1f} MB ({apart})"
        return [
            Row(
                "index without vectors",
                "≤ 15 MB",
                shown,
                f"{total / raw:.2f} × raw, {total / notes:.2f} × notes",
            )
        ]


def _row(what: str, budget: str, runs: Sequence[Run], ratio: str) -> Row:
    wall, cpu, memory = typical(runs)
    return Row(what, budget, f"{wall:.2f} s, CPU {cpu:.2f} s, {memory:.0f} MB", ratio)


def _times(runs: Sequence[Run], others: Sequence[Run], name: str) -> str:
    ratio = ratios(runs, others)
    return f"{ratio.wall:.1f} × {name} (CPU {ratio.cpu:.1f} ×)"


def measure(notes: int, folder: Path | None, rounds: int) -> tuple[str, list[Row]]:
    """A heading and the rows."""
    with tempfile.TemporaryDirectory(prefix="vaultmem-index-") as temporary:
        work = Path(temporary)
        vault = ready_vault(folder or work / "vault", notes, surroundings(work))
        return about(vault), IndexBench(vault, work, rounds).rows()


def measure_peers(vault: Path, rounds: int) -> list[Row]:
    """The first index of other programs, in turns with ours, as far as they are installed."""
    with tempfile.TemporaryDirectory(prefix="vaultmem-peers-") as temporary:
        work = Path(temporary)
        bench = IndexBench(vault, work, rounds)
        rows = [
            Row(f"first index, {QMD}", "", "not measured here" if shutil.which(QMD) else "not here")
        ]
        if program := shutil.which(HVK):
            options = ["--vault", str(vault), "--index", str(work / HVK)]
            theirs, ours = in_turns(
                partial(run, [program, *options, "rebuild"], bench.env), bench.first_index, rounds
            )
            size = sum(one.stat().st_size for one in (work / HVK).rglob("*") if one.is_file())
            row = _row(f"first index, {HVK}", "", theirs, _times(theirs, ours, "vaultmem"))
            return [row._replace(measured=f"{row.measured}, {size / 1e6:.1f} MB of disk"), *rows]
        return [Row(f"first index, {HVK}", "", "not here"), *rows]


def main() -> None:
    """Print the table."""
    parser = timing.parser(__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    heading, rows = measure(options.notes, options.folder, options.rounds)
    print(heading)
    print_table(rows)


if __name__ == "__main__":
    main()
