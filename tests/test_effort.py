"""What measures time in tests must refuse what is slow, or the tests that use it could not fail."""

from __future__ import annotations

import pytest

from tests import effort


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(effort, "TRIES", 2)
