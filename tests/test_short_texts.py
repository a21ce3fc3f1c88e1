"""Laws of importance: novelty and salience by the letter of their formula, and the type of a memory."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.effort import takes_less
from vaultmem.dreams.short_texts import (
    THRESHOLD,
    importance,
    memory_type,
    novelty,
    salience,
)
from vaultmem.memories.model import TYPES


def test_the_threshold_lets_go_of_what_is_known_and_plain() -> None:
    assert importance(novelty(0.9), salience("ok")) < THRESHOLD
    assert importance(novelty(0.9), salience("I prefer Lisbon in May 2027")) >= THRESHOLD
    assert importance(novelty(None), salience("ok")) >= THRESHOLD


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("I prefer tabs", "procedural"),
        ("我更愿意坐高铁", "procedural"),
        ("Working on the parser right now", "working"),
        ("For this session, answer in French", "working"),
        ("正在调试登录页面", "working"),
        ("User is a backend engineer specializing in Python and PostgreSQL.", "semantic"),
        ("Postgres supports JSONB", "semantic"),
        ("i quit magna yesterday", "semantic"),
        ("I resigned from Siemens yesterday", "semantic"),
        ("部署分支是 main", "semantic"),
        ("2024-01-20: Discussed database migration from MySQL to PostgreSQL.", "episodic"),
        ("User reported issue with Alembic autogenerate on enums.", "episodic"),
        ("昨天和小李聊了项目", "episodic"),
        ("", "semantic"),
    ],
)
def test_the_type_follows_from_the_words(text: str, kind: str) -> None:
    assert memory_type(text) == kind


@given(st.text(max_size=200))
def test_any_text_has_a_salience_and_a_type(text: str) -> None:
    assert 0.0 <= salience(text) <= 1.0
    assert memory_type(text) in TYPES


@pytest.mark.parametrize("piece", ["a", " ", "的", "\n", "AbC", "Aa ", "1", "`", "/a", "王", ". "])
def test_hostile_text_is_judged_at_once(piece: str) -> None:
    text = piece * (100_000 // len(piece))
    assert takes_less(1.0, lambda: (salience(text), memory_type(text)))
