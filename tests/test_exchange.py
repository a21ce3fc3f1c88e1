"""Lines of JSON as memories: what is written is read, and nothing else than memories is."""

from __future__ import annotations

import json
import math

import pytest

from vaultmem.exchange import lines
from vaultmem.exchange.lines import READERS


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
