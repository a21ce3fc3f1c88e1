"""Sentences that are typical of each category; how close a text's embedding is to them tells its category.

The caller embeds `sentences()` once, takes the cosine of each with the text, and folds them with `closeness`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from vaultmem.index import catalog_read
from vaultmem.light import TYPE_CHECKING
from vaultmem.plugins import language

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from vaultmem.memories.model import Memory
    from vaultmem.search.model_vectors import ModelVectors
    from vaultmem.search.search import Searcher
    from vaultmem.search.semantic import Meaning


NEAREST = 3  # the mean of so many of the best: one lucky sentence is not enough


def prototypes() -> dict[str, list[str]]:
    """Sentences by category."""
    groups: dict[str, list[str]] = language().table("categories")["prototypes"]
    return groups


def sentences() -> list[str]:
    """All prototypes in a fixed order: what the caller embeds."""
    return [sentence for group in prototypes().values() for sentence in group]


def closeness_to(cosines: Sequence[float]) -> dict[str, float]:
    """Closeness by category: the mean of its NEAREST best cosines, given one for each of `sentences()`."""
    closeness: dict[str, float] = {}
    at = 0
    for category, group in prototypes().items():
        best = sorted(cosines[at : at + len(group)], reverse=True)[:NEAREST]
        closeness[category] = sum(best) / len(best)
        at += len(group)
    if at != len(cosines):
        raise ValueError(f"There are {at} prototypes, but {len(cosines)} cosines.")
    return closeness


# How near memories are by meaning: to each other, to the categories' examples, to the middle of all.

ROWS_AT_ONCE = 256


class Nearness:
    """The vectors of memories, as far as they have some. One thread at a time."""

    def __init__(self, searcher: Searcher, meaning: Meaning, memories: Sequence[Memory]) -> None:
        ids = catalog_read.note_ids(searcher.catalog, [memory.path for memory in memories])
        self._parts: list[tuple[ModelVectors, list[str], NDArray[np.float32]]] = []
        for part in meaning.parts():
            known = {
                path: vector
                for path, note in ids.items()
                if (vector := part.note_vector(searcher.catalog, note)) is not None
            }
            if known:
                self._parts.append((part, [*known], np.array([*known.values()])))
        self._pairs: dict[float, dict[str, list[tuple[str, float]]]] = {}

    def alike(self, path: str, least: float) -> list[tuple[str, float]]:
        """The memories with at least that cosine to one of them, nearest first."""
        if least not in self._pairs:
            self._pairs[least] = self._all_pairs(least)
        return self._pairs[least].get(path, [])

    def _all_pairs(self, least: float) -> dict[str, list[tuple[str, float]]]:
        near: dict[str, list[tuple[str, float]]] = {}
        for part, paths, rows in self._parts:
            for start in range(0, len(paths), ROWS_AT_ONCE):
                cosines = part.comparable(rows[start : start + ROWS_AT_ONCE] @ rows.T)
                for one, other in zip(*np.nonzero(cosines >= least), strict=True):
                    if start + one != other:
                        pair = (paths[other], round(float(cosines[one, other]), 4))
                        near.setdefault(paths[start + one], []).append(pair)
        for pairs in near.values():
            pairs.sort(key=lambda pair: (-pair[1], pair[0]))
        return near

    def centroid(self) -> NDArray[np.float32] | None:
        """The direction of the middle of all that the first model knows; None when there are none."""
        rows = next((rows for part, _, rows in self._parts if part.other is not True), None)
        if rows is None:
            return None
        mean = rows.mean(axis=0)
        length = float(np.linalg.norm(mean))
        return mean / length if length else None


def cosines(meaning: Meaning, texts: Sequence[str], centroid: NDArray[np.float32]) -> list[float]:
    """How near texts are to the middle of all memories."""
    return [float(cosine) for cosine in meaning.embedder.embed(texts) @ centroid]


class Examples:
    """The embedded examples of the categories, made once."""

    def __init__(self) -> None:
        self._model: object = None
        self._rows: NDArray[np.float32] | None = None

    def closeness(self, meaning: Meaning, texts: Sequence[str]) -> dict[str, Mapping[str, float]]:
        """For each text how close it is to each category."""
        if self._rows is None or self._model is not meaning:
            self._rows, self._model = meaning.embedder.embed(sentences()), meaning
        cosines = meaning.comparable(meaning.embedder.embed(list(texts)) @ self._rows.T)
        return {text: closeness_to(row.tolist()) for text, row in zip(texts, cosines, strict=True)}
