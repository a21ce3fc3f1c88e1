"""Embeds keyword results without a vector during the search, within a short time limit. The first embedding of a
large vault takes minutes, and people search for what they are working on."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping

from vaultmem.errors import StateError
from vaultmem.index import ORD_BITS
from vaultmem.index.catalog import Catalog
from vaultmem.index.catalog_read import paths_of
from vaultmem.notes.dialects import open_rulebook
from vaultmem.search.publish import text_at
from vaultmem.search.semantic import Meaning
from vaultmem.vault.files import Root

CAP = 0.15  # seconds
MOST = 32  # best blocks by words: more do not fit into the time


def embed_best(
    meaning: Meaning,
    catalog: Catalog,
    scores: Mapping[int, float],
    now: Callable[[], float] = time.monotonic,
) -> int:
    """Embed the best blocks by words that have no vector, as far as time allows. Returns how many.

    Only with a loaded model of this process: a service has its own pace, and sees no private note.
    """
    begun = now()
    if not (meaning.embedder.is_local and meaning.is_loaded()):
        return 0
    best = sorted(scores, key=lambda block: -scores[block])[:MOST]
    done = 0
    last = longest = now() - begun
    for digest, text in _texts(meaning, catalog, meaning.lacking(catalog, best)):
        with contextlib.suppress(StateError):  # nothing can be written
            part = meaning.part_of(text)
            part.store.append([digest], part.embedder.embed([text]))
            done += 1
        last, longest = now() - begun, max(longest, now() - begun - last)
        if last + longest > CAP:
            break
    return done


def _texts(
    meaning: Meaning, catalog: Catalog, lacking: Mapping[int, bytes]
) -> Iterator[tuple[bytes, str]]:
    """The current texts of blocks, each with its hash; changed ones are left out."""
    if not lacking:
        return
    rules = open_rulebook(Root(meaning.folder), meaning.dialect)
    paths = paths_of(catalog, {block >> ORD_BITS for block in lacking})
    for block, digest in lacking.items():
        path = paths.get(block >> ORD_BITS, "")
        text = text_at(rules, meaning.folder, path, meaning.cap, digest) if path else ""
        if text:
            yield digest, text
