"""Embeds texts by an OpenAI-compatible service: embedding.base_url, such as Ollama on this machine.

Texts are cut to what a service accepts, sent without known forms of secrets, and sent nowhere else. A service that
has failed is skipped for a moment, so that searches continue by keyword without waiting for it each time.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from vaultmem import credentials
from vaultmem.credentials import Key
from vaultmem.embedding.embed import TextEmbedder, normalize_rows, vector_of
from vaultmem.embedding.models import DEFAULT, Model, model_key
from vaultmem.errors import EmbeddingServiceError, LlmError, ModelError
from vaultmem.paths import read_json, replace_private
from vaultmem.text import secrets, times, urls
from vaultmem.text.values import in_batches
from vaultmem_chat.llm.llm import Patience, lasting_reply, refusal
from vaultmem_chat.llm.wire import MOST_STREAMED, Reply, Wire

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from vaultmem.adapter.services import Settings

PATH = "/embeddings"
AT_ONCE, LETTERS = 32, 60_000  # texts and characters per request
# Characters of a text; texts below the second are not halved when they are too long.
LONGEST, SHORTEST = 8_000, 200
TOO_LONG = (400, 413, 422)  # words in errors for texts that are too long
QUESTION = 5.0  # seconds for the vector of a question, for which a person waits
REST = 30.0  # seconds before the next request to a service that failed
_PROBE = "How many numbers has a vector?"
_down: dict[str, tuple[float, str]] = {}  # by address: until when it is skipped, and why
_lock = threading.Lock()


class Service(NamedTuple):
    """An embedding service."""

    url: str
    key: str  # the setting
    seconds: float  # for one answer
    model: str


def service_of(settings: Settings) -> Service:
    """The service of the settings. Raises ModelError if no model is named."""
    name = settings.text("embedding.model")
    if name == times.OFF:
        raise ModelError("Search by meaning is switched off. Set embedding.model to a model.")
    url = urls.endpoint(settings.text("embedding.base_url"))
    if name == DEFAULT:
        raise ModelError(f"Set embedding.model to a model of {url}, such as embeddinggemma.")
    seconds = times.duration_seconds(settings.text("embedding.timeout"))
    return Service(url, settings.text("embedding.key"), seconds, name)


def check_service(settings: Settings, folder: str) -> Iterator[tuple[str, str, str]]:
    """Yield problems of the service of the settings (severity, problem, advice); none when no service is set."""
    if not settings.text("embedding.base_url") or settings.text("embedding.model") == times.OFF:
        return
    url = urls.endpoint(settings.text("embedding.base_url"))
    if urls.is_plaintext(url):
        advice = "set embedding.base_url to https, if it answers there"
        yield "note", f"the notes are sent unencrypted to {url} for embedding", advice
    try:
        ServiceEmbedder(service_of(settings), folder).query(_PROBE)
    except ModelError as error:
        yield "warning", str(error), "until then search works by keyword only"


class ServiceEmbedder(TextEmbedder):
    """A model of a service. Raises EmbeddingServiceError. The length of its vectors is stored in `folder`."""

    is_local = False

    def __init__(
        self, service: Service, folder: str,
        patience: Patience = Patience(2), now: Callable[[], float] = time.monotonic,  # noqa: B008 - a value
    ) -> None:  # fmt: skip
        self._service, self._patience, self._now = service, patience, now
        super().__init__()
        name = model_key(service.model, service.url, service.model)
        self._record = Path(folder) / f"service-{name}.json"
        length = self._read_record() or self._probe_dimension()
        key = model_key(service.model, service.url, service.model, str(length))
        self.model = Model(key, service.model, length, folder, "")

    def is_loaded(self) -> bool:
        """Whether it has not just failed."""
        return self._trouble() is None

    def unload(self) -> None:
        """Do nothing: there is no model in memory."""

    def batches(self, texts: Sequence[str]) -> Iterator[tuple[list[int], NDArray[np.float32]]]:
        """As in TextEmbedder, with as many texts as a request may hold."""
        lengths = [min(len(text), LONGEST) for text in texts]
        for batch in in_batches(range(len(texts)), lengths.__getitem__, AT_ONCE, LETTERS):
            yield batch, self._vectors([texts[number] for number in batch])

    def _question(self, text: str) -> NDArray[np.float32]:
        return self._vectors([text], in_a_hurry=True)[0]  # type: ignore[no-any-return] # a row of floats

    def _vectors(self, texts: Sequence[str], *, in_a_hurry: bool = False) -> NDArray[np.float32]:
        rows = self._rows([_sent(text) for text in texts], in_a_hurry=in_a_hurry)
        if any(len(row) != self.model.dimensions for row in rows):
            self._record.unlink(missing_ok=True)
            raise EmbeddingServiceError(
                f"{self._service.model} of {self._service.url} gives other vectors than before; they are computed again"
                " after the next start of vaultmem"
            )
        return normalize_rows(rows)

    def _rows(self, texts: list[str], *, in_a_hurry: bool) -> list[NDArray[np.float32]]:
        """The vectors of texts. A text that is too long for the model is halved until it fits."""
        reply = self._reply(texts, in_a_hurry=in_a_hurry)
        if reply.status == 200:
            return self._read(reply, len(texts))
        half = (len(texts) + 1) // 2
        if reply.status in TOO_LONG and len(texts) > 1:
            parts = texts[:half], texts[half:]
            return [row for part in parts for row in self._rows(part, in_a_hurry=in_a_hurry)]
        if reply.status in TOO_LONG and len(texts[0]) > SHORTEST:
            return self._rows([texts[0][: len(texts[0]) // 2]], in_a_hurry=in_a_hurry)
        raise self._failed(str(refusal(self._wire(), self._service.key, reply)))

    def _reply(self, texts: list[str], *, in_a_hurry: bool) -> Reply:
        if (why := self._trouble()) is not None:
            raise EmbeddingServiceError(why)
        body = {"model": self._service.model, "input": texts, "encoding_format": "float"}
        patience = self._patience._replace(retries=0) if in_a_hurry else self._patience
        try:
            wire = self._wire()
            if in_a_hurry:
                wire = wire._replace(seconds=min(QUESTION, wire.seconds))
            return lasting_reply(wire, PATH, body, patience, MOST_STREAMED)
        except LlmError as error:
            raise self._failed(str(error)) from None

    def _wire(self) -> Wire:
        return Wire(self._service.url, self._key, self._service.seconds, "embedding")

    @cached_property
    def _key(self) -> Key | None:
        """The key, looked up once: a keyring may ask a person."""
        return credentials.find(self._service.key, self._service.url, named_by="embedding.key")

    def _read(self, reply: Reply, count: int) -> list[NDArray[np.float32]]:
        """The vectors of a reply, in the order of the texts."""
        try:
            data = json.loads(reply.body)["data"]
            rows = {row.get("index", place): row["embedding"] for place, row in enumerate(data)}
            results = [vector_of(rows[place]) for place in range(count)]
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            results = []
        if not results:
            raise self._failed(f"{self._service.url} does not return a vector for each text")
        return results

    def _trouble(self) -> str | None:
        """Why it failed a moment ago; None if it did not."""
        with _lock:
            until, why = _down.get(self._service.url, (0.0, ""))
        return why if self._now() < until else None

    def _failed(self, why: str) -> EmbeddingServiceError:
        with _lock:
            _down[self._service.url] = self._now() + REST, why
        return EmbeddingServiceError(why)

    def _probe_dimension(self) -> int:
        (row,) = self._rows([_PROBE], in_a_hurry=True)
        with suppress(OSError):  # otherwise it is determined again
            self._record.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            replace_private(str(self._record), json.dumps({"dimensions": len(row)}))
        return len(row)

    def _read_record(self) -> int | None:
        result = read_json(self._record).get("dimensions")
        return result if isinstance(result, int) and result > 0 else None


def _sent(text: str) -> str:
    """The text as it is sent. Some services refuse an empty one."""
    return secrets.redact(text[:LONGEST]).text or " "
