"""The MCP server in the settings of each harness: in, renewed, out; every other byte as it was."""

import json
import os
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from tests.cli_run import Ran, at_terminal, one_line, process, ran
from tests.conftest import fill
from tests.connected import home
from tests.test_connect import BLANK, odd_json, wrapped
from vaultmem.paths import state_root
from vaultmem_assistants import servers
from vaultmem_assistants.programs import HARNESSES, Harness

URL, TOKEN = "https://notes.example.org/mcp/home", "vmt_0123456789ab_" + "Ab-_" * 10
__all__ = ["home"]  # fixtures

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
JSON = [one for one in HARNESSES.values() if not one.servers.file.endswith(".toml")]


def load(text: str, name: str) -> Any:
    return (tomllib.loads if name == "codex" else json.loads)(text)


def put(home: Path, name: str, text: str) -> Path:
    return fill(home, {FILES[name]: text}) / FILES[name]


def entry_in(text: str, harness: Harness) -> Any:
    return load(text.removeprefix("\ufeff"), harness.name)[harness.servers.key]["vaultmem"]


def entries(harness: Harness) -> list[Any]:
    """Our server in all forms: started by two commands, at a door with a token, with a variable that holds it."""
    own = harness.servers
    return [
        own.entry(COMMAND), own.entry(["/new/vaultmem", "mcp"]), own.remote.entry(URL, TOKEN),
        own.remote.entry(URL, "env:TOKEN"), own.entry(COMMAND),
    ]  # fmt: skip


def check(harness: Harness, before: str) -> None:
    """In, in every other form, out: the entry is right, everything else is as it was, and out gives back every byte."""
    there = load(before.removeprefix("\ufeff"), harness.name) if before else {}
    text = before
    for entry in entries(harness):
        text = servers.add_server(text, harness, entry)
        assert entry_in(text, harness) == entry
        left = load(text.removeprefix("\ufeff"), harness.name)
        del left[harness.servers.key]["vaultmem"]
        assert left == {**there, harness.servers.key: there.get(harness.servers.key, {})}
        assert servers.add_server(text, harness, entry) == text
        assert servers.is_registered(text, harness)
        assert servers.remove_server(text, harness) == before
    assert servers.remove_server(before, harness) == before


# --- laws


@st.composite
def json_settings(draw: st.DrawFn) -> tuple[Harness, str]:
    """Settings in any formatting, with servers or with none."""
    harness = draw(st.sampled_from(JSON))
    inner = [f'"o{n}":{draw(odd_json(1))}' for n in range(draw(st.integers(1, 2)))]
    members = [f'"{harness.servers.key}" :{wrapped(draw, "{}", inner)}'] * draw(st.integers(0, 1))
    members += [f'"a":{draw(odd_json())}']
    bom = draw(st.sampled_from(["", "\ufeff"]))
    text = wrapped(draw, "{}", draw(st.permutations(members)))
    return harness, bom + draw(BLANK) + text + draw(BLANK)


@given(json_settings())
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
        made = servers.add_server(before, codex, codex.servers.entry(COMMAND))
        left = servers.remove_server(made + more, codex)
        assert load(left, "codex") == {**load(before, "codex"), "other": {"x": 1}}
        assert left.endswith(mine)
        assert left.startswith(before)


@ALL
def test_what_a_person_adds_to_our_entry_stays(name: str) -> None:
    harness = HARNESSES[name]
    text = servers.add_server("", harness, harness.servers.entry(COMMAND))
    if name == "codex":
        text += "startup_timeout_sec = 20\n"
    else:
        text = text.replace('"vaultmem": {', '"vaultmem": {"startup_timeout_sec": 20, ')
    for entry in entries(harness)[1:]:
        text = servers.add_server(text, harness, entry)
        assert entry_in(text, harness) == {**entry, "startup_timeout_sec": 20}


