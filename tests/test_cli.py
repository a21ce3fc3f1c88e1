"""The command line on the sample vault: shapes, exit codes, streams, colours, interruptions, invalid words."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli_run import Ran, at_terminal, on, one_line, process, ran
from tests.conftest import Write
from tests.index_dump import synced
from tests.tables import each_case
from vaultmem.output import JSON_VERSION

GOLDEN = Path(__file__).parent / "golden"
LINES = (
    "search knee stairs", "sync --no-embed", "related Knee --limit 3", "backlinks Knee --mentions", "links Home", "unresolved",
    "tasks", "why knee Knee",
)  # fmt: skip


VOLATILE = re.compile(
    r"(?<=score )[\d.]+|[\d.]+(?= s\b)|(?<=[\d ])\d+\.\d+ MB|\d+\.\d\d(?=\)?$)", re.MULTILINE
)


def golden(name: str, now: str) -> None:
    """Compare with the stored transcript; UPDATE_GOLDEN=1 writes it."""
    file = GOLDEN / name
    if os.environ.get("UPDATE_GOLDEN"):
        file.write_text(now, encoding="utf-8")
    assert now == file.read_text(encoding="utf-8"), (
        f"{name} has changed; UPDATE_GOLDEN=1 writes it anew"
    )


@each_case("line", LINES)
def test_text(indexed: Path, line: str) -> None:
    ended = on(indexed, line, "--format", "text")
    assert ended.code == 0, ended.err
    assert "\x1b" not in ended.out + ended.err
    shown = "".join(f"{one}\n" for one in ended.out.splitlines())
    remarks = "".join(f"! {one}\n" for one in ended.err.splitlines())
    text = VOLATILE.sub("#", f"$ vaultmem {line}\n{remarks}{shown}")
    golden(f"{line.partition(' ')[0]}.txt", text.replace(str(indexed), "VAULT"))


@pytest.mark.parametrize("words", [[], ["-h"], ["help"]])
def test_help_has_many_names(words: list[str]) -> None:
    ended = ran(*words)
    assert ended.out
    assert ended == ran("--help")


def test_a_pipe_gets_text_unless_json_is_named(indexed: Path) -> None:
    words = ("unresolved", "--vault", str(indexed))
    assert len(process(*words).out.splitlines()) > 10
    for shape in (["--json"], ["--format", "json"], ["--format=json"]):
        assert process(*words, *shape).data["count"] > 10
    assert process("links", "--json", "nowhere", *words[1:]).err.startswith('{"error": ')
    assert process("--version", "--json").data["json"] == JSON_VERSION


def test_facts_of_the_sample(indexed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
    monkeypatch.setenv("VAULTMEM_NOW", "2026-11-25T10:00")
    in_words = on(indexed, "tasks", "--due=this month", "--format", "json").data["tasks"]
    assert in_words == early
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


USAGE = (
    ("search",), ("search", "--limit", "0", "x"), ("search", "--min-confidence", "3", "x"), ("jobs", "run", "nothing"), ("search", "--limit", "-3", "x"), ("search", "--limit", "many", "x"),
    ("search", "x", "--from", "someday"), ("search", "x", "--to", "2026-13"), ("search", "x", "--from", "2026-11-99"),
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
    assert "did you mean delete?" in one_line(ran("forget", "--format", "text"))
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


@each_case("name", ["", " ", "\udcff", "a\nb", "%", "[[", "/", "..", "x" * 5000])
def test_names_that_no_note_has(indexed: Path, name: str) -> None:
    ended = on(indexed, "links", name, "--format", "text")
    assert ended.code == (1 if name.strip() else 2)
    one_line(ended)


@each_case(
    "query", ["\udcff\udcfe", "a\udc80b", '"', "-", "*", "**", "OR", "a OR", "tag:", "before:x", "((", "x" * 3000, "' OR 1=1"]
)  # fmt: skip
def test_queries_are_never_an_error(indexed: Path, query: str) -> None:
    ended = ran("search", "--vault", str(indexed), "--format", "json", "--", query)
    assert ended.code == 0, ended.err
    for option in ("--path", "--tags", "--agent"):
        assert on(indexed, "search", "--format", "json", option, f"x{query}", "knee").code == 0


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
            ended = on(vault, *words, "--format", form)
            assert ended.code == 0, ended.err
            assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", ended.out + ended.err), (
                command,
                form,
            )
    # A program gets the note's exact text, a terminal does not.
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


def test_notes_by_filter_alone_have_a_score(indexed: Path) -> None:
    found = on(indexed, "search path:Health", "--format", "json").data["results"]
    assert found
    assert {one["score"] for one in found} == {0}


def test_data_on_stdout_and_the_rest_on_stderr(vault: Path, write: Write) -> None:
    write("Note.md", "sourdough")
    ended = process("search", "sourdough", "--vault", str(vault), "--format", "json")
    assert [r["path"] for r in ended.data["results"]] == ["Note.md"]
    assert "indexing" in ended.err
    remark = process("search", "sourdogh", "--vault", str(vault), "--format", "json")
    assert remark.data["count"] == 1
    assert 'no note has "sourdogh"' in remark.err


def test_a_reader_that_stops(indexed: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-W", "error", "-m", "vaultmem", "tasks", "--vault", str(indexed)]
    ended = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, check=False)
    os.close(writer)
    assert (ended.returncode, ended.stderr) == (0, b"vaultmem: 47 tasks\n")


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_any_encoding_of_the_terminal(indexed: Path, encoding: str) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "vaultmem", "search", "泡菜", "--format", "text", "--vault", str(indexed)],
        capture_output=True, check=False, env={**os.environ, "PYTHONIOENCODING": encoding, "LC_ALL": "C.UTF-8"},
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.decode(encoding)


def test_batch(indexed: Path) -> None:
    lines = [
        b"knee stairs", b'{"id": "q2", "query": "knee", "limit": 2}', b"", b"   ", b'{"query": 5}', b'{"id": "b", "query": "x", "limit": 0}',
        b"{broken", b'{"id": 7, "query": "tag:recipe"}', "泡菜".encode(), b"\xff\xfe caf\xe9", b'{"id": 9, "query": "\\ud800"}',
        b'{"id": 10, "query": "x", "limit": true}', b"[1, 2]", b'{"a":' * 3000,
        b'{"id": 15, "query": " "}', b'{"id": 16, "query": "knee", "limt": 1}',
    ]  # fmt: skip
    ended = on_batch(indexed, lines)
    assert ended.code == 1, ended.err
    assert on_batch(indexed, lines[:2]).code == 0
    replies = [json.loads(line) for line in ended.out.splitlines()]
    assert [reply["id"] for reply in replies] == [
        1,
        "q2",
        5,
        "b",
        7,
        7,
        9,
        10,
        9,
        10,
        13,
        14,
        15,
        16,
    ]
    assert [n for n, reply in enumerate(replies) if "error" in reply] == [2, 3, 4, 8, 9, 11, 12, 13]
    assert replies[0]["results"][0]["path"] == "Health/Knee.md"
    assert len(replies[1]["results"]) == 2
    single = on(indexed, "search knee stairs --group block", "--format", "json").data["results"]
    assert replies[0]["results"] == single


def on_batch(vault: Path, lines: list[bytes]) -> Ran:
    return process("search", "--batch", "--vault", str(vault), stdin=b"\n".join(lines) + b"\n")
