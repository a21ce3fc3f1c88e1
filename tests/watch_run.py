"""A watched folder, and a listener that records."""

import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from vaultmem.vault.watch import Watcher

linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has these limits")
PATIENCE = 60.0  # seconds; only a failing test waits this long
Call = tuple[str, ...]


class Heard:
    """A listener that records calls."""

    def __init__(self) -> None:
        self.calls: list[Call] = []

    def touched(self, path: str, *, folder: bool = False) -> None:
        self.calls.append(("folder" if folder else "touched", path))

    def look_at_all(self, within: float = 0.0) -> None:
        self.calls.append(("later",) if within else ("at once",))

    def wait(self, *calls: Call) -> None:
        """Wait for these calls, in any order and among others."""
        until(lambda: set(calls) <= set(self.calls), lambda: (set(calls), self.calls))

    def of(self, kind: str) -> list[Call]:
        return [call for call in self.calls if call[0] == kind]

    def covers(self, path: str) -> bool:
        """Whether a file, or a folder that contains it, was reported."""
        return ("touched", path) in self.calls or any(
            path.startswith(call[1] + "/") for call in self.of("folder")
        )


def until(happened: Callable[[], bool], state: Callable[[], object] = lambda: "") -> None:
    end = time.monotonic() + PATIENCE
    while not happened():
        assert time.monotonic() < end, state()
        time.sleep(0.005)


def begin(watcher: Watcher) -> None:
    """Start it, and wait until it watches all folders."""
    watcher.start()
    until(lambda: watcher.as_dict()["whole"])
    assert watcher.as_dict() == {"alive": True, "whole": True, "trouble": None}


def end(watcher: Watcher) -> None:
    """Stop it, if it was started, and wait until it has ended."""
    watcher.stop()
    if watcher.ident:
        watcher.join()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "vault"
    folder.mkdir()
    return folder


@pytest.fixture
def heard() -> Heard:
    return Heard()


def fill(root: Path, *paths: str) -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(path, encoding="utf-8")
