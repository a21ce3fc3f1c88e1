"""The nearest blocks, while other threads store and remove vectors, and with notes that do not count."""

import random
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.conftest import Write
from tests.index_dump import synced
from tests.vector_samples import keys, vector_of
from vaultmem import Vault
from vaultmem.index import ORD_BITS, catalog_read
from vaultmem.index.catalog import Catalog
from vaultmem.search.semantic import Meaning

NOTES = 30


@pytest.fixture
def opened(vault: Path, write: Write) -> Iterator[Vault]:
    for number in range(NOTES):
        write(f"n{number}.md", f"text {number}\n")
    write("one/Twin.md", "the same text\n")
    write("two/Twin.md", "the same text\n")
    synced(vault)
    with Vault(str(vault)) as opened:
        yield opened


@pytest.fixture
def catalog(opened: Vault) -> Catalog:
    return opened.searcher().catalog


@pytest.fixture
def meaning(opened: Vault) -> Iterator[Meaning]:
    meaning = Meaning(opened.state, opened.config, threads=1)
    yield meaning
    meaning.close()


def store(meaning: Meaning, hashes: list[bytes]) -> None:
    size = meaning.store.dimensions
    vectors = np.array([vector_of(key, size) for key in hashes], np.float32)
    meaning.store.append(hashes, vectors.reshape(-1, size))


def hashes_of(catalog: Catalog) -> dict[int, bytes]:
    table = catalog_read.block_hashes(catalog)
    return {note << ORD_BITS | ordinal: digest for note, ordinal, digest in table}


def query_of(meaning: Meaning, digest: bytes) -> NDArray[np.float32]:
    return vector_of(digest, meaning.store.dimensions)


def test_rows_may_get_other_numbers_in_the_middle_of_a_search(
    catalog: Catalog, meaning: Meaning, opened: Vault
) -> None:
    blocks = hashes_of(catalog)
    texts = sorted(set(blocks.values()))
    ended = threading.Event()
    rounds = 0

    def tidy() -> None:
        """The searched block has another row after every round, further and further back."""
        nonlocal rounds
        with Vault(opened.path) as own:
            while not ended.is_set():
                store(meaning, keys(1000 * rounds, 1000 * rounds + 40 + 37 * (rounds % 5)))
                store(meaning, meaning.store.missing(texts))
                meaning.tidy(own.searcher().catalog)
                meaning.store.compact(random.Random(rounds).sample(texts, 3))
                store(
                    meaning, meaning.store.missing(random.Random(rounds).sample(texts, len(texts)))
                )
                rounds += 1

    store(meaning, texts)
    thread = threading.Thread(target=tidy)
    thread.start()
    wrong, near, far = [], 0, 0
    try:
        while rounds < 25 and thread.is_alive():
            block, digest = random.choice(list(blocks.items()))
            query = query_of(meaning, digest)
            nearest = meaning.nearest(catalog, query, 3)
            known = meaning.closeness(catalog, query, [block])
            vector = meaning.note_vector(catalog, block >> ORD_BITS)
            # A vector may be missing for a moment, but an existing one is the right one.
            near += block in nearest
            far += block in known
            for found, cosine in nearest.items():
                true = float(query_of(meaning, blocks[found]) @ query)
                wrong += [cosine] if abs(cosine - true) > 1e-4 else []
            if block in known and abs(known[block].block - 1) > 1e-4:
                wrong.append(known[block].block)
            if vector is not None and abs(float(vector @ query) - 1) > 1e-4:
                wrong.append(float(vector @ query))
    finally:
        ended.set()
        thread.join()
    assert rounds >= 25
    assert near
    assert far
    assert wrong == []


@pytest.mark.parametrize("seed", range(5))
def test_excluding_notes_equals_naming_all_others(
    catalog: Catalog, meaning: Meaning, seed: int
) -> None:
    rng = random.Random(seed)
    blocks = hashes_of(catalog)
    store(meaning, rng.sample(sorted(set(blocks.values())), 25))
    notes = sorted(catalog_read.ids(catalog, "SELECT id FROM notes"))
    some = rng.sample(notes, rng.randrange(len(notes)))
    for digest in rng.sample(sorted(set(blocks.values())), 5):
        query = query_of(meaning, digest)
        hidden = {*some, 999_999}
        others = set(notes) - hidden
        found = meaning.nearest(catalog, query, 10, hidden, all_but=True)
        assert found == meaning.nearest(catalog, query, 10, others)
        assert found.items() <= meaning.nearest(catalog, query, NOTES + 2).items()
        assert {block >> ORD_BITS for block in found} <= others
    assert meaning.nearest(catalog, query, 10, set(), all_but=True) == meaning.nearest(
        catalog, query, 10
    )
    assert meaning.nearest(catalog, query, 10, set(notes), all_but=True) == {}


def test_of_two_notes_with_the_same_text_only_the_one_that_counts_is_found(
    catalog: Catalog, meaning: Meaning
) -> None:
    blocks = hashes_of(catalog)
    store(meaning, sorted(set(blocks.values())))
    one, two = (catalog_read.note_id(catalog, f"{name}/Twin.md") for name in ("one", "two"))
    assert blocks[one << ORD_BITS] == blocks[two << ORD_BITS]
    query = query_of(meaning, blocks[one << ORD_BITS])
    both = meaning.nearest(catalog, query, 1)
    assert set(both) == {one << ORD_BITS, two << ORD_BITS}
    assert set(meaning.nearest(catalog, query, 1, {one})) == {one << ORD_BITS}
    assert set(meaning.nearest(catalog, query, 1, {one}, all_but=True)) == {two << ORD_BITS}


def test_tidying_keeps_what_is_stored_while_it_lists_what_is_needed(
    catalog: Catalog, meaning: Meaning, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = sorted(set(hashes_of(catalog).values()))
    store(meaning, [*keys(0, 200), *texts[:5]])
    late = keys(900, 903)
    real = meaning.store.compact

    def compact(live: list[bytes], seen: int | None = None) -> bool:
        store(meaning, late)  # from notes saved after `live` was listed
        return real(live, seen)

    monkeypatch.setattr(meaning.store, "compact", compact)
    meaning.tidy(catalog)
    assert len(meaning.store) == 5 + len(late)
    assert not meaning.store.missing([*texts[:5], *late])
