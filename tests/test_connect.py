"""Connecting a program: one hook in its settings, all other bytes unchanged, and out again, whatever the file is like."""

import json
import os
import re
import shlex
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cli_run import one_line, process, ran
from tests.connected import ALL, FILES, connect, home, put
from tests.tables import each_case
from vaultmem.text.json_text import parse
from vaultmem_assistants import context, hooks
from vaultmem_assistants.programs import HARNESSES, Harness

__all__ = ["home"]  # fixtures

COMMAND = "/opt/vaultmem hook session-start --harness {}"
HOOKED = {name: HARNESSES[name] for name in FILES}  # opencode has a plugin instead


def commands_in(settings: Any, harness: Harness) -> list[str]:
    """The commands of all hooks of the event, in the form that the program documents."""
    entries = settings["hooks"][harness.event]
    if harness.grouped:
        entries = [hook for group in entries for hook in group["hooks"]]
    return [hook[harness.command] for hook in entries if harness.command in hook]


@ALL
def test_the_command_that_is_installed_runs(home: Path, vault: Path, name: str) -> None:
    connect(name, "--vault", str(vault))
    command = commands_in(json.loads((home / FILES[name]).read_text()), HARNESSES[name])[0]
    words = shlex.split(command)
    assert words[-2:] == ["--vault", str(vault)]
    ended = process(*words[words.index("hook") :])
    assert (ended.code, ended.err) == (0, "")
    assert ended.data


