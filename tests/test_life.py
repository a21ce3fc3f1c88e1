"""Sixty played days (benchmarks/life.py), by words alone: what is true stays, what is newer wins."""

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_after_sixty_days_what_is_true_is_told_and_nothing_stale() -> None:
    """The floor; benchmarks/README.md has the figures with an embedding model and without."""
    ended = subprocess.run(
        [sys.executable, ROOT / "benchmarks" / "life.py", "--json", "--nights", "3"],
        env={**os.environ, "VAULTMEM_EMBEDDING_MODEL": "off", "VAULTMEM_MEMORIES_HISTORY": "off"},
        capture_output=True, text=True, check=False, timeout=600, cwd=ROOT,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    found = json.loads(ended.stdout)
    assert found["right"] >= 27, found["misses"]
    assert found["both"] <= 1, found["misses"]
    assert found["stale"] == 0, found["misses"]
    assert found["true facts lost"] == []
    assert found["noticed"] >= 14, found["unnoticed"]
    assert found["unrelated lines"] <= 0.2
    assert found["ticks found"] == "7 of 7"
    assert found["told to the wrong reader"] == 0
