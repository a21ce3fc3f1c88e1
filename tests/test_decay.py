"""What a memory is worth: its importance and type, by the letter of their formula; its confidence, by policies exact to the
digit at any age, one of which learns from reads: what is read often fades more slowly, and every reader gets the same
answer."""

import os
import re
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.effort import takes_less
from vaultmem import Vault
from vaultmem.dreams.short_texts import THRESHOLD, importance, memory_type, novelty, salience
from vaultmem.memories import model
from vaultmem.memories.model import TYPES, Aging, policy, recency
from vaultmem.search.query import Filter

HOUR = 3600.0


@pytest.mark.parametrize(
    ("name", "age", "since_reinforced", "expected"),
    [
        ("stable", 10_000, None, 1.0),
        ("contextual", 0, None, 1.0),
        ("contextual", 360, None, 0.5),
        ("contextual", 360, 1, 0.5),
        ("contextual", 719, None, 0.0014),
        ("contextual", 721, None, 0.0),
        ("reinforceable", 721, None, 0.0),
        ("reinforceable", 721, 72, 0.9),
        ("reinforceable", 100, 0, 1.0),
    ],
)
def test_policies(name: str, age: float, since_reinforced: float | None, expected: float) -> None:
    now = 2_000_000_000.0
    reinforced = None if since_reinforced is None else now - since_reinforced * HOUR
    assert Aging(name, now - age * HOUR, reinforced).confidence(now) == expected


@given(
    st.sampled_from(["stable", "contextual", "reinforceable"]),
    st.floats(0, 4e9),
    st.none() | st.floats(0, 4e9),
    st.floats(0, 4e9),
)
def test_confidence_is_a_share_whatever_the_clocks_say(
    name: str, created: float, reinforced: float | None, now: float
) -> None:
    assert 0.0 <= Aging(name, created, reinforced).confidence(now) <= 1.0


@given(st.floats(0, 1e7), st.floats(0, 1e7))
def test_confidence_never_grows_with_time(first: float, second: float) -> None:
    early, late = sorted((first, second))
    aging = Aging("contextual", 0.0, None)
    assert aging.confidence(early) >= aging.confidence(late)


def test_the_memory_says_its_policy_and_else_it_is_stable() -> None:
    assert policy("contextual") == "contextual"
    assert policy("nonsense") == "stable"
    assert policy(None) == "stable"


@pytest.mark.parametrize(
    ("days", "expected"), [(0, 1.0), (30, 0.3679), (60, 0.1353), (-5, 1.0), (3650, 0.0)]
)
def test_recency_halves_in_three_weeks(days: float, expected: float) -> None:
    assert recency(-days * 86_400, 0.0) == expected


# --- fsrs

DAY = 86_400.0
NOW = 2_000 * DAY


def test_each_read_makes_it_last_longer() -> None:
    unread = model.retrievability(NOW - 40 * DAY, [], NOW)
    read = model.retrievability(NOW - 40 * DAY, [NOW - 30 * DAY, NOW - 10 * DAY], NOW)
    assert 0.0 < unread < read < 1.0
    assert model.retrievability(NOW, [], NOW) == 1.0


def test_without_the_package_it_fades_as_reinforceable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(model, "has_fsrs", lambda: False)
    aging = Aging("fsrs", NOW - 15 * DAY, None, None, "a")
    assert model.fsrs_confidence(aging, (), NOW) == 0.5
    assert model.fsrs_confidence(Aging("fsrs", 0.0, NOW, None, "a"), (), NOW) == 1.0


def test_search_and_read_say_the_same(vault: Path, opened: Vault) -> None:
    one = opened.write("Tariff codes of the northern ports", decay="fsrs", category="knowledge")
    note = vault / one["path"]
    then = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 400 * DAY))
    note.write_text(re.sub(r"(?<=_at=)\S+", then, note.read_text()))
    os.utime(note, (time.time() - 400 * DAY,) * 2)
    opened.sync()
    before = opened.memories()[0]["confidence"]
    opened.read(one["id"])
    sure = opened.memories()[0]["confidence"]
    hit = opened.search("tariff", filters=[Filter("category", "knowledge")])[0]
    assert before < sure
    assert hit.confidence == pytest.approx(sure, abs=0.001)


# --- Importance and type


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
