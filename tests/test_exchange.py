"""Lines of JSON as memories: what is written can be read, and only memories are. Texts are cut at paragraphs and
sentences, and nothing is lost."""

import json
import math
import os
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.effort import takes_less
from vaultmem.errors import VaultmemError
from vaultmem.exchange import lines
from vaultmem.exchange.incoming import chunks, clean
from vaultmem.exchange.lines import READERS, Exchanged, File
from vaultmem.notes.blocks import MAX_TOKENS, MIN_TOKENS, count_tokens

TEXT = st.text(max_size=20)


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)


PATHS = st.sampled_from(["", "people/Anne.md", "archive/Old.md", "Ä/b c.MD", "x.md"])


MEMORIES = st.builds(
    Exchanged,
    st.sampled_from(["", "one", "550e8400-e29b-41d4-a716-446655440000"]),
    PATHS,
    st.booleans(),
    st.dictionaries(TEXT, VALUES, max_size=4),
    TEXT,
    st.none() | st.builds(File, TEXT, st.binary(max_size=40)),
    st.just(()),
)


@given(MEMORIES)
def test_what_is_written_is_read(memory: Exchanged) -> None:
    line = lines.line_of(memory)
    assert "\n" not in line
    assert lines.memory(lines.parse_line(line.encode().decode())) == memory


@given(st.text(max_size=80) | MEMORIES.map(lines.line_of), st.sampled_from(["jsonl", *READERS]))
def test_any_line_is_a_memory_or_an_error(line: str, shape: str) -> None:
    try:
        found = lines.parse_line(line)
        made = lines.memory(found) if shape == "jsonl" else READERS[shape](found)
    except VaultmemError as error:
        said = str(error)
    else:
        said = made.content
        assert isinstance(made, Exchanged)
    assert isinstance(said, str)


@given(st.text(max_size=40) | st.lists(st.sampled_from(["..", ".", "/", "a", "\\", "archive", "entries", ".md", "\0", "%2e"])).map("".join))  # fmt: skip
def test_a_path_stays_in_its_folder(path: str) -> None:
    try:
        inner = lines.inner_path(path)
    except VaultmemError:
        return
    assert os.path.normpath(inner) == inner
    assert not os.path.isabs(inner)
    assert ".." not in inner.split("/")
    assert inner.lower().endswith(".md")
    assert not any(part.startswith(".") for part in inner.split("/"))


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_a_number_that_json_does_not_know_is_none(number: float) -> None:
    line = lines.json_line({"a": [number, 1.5]})
    assert json.loads(line, parse_constant=pytest.fail) == {"a": [None, 1.5]}


def test_half_a_character_is_written_as_an_escape() -> None:
    line = lines.json_line({"a": "é\ud800"})
    assert json.loads(line.encode()) == {"a": "é\ud800"}


def test_go_and_its_files_spell_fields_differently() -> None:
    one = READERS["memory-cli"]({"ID": "x", "Content": "text", "CreatedAt": "2026-05-07T10:00:00.123456789+08:00", "AccessCount": 2})  # fmt: skip
    other = READERS["memory-cli"]({"id": "x", "content": "text", "created_at": "2026-05-07T02:00:00Z", "access_count": 2})  # fmt: skip
    assert one == other
    assert one.properties["created_at"] == "2026-05-07T02:00:00Z"
    never = READERS["memory-cli"](
        {"id": "x", "content": "text", "UpdatedAt": "0001-01-01T00:00:00Z", "Tags": None}
    )
    assert "updated_at" not in never.properties


# --- cutting a text

LONG = "The boiler in the cellar was serviced in May, and it took the whole day. "


def test_a_text_is_cut_at_its_paragraphs_headings_and_sentences() -> None:
    assert chunks("One.\n\nTwo.\n\nThree.") == ["One.\n\nTwo.\n\nThree."]
    assert chunks("One.\n\n#tag is none") == ["One.\n\n#tag is none"]
    headed = ["# A\n\n## B\n\nOne.\n\nTwo.", "## C\n\nThree."]
    assert chunks("\n\n".join(headed)) == headed
    for text, end in (
        (LONG * 40, "day."),
        ("锅炉在五月份做了保养，用了整整一天的时间。" * 40, "。"),
    ):
        found = chunks(text.strip())
        assert len(found) > 1
        assert all(part.endswith(end) for part in found)
        assert all(MIN_TOKENS <= count_tokens(part) <= MAX_TOKENS for part in found)
    code = "```python\nx = 1\n\ny = 2\n```"
    assert code in chunks(clean(f"{LONG}\n\n{code}\n\n{LONG * 3}"))[0]


@given(
    st.lists(
        st.sampled_from(["word ", "A. ", "B!\n", "\n\n", "```\n", "锅炉。", "x" * 900, " "]),
        max_size=60,
    )
)
def test_no_word_is_lost_and_no_part_is_too_long(parts: list[str]) -> None:
    text = clean("".join(parts))
    found = chunks(text)
    assert re.sub(r"\s", "", "".join(found)) == re.sub(r"\s", "", text)
    assert all(count_tokens(part) <= MAX_TOKENS for part in found)


def test_it_takes_time_in_proportion() -> None:
    for hostile in ("`" * 100_000, "a" * 100_000, ". " * 50_000, "\n" * 100_000, "```\n" * 25_000):
        assert takes_less(2, lambda text=hostile: chunks(clean(text)))
