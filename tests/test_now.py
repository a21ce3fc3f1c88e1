"""The test clock: respected at every door, refused by an agent outside of tests."""

import time
from pathlib import Path

import pytest

from tests.cli_run import one_line, process
from vaultmem import now
from vaultmem.errors import UsageError


def test_the_clock_starts_where_it_is_set_and_runs_on(monkeypatch: pytest.MonkeyPatch) -> None:
    assert abs(now.seconds() - time.time()) < 1
    monkeypatch.setenv("VAULTMEM_NOW", "2031-05-06T07:08")
    first = now.seconds()
    assert now.local().isoformat().startswith("2031-05-06T07:08")
    assert 0 <= now.seconds() - first < 60
    monkeypatch.setenv("VAULTMEM_NOW", "86400")
    assert 86_399 < now.seconds() < 86_460
    monkeypatch.setenv("VAULTMEM_NOW", "soon")
    with pytest.raises(UsageError, match="VAULTMEM_NOW is not a time"):
        now.seconds()


def test_an_agent_outside_tests_refuses_it(vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VAULTMEM_NOW", "2031-05-01T12:00")
    monkeypatch.delenv("VAULTMEM_TESTS", raising=False)
    ended = process("serve", "--vault", str(vault))
    assert ended.code == 2
    assert "VAULTMEM_NOW is set, a clock for tests" in one_line(ended)
