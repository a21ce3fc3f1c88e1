"""Embeddings from an OpenAI-compatible service: what is sent, what is kept, and what is left when it fails."""

import json
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.agent_run import agent_on, until
from tests.cli_run import ran
from tests.scripted_llm import ScriptedLlm
from tests.scripted_replies import Arguments, Reply, raw, status
from vaultmem import Vault
from vaultmem.errors import EmbeddingServiceError, ModelError
from vaultmem_chat.llm import embedding_service
from vaultmem_chat.llm.embedding_service import AT_ONCE, LONGEST, REST, Service, ServiceEmbedder
from vaultmem_chat.llm.llm import Patience

SIZES = {"small": 64, "large": 96}


class ScriptedEmbeddings(ScriptedLlm):
    """A service whose vectors count words; those of `same` are one word."""

    paths = ("/v1/embeddings",)

    def __init__(self) -> None:
        super().__init__()
        self.otherwise = self._answer
        self.fails: tuple[int, object] | None = None
        self.same: dict[str, str] = {}
        self.longest = 10_000

    @property
    def texts(self) -> list[str]:
        """All texts that were sent, except the one that asks for a vector's length."""
        sent = [text for request in self.requests for text in request.data["input"]]
        return [text for text in sent if not text.startswith("How many numbers")]

    def _answer(self, asked: Arguments) -> Reply:
        texts = asked.data["input"]
        if self.fails:
            status_, told = self.fails
            return raw(told if isinstance(told, bytes) else json.dumps(told).encode(), status_)
        if any(len(text) > self.longest for text in texts):
            return status(400, "the input is longer than the context")
        size = SIZES[asked.data["model"]]
        data = [
            {"index": at, "embedding": self._vector(text, size)} for at, text in enumerate(texts)
        ]
        return raw(json.dumps({"object": "list", "data": data[::-1]}).encode())

    def _vector(self, text: str, size: int) -> list[float]:
        vector = [0.0] * size
        for word in text.lower().split():
            vector[zlib.crc32(self.same.get(word, word).encode()) % size] += 3.0
        return vector


NOTES = {
    "Boat.md": "The dinghy lies in Bergen",
    "Safe.md": "---\nprivate: true\n---\nThe number is 4711",
    "Broken.md": "---\nprivate: true\n: [\n---\nquartz",
    "Tokens.md": "For the build: api_key = sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD",
    **{f"Filler {number}.md": f"filler text {number}" for number in range(40)},
}


@pytest.fixture(autouse=True)
def _nothing_failed() -> Iterator[None]:
    embedding_service._down.clear()
    yield
    embedding_service._down.clear()


@pytest.fixture
def service() -> Iterator[ScriptedEmbeddings]:
    with ScriptedEmbeddings() as made:
        yield made


