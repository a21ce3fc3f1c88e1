"""How well is it known that a newer memory speaks of the same as an older one?

    python benchmarks/newer.py --models FOLDER [--weights]

Fits the model of `vaultmem.dreams.changes` on all stories of `life/` but one, and prints for that one how many of its
changes are above each threshold, of how many pairs; for what is certain, how many older facts are then still true. By
meaning and by words. `--weights` prints the weights from all stories.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import NamedTuple

import life
import numpy as np
from numpy.typing import NDArray

from vaultmem.dreams import changes
from vaultmem.dreams.asides import have_two_subjects
from vaultmem.dreams.changes import BY_MEANING, BY_WORDS, Model, Text
from vaultmem.dreams.endings import states_more
from vaultmem.dreams.short_texts import plain
from vaultmem.embedding.embed import Embedder
from vaultmem.embedding.models import resolve_model
from vaultmem.recall.newer import LIKELY, SUSPECTED

STORIES = {"life": life.HERE, **{name: life.HERE / name for name in ("nurse", "mason", "coder")}}
ROUNDS, RIDGE = 30, 3.0


class Rows(NamedTuple):
    """All pairs of memories of a story."""

    signs: NDArray[np.float64]
    is_change: NDArray[np.float64]
    is_true: NDArray[np.bool_]  # the older one is a fact that is still true
    is_apart: NDArray[np.bool_]  # the older one states more, or is about something else


def rows(story: Path, embedder: Embedder | None, model: Model) -> Rows:
    """The pairs of a story, with their signs."""
    entries = [entry for entry in life.entries(story) if entry.options.get("kind") != "reminder"]
    texts = {str(n): Text(entry.text, entry.day * 86_400.0) for n, entry in enumerate(entries)}
    names = [entry.options.get("id", "") for entry in entries]
    ends: dict[str, list[int]] = {}
    for n, entry in enumerate(entries):
        for old in filter(None, entry.options.get("changes", "").split(",")):
            ends.setdefault(old, []).append(n)
    if embedder:
        vectors = embedder.embed([entry.text for entry in entries])
        similar = (vectors @ vectors.T).tolist()
    else:
        similar = changes.by_letters(entry.text for entry in entries)
    signed = [*changes.signs(changes.all_pairs([*texts], similar, model), texts)]
    pairs = [(int(pair.old), int(pair.new)) for pair, _ in signed]
    over = [[end <= new for end in ends.get(names[old], ())] for old, new in pairs]
    is_fact = [
        bool(names[old]) and entries[old].options.get("kind", "fact") in ("fact", "preference")
        for old, _ in pairs
    ]
    texts_of = [(plain(entries[old].text), plain(entries[new].text)) for old, new in pairs]
    apart = [states_more(*both) or have_two_subjects(*both) for both in texts_of]
    return Rows(
        np.array([own for _, own in signed], float),
        np.array([new in ends.get(names[old], ()) for old, new in pairs], float),
        np.array([fact and not any(ended) for fact, ended in zip(is_fact, over, strict=True)]),
        np.array(apart),
    )


def fit(parts: list[Rows]) -> NDArray[np.float64]:
    """Weights and bias by logistic regression: Newton's method with a small ridge, signs scaled by deviation."""
    signs = np.concatenate([part.signs for part in parts])
    change = np.concatenate([part.is_change for part in parts])
    mean, scale = signs.mean(axis=0), signs.std(axis=0)
    x = np.c_[(signs - mean) / scale, np.ones(len(signs))]
    ridge = RIDGE * np.diag([1.0] * signs.shape[1] + [0.0])
    weights = np.zeros(x.shape[1])
    for _ in range(ROUNDS):
        p = 1 / (1 + np.exp(-x @ weights))
        slope = x.T @ (p - change) + ridge @ weights
        weights -= np.linalg.solve(x.T @ (x * (p * (1 - p))[:, None]) + ridge, slope)
    own = weights[:-1] / scale
    return np.append(own, weights[-1] - own @ mean)


def main() -> None:
    """Print a line for each story."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", required=True, help="where prepared models are")
    parser.add_argument("--weights", action="store_true", help="print weights for all")
    options = parser.parse_args()
    embedder = Embedder(resolve_model("default", options.models))
    for how, by, model in (("meaning", embedder, BY_MEANING), ("words", None, BY_WORDS)):
        parts = {name: rows(story, by, model) for name, story in STORIES.items()}
        for name, part in parts.items():
            weights = fit([other for other in parts.values() if other is not part])
            odds = part.signs @ weights[:-1] + weights[-1]
            above = [odds > least for least in (LIKELY, SUSPECTED)]
            counts = [f"{int(part.is_change[one].sum())} of {int(one.sum())}" for one in above]
            certain = (odds > model.certain) & (part.signs[:, 2] > 0) & ~part.is_apart
            counts.append(f"{int(part.is_change[certain].sum())} of {int(certain.sum())}")
            print(
                f"{name} by {how}: changes {int(part.is_change.sum())}; likely, suspected, certain: "
                f"{'; '.join(counts)}; {int(part.is_true[certain].sum())} still true"
            )
        if options.weights:
            print(f"weights by {how}, bias last: {fit([*parts.values()]).round(2).tolist()}")


if __name__ == "__main__":
    main()
