"""Which block has its vector where: the updated state equals one that is read from scratch."""

import random
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from tests.index_dump import synced
from tests.vector_samples import DIMENSIONS, vectors_of
from vaultmem import Vault
from vaultmem.index import ORD_BITS, catalog_read
from vaultmem.index.catalog import Catalog
from vaultmem.search.model_vectors import LiveRows
from vaultmem.vectors.vectors import VectorStore

NOTES = 12


@pytest.fixture
def store(tmp_path: Path) -> Iterator[VectorStore]:
    with closing(VectorStore(tmp_path / "vec", DIMENSIONS)) as store:
        yield store


@pytest.fixture
def catalog(vault: Path) -> Iterator[Catalog]:
    for number in range(NOTES):
        edit(vault, number, number)
    synced(vault)
    with Vault(str(vault)) as opened:
        yield opened.searcher().catalog


def edit(vault: Path, number: int, seed: int) -> None:
    rng = random.Random(seed)
    words = ("\n\n".join(f"# {rng.randrange(40)}\n\ntext {rng.randrange(40)}" for _ in range(5)),)
    (vault / f"n{number}.md").write_text("".join(words))


def embed(catalog: Catalog, store: VectorStore, share: float, rng: random.Random) -> None:
    hashes = sorted({digest for _, _, digest in catalog_read.block_hashes(catalog)})
    some = store.missing(rng.sample(hashes, int(share * len(hashes))))
    store.append(some, vectors_of(some))


def right(catalog: Catalog, store: VectorStore) -> dict[int, int]:
    table = catalog_read.block_hashes(catalog)
    known = store.known({digest for _, _, digest in table})
    return {note << ORD_BITS | n: known[d] for note, n, d in table if d in known}


def check(live: LiveRows, catalog: Catalog, store: VectorStore) -> None:
    live.look(catalog)
    expected = right(catalog, store)
    assert live.blocks.tolist() == sorted(expected)
    assert dict(zip(live.blocks.tolist(), live.rows.tolist(), strict=True)) == expected
    used = np.isin(np.arange(len(store)), list(expected.values()))
    in_use = live.in_use()
    assert used.all() if in_use is None else in_use.tolist() == used.tolist()
    notes = sorted({block >> ORD_BITS for block in expected})[::2]
    blocks, rows = live.of_notes([*notes, 999_999])
    wanted = {block: row for block, row in expected.items() if block >> ORD_BITS in notes}
    assert dict(zip(blocks.tolist(), rows.tolist(), strict=True)) == wanted
    some = sorted(set(expected.values()))[::3]
    assert sorted(live.at_rows([*some, len(store) + 5])) == sorted(
        (block, row) for block, row in expected.items() if row in some
    )


@pytest.mark.parametrize("seed", range(4))
def test_followed_changes_equal_a_fresh_look(
    vault: Path, catalog: Catalog, store: VectorStore, seed: int
) -> None:
    rng = random.Random(seed)
    live = LiveRows(store)
    check(live, catalog, store)
    for step in range(12):
        kind = rng.choice(["edit", "embed", "remove", "both", "compact"])
        if kind in ("edit", "both"):
            edit(vault, rng.randrange(NOTES), 100 * seed + step)
        if kind == "remove":
            (vault / f"n{rng.randrange(NOTES)}.md").unlink(missing_ok=True)
        if kind != "embed":
            synced(vault)
        if kind in ("embed", "both"):
            embed(catalog, store, rng.random(), rng)
        if kind == "compact":
            store.compact(digest for _, _, digest in catalog_read.block_hashes(catalog))
        check(live, catalog, store)


def test_vectors_that_are_stored_during_a_look_are_seen_by_the_next(
    vault: Path, catalog: Catalog, store: VectorStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    live, rng = LiveRows(store), random.Random(3)
    embed(catalog, store, 0.3, rng)
    for number, asked in enumerate(["known", "known", "rows_from"]):
        with monkeypatch.context() as patch:
            real = getattr(store, asked)

            def then_embed(given: object, real: Callable[[object], object] = real) -> object:
                found = real(given)
                patch.undo()
                embed(catalog, store, 0.5, rng)  # as the embedding thread may at any moment
                return found

            patch.setattr(store, asked, then_embed)
            live.look(catalog)
        check(live, catalog, store)
        edit(vault, number, 300 + number)
        synced(vault)
        embed(catalog, store, 0.3, rng)
