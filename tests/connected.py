"""A separate home folder in which assistants are connected."""

from pathlib import Path
from typing import Any

import pytest

from tests.cli_run import one_line, ran
from tests.conftest import fill

FILES = {
    "claude": ".claude/settings.json",
    "codex": ".codex/hooks.json",
    "gemini": ".gemini/settings.json",
    "copilot": ".copilot/hooks/vaultmem.json",
    "cursor": ".cursor/hooks.json",
}

ALL = pytest.mark.parametrize("name", FILES)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A separate home folder."""
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    return folder


def put(home: Path, name: str, text: str | bytes) -> Path:
    return fill(home, {FILES[name]: text}) / FILES[name]


def connect(name: str, *more: str, code: int = 0) -> Any:
    ended = ran("connect", name, "--json", *more)
    assert ended.code == code, ended.err
    return ended.data if not code else one_line(ended)
