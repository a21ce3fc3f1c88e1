"""The shared index on a real Chroma server: what is stored there, and what happens when a server or a client dies."""

import contextlib
import itertools
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from tests.chroma_run import PLACE, Server, chroma, needs_chroma, shared
from tests.cli_run import Ran, on, one_line, ran
from tests.conftest import Write
from tests.vector_samples import keys, opened, vectors_of
from vaultmem.config import load
from vaultmem.embedding.models import open_embedder
from vaultmem.vectors.exact import VectorIndex
from vaultmem.vectors.shared_index import Health, Mirror
from vaultmem.vectors.vectors import VectorStore
from vaultmem_chroma.remote import Remote, open_server

__all__ = ["chroma"]  # a fixture
pytestmark = needs_chroma
ROWS = 1_200
NUMBERS = itertools.count()
ALL = keys(0, ROWS)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[VectorStore]:
    with opened(tmp_path / "a-model") as store:
        store.append(ALL, vectors_of(ALL))
        yield store


@pytest.fixture
def collection() -> str:
    return f"collection-{next(NUMBERS)}"


@pytest.fixture
def index(store: VectorStore, chroma: Server, collection: str) -> Iterator[Mirror]:
    with shared(store, chroma, collection) as index:
        yield index


def remote(index: Mirror) -> Remote:
    assert isinstance(index._server, Remote)
    return index._server


def records(index: Mirror) -> dict[str, tuple[dict[str, object], str | None]]:
    """What is on the server, for anybody who may ask it."""
    got: Any = remote(index).ask("get", include=["metadatas", "documents"])
    return {
        one.rpartition(":")[2]: (metadata, document)
        for one, metadata, document in zip(
            got["ids"], got["metadatas"], got["documents"], strict=True
        )
    }


def remove_collection(index: Mirror) -> None:
    """The guide's advice if a collection cannot be read any more."""
    address = remote(index).address
    place = f"{address.url}/api/v2/tenants/{address.tenant}/databases/{address.database}"
    httpx.delete(f"{place}/collections/{address.collection}").raise_for_status()


def hexes(some: list[bytes]) -> set[str]:
    return {one.hex() for one in some}


def assert_searches_as_alone(index: Mirror, store: VectorStore) -> None:
    """The server's graph is approximate, and after removals it may miss some of the nearest."""
    exact, same, queries = VectorIndex(store), 0, vectors_of(keys(5_000, 5_010))
    for query in queries:
        mine, right = dict(index.search(query, 10)), dict(exact.search(query, len(store)))
        assert mine == pytest.approx({row: right[row] for row in mine}, abs=1e-5)
        assert next(iter(mine)) == next(iter(right))
        same += len(mine.keys() & [*right][:10])
    assert same >= 9 * len(queries)


