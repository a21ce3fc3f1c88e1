"""Time whole processes against each other, and print the results.

Wall time on a busy machine says little: what is compared runs in turns, in one run, and the median of
the ratios counts. Children run as an installed package does, with their bytecode kept, in a world
of their own: no settings of the user, a state folder that the benchmark chooses.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import NamedTuple

VAULTMEM = [sys.executable, "-c", "from vaultmem.cli import entry; entry()"]
BARE = [sys.executable, "-c", "pass"]
HERE = Path(__file__).resolve().parent


class Run(NamedTuple):
    """What one process took: seconds, seconds of processor time, and its highest memory in MB."""

    wall: float
    cpu: float
    memory: float


class Row(NamedTuple):
    """One line of a table; `budget` is the target, empty if there is none."""

    what: str
    budget: str
    measured: str
    ratio: str = ""


def surroundings(folder: Path) -> dict[str, str]:
    """The environment for children that keep their state, settings and bytecode below `folder`."""
    unwanted = ("VAULTMEM_", "PYTHONDONTWRITEBYTECODE")
    kept = {name: text for name, text in os.environ.items() if not name.startswith(unwanted)}
    return {
        **kept,
        "VAULTMEM_STATE": str(folder / "state"),
        "XDG_CONFIG_HOME": str(folder / "config"),
        "PYTHONPYCACHEPREFIX": os.environ.get("PYTHONPYCACHEPREFIX", str(folder / "bytecode")),
        "VAULTMEM_PENDING_PATH": "off",  # a measured vault stays unchanged
        "VAULTMEM_NOTIFY_METHOD": "none",
    }


def run(command: Sequence[str], env: dict[str, str]) -> Run:
    """Run a process to its end. If it fails, print its output and stop."""
    started = time.perf_counter()
    with subprocess.Popen(
        command,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    ) as child:
        assert child.stderr is not None
        said = child.stderr.read()
        _, status, used = os.wait4(child.pid, 0)
        wall = time.perf_counter() - started
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"{' '.join(command)} failed: {said.decode(errors='replace')}")
    unit = 1 << 20 if sys.platform == "darwin" else 1 << 10
    return Run(wall, used.ru_utime + used.ru_stime, used.ru_maxrss / unit)


def typical(runs: Sequence[Run]) -> Run:
    """The median of each figure."""
    return Run(*(median(column) for column in zip(*runs, strict=True)))


def in_turns(
    first: Callable[[], Run], second: Callable[[], Run], rounds: int
) -> tuple[list[Run], list[Run]]:
    """A B A B ...: both run under the same conditions."""
    pairs = [(first(), second()) for _ in range(rounds)]
    return [a for a, _ in pairs], [b for _, b in pairs]


def ratios(runs: Sequence[Run], others: Sequence[Run]) -> Run:
    """How many times more the first ones took, pair by pair; the median."""
    return typical(
        [
            Run(*(mine / theirs for mine, theirs in zip(run, other, strict=True)))
            for run, other in zip(runs, others, strict=True)
        ]
    )


def taken(one: Run) -> str:
    """The milliseconds of a process."""
    return f"{one.wall * 1000:.0f} ms, CPU {one.cpu * 1000:.0f} ms"


def whole_process(
    what: str, budget: str, work: Callable[[], Run], env: dict[str, str], rounds: int
) -> Row:
    """What a process takes, in turns with a bare start of Python."""
    mine, bare = in_turns(work, partial(run, BARE, env), rounds)
    times = ratios(mine, bare)
    ratio = f"{times.wall:.2f} × bare Python (CPU {times.cpu:.2f} ×)"
    return Row(what, budget, taken(typical(mine)), ratio)


def quantile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least this share of all values does not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, max(0, round(share * len(ordered)) - 1))]


def print_table(rows: Sequence[Row]) -> None:
    """Columns of equal width."""
    lines = [Row("what", "budget", "measured", "ratio"), *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(Row._fields))]
    for line in lines:
        cells = [cell.ljust(width) for cell, width in zip(line, widths, strict=True)]
        print("  ".join(cells).rstrip())


def print_markdown(rows: Sequence[Row]) -> None:
    """The same as a Markdown table."""
    print("| what | budget | measured | ratio |\n| --- | --- | --- | --- |")
    for row in rows:
        print(f"| {' | '.join(row)} |")


def parser(about: str, notes: int = 10_000) -> argparse.ArgumentParser:
    """The options of every benchmark of a made vault. `about` is its docstring."""
    made = argparse.ArgumentParser(description=about.splitlines()[0])
    made.add_argument("--notes", type=int, default=notes)
    made.add_argument("--folder", type=Path, help="where the vault is, or shall be made")
    return made


def indexed_vault(folder: Path, notes: int, env: dict[str, str]) -> Path:
    """The made vault in `folder` with an index, but no vectors."""
    vault = ready_vault(folder, notes, env)
    run([*VAULTMEM, "sync", "--no-embed", "--vault", str(vault)], env)
    return vault


def ready_vault(folder: Path, notes: int, env: dict[str, str]) -> Path:
    """The made vault in `folder`, written by another process, so that this one stays small."""
    if not folder.exists():
        unfinished = folder.with_name(folder.name + ".unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        maker = str(HERE / "make_vault.py")
        run([sys.executable, maker, str(unfinished), "--notes", str(notes)], env)
        unfinished.rename(folder)
    return folder


def about(vault: Path) -> str:
    """The machine and versions that were measured, for a table's heading."""
    sizes = [path.stat().st_size for path in vault.rglob("*.md")]
    python = ".".join(map(str, sys.version_info[:3]))
    return f"{len(sizes):,} notes, {sum(sizes) / 1e6:.1f} MB; Python {python}, {os.cpu_count()} processors"