def test_comments_and_subtables_of_our_table_stay() -> None:
    codex = HARNESSES["codex"]
    text = servers.add_server("a = 1\n", codex, codex.servers.entry(COMMAND))
    text = f"{text}# Slow disk.\nstartup_timeout_sec = 20 # seconds\n\n[other]\nx = 1\n"
    moved = servers.add_server(text, codex, codex.servers.entry(["/new/vaultmem", "mcp"]))
    assert moved.partition("# Slow")[1:] == text.partition("# Slow")[1:]
    away = servers.add_server(moved, codex, codex.servers.remote.entry(URL, TOKEN))
    assert "# Slow disk.\n" in away
    assert servers.add_server(away, codex, codex.servers.entry(COMMAND)).count("# Slow disk.") == 1
    before = """[mcp_servers.vaultmem] # mine
  "command" = "/old/vaultmem" # a # b
args = ["mcp", "#"] # "c"

[mcp_servers.vaultmem.env]
command = "x" # d
args = "y"
"""
    moved = servers.add_server(before, codex, {"command": "#", "args": ["mcp"], "a": 1})
    wanted = before.replace("/old/vaultmem", "#").replace(', "#"', "")
    assert moved == wanted.replace("# mine\n", "# mine\na = 1\n")


EMPTY = {
    "codex": ["", "\n\n", "# mine\n"],
    "gemini": ['{"mcpServers": {}}\n', '{"hooks": {}, "key": "secret", "mcpServers": {}}', '{\n  "mcpServers": {\n  }\n}\n', "{}"],
    "claude": ['{"mcpServers": {}, "a": 1}'],
}  # fmt: skip


@pytest.mark.parametrize(("name", "before"), [(n, text) for n, all_ in EMPTY.items() for text in all_])  # fmt: skip
@pytest.mark.parametrize("is_door_first", [False, True])
def test_what_was_empty_is_there_again(
    home: Path, vault: Path, name: str, before: str, *, is_door_first: bool
) -> None:
    file = put(home, name, before)
    if is_door_first:
        connect(name, "--remote", AWAY, "--token", "env:TOKEN")
    connect(name, "--mcp")
    connect(name, "--vault", str(vault))
    connect(name, "--remove")
    assert file.read_text() == before
    record = Path(state_root(), "connected.json")
    assert not record.exists() or "secret" not in record.read_text()


REFUSED = {
    "codex": [
        "[", 'mcp_servers = {x = {command = "y"}}', "mcp_servers = 1", '[mcp_servers.vaultmem]\ncommand = "mine"\n',
        '[mcp_servers."vaultmem"]\ncommand = "/opt/vaultmem"\nargs = ["mcp"]\n', "\ufeffmodel = 1",
    ],
    "gemini": [
        "{", "[]", '{"a": 1, // comment\n}', '{"mcpServers": []}', '{"mcpServers": {}, "mcpServers": {}}', '{"mcpServers": {"vaultmem": 1}}',
        '{"mcpServers": {"vaultmem": {"command": "mine"}}}', '{"a": ' + "[" * 5000 + "]" * 5000 + "}",
    ],
}  # fmt: skip


