"""How well does a recall know that a newer memory speaks of the same as an older one?

    python benchmarks/newer.py --models FOLDER [--weights]

Fits the model of `vaultmem.recall.newer` on all stories of `life/` but one, and prints for that one how many pairs are
above each of the two thresholds and how many of these are changes; by meaning and by words. The story `coder` is never
fitted on. `--weights` prints the weights from all the others.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import life
import numpy as np
from numpy.typing import NDArray

from vaultmem.embedding.embed import Embedder
from vaultmem.embedding.models import resolve_model
from vaultmem.recall import newer
from vaultmem.recall.recall_candidate import Candidate, by_words

STORIES = {"life": life.HERE, **{name: life.HERE / name for name in ("nurse", "mason", "coder")}}
HELD = "coder"
Rows = tuple[NDArray[np.float64], NDArray[np.float64]]  # signs, and whether they are of a change
ROUNDS, RIDGE = 30, 3.0


def rows(story: Path, embedder: Embedder | None) -> Rows:
    """All pairs of facts of a story."""
    entries = [entry for entry in life.entries(story) if entry.options.get("kind") != "reminder"]
    ordered = [
        Candidate(str(n), 1, 1, entry.text, id=str(n), created=entry.day * 86_400.0)
        for n, entry in enumerate(entries)
    ]
    named = {
        entry.options["id"]: str(n) for n, entry in enumerate(entries) if "id" in entry.options
    }
    changes = {
        (named[old], str(n))
        for n, entry in enumerate(entries)
        for old in filter(None, entry.options.get("changes", "").split(","))
        if old in named
    }
    if embedder:
        vectors = embedder.embed([entry.text for entry in entries])
        similar, model = (vectors @ vectors.T).tolist(), newer.BY_MEANING
    else:
        similar, model = by_words(ordered), newer.BY_WORDS
    pairs = newer.all_pairs(ordered, similar, model)
    judged = [*newer.signs(pairs, {item.key: item for item in ordered})]
    is_change = [(pair.old, pair.new) in changes for pair, _ in judged]
    return np.array([sign for _, sign in judged], float), np.array(is_change, float)


def fit(parts: list[Rows]) -> NDArray[np.float64]:
    """Weights and bias by logistic regression: Newton's method with a small ridge, signs scaled by deviation."""
    signs, change = np.concatenate([x for x, _ in parts]), np.concatenate([y for _, y in parts])
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
    parser.add_argument("--weights", action="store_true", help="print weights for all but one")
    options = parser.parse_args()
    embedder = Embedder(resolve_model("default", options.models))
    for how, by in (("meaning", embedder), ("words", None)):
        parts = {name: rows(story, by) for name, story in STORIES.items()}
        known = [part for name, part in parts.items() if name != HELD]
        for name, (signs, change) in parts.items():
            others = [part for part in known if part is not parts[name]]
            weights = fit(others)
            odds = signs @ weights[:-1] + weights[-1]
            above = [odds > least for least in (newer.LIKELY, newer.SUSPECTED)]
            counts = "; ".join(f"{int(change[one].sum())} of {int(one.sum())}" for one in above)
            print(f"{name} by {how}: changes {int(change.sum())}; likely, suspected: {counts}")
        if options.weights:
            print(f"weights by {how}, bias last: {fit(known).round(2).tolist()}")


if __name__ == "__main__":
    main()
