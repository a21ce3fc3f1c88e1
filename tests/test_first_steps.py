"""vaultmem setup: what it finds, what it does after a yes, and that --undo leaves everything as before."""

import json
from pathlib import Path

import pytest

from tests.cli_run import at_terminal, process, tree_hash
from tests.conftest import fill
from tests.scripted_llm import ScriptedLlm
from vaultmem import config as settings
from vaultmem import paths
from vaultmem.errors import ConfigError
from vaultmem.service import life
from vaultmem_assistants import setup_record
from vaultmem_chat import llm

SETTINGS = '{\n  "model": "opus",\n  "hooks": {"Stop": []}\n}\n'


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with a vault that Obsidian lists, a graph of Logseq, and two assistants."""
    folder = tmp_path / "home"
    notes, graph = folder / "Notes", folder / "My graph"
    known = {"a": {"path": str(notes)}, "b": {"path": str(folder / "gone")}}
    fill(folder, {
        "Notes/Tasks.md": "- [ ] call Anne 📅 2020-01-01\n", ".claude/settings.json": SETTINGS,
        f".logseq/graphs/logseq_local_{str(graph).replace('/', '++')}.transit": "",
        ".config/obsidian/obsidian.json": json.dumps({"vaults": known}),
    })  # fmt: skip
    for name in ("Notes/.obsidian", "My graph/logseq", ".codex"):
        (folder / name).mkdir(parents=True)
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("PATH", str(tmp_path))  # no assistant's program is installed
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / ".config"))
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)  # no service manager to ask
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME"):
        monkeypatch.delenv(name, raising=False)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    return folder


def contents(home: Path) -> dict[str, bytes]:
    """All files but what the agent writes for the person."""
    files = (each for each in home.rglob("*") if each.is_file())
    own = home / "Notes" / "vaultmem"
    return {str(file): file.read_bytes() for file in files if own not in file.parents}


def test_a_dry_run_shows_every_change_and_makes_none(home: Path) -> None:
    before = tree_hash(home)
    shown = process("setup", "--dry-run")
    assert shown.code == 0, shown.err
    assert f"+vault: {home}/Notes" in shown.out
    assert "connect Claude Code" in shown.out
    assert "+vaultmem" not in shown.err
    assert "hook session-start --harness claude" in shown.out
    steps = process("setup", "--dry-run", "--json").data["steps"]
    assert len(steps) == 4
    assert (tree_hash(home), setup_record.recorded_steps()) == (before, [])


def test_all_of_it_is_done_and_taken_back(home: Path) -> None:
    before = contents(home)
    done = process("setup", "--yes")
    try:
        assert done.code == 0, done.err
        assert "1 overdue" in done.out
        assert life.ping(str(home / "Notes"))
        assert "call Anne" in process("pending", "--all").out  # with no vault named
        assert "vaultmem" in (home / ".claude.json").read_text()
        assert "hook session-start" in (home / ".claude/settings.json").read_text()
        again = process("setup", "--yes")
        assert "nothing had to be done" in again.out, again.out
    finally:
        undone = process("setup", "--undo")
    assert undone.out.count("undone: ") == 4, undone.err
    assert not life.ping(str(home / "Notes"))
    assert contents(home) == before
    assert "nothing that could be undone" in process("setup", "--undo").err


def test_a_service_that_cannot_start_leaves_the_agent_running(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    systemctl = tmp_path / "systemctl"
    systemctl.write_text("#!/bin/sh\nexit 1\n")
    systemctl.chmod(0o700)
    try:
        for _ in range(2):
            assert "the service could not be started" in process("setup", "--yes").err
        assert life.ping(str(home / "Notes"))
        assert process("setup", "--undo", "--dry-run").out.count("start the agent") == 1
    finally:
        process("setup", "--undo")


def test_setup_undo_keeps_a_record_of_what_it_cannot_undo(home: Path) -> None:
    config = Path(paths.config_file())
    config.parent.mkdir(parents=True, exist_ok=True)
    own = f"# my old vault: {home}/Notes\nsearch.limit: 5\n"
    config.write_text(own)
    assert process("setup", "--yes").code == 0
    servers = home / ".claude.json"
    before = servers.read_text()
    servers.write_text(before.replace("{", "{ // mine\n", 1))
    undone = process("setup", "--undo", "--yes")
    assert undone.code == 1
    assert "not undone: connect Claude Code" in undone.err
    assert undone.out.count("undone: ") == 3
    assert not life.ping(str(home / "Notes"))
    assert config.read_text() == own
    servers.write_text(before)
    assert process("setup", "--undo").out.startswith("undone: connect Claude Code")
    assert not servers.exists()


def test_without_a_vault_setup_says_where_it_looked_and_how_to_name_one(
    home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "none"))
    ended = process("setup", "--yes")
    assert ended.code == 1
    assert "neither Obsidian nor Logseq lists one; name yours: vaultmem setup FOLDER" in ended.err


def test_a_person_chooses_the_vault_and_each_step(home: Path) -> None:
    shown = at_terminal(
        "setup", typed="2\ny\nn\nn\ny\n"
    ).out  # the graph: default yes, agent no, Claude no, Codex yes
    assert "Which one is it? [1-2" in shown
    assert [(step.kind, step.name) for step in setup_record.recorded_steps()] == [
        ("setting", ""), ("assistant", "codex"),
    ]  # fmt: skip
    config = Path(paths.config_file())
    assert config.read_text() == f"vault: {home}/My graph\n"
    assert (home / ".claude/settings.json").read_text() == SETTINGS
    config.write_text(config.read_text() + "search.limit: 5\n")
    assert process("setup", "--undo").code == 0
    assert config.read_text() == "search.limit: 5\n"  # what is the person's stays


def test_a_setting_takes_the_place_of_its_line() -> None:
    with_setting = settings.with_setting
    assert with_setting("a: 1\nvault: /x\nb: 2\n", "vault", "/y") == "a: 1\nvault: /y\nb: 2\n"
    assert with_setting("a: 1", "vault", '"q\\') == 'a: 1\nvault: "\\"q\\\\"\n'
    assert with_setting("", "vault", "/y") == "vault: /y\n"
    with pytest.raises(ConfigError, match="fix or remove"):
        with_setting("a: [\n", "vault", "/y")
    with pytest.raises(ConfigError, match="yourself"):
        with_setting("llm:\n  model: x\n", "llm.model", "y")
    with pytest.raises(ConfigError, match="yourself"):
        with_setting("{a: 1}\n", "vault", "/y")  # undoing needs a line about what setup has done


def test_a_model_that_runs_here_is_found_by_its_port(
    scripted_llm: ScriptedLlm, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripted_llm.models = ["nomic-embed-text", "llama3.2"]
    port = int(scripted_llm.url.rpartition(":")[2].partition("/")[0])
    (one,) = llm.local_models({"Nothing": 1, "Ollama": port})
    assert (one.program, one.address, one.model) == (
        "Ollama",
        scripted_llm.url.replace("localhost", "127.0.0.1"),
        "llama3.2",
    )
    monkeypatch.setattr(llm, "local_models", lambda: [one])
    for form, words in (
        ("--upstream {address}", "1"),
        ("--upstream {address} --model {name}", "--model llama3.2"),
    ):
        with pytest.raises(ConfigError, match=rf"Ollama runs here, type --upstream .*{words}$"):
            llm.find_local_model(None, None, form)
    monkeypatch.undo()
    scripted_llm.models_status = 500
    assert llm.local_models({"Ollama": port}) == []
