"""Embedding in the background of searches: newest notes first, pausing when asked, stopped without a loss."""

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.conftest import Write
from tests.index_dump import synced
from vaultmem import Vault
from vaultmem.notes.dialects import open_rulebook
from vaultmem.progress import Silent
from vaultmem.search.semantic import Done, Meaning
from vaultmem.vault import files as store_vault


class OneByOne:
    """Embeds one text at a time and remembers which."""

    def __init__(self, dimensions: int) -> None:
        self.dimensions = dimensions
        self.texts: list[str] = []

    def batches(self, texts: list[str]) -> Iterator[tuple[list[int], NDArray[np.float32]]]:
        for number, text in enumerate(texts):
            self.texts.append(text)
            yield [number], np.full((1, self.dimensions), 0.05, np.float32)


@pytest.fixture
def opened(vault: Path, write: Write) -> Iterator[Vault]:
    for number in range(6):
        file = write(f"n{number}.md", f"text {number}\n")
        os.utime(file, (1_700_000_000 + number, 1_700_000_000 + number))
    synced(vault)
    with Vault(str(vault)) as opened:
        yield opened


@pytest.fixture
def meaning(opened: Vault) -> Iterator[Meaning]:
    meaning = Meaning(opened.state, opened.config, threads=1)
    meaning.embedder = OneByOne(meaning.store.dimensions)  # type: ignore[assignment] # only batches()
    yield meaning
    meaning.close()


def embed(opened: Vault, meaning: Meaning, **how: object) -> int:
    return whole(opened, meaning, **how).blocks


def whole(opened: Vault, meaning: Meaning, **how: object) -> Done:
    rules = open_rulebook(store_vault.Root(opened.path), "auto")
    catalog = opened.searcher().catalog
    pending = meaning.pending(catalog, how.pop("notes", None))  # type: ignore[arg-type] # tests
    return meaning.embed_pending(pending, rules, Silent(), **how)  # type: ignore[arg-type] # tests


def texts(meaning: Meaning) -> list[str]:
    return [text[-1] for text in meaning.embedder.texts]  # type: ignore[attr-defined] # OneByOne


def test_the_newest_notes_come_first(opened: Vault, meaning: Meaning) -> None:
    assert embed(opened, meaning) == 6
    assert texts(meaning) == list("543210")
    assert embed(opened, meaning) == 0


@pytest.mark.parametrize("after", [1, 6, 7, 9, 11, 12, 100])
def test_stopping_keeps_what_is_done(opened: Vault, meaning: Meaning, after: int) -> None:
    calls = 0

    def aside() -> bool:
        nonlocal calls
        calls += 1
        return calls < after

    done, left = whole(opened, meaning, aside=aside)
    catalog = opened.searcher().catalog
    assert left == meaning.pending(catalog)
    assert done == len(texts(meaning)) == len(meaning.store)
    assert done == max(0, min(6, after - 6))
    assert calls == min(after, 12), "asked between all pieces, never again after a no"
    assert embed(opened, meaning) == 6 - done
