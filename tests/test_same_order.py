"""A live index equals one that is built from scratch: the order of results, and which block has its vector where; and the
background cost of a saved note is in proportion to the change."""

import contextlib
import itertools
import os
import random
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cli_run import ran
from tests.conftest import Write
from tests.index_dump import DEFAULTS, catalog_dump, keyword_hits, other_state, synced
from tests.laws import WHOLE
from tests.test_renames import in_process
from tests.vector_samples import DIMENSIONS, vectors_of
from vaultmem import Vault
from vaultmem.agent.debounce import Listeners
from vaultmem.agent.events import Throttle
from vaultmem.agent.reconciler import REST_AFTER, Reconciler
from vaultmem.config import Config
from vaultmem.index import ORD_BITS, catalog_read
from vaultmem.index.catalog import Catalog
from vaultmem.index.state import State
from vaultmem.index.sync import open_indexer, tidy_keyword
from vaultmem.pending import pending_page, person_facts
from vaultmem.reminders import agenda, alarms, items, renames
from vaultmem.search.model_vectors import LiveRows
from vaultmem.synclog import log_folder
from vaultmem.synclog.log_folder import LogFolder
from vaultmem.vectors.vectors import VectorStore

WORDS = [
    f"word{number}" for number in range(40)
] + "apple roof bell tea garden knee 计划 桥".split()
QUESTIONS = 12
_seconds = itertools.count()
Order = list[list[tuple[str, int, float]]]


def text(chance: random.Random) -> str:
    """A note of some paragraphs; few words are frequent and many are rare. Some notes are equal."""
    if chance.random() < 0.2:
        return "apple roof"
    rare = [min(int(chance.paretovariate(0.6)) - 1, len(WORDS) - 1) for _ in range(120)]
    return "\n\n".join(
        " ".join(WORDS[number] for number in rare[start : start + chance.randint(2, 60)])
        for start in range(0, 120, 60)
    )


def put(note: Path, content: str) -> None:
    """Write a note some time ago, each a little later than the previous one, so that nothing is read again."""
    note.write_text(content)
    os.utime(note, (at := time.time() - 5000 + next(_seconds), at))


def order(vault: Path, questions: list[str]) -> Order:
    with Vault(str(vault)) as opened:
        return [
            [(hit.path, hit.line, hit.score) for hit in opened.search(question)]
            for question in questions
        ]


def rebuilt(vault: Path, questions: list[str], scratch: Path) -> Order:
    with other_state(scratch):
        synced(vault, rebuild=True)
        return order(vault, questions)


@contextlib.contextmanager
def edited(seed: int) -> Iterator[tuple[Path, list[str], Path]]:
    """A vault after edits, removals and new notes between syncs; questions for it; a folder for another index."""
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory(prefix="vm-order-") as place:
        vault = Path(place) / "vault"
        (vault / ".obsidian").mkdir(parents=True)
        with other_state(Path(place) / "state"):
            for number in range(count := chance.randint(2, 40)):
                put(vault / f"Note {number}.md", text(chance))
            synced(vault)
            for _ in range(chance.randint(1, 9)):
                for _ in range(chance.randint(1, 5)):
                    note = vault / f"Note {chance.randrange(count + 9)}.md"
                    if note.exists() and chance.random() < 0.3:
                        note.unlink()
                    else:
                        put(note, text(chance))
                synced(vault)
            questions = [
                " ".join(chance.sample(WORDS, chance.randint(1, 3))) for _ in range(QUESTIONS)
            ]
            yield vault, ["apple", *questions], Path(place) / "scratch"


@settings(max_examples=12 if WHOLE else 2)
@given(seed=st.integers(0, 10**9))
def test_the_order_is_that_of_an_index_built_from_nothing(seed: int) -> None:
    with edited(seed) as (vault, questions, scratch):
        state = State(str(vault))
        with state.lock(), open_indexer(state, DEFAULTS) as indexer:
            before = catalog_dump(vault)
            tidy_keyword(indexer, lambda: False)
            indexer.rest()
            assert catalog_dump(vault) == before
            assert not tidy_keyword(indexer, lambda: False), "it was done"
        assert order(vault, questions) == rebuilt(vault, questions, scratch)


