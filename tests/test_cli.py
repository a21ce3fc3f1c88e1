"""The command line on the sample vault: shapes, exit codes, streams, colours, interruptions, bad words."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.cases import each_case
from tests.cli_run import Ran, at_terminal, one_line, process, ran, tree_hash
from tests.conftest import SAMPLE, Write
from tests.index_dump import other_state, synced
from vaultmem import paths
from vaultmem.api.verbs import commands
from vaultmem.commands import completion
from vaultmem.commands.parsing import program
from vaultmem.index.state import State
from vaultmem.output import JSON_VERSION

GOLDEN = Path(__file__).parent / "golden"
ASKED = {
    "search": "search knee stairs",
    "sync": "sync --no-embed",
    "init": "init",
    "related": "related Knee --limit 3",
    "backlinks": "backlinks Knee --mentions",
    "links": "links Home",
    "unresolved": "unresolved",
    "tasks": "tasks",
    "why": "why knee Knee",
    "status": "status",
    "doctor": "doctor",
    "pending": "pending",
    "completion": "completion bash",
}
# What the agent is started, ended and asked with has tests of its own.
OF_THE_AGENT = {"serve", "start", "stop", "restart", "service", "jobs", "demo"}
OF_HARNESSES = {"hook", "connect", "agent", "mcp"}
OF_MEMORIES = {
    "write", "remind", "ingest", "create", "read", "get", "list", "edit", "delete", "restore", "tag", "upgrade", "link", "unlink", "resolve-links",
    "reinforce", "dream", "compress", "expire", "decay", "consolidate", "review", "history", "diff", "undo",
    "done", "drop", "snooze", "set", "unset", "notify", "recall", "export", "import", "approve", "add", "conversations", "chat", "proxy", "token", "backup", "expect", "ui", "model", "setup", "shared",
}  # fmt: skip
BY_DAY = {"pending"}  # says something else every day; has tests of its own with a day that is given
VOLATILE = re.compile(
    r"(?<=score )[\d.]+|[\d.]+(?= s\b)|(?<=[\d ])\d+\.\d+ MB|\d+\.\d\d(?=\)?$)", re.MULTILINE
)


@pytest.fixture(scope="module")
def indexed(sample: Path) -> Path:
    synced(sample)
    return sample


@pytest.fixture
def writable(tmp_path: Path) -> Path:
    """A copy for a test that writes: what it leaves is no other test's."""
    return Path(shutil.copytree(SAMPLE, tmp_path / "sample-vault"))


