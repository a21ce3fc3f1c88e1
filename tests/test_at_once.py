"""Meaning at once: a search embeds its best blocks, for a limited time."""

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from tests.conftest import Write
from tests.index_dump import synced
from vaultmem import Vault
from vaultmem.search import at_once
from vaultmem.search.query import Ask

NOTES = 20


@pytest.fixture
def opened(vault: Path, write: Write) -> Iterator[Vault]:
    """A vault in which only one note has a vector."""
    write("Roof.md", "# Roof\n\nThe roof was tiled in May.\n")
    synced(vault)
    with Vault(str(vault)) as opened:
        opened.embed()
    for number in range(NOTES):
        write(
            f"Boiler {number}.md", f"# Boiler {number}\n\n" + "The boiler is warm. " * (number + 1)
        )
    synced(vault)
    with Vault(str(vault)) as opened:
        yield opened


def parts(opened: Vault) -> list[set[str]]:
    answer = opened.searcher().search(Ask("boiler", 10, semantic=True))
    return [set(hit.parts) for hit in answer.results]


def test_the_best_blocks_get_their_vectors_within_the_search(
    opened: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(at_once, "CAP", 1e9)
    monkeypatch.setattr(at_once, "MOST", 5)
    parts(opened)
    store = opened.searcher().meaning().store
    assert len(store) == 6
    monkeypatch.setattr(at_once, "MOST", 1_000)
    assert all("meaning" in part for part in parts(opened))
    assert len(store) >= 1 + NOTES
    assert opened.embed().blocks == 0


@pytest.mark.parametrize(("step", "done"), [(0.01, 7), (0.06, 1)])
def test_it_ends_before_the_time_is_over(opened: Vault, step: float, done: int) -> None:
    searcher = opened.searcher()
    meaning = searcher.meaning()
    meaning.embedder.query("made ready")
    scores = dict.fromkeys(
        blocks_of(searcher.catalog.db.execute("SELECT note, ordinal FROM blocks")), 1.0
    )
    ticks = count(0, step)
    assert at_once.embed_best(meaning, searcher.catalog, scores, lambda: next(ticks)) == done


def blocks_of(rows: Iterator[tuple[int, int]]) -> list[int]:
    from vaultmem.index import ORD_BITS

    return [note << ORD_BITS | ordinal for note, ordinal in rows]


def test_a_model_that_is_not_loaded_is_not_waited_for(opened: Vault) -> None:
    searcher = opened.searcher()
    blocks = blocks_of(searcher.catalog.db.execute("SELECT note, ordinal FROM blocks"))
    assert at_once.embed_best(searcher.meaning(), searcher.catalog, dict.fromkeys(blocks, 1.0)) == 0
    assert not searcher.meaning().is_loaded()
