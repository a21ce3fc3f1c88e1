"""The collection on a Chroma server, over its HTTP API (v2): records of many vaults with one model.

id         <vault>:<hash of the text>
embedding  the vector
metadata   vault, path, line, end_line, facts, and `seal`, a number that changes with any of these
document   the text, only where index.chroma.texts is on

Its six calls need no library: http.client keeps one connection per concurrent request.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

from vaultmem import credentials
from vaultmem.config import Config
from vaultmem.text import urls
from vaultmem.vectors.shared_index import Fact, Near, Record, UnavailableError

AT_ONCE = 1_000  # records in one answer
# Higher than the server's defaults, so that it finds what an exact search would.
_GRAPH = {"space": "cosine", "ef_construction": 200, "ef_search": 200, "max_neighbors": 32}
Json = dict[str, object]


class _GoneError(UnavailableError):
    """The collection no longer exists."""


class Address(NamedTuple):
    """The address of a collection."""

    url: str
    tenant: str
    database: str
    collection: str
    key: credentials.Key | None

    @classmethod
    def of(cls, config: Config) -> Address:
        """The address from the settings, or from CHROMADB_HOST, CHROMADB_PORT and COLLECTION_NAME. Raises
        VaultmemError for a missing key, UnavailableError for one that would be sent unencrypted."""
        env = os.environ
        host, port = env.get("CHROMADB_HOST", "127.0.0.1"), env.get("CHROMADB_PORT", "8000")
        url = config.text("index.chroma.url") or f"http://{host}:{port}"
        setting = config.text("index.chroma.token")
        if setting != credentials.OFF and urls.is_plaintext(url):
            raise UnavailableError(f"{url}: a token would be sent unencrypted; use https")
        key = credentials.find(setting, url, named_by="index.chroma.token")
        name = config.text("index.chroma.collection") or env.get("COLLECTION_NAME") or "vaultmem"
        tenant, database = config.text("index.chroma.tenant"), config.text("index.chroma.database")
        return cls(url.rstrip("/"), tenant, database, name, key)


class Remote:
    """See Server. The collection is looked up on first use."""

    def __init__(
        self, address: Address, model: str, patience: float, *, texts: bool = False
    ) -> None:
        self.address, self._model, self.texts = address, model, texts
        self.place = "\n".join(address[:4])
        folder = f"/api/v2/tenants/{quote(address.tenant)}/databases/{quote(address.database)}"
        self._wire = _Wire(address.url, f"{folder}/collections", address.key, patience)
        self._id = ""
        self._lock = threading.Lock()

    def beat(self) -> str:
        """See Server."""
        self._id = ""
        self.ask("get", limit=1, include=[])
        return self._id

    def nearest(self, vector: list[float], count: int, vault: str) -> list[bytes]:
        """See Server."""
        answer = self.ask(
            "query", query_embeddings=[vector], n_results=count, include=[], where={"vault": vault}
        )  # fmt: skip
        return [_hash_of(id_) for id_ in _column(answer, "ids", nested=True)]

    def search(self, vector: list[float], count: int, facts: Mapping[str, Fact]) -> list[Near]:
        """See Server."""
        parts: list[Json] = [{name: value} for name, value in facts.items()]
        answer = self.ask(
            "query", query_embeddings=[vector], n_results=count, include=["metadatas", "documents", "distances"],
            where={"$and": parts} if len(parts) > 1 else parts[0] if parts else None,
        )  # fmt: skip
        names = ("ids", "metadatas", "documents", "distances")
        rows = zip(*(_column(answer, name, nested=True) for name in names), strict=True)
        return [
            Near(Record(_hash_of(id_), metadata, text), 1.0 - float(distance))
            for id_, metadata, text, distance in rows
        ]

    def put(self, vault: str, records: Sequence[Record], vectors: list[list[float]]) -> None:
        """See Server."""
        texts = (
            [record.text for record in records] if any(record.text for record in records) else None
        )
        self.ask(
            "upsert", ids=[_id(vault, record.hash) for record in records], embeddings=vectors,
            metadatas=[record.metadata for record in records], documents=texts,
        )  # fmt: skip

    def remove(self, vault: str, hashes: Sequence[bytes]) -> None:
        """See Server."""
        self.ask("delete", ids=[_id(vault, hash_) for hash_ in hashes])

    def listed(self, vault: str) -> Iterator[tuple[bytes, int]]:
        """See Server."""
        start = 0
        while True:
            page = self.ask(
                "get", where={"vault": vault}, include=["metadatas"], limit=AT_ONCE, offset=start
            )
            ids = _column(page, "ids")
            for id_, facts in zip(ids, _column(page, "metadatas"), strict=True):
                yield _hash_of(id_), int(facts["seal"])
            if not ids:
                return
            start += len(ids)

    def ask(self, verb: str, **body: object) -> Json:
        """Send get, query, upsert or delete to the collection. Returns the answer."""
        collection = self._id
        try:
            return self._wire.post(f"/{self._find_collection()}/{verb}", body)
        except _GoneError:
            self._id = ""  # it may have been removed and created again
            if not collection:
                raise
            return self._wire.post(f"/{self._find_collection()}/{verb}", body)

    def _find_collection(self) -> str:
        with self._lock:
            self._id = place = self._id or self._opened()
        return place

    def close(self) -> None:
        """See Server."""
        self._wire.close()

    def _opened(self) -> str:
        body = {
            "name": self.address.collection, "get_or_create": True,
            "metadata": {"vaultmem_model": self._model}, "configuration": {"hnsw": _GRAPH},
        }  # fmt: skip
        reply = self._wire.post("", body)
        metadata = reply.get("metadata")
        model = metadata.get("vaultmem_model") if isinstance(metadata, dict) else None
        if model != self._model:
            raise UnavailableError(
                f"the collection {self.address.collection} has vectors of another model ({model}); "
                "name another one: index.chroma.collection"
            )
        return str(reply["id"])


class _Wire:
    """Sends requests below one URL, with one connection per concurrent request."""

    def __init__(self, url: str, folder: str, key: credentials.Key | None, patience: float) -> None:
        self._url, self._key, self._patience = url, key, patience
        self._folder = f"{urlsplit(url).path}{folder}"
        token = key.header() if key else ""
        named = {"Authorization": token, "X-Chroma-Token": token.removeprefix("Bearer ")}
        self._headers = {"Content-Type": "application/json", **(named if token else {})}
        self._free: list[HTTPConnection] = []
        self._lock = threading.Lock()

    def post(self, path: str, body: Json) -> Json:
        """POST a JSON body. Returns the answer. Raises UnavailableError."""
        content = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        try:
            status, data = self._exchange(f"{self._folder}{path}", content)
            answer = json.loads(data)
        except (HTTPException, ValueError, OSError) as error:
            raise self._away(str(error) or type(error).__name__) from error
        if 200 <= status < 300 and isinstance(answer, dict):
            return answer
        why = answer.get("message") if isinstance(answer, dict) else None
        refusal = self._away(f"{status}: {why or answer}")
        raise _GoneError(str(refusal)) if status == 404 else refusal

    def _exchange(self, path: str, content: bytes) -> tuple[int, bytes]:
        """Send a request over an open connection, or a new one if the server has closed that: all requests are
        idempotent."""
        with self._lock:
            connection = self._free.pop() if self._free else None
        if connection is not None:
            try:
                return self._sent(connection, path, content)
            except TimeoutError:
                raise
            except (HTTPException, OSError):
                pass  # retry with a new one
        parts = urlsplit(self._url)
        kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        new = kind(parts.hostname or "", parts.port, timeout=self._patience)
        return self._sent(new, path, content)

    def _sent(self, connection: HTTPConnection, path: str, content: bytes) -> tuple[int, bytes]:
        try:
            connection.request("POST", path, content, self._headers)
            answer = connection.getresponse()
            data = answer.read()
        except BaseException:
            connection.close()
            raise
        if not answer.will_close:
            with self._lock:
                self._free.append(connection)
        return answer.status, data

    def close(self) -> None:
        with self._lock:
            for connection in self._free:
                connection.close()
            self._free.clear()

    def _away(self, why: str) -> UnavailableError:
        why = " ".join(why.split())[:200]
        if self._key is not None:
            why = self._key.hidden_in(why)
        return UnavailableError(f"Chroma at {self._url} does not answer correctly ({why})")


def open_server(config: Config, model: str, patience: float) -> Remote:
    """The function of the entry point. Raises VaultmemError."""
    texts = config.text("index.chroma.texts") == "on"
    return Remote(Address.of(config), model, patience, texts=texts)


def _column(answer: Json, name: str, *, nested: bool = False) -> list[Any]:
    """One column of an answer. Raises UnavailableError for an answer of another shape."""
    column = answer.get(name)
    if nested and isinstance(column, list) and column:
        column = column[0]
    if not isinstance(column, list):
        raise UnavailableError(f"Chroma's answer has no {name}; vaultmem supports Chroma 1.x")
    return column


def _id(vault: str, digest: bytes) -> str:
    return f"{vault}:{digest.hex()}"


def _hash_of(id_: str) -> bytes:
    return bytes.fromhex(id_.rpartition(":")[2])
