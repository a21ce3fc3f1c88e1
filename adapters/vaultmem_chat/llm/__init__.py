"""Language models behind OpenAI-compatible services: requests, answers, keys. These functions are the port
vaultmem.adapter.services.Models; each loads what it needs."""

from __future__ import annotations

from vaultmem.text.values import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from vaultmem.adapter.services import Model, Nearby, Settings
    from vaultmem.embedding.embed import TextEmbedder


def open_model(settings: Settings) -> Model | None:
    """The language model of the settings; None if none is set."""
    from vaultmem_chat.llm import llm

    return llm.open_model(settings)


def open_embedder(settings: Settings, folder: str) -> TextEmbedder:
    """The embedder for the service of the settings. Raises ModelError."""
    from vaultmem_chat.llm.embedding_service import ServiceEmbedder, service_of

    return ServiceEmbedder(service_of(settings), folder)


# Models that run on this machine, found on the ports of Ollama, LM Studio and llama.cpp. Only the loopback interface
# is used, and only the names of models are read.

PATIENCE = 0.4  # seconds; local services answer at once
SERVERS = {"Ollama": 11434, "LM Studio": 1234, "llama.cpp": 8080}
_NO_CHAT = ("embed", "bge-", "minilm", "rerank", "whisper")  # in names of models that do not chat


def local_models(servers: dict[str, int] | None = None) -> list[Nearby]:
    """The services that answer, in the order of SERVERS."""
    from vaultmem.adapter.services import Nearby

    results = []
    for program, port in (SERVERS if servers is None else servers).items():
        talk = [name for name in _names(port) if not any(part in name.lower() for part in _NO_CHAT)]
        if talk:
            results.append(Nearby(program, f"http://127.0.0.1:{port}/v1", talk[0]))
    return results


def find_local_model(
    model: str | None, wants: Callable[[str], bool] | None, form: str
) -> tuple[str | None, str | None]:
    """The address and name of a local model that the person accepts; None if there is none. Raises ConfigError if
    there is one and nobody can be asked; `form` shows the options to type."""
    from vaultmem.errors import ConfigError

    for candidate in local_models():
        name = model or candidate.model
        if wants is None:
            how = form.format(address=candidate.address, name=name)
            raise ConfigError(
                f"no language model is set: {candidate.program} runs here, type {how}"
            )
        if wants(f"{candidate.program} runs here with {name}; use it now? [Y/n] "):
            return candidate.address, name
    return None, model


def _names(port: int) -> list[str]:
    """The models of the server at a port; empty if no such server listens."""
    from vaultmem.errors import LlmError
    from vaultmem_chat.llm.replies import model_names
    from vaultmem_chat.llm.wire import Wire

    try:
        reply = Wire(f"http://127.0.0.1:{port}/v1", None, PATIENCE).get("/models")
    except LlmError:
        return []
    names = model_names(reply.body) if reply.status == 200 else []
    return [name for name in names if name.isprintable() and name.strip() == name]
