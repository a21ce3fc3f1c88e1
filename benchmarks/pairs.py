"""How well a newer statement is recognised as replacing an older one, or as saying the same.

`pairs/*.tsv` hold labelled pairs: what the newer one is (replaces, same, apart), the older, the newer.
`pairs/clusters.txt` has what is known of one thing, and what took its place: all other pairs of a cluster hold side by
side. The labelled pairs stand among others that have nothing to do with them, as in a vault. The weights of
vaultmem.dreams.supersede and vaultmem.dreams.paraphrase are fitted on one half (by checksum of the pair, by
cluster); the table is about the other half.

    python benchmarks/pairs.py            # the table for the weights in force, and what is decided wrongly
    python benchmarks/pairs.py --weights  # fit anew, and print what belongs at the end of the module
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import tempfile
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vaultmem.dreams import paraphrase, short_texts, supersede
from vaultmem.dreams.supersede import REPLACES, SAME
from vaultmem.embedding.embed import Embedder
from vaultmem.embedding.models import resolve_model

HERE = Path(__file__).parent / "pairs"
DRAWN = 8
SHORT = 100  # characters: in a shorter text, another word makes another statement
FOLDS = 8
_WORD = re.compile(rf"[{short_texts.HAN}]{{1,2}}|[^\W{short_texts.HAN}]+")
SHRINKAGE = {REPLACES: 0.02, SAME: 0.0005}
PRECISION = {REPLACES: 0.94, SAME: 0.98}  # on the fitted half

Rows = NDArray[np.float64]


class Case(NamedTuple):
    """A newer statement among older ones; `held` out of the fitting or not."""

    new: str
    olds: list[str]
    labels: list[str]
    held: bool


def cases() -> list[Case]:
    """All labelled ones, each among unrelated others."""
    tables = {path.name: _rows(path) for path in sorted(HERE.glob("*.tsv"))}
    same = {frozenset(row[1:]) for rows in tables.values() for row in rows if row[0] == SAME}
    found: list[Case] = []
    for name, rows in tables.items():
        draw = random.Random(name)
        for label, old, new in rows:
            others = [
                each[1]
                for each in draw.sample(rows, DRAWN)
                if each[1] not in (old, new) and each[2] != new and {each[1], new} not in same
            ]
            held = zlib.crc32(f"{old}{new}".encode()) % 2 == 0
            found.append(Case(new, [old, *others], [label, *["apart"] * len(others)], held))
    return [*found, *_of_clusters((HERE / "clusters.txt").read_text("utf-8"))]


def _rows(path: Path) -> list[list[str]]:
    return [line.split("\t") for line in path.read_text("utf-8").splitlines()]


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
        """The cosine of the newer statement to each older one."""
        return [float(self._rows[case.new] @ self._rows[old]) for old in case.olds]


def fit(rows: Rows, is_it: Rows, shrinkage: float) -> Rows:
    """Logistic regression with shrinkage on standardised features. The weights are for the plain features; the last
    is the constant."""
    mean, spread = rows.mean(0), rows.std(0) + 1e-9
    x = np.c_[(rows - mean) / spread, np.ones(len(rows))]
    weights = np.zeros(x.shape[1])
    shrink = np.diag(np.r_[np.full(rows.shape[1], shrinkage), 1e-9])
    for _ in range(20):
        p = 1 / (1 + np.exp(-x @ weights))
        slope = x.T @ (p - is_it) / len(x) + shrink @ weights
        weights -= np.linalg.solve((x.T * (p * (1 - p))) @ x / len(x) + shrink, slope)
    plain = weights[:-1] / spread
    return np.r_[plain, weights[-1] - plain @ mean].round(2)


def threshold(scored: Iterable[tuple[float, bool]], precision: float) -> float:
    """The lowest score above which the wanted share is right."""
    right, bar = 0, 0.0
    for taken, (score, is_right) in enumerate(sorted(scored, reverse=True), start=1):
        right += is_right
        if right / taken >= precision:
            bar = float(score)
    return bar


def print_weights(found: Sequence[Case], cosines: Cosines) -> None:
    """Fit on the half that is not held out."""
    kept = [case for case in found if case.olds and not case.held]
    fit_replaces(kept, cosines)
    fit_same(kept, cosines)


def fit_replaces(kept: Sequence[Case], cosines: Cosines) -> None:
    """The weights for dreams.supersede."""
    tables = []
    for case in kept:
        shared = short_texts.widespread(case.olds)
        known = cosines.of(case)
        near = max(known)
        tables.append([
            supersede.features(old, case.new, cosine, shared, is_nearest=cosine == near)
            for old, cosine in zip(case.olds, known, strict=True)
        ])  # fmt: skip
    rows = np.array([list(row.values()) for table in tables for row in table])
    is_it = np.array([float(label == REPLACES) for case in kept for label in case.labels])
    weights = fit(rows, is_it, SHRINKAGE[REPLACES])
    given = dict(zip([*tables[0][0], ""], weights.tolist(), strict=True))
    sys.stdout.write(f"_REPLACES: Mapping[str, float] = {given!r}\n")
    parts, is_right = [], []
    for case, table in zip(kept, tables, strict=True):
        scores = [supersede.replacing(row, given) for row in table]
        at = int(np.argmax(scores))
        parts.append(supersede.signs(case.new, scores, contradicts=table[at]["contradicts"] > 0))
        is_right.append(case.labels[at] == REPLACES)
    sure = fit(np.array(parts), np.array(is_right, float), SHRINKAGE[REPLACES])
    certainty = np.c_[parts, np.ones(len(parts))] @ sure
    bar = threshold(zip(certainty, is_right, strict=True), PRECISION[REPLACES])
    sys.stdout.write(f"_CERTAINTY = {tuple(sure.tolist())!r}\n_CERTAIN = {bar:.2f}\n")


def fit_same(kept: Sequence[Case], cosines: Cosines) -> None:
    """The weights for dreams.paraphrase: each pair once with its cosine and once without, and in addition texts with
    one word exchanged."""
    tables, is_it, folds = [], [], []
    for number, case in enumerate([*kept, *exchanged(kept)]):
        for known in (cosines.of(case), [None] * len(case.olds)):
            for old, label, cosine in zip(case.olds, case.labels, known, strict=True):
                tables.append(paraphrase.features(old, case.new, cosine))
                is_it.append(label == SAME)
                folds.append(number % FOLDS if number < len(kept) else -1)  # for fitting only
    rows, labels = np.array([list(table.values()) for table in tables]), np.array(is_it, float)
    fold, scored = np.array(folds), []
    for left in range(FOLDS):  # the threshold is set on data that the weights have not seen
        weights = fit(rows[fold != left], labels[fold != left], SHRINKAGE[SAME])
        scores = rows[fold == left] @ weights[:-1] + weights[-1]
        scored += zip(scores.tolist(), (labels[fold == left] > 0).tolist(), strict=True)
    weights = fit(rows, labels, SHRINKAGE[SAME])
    given = dict(zip([*tables[0], ""], weights.tolist(), strict=True))
    bar = threshold(scored, PRECISION[SAME])
    sys.stdout.write(f"WEIGHTS: Mapping[str, float] = {given!r}\nLIKELY = {bar:.2f}\n")


def exchanged(kept: Sequence[Case]) -> Iterator[Case]:
    """Labelled texts with a variant that says the same about something else, or adds a word."""
    draw = random.Random("exchanged")
    telling = [word for case in kept for word in _WORD.findall(case.new) if _is_telling(word)]
    words = {kind: [word for word in telling if word.isascii() == kind] for kind in (True, False)}
    for case in kept:
        own = [found for found in _WORD.finditer(case.new) if _is_telling(found[0])]
        if not own or case.labels[0] not in (SAME, "apart"):
            continue
        for old in sorted({case.new, case.olds[0]}):
            start, end = draw.choice(own).span()
            other = draw.choice(words[case.new[start].isascii()])
            begin, rest = case.new[:start], case.new[end:]
            yield Case(f"{begin}{other}{rest}", [old], ["apart"], held=False)
            if len(case.new) < SHORT:
                yield Case(f"{begin}{other} {case.new[start:]}", [old], ["apart"], held=False)


def _is_telling(word: str) -> bool:
    return bool(short_texts.tokens_of(word))


def print_table(found: Sequence[Case], cosines: Cosines, *, mistakes: bool) -> None:
    """Precision and recall on the held-out half, with and without cosines."""
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
    kept = [case for case in found if case.olds and not case.held]
    cosines = Cosines([*found, *exchanged(kept)])
    if args.weights:
        print_weights(found, cosines)
    else:
        print_table(found, cosines, mistakes=args.mistakes)


if __name__ == "__main__":
    main()