def shape(value: Any) -> Any:
    """The keys and kinds of a JSON value; of a list the shape of its first element."""
    if isinstance(value, dict):
        return {key: shape(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [shape(value[0])] if value else []
    return type(value).__name__


def on(vault: Path, command: str, *more: str) -> Ran:
    return ran(*command.split(), *more, "--vault", str(vault))


# --- every command


def test_every_command_is_asked_for_here() -> None:
    assert ASKED.keys() | OF_THE_AGENT | OF_MEMORIES | OF_HARNESSES == commands().keys()


def golden(name: str, now: str) -> None:
    """Compare with the kept transcript; UPDATE_GOLDEN=1 writes it."""
    file = GOLDEN / name
    if os.environ.get("UPDATE_GOLDEN"):
        file.write_text(now, encoding="utf-8")
    assert now == file.read_text(encoding="utf-8"), (
        f"{name} has changed; UPDATE_GOLDEN=1 writes it anew"
    )


@each_case("name", [name for name in ASKED if name != "completion" and name not in BY_DAY])
def test_json(indexed: Path, name: str) -> None:
    ended = on(indexed, ASKED[name], "--format", "json")
    assert ended.code == 0, ended.err
    assert len(ended.out.splitlines()) == 1
    golden(f"{name}.json", json.dumps(shape(ended.data), indent=1, ensure_ascii=False) + "\n")


@each_case(
    "name",
    [n for n in ASKED if n not in ("status", "completion", "init", "doctor") and n not in BY_DAY],
)
def test_text(indexed: Path, name: str) -> None:
    ended = on(indexed, ASKED[name], "--format", "text")
    assert ended.code == 0, ended.err
    assert "\x1b" not in ended.out + ended.err
    shown = "".join(f"{line}\n" for line in ended.out.splitlines())
    remarks = "".join(f"! {line}\n" for line in ended.err.splitlines())
    golden(
        f"{name}.txt",
        VOLATILE.sub("#", f"$ vaultmem {ASKED[name]}\n{remarks}{shown}").replace(
            str(indexed), "VAULT"
        ),
    )


@pytest.mark.parametrize("name", ["status", "init", "doctor"])
def test_text_of_places_and_times(indexed: Path, name: str) -> None:
    ended = on(indexed, ASKED[name], "--format", "text")
    assert ended.code == 0
    assert ended.out.strip()
    assert "Traceback" not in ended.err


@pytest.mark.parametrize("name", commands())
def test_help(name: str) -> None:
    ended = ran(name, "--help")
    assert ended.code == 0
    assert ended.out.startswith(f"usage: {program(name)} ")
    assert not ended.err


@pytest.mark.parametrize("words", [[], ["--help"], ["-h"], ["help"]])
def test_help_of_all(words: list[str]) -> None:
    ended = ran(*words)
    assert (ended.code, ended.err) == (0, "")
    assert len([line for line in ended.out.splitlines() if re.match(r"  \w", line)]) <= 12
    everything = ran("help", "all").out
    upkeep = ran("maintain").out
    for name, one in commands().items():
        assert f"\n  {name} " in (upkeep if one.upkeep else everything)


def test_a_pipe_gets_text_unless_json_is_named(indexed: Path) -> None:
    words = ("unresolved", "--vault", str(indexed))
    assert len(process(*words).out.splitlines()) > 10
    for shape in (["--json"], ["--format", "json"], ["--format=json"]):
        assert process(*words, *shape).data["count"] > 10
    assert process("links", "--json", "nowhere", *words[1:]).err.startswith('{"error": ')
    assert process("--version", "--json").data["json"] == JSON_VERSION


def test_facts_of_the_sample(indexed: Path) -> None:
    """A few answers that were worked out by hand."""
    backlinks = on(indexed, "backlinks Knee", "--format", "json").data["backlinks"]
    for link in backlinks:
        text = (indexed / link["source"]).read_text(encoding="utf-8").split("\n")[link["line"] - 1]
        assert "knee" in text.lower()
        assert link["target"] == "Health/Knee.md"
    tasks = on(indexed, "tasks", "--format", "json").data["tasks"]
    dated = [
        task.get("due") or task.get("scheduled") or task.get("remind") or task.get("start")
        for task in tasks
    ]
    assert dated.index(None) > 5
    assert all(day is None for day in dated[dated.index(None) :]), "dated tasks come first"
    early = on(indexed, "tasks --due 2026-11-30", "--format", "json").data["tasks"]
    assert 0 < len(early) < len(tasks)
    everything = on(indexed, "tasks --all", "--format", "json").data
    assert everything["count"] > len(tasks)
    only = on(indexed, "tasks --path house/", "--format", "json").data["tasks"]
    assert {task["path"].partition("/")[0] for task in only} == {"House"}
    unresolved = on(indexed, "unresolved", "--format", "json").data["unresolved"]
    ambiguous = on(indexed, "unresolved --ambiguous", "--format", "json").data["ambiguous"]
    status = on(indexed, "status", "--format", "json").data
    assert (status["unresolved"], status["ambiguous"]) == (len(unresolved), len(ambiguous))
    assert status["notes"] == len(list(indexed.rglob("*.md")))


def test_filters_of_the_command_and_of_the_language_agree(indexed: Path) -> None:
    def paths(*words: str) -> list[str]:
        return [
            r["path"]
            for r in on(indexed, "search", *words, "--format", "json", "--limit", "50").data[
                "results"
            ]
        ]

    assert paths("river", "--path", "Work/") == paths("river path:Work/") != []
    assert (
        paths("the", "--from", "2026-11", "--to", "2026-11-20")
        == paths("the after:2026-10 before:2026-11-21")
        != []
    )
    assert paths("--tags", "recipe") == paths("tag:recipe")


# --- wrong words


USAGE = (
    ("search",), ("search", "--limit", "0", "x"), ("search", "--limit", "-3", "x"), ("search", "--limit", "many", "x"),
    ("search", "x", "--from", "yesterday"), ("search", "x", "--to", "2026-13"), ("search", "x", "--from", "2026-11-99"),
    ("search", "x", "--nonsense"), ("search", "x", "--group", "page"), ("search", "x", "--format", "xml"),
    ("tasks", "--due", "someday"), ("tasks", "--due", ""), ("links",), ("links", "a", "b"), ("related", "x", "--limit", "0"),
    ("completion", "tcsh"), ("completion",), ("sync", "now"), ("why", "x"), ("search", "x", "--min-confidence", "much"),
)  # fmt: skip


@each_case("words", USAGE, ids=" ".join)
@each_case("form", ["text", "json"])
def test_usage_errors(indexed: Path, words: tuple[str, ...], form: str) -> None:
    more = [] if words[-2:] == ("--format", "xml") else [f"--format={form}"]
    if words[0] != "completion":
        more += ["--vault", str(indexed)]
    ended = ran(*words, *more)
    assert ended.code == 2
    assert ended.out == ""
    line = one_line(ended)
    if form == "json" and words[-1] != "xml":
        assert json.loads(line).keys() == {"error"}
    elif words[-1] != "xml":
        assert line.startswith("vaultmem: ")


def test_unknown_command() -> None:
    ended = ran("serach", "x", "--format", "text")
    assert ended.code == 2
    assert "did you mean search?" in one_line(ended)
    assert "did you mean" not in one_line(ran("xyzzy", "--format", "text"))
    assert json.loads(ran("serach", "--format", "json").err).keys() == {"error"}


@pytest.mark.parametrize("command", ["links", "backlinks", "related", "why knee"])
def test_unknown_note(indexed: Path, command: str) -> None:
    ended = on(indexed, command, "Lisbon 2025", "--format", "text")
    assert ended.code == 1
    assert "did you mean Travel/Lisbon 2026.md" in one_line(ended)
    nothing = on(indexed, command, "zzzzqqqq", "--format", "json")
    assert nothing.code == 1
    assert "vaultmem search" in json.loads(nothing.err)["error"]


@each_case(
    "name", ["Knee", "knee", "Health/Knee", "Health/Knee.md", "[[Knee]]", "/Health/Knee", " Knee "]
)
def test_ways_to_name_a_note(indexed: Path, name: str) -> None:
    assert on(indexed, "links", name, "--format", "json").data["note"] == "Health/Knee.md"


@each_case("name", ["", " ", "\udcff", "a\nb", "%", "[[", "/", "..", "x" * 5000])
def test_names_that_no_note_has(indexed: Path, name: str) -> None:
    ended = on(indexed, "links", name, "--format", "text")
    assert ended.code == 1
    one_line(ended)


@each_case(
    "query", ["\udcff\udcfe", "a\udc80b", '"', "-", "*", "**", "OR", "a OR", "tag:", "before:x", "((", "x" * 3000, "' OR 1=1"]
)  # fmt: skip
def test_queries_are_never_an_error(indexed: Path, query: str) -> None:
    ended = ran("search", "--vault", str(indexed), "--format", "json", "--", query)
    assert ended.code == 0, ended.err
    for option in ("--path", "--tags", "--agent"):
        assert on(indexed, "search", "--format", "json", option, f"x{query}", "knee").code == 0


# --- what a note may hold


def test_control_characters_do_not_reach_the_terminal(vault: Path, write: Write) -> None:
    dirty = "apple \x1b[31mred\x1b]0;title\x07 \x9b31m \x01\x0231m \x0131\x02 apple \x7f\x08\r end"
    write(
        "A\x1b[2J.md",
        f"---\naliases: ['a\\x1b[1m']\n---\n# H\x1b[5m\n\n{dirty}\n\n- [ ] task \x1b[8m\n\n[[No\x1b[3m]]\n",
    )
    synced(vault)
    for command in (
        "search apple",
        "tasks",
        "unresolved",
        "doctor",
        "related A",
        "status",
        "links A",
        "why apple A",
    ):
        words = command.split()
        if words[-1] == "A":
            words[-1] = "A\x1b[2J"
        for form in ("text", "json"):
            ended = ran(*words, "--format", form, "--vault", str(vault))
            assert ended.code == 0, ended.err
            assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", ended.out + ended.err), (
                command,
                form,
            )
    # A program gets what stands in the note, a person's terminal does not.
    found = on(vault, "search apple", "--format", "json").data["results"][0]
    assert "\x1b[31mred\x1b]0;title\x07 \x9b31m" in found["snippet"]


def test_colours_on_a_terminal_only(indexed: Path, vault: Path, write: Write) -> None:
    shown = at_terminal("search", "knee", "--vault", str(indexed)).out
    assert "\x1b[1mKnee\x1b[0m" in shown
    assert "\x1b[" not in at_terminal("search", "knee", "--vault", str(indexed), NO_COLOR="1").out
    assert "\x1b[" not in at_terminal("search", "knee", "--vault", str(indexed), TERM="dumb").out
    write("Note.md", "apple \x0131\x02 \x1b[32m \x01a;31\x02")
    synced(vault)
    codes = set(
        re.findall(
            "\x1b.{0,6}",
            at_terminal("search", "zzz", "tag:none", "--vault", str(vault)).out,
            re.DOTALL,
        )
    )
    assert not codes
    shown = at_terminal("search", "apple", "--vault", str(vault)).out
    assert "\x1b[31" not in shown
    assert "\x1b[32" not in shown


# --- streams


def test_data_on_stdout_and_the_rest_on_stderr(vault: Path, write: Write) -> None:
    write("Note.md", "sourdough")
    ended = process("search", "sourdough", "--vault", str(vault), "--format", "json")
    assert [r["path"] for r in ended.data["results"]] == ["Note.md"]
    assert "for the first time" in ended.err
    remark = process("search", "sourdogh", "--vault", str(vault), "--format", "json")
    assert remark.data["count"] == 1
    assert 'no note has "sourdogh"' in remark.err


def test_a_reader_that_stops(indexed: Path) -> None:
    for command in ("search the", "tasks", "links Home"):
        piped = f"{sys.executable} -W error -m vaultmem {command} --format text --vault '{indexed}' | head -n 1"
        ended = subprocess.run(
            ["bash", "-o", "pipefail", "-c", piped], capture_output=True, text=True, check=False
        )
        assert ended.returncode == 0, ended.stderr
        assert len(ended.stdout.splitlines()) == 1
        assert "Traceback" not in ended.stderr
        assert "Broken" not in ended.stderr


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_any_encoding_of_the_terminal(indexed: Path, encoding: str) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "vaultmem", "search", "泡菜", "--format", "text", "--vault", str(indexed)],
        capture_output=True, check=False, env={**os.environ, "PYTHONIOENCODING": encoding, "LC_ALL": "C.UTF-8"},
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.decode(encoding)