def test_the_server_is_asked_and_gives_what_comparing_all_gives(
    index: Mirror, store: VectorStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    index.publish(dict.fromkeys(ALL, PLACE), whole=True)
    asked, nearest = [], Remote.nearest

    def counted(self: Remote, *args: object) -> object:
        asked.append(args)
        return nearest(self, *args)

    monkeypatch.setattr(Remote, "nearest", counted)
    assert_searches_as_alone(index, store)
    assert len(asked) == 10
    half = np.arange(0, ROWS, 2)
    for query in vectors_of(keys(6_000, 6_010)):
        mine, right = index.search(query, 10, half), VectorIndex(store).search(query, 10, half)
        assert [row for row, _ in mine] == [row for row, _ in right]
    assert len(asked) >= 20


def test_only_what_is_new_is_written(
    index: Mirror, store: VectorStore, chroma: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[int] = []
    put = Remote.put

    def counted(self: Remote, vault: str, some: list[object], vectors: object) -> None:
        written.append(len(some))
        put(self, vault, some, vectors)

    monkeypatch.setattr(Remote, "put", counted)
    places = dict.fromkeys(ALL[:300], PLACE)
    index.publish(places, whole=True)
    index.publish(places, whole=True)
    assert sum(written) == 300
    index.publish({**places, ALL[300]: PLACE, ALL[0]: PLACE._replace(line=9)}, whole=True)
    assert sum(written) == 302
    assert records(index)[ALL[0].hex()][0]["line"] == 9
    for file in store.path.glob("*.seals"):  # lost: it is filled again from the server's list
        file.unlink()
    with shared(store, chroma, remote(index).address.collection) as again:
        again.publish({**places, ALL[300]: PLACE, ALL[0]: PLACE._replace(line=9)}, whole=True)
    assert sum(written) == 302


def test_nothing_private_and_by_default_no_text_is_there(index: Mirror, store: VectorStore) -> None:
    public, private = ALL[:50], ALL[50:60]
    index.publish({**dict.fromkeys(public, PLACE), **dict.fromkeys(private, None)}, whole=True)
    assert records(index).keys() == hexes(public)
    assert {text for _, text in records(index).values()} == {None}
    # Still found here, and so is what the server was not given.
    for key in private:
        assert store.hash_at(index.search(store.matrix()[store.known([key])[key]], 1)[0][0]) == key
    # A note that becomes private is removed even if nothing else is compared; a deleted one by a full publish.
    index.publish({public[0]: None}, whole=False)
    assert records(index).keys() == hexes(public[1:])
    index.publish(dict.fromkeys(public[5:], PLACE), whole=True)
    assert records(index).keys() == hexes(public[5:])


def test_a_dead_server_costs_nothing(tmp_path: Path, store: VectorStore, collection: str) -> None:
    """Searches continue, writes wait, and everything is there when it is back, even with an empty disk."""
    server = Server(tmp_path / "data")
    server.start()
    try:
        with shared(store, server, collection) as index:
            index.publish(dict.fromkeys(ALL[:500], PLACE), whole=True)
            server.kill()
            assert_searches_as_alone(index, store)
            index.publish(dict.fromkeys(ALL, PLACE), whole=True)
            health = index.health()
            assert health.waiting == ROWS - 500
            assert "does not answer" in str(health.problem)
            server.start()
            index.publish(dict.fromkeys(ALL, PLACE), whole=True)
            assert index.health() == Health(None, 0)
            assert records(index).keys() == hexes(ALL)
            server.kill()
            server = Server(tmp_path / "empty", server.port)
            server.start()
            index.publish(dict.fromkeys(ALL, PLACE), whole=True)
            assert records(index).keys() == hexes(ALL)
            assert_searches_as_alone(index, store)
    finally:
        server.stop()


def test_a_server_killed_at_any_moment_gets_all_in_the_end(tmp_path: Path, collection: str) -> None:
    server = Server(tmp_path / "data")
    server.start()
    rng = random.Random(os.environ.get("PYTEST_XDIST_TESTRUNUID"))
    try:
        with opened(tmp_path / "model") as store, shared(store, server, collection) as index:
            for end in range(2_000, 8_001, 2_000):
                fresh = keys(end - 2_000, end)
                store.append(fresh, vectors_of(fresh))
                wanted = dict.fromkeys(keys(0, end), PLACE)
                writing = threading.Thread(
                    target=index.publish, args=(wanted,), kwargs={"whole": True}
                )
                writing.start()
                time.sleep(rng.uniform(0.0, 0.6))
                server.kill()
                writing.join()
                server.start()
            index.publish(wanted, whole=True)
            server.replace_if_dead()
            # Chroma's own graph, broken by the kill
            if "segment" in str(index.health().problem):
                remove_collection(index)
            index.prepare()
            index.publish(wanted, whole=True)
            assert index.health() == Health(None, 0)
            assert records(index).keys() == hexes([*wanted])
    finally:
        server.stop()


CLIENT = """
import sys
from pathlib import Path
from tests.chroma_run import PLACE, Server, shared
from tests.vector_samples import keys, opened
folder, port, collection, start, end = sys.argv[1:]
with opened(Path(folder)) as store, shared(store, Server(Path(folder), int(port)), collection) as index:
    print("ready", flush=True)
    index.publish(dict.fromkeys(keys(int(start), int(end)), PLACE), whole=True)
"""


def client(
    folder: Path, server: Server, collection: str, start: int, end: int
) -> subprocess.Popen[bytes]:
    words = [str(folder), str(server.port), collection, str(start), str(end)]
    process = subprocess.Popen([sys.executable, "-c", CLIENT, *words], stdout=subprocess.PIPE)
    assert process.stdout
    assert process.stdout.readline() == b"ready\n"
    return process


def test_a_client_killed_anytime_goes_on(tmp_path: Path, chroma: Server, collection: str) -> None:
    folder, rng = tmp_path / "model", random.Random(os.environ.get("PYTEST_XDIST_TESTRUNUID"))
    all_keys = keys(0, 6_000)
    with opened(folder) as store:
        store.append(all_keys, vectors_of(all_keys))
    for start in (
        0,
        1_500,
        3_000,
    ):  # each has something to write and, from the second on, to remove
        process = client(folder, chroma, collection, start, start + 3_000)
        time.sleep(rng.uniform(0.0, 1.5))
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert process.stdout
        process.stdout.close()
    last = all_keys[3_000:]
    with opened(folder) as store, shared(store, chroma, collection) as index:
        index.publish(dict.fromkeys(last, PLACE), whole=True)
        assert index.health() == Health(None, 0)
        assert records(index).keys() == hexes(last)
        assert_searches_as_alone(index, store)


def test_two_machines_write_at_once(tmp_path: Path, chroma: Server, collection: str) -> None:
    """Each already has all notes and half of the other's vectors; neither loses what the other wrote."""
    with contextlib.ExitStack() as stack:
        stores = [stack.enter_context(opened(tmp_path / name / "model")) for name in "ab"]
        indexes = [stack.enter_context(shared(one, chroma, collection)) for one in stores]
        for one in stores:
            one.append(ALL, vectors_of(ALL))
        writing = [
            threading.Thread(
                target=index.publish, args=(dict.fromkeys(ALL, PLACE),), kwargs={"whole": True}
            )
            for index in indexes
        ]
        for thread in writing:
            thread.start()
        for thread in writing:
            thread.join()
        for index, one in zip(indexes, stores, strict=True):
            assert index.health() == Health(None, 0)
            assert records(index).keys() == hexes(ALL)
            assert_searches_as_alone(index, one)


def test_a_silent_server_does_not_stop_searches(store: VectorStore, collection: str) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        server = Server(Path("/nowhere"), silent.getsockname()[1])
        with shared(store, server, collection) as index:
            index._published.mark(range(ROWS), 99)
            index._published.is_new, index._is_sure = False, True
            assert_searches_as_alone(index, store)


def test_vectors_of_another_model_are_not_mixed_in(
    store: VectorStore, tmp_path: Path, chroma: Server, collection: str
) -> None:
    with shared(store, chroma, collection) as index:
        index.publish({ALL[0]: PLACE}, whole=True)
    with opened(tmp_path / "another-model") as other, shared(other, chroma, collection) as index:
        other.append(ALL, vectors_of(ALL))
        index.publish({ALL[1]: PLACE}, whole=True)
        assert "another model" in str(index.health().problem)


# As a user


def test_a_vault_in_a_shared_index_from_the_command_line(
    vault: Path, write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = Server(tmp_path / "data")
    server.start()
    monkeypatch.setenv("VAULTMEM_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("VAULTMEM_INDEX_BACKEND", "chroma")
    monkeypatch.setenv("CHROMADB_HOST", "127.0.0.1")
    monkeypatch.setenv("CHROMADB_PORT", str(server.port))
    monkeypatch.setenv("COLLECTION_NAME", "notes")
    write(".env", "CHROMA_SERVER_HOST=evil.example\nCHROMA_SERVER_HTTP_PORT=1\n")
    write("Boiler.md", "# Boiler\n\nMr Ansah services the boiler in May.")
    write("Secret.md", "---\nprivate: true\n---\nThe key lies under the third flower pot.")
    write("Broken.md", "---\nprivate: [yes\n---\nNobody knows whether this is private.")
    monkeypatch.chdir(vault)

    def status() -> Ran:
        return on(vault, "status", "--json")

    try:
        assert on(vault, "sync").code == 0
        assert status().code == 0, status()
        assert status().data["shared_index"] == {"backend": "chroma", "problem": None, "waiting": 0}
        config = load(str(vault))
        server_side = open_server(config, open_embedder(config, "", 1).model.key, 3.0)
        there: Any = server_side.ask("get", include=["metadatas", "documents"])
        server_side.close()
        assert [one["path"] for one in there["metadatas"]] == ["Boiler.md"]
        assert there["documents"] == [None]
        server.kill()
        write("Heron.md", "# Heron\n\nA heron stands at the weir.")
        assert on(vault, "sync").code == 0
        found = on(vault, "search", "--json", "--semantic", "who looks after the heating")
        assert found.data["results"][0]["title"] == "Boiler"
        sick = status()
        assert (sick.code, sick.data["status"]) == (1, "unhealthy")
        assert sick.data["shared_index"]["waiting"] == 1
        server.start()
        assert on(vault, "sync").code == 0
        assert status().data["shared_index"] == {"backend": "chroma", "problem": None, "waiting": 0}
        # On another machine without the vault and an index: by default it only learns where to look.
        monkeypatch.setenv("VAULTMEM_STATE", str(tmp_path / "other-state"))
        monkeypatch.chdir(tmp_path)
        bare = ran("shared", "who looks after the heating", "--format", "text")
        assert bare.out.splitlines()[0].startswith("Boiler.md:1-3")
        assert "Ansah" not in bare.out
        assert "index.chroma.texts: on" in bare.err
        monkeypatch.setenv("VAULTMEM_STATE", str(tmp_path / "state"))
        monkeypatch.setenv("VAULTMEM_INDEX_CHROMA_TEXTS", "on")
        write("Mine.md", "---\nscope: agent:codex\n---\nThe heating is bled in October.")
        assert on(vault, "sync").code == 0
        monkeypatch.setenv("VAULTMEM_STATE", str(tmp_path / "other-state"))
        best = ran("shared", "who services the boiler", "--json").data["results"]
        assert {one["path"] for one in best} == {"Boiler.md", "Heron.md", "Mine.md"}
        assert "Mr Ansah services the boiler" in best[0]["text"]
        for name, count in (("claude", 0), ("codex", 1)):
            told = ran("shared", "when is the heating bled?", "--recall", "--by", name)
            assert told.out.count("bled in October") == count
            assert told.out.startswith("<memory>\n[SEMANTIC] ")
        server.kill()
        assert "does not answer" in one_line(ran("shared", "heron"))
    finally:
        server.stop()
