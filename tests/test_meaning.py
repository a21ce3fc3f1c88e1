"""The nearest blocks, and how blocks get their vectors: in the background, or within a search for a limited time."""

import os
import random
import threading
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.conftest import Write
from tests.index_dump import synced
from tests.test_embedding_queue import Model
from tests.vector_samples import keys, vector_of
from vaultmem import Vault
from vaultmem.index import ORD_BITS, catalog_read
from vaultmem.index.catalog import Catalog
from vaultmem.notes.dialects import open_rulebook
from vaultmem.search import model_vectors
from vaultmem.search.query import Ask
from vaultmem.search.semantic import Done, Meaning

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
def test_excluding_equals_naming_all_others(catalog: Catalog, meaning: Meaning, seed: int) -> None:
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


# --- Within a search


BOILERS = 20


@pytest.fixture
def boilers(vault: Path, write: Write) -> Iterator[Vault]:
    """A vault in which only one note has a vector."""
    write("Roof.md", "# Roof\n\nThe roof was tiled in May.\n")
    synced(vault)
    with Vault(str(vault)) as boilers:
        boilers.embed()
    for number in range(BOILERS):
        write(
            f"Boiler {number}.md", f"# Boiler {number}\n\n" + "The boiler is warm. " * (number + 1)
        )
    synced(vault)
    with Vault(str(vault)) as boilers:
        yield boilers


def parts(boilers: Vault) -> list[set[str]]:
    answer = boilers.searcher().search(Ask("boiler", 10, semantic=True))
    return [set(hit.parts) for hit in answer.results]


def test_the_best_blocks_get_their_vectors_within_the_search(
    boilers: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_vectors, "AT_ONCE_WITHIN", 1e9)
    monkeypatch.setattr(model_vectors, "AT_ONCE", 5)
    parts(boilers)
    store = boilers.searcher().meaning().store
    assert len(store) == 6
    monkeypatch.setattr(model_vectors, "AT_ONCE", 1_000)
    assert all("meaning" in part for part in parts(boilers))
    assert len(store) >= 1 + BOILERS
    assert boilers.embed().blocks == 0


@pytest.mark.parametrize(("step", "done"), [(0.01, 7), (0.06, 1)])
def test_it_ends_before_the_time_is_over(boilers: Vault, step: float, done: int) -> None:
    searcher = boilers.searcher()
    meaning = searcher.meaning()
    meaning.embedder.query("made ready")
    scores = dict.fromkeys(
        blocks_of(searcher.catalog.db.execute("SELECT note, ordinal FROM blocks")), 1.0
    )
    ticks = count(0, step)
    assert model_vectors.embed_best(meaning, searcher.catalog, scores, lambda: next(ticks)) == done


def blocks_of(rows: Iterator[tuple[int, int]]) -> list[int]:
    from vaultmem.index import ORD_BITS

    return [note << ORD_BITS | ordinal for note, ordinal in rows]


def test_a_model_that_is_not_loaded_is_not_waited_for(boilers: Vault) -> None:
    searcher = boilers.searcher()
    blocks = blocks_of(searcher.catalog.db.execute("SELECT note, ordinal FROM blocks"))
    assert (
        model_vectors.embed_best(searcher.meaning(), searcher.catalog, dict.fromkeys(blocks, 1.0))
        == 0
    )
    assert not searcher.meaning().is_loaded()


# --- In the background


@pytest.fixture
def dated(vault: Path, write: Write) -> Iterator[Vault]:
    for number in range(6):
        file = write(f"n{number}.md", f"text {number}\n")
        os.utime(file, (1_700_000_000 + number, 1_700_000_000 + number))
    synced(vault)
    with Vault(str(vault)) as dated:
        yield dated


@pytest.fixture
def one_by_one(dated: Vault) -> Iterator[Meaning]:
    one_by_one = Meaning(dated.state, dated.config, threads=1)
    one_by_one.embedder = Model(one_by_one.store.dimensions)  # type: ignore[assignment] # only batches()
    yield one_by_one
    one_by_one.close()


def embed(dated: Vault, one_by_one: Meaning, **how: object) -> int:
    return whole(dated, one_by_one, **how).blocks


def whole(dated: Vault, one_by_one: Meaning, **how: object) -> Done:
    rules = open_rulebook(dated.path, "auto")
    catalog = dated.searcher().catalog
    pending = one_by_one.pending(catalog, how.pop("notes", None))  # type: ignore[arg-type] # tests
    return one_by_one.embed_pending(pending, rules, **how)  # type: ignore[arg-type] # tests


def texts(one_by_one: Meaning) -> list[str]:
    return [text[-1] for text in one_by_one.embedder.texts]  # type: ignore[attr-defined] # Model


def test_the_newest_notes_come_first(dated: Vault, one_by_one: Meaning) -> None:
    assert embed(dated, one_by_one) == 6
    assert texts(one_by_one) == list("543210")
    assert embed(dated, one_by_one) == 0


@pytest.mark.parametrize("after", [1, 6, 7, 9, 11, 12, 100])
def test_stopping_keeps_what_is_done(dated: Vault, one_by_one: Meaning, after: int) -> None:
    calls = 0

    def aside() -> bool:
        nonlocal calls
        calls += 1
        return calls < after

    done, left = whole(dated, one_by_one, aside=aside)
    catalog = dated.searcher().catalog
    assert left == one_by_one.pending(catalog)
    assert done == len(texts(one_by_one)) == len(one_by_one.store)
    assert done == max(0, min(6, after - 6))
    assert calls == min(after, 12), "asked between all pieces, never again after a no"
    assert embed(dated, one_by_one) == 6 - done
