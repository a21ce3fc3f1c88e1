"""The collection on a Chroma server, over its HTTP API (v2): records of many vaults under one model.

id         <vault>:<hash of the text>
embedding  the vector
metadata   vault, path, line, end_line, facts, and `seal`, a number that changes with any of these
document   the text, only where index.chroma.texts is on
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

import httpx
from numpy.typing import NDArray

from vaultmem import credentials
from vaultmem.config import Config
from vaultmem.errors import VaultmemError
from vaultmem.index.shared_index import Fact
from vaultmem.text import urls

if TYPE_CHECKING:
    import numpy as np

AT_ONCE = 1_000  # records in one request
ANSWER, ACCEPT = 3.0, 60.0  # seconds that a search waits for the server, and a write
# Better than the server's own, so that it finds what comparing all would find.
_GRAPH = {"space": "cosine", "ef_construction": 200, "ef_search": 200, "max_neighbors": 32}
Json = dict[str, object]


class AwayError(VaultmemError):
    """The server does not answer, or refuses."""


class _GoneError(AwayError):
    """There is no such collection any more."""


class Record(NamedTuple):
    """One record, as it is written."""

    hash: bytes
    metadata: dict[str, Fact]
    text: str | None


class Address(NamedTuple):
    """Where a collection is."""

    url: str
    tenant: str
    database: str
    collection: str
    key: credentials.Key | None

    @classmethod
    def of(cls, config: Config) -> Address:
        """As the settings say, or the variables CHROMADB_HOST, CHROMADB_PORT and COLLECTION_NAME. Raises LlmError for
        a key that is not where it should be, AwayError for one that could be read on its way."""
        env = os.environ
        host, port = env.get("CHROMADB_HOST", "127.0.0.1"), env.get("CHROMADB_PORT", "8000")
        url = config.text("index.chroma.url") or f"http://{host}:{port}"
        setting = config.text("index.chroma.token")
        if setting != credentials.OFF and urls.is_plaintext(url):
            raise AwayError(f"{url}: a token would be read on its way; use https")
        key = credentials.find(setting, url, named_by="index.chroma.token")
        name = config.text("index.chroma.collection") or env.get("COLLECTION_NAME") or "vaultmem"
        tenant, database = config.text("index.chroma.tenant"), config.text("index.chroma.database")
        return cls(url.rstrip("/"), tenant, database, name, key)


class Remote:
    """One collection, looked up when it is first needed. Any thread may use it. Methods raise AwayError."""

    def __init__(self, address: Address, model: str, patience: float = ANSWER) -> None:
        self.address, self._model = address, model
        place = f"/api/v2/tenants/{quote(address.tenant)}/databases/{quote(address.database)}"
        token = address.key.header() if address.key else ""
        names = {"Authorization": token, "X-Chroma-Token": token.removeprefix("Bearer ")}
        self._place = f"{address.url}{place}/collections"
        self._client = httpx.Client(timeout=patience, headers=names if token else {})
        self._id = ""
        self._lock = threading.Lock()

    def beat(self) -> str:
        """See whether the server answers and the collection fits; the server's name of it, another one when it was made
        again."""
        self._id = ""
        self.ask("get", limit=1, include=[])
        return self._id

    def nearest(self, vector: NDArray[np.float32], count: int, vault: str) -> list[bytes]:
        """The hashes of the nearest texts of a vault."""
        answer = self.ask(
            "query", query_embeddings=[vector.tolist()], n_results=count, include=[], where={"vault": vault}
        )  # fmt: skip
        return [_hash_of(one) for one in _column(answer, "ids", nested=True)]

    def put(self, vault: str, records: Sequence[Record], vectors: NDArray[np.float32]) -> None:
        """Write records with their vectors, whether they are there or not."""
        texts = [one.text for one in records] if any(one.text for one in records) else None
        self.ask(
            "upsert", ids=[_id(vault, one.hash) for one in records], embeddings=vectors.tolist(),
            metadatas=[one.metadata for one in records], documents=texts,
        )  # fmt: skip

    def remove(self, vault: str, hashes: Sequence[bytes]) -> None:
        """Delete records, whether they are there or not."""
        self.ask("delete", ids=[_id(vault, one) for one in hashes])

    def listed(self, vault: str) -> Iterator[tuple[bytes, int]]:
        """The hash and the seal of each record of a vault."""
        start = 0
        while page := self._page(vault, start):
            yield from page
            start += len(page)

    def ask(self, verb: str, **body: object) -> Json:
        """The answer of the collection to get, query, upsert or delete."""
        known = self._id
        try:
            return self._post(f"/{self._found()}/{verb}", body)
        except _GoneError:
            self._id = ""  # somebody may have removed it and made it again
            if not known:
                raise
            return self._post(f"/{self._found()}/{verb}", body)

    def _found(self) -> str:
        with self._lock:
            self._id = place = self._id or self._opened()
        return place

    def close(self) -> None:
        """Let go of the connections."""
        self._client.close()

    def _page(self, vault: str, start: int) -> list[tuple[bytes, int]]:
        page = self.ask(
            "get", where={"vault": vault}, include=["metadatas"], limit=AT_ONCE, offset=start
        )
        pairs = zip(_column(page, "ids"), _column(page, "metadatas"), strict=True)
        return [(_hash_of(one), int(facts["seal"])) for one, facts in pairs]

    def _opened(self) -> str:
        body = {
            "name": self.address.collection, "get_or_create": True,
            "metadata": {"vaultmem_model": self._model}, "configuration": {"hnsw": _GRAPH},
        }  # fmt: skip
        found = self._post("", body)
        metadata = found.get("metadata")
        model = metadata.get("vaultmem_model") if isinstance(metadata, dict) else None
        if model != self._model:
            raise AwayError(
                f"the collection {self.address.collection} has vectors of another model ({model}); "
                "name another one: index.chroma.collection"
            )
        return str(found["id"])

    def _post(self, path: str, body: Json) -> Json:
        try:
            response = self._client.post(f"{self._place}{path}", json=body)
            answer = response.json()
        except (
            httpx.HTTPError,
            ValueError,
            OSError,
            RuntimeError,
        ) as error:  # RuntimeError: it was closed
            raise self._away(str(error) or type(error).__name__) from error
        if response.is_success and isinstance(answer, dict):
            return answer
        why = answer.get("message") if isinstance(answer, dict) else None
        refusal = self._away(f"{response.status_code}: {why or answer}")
        raise _GoneError(str(refusal)) if response.status_code == 404 else refusal

    def _away(self, why: str) -> AwayError:
        why = " ".join(why.split())[:200]
        if self.address.key is not None:
            why = self.address.key.hidden_in(why)
        return AwayError(f"Chroma at {self.address.url} does not answer as it should ({why})")


def _column(answer: Json, name: str, *, nested: bool = False) -> list[Any]:
    """One column of an answer. Raises AwayError for an answer of another shape."""
    column = answer.get(name)
    if nested and isinstance(column, list) and column:
        column = column[0]
    if not isinstance(column, list):
        raise AwayError(f"Chroma's answer has no {name}; vaultmem speaks with Chroma 1.x")
    return column


def _id(vault: str, digest: bytes) -> str:
    return f"{vault}:{digest.hex()}"


def _hash_of(one: str) -> bytes:
    return bytes.fromhex(one.rpartition(":")[2])
