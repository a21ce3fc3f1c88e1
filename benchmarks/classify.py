"""Measure how well memories are put into their categories, by signals alone and with the default embeddings.

    python benchmarks/classify.py [--json]

The labelled sentences lie in tests/data/classification, one a line: category, language, text. How each half was used:

dev    weights, words and the threshold were chosen on it; it says nothing about other sentences
test   written before the table of signals, by the same hand, and split off by a hash; nothing was tuned on it, but
       whoever writes both a sentence and a table remembers the one in the other, so it flatters
fresh  written after the table, about other people and things; no word was put into the table for its sake. Only how
       sharp the confidence is was settled with these numbers in view: of the three the honest one

The German parts: "german-dev" and "german-test" are halves of one set, written before the German words; "german-fresh"
was written after them, and avoids what it remembers of them.

"accuracy" takes the best category even where nobody can be sure; "filed" is the share that clears the threshold and
leaves the inbox, "right" how many of those went where they belong. Macro: every category counts the same.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple, cast

from vaultmem.dreams.classify import TARGETS, classify
from vaultmem.embedding.embed import Embedder
from vaultmem.embedding.models import resolve_model
from vaultmem.memories.view import Examples
from vaultmem.search.semantic import Meaning

DATA = Path(__file__).parents[1] / "tests" / "data" / "classification"
PARTS = ("dev", "test", "fresh", "german-dev", "german-test", "german-fresh")
Closenesses = Sequence[Mapping[str, float] | None]


class Sentence(NamedTuple):
    """One labelled sentence."""

    category: str
    language: str
    text: str


class Outcome(NamedTuple):
    """The result for a sentence."""

    sentence: Sentence
    best: str
    filed: bool


def read_part(name: str) -> list[Sentence]:
    """The sentences of dev, test or fresh."""
    lines = (DATA / f"{name}.tsv").read_text("utf-8").splitlines()
    return [Sentence(*line.split("\t")) for line in lines]


def closenesses(embedder: Embedder, texts: Sequence[str]) -> list[dict[str, float]]:
    """How close each text is to each category."""
    meaning = SimpleNamespace(embedder=embedder, comparable=lambda cosines: cosines)
    near = Examples().closeness(cast("Meaning", meaning), texts)
    return [near[text] for text in texts]


def outcomes(sentences: Sequence[Sentence], near: Closenesses) -> list[Outcome]:
    """Classify them all."""
    found = []
    for sentence, closeness in zip(sentences, near, strict=True):
        verdict = classify(sentence.text, closeness)
        best = max(verdict.scores, key=verdict.scores.__getitem__)
        found.append(Outcome(sentence, best, verdict.category is not None))
    return found


def macro_accuracy(found: Sequence[Outcome]) -> float:
    """The mean over the categories of the share of sentences whose best category is right."""
    return sum(_recall(found, category) for category in TARGETS) / len(TARGETS)


def _recall(found: Sequence[Outcome], category: str) -> float:
    own = [one for one in found if one.sentence.category == category]
    return sum(one.best == category for one in own) / len(own) if own else 0.0


def _precision(found: Sequence[Outcome], category: str) -> float:
    given = [one for one in found if one.best == category]
    return sum(one.sentence.category == category for one in given) / len(given) if given else 0.0


def report(found: Sequence[Outcome]) -> dict[str, object]:
    """All numbers for one part and one way."""
    filed = [one for one in found if one.filed]
    right = sum(one.best == one.sentence.category for one in filed)
    return {
        "accuracy": round(macro_accuracy(found), 3),
        **{
            language: round(
                macro_accuracy([o for o in found if o.sentence.language == language]), 3
            )
            for language in dict.fromkeys(one.sentence.language for one in found)
        },
        "filed": round(len(filed) / len(found), 3),
        "right": round(right / len(filed), 3) if filed else 0.0,
        "categories": {category: _of_category(found, category) for category in TARGETS},
    }


def _of_category(found: Sequence[Outcome], category: str) -> dict[str, float]:
    precision, recall = _precision(found, category), _recall(found, category)
    both = precision + recall
    f1 = 2 * precision * recall / both if both else 0.0
    return {"precision": round(precision, 3), "recall": round(recall, 3), "f1": round(f1, 3)}


def _print(name: str, way: str, found: Sequence[Outcome]) -> None:
    numbers = report(found)
    shown = "  ".join(f"{key} {value}" for key, value in numbers.items() if key != "categories")
    print(f"{name}, {way}: {len(found)} sentences\n  macro {shown}")
    for category in TARGETS:
        of_category = _of_category(found, category)
        print(f"  {category:12}" + "".join(f"{k:>11} {v:.2f}" for k, v in of_category.items()))
    mistaken = Counter(
        (o.sentence.category, o.best) for o in found if o.best != o.sentence.category
    )
    often = ", ".join(f"{a} as {b} {n}" for (a, b), n in mistaken.most_common(5))
    print(f"  mistaken most: {often or 'none'}\n")


def main() -> None:
    """Measure every part both ways."""
    arguments = argparse.ArgumentParser(description="Measure the classification of memories.")
    arguments.add_argument("--json", action="store_true", help="print JSON")
    as_json = arguments.parse_args().json
    numbers: dict[str, object] = {}
    with tempfile.TemporaryDirectory() as models:
        embedder = Embedder(resolve_model("default", models))
        for name in PARTS:
            sentences = read_part(name)
            near = closenesses(embedder, [sentence.text for sentence in sentences])
            ways: dict[str, Closenesses] = {
                "signals": [None] * len(sentences),
                "signals and embeddings": near,
            }
            for way, given in ways.items():
                found = outcomes(sentences, given)
                numbers[f"{name}, {way}"] = report(found)
                if not as_json:
                    _print(name, way, found)
    if as_json:
        print(json.dumps(numbers, indent=2))


if __name__ == "__main__":
    main()
