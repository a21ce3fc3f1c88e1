"""A watched folder, and a listener that records."""

import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has these limits")
PATIENCE = 60.0  # seconds; only a failing test waits this long
Call = tuple[str, ...]


class Heard:
    """A listener that records calls."""

    def __init__(self) -> None:
        self.calls: list[Call] = []

    def touched(self, path: str) -> None:
        self.calls.append(("touched", path))

    def folder_touched(self, path: str) -> None:
        self.calls.append(("folder", path))

    def settings_touched(self) -> None:
        self.calls.append(("settings",))

    def git_touched(self) -> None:
        self.calls.append(("git",))

    def lost(self) -> None:
        self.calls.append(("lost",))

    def blind(self, what: str, fix: str) -> None:
        self.calls.append(("blind", what, fix))

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
