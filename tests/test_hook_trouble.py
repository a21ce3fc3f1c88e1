"""A hook never prevents a session from starting: broken settings, a damaged index, wrong words."""

import json
import os
import select
import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from tests.cli_run import Ran, one_line, process, ran
from tests.conftest import fill
from tests.hooked import HARNESSES, advised, asked, remembering, text_in, today
from tests.stand_in_agent import agent_for
from tests.tables import each_case
from vaultmem import client, paths
from vaultmem_assistants.context import context

__all__ = ["remembering", "today"]  # fixtures


def empty(ended: Ran, harness: str = "claude") -> str:
    """The hook has answered with an empty context. Returns the line that says why."""
    assert ended.code == 0
    assert text_in(ended.data, harness) == ""
    return one_line(ended)


@each_case("harness", HARNESSES)
def test_without_a_vault_the_context_is_empty(tmp_path: Path, harness: str) -> None:
    assert "does not exist" in empty(asked(tmp_path / "gone", harness=harness), harness)


def test_broken_settings_are_an_empty_context(vault: Path, tmp_path: Path) -> None:
    fill(tmp_path, {"vaultmem/config.yaml": "vault: [\n"})
    words = ("hook", "session-start", "--harness", "claude", "--vault", str(vault))
    assert "config.yaml" in empty(process(*words, XDG_CONFIG_HOME=str(tmp_path)))


@each_case("prompt", ["", "boiler"])
def test_a_damaged_index_is_healed_and_all_is_told(
    remembering: Path, prompt: str, caplog: pytest.LogCaptureFixture
) -> None:
    asked(remembering)
    caplog.clear()
    state = Path(paths.state_folder(str(remembering)))
    for file in state.rglob("catalog.db*"):
        file.write_bytes(b"damaged" * 1000)
    ended = asked(remembering, "--prompt", prompt)
    assert ended.code == 0
    assert advised(text_in(ended.data, "claude"))
    assert "pending>" in ended.out
    assert [record.getMessage() for record in caplog.records] == [
        "the catalog is damaged; rebuilding it"
    ]


def test_an_odd_error_gives_an_empty_context(vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "vaultmem_assistants.hook.context", Mock(side_effect=RuntimeError("what\nis this"))
    )
    assert empty(asked(vault)) == "vaultmem: what is this"


def test_what_fails_there_is_done_here(remembering: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from vaultmem_assistants import hook

    alone = asked(remembering)
    real, calls = context, []

    def first_fails(*words: object) -> object:
        calls.append(words)
        if len(calls) == 1:
            raise RuntimeError("in the agent")
        return real(*words)  # type: ignore[arg-type] # handed on as it came

    monkeypatch.setattr(hook, "context", first_fails)
    with agent_for(remembering):
        assert asked(remembering) == alone
    assert len(calls) == 2


@each_case(
    "words",
    ["session-end --harness claude", "session-start", "", "session-start --harness", "--harness claude --more x", "session-start --harness emacs"],
)  # fmt: skip
def test_wrong_words_are_said_and_keep_nobody_from_starting(words: str) -> None:
    for through in (ran, process) if "end" in words else (ran,):
        ended = through("hook", *words.split())
        assert (ended.code, ended.out) == (0, "{}\n")
        assert ("known: claude" in one_line(ended)) is ("emacs" in words)


def test_the_harness_names_a_folder_of_the_vault(remembering: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    inner = remembering / "Clippings"
    for said in ({"cwd": str(inner)}, {"cwd": "/", "workspace_roots": [7, str(inner)]}):
        (tmp_path / "said").write_text(json.dumps(said))
        with (tmp_path / "said").open() as stdin:
            ended = subprocess.run(
                [sys.executable, "-m", "vaultmem", "hook", "session-start", "--harness", "cursor"],
                stdin=stdin, capture_output=True, text=True, check=True, cwd=tmp_path / "elsewhere", timeout=60,
            )  # fmt: skip
        assert "trains" in text_in(json.loads(ended.stdout), "cursor"), ended.stderr


@pytest.mark.parametrize("stdin", [b"{", b"[]", b'{"cwd": 7}', b"\xff" * 9, b"[" * 60_000])
def test_unreadable_stdin_is_ignored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stdin: bytes
) -> None:
    monkeypatch.chdir(tmp_path)
    assert "no vault here" in empty(
        process("hook", "session-start", "--harness", "claude", stdin=stdin)
    )


def test_what_comes_on_stdin_a_moment_later_is_read_unless_the_folder_is_a_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cursor starts its hook in a folder of its own, and writes where the session is."""
    reading, writing = os.pipe()
    waits: list[float] = []
    real = select.select

    def late(*given: Any) -> Any:
        waits.append(given[3])
        return os.write(writing, b"{}") and real(*given)

    monkeypatch.setattr(select, "select", late)
    with os.fdopen(reading) as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        for folder in ("elsewhere", "project/.git", "vault/.obsidian"):
            (tmp_path / folder).mkdir(parents=True)
            monkeypatch.chdir((tmp_path / folder).parent if "." in folder else tmp_path / folder)
            assert client._read_stdin() == "{}"
    os.close(writing)
    assert waits == [client._AT_ONCE, 0.0, 0.0]


def test_nobody_waits_for_stdin(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    try:
        ended = subprocess.run(
            [sys.executable, "-m", "vaultmem", "hook", "session-start", "--harness", "claude"],
            stdin=reading, capture_output=True, check=True, cwd=tmp_path, timeout=60,
        )  # fmt: skip
    finally:
        os.close(reading)
        os.close(writing)
    assert text_in(json.loads(ended.stdout), "claude") == ""
