"""Language models behind OpenAI-compatible services: requests, answers, keys. These functions are the port
vaultmem.adapter.services.Models; each loads what it needs."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from vaultmem.adapter.services import Model, Nearby, Settings
    from vaultmem.index.embed import TextEmbedder


def open_model(settings: Settings) -> Model | None:
    """The language model of the settings, None where none is set."""
    from vaultmem_chat.llm import llm

    return llm.open_model(settings)


def open_embedder(settings: Settings, folder: str) -> TextEmbedder:
    """What embeds texts by the service of the settings. Raises ModelError."""
    from vaultmem_chat.llm.embedding_service import ServiceEmbedder, service_of

    return ServiceEmbedder(service_of(settings), folder)


def local_models() -> list[Nearby]:
    """Language models that run on this machine."""
    from vaultmem_chat.llm import nearby

    return nearby.models()
