"""Events of a stream: however its bytes are cut, the same is read."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from vaultmem.core import sse
from vaultmem.core.sse import Answer, Events


def events(*pieces: bytes) -> list[str]:
    reader = Events()
    found = [data for piece in pieces for data in reader.feed(piece)]
    return [*found, *reader.close()]


def delta(**delta: object) -> str:
    return json.dumps({"choices": [{"index": 0, "delta": delta, "finish_reason": None}]})


def test_lines_may_end_in_three_ways() -> None:
    for end in (b"\n", b"\r", b"\r\n"):
        assert events(end.join([b"data: a", b"", b"data:b", b"data:  c", b"", b""])) == [
            "a",
            "b\n c",
        ]


def test_comments_other_fields_and_a_mark_at_the_beginning_say_nothing() -> None:
    told = b"\xef\xbb\xbf: hello\nevent: message\nid: 1\ndata: x\nretry: 5\n\n:\n\ndata\n\n"
    assert events(told) == ["x", ""]


def test_an_event_that_is_not_ended_counts_when_all_is_over() -> None:
    assert events(b"data: [DONE]") == ["[DONE]"]
    assert events(b"data: [DONE]\r") == ["[DONE]"]


def test_a_huge_line_is_passed_over_and_held_by_nobody() -> None:
    reader = Events()
    for _ in range(40):
        assert reader.feed(b"x" * 100_000) == []
        assert len(reader._held) <= sse.MOST_LINE
    assert reader.feed(b"\n\ndata: next\n\n") == ["next"]


def test_many_lines_of_one_event_are_bounded() -> None:
    reader = Events()
    for _ in range(30):
        reader.feed(b"data: " + b"y" * 100_000 + b"\n")
    assert sum(map(len, reader.feed(b"\n"))) <= sse.MOST_LINE + 100


LINES = st.lists(
    st.one_of(
        st.sampled_from(
            ["", "data: [DONE]", ": c", "event: x", "data", "data:é计划🙂", "\ufeffdata: q"]
        ),
        st.text(st.characters(blacklist_characters="\r\n", blacklist_categories=["Cs"])),
        st.text(max_size=9).map(lambda text: "data: " + json.dumps(text)),
    )
)


@given(LINES, st.lists(st.sampled_from(["\n", "\r", "\r\n"]), min_size=1), st.data())
def test_any_cut_of_the_bytes_reads_the_same(
    lines: list[str], ends: list[str], data: st.DataObject
) -> None:
    told = "".join(line + ends[number % len(ends)] for number, line in enumerate(lines)).encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(told)), max_size=8)))
    pieces = [told[a:b] for a, b in zip([0, *cuts], [*cuts, len(told)], strict=True)]
    assert events(*pieces) == events(told)
    assert events(*(bytes([byte]) for byte in told)) == events(told)


@given(st.binary())
def test_no_bytes_break_the_reader(told: bytes) -> None:
    answer = Answer()
    for data in events(told):
        answer.hear(data)
    answer.hear_whole(told)
    answer.text.encode()


def test_an_answer_is_the_first_choice() -> None:
    answer = Answer()
    for said in ("Hel", "lo"):
        answer.hear(delta(content=said))
        other = {"index": 1, "delta": {"content": "other"}, "finish_reason": "stop"}
        answer.hear(json.dumps({"choices": [other]}))
    assert not answer.is_complete
    answer.hear(json.dumps({"choices": [{"delta": {}, "finish_reason": "stop"}]}))
    assert (answer.text, answer.reason, answer.calls, answer.is_complete) == (
        "Hello",
        "stop",
        False,
        True,
    )


def test_a_character_in_two_halves_is_one() -> None:
    answer = Answer()
    answer.hear('{"choices": [{"delta": {"content": "\\ud83d"}}]}')
    assert answer.text == "\ufffd"
    answer.hear('{"choices": [{"delta": {"content": "\\ude42"}}]}')
    assert answer.text == "🙂"


def test_an_error_in_a_stream_is_no_complete_answer() -> None:
    answer = Answer()
    answer.hear(delta(content="so far"))
    answer.hear('{"error": {"message": "overloaded"}}')
    answer.hear("[DONE]")
    assert not answer.is_complete


def test_calls_of_tools_are_seen() -> None:
    answer = Answer()
    answer.hear(delta(tool_calls=[{"index": 0, "id": "call_1"}]))
    answer.hear(json.dumps({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}))
    assert answer.calls
    assert answer.is_complete


def test_an_answer_in_one_piece() -> None:
    answer = Answer()
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": "Hi"},
        "finish_reason": "stop",
    }
    answer.hear_whole(json.dumps({"choices": [choice]}).encode())
    assert (answer.text, answer.is_complete) == ("Hi", True)
    for odd in (
        b"",
        b"[]",
        b"{",
        b'{"choices": 1}',
        b'{"choices": [1, {"message": 2}]}',
        b'{"error": "x"}',
    ):
        other = Answer()
        other.hear_whole(odd)
        assert not other.is_complete


def test_an_endless_answer_is_cut() -> None:
    answer = Answer()
    for _ in range(30):
        answer.hear(delta(content="z" * 100_000))
    assert len(answer.text) == sse.MOST_TEXT
