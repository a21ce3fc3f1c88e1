"""The sample vault as commands see it."""

from pathlib import Path

import pytest

from tests.cli_run import Ran, ran
from tests.index_dump import synced


@pytest.fixture(scope="module")
def indexed(sample: Path) -> Path:
    synced(sample)
    return sample


def on(vault: Path, command: str, *more: str) -> Ran:
    return ran(*command.split(), *more, "--vault", str(vault))
