"""Laws of importance: novelty and salience by the letter of their formula, and the type of a memory."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.effort import takes_less
from vaultmem.dreams.short_texts import (
    COUNTED,
    NAMED,
    PREFERENCE,
    TECHNICAL,
    THRESHOLD,
    importance,
    memory_type,
    novelty,
    salience,
)
from vaultmem.memories.model import TYPES

UNIT = st.floats(0, 1)

SALIENT = [
    ("Anne lives in Lisbon", NAMED),
    ("ok", 0.0),
    ("She said hello", 0.0),
    ("We met on Friday", COUNTED),
    ("I prefer tabs", PREFERENCE),
    ("I always lock the door", PREFERENCE),
    ("deploy with `make ship` from main", TECHNICAL),
    ("the parse_args function raises ValueError twice", COUNTED + TECHNICAL + NAMED),
    ("I hate the old CI of Northgate since 2024", PREFERENCE + NAMED + COUNTED + TECHNICAL),
    ("用户喜欢深色模式", PREFERENCE),
    ("今天天气不错", COUNTED),
    ("小王的生日是五月三日", NAMED + COUNTED),
    ("数据库连接池满了会死锁", TECHNICAL),
]


@pytest.mark.parametrize(("text", "score"), SALIENT)
def test_salience_adds_up_what_the_words_show(text: str, score: float) -> None:
    assert salience(text) == round(min(1.0, score), 4), text


def test_novelty_is_the_distance_from_what_is_known() -> None:
    assert novelty(None) == 1.0  # no memories yet
    assert novelty(1.0) == 0.0
    assert novelty(0.25) == 0.75
    assert novelty(-0.5) == 1.0
    assert novelty(1.0000001) == 0.0
    assert novelty(math.nan) == 1.0  # the vector of a text without a word


@given(UNIT, UNIT)
def test_importance_is_six_parts_novelty_and_four_parts_salience(
    new: float, salient: float
) -> None:
    found = importance(new, salient)
    assert 0.0 <= found <= 1.0
    assert found == pytest.approx(0.6 * new + 0.4 * salient, abs=0.00005)
    assert found == round(found, 4)


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
