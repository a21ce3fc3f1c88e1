"""Events of a stream: however its bytes are cut, they are read the same."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultmem_chat.llm import replies
from vaultmem_chat.llm.replies import Answer
from vaultmem_chat.llm.wire import MOST_EVENT, Events


def events(*pieces: bytes) -> list[str]:
    reader = Events()
    found = [data for piece in pieces for data in reader.feed(piece)]
    return [*found, *reader.close()]


def delta(**delta: object) -> str:
    return json.dumps({"choices": [{"index": 0, "delta": delta, "finish_reason": None}]})


def test_an_event_that_is_not_ended_counts_when_all_is_over() -> None:
    assert events(b"data: [DONE]") == ["[DONE]"]
    assert events(b"data: [DONE]\r") == ["[DONE]"]


@pytest.mark.parametrize("piece", [b"x" * 100_000, b"data: " + b"y" * 100_000 + b"\n"])
def test_a_huge_event_is_passed_over_and_held_by_nobody(piece: bytes) -> None:
    reader = Events()
    for _ in range(40):
        assert reader.feed(piece) == []
        assert len(reader._held) <= MOST_EVENT
    found = reader.feed(b"\n\ndata: next\n\n")
    assert found[-1] == "next"
    assert sum(map(len, found)) <= MOST_EVENT


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
        answer.feed(data)
    answer.read(told)
    answer.text.encode()


def test_an_answer_is_the_first_choice() -> None:
    answer = Answer()
    for said in ("Hel", "lo"):
        answer.feed(delta(content=said))
        other = {"index": 1, "delta": {"content": "other"}, "finish_reason": "stop"}
        answer.feed(json.dumps({"choices": [other]}))
    assert not answer.is_complete
    answer.feed(json.dumps({"choices": [{"delta": {}, "finish_reason": "stop"}]}))
    assert (answer.text, answer.reason, answer.calls, answer.is_complete) == (
        "Hello",
        "stop",
        False,
        True,
    )


def test_a_character_in_two_halves_is_one() -> None:
    answer = Answer()
    answer.feed('{"choices": [{"delta": {"content": "\\ud83d"}}]}')
    assert answer.text == "\ufffd"
    answer.feed('{"choices": [{"delta": {"content": "\\ude42"}}]}')
    assert answer.text == "🙂"


def test_what_is_new_is_handed_out_once() -> None:
    answer = Answer()
    for words in ("Hel", "lo"):
        answer.feed(delta(content=words))
        assert answer.fresh() == words
    assert answer.fresh() == ""


def test_an_error_in_a_stream_is_no_complete_answer() -> None:
    answer = Answer()
    answer.feed(delta(content="so far"))
    answer.feed('{"error": {"message": "overloaded"}}')
    answer.feed('{"error": "and more"}')
    answer.feed("[DONE]")
    assert not answer.is_complete
    assert answer.error == "overloaded"


def test_calls_of_tools_are_seen() -> None:
    answer = Answer()
    answer.feed(delta(tool_calls=[{"index": 0, "id": "call_1"}]))
    answer.feed(json.dumps({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}))
    assert answer.calls
    assert answer.is_complete


def test_an_endless_answer_is_cut() -> None:
    answer = Answer()
    for _ in range(30):
        answer.feed(delta(content="z" * 100_000))
    assert len(answer.text) == replies.MOST_TEXT