# --- many queries


def test_batch(indexed: Path) -> None:
    lines = [
        b"knee stairs", b'{"id": "q2", "query": "knee", "limit": 2}', b"", b"   ", b'{"query": 5}', b'{"id": "b", "query": "x", "limit": 0}',
        b"{broken", b'{"id": 7, "query": "tag:recipe"}', "泡菜".encode(), b"\xff\xfe caf\xe9", b'{"id": 9, "query": "\\ud800"}',
        b'{"id": 10, "query": "x", "limit": true}', b"[1, 2]", b'{"a":' * 3000,
    ]  # fmt: skip
    ended = on_batch(indexed, lines)
    assert ended.code == 1, ended.err
    assert on_batch(indexed, lines[:2]).code == 0
    replies = [json.loads(line) for line in ended.out.splitlines()]
    assert [reply["id"] for reply in replies] == [1, "q2", 5, "b", 7, 7, 9, 10, 9, 10, 13, 14]
    assert [n for n, reply in enumerate(replies) if "error" in reply] == [2, 3, 4, 9, 11]
    assert replies[0]["results"][0]["path"] == "Health/Knee.md"
    assert len(replies[1]["results"]) == 2
    single = on(indexed, "search knee stairs --group block", "--format", "json").data["results"]
    assert replies[0]["results"] == single


