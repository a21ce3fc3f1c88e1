"""The MCP server in the settings of each harness: in, renewed, out; every other byte as it was."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from tests.cli_run import Ran, process, ran
from tests.test_connect import BLANK, odd_json, wrapped
from vaultmem.assistants import servers
from vaultmem.assistants.programs import HARNESSES, Harness

COMMAND = ["/opt/vaultmem", "mcp", "--vault", '/Anne\'s "notes"']
FILES = {
    "claude": ".claude.json",
    "codex": ".codex/config.toml",
    "gemini": ".gemini/settings.json",
    "copilot": ".copilot/mcp-config.json",
    "cursor": ".cursor/mcp.json",
    "opencode": ".config/opencode/opencode.json",
}
ALL = pytest.mark.parametrize("name", FILES)
JSON = [one for one in HARNESSES.values() if one.name != "codex"]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of its own."""
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    return folder


def load(text: str, name: str) -> Any:
    return (tomllib.loads if name == "codex" else json.loads)(text)


def put(home: Path, name: str, text: str) -> Path:
    file = home / FILES[name]
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text.encode())
    return file


def entry_in(text: str, harness: Harness) -> Any:
    return load(text.removeprefix("\ufeff"), harness.name)[harness.servers.key]["vaultmem"]


def check(harness: Harness, before: str) -> None:
    """In, renewed, out: the entry is right, everything else is as it was, and out gives back every byte."""
    there = load(before.removeprefix("\ufeff"), harness.name) if before else {}
    once = servers.registered(before, harness, COMMAND)
    assert entry_in(once, harness) == harness.servers.entry(COMMAND)
    left = load(once.removeprefix("\ufeff"), harness.name)
    del left[harness.servers.key]["vaultmem"]
    assert left == {**there, harness.servers.key: there.get(harness.servers.key, {})}
    assert servers.registered(once, harness, COMMAND) == once
    renewed = servers.registered(once, harness, ["/new/vaultmem", "mcp"])
    assert entry_in(renewed, harness) == harness.servers.entry(["/new/vaultmem", "mcp"])
    for text in (once, renewed):
        assert servers.unregistered(text, harness) == before
    assert servers.unregistered(before, harness) == before


# --- laws


@st.composite
def json_settings(draw: st.DrawFn) -> tuple[Harness, str]:
    """Settings in any formatting, with servers, with an empty object for them, or with none."""
    harness = draw(st.sampled_from(JSON))
    inner = [f'"o{n}":{draw(odd_json(1))}' for n in range(draw(st.integers(0, 2)))]
    members = [f'"{harness.servers.key}" :{wrapped(draw, "{}", inner)}'] * draw(st.integers(0, 1))
    members += [f'"a":{draw(odd_json())}'] * draw(st.integers(0, 1))
    bom = draw(st.sampled_from(["", "\ufeff"]))
    text = wrapped(draw, "{}", draw(st.permutations(members)))
    return harness, bom + draw(BLANK) + text + draw(BLANK)


@given(json_settings())
@example((HARNESSES["claude"], "\ufeff{}\n"))
def test_json_whatever_its_formatting(found: tuple[Harness, str]) -> None:
    check(*found)


LINES = [
    "", "# remark", "model = \"x\"", "[other]", "[mcp_servers.other]", "command = 'y' # z", "[a.\"b]\"]", "[[many]]", "[mcp_servers]",
    "   ", "list = [\n  1,\n]", "[mcp_servers.other.env]",
]  # fmt: skip


@given(st.lists(st.sampled_from(LINES), max_size=6), st.sampled_from(["\n", "\r\n"]), st.booleans())
@example(["[other]"], "\n", False)
def test_toml_whatever_its_formatting(lines: list[str], newline: str, is_ended: bool) -> None:
    before = "\n".join(lines).replace("\n", newline) + (newline if is_ended else "")
    assume(is_toml(before))
    check(HARNESSES["codex"], before)


def is_toml(text: str) -> bool:
    try:
        tomllib.loads(text)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("before", ["", "model = 1", "model = 1\n", "model = 1\n\n"])
def test_what_follows_in_toml_meanwhile_stays(before: str) -> None:
    codex = HARNESSES["codex"]
    own = "[mcp_servers.vaultmem.tools.memory_write]\napproval_mode = 'approve'\n"
    mine = "\n# mine\n[other]\nx = 1\n"
    for more in (mine, own + mine):
        left = servers.unregistered(servers.registered(before, codex, COMMAND) + more, codex)
        assert load(left, "codex") == {**load(before, "codex"), "other": {"x": 1}}
        assert left.endswith(mine)
        assert left.startswith(before)


@ALL
def test_what_a_person_adds_to_our_entry_stays(name: str) -> None:
    harness = HARNESSES[name]
    text = servers.registered("", harness, COMMAND)
    if name == "codex":
        text += "startup_timeout_sec = 20\n"
    else:
        text = text.replace('"vaultmem": {', '"vaultmem": {"startup_timeout_sec": 20, ')
    renewed = servers.registered(text, harness, ["/new/vaultmem", "mcp"])
    assert entry_in(renewed, harness) == {
        **harness.servers.entry(["/new/vaultmem", "mcp"]), "startup_timeout_sec": 20,
    }  # fmt: skip


