"""Give blocks their vectors: after a sync, in portions, going on where the last run stopped."""

from __future__ import annotations

from vaultmem.dialects import open_rulebook
from vaultmem.errors import ModelError
from vaultmem.progress import Progress, Silent
from vaultmem.search import Searcher
from vaultmem.store import vault


def embed(
    searcher: Searcher, progress: Progress | None = None
) -> tuple[int, str | None, str | None]:
    """Embed what is missing; blocks embedded, the model's name, and why there is none."""
    try:
        meaning = searcher.meaning()
    except ModelError as error:
        return 0, None, str(error)
    rules = open_rulebook(vault.Root(searcher.folder), searcher.config.text("dialect"))
    try:
        done = meaning.embed_pending(searcher.catalog, rules, progress or Silent()).blocks
    except ModelError as error:
        return 0, meaning.model.name, str(error)
    meaning.tidy(searcher.catalog)
    return done, meaning.model.name, meaning.store.notice