@pytest.fixture
def here(vault: Path, service: ScriptedEmbeddings, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A vault whose settings name the service."""
    for name, text in NOTES.items():
        (vault / name).write_text(text)
    monkeypatch.setenv("VAULTMEM_EMBEDDING_BASE_URL", service.url)
    monkeypatch.setenv("VAULTMEM_EMBEDDING_MODEL", "small")
    monkeypatch.setenv("VAULTMEM_VAULT", str(vault))
    return vault


def sync() -> None:
    assert ran("sync").code == 0


def found(words: str) -> tuple[list[str], str]:
    """The notes that a search by meaning finds, and its remarks."""
    ended = ran("search", "--semantic", words, "--format", "json")
    return [one["path"] for one in ended.data["results"]], ended.err


def test_each_text_is_sent_once_in_batches_and_for_another_model_again(
    here: Path, service: ScriptedEmbeddings, monkeypatch: pytest.MonkeyPatch
) -> None:
    sync()
    assert max(len(request.data["input"]) for request in service.requests) == AT_ONCE
    texts = service.texts
    assert len(texts) == len(set(texts)) == 42
    (here / "Boat.md").write_text("The dinghy lies in Oslo")
    (here / "Filler 3.md").rename(here / "Moved.md")
    sync()
    assert sorted(service.texts[42:]) == ["Boat\nThe dinghy lies in Oslo", "Moved\nfiller text 3"]
    sync()
    assert len(service.texts) == 44
    monkeypatch.setenv("VAULTMEM_EMBEDDING_MODEL", "large")
    sync()
    assert len(service.texts) == 86
    assert {request.data["model"] for request in service.requests[-2:]} == {"large"}
    monkeypatch.setenv("VAULTMEM_EMBEDDING_MODEL", "small")
    sync()
    assert len(service.texts) == 86, "the vectors of the first model are still there"


def test_nothing_private_and_no_secret_is_sent_unless_allowed(
    here: Path, service: ScriptedEmbeddings, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ran("write", "The private code of the boat is 0815", "--format", "json").code == 0
    (memory,) = (here / "vaultmem").rglob("*0815*.md")
    memory.write_text(memory.read_text().replace("---\n", "---\nprivate: true\n", 1))
    sync()
    ran("dream", "--level", "3")
    found("api_key = sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD")
    everything = "\n".join(service.texts)
    assert "For the build" in everything
    for private in ("4711", "0815", "quartz", "sk-proj-abc"):
        assert private not in everything
    monkeypatch.setenv("VAULTMEM_EMBEDDING_PRIVATE", "on")
    sync()
    everything = "\n".join(service.texts)
    assert "4711" in everything
    assert "sk-proj-abc" not in everything


def test_search_and_recall_find_by_it_or_by_words(here: Path, service: ScriptedEmbeddings) -> None:
    service.same = {"vessel": "dinghy"}
    assert ran("write", "The dinghy needs paint").code == 0
    sync()
    assert found("vessel bergen")[0][0] == "Boat.md"
    assert (
        ran("recall", "vessel paint", "--format", "json").data["memories"][0]["content"]
        == "The dinghy needs paint"
    )
    service.fails = 500, {"error": {"message": "out of memory"}}
    asked = len(service.requests)
    for _ in range(2):
        paths, said = found("dinghy bergen")
        assert paths[0] == "Boat.md"
        assert f"keyword results only: {service.url} answers 500 (out of memory)" in said
    assert len(service.requests) == asked + 1, "who has failed is left alone"
    told = ran("recall", "dinghy paint")
    assert "The dinghy needs paint" in told.out
    assert "keyword" in told.err
    (here / "New.md").write_text("a new note")
    ended = ran("sync", "--json")
    assert ended.code == 0
    assert "answers 500" in ended.out + ended.err
    assert ran("search", "new note", "--format", "json").data["results"][0]["path"] == "New.md"
    findings = [one["what"] for one in ran("doctor", "--json").data["findings"]]
    assert [finding for finding in findings if service.url in finding]


@pytest.mark.usefixtures("here")
def test_before_it_was_ever_there_everything_works_by_words(service: ScriptedEmbeddings) -> None:
    service.fails = 404, {"error": "model 'small' not found"}
    assert ran("sync", "--json").code == 0
    told = ran("recall", "dinghy", "--notes", "--json")
    assert "Bergen" in told.out
    assert "model 'small' not found" in str(told.data["remarks"])


def test_the_agent_uses_it_and_goes_on_when_it_is_back(
    here: Path, service: ScriptedEmbeddings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedding_service, "REST", 0.2)
    service.same = {"vessel": "dinghy"}
    service.fails = 503, {}
    patch = (
        "from vaultmem_chat.llm import embedding_service; embedding_service.REST = 0.2\n"
        "from vaultmem.agent import embedding; embedding.RETRY_AFTER = 0.2"
    )
    model = {"VAULTMEM_EMBEDDING_BASE_URL": service.url, "VAULTMEM_EMBEDDING_MODEL": "small"}
    with agent_on(here, patch, **model):
        until(lambda: service.requests)
        service.fails = None
        until(lambda: len(service.texts) == 42, 30)
        until(lambda: found("vessel bergen")[0][:1] == ["Boat.md"], 30)
        assert ran("status", "--format", "json").data["agent"]["model"]["name"] == "small"


# --- Without a vault


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def embedder(
    service: ScriptedEmbeddings, folder: Path, clock: Clock | None = None
) -> ServiceEmbedder:
    wanted = Service(service.url, "off", 20.0, "small")
    return ServiceEmbedder(wanted, str(folder), Patience(2, sleep=lambda _: None), clock or Clock())


def test_long_texts_are_halved_until_they_fit(service: ScriptedEmbeddings, tmp_path: Path) -> None:
    service.longest = 500
    made = embedder(service, tmp_path)
    rows = made.embed(["short", "long " * 10_000, "", "other"])
    assert np.allclose(np.linalg.norm(rows, axis=1), [1, 1, 0, 1], atol=1e-6)
    assert np.allclose(rows[0], made.query("short"))
    assert not np.allclose(rows[0], rows[3])
    assert max(map(len, service.texts)) <= LONGEST


def test_after_a_failure_it_is_asked_again(service: ScriptedEmbeddings, tmp_path: Path) -> None:
    clock = Clock()
    made = embedder(service, tmp_path, clock)
    service.fails = 500, {}
    before = len(service.requests)
    with pytest.raises(EmbeddingServiceError):
        made.embed(["a"])
    assert len(service.requests) == before + 3, "what may pass is tried again"
    service.fails = None
    with pytest.raises(EmbeddingServiceError):
        made.query("b")
    assert not made.is_loaded()
    clock.now = REST
    assert made.is_loaded()
    assert len(made.query("b")) == 64


@pytest.mark.parametrize(
    "answer",
    [b"no JSON", [], {"data": []}, {"data": [{"embedding": [1.0] * 64}]}, {"data": [{"index": 5, "embedding": [1]}] * 2},
     {"data": [{"embedding": [None] * 64}] * 2}, {"data": [{"embedding": ["x"]}] * 2}, {"data": [{"embedding": []}] * 2},
     {"data": [[1, 2]] * 2}],
)  # fmt: skip
def test_what_is_no_vector_is_none(
    service: ScriptedEmbeddings, tmp_path: Path, answer: object
) -> None:
    made = embedder(service, tmp_path)
    service.fails = 200, answer
    with pytest.raises(EmbeddingServiceError, match="does not return a vector for each text"):
        made.embed(["a", "b"])


def test_other_vectors_under_the_same_name_get_a_store_of_their_own(
    service: ScriptedEmbeddings, tmp_path: Path
) -> None:
    first = embedder(service, tmp_path)
    service.fails = 200, {"data": [{"embedding": [1.0, 2.0]}]}
    with pytest.raises(EmbeddingServiceError, match="other vectors than before"):
        first.query("a")
    second = embedder(service, tmp_path)
    assert second.model.dimensions == 2
    assert second.model.key != first.model.key
    assert {one.stat().st_mode & 0o777 for one in tmp_path.iterdir()} == {0o600}


def test_its_key_is_its_own(
    here: Path, service: ScriptedEmbeddings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VAULTMEM_EMBEDDING_KEY", "env:EMBEDDING_KEY")
    monkeypatch.setenv("VAULTMEM_LLM_KEY", "env:CHAT_KEY")
    monkeypatch.setenv("EMBEDDING_KEY", "sk-embedding")
    monkeypatch.setenv("CHAT_KEY", "sk-chat")
    sync()
    assert {one.headers.get("authorization") for one in service.requests} == {"Bearer sk-embedding"}
    service.fails = 401, {"error": "no sk-embedding here"}
    monkeypatch.setenv("VAULTMEM_EMBEDDING_MODEL", "large")
    with Vault(str(here)) as vault, pytest.raises(ModelError) as refused:
        vault.searcher().meaning()
    assert "embedding.key" in str(refused.value)
    assert "sk-embedding" not in str(refused.value)


@pytest.mark.usefixtures("here")
def test_a_service_without_a_model_says_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VAULTMEM_EMBEDDING_MODEL", "default")
    assert "Set embedding.model to a model of" in found("dinghy")[1] + ran("sync").err
    monkeypatch.setenv("VAULTMEM_EMBEDDING_MODEL", "off")
    assert ran("sync").code == 0
