"""Warm searchers: who keeps which index open, and for how long."""

import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import Write
from tests.index_dump import synced
from tests.mounting import mounts, runs_with_mounts
from vaultmem import Vault
from vaultmem.agent.pool import Pool, WarmSearcher
from vaultmem.search.query import Ask


@pytest.fixture
def pool(vault: Path, write: Write) -> Iterator[Pool]:
    write("Roof.md", "slate\n")
    synced(vault)
    with Vault(str(vault)) as opened:
        pool = Pool(opened.path, opened.config)
    yield pool
    pool.close()


def is_open(searcher: WarmSearcher) -> bool:
    try:
        searcher.catalog.version()
    except sqlite3.ProgrammingError:
        return False
    return True


def replace(vault: Path, pool: Pool) -> None:
    Vault(str(vault)).sync(rebuild=True)
    pool.replaced()


def test_a_replaced_index_is_let_go_at_once(vault: Path, pool: Pool) -> None:
    with pool.by_meaning() as by_meaning, pool.searcher() as by_keyword:
        pass
    replace(vault, pool)
    assert not is_open(by_meaning)
    assert not is_open(by_keyword)
    with pool.by_meaning() as fresh:
        assert fresh.search(Ask("slate")).results


def test_while_it_is_lent_it_stays_open_and_then_is_let_go(vault: Path, pool: Pool) -> None:
    with pool.by_meaning() as lent:
        replace(vault, pool)
        assert lent.search(Ask("slate")).results
    assert not is_open(lent)


def test_every_replaced_searcher_is_closed(vault: Path, pool: Pool) -> None:
    seen: set[WarmSearcher] = set()
    ended = threading.Event()

    def borrow() -> None:
        while not ended.is_set():
            with pool.by_meaning() as searcher:
                seen.add(searcher)
                assert is_open(searcher)

    threads = [threading.Thread(target=borrow) for _ in range(3)]
    for thread in threads:
        thread.start()
    for number in range(200):
        pool.replaced()
        if number % 20 == 0:
            replace(vault, pool)
    ended.set()
    for thread in threads:
        thread.join()
    assert len(seen) > 1
    pool.replaced()
    assert not any(is_open(searcher) for searcher in seen)


UNWRITABLE = """
import os, subprocess, sys
from pathlib import Path
from vaultmem import Vault
from vaultmem.agent.pool import Pool
from vaultmem.search.query import Ask

vault, state = sys.argv[1:]
os.environ["VAULTMEM_STATE"] = state
with Vault(vault) as opened:
    opened.sync()
    pool = Pool(opened.path, opened.config)

    def found():
        with pool.searcher() as searcher:
            return [one.path for one in searcher.search(Ask("slate")).results]

    assert found() == ["Roof.md"]
    Path(vault, "Wall.md").write_text("slate, too")
    opened.sync()
    pool.changed()
    subprocess.run(["mount", "--bind", state, state], check=True)
    subprocess.run(["mount", "-o", "remount,bind,ro", state], check=True)
    assert found() == found() == ["Roof.md"]
    subprocess.run(["umount", state], check=True)
    assert sorted(found()) == ["Roof.md", "Wall.md"]
"""


@mounts
def test_an_unwritable_state_still_answers(vault: Path, write: Write, tmp_path: Path) -> None:
    """Tantivy makes a lock file before it reads what is new, and a disk may have become read-only."""
    write("Roof.md", "slate\n")
    (tmp_path / "state").mkdir()
    runs_with_mounts(UNWRITABLE, vault, tmp_path / "state")
