"""What the hook prints at the start of a session."""

import time
from pathlib import Path

import pytest

from tests.cli_run import Ran, on
from tests.conftest import Write
from tests.index_dump import synced
from vaultmem import Vault
from vaultmem_assistants import programs

HARNESSES = tuple(programs.HARNESSES)
NOW = time.mktime((2026, 11, 22, 12, 0, 0, 0, 0, -1))


@pytest.fixture(autouse=True)
def today(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is noon of 22 November 2026."""
    monkeypatch.setattr(time, "time", lambda: NOW)


def asked(vault: Path | str, *more: str, harness: str = "claude") -> Ran:
    return on(vault, "hook", "session-start", "--harness", harness, *more)


def text_in(answer: dict[str, object], harness: str) -> str:
    """The context, where the harness looks for it, with nothing else around it."""
    if harness in ("copilot", "opencode"):
        assert answer.keys() == {"additionalContext"}
        return str(answer["additionalContext"])
    if harness == "cursor":
        assert answer.keys() == {"additional_context"}
        return str(answer["additional_context"])
    inner = answer["hookSpecificOutput"]
    assert answer.keys() == {"hookSpecificOutput"}
    assert isinstance(inner, dict)
    assert inner.keys() == {"hookEventName", "additionalContext"}
    assert inner["hookEventName"] == "SessionStart"
    return str(inner["additionalContext"])


@pytest.fixture
def remembering(vault: Path, write: Write) -> Path:
    """A vault with preferences, memories of other kinds, and tasks, its own and from elsewhere."""
    with Vault(str(vault)) as opened:
        opened.write("Prefers trains to planes", category="preferences")
        opened.write("Run the tests before a commit", category="skills", memory_type="procedural")
        opened.write("The boiler is a Vaillant", category="knowledge")
        opened.write(
            "Prefers what a web page says", category="preferences", source="https://x.test"
        )
    write(
        "Home.md",
        "- [ ] call Anne 📅 2026-11-20\n- [ ] roof 📅 2026-11-22\n- [ ] bins 📅 2026-11-25\n",
    )
    write("Clippings/Page.md", "- [ ] buy our course 📅 2026-11-21\n")
    write("Web.md", "---\nurl: https://x.test\n---\n- [ ] visit us 📅 2026-11-21\n")
    write("Far.md", "- [ ] retire 📅 2046-11-25\n")
    synced(vault)
    return vault


def advised(text: str) -> list[str]:
    """The commands that the hook suggests, each on its own line."""
    lines = text.splitlines()
    return lines[lines.index("Commands for a shell:") + 1 :]
