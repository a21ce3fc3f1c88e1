"""The command line: shapes, exit codes, streams, colours, invalid words, and syncs that are interrupted or dry runs."""

import errno
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.agent_run import PATCHED
from tests.cli_run import (
    Ran,
    at_terminal,
    done,
    golden,
    on,
    one_line,
    process,
    ran,
    started,
    tree_hash,
)
from tests.conftest import Write
from tests.index_dump import other_state, synced
from tests.tables import each_case
from vaultmem.output import JSON_VERSION
from vaultmem.vault import write as writing

LINES = (
    "search knee stairs", "sync --no-embed", "related Knee --limit 3", "backlinks Knee --mentions", "links Home", "unresolved",
    "tasks", "why knee Knee",
)  # fmt: skip


VOLATILE = re.compile(
    r"(?<=score )[\d.]+|[\d.]+(?= s\b)|(?<=[\d ])\d+\.\d+ MB|\d+\.\d\d(?=\)?$)", re.MULTILINE
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


def test_help_has_many_names() -> None:
    shown = ran("--help")
    assert shown.out
    assert ran() == ran("-h") == ran("help") == ran("help", "help") == ran("-h", "--help") == shown
    assert "did you mean completion?" in ran("complete").err  # which only scripts call, with words


def test_a_pipe_gets_text_unless_json_is_named(indexed: Path) -> None:
    words = ("unresolved", "--vault", str(indexed))
    assert len(process(*words).out.splitlines()) > 10
    assert process(*words, "--json").data["count"] > 10
    for shape in (["--format", "json"], ["--format=json"]):
        assert ran(*words, *shape).data["count"] > 10
    assert ran("links", "--json", "nowhere", *words[1:]).err.startswith('{"error": ')
    assert ran("--version", "--json").data["json"] == JSON_VERSION


def test_facts_of_the_sample(indexed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A few answers that were worked out by hand."""
    for link in done(indexed, "backlinks Knee")["backlinks"]:
        lines = (indexed / link["source"]).read_text(encoding="utf-8").split("\n")
        assert "knee" in lines[link["line"] - 1].lower()
        assert link["target"] == "Health/Knee.md"
    tasks = done(indexed, "tasks")["tasks"]
    days = ("due", "scheduled", "remind", "start")
    dated = [any(task.get(name) for name in days) for task in tasks]
    assert sum(dated) > 5
    assert dated == sorted(dated, reverse=True), "dated tasks come first"
    early = done(indexed, "tasks --due 2026-11-30")["tasks"]
    monkeypatch.setenv("VAULTMEM_NOW", "2026-11-25T10:00")
    assert done(indexed, "tasks", "--due=this month")["tasks"] == early
    assert 0 < len(early) < len(tasks) < done(indexed, "tasks --all")["count"]
    only = done(indexed, "tasks --path house/")["tasks"]
    assert {task["path"].partition("/")[0] for task in only} == {"House"}
    unresolved = done(indexed, "unresolved")["unresolved"]
    ambiguous = done(indexed, "unresolved --ambiguous")["ambiguous"]
    status = done(indexed, "status")
    assert (status["unresolved"], status["ambiguous"]) == (len(unresolved), len(ambiguous))
    assert status["notes"] == len(list(indexed.rglob("*.md")))
    assert {one["score"] for one in done(indexed, "search path:Health")["results"]} == {0}


USAGE = (
    ("search",), ("search", "--limit", "0", "x"), ("search", "--min-confidence", "3", "x"), ("jobs", "run", "nothing"), ("search", "--limit", "many", "x"),
    ("search", "x", "--from", "someday"), ("search", "x", "--to", "2026-13"), ("search", "x", "--nonsense"), ("search", "x", "--group", "page"),
    ("search", "x", "--format", "xml"), ("tasks", "--due", ""), ("links", "a", "b"), ("completion", "tcsh"), ("completion",), ("sync", "now"),
    ("why", "x"), ("search", "x", "--min-confidence", "much"),
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


def test_unknown_names_get_a_suggestion(indexed: Path) -> None:
    for command in ("links", "backlinks", "related", "why knee"):
        ended = on(indexed, command, "Lisbon 2025", "--format", "text")
        assert ended.code == 1
        assert "did you mean Travel/Lisbon 2026.md" in one_line(ended)
        begun = on(indexed, command, "Calibrate a", "--format", "text")
        assert "did you mean Work/Howto/Calibrate a pressure transducer.md?" in one_line(begun)
        nothing = on(indexed, command, "zzzzqqqq", "--format", "json")
        assert nothing.code == 1
        assert "vaultmem search" in json.loads(nothing.err)["error"]
    for wrong, meant in (
        ("serach", ["search"]),
        ("forget", ["delete"]),
        ("remember", ["write"]),
        ("version", ["--version"]),
        ("xyzzy", []),
    ):
        ended = ran(wrong, "x", "--format", "text")
        assert ended.code == 2
        assert re.findall(r"did you mean (\S+)\?", one_line(ended)) == meant
    assert json.loads(ran("serach", "--format", "json").err).keys() == {"error"}


@each_case("name", ["", " ", "\udcff", "not \udcff", "a\nb", "%", "[[", "..", "x" * 5000])
def test_names_that_no_note_has(indexed: Path, name: str) -> None:
    ended = on(indexed, "links", name, "--format", "text")
    assert ended.code == (1 if name.strip() else 2)
    one_line(ended)


@each_case(
    "query", ["\udcff\udcfe", "a\udc80b", '"', "-", "*", "OR", "a OR", "tag:", "before:x", "((", "x" * 3000]
)  # fmt: skip
def test_queries_are_never_an_error(indexed: Path, query: str) -> None:
    ended = ran("search", "--vault", str(indexed), "--format", "json", "--", query)
    assert ended.code == 0, ended.err
    options = [word for name in ("--path", "--tags", "--agent") for word in (name, f"x{query}")]
    assert on(indexed, "search", "--format", "json", *options, "knee").code == 0


def test_control_characters_do_not_reach_the_terminal(vault: Path, write: Write) -> None:
    dirty = "apple \x1b[31mred\x1b]0;title\x07 \x9b31m \x01\x0231m \x0131\x02 apple \x7f\x08\r end"
    write(
        "A\x1b[2J.md",
        f"---\naliases: ['a\\x1b[1m']\n---\n# H\x1b[5m\n\n{dirty}\n\n- [ ] task \x1b[8m\n\n[[No\x1b[3m]]\n",
    )
    synced(vault)
    unnamed = ["search apple", "tasks", "unresolved", "doctor", "status"]
    named = [[*command.split(), "A\x1b[2J"] for command in ("related", "links", "why apple")]
    for words in [*map(str.split, unnamed), *named]:
        for form in ("text", "json"):
            ended = on(vault, *words, "--format", form)
            assert ended.code == 0, ended.err
            steers = re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", ended.out + ended.err)
            assert not steers, (words, form)
    # A program gets the note's exact text, a terminal does not.
    found = on(vault, "search apple", "--format", "json").data["results"][0]
    assert "\x1b[31mred\x1b]0;title\x07 \x9b31m" in found["snippet"]


def test_colours_on_a_terminal_only(indexed: Path) -> None:
    words = ("search", "knee", "--vault", str(indexed))
    assert "\x1b[1mKnee\x1b[0m" in at_terminal(*words).out
    for plain in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        assert "\x1b[" not in at_terminal(*words, **plain).out


def test_of_a_link_in_a_heading_a_person_sees_the_text(vault: Path, write: Write) -> None:
    heading = "[#](https://example.org/rye#salt) Rye and [[Salt]] ![x](y.png)"
    write("Bread.md", f"# {heading}\n\n{('flour ' * 60 + chr(10) * 2) * 8}sourdough\n")
    synced(vault)
    first = on(vault, "search", "sourdough").out.splitlines()[0]
    assert first == "Bread  # Rye and [[Salt]] x"
    (found,) = on(vault, "search", "sourdough", "--json").data["results"]
    assert found["heading"] == heading


def test_data_on_stdout_and_the_rest_on_stderr(vault: Path, write: Write) -> None:
    write("Note.md", "sourdough")
    ended = process("search", "sourdough", "--vault", str(vault), "--format", "json")
    assert [r["path"] for r in ended.data["results"]] == ["Note.md"]
    assert "indexing" in ended.err
    remark = on(vault, "search", "sourdogh", "--format", "json")
    assert remark.data["count"] == 1
    assert 'no note has "sourdogh"' in remark.err


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_any_encoding_of_the_terminal(indexed: Path, encoding: str) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "vaultmem", "search", "泡菜", "--format", "text", "--vault", str(indexed)],
        capture_output=True, check=False, env={**os.environ, "PYTHONIOENCODING": encoding, "LC_ALL": "C.UTF-8"},
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.decode(encoding)


BATCH: list[tuple[bytes, object, bool]] = [
    # a line, the id of its reply, whether it is an error
    (b"knee stairs", 1, False), (b'{"id": "q2", "query": "knee", "limit": 2}', "q2", False), (b"", None, False), (b"   ", None, False),
    (b'{"query": 5}', 5, True), (b'{"id": "b", "query": "x", "limit": 0}', "b", True), (b"{broken", 7, True),
    (b'{"id": 7, "query": "tag:recipe"}', 7, False), ("泡菜".encode(), 9, False), (b"\xff\xfe caf\xe9", 10, False),
    (b'{"id": 9, "query": "\\ud800"}', 9, True), (b'{"id": 10, "query": "x", "limit": true}', 10, True), (b"[1, 2]", 13, False),
    (b'{"a":' * 3000, 14, True), (b'{"id": 15, "query": " "}', 15, True), (b'{"id": 16, "query": "knee", "limt": 1}', 16, True),
]  # fmt: skip


def test_batch(indexed: Path) -> None:
    def answers(lines: list[bytes], code: int) -> list[Any]:
        words = ("search", "--batch", "--vault", str(indexed))
        ended = process(*words, stdin=b"\n".join(lines) + b"\n")
        assert ended.code == code, ended.err
        return [json.loads(line) for line in ended.out.splitlines()]

    replies = answers([line for line, _, _ in BATCH], 1)
    told = [(reply["id"], "error" in reply) for reply in replies]
    assert told == [(id_, fails) for _, id_, fails in BATCH if id_ is not None]
    no_json = [reply["id"] for reply in replies if "not valid JSON" in reply.get("error", "")]
    assert no_json == [7, 14]
    assert replies[0]["results"][0]["path"] == "Health/Knee.md"
    assert len(replies[1]["results"]) == 2
    assert replies[0]["results"] == done(indexed, "search knee stairs --group block")["results"]
    assert len(answers([line for line, _, _ in BATCH[:2]], 0)) == 2


# --- Syncs


def big_vault(folder: Path, count: int) -> Path:
    (folder / ".obsidian").mkdir(parents=True)
    for number in range(count):
        (folder / f"Note {number}.md").write_text(
            f"apple {number} [[Note {number + 1}]]\n\n" + "roof bell tree " * 60
        )
    return folder


# A sync that stays where it is, once it has read some notes.
STAYS = """
import itertools, time
from vaultmem.index.indexer import Indexer
count, put = itertools.count(), Indexer._put
def stay(*args):
    if next(count) == 60:
        print("60 are read", file=sys.stderr, flush=True)
        time.sleep(60)
    return put(*args)
Indexer._put = stay
"""


def test_interrupted_sync(tmp_path: Path) -> None:
    vault = big_vault(tmp_path / "vault", 100)
    command = [
        sys.executable,
        "-c",
        PATCHED.format(STAYS),
        "sync",
        "--no-embed",
        "--vault",
        str(vault),
    ]
    running = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert running.stderr
    assert "60 are read\n" in iter(running.stderr.readline, "")
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=60)
    assert (running.returncode, out) == (130, "")
    assert "interrupted" in one_line(Ran(130, out, err))
    report = done(vault, "sync --no-embed")
    assert report["added"] + report["changed"] + report["unchanged"] == 100
    assert done(vault, "status")["notes"] == 100


HOLD = """
import sys
from vaultmem.index.state import State
with State(sys.argv[1]).lock():
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_second_sync_says_who_is_at_work(indexed: Path) -> None:
    command = [sys.executable, "-c", HOLD, str(indexed)]
    with started(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout
        assert holder.stdout.readline() == "held\n"
        ended = on(indexed, "sync --no-embed", "--format", "text")
        assert ended.code == 1
        assert f"process {holder.pid}" in one_line(ended)
        assert on(indexed, "search knee", "--format", "json").data["count"] > 0, "searches go on"
    assert on(indexed, "sync --no-embed").code == 0, "a killed holder holds nothing"


def test_two_syncs_at_once(tmp_path: Path) -> None:
    vault = big_vault(tmp_path / "vault", 800)
    words = [sys.executable, "-m", "vaultmem", "sync", "--no-embed", "--vault", str(vault)]
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
        before = tree_hash(tmp_path)
        assert "5 added" in on(vault, "sync --dry-run", "--format", "text").err
        first = done(vault, "init --dry-run --write-config")
        assert first["written"] == [str(vault / ".vaultmem/config.yaml")]
        assert tree_hash(tmp_path) == before
        synced(vault)
        (vault / "New.md").write_text("new")
        (vault / "Note 1.md").unlink()
        (vault / "Note 2.md").write_text("changed, and shorter")
        both = (tree_hash(vault), tree_hash(tmp_path / "state", times=False))
        again = done(vault, "sync --rebuild --dry-run")
        assert (again["added"], again["unchanged"], again["rebuilt"]) == (5, 0, True)
        planned = done(vault, "sync --dry-run")
        assert planned["dry_run"] is True
        assert (tree_hash(vault), tree_hash(tmp_path / "state", times=False)) == both
        for report in (planned, done(vault, "sync --no-embed")):
            assert (report["added"], report["changed"], report["removed"]) == (1, 1, 1)


def test_settings_are_written_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault = big_vault(tmp_path / "vault", 3)

    def write_until_full(path: str, data: bytes, *_: int) -> None:
        Path(path).write_bytes(data[:9])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(writing, "_write_new", write_until_full)
    ended = ran("init", str(vault), "--write-config")
    assert (ended.code, "config.yaml cannot be written: No space" in ended.err) == (1, True)
    assert not any((vault / ".vaultmem").iterdir())


def test_init_writes_only_what_was_asked_for(tmp_path: Path) -> None:
    vault = big_vault(tmp_path / "vault", 3)
    before = tree_hash(vault)
    assert "no notes" not in ran("init", str(vault)).err
    assert ran("init", str(vault), "--format", "json").data["notes"] == 3
    assert tree_hash(vault) == before
    assert ran("init", str(vault), "--write-config").code == 0
    config = vault / ".vaultmem" / "config.yaml"
    text = config.read_text()
    config.write_text(text + "dialect: logseq\n")
    again = ran("init", str(vault), "--write-config", "--format", "text")
    assert "left as it is" in again.err
    assert config.read_text() == text + "dialect: logseq\n"
    (tmp_path / "empty").mkdir()
    assert "vaultmem init FOLDER" in ran("init", str(tmp_path / "empty")).err
