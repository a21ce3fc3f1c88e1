"""The skill: short, true, put in once and taken out without a trace; somebody else's stays."""

import os
import re
import shlex
from pathlib import Path

import pytest

from tests.cli_run import on, ran, tree_hash
from tests.connected import home
from vaultmem.commands.parsing import parse
from vaultmem.embedding import wordpieces
from vaultmem_assistants import context
from vaultmem_assistants.programs import HARNESSES

__all__ = ["home"]  # fixtures

MOST_TOKENS = 350
PROGRAM = "/home/anne/.local/bin/vaultmem"
ALL = pytest.mark.parametrize("name", HARNESSES)
SHARED = ".agents/skills/vaultmem/SKILL.md"
FILES = dict.fromkeys(HARNESSES, SHARED) | {"claude": ".claude/skills/vaultmem/SKILL.md"}


def text_of(program: str = PROGRAM, vault: str = "") -> str:
    return context.skill_text(program, vault)


def commands_in(text: str) -> list[list[str]]:
    """The commands of a skill, as a shell takes them apart."""
    spans = re.findall(r"`([^`]*)`", text)
    return [shlex.split(span) for span in spans if "vaultmem" in span]


@pytest.mark.parametrize("words", [(), ("--remove",), ("--dry-run",)])
@pytest.mark.parametrize("kind", ["mine", "ours, edited"])
def test_what_a_person_changed_stays(home: Path, words: tuple[str, ...], kind: str) -> None:
    file = home / FILES["claude"]
    file.parent.mkdir(parents=True)
    texts = {
        "mine": "mine\n",
        "ours, edited": text_of().replace("call Bob", "call Rob"),
    }
    file.write_text(texts[kind])
    (file.parent / "more.md").write_text("more\n")
    ended = ran("connect", "claude", *words)
    assert ended.code == 0
    assert file.read_text() == texts[kind]
    assert sorted(os.listdir(file.parent)) == ["SKILL.md", "more.md"]
    assert "left alone" in ended.err


@ALL
def test_instructions_have_a_name_and_no_skill(home: Path, tmp_path: Path, name: str) -> None:
    file = tmp_path / "AGENTS.md"
    assert "skill" not in ran("connect", name, "--instructions", str(file), "--json").data
    assert not list(home.iterdir())
    (line,) = file.read_text().splitlines()
    assert f"--by {name}`" in line
    assert all(os.path.isabs(words[0]) for words in commands_in(line))


@ALL
def test_the_skill_is_installed_once_calls_the_hooks_program_and_is_removed_without_a_trace(
    home: Path, tmp_path: Path, name: str
) -> None:
    vault, file = tmp_path / "vault", home / FILES[name]
    vault.mkdir()
    told = on(vault, "connect", name, "--format", "json").data
    assert (told["skill"]["path"], told["skill"]["changed"]) == (str(file), True)
    assert context.is_ours(file.read_text())
    settings = (home / HARNESSES[name].path()).read_text().replace('", "', " ")
    for words in commands_in(file.read_text()):
        assert os.path.isabs(words[0])
        assert f"{shlex.quote(words[0])} hook session-start" in settings
        assert words[2:4] == ["--vault", str(vault)]
    once = tree_hash(home)
    assert not on(vault, "connect", name, "--json").data["skill"]["changed"]
    assert tree_hash(home) == once
    assert ran("connect", name, "--remove", "--json").data["skill"]["changed"]
    assert not file.parent.parent.exists()
    assert not ran("connect", name, "--remove", "--json").data["skill"]["changed"]
    assert not [each for each in home.rglob("*") if "skills" in str(each) or ".agents" in str(each)]


def test_one_file_is_shared_names_who_else_reads_it_and_goes_with_the_last(
    home: Path, tmp_path: Path
) -> None:
    shared = [name for name in HARNESSES if name != "claude"]
    for name in shared:
        ran("connect", name)
    files = [str(each.relative_to(home)) for each in home.rglob("SKILL.md")]
    assert files == [SHARED]
    for name in shared[:-1]:
        ended = ran("connect", name, "--remove", "--json")
        assert "skill" not in ended.data
        assert HARNESSES[shared[-1]].title in ended.err
        assert context.is_ours((home / SHARED).read_text())
    ran("connect", shared[-1], "--remove")
    assert not (home / ".agents").exists()
    ran("connect", "codex")
    assert "Codex" in on(tmp_path, "connect", "gemini").err
    assert "Codex" not in on(tmp_path, "connect", "gemini").err


def test_the_skill_is_short_its_commands_are_ours_and_no_program_is_named_twice() -> None:
    count = len(wordpieces.tokenizer().encode(text_of()).ids)
    assert 100 < count <= MOST_TOKENS, "each session pays for it: shorten data/SKILL.md"
    text = text_of("'/opt/my vm/vaultmem'", "'/my notes'")
    found = commands_in(text)
    assert {words[1] for words in found} == {"recall", "search", "pending", "write", "remind"}
    for words in found:
        assert (words[0], words[2:4]) == ("/opt/my vm/vaultmem", ["--vault", "/my notes"])
        assert words[words.index("--by") + 1] == "NAME"
        assert parse(words[1], words[2:]).vault == "/my notes"
    assert "`done ID --by NAME`" in text
    assert "--scope agent:NAME" in text
    assert {text.lower().count(name) for name in HARNESSES} == {1}
