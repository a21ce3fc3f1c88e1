"""What measures time in tests must refuse what is slow, or the tests that use it could not fail."""

from __future__ import annotations

import pytest

from tests import effort


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(effort, "TRIES", 2)


def test_work_in_proportion_passes_and_quadratic_work_does_not() -> None:
    assert effort.is_linear(lambda size: sum(range(size)), 100_000, 800_000)
    assert not effort.is_linear(lambda size: sum(range(size * size)), 1_000, 8_000)


def test_what_is_slow_is_slow_at_each_try_and_one_bad_try_is_forgiven() -> None:
    assert not effort.takes_less(0.01, lambda: sum(range(3_000_000)))
    sizes = iter((3_000_000, 10))
    assert effort.takes_less(0.01, lambda: sum(range(next(sizes))))
