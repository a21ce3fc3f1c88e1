"""Confidence: the three policies, to the digit, at any age."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultmem.memories.decay import Aging, policy, recency

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
def test_nothing_grows_by_waiting(first: float, second: float) -> None:
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
