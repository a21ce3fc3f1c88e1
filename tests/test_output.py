"""Output: data and remarks apart, nothing that controls a terminal, JSON that loses nothing."""

import io
import json
import sys
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultmem.output import Bar, Output, Streams, json_text


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


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(JSON)
def test_json_loses_nothing(value: object) -> None:
    shown = written("json", "data", value)
    assert json.loads(shown) == value
    assert shown.count("\n") == 1
    assert not [c for c in shown[:-1] if ord(c) < 32 or 127 <= ord(c) < 160]
    assert written("json", "record", value) == shown


def test_format(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_terminal(monkeypatch)
    assert not Output().as_json
    Output("json").data({"a": [1]})
    assert terminal.getvalue() == '{\n  "a": [\n    1\n  ]\n}\n'
    plain = io.StringIO()
    monkeypatch.setattr(sys, "stdout", plain)
    assert not Output().as_json
    Output("json").data({"a": [1]})
    assert plain.getvalue() == '{"a": [1]}\n'


@pytest.mark.parametrize("wanted", ["text", "json"])
def test_a_program_gets_the_answer_and_a_person_its_lines(wanted: str) -> None:
    out, err = io.StringIO(), io.StringIO()
    output = Output(wanted, Streams(out, err, terminal=False, colour=False))
    output.answer({"count": 1})
    output.line("one")
    output.text("of a note\n")
    output.note("for people")
    output.remark("for everybody")
    data, notes = (
        ('{"count": 1}\n', "")
        if wanted == "json"
        else ("one\nof a note\n", "vaultmem: for people\n")
    )
    assert (out.getvalue(), err.getvalue()) == (data, f"{notes}vaultmem: for everybody\n")


def test_paint(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_terminal(monkeypatch)
    output = Output("text")
    output.line(
        output.paint("red", "red")
        + " plain "
        + output.paint("both", "bold", "yellow")
        + output.paint("", "red")
    )
    assert terminal.getvalue() == "\033[31mred\033[0m plain \033[1;33mboth\033[0m\n"
    for name, value in (("NO_COLOR", "1"), ("TERM", "dumb")):
        with monkeypatch.context() as patch:
            patch.setenv(name, value)
            assert Output("text").paint("red", "red") == "red"
    assert Output("json").paint("red", "red") == "red"


def test_a_note_cannot_paint(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_terminal(monkeypatch)
    output = Output("text")
    output.line(output.paint("\x018;31\x02hidden\x01\x02\033[8m", "bold"))
    assert terminal.getvalue() == "\033[1m\ufffd8;31\ufffdhidden\ufffd\ufffd\ufffd[8m\033[0m\n"


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
