"""The cost of listing pending items, as a whole process and without the agent.

python benchmarks/pending.py [--notes 10000] [--folder FOLDER] [--pairs 21]

The vault is made by make_vault.py, in a temporary folder, or in FOLDER, where a later run finds it again; some of its
tasks are due around today. Each command runs in turns with `python -c pass`: once with the listing that the first one
has left beside the index, once with the index, as after every change.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from datetime import date, timedelta
from functools import partial
from pathlib import Path

import timing
from timing import (
    VAULTMEM,
    Row,
    Run,
    about,
    print_table,
    ready_vault,
    run,
    surroundings,
    whole_process,
)

BUDGET = "≤ 3.5 × bare Python"
TASKS = 60
HOOK = ("hook", "session-start", "--harness", "claude")
SETTLED = 2.1  # seconds after which another change of a file is visible on any file system


def measure(options: argparse.Namespace, scratch: Path) -> tuple[str, list[Row]]:
    """The heading, and the rows of the table."""
    env = surroundings(scratch)
    vault = ready_vault(options.folder or scratch / "vault", options.notes, env)
    (vault / "Due.md").write_text(_tasks(date.today()), "utf-8")  # noqa: DTZ011 - the day on the wall
    run([*VAULTMEM, "sync", "--no-embed", "--vault", str(vault)], env)
    rows = [
        row for words in (("pending",), HOOK) for row in _rows(words, vault, env, options.pairs)
    ]
    return about(vault), rows


def _tasks(today: date) -> str:
    days = [today + timedelta(number % 30 - 10) for number in range(TASKS)]
    return "".join(f"- [ ] task {n} 📅 {day.isoformat()}\n" for n, day in enumerate(days))


def _rows(words: tuple[str, ...], vault: Path, env: dict[str, str], pairs: int) -> list[Row]:
    """A command with the listing and without it."""
    command = [*VAULTMEM, *words, "--vault", str(vault)]
    listing = _settled(command, env)

    def without() -> Run:
        listing.unlink(missing_ok=True)
        return run(command, env)

    what = f"vaultmem {words[0]}, whole process"
    with_it = whole_process(what, BUDGET, partial(run, command, env), env, pairs)
    return [with_it, whole_process("  after a change", "", without, env, max(pairs // 4, 1))]


def _settled(command: list[str], env: dict[str, str]) -> Path:
    """Ask until there is a listing. Returns its path. The first answer may write into the ledger, and a file written
    just now could change again and look the same, so the listing is not stored at once."""
    for _ in range(3):
        run(command, env)
        if found := list(Path(env["VAULTMEM_STATE"]).glob("*/pending.json")):
            return found[0]
        time.sleep(SETTLED)
    raise SystemExit("no listing was kept")


def main() -> None:
    """Print the table."""
    parser = timing.parser(__doc__)
    parser.add_argument("--pairs", type=int, default=21, help="how often whole processes are run")
    options = parser.parse_args()
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        heading, rows = measure(options, Path(scratch))
    print(heading)
    print_table(rows)
    print(f"{time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    main()
