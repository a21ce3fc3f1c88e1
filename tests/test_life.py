"""Sixty played days (benchmarks/life.py), by words alone: what is true stays, what is newer wins."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]


def played(*options: str) -> dict[str, Any]:
    ended = subprocess.run(
        [sys.executable, ROOT / "benchmarks" / "life.py", "--json", "--nights", "3", *options],
        env={**os.environ, "VAULTMEM_EMBEDDING_MODEL": "off", "VAULTMEM_MEMORIES_HISTORY": "off"},
        capture_output=True, text=True, check=False, timeout=600, cwd=ROOT,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    found: dict[str, Any] = json.loads(ended.stdout)
    return found


def test_after_sixty_days_what_is_true_is_told_and_nothing_stale() -> None:
    """The floor; benchmarks/README.md has the figures with an embedding model and without."""
    found = played()
    assert found["right"] >= 27, found["misses"]
    assert found["both"] <= 1, found["misses"]
    assert found["stale"] == 0, found["misses"]
    assert found["true facts lost"] == []
    assert found["noticed"] >= 14, found["unnoticed"]
    assert found["unrelated lines"] <= 0.2
    assert found["ticks found"] == "7 of 7"
    assert found["told to the wrong reader"] == 0


def test_in_another_life_nothing_true_is_lost_and_what_is_newer_comes_first() -> None:
    found = played("--story", "nurse")
    assert found["true facts lost"] == []
    assert found["right"] >= 46, found["misses"]
    assert found["stale first"] <= 3, found["misses"]
