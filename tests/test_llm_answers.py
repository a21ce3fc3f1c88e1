"""JSON out of a language model's answer: wrapped, misspelt, cut off; in linear time, and prose is never guessed at."""

import json
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.effort import takes_less
from tests.laws import examples
from vaultmem.adapter.services import Message, Question, records
from vaultmem_chat.llm.llm import Form, request_body
from vaultmem_chat.llm.replies import (
    MOST_REPAIRED,
    Answer,
    error_message,
    parse_json,
    status,
    without_thoughts,
)

ARRAY, OBJECT = {"type": "array"}, {"type": "object"}

ANSWERS = json.loads((Path(__file__).parent / "data" / "model_answers.json").read_text("utf-8"))
NOTHING = [
    "", " ", "I found no facts.", "- The user likes tea\n- and coffee", "{", "[", "}]", '["a", "b", "c', '{"facts": ["a", "b', '{"a"', '{"a":', "[,", "null",
    '"a" is what they said', "<think>[1, 2]", "{name} is [unknown]", "```json\n```", "[nope]", '["', "True", "\x00",
]  # fmt: skip


@pytest.mark.parametrize("kind", ["array", "object"])
def test_what_the_schema_asks_for_is_found_in_an_answer(kind: str) -> None:
    """Wrapped, with small mistakes, or cut off: then what ends with a bracket."""
    for text, value in ANSWERS[kind]:
        found = parse_json(text, {"type": kind})
        assert (found, repr(found)) == (value, repr(value)), text


@pytest.mark.parametrize("text", NOTHING)
def test_what_is_no_json_is_not_made_up(text: str) -> None:
    for schema in (ARRAY, OBJECT, None):
        with pytest.raises(ValueError, match="no JSON"):
            parse_json(text, schema)


LEAVES = st.none() | st.booleans() | st.integers(-(10**15), 10**15) | st.floats(allow_nan=False, allow_infinity=False) | st.text()  # fmt: skip
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8
)
CONTAINERS = st.lists(VALUES, min_size=1) | st.dictionaries(st.text(), VALUES, min_size=1)
SOUND = re.compile("[\ud800-\udfff]")


@settings(max_examples=examples(50))
@given(CONTAINERS, st.booleans(), st.sampled_from([None, 1, "\t"]))
@example(["\ud83d", "\ude00"], True, None)
def test_all_json_is_read_as_it_is(value: Any, ascii_only: bool, indent: Any) -> None:
    """Also in the middle of prose."""
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    wanted = json.loads(SOUND.sub("\ufffd", json.dumps(json.loads(text), ensure_ascii=False)))
    root = {"type": "array" if isinstance(value, list) else "object"}
    for found in (parse_json(text, root), parse_json(f"Here it is:\n{text}\nThat is all.", root)):
        if len(value) == len(wanted) and len(value) > 1:  # keys that differed only in a broken half
            assert found == wanted


WORDS = st.text(st.characters(exclude_categories=["Cs", "Cc"])) | st.text('[]{}",: a')


@given(st.lists(st.lists(WORDS, min_size=1), min_size=1), st.data())
def test_of_a_cut_list_the_complete_items_stay(items: list[list[str]], data: st.DataObject) -> None:
    text = json.dumps(items, ensure_ascii=False)
    cut = data.draw(st.integers(1, len(text) - 1))
    try:
        kept = parse_json(text[:cut], ARRAY)
    except ValueError:
        kept = []
    assert isinstance(kept, list)
    kept = [kept] if kept in items else kept  # the only one
    assert kept == items[: len(kept)]


@given(st.integers(1, 200))
def test_an_object_that_is_cut_off_decides_nothing(cut: int) -> None:
    """Half of a number would name another memory."""
    items = [{"event": "DELETE", "id": 120 + at, "text": "x y"} for at in range(4)]
    text = json.dumps({"decisions": items})
    try:
        found = records(parse_json(text[:cut], OBJECT))
    except ValueError:
        return
    assert found == items[: len(found)]


NOISE = st.text(alphabet="[]{}\",:\\'“”`~-\n tfn1e.+/<>thinkaé\ud83d", max_size=300)


@given(NOISE, st.sampled_from([None, ARRAY, OBJECT]))
def test_noise_gives_sound_json_or_an_error(text: str, schema: dict[str, object] | None) -> None:
    try:
        found = parse_json(text, schema)
    except ValueError:
        return
    json.dumps(found, ensure_ascii=False).encode()


HEAVY = [
    "[", "{", '["a"c', "['", '{"a":', '["', '[" ', "<think>", "</think>", "```\n", "[1,", "[' ' ", "[“", "{a:", "[]", "{}", "[0.", "['a'b",
    "{'a'", "[\t'", " ' ]x", "\\u", "{a ", "[0,[",
]  # fmt: skip


def test_only_so_much_is_repaired(monkeypatch: pytest.MonkeyPatch) -> None:
    """The repair takes time with the square of its input; everything else is linear in the text."""
    import json_repair

    given: list[int] = []

    def measured(text: str, **_: object) -> list[object]:
        given.append(len(text))
        return []

    def look() -> None:
        for piece in HEAVY:
            text = (piece * (200_000 // len(piece) + 1))[:200_000]
            with suppress(ValueError):
                parse_json(text, ARRAY)
            without_thoughts(text)

    monkeypatch.setattr(json_repair, "loads", measured)
    assert takes_less(2.0 * len(HEAVY), look)  # minutes, if each piece needed another pass
    assert given
    assert max(given) <= MOST_REPAIRED + 20


def test_what_is_nested_too_deeply_is_no_json() -> None:
    for open_, close in (("[", "]"), ('{"a":', "}")):
        with pytest.raises(ValueError, match="no JSON"):
            parse_json(open_ * 50_000 + "1" + close * 50_000)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("plain", "plain"),
        ("<think>hm</think> yes", "yes"),
        ("<THINKING>hm</THINKING>\nyes", "yes"),
        ("hm</think>yes", "yes"),
        ("<think>a<think>b</think>c", "c"),
        ("I think </ so", "I think </ so"),
    ],
)
def test_thoughts_are_taken_out(text: str, left: str) -> None:
    assert without_thoughts(text) == left


@given(st.binary(max_size=60) | VALUES.map(lambda one: json.dumps(one).encode()))
def test_any_reply_is_read_or_refused(data: bytes) -> None:
    for one in (
        data,
        b'{"choices":' + data + b"}",
        b'{"choices":[{"message":' + data + b"}]}",
        b'{"error":' + data + b"}",
    ):
        assert isinstance(error_message(one), str)
        assert status(200, one) == 200 or 400 <= status(200, one) < 600
        answer = Answer()
        answer.read(one)
        assert answer.problem() or answer.text.strip()


# --- what is sent


def test_the_schema_is_told_in_the_one_system_message() -> None:
    """Some templates accept no second one, and only as the first message."""
    turn = Message("user", "x")
    for messages, roles in (
        ((turn,), ["system", "user"]),
        ((Message("system", "s"), turn), ["system", "user"]),
    ):
        sent: Any = request_body("m", Question("p", messages, OBJECT), Form("off"))
        assert [one["role"] for one in sent["messages"]] == roles
        assert json.dumps(OBJECT) in sent["messages"][0]["content"]
        assert "response_format" not in sent
    assert messages[0].content == "s"  # as it was
