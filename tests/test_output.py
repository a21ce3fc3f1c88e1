"""Output: data and remarks apart, JSON that loses nothing; nothing that controls a terminal or is wider than it; nothing empty,
nothing twice, and the same limits at every door."""

import contextlib
import io
import json
import os
import pty
import re
import shutil
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cli_run import at_terminal, on, process, ran
from tests.conftest import SAMPLE
from tests.effort import takes_less
from tests.laws import JSON
from tests.tables import each_case
from vaultmem import Vault, screen
from vaultmem.api.tool import Call
from vaultmem.api.toolbox import Toolbox
from vaultmem.commands import upkeep_views
from vaultmem.commands.rendering import show_diff
from vaultmem.errors import UsageError
from vaultmem.output import Bar, Output, Streams, json_text
from vaultmem.text import values


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def on_terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Stdout as a terminal. Not a fixture: pytest restores its own stdout before the test runs."""
    stream = Terminal()
    monkeypatch.setattr(sys, "stdout", stream)
    monkeypatch.setenv("TERM", "xterm")
    return stream


def written(wanted: str, method: str, *arguments: object) -> str:
    before, sys.stdout = sys.stdout, io.StringIO()
    try:
        getattr(Output(wanted), method)(*arguments)
        return sys.stdout.getvalue()
    finally:
        sys.stdout = before


@given(st.text(st.characters(max_codepoint=0x2030)))
def test_no_control_character_passes(text: str) -> None:
    shown = written("text", "line", text)
    assert not [c for c in shown if (ord(c) < 32 and c not in "\n\t") or 127 <= ord(c) < 160]
    assert len(shown) == len(text) + 1


@given(JSON)
def test_json_loses_nothing(value: object) -> None:
    shown = written("json", "data", value)
    assert json.loads(shown) == value
    assert shown.count("\n") == 1
    assert not [c for c in shown[:-1] if ord(c) < 32 or 127 <= ord(c) < 160]
    assert written("json", "record", value) == shown


@pytest.mark.parametrize("wanted", ["text", "json"])
def test_a_program_gets_the_answer_and_a_person_its_lines(wanted: str) -> None:
    out, err = io.StringIO(), io.StringIO()
    output = Output(wanted, Streams(out, err, terminal=False, colour=False))
    output.answer({"count": 1})
    output.line("one")
    output.text("of a note\n")
    output.note("for people")
    output.remark("for everybody")
    said = "vaultmem: for everybody\n"
    if wanted == "json":
        assert (out.getvalue(), err.getvalue()) == ('{"count": 1}\n', said)
    else:
        notes = "vaultmem: for people\n"
        assert (out.getvalue(), err.getvalue()) == ("one\nof a note\n", notes + said)


def test_only_a_terminal_is_painted_and_never_by_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_terminal(monkeypatch)
    output = Output("text")
    red, both, none = output.paint("red", "red"), output.paint("both", "bold", "yellow"), output.paint("", "red")  # fmt: skip
    output.line(f"{red} plain {both}{none}")
    output.line(output.paint("\x018;31\x02hidden\x01\x02\033[8m", "bold"))
    painted = "\033[31mred\033[0m plain \033[1;33mboth\033[0m\n"
    assert terminal.getvalue() == (
        f"{painted}\033[1m\ufffd8;31\ufffdhidden\ufffd\ufffd\ufffd[8m\033[0m\n"
    )
    for name, value in (("NO_COLOR", "1"), ("TERM", "dumb")):
        with monkeypatch.context() as patch:
            patch.setenv(name, value)
            assert Output("text").paint("red", "red") == "red"
    assert Output("json").paint("red", "red") == "red"


def test_a_person_sees_json_in_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    for stream, shown in (
        (Terminal(), '{\n  "a": [\n    1\n  ]\n}\n'), (io.StringIO(), '{"a": [1]}\n'),
    ):  # fmt: skip
        monkeypatch.setattr(sys, "stdout", stream)
        assert not Output().as_json
        Output("json").data({"a": [1]})
        assert stream.getvalue() == shown


def test_what_runs_for_somebody_else_is_written_for_them(monkeypatch: pytest.MonkeyPatch) -> None:
    own = on_terminal(monkeypatch)
    monkeypatch.setattr(sys, "stderr", own)
    out, err = io.StringIO(), io.StringIO()
    plain = Output("json", Streams(out, err, terminal=False, colour=False))
    assert not plain.bar().visible
    plain.data([1])
    plain.remark("so")
    assert (out.getvalue(), err.getvalue(), own.getvalue()) == ("[1]\n", "vaultmem: so\n", "")
    theirs = Output("text", Streams(out, err, terminal=True, colour=True))
    theirs.line(theirs.paint("red", "red"))
    assert out.getvalue().endswith("\033[31mred\033[0m\n")
    assert own.getvalue() == ""
    assert Output().bar().visible


def test_json_escapes_what_steers_a_terminal_and_nothing_else() -> None:
    for code in (*range(0x7F, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A)):
        assert json_text(f"a{chr(code)}…") == f'"a\\u{code:04x}…"'
    assert json_text("a é……\u200b") == '"a é……\u200b"'


def test_a_stalled_progress_bar_shows_no_remaining_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """The agent also reports while nothing has been finished."""
    stream, now = Terminal(), 100.0
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(time, "monotonic", lambda: now)
    bar = Bar()
    bar.stage("embedding", 400)
    for number in range(400):
        now += 0.2
        bar.advance(1 if number < 20 else 0)
    assert stream.getvalue().rpartition("\r")[2] == "\x1b[Kembedding 20/400 (0/s)"


LONG = """\
help all
connect --help
search damp wall
search 泡菜
backlinks Roof --mentions
related Roof
tasks
pending --all
why damp House/Roof.md
status
doctor
jobs
list
"""


_STEERS = re.compile(r"\033\[[0-9;]*[mK]|\033\]8;;[^\033]*\033\\")


def shown_at(vault: Path, words: str, columns: int, rows: int = 999, **environ: str) -> str:
    """What a person sees at a terminal of that size."""
    environ = {"TERM": "xterm-256color", "VAULTMEM_VAULT": str(vault), **environ}
    return at_terminal(*words.split(), size=(rows, columns), **environ).out


@each_case("words", LONG.splitlines())
def test_nothing_is_wider_than_the_screen(indexed: Path, words: str) -> None:
    shown = shown_at(indexed, words, 60)
    lines = [_STEERS.sub("", line.rpartition("\r")[2]) for line in shown.split("\n")]
    assert len(lines) > 1
    # A word alone may be: an address, a path without blanks, the usage line of argparse.
    wide = [line for line in lines if screen.columns(line) > 60 and " " in line.strip()]
    assert not [line for line in wide if len(line.split()) > 2], shown


def test_a_path_is_a_link_where_the_terminal_has_them(indexed: Path) -> None:
    link = f"\033]8;;file://{indexed}/People/Marek%20Nowak.md\033\\"
    words = "backlinks Roof"
    assert link in shown_at(indexed, words, 100, FORCE_HYPERLINK="1")
    assert "\033]8" not in shown_at(indexed, words, 100, FORCE_HYPERLINK="0")
    piped = process(*words.split(), VAULTMEM_VAULT=str(indexed), FORCE_HYPERLINK="1")
    assert "\033" not in piped.out


def test_only_a_long_answer_goes_to_the_pager(indexed: Path, tmp_path: Path) -> None:
    pager = tmp_path / "pager"
    pager.write_text("#!/bin/sh\necho PAGED; cat\n")
    pager.chmod(0o755)
    how = {"VAULTMEM_PAGER": str(pager), "FORCE_HYPERLINK": "1"}
    shown = shown_at(indexed, "tasks", 100, rows=20, **how)
    assert shown.startswith("PAGED")
    assert "\033]8" not in shown  # an old less would print it
    assert "PAGED" not in shown_at(indexed, "tasks", 100, rows=200, **how)
    assert "PAGED" not in process("tasks", VAULTMEM_VAULT=str(indexed), **how).out
    missing = shown_at(indexed, "tasks", 100, rows=20, VAULTMEM_PAGER="/no/such")
    assert "Garlic in" in missing


@pytest.mark.parametrize(
    ("text", "most", "seen"),
    [
        ("House/Roof.md", 20, "House/Roof.md"),
        ("Work/Projects/Combe Valley gauges.md", 30, "Work/P…/Combe Valley gauges.md"),
        ("Garden/Plot 27B.sync-conflict-20261103.md", 20, "Garden…t-20261103.md"),
        ("中文/很长的文件夹名字/HSK 三级.md", 20, "中文/很…/HSK 三级.md"),
    ],
)
def test_a_path_is_shortened_in_the_middle(text: str, most: int, seen: str) -> None:
    assert screen.cut_middle(text, most) == seen
    assert screen.columns(seen) <= most


def test_a_folded_line_stands_below_its_last_column() -> None:
    assert screen.fold("  search    find notes by words, and by meaning", 30) == (
        "  search    find notes by\n            words, and by\n            meaning"
    )
    assert screen.wrap([(one, one) for one in "aa bb cc dd".split()], 5, 1) == ["aa …"]
    assert screen.columns("泡菜 a\u0301") == 6


def test_a_diff_shows_which_words_differ() -> None:
    out = io.StringIO()
    diff = (
        "--- a\n+++ b\n@@ -1 +1 @@\n-Anne likes tea\n+Anne likes coffee\n x\n-one\n-two\n+three\n"
    )
    streams = Streams(out, out, terminal=True, colour=True)
    many = "-" + "a " * 6_000 + "\n+b " + "a " * 6_000
    assert takes_less(5, lambda: show_diff(many, Output("text", streams)))
    begin = out.tell()
    show_diff(diff, Output("text", streams))
    shown = out.getvalue()[begin:]
    assert "\033[31mAnne likes \033[0m\033[31;7mtea\033[0m\n" in shown
    assert "\033[32mAnne likes \033[0m\033[32;7mcoffee\033[0m\n" in shown
    assert "\033[31m-one\033[0m\n\033[31m-two\033[0m\n\033[32m+three\033[0m\n" in shown
    assert _STEERS.sub("", shown) == diff


def test_a_review_takes_a_single_key(monkeypatch: pytest.MonkeyPatch) -> None:
    own, theirs = pty.openpty()
    with open(theirs, encoding="utf-8") as keys:
        monkeypatch.setattr(sys, "stdin", keys)
        before = termios.tcgetattr(theirs)
        os.write(own, b"xr")  # no Enter; x is none of the keys
        assert upkeep_views._ask(Output()) == "r"
        assert termios.tcgetattr(theirs) == before
    os.close(own)


def test_where_nothing_opens_links_the_editor_opens_the_note(indexed: Path, tmp_path: Path) -> None:
    editor = tmp_path / "editor"
    editor.write_text(f"#!/bin/sh\necho \"$2\" > '{tmp_path}/opened'\n")
    editor.chmod(0o755)
    words = ("search", "damp quotes", "--keyword", "--open", "--vault", str(indexed))
    how = {"PATH": str(tmp_path), "VISUAL": "", "EDITOR": f"{editor} -n"}
    assert process(*words, **how).code == 0
    assert (tmp_path / "opened").read_text() == f"{indexed}/House/Damp quotes.md\n"
    assert "EDITOR" in process(*words, **{**how, "EDITOR": ""}).err


def test_why_says_which_word_stands_where(indexed: Path) -> None:
    shown = process("why", "damp bedroom", "House/Damp quotes.md", VAULTMEM_VAULT=str(indexed)).out
    assert re.search(r"matches 'damp' in the title \(\+\d+\.\d\d\)", shown), shown
    assert re.search(r"matches 'damp', 'bedroom' in the text \(\+", shown), shown


def test_why_takes_what_is_in_the_archive(opened: Vault) -> None:
    away = opened.delete(opened.write("tea at four")["id"])
    opened.sync()
    said = opened.why("tea", away["path"])
    assert (said.title, said.rank) == ("tea at four", None)
    assert opened.mentions(away["path"]) == []
    assert said.remarks == ["only notes are ranked; memories of the archive follow them"]


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Vault]:
    copy = shutil.copytree(SAMPLE, tmp_path_factory.mktemp("known") / "sample-vault")
    with Vault(str(copy)) as opened:
        opened.sync()
        opened.write("The roof was done by Marek Nowak", by="claude", category="people")
        opened.sync()
        yield opened


@each_case("query", ["boiler service", "tag:recipe", "泡菜"])
def test_results_as_json_hold_nothing_empty(known: Vault, query: str) -> None:
    words = ("search", query, "--keyword", "--limit", "5", "--format", "json", "--vault")
    results = ran(*words, known.path).data["results"]
    assert results
    for one in results:
        assert [*one][:4] == ["title", "path", "line", "end_line"]
        assert [*one][4] in ("snippet", "content")
        empty = {name for name, value in one.items() if value in (None, "", [], False)}
        assert empty <= {"score"}  # found by filters alone


def test_of_a_memory_all_is_told(known: Vault) -> None:
    words = ("search", "Marek", "--agent", "claude", "--format", "json", "--vault", known.path)
    (memory,) = ran(*words, "--json").data["results"]
    assert memory["content"] == "The roof was done by Marek Nowak"
    assert {"id", "agent", "created_at", "confidence", "category"} <= memory.keys()
    assert not {"snippet", "project", "global"} & memory.keys()


@each_case(
    "name, arguments",
    [
        ("memory_search", {"query": "roof", "limit": 5}), ("memory_smart_search", {"query": "damp wall", "limit": 5}),
        ("memory_recall", {"query": "who did the roof?"}), ("memory_list", {}), ("memory_read", {"id": "House/Roof.md"}),
        ("memory_pending", {}), ("memory_related", {"id": "House/Roof.md"}),
    ],
)  # fmt: skip
def test_a_tool_says_its_words_once(known: Vault, name: str, arguments: dict[str, Any]) -> None:
    """As text, with the place of each; the data has ids and places, for programs."""
    told = Toolbox(plain=True).call(known, Call(name, arguments, "claude"))
    again = json.dumps(told.data, ensure_ascii=False)
    said = [line for line in told.text.splitlines() if len(line) > 60]
    assert said
    assert not [line for line in said if line[-40:] in again]
    for one in told.data.get("results", ()):  # type: ignore[attr-defined]
        assert f"- {one['path']}:{one['line']}" in told.text


# command, tool, its name for the limit, the maximum, and what else it needs
LIMITS = [
    ("recall", "memory_recall", "budget", values.TOKENS, "query"), ("recall", "memory_recall", "top_k", values.MEMORIES, "query"),
    ("search", "memory_search", "limit", values.RESULTS, "query"), ("list", "memory_list", "limit", values.RESULTS, ""),
    ("related", "memory_related", "limit", values.RESULTS, "id"), ("pending", "memory_pending", "days", values.DAYS, ""),
]  # fmt: skip


@each_case("row", LIMITS)
def test_one_limit_at_all_doors(known: Vault, row: tuple[str, str, str, int, str]) -> None:
    command, tool, name, most, needed = row
    box, own = Toolbox(plain=True), {needed: "Roof"} if needed else {}
    for number in (-1, 1, most, most + 1):
        words = [*own.values(), f"--{name.replace('_', '-')}", str(number)]
        takes = on(known.path, command, *words).code == 0
        assert takes is (1 <= number <= most)
        with contextlib.nullcontext() if takes else pytest.raises(UsageError):
            box.call(known, Call(tool, {name: number, **own}, "tester"))
