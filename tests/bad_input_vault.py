"""A vault that is synced by the command, and whose bytes must not change."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cli_run import Ran, on, tree_hash
from tests.index_dump import other_state
from vaultmem.vault import identity


@pytest.fixture(autouse=True)
def state(tmp_path: Path) -> Iterator[Path]:
    with other_state(tmp_path / "state"):
        yield tmp_path / "state"


@pytest.fixture(autouse=True)
def untouched(request: pytest.FixtureRequest) -> Iterator[Callable[[], None]]:
    """The vault has the same bytes after a test as when the test first called this."""
    hashes: list[tuple[Path, str]] = []

    def mark() -> None:
        vault = request.getfixturevalue("vault")
        identity.remember(str(vault), "vaultmem")  # the marker of a memory folder is ours
        hashes.append((vault, tree_hash(vault)))

    yield mark
    for vault, before in hashes[-1:]:
        assert tree_hash(vault) == before, "the vault was changed"


Mark = Callable[[], None]


def sync_cli(vault: Path, *more: str) -> Ran:
    return on(vault, "sync", "--no-embed", "--format", "text", *more)


def found(vault: Path, words: str) -> list[str]:
    ended = on(vault, "search", words, "--format", "json")
    assert ended.code == 0, ended.err
    return [result["path"] for result in ended.data["results"]]
