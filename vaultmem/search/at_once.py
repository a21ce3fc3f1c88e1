"""Meaning at once: what a search finds by its words and has no vector yet gets one within the search, for as long as
nobody notices. The first embedding of a large vault takes minutes, and what is searched is what somebody works on."""

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
MOST = 32  # blocks, the best by their words: more do not fit into the time


def embed_best(
    meaning: Meaning,
    catalog: Catalog,
    scores: Mapping[int, float],
    now: Callable[[], float] = time.monotonic,
) -> int:
    """Give the blocks with the best scores by words their vectors, as far as they lack them and time allows; how many.

    Only with a model of this process that is loaded: a service takes its own time, and sees no private note.
    """
    begun = now()
    if not (meaning.embedder.is_local and meaning.is_loaded()):
        return 0
    best = sorted(scores, key=lambda block: -scores[block])[:MOST]
    done = 0
    last = longest = now() - begun
    for digest, text in _texts(meaning, catalog, meaning.lacking(catalog, best)):
        with contextlib.suppress(StateError):  # nothing can be written here
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
    """The texts of blocks as their notes have them now, each with its hash; what has changed is left out."""
    if not lacking:
        return
    rules = open_rulebook(Root(meaning.folder), meaning.dialect)
    paths = paths_of(catalog, {block >> ORD_BITS for block in lacking})
    for block, digest in lacking.items():
        path = paths.get(block >> ORD_BITS, "")
        text = text_at(rules, meaning.folder, path, meaning.cap, digest) if path else ""
        if text:
            yield digest, text
