"""Files that cannot be edited safely, links, concurrent writers, and a line of instructions."""

import json
import os
import re
import stat
from pathlib import Path

import pytest

from tests.cli_run import one_line, ran
from tests.connected import FILES, connect, home, put
from tests.tables import each_case
from vaultmem_assistants import context, hooks
from vaultmem_assistants.programs import Harness

__all__ = ["home"]  # fixtures


@each_case("name", ["claude", "cursor"])
@each_case(
    "before",
    [
        '{"a": 1, // comment\n}', '{"a": [1,]}', "[]", '"text"', '{"hooks": []}', '{"hooks": {"SessionStart": {}, "sessionStart": {}}}',
        '{"hooks": {}, "hooks": {}}', "{", '{"a": 1} x', '{"a": ' + "[" * 5000 + "]" * 5000 + "}",
    ],
)  # fmt: skip
def test_what_cannot_be_edited_safely_is_left_alone(home: Path, name: str, before: str) -> None:
    file = put(home, name, before)
    told = connect(name, code=1)
    assert "was left alone" in told
    assert "session-start" in told
    assert file.read_text() == before


@each_case("name", ["claude", "cursor"])
def test_where_nothing_of_ours_is_nothing_is_to_be_removed_by_hand(home: Path, name: str) -> None:
    file = put(home, name, '{"a": 1,,}')
    ended = ran("connect", name, "--remove")
    assert (ended.code, ended.err) == (0, "")
    assert "is not installed" in ended.out
    file.write_text('{"a": "vaultmem",,}')
    assert "by hand" in ran("connect", name, "--remove").err
    assert file.read_text() == '{"a": "vaultmem",,}'


def test_what_cannot_be_read_or_written_is_left_alone(home: Path) -> None:
    (home / FILES["codex"]).mkdir(parents=True)
    assert "cannot be read" in connect("codex", code=1)
    for content, mode, reason in (
        (b'{"a": "\xff"}', 0o644, "not UTF-8"),
        (b"{}", 0o444, "read-only"),
    ):
        file = put(home, "claude", content)
        file.chmod(mode)
        assert reason in connect("claude", code=1)
        assert file.read_bytes() == content


def test_the_mode_stays_and_links_are_followed(home: Path) -> None:
    real = home / "dotfiles" / "claude.json"
    real.parent.mkdir()
    real.write_text("{}")
    real.chmod(0o600)
    link = home / FILES["claude"]
    link.parent.mkdir()
    link.symlink_to("../dotfiles/claude.json")
    assert connect("claude")["path"] == str(real)
    assert link.is_symlink()
    assert stat.S_IMODE(real.stat().st_mode) == 0o600
    assert "session-start" in real.read_text()
    assert sorted(os.listdir(real.parent)) == ["claude.json"]
    assert sorted(os.listdir(link.parent)) == ["settings.json", "skills"]


def test_what_is_written_meanwhile_is_kept(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another program saves between our read and our write."""
    file = put(home, "claude", '{"a": 1}')
    real, times = hooks.add_hook, []

    def late(text: str, harness: Harness, command: str) -> str:
        times.append(text)
        if len(times) == 2:
            file.write_text('{"a": 2}')
        return real(text, harness, command)

    monkeypatch.setattr(hooks, "add_hook", late)
    connect("claude")
    assert json.loads(file.read_text())["a"] == 2
    assert "session-start" in file.read_text()


@each_case("name", FILES)
def test_a_dry_run_shows_the_change_and_makes_none(home: Path, name: str) -> None:
    done = connect(name, "--dry-run")
    assert done["dry_run"]
    assert "+" in done["diff"]
    assert "+++" in ran("connect", name, "--dry-run", "--format", "text").out
    assert not list(home.iterdir())


@each_case("before", [None, "# Rules", "a\r\nb", "\ufeff", "no end\n\n\n"])
def test_a_line_of_instructions_goes_in_once_and_out(home: Path, before: str | None) -> None:
    file = home / "AGENTS.md"
    file.unlink(missing_ok=True)
    if before is not None:
        file.write_bytes(before.encode())
    words = ("--instructions", str(file))
    connect("codex", *words)
    once = file.read_bytes().decode()
    assert once.startswith(before or "")
    assert once.count(context.MARK) == 1
    assert len(re.findall(r"vaultmem [a-z]", once)) == once.count(" --by codex") == 4
    assert not connect("codex", *words)["changed"]
    connect("claude", *words)  # another program's line takes its place
    assert connect("codex", *words, "--remove", "--dry-run")["changed"]
    assert file.exists()
    connect("codex", *words, "--remove")
    assert (file.read_bytes().decode() if file.exists() else None) == before
    assert not (home / ".codex").exists()
    if before is None:
        file.write_text(f"{once}Mine.\n")
        connect("codex", *words, "--remove")
        assert file.read_text() == "Mine.\n"


def test_a_vault_that_a_file_cannot_name_is_refused(home: Path) -> None:
    for name, says in ((b"b\xff", "is not UTF-8"), (b"a\nb", "has a line break")):
        vault = os.fsdecode(os.fsencode(home) + b"/" + name)
        os.mkdir(vault)
        words = ("--instructions", str(home / "AGENTS.md")) if b"\n" in name else ()
        for harness in ("claude", "opencode"):
            assert says in connect(harness, "--vault", vault, *words, code=1)
        if not words:
            assert says in one_line(ran("setup", vault, "--yes", "--no-service"))
        os.rmdir(vault)
    assert not list(home.iterdir())