def on_batch(vault: Path, lines: list[bytes]) -> Ran:
    return process("search", "--batch", "--vault", str(vault), given=b"\n".join(lines) + b"\n")


# --- syncs


def big_vault(folder: Path, count: int) -> Path:
    (folder / ".obsidian").mkdir(parents=True)
    for number in range(count):
        (folder / f"Note {number}.md").write_text(
            f"apple {number} [[Note {number + 1}]]\n\n" + "roof bell tree " * 60
        )
    return folder


def test_interrupted_sync(tmp_path: Path) -> None:
    vault = big_vault(tmp_path / "vault", 1500)
    running = subprocess.Popen(
        [sys.executable, "-m", "vaultmem", "sync", "--no-embed", "--vault", str(vault), "--format", "text"],
        stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    lock = Path(State(str(vault)).folder) / "lock"
    deadline = time.monotonic() + 20
    while not (lock.exists() and lock.read_text()) and time.monotonic() < deadline:
        time.sleep(0.005)
    time.sleep(0.1)
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=60)
    assert running.returncode == 130
    assert len(err.splitlines()) == 1
    assert "interrupted" in err
    assert out == ""
    assert on(vault, "sync --no-embed", "--format", "json").data["unchanged"] + 0 >= 0
    assert on(vault, "status", "--format", "json").data["notes"] == 1500


