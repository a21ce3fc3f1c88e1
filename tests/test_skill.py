"""The skill: short, true, put in once and taken out without a trace; somebody else's stays."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

import pytest
import yaml

from tests.cli_run import ran, tree_hash
from vaultmem.cli import COMMANDS
from vaultmem.harnesses import skill
from vaultmem.harnesses.table import HARNESSES
from vaultmem.store import minilm

MOST_TOKENS = 400


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME"):
        monkeypatch.delenv(name, raising=False)
    return folder


def file_of(home: Path) -> Path:
    return home / ".claude" / "skills" / "vaultmem" / "SKILL.md"


def test_it_is_worth_its_tokens() -> None:
    count = len(minilm.tokenizer().encode(skill.text_of("")).ids)
    assert 100 < count <= MOST_TOKENS


def test_it_says_what_a_skill_must_say() -> None:
    head = yaml.safe_load(skill.text_of("").split("---\n")[1])
    assert head["name"] == "vaultmem"
    assert 40 < len(head["description"]) <= 1024
    assert head.keys() == {"name", "description"}


def test_its_commands_are_ours() -> None:
    named = re.findall(r"`vaultmem ([a-z-]+)", skill.text_of(""))
    assert {"recall", "search", "write", "pending"} <= set(named)
    assert set(named) - COMMANDS.keys() <= {"recall"}  # until there is a table with it


def test_a_vault_is_named_in_every_command() -> None:
    text = skill.text_of(shlex.quote("/my notes"))
    found = re.findall(r"`vaultmem (?!connect)[a-z]+ ([^`]*)", text)
    assert len(found) >= 6
    assert all(each.startswith("--vault '/my notes'") for each in found)


def test_it_goes_in_once_and_out_without_a_trace(home: Path) -> None:
    told = ran("connect", "claude", "--format", "json").data
    assert (told["skill"]["path"], told["skill"]["changed"]) == (str(file_of(home)), True)
    assert file_of(home).read_text() == skill.text_of("")
    once = tree_hash(home)
    assert not ran("connect", "claude").data["skill"]["changed"]
    assert tree_hash(home) == once
    assert ran("connect", "claude", "--remove").data["skill"]["changed"]
    assert not file_of(home).parent.parent.exists()
    assert not ran("connect", "claude", "--remove").data["skill"]["changed"]
    assert [*home.rglob("*")] == [home / ".claude", home / ".claude" / "settings.json"]


def test_a_dry_run_shows_it(home: Path) -> None:
    told = ran("connect", "claude", "--dry-run").data
    assert "+name: vaultmem" in told["skill"]["diff"]
    assert [*home.iterdir()] == []
    assert "+name: vaultmem" in ran("connect", "claude", "--dry-run", "--format", "text").out


def test_an_older_one_of_ours_is_renewed(home: Path) -> None:
    file_of(home).parent.mkdir(parents=True)
    file_of(home).write_text(f"old {skill.MARK} -->\n")
    assert ran("connect", "claude").data["skill"]["changed"]
    assert file_of(home).read_text() == skill.text_of("")


@pytest.mark.parametrize("words", [(), ("--remove",), ("--dry-run",)])
def test_somebody_elses_stays(home: Path, words: tuple[str, ...]) -> None:
    file_of(home).parent.mkdir(parents=True)
    file_of(home).write_text("mine\n")
    (file_of(home).parent / "more.md").write_text("more\n")
    ended = ran("connect", "claude", *words)
    assert ended.code == 0
    assert file_of(home).read_text() == "mine\n"
    assert sorted(os.listdir(file_of(home).parent)) == ["SKILL.md", "more.md"]
    assert ("left alone" in ended.err) == ("--remove" not in words)


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize("name", [name for name in HARNESSES if name != "claude"])
def test_others_get_none_but_a_line(tmp_path: Path, name: str) -> None:
    assert "skill" not in ran("connect", name).data
    file = tmp_path / "AGENTS.md"
    ran("connect", name, "--instructions", str(file))
    assert "vaultmem recall" in file.read_text()
    assert len(file.read_text().splitlines()) == 1


def test_instructions_bring_no_skill(home: Path, tmp_path: Path) -> None:
    assert (
        "skill" not in ran("connect", "claude", "--instructions", str(tmp_path / "CLAUDE.md")).data
    )
    assert not file_of(home).exists()
