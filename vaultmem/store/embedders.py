"""What embeds, by the settings: a model in this process, or a service."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

from vaultmem.store.embed import Embedder
from vaultmem.store.model import Model, resolve_model

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from vaultmem.store.llm import Settings


class TextEmbedder(Protocol):
    """Turns texts into normalised vectors of one model. Raises ModelError when it cannot."""

    model: Model

    @property
    def is_local(self) -> bool:
        """Whether what it embeds stays in this process."""

    def is_loaded(self) -> bool:
        """Whether it can be used at once."""

    def unload(self) -> None:
        """Give the memory of the model back until the next use."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One row per text, in the order given."""

    def batches(self, texts: Sequence[str]) -> Iterator[tuple[list[int], NDArray[np.float32]]]:
        """Positions in `texts` and their vectors, batch by batch."""

    def query(self, text: str) -> NDArray[np.float32]:
        """The vector of a question."""


def open_embedder(settings: Settings, folder: str, threads: int) -> TextEmbedder:
    """The one of the settings; `folder` holds what is known of models. Raises ModelError with what to do."""
    if settings.text("embedding.base_url"):
        from vaultmem.store.embedding_service import ServiceEmbedder, service_of

        return ServiceEmbedder(service_of(settings), folder)
    return Embedder(resolve_model(settings.text("embedding.model"), folder), threads)