@pytest.mark.parametrize(("name", "before"), [(n, text) for n, all_ in REFUSED.items() for text in all_])  # fmt: skip
def test_what_cannot_be_edited_safely_is_refused(name: str, before: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        servers.add_server(before, HARNESSES[name], HARNESSES[name].servers.entry(COMMAND))


# --- the command


def connect(name: str, *more: str) -> Ran:
    ended = ran("connect", name, *more)
    assert ended.code == 0, ended.err
    return ended


@ALL
def test_it_goes_in_with_the_hook_and_out_with_it(home: Path, vault: Path, name: str) -> None:
    own = ("--vault", str(vault), "--json")
    done = connect(name, "--mcp", *own).data
    file = home / FILES[name]
    assert (done["server"]["path"], done["server"]["changed"]) == (str(file), True)
    entry = entry_in(file.read_text(), HARNESSES[name])
    words = entry["command"] if name == "opencode" else [entry["command"], *entry["args"]]
    assert os.access(words[0], os.X_OK)
    assert words[1:] == ["mcp", "--vault", str(vault)]
    assert not connect(name, *own).data["server"]["changed"], "known without --mcp"
    for more in (("--dry-run", "--json"), ("--json",)):
        assert connect(name, "--remove", *more).data["server"]["changed"]
    assert not [each for each in home.rglob("*") if each.is_file()]


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


# --- the door of another machine

AWAY = "http://127.0.0.1:9/mcp"


@ALL
def test_a_door_is_registered_for_the_owner_alone_and_goes_again(home: Path, name: str) -> None:
    harness, file = HARNESSES[name], home / FILES[name]
    words = ("--remote", AWAY.removesuffix("/mcp"), "--token", TOKEN)
    seen = [connect(name, *words, "--dry-run", "--format", "text")]
    assert not file.exists()
    seen.append(connect(name, *words, "--json"))
    assert seen[-1].data["path"] == str(file)
    assert entry_in(file.read_text(), harness) == harness.servers.remote.entry(AWAY, TOKEN)
    assert file.stat().st_mode & 0o777 == 0o600
    assert [each for each in home.rglob("*") if each.is_file()] == [file]
    assert not connect(name, *words, "--json").data["changed"]
    connect(name, "--json")  # a hook for the vaults of this machine, too
    assert entry_in(file.read_text(), harness) == harness.servers.remote.entry(AWAY, TOKEN)
    seen.append(connect(name, "--remove", "--format", "text"))
    assert not [each for each in home.rglob("*") if each.is_file()]
    assert not [one for one in seen if TOKEN in one.out + one.err]


def test_settings_that_others_read_are_closed_before_a_token_is_in_them(home: Path) -> None:
    file = put(home, "gemini", '{"a": 1}')
    file.chmod(0o644)
    connect("gemini", "--remote", AWAY, "--token", "env:TOKEN")
    assert "Bearer ${TOKEN}" in file.read_text()
    assert file.stat().st_mode & 0o777 == 0o644
    ended = ran("connect", "gemini", "--remote", AWAY, stdin=f"{TOKEN}\n".encode())
    assert ended.code == 0, ended.err
    assert TOKEN in file.read_text()
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_token_goes_into_no_repository(home: Path) -> None:
    dotfiles = home / "dotfiles"
    dotfiles.mkdir()
    subprocess.run(["git", "init", "-q", str(dotfiles)], check=True)
    monitor = ["config", "core.fsmonitor", f"touch {home}/ran; false"]
    subprocess.run(["git", "-C", str(dotfiles), *monitor], check=True)
    (dotfiles / "kept").write_text("")
    subprocess.run(["git", "-C", str(dotfiles), "add", "kept"], check=True)
    (home / "ran").unlink()
    (dotfiles / "codex.toml").write_text("model = 1\n")
    (home / ".codex").mkdir()
    (home / FILES["codex"]).symlink_to("../dotfiles/codex.toml")
    words = ("connect", "codex", "--remote", AWAY, "--token")
    refused = ran(*words, TOKEN)
    assert refused.code == 1
    assert "Git repository" in one_line(refused)
    assert (dotfiles / "codex.toml").read_text() == "model = 1\n"
    assert ran(*words, "env:TOKEN").code == 0
    assert 'bearer_token_env_var = "TOKEN"' in (dotfiles / "codex.toml").read_text()
    (dotfiles / ".gitignore").write_text("codex.toml\n")
    assert ran(*words, TOKEN).code == 0
    assert TOKEN in (dotfiles / "codex.toml").read_text()
    assert not (home / "ran").exists(), "a program that the repository names"


WRONG: list[tuple[list[str], str]] = [
    (["--remote", "http://notes.example.org/mcp", "--token", TOKEN], "https"),
    (["--remote", "notes.example.org", "--token", TOKEN], "the address of a door"),
    (["--remote", AWAY, "--token", 'a"b'], "--token takes"), (["--remote", AWAY, "--token", ""], "--token takes"),
    (["--remote", AWAY, "--token", TOKEN, "--remove"], "--remove alone"), (["--token", TOKEN], "goes with --remote"),
]  # fmt: skip


@pytest.mark.parametrize(("words", "says"), WRONG)
def test_what_is_no_door_is_said_in_one_line(home: Path, words: list[str], says: str) -> None:
    ended = ran("connect", "claude", *words)
    assert ended.code == 2
    assert says in ended.err
    assert TOKEN not in ended.err
    assert not list(home.iterdir())


@pytest.mark.parametrize(("answer", "wanted"), [("\n", True), ("n\n", False)])
def test_a_person_is_asked_once(home: Path, answer: str, wanted: bool) -> None:
    person = {"HOME": str(home), "TERM": "dumb"}
    asked = at_terminal("connect", "claude", typed=answer, **person).out
    assert "MCP server with Claude Code" in asked
    assert (home / FILES["claude"]).exists() == wanted
    assert "[Y/n]" not in at_terminal("connect", "claude", typed="y\n", **person).out
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