def test_folders_in_variables(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    named = {"claude": "CLAUDE_CONFIG_DIR", "codex": "CODEX_HOME", "copilot": "COPILOT_HOME"}
    for name, variable in named.items():
        monkeypatch.setenv(variable, str(tmp_path / name))
        done = connect(name)
        assert done["path"].startswith(str(tmp_path / name))
        assert done["skill"]["path"].startswith(str(tmp_path / name)) == (name == "claude")
    assert [*home.iterdir()] == [home / ".agents"]  # which is read wherever the program's folder is


@pytest.mark.usefixtures("home")
def test_the_command_for_a_session_in_any_folder_names_the_vault_at_hand(
    vault: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder, argument in ((tmp_path, "FOLDER"), (vault, shlex.quote(str(vault)))):
        monkeypatch.chdir(folder)
        ended = process("connect", "claude", "--no-mcp")
        assert ended.err.endswith(
            "a hook finds the vault only if it runs inside it; for all sessions: "
            f"vaultmem connect claude --vault {argument}\n"
        )
    assert "--vault" not in process("connect", "claude", "--no-mcp", "--vault", str(vault)).err
    assert "PROGRAM is missing: one of claude, codex" in process("connect").err


BEFORE = [
    None, "", " \n\n", "\ufeff\r\n", "{}", " { } ", "{\n}\n", '{"hooks":{}}', '{"hooks" : { } , "a": 1}', '{\n  "hooks": {\n  }\n}\n',
    '{"hooks": {"SessionStart": [], "sessionStart": []}}', '{"hooks": {"sessionStart": [ ]}}', '{"version": 1}', '\ufeff{"a": 1}\n',
    '{\n    "model" : "x",\n\n    "n": [1,2 , 3e5]\n}\n', '{\r\n\t"a": "\\u00e9é",\r\n\t"hooks": {"Stop": [ {"hooks":[]} ]}\r\n}',
    '{"hooks": {"SessionStart": [{"matcher": "x", "hooks": [{"type": "command", "command": "mine"}]}],\n "Stop": []}}',
    '{"hooks": {"sessionStart": [{"command": "mine hook session-start --harness claude"}]}, "version": 1}',
]  # fmt: skip


@each_case("name", ["claude", "copilot", "cursor"])  # one of each form
@each_case("before", BEFORE)
def test_disconnecting_undoes_all(home: Path, vault: Path, name: str, before: str | None) -> None:
    file = home / FILES[name]
    file.unlink(missing_ok=True)
    if before is not None:
        put(home, name, before)
    assert connect(name)["changed"]
    once = file.read_bytes()
    assert json.loads(once.decode("utf-8-sig"))
    assert not connect(name)["changed"]
    connect(name, "--vault", str(vault))  # another command, which still knows what was there before
    assert file.read_bytes() != once
    assert connect(name, "--remove", "--dry-run")["changed"]
    assert connect(name, "--remove")["changed"]
    assert (file.read_bytes().decode() if file.exists() else None) == before
    assert not connect(name, "--remove")["changed"]


@ALL
@each_case("before", [None, '{"hooks": {"SessionStart": [], "sessionStart": []}}'])
def test_what_a_person_adds_meanwhile_stays(home: Path, name: str, before: str | None) -> None:
    file, harness = home / FILES[name], HARNESSES[name]
    file.unlink(missing_ok=True)
    if before:
        put(home, name, before)
    connect(name)
    settings = json.loads(file.read_text())
    settings["mine"] = 1
    settings["hooks"][harness.event].append(harness.entry("mine"))
    file.write_text(json.dumps(settings))
    connect(name, "--remove")
    left = json.loads(file.read_text())
    assert commands_in(left, harness) == ["mine"]
    assert left["mine"] == 1


BLANK = st.text(" \n\t\r", max_size=3)
WORD = st.text(max_size=5)


@st.composite
def odd_json(draw: st.DrawFn, depth: int = 0) -> str:
    """A JSON value in any formatting."""
    kinds = ["plain", "text"] if depth > 2 else ["plain", "text", "list", "object"]
    kind = draw(st.sampled_from(kinds))
    if kind == "plain":
        return draw(st.sampled_from(["0", "-1.50", "2E+3", "true", "null", "false"]))
    if kind == "text":
        return json.dumps(draw(WORD), ensure_ascii=draw(st.booleans()))
    items = draw(st.lists(odd_json(depth + 1), max_size=3))
    if kind == "list":
        return wrapped(draw, "[]", items)
    return wrapped(
        draw,
        "{}",
        [f"{json.dumps(f'k{n}')}{draw(BLANK)}:{draw(BLANK)}{one}" for n, one in enumerate(items)],
    )


def wrapped(draw: st.DrawFn, marks: str, items: list[str]) -> str:
    inner = ",".join(f"{draw(BLANK)}{item}{draw(BLANK)}" for item in items)
    return f"{marks[0]}{inner or draw(BLANK)}{marks[1]}"


@st.composite
def settings(draw: st.DrawFn) -> tuple[Harness, str]:
    """A program, and settings that somebody has written, with no empty list where ours goes."""
    harness = draw(st.sampled_from([*HOOKED.values()]))
    hook = wrapped(
        draw, "{}", [f'"{harness.command}"{draw(BLANK)}: "mine"', f'"x":{draw(odd_json(2))}']
    )
    entry = (
        wrapped(draw, "{}", [f'"hooks": {wrapped(draw, "[]", [hook])}', '"matcher": ""'])
        if harness.grouped
        else hook
    )
    lists = [f'"{harness.event}":{wrapped(draw, "[]", [entry])}'] * draw(st.integers(0, 1))
    inner = [*lists, f'"Other":{draw(odd_json(1))}']
    members = [f'"hooks" :{wrapped(draw, "{}", draw(st.permutations(inner)))}'] * draw(
        st.integers(0, 1)
    )
    members += [
        f'"a":{draw(odd_json())}',
        *(f'"{name}":{json.dumps(given)}' for name, given in harness.scaffold.items()),
    ]
    text = wrapped(draw, "{}", draw(st.permutations(members)))
    return harness, draw(BLANK) + text + draw(BLANK)


@given(settings())
def test_whatever_the_formatting_the_rest_stays(found: tuple[Harness, str]) -> None:
    harness, before = found
    command = COMMAND.format(harness.name)
    after = hooks.add_hook(before, harness, command)
    assert commands_in(json.loads(after), harness)[-1] == command
    assert hooks.add_hook(after, harness, command) == after
    assert hooks.remove_hook(after, harness) == before
    # the old bytes are unchanged on both sides of one insertion
    start = next(
        (n for n, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), len(before)
    )
    added = len(after) - len(before)
    assert any(
        after[:at] + after[at + added :] == before for at in range(max(0, start - added), start + 1)
    )
    moved = hooks.add_hook(after, harness, command.replace("/opt", "/a b"))
    assert moved == after.replace(json.dumps(command), json.dumps(command.replace("/opt", "/a b")))


@given(st.text('{}[],:" \n1truenl\\"a', max_size=40))
def test_what_json_refuses_is_refused_and_nothing_else(text: str) -> None:
    assert is_read(parse, text) == is_read(json.loads, text)


def is_read(by: Callable[[str], object], text: str) -> bool:
    try:
        by(text)
    except ValueError:
        return False
    return True


@ALL
def test_several_hooks_of_ours_become_one(name: str) -> None:
    harness = HARNESSES[name]
    one = harness.entry(f"/old/vaultmem hook session-start --harness {name}")
    mine = harness.entry("mine")
    before = json.dumps({"version": 1, "hooks": {harness.event: [one, mine, one]}}, indent=1)
    after = json.loads(hooks.add_hook(before, harness, COMMAND.format(name)))
    assert commands_in(after, harness) == [COMMAND.format(name), "mine"]
    left = json.loads(hooks.remove_hook(before, harness))
    assert commands_in(left, harness) == ["mine"]


def test_removing_our_hook_keeps_the_other_hooks_of_its_group() -> None:
    harness = HARNESSES["claude"]

    def settings(*commands: str) -> dict[str, Any]:
        group = {"matcher": "startup", "hooks": [harness.hook(one) for one in commands]}
        return {"hooks": {"SessionStart": [group]}}

    before = json.dumps(settings("mine", COMMAND.format("claude")))
    assert json.loads(hooks.remove_hook(before, harness)) == settings("mine")


@pytest.mark.parametrize(
    "command", ["echo hook session-start --harness claude", "vaultmem search", "vaultmem hook session-start --harness codex", "'"]
)  # fmt: skip
def test_hooks_of_others_are_never_taken_for_ours(command: str) -> None:
    harness = HARNESSES["claude"]
    text = json.dumps({"hooks": {"SessionStart": [harness.entry(command)]}})
    assert hooks.remove_hook(text, harness) == text


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