def test_tidying_makes_way_for_a_waiting_writer() -> None:
    with edited(7) as (vault, _, _):
        state = State(str(vault))
        with state.lock(), open_indexer(state, DEFAULTS) as indexer:
            before = catalog_dump(vault), keyword_hits(vault)
            assert not tidy_keyword(indexer, lambda: True)
            assert (catalog_dump(vault), keyword_hits(vault)) == before
            assert tidy_keyword(indexer, lambda: False)


def test_the_agent_does_it_when_it_is_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now)
    with edited(11) as (vault, questions, scratch), State(str(vault)).lock():
        heard: list[int] = []
        listeners = Listeners(heard.extend, lambda: None, lambda _: None)
        reconciler = Reconciler(State(str(vault)), Config({}), Throttle(), listeners)
        reconciler._turn()  # checks everything
        for _ in range(9):  # whatever is due until then, such as fresh notes again
            if reconciler._indexer and reconciler._rest_due is not None:
                now += REST_AFTER + 1
                reconciler._turn()
        assert reconciler._rest_due is None
        assert heard, "searchers look again"
        assert order(vault, questions) == rebuilt(vault, questions, scratch)
        reconciler._close()


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


NOW = datetime(2026, 11, 22, 12, 0).astimezone()
WORK = (
    (items, "_item_of"), (pending_page, "render"), (alarms, "plan"), (renames, "_meaning"),
    (log_folder, "answers_in"), (LogFolder, "publish"), (person_facts, "with_our_keys"),
)  # fmt: skip


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each function was called that checks all pending items."""
    monkeypatch.setenv("VAULTMEM_NOTIFY_METHOD", "file")
    calls = Counter[str]()

    def counted(function: Callable[..., Any], name: str) -> Callable[..., Any]:
        def call(*arguments: object, **options: object) -> object:
            calls[name] += 1
            return function(*arguments, **options)

        return call

    for place, name in WORK:
        monkeypatch.setattr(place, name, counted(getattr(place, name), name))
    return calls


def test_a_save_looks_at_what_it_changed(vault: Path, write: Write, work: Counter[str]) -> None:
    lines = (f"- [ ] task {at} 📅 2026-11-{at % 5 + 20}\n" for at in range(30))
    write("Tasks.md", "".join(lines))
    write("vaultmem/preferences/Tea.md", "---\nid: tea\n---\nI prefer green tea.\n")
    write("Other.md", "one\n")
    waiting, catalog = in_process(vault)
    for _ in range(3):  # to list items, to notify, and to inform other machines
        for page in (vault / "vaultmem").glob("sync/*"):
            os.utime(page, (1_700_000_000,) * 2)
        waiting.refresh(catalog, NOW)
        waiting.notify(catalog, NOW)
    assert {*work} == {name for _, name in WORK}
    work.clear()
    write("Other.md", "one\ntwo\n")
    synced(vault)
    waiting.refresh(catalog, NOW + timedelta(minutes=1))
    waiting.notify(catalog, NOW + timedelta(minutes=1))
    assert not work
    write("Other.md", "- [ ] another 📅 2026-11-22\n")
    synced(vault)
    waiting.refresh(catalog, NOW + timedelta(minutes=2))
    assert "another" in (vault / "vaultmem" / "pending.md").read_text("utf-8")
    assert [one.title for one in waiting.notify(catalog, NOW + timedelta(minutes=2)).alarms] == [
        "another"
    ]


def test_notify_without_the_agent_reads_what_is_due_once(
    vault: Path, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("Tasks.md", "- [ ] task 📅 2026-11-22\n")
    reads = Mock(wraps=agenda.notes_with_times)
    monkeypatch.setattr(agenda, "notes_with_times", reads)
    assert ran("notify", "--vault", str(vault)).code == 0
    reads.assert_called_once()


@pytest.mark.usefixtures("work")
def test_in_another_time_zone_a_day_begins_at_its_own_time(vault: Path, write: Write) -> None:
    """Though nothing else has changed on the way there."""
    write("Tasks.md", "- [ ] call Anne 📅 2026-11-23\n")
    waiting, catalog = in_process(vault)
    for hours in (1, 1, 8, 1):
        zone = timezone(timedelta(hours=hours))
        begins = waiting.notify(catalog, NOW.astimezone(zone)).next
        assert begins == datetime(2026, 11, 23, 9, tzinfo=zone)