HOLD = """
import sys, time
from vaultmem.index.state import State
from vaultmem.output import JSON_VERSION
with State(sys.argv[1]).lock():
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_second_sync_says_who_is_at_work(indexed: Path) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(indexed)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdin
    assert holder.stdout
    assert holder.stdout.readline() == "held\n"
    ended = on(indexed, "sync --no-embed", "--format", "text")
    assert ended.code == 1
    assert f"process {holder.pid}" in one_line(ended)
    assert on(indexed, "search knee", "--format", "json").data["count"] > 0, "searches go on"
    holder.kill()
    holder.wait()
    holder.stdin.close()
    holder.stdout.close()
    assert on(indexed, "sync --no-embed").code == 0, "a killed holder holds nothing"


def test_two_syncs_at_once(tmp_path: Path) -> None:
    vault = big_vault(tmp_path / "vault", 800)
    words = [
        sys.executable,
        "-m",
        "vaultmem",
        "sync",
        "--no-embed",
        "--format",
        "text",
        "--vault",
        str(vault),
    ]
    both = [
        subprocess.Popen(words, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        for _ in range(2)
    ]
    ended = [(running.communicate(timeout=60)[1], running.returncode) for running in both]
    codes = sorted(code for _, code in ended)
    assert codes in ([0, 0], [0, 1]), ended
    for said, code in ended:
        assert "Traceback" not in said
        assert code == 0 or "is at work on this vault" in said
    assert on(vault, "status", "--format", "json").data["notes"] == 800


def test_dry_runs_write_nothing(tmp_path: Path) -> None:
    vault = big_vault(tmp_path / "vault", 5)
    with other_state(tmp_path / "state"):
        for command in ("sync --dry-run", "init --dry-run --write-config"):
            before = tree_hash(tmp_path)
            ended = on(vault, command, "--format", "text")
            assert ended.code == 0
            assert tree_hash(tmp_path) == before, command
        assert "5 added" in on(vault, "sync --dry-run", "--format", "text").err
        synced(vault)
        (vault / "New.md").write_text("new")
        (vault / "Note 1.md").unlink()
        (vault / "Note 2.md").write_text("changed, and shorter")
        before = (tree_hash(vault), tree_hash(tmp_path / "state", times=False))
        told = on(vault, "sync --dry-run", "--format", "json").data
        assert (told["added"], told["changed"], told["removed"], told["dry_run"]) == (1, 1, 1, True)
        assert (tree_hash(vault), tree_hash(tmp_path / "state", times=False)) == before
        done = on(vault, "sync --no-embed", "--format", "json").data
        assert (done["added"], done["changed"], done["removed"]) == (1, 1, 1)


def test_init_writes_only_what_was_asked_for(tmp_path: Path) -> None:
    vault = big_vault(tmp_path / "vault", 3)
    before = tree_hash(vault)
    assert ran("init", str(vault), "--format", "json").data["notes"] == 3
    assert tree_hash(vault) == before
    assert ran("init", str(vault), "--write-config").code == 0
    config = vault / ".vaultmem" / "config.yaml"
    text = config.read_text()
    config.write_text(text + "dialect: logseq\n")
    again = ran("init", str(vault), "--write-config", "--format", "text")
    assert "left as it is" in again.err
    assert config.read_text() == text + "dialect: logseq\n"


# --- completion


def completes(shell: str, *words: str) -> list[str]:
    return completion.answer((shell, *words)).splitlines()


def test_what_a_shell_completes(
    writable: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VAULTMEM_VAULT", str(writable))
    synced(writable)
    shown = [name for name, one in commands().items() if not one.upkeep]
    assert {line.partition("\t")[0] for line in completes("fish", "")} == {
        *shown,
        "maintain",
        "help",
    }
    assert completes("bash", "se") == ["search", "set", "serve", "service", "setup"]
    assert completes("fish", "maintain", "e") == [
        "expire\tarchive memories that end, or stayed in the inbox too long"
    ]
    assert "--dry-run:say what would change, and change nothing" in completes(
        "zsh", "maintain", "expire", "--"
    )
    assert completes("bash", "sync", "--format", "j") == ["json"]
    assert completes("bash", "list", "--category", "=", "pre") == ["preferences"]
    assert completes("bash", "connect", "c") == ["claude", "codex", "copilot", "cursor"]
    assert completes("bash", "service", "") == ["install", "uninstall"]
    assert completes("bash", "service", "install", "") == completes("bash", "nothing", "") == []
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes").mkdir()
    assert completes("bash", "sync", "--vault", "no") == ["notes/"]
    assert completes("bash", "read", "x", "--vault", "/nowhere", "") == []
    # What is there: notes, memories, tags, assistants, pending items, the archive.
    text = "Anne's sister lives in Porto"
    assert ran("write", text, "--tags", "porto", "--by", "claude").code == 0
    (made,) = ran("list", "--json").data["memories"]
    assert ran("sync", "--no-embed").code == 0
    short = made["id"][:8]
    assert completes("zsh", "read", "") == [f"{short}:{text}"]
    assert completes("bash", "read", short[:3]) == [short]
    assert completes("bash", "read", "anne") == [r"Anne\'s\ sister\ lives\ in\ Porto"]
    assert completes("bash", "read", '"Anne') == [text]
    assert completes("fish", "backlinks", "Anne") == [f"{text}\tvaultmem/inbox"]
    assert completes("bash", "list", "--tags", "x,por") == ["x,porto"]
    assert "claude" in completes("bash", "list", "--by", "")
    (writable / "vaultmem" / "pending.md").write_text(
        "- [ ] call Anne (Sun 2026-11-22) ^vm-k3c7qa\n"
    )
    assert completes("zsh", "done", "vm") == ["vm-k3c7qa:call Anne (Sun 2026-11-22)"]
    assert ran("delete", short).code == 0
    assert completes("zsh", "restore", "A") == [text]


SHELLS = {"bash": ["--norc", "--noprofile", "-i"], "zsh": ["-f", "-i"]}


@pytest.mark.parametrize("shell", SHELLS)
def test_the_words_are_completed_where_they_are_typed(
    writable: Path, tmp_path: Path, shell: str
) -> None:
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not here")
    assert ran("write", "Anne likes (green) tea", "--vault", str(writable)).code == 0
    assert ran("sync", "--no-embed", "--vault", str(writable)).code == 0
    program, script = paths.program(), tmp_path / "script"
    script.write_text(ran("completion", shell).out)
    start = "autoload -U compinit; compinit -u -D; " if shell == "zsh" else ""
    environ = {
        **os.environ,
        "VAULTMEM_VAULT": str(writable),
        "HOME": str(tmp_path),
        "TERM": "dumb",
        "PS1": "$ ",
    }
    child, terminal = pty.fork()
    if child == 0:
        os.execvpe(shell, [shell, *SHELLS[shell]], environ)
    try:
        typed = f"{start}vaultmem() {{ {shlex.join(program)} \"$@\"; }}; source {script}; echo rea''dy\r"
        os.write(terminal, typed.encode())
        _until(terminal, "ready")
        os.write(terminal, b"vaultmem read anne\t\r")
        assert "preferences" not in _until(terminal, "importance")
        os.write(terminal, b"vaultmem backl\t'Anne li\t\r")
        _until(terminal, "0 links from 0 notes")
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(terminal)


def _until(terminal: int, words: str) -> str:
    """What is shown on a terminal until these words are."""
    shown = ""
    while words not in shown:
        assert select.select([terminal], [], [], 20)[0], shown
        shown += os.read(terminal, 65_536).decode(errors="replace")
    return shown


def test_fish_completes(indexed: Path, tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text(ran("completion", "fish").out)
    if not shutil.which("fish"):
        pytest.skip("fish is not here")
    lines = f"source {script}; complete -C 'vaultmem sea'; complete -C 'vaultmem connect c'; complete -C 'vaultmem list --ph'"
    ended = subprocess.run(
        ["fish", "-c", lines], capture_output=True, text=True, check=True, timeout=60,
        env={**os.environ, "HOME": str(tmp_path), "VAULTMEM_VAULT": str(indexed)},
    )  # fmt: skip
    assert ended.stdout.splitlines() == [
        "search\tfind notes by words, and by meaning", "claude", "codex", "copilot", "cursor",
        "--phase\tmemories with this phase",
    ]  # fmt: skip


ALIASED = {
    "bash": ("shopt -s expand_aliases", "complete -p memory"),
    "zsh": ("autoload -U compinit; compinit -u -D", "echo $_comps[memory]"),
    "fish": ("", "complete -C 'memory sea'"),
}


@pytest.mark.parametrize("shell", ALIASED)
def test_the_alias_runs_this_program_and_completes(vault: Path, tmp_path: Path, shell: str) -> None:
    """The commands of memory-cli, as its users type them."""
    script = tmp_path / "script"
    script.write_text(ran("completion", shell, "--alias", "memory").out)
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not here")
    before, after = ALIASED[shell]
    lines = [
        before, f"source {script}", "memory write 'user prefers dark mode' --category preferences --tags ui",
        "memory list --category preferences", after,
    ]  # fmt: skip
    (tmp_path / "lines").write_text("\n".join(lines))
    ended = subprocess.run(
        [shell, tmp_path / "lines"], capture_output=True, text=True, check=True, cwd=vault, timeout=60,
        env={**os.environ, "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)},
    )  # fmt: skip
    written, listed, *completed = ended.stdout.splitlines()
    assert written.startswith("written: user prefers dark mode ")
    assert listed.endswith("user prefers dark mode #ui")
    assert any("_vaultmem" in line or line.startswith("search") for line in completed)


def test_an_alias_is_a_name() -> None:
    assert ran("completion", "bash", "--alias", "a b; rm").code == 2
