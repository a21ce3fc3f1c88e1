"""The embedding thread: what a failure costs, who is told, when the model is unloaded, what is checked again."""

import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.agent_run import until
from tests.conftest import Write
from tests.index_dump import synced
from vaultmem import Vault
from vaultmem.agent import embedding
from vaultmem.agent.embedding import EmbeddingQueue
from vaultmem.agent.events import StageProgress, Throttle
from vaultmem.agent.pool import Pool
from vaultmem.errors import ModelError, StateError
from vaultmem.index.sync import rules_of
from vaultmem.progress import report_to
from vaultmem.search import semantic
from vaultmem.search.semantic import Meaning

NOTES = 6
PATIENCE = 60.0


class PanicException(BaseException):
    """How a Rust panic appears in Python."""


class Model:
    """Stands in for an embedding model: loads, fails when told to, and lets others in between two texts."""

    def __init__(self, dimensions: int) -> None:
        self.dimensions = dimensions
        self.fails: list[BaseException] = []
        self.loaded = False
        self.loads = 0
        self.texts: list[str] = []
        self.between: Callable[[], object] = lambda: None

    def batches(self, texts: Sequence[str]) -> Iterator[tuple[list[int], NDArray[np.float32]]]:
        if self.fails:
            raise self.fails.pop()
        self.loads += not self.loaded
        self.loaded = True
        for number, text in enumerate(texts):
            self.texts.append(text)
            self.between()
            yield [number], np.full((1, self.dimensions), 0.05, np.float32)

    def is_loaded(self) -> bool:
        return self.loaded

    def unload(self) -> None:
        self.loaded = False

    def load(self) -> None:
        self.loaded = True


@pytest.fixture
def opened(vault: Path, write: Write) -> Iterator[Vault]:
    for number in range(NOTES):
        write(f"n{number}.md", f"text {number}\n")
    synced(vault)
    with Vault(str(vault)) as opened:
        yield opened


@pytest.fixture
def pool(opened: Vault) -> Iterator[Pool]:
    pool = Pool(opened.path, opened.config)
    yield pool
    pool.close()


@pytest.fixture
def meaning(pool: Pool) -> Meaning:
    meaning = pool.shared.get()
    meaning.embedder = Model(meaning.store.dimensions)  # type: ignore[assignment] # what is used of it
    return meaning


@pytest.fixture
def model(meaning: Meaning) -> Model:
    assert isinstance(meaning.embedder, Model)
    return meaning.embedder


@pytest.fixture
def queue(opened: Vault, pool: Pool, model: Model) -> Iterator[EmbeddingQueue]:  # noqa: ARG001 - in the pool
    queue = EmbeddingQueue(
        opened.state, pool, Throttle(), lambda: rules_of(opened.path, opened.config)
    )
    yield queue
    queue.stop()
    if queue.ident:
        queue.join(PATIENCE)
        assert not queue.is_alive()


# --- failures


FAILURES = [StateError("no room"), ValueError("odd"), PanicException("index out of bounds")]


@pytest.mark.parametrize("error", FAILURES, ids=lambda error: type(error).__name__)
def test_what_fails_is_told_and_tried_again(
    queue: EmbeddingQueue, meaning: Meaning, model: Model, error: BaseException
) -> None:
    model.fails = [error, error]  # one may happen before anybody waits
    queue.start()
    while model.fails:
        assert queue.wait(PATIENCE), "who waits is not left waiting"
        assert str(error) in str(queue.trouble)
    assert not queue.is_done()
    assert queue.is_alive()
    assert len(meaning.store) == 0
    assert queue.wait(PATIENCE)
    assert (queue.trouble, queue.is_done(), len(meaning.store)) == (None, True, NOTES)


@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt])
def test_the_end_of_the_process_ends_the_thread(
    queue: EmbeddingQueue, model: Model, monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    monkeypatch.setattr(threading, "excepthook", lambda _: None)
    model.fails = [error()]
    queue.start()
    queue.join(PATIENCE)
    assert not queue.is_alive()


def test_without_a_model_nobody_waits_and_with_one_all_is_caught_up(
    queue: EmbeddingQueue,
    pool: Pool,
    opened: Vault,
    meaning: Meaning,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(embedding, "QUIET", 0.0)
    found: list[Meaning] = []

    def get() -> Meaning:
        if not found:
            raise ModelError("there is no model")
        return found[0]

    monkeypatch.setattr(pool.shared, "get", get)
    queue.start()
    assert queue.wait(PATIENCE)
    until(queue.is_done)
    queue.add([])
    assert queue.is_done()
    assert queue.trouble == "there is no model"
    found.append(meaning)
    ids = dict(opened.searcher().catalog.db.execute("SELECT path, id FROM files").fetchall())
    queue.add([ids["n0.md"]])
    until(lambda: len(meaning.store) == NOTES)
    until(queue.is_done)


# --- the model


@pytest.fixture
def impatient(queue: EmbeddingQueue, monkeypatch: pytest.MonkeyPatch) -> EmbeddingQueue:
    monkeypatch.setattr(embedding, "SHORTEST_PAUSE", 0.02)
    monkeypatch.setattr(embedding, "QUIET", 0.1)
    queue.unload_after = 0.1
    return queue


def test_a_model_loaded_by_a_search_is_unloaded(impatient: EmbeddingQueue, model: Model) -> None:
    impatient.start()
    assert impatient.wait(PATIENCE)
    for _ in range(2):
        until(lambda: not model.loaded)
        model.loaded = True  # as a search does
    until(lambda: not model.loaded)


# --- who waits


def test_who_waits_hears_how_far_the_round_is(
    queue: EmbeddingQueue, model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard = StageProgress()
    monkeypatch.setattr(embedding, "_TELLS_EVERY", 0.01)

    def wait_to_be_heard() -> None:
        until(lambda: heard.total == NOTES, what="no total is reported")
        if len(model.texts) == NOTES:
            until(lambda: heard.done > 0, what="nothing is reported as done")

    model.between = wait_to_be_heard
    queue.start()
    with report_to(heard):
        queue.wait_heard(PATIENCE)
    assert queue.embedded == NOTES


# --- what is checked again


def test_what_a_search_by_meaning_has_to_know_is_known_before(
    queue: EmbeddingQueue, pool: Pool, meaning: Meaning, monkeypatch: pytest.MonkeyPatch
) -> None:
    lent = threading.Event()
    real = pool.by_meaning

    def by_meaning() -> object:
        lent.set()
        return real()

    monkeypatch.setattr(pool, "by_meaning", by_meaning)
    queue.start()
    assert queue.wait(PATIENCE)
    until(lambda: len(meaning.live.blocks) == NOTES)
    assert lent.is_set(), "what is not its own, it borrows"
    pool.replaced()
    queue.add_all()
    assert queue.wait(PATIENCE)
    until(lambda: not queue._cold)


def test_who_searches_gets_by_meaning_what_has_its_vector_however_much_is_waiting(
    queue: EmbeddingQueue, model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(semantic, "BLOCKS_ASIDE", 1)
    ready: list[bool] = []

    def between() -> None:
        queue.warm()
        ready.append(queue.is_warm())

    model.between = between
    queue.start()
    assert queue.wait(PATIENCE)
    assert ready == [False, *[True] * (NOTES - 1)]
