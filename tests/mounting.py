"""Scripts that mount disks of their own, without being root."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.agent_run import PATIENCE


def _can_mount() -> bool:
    if sys.platform != "linux" or not shutil.which("unshare"):
        return False
    tried = ["unshare", "-Urm", "mount", "-t", "tmpfs", "none", "/mnt"]
    return subprocess.run(tried, capture_output=True, check=False).returncode == 0


mounts = pytest.mark.skipif(not _can_mount(), reason="no disk can be mounted here")


def runs_with_mounts(script: str, *words: object) -> None:
    """Run a Python script that may mount, and check that it succeeds."""
    done = subprocess.run(
        ["unshare", "-Urm", sys.executable, "-c", script, *map(str, words)],
        cwd=Path(__file__).parents[1], capture_output=True, text=True, check=False, timeout=4 * PATIENCE,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-4000:]
