"""How well a newer statement is recognised as replacing an older one, or as saying the same.

`pairs/*.tsv` hold labelled pairs: what the newer one is (replaces, same, apart), the older, the newer.
`pairs/clusters.txt` has what is known of one thing, and what took its place: all other pairs of a cluster hold side by
side. The labelled pairs stand among others that have nothing to do with them, as in a vault. The weights of
vaultmem.core.supersede are fitted on one half (by checksum of the pair, by cluster); the table is about the other half.

    python benchmarks/pairs.py            # the table for the weights in force, and what is decided wrongly
    python benchmarks/pairs.py --weights  # fit anew, and print what belongs at the end of the module
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vaultmem.core import supersede
from vaultmem.core.supersede import REPLACES, SAME
from vaultmem.store.embed import Embedder
from vaultmem.store.model import resolve_model

HERE = Path(__file__).parent / "pairs"
DRAWN = 8
SHRINKAGE = 0.02
PRECISION = 0.94  # on the half that is fitted


class Case(NamedTuple):
    """A newer statement among older ones; `held` out of the fitting or not."""

    new: str
    olds: list[str]
    labels: list[str]
    held: bool


def cases() -> list[Case]:
    """All labelled ones, each among others that have nothing to do with it."""
    found: list[Case] = []
    for path in sorted(HERE.glob("*.tsv")):
        rows = [line.split("\t") for line in path.read_text("utf-8").splitlines()]
        draw = random.Random(path.name)
        for label, old, new in rows:
            others = [
                each[1] for each in draw.sample(rows, DRAWN) if each[1] != old and each[2] != new
            ]
            held = zlib.crc32(f"{old}{new}".encode()) % 2 == 0
            found.append(Case(new, [old, *others], [label, *["apart"] * len(others)], held))
    return [*found, *_of_clusters((HERE / "clusters.txt").read_text("utf-8"))]


def _of_clusters(text: str) -> Iterator[Case]:
    """In each cluster a later statement replaces the one beside it, and no other."""
    for number, cluster in enumerate(text.split("\n\n")):
        rows = [line.split(" | ") for line in cluster.splitlines() if not line.startswith("#")]
        for at, (_, new) in enumerate(rows):
            labels = [REPLACES if at == other else "apart" for other in range(len(rows))]
            yield Case(new, [old for old, _ in rows], labels, number % 2 == 1)
        for at, (first, _) in enumerate(rows):
            others = [old for other, (old, _) in enumerate(rows) if other != at]
            yield Case(first, others, ["apart"] * len(others), number % 2 == 1)


class Cosines:
    """The cosines of texts by the default model."""

    def __init__(self, found: Sequence[Case]) -> None:
        texts = sorted({text for case in found for text in (case.new, *case.olds)})
        with tempfile.TemporaryDirectory() as models:
            rows = Embedder(resolve_model("default", models)).embed(texts)
        self._rows = dict(zip(texts, rows, strict=True))

    def of(self, case: Case) -> list[float]:
        """Of the newer statement to each older one."""
        return [float(self._rows[case.new] @ self._rows[old]) for old in case.olds]


def fit(rows: NDArray[np.float64], is_it: NDArray[np.float64]) -> NDArray[np.float64]:
    """Logistic regression with shrinkage on standardised features. The weights are those of the plain features; the
    last is the constant."""
    mean, spread = rows.mean(0), rows.std(0) + 1e-9
    x = np.c_[(rows - mean) / spread, np.ones(len(rows))]
    weights = np.zeros(x.shape[1])
    shrink = np.diag(np.r_[np.full(rows.shape[1], SHRINKAGE), 1e-9])
    for _ in range(20):
        p = 1 / (1 + np.exp(-x @ weights))
        slope = x.T @ (p - is_it) / len(x) + shrink @ weights
        weights -= np.linalg.solve((x.T * (p * (1 - p))) @ x / len(x) + shrink, slope)
    plain = weights[:-1] / spread
    return np.r_[plain, weights[-1] - plain @ mean]


def threshold(scored: Sequence[tuple[float, bool]]) -> tuple[float, float]:
    """The lowest score above which as many are right as PRECISION wants, and the share of the right ones above it."""
    right, bar = 0, (0.0, 0.0)
    of = sum(is_right for _, is_right in scored)
    for taken, (score, is_right) in enumerate(sorted(scored, reverse=True), start=1):
        right += is_right
        if right / taken >= PRECISION:
            bar = float(score), right / of
    return bar


def print_weights(found: Sequence[Case], cosines: Cosines) -> None:
    """Fit on the half that is not held out."""
    kept = [case for case in found if case.olds and not case.held]
    tables = []
    for case in kept:
        shared = supersede.widespread(case.olds)
        known = cosines.of(case)
        near = max(known)
        tables.append([
            supersede.features(old, case.new, cosine, shared, is_nearest=cosine == near)
            for old, cosine in zip(case.olds, known, strict=True)
        ])  # fmt: skip
    names = [*tables[0][0]]
    rows = np.array([list(row.values()) for table in tables for row in table])
    for label in (REPLACES, SAME):
        is_it = np.array([float(each == label) for case in kept for each in case.labels])
        weights = fit(rows, is_it).round(2)
        given = dict(zip([*names, ""], weights.tolist(), strict=True))
        sys.stdout.write(f"_{label.upper()}: Mapping[str, float] = {given!r}\n")
        if label == SAME:
            scores = rows @ weights[:-1] + weights[-1]
            sys.stdout.write(
                f"_ALIKE = {threshold([*zip(scores, is_it > 0, strict=True)])[0]:.2f}\n"
            )
            continue
        parts, is_right = [], []
        for case, table in zip(kept, tables, strict=True):
            found_scores = [supersede.replacing(row, given) for row in table]
            at = int(np.argmax(found_scores))
            parts.append(
                supersede.signs(case.new, found_scores, contradicts=table[at]["contradicts"] > 0)
            )
            is_right.append(float(case.labels[at] == label))
        sure = fit(np.array(parts), np.array(is_right)).round(2)
        bar, _ = threshold(
            [*zip(np.c_[parts, np.ones(len(parts))] @ sure, np.array(is_right) > 0, strict=True)]
        )
        sys.stdout.write(f"_CERTAINTY = {tuple(sure.tolist())!r}\n_CERTAIN = {bar:.2f}\n")


def print_table(found: Sequence[Case], cosines: Cosines, *, mistakes: bool) -> None:
    """Precision and recall on the half that is held out, with and without cosines."""
    sys.stdout.write("| | precision | recall | of |\n| --- | --- | --- | --- |\n")
    for name, known in (("with a model", True), ("by words alone", False)):
        told: Counter[tuple[str, str]] = Counter()
        for case in found:
            if not case.held:
                continue
            said = supersede.relations(case.new, case.olds, cosines.of(case) if known else None)
            for old, label, each in zip(case.olds, case.labels, said, strict=True):
                told[label, each.kind] += 1
                if mistakes and known and label != each.kind:
                    sys.stdout.write(f"    {label} taken for {each.kind}: {old} / {case.new}\n")
        for label in (REPLACES, SAME):
            right, of = told[label, label], sum(n for (true, _), n in told.items() if true == label)
            taken = sum(n for (_, kind), n in told.items() if kind == label)
            sys.stdout.write(
                f"| {label}, {name} | {right / max(1, taken):.3f} | {right / of:.3f} | {of} |\n"
            )


def main() -> None:
    """Print one or the other."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--weights", action="store_true")
    parser.add_argument("--mistakes", action="store_true")
    args = parser.parse_args()
    found = cases()
    cosines = Cosines(found)
    if args.weights:
        print_weights(found, cosines)
    else:
        print_table(found, cosines, mistakes=args.mistakes)


if __name__ == "__main__":
    main()
