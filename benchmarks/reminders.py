"""The cost of finding what is due: the first check of an index, one after an edit, and one without any.

python benchmarks/reminders.py [--notes 10000] [--folder FOLDER] [--rounds 20]

The vault is made by make_vault.py, in a temporary folder, or in FOLDER, where a later run finds it again. A sync
between two looks is not counted. Medians of looks inside one process.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

import timing
from timing import Row, about, print_table, ready_vault, surroundings

from vaultmem.config import Config
from vaultmem.index.catalog import Catalog
from vaultmem.index.state import State
from vaultmem.index.sync import sync
from vaultmem.ledger.ledger import Ledger
from vaultmem.reminders.agenda import Agenda

NOW = datetime(2026, 11, 22, 10, tzinfo=UTC)
MANY = 10_000  # tasks in one note


class DueBench:
    """A vault, its index, and a finder that has checked once."""

    def __init__(self, vault: Path, work: Path, rounds: int) -> None:
        self.vault = vault
        self.work = work
        self.rounds = rounds

    def rows(self) -> list[Row]:
        """Measure everything."""
        self._sync()
        finder, catalog = self._finder(), self._catalog()
        first = self._look(finder, catalog)
        found = len(finder.dues(catalog, NOW, _open))
        edited = [self._edited(finder, catalog, number) for number in range(self.rounds)]
        still = [self._look(finder, catalog) for _ in range(self.rounds)]
        catalog.close()
        return [
            Row("what is due, the first look", "", _shown(first), f"{found} found"),
            Row("after an edit", "≤ 10 ms", _shown(median(edited))),
            Row("nothing changed", "≤ 10 ms", _shown(median(still))),
            Row(f"{MANY:,} tasks in one note, the first look", "≤ 1 s", _shown(self._many())),
        ]

    def _many(self) -> float:
        lines = (f"- [ ] task {n} 📅 2026-12-{1 + n % 28:02}\n" for n in range(MANY))
        (self.vault / "Many.md").write_text("".join(lines), "utf-8")
        self._sync()
        catalog = self._catalog()
        taken = self._look(self._finder(), catalog)
        catalog.close()
        (self.vault / "Many.md").unlink()
        return taken

    def _edited(self, finder: Agenda, catalog: Catalog, number: int) -> float:
        (self.vault / "Edited.md").write_text(f"- [ ] edited {number} 📅 2026-12-01\n", "utf-8")
        self._sync()
        return self._look(finder, catalog)

    def _look(self, finder: Agenda, catalog: Catalog) -> float:
        started = time.perf_counter()
        finder.dues(catalog, NOW, _open)
        return time.perf_counter() - started

    def _sync(self) -> None:
        sync(str(self.vault), Config({}), confirm_removals=True)

    def _finder(self) -> Agenda:
        return Agenda(Ledger(str(self.work / "ledger.db")), "vaultmem")

    def _catalog(self) -> Catalog:
        return Catalog(f"{State(str(self.vault)).generation()}/catalog.db")


def _open(_: str) -> bool:
    return False


def _shown(seconds: float) -> str:
    return f"{seconds * 1000:.1f} ms"


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = timing.parser(__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    args = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as scratch:
        work = Path(scratch)
        env = surroundings(work)
        os.environ.update(env)
        vault = ready_vault(args.folder or work / "vault", args.notes, env)
        rows = DueBench(vault, work, args.rounds).rows()
        print(about(vault))
        print_table(rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