REFUSED = {
    "codex": [
        "[", 'mcp_servers = {x = {command = "y"}}', "mcp_servers = 1", '[mcp_servers.vaultmem]\ncommand = "mine"\n',
        '[mcp_servers."vaultmem"]\ncommand = "/opt/vaultmem"\nargs = ["mcp"]\n', "\ufeffmodel = 1",
        '[mcp_servers.vaultmem]\ncommand = "/opt/vaultmem"\nargs = [\n  "mcp",\n]\n',
    ],
    "gemini": [
        "{", "[]", " \n", '{"a": 1, // comment\n}', '{"mcpServers": []}', '{"mcpServers": {}, "mcpServers": {}}', '{"mcpServers": {"vaultmem": 1}}',
        '{"mcpServers": {"vaultmem": {"command": "mine"}}}', '{"a": ' + "[" * 5000 + "]" * 5000 + "}",
    ],
}  # fmt: skip


@pytest.mark.parametrize(("name", "before"), [(n, text) for n, all_ in REFUSED.items() for text in all_])  # fmt: skip
def test_what_cannot_be_edited_safely_is_refused(name: str, before: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        servers.registered(before, HARNESSES[name], COMMAND)


# --- the command


def connect(name: str, *more: str) -> Ran:
    ended = ran("connect", name, *more)
    assert ended.code == 0, ended.err
    return ended


@ALL
def test_it_goes_in_with_the_hook_and_out_with_it(home: Path, vault: Path, name: str) -> None:
    done = connect(name, "--mcp", "--vault", str(vault), "--json").data
    file = home / FILES[name]
    assert (done["server"]["path"], done["server"]["changed"]) == (str(file), True)
    entry = entry_in(file.read_text(), HARNESSES[name])
    words = entry["command"] if name == "opencode" else [entry["command"], *entry["args"]]
    assert os.access(words[0], os.X_OK)
    assert words[1:] == ["mcp", "--vault", str(vault)]
    assert not connect(name, "--vault", str(vault), "--json").data["server"][
        "changed"
    ]  # known without --mcp
    assert connect(name, "--remove", "--dry-run", "--json").data["server"]["changed"]
    assert connect(name, "--remove", "--json").data["server"]["changed"]
    assert not [each for each in home.rglob("*") if each.is_file()]


@ALL
def test_settings_that_were_there_are_there_again(home: Path, name: str) -> None:
    for before in ("", "a = 1") if name == "codex" else ("{}", '{"a": 1}\n'):
        file = put(home, name, before)
        connect(name, "--mcp")
        assert "mcp" in file.read_text()
        connect(name, "--remove")
        assert (file.read_text() if file.exists() else "") == before


@ALL
def test_it_is_registered_only_when_wanted(home: Path, name: str) -> None:
    said = connect(name, "--format", "text")
    assert "--mcp" in said.err
    assert "--mcp" not in connect(name, "--no-mcp", "--format", "text").err
    assert not [each for each in home.rglob("*") if each.is_file() and '"mcp"' in each.read_text()]


def test_the_one_server_of_a_person_stays_and_the_rest_is_done(home: Path) -> None:
    mine = '[mcp_servers.vaultmem]\ncommand = "mine"\n'
    file = put(home, "codex", mine)
    ended = ran("connect", "codex", "--mcp", "--json")
    assert ended.code == 1
    assert "was left alone" in ended.err
    assert 'args = ["mcp"]' in ended.err
    assert ended.data["changed"]
    ran("connect", "codex", "--remove")
    assert file.read_text() == mine


def at_terminal(home: Path, answer: str, *words: str) -> str:
    """What a person reads who types the answer at a terminal, if asked."""
    own, theirs = pty.openpty()
    environ = {**os.environ, "HOME": str(home), "TERM": "dumb"}
    program = [sys.executable, "-m", "vaultmem", "connect", *words]
    with subprocess.Popen(program, stdin=theirs, stdout=theirs, stderr=theirs, env=environ) as run:
        os.write(own, answer.encode())
        os.close(theirs)
        said = b""
        try:
            while piece := os.read(own, 4_096):
                said += piece
        except OSError:  # the other end is closed
            pass
        run.wait(60)
    os.close(own)
    return said.decode()


@pytest.mark.parametrize(("answer", "wanted"), [("\n", True), ("y\n", True), ("n\n", False)])
def test_a_person_is_asked_once(home: Path, answer: str, wanted: bool) -> None:
    assert "MCP server with Claude Code" in at_terminal(home, answer, "claude")
    assert (home / FILES["claude"]).exists() == wanted
    assert "[Y/n]" not in at_terminal(home, "y\n", "claude")
    assert (home / FILES["claude"]).exists() == wanted


def test_the_plugin_of_opencode_asks_the_hook(home: Path, vault: Path) -> None:
    done = connect("opencode", "--vault", str(vault), "--json").data
    file = home / ".config/opencode/plugins/vaultmem.js"
    assert done["path"] == str(file)
    line = next(each for each in file.read_text().splitlines() if each.startswith("const [PROGRAM"))
    words = json.loads(line.partition(" = ")[2])
    assert os.access(words[0], os.X_OK)
    ended = process(*words[1:])
    assert "vaultmem" in ended.data["additionalContext"]
    file.write_text(file.read_text() + "// mine\n")
    assert ran("connect", "opencode", "--remove").code == 1
    assert file.read_text().endswith("// mine\n")
