"""Does a model find, by meaning alone, the passage that answers a question in Chinese or Japanese?

    python benchmarks/languages.py [--model default] [--models FOLDER] [--among FOLDER_OF_NOTES]

The questions of recall/questions-cjk.tsv, and of a set held out, share almost no word with their passages; each is
compared with all passages of the file and with the paragraphs of the notes of a folder, if one is given. Also printed:
mean and deviation of the cosines of pairs that do not belong together, by which models are made comparable, and the
time a text takes.
"""

from __future__ import annotations

import argparse
import resource
from pathlib import Path

import numpy as np

from vaultmem.embedding.embed import Embedder
from vaultmem.embedding.models import resolve_model

HERE = Path(__file__).parent
LONGEST = 600  # characters of a paragraph


def pairs_in(name: str) -> list[tuple[str, str]]:
    """Questions and their passages."""
    lines = (HERE / name).read_text("utf-8").splitlines()
    parts = [line.split("\t") for line in lines if line and not line.startswith("#")]
    return [(part[-2], part[-1]) for part in parts if part[0] != "other"]


def paragraphs(folder: Path) -> list[str]:
    """The paragraphs of all notes."""
    texts = (path.read_text("utf-8", "replace") for path in sorted(folder.rglob("*.md")))
    found = (part.strip() for text in texts for part in text.split("\n\n"))
    return list(dict.fromkeys(part[:LONGEST] for part in found if len(part) > 30))


def measure(embedder: Embedder, pairs: list[tuple[str, str]], among: list[str]) -> str:
    """One row of the table."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_utime
    passages = embedder.embed([*(passage for _, passage in pairs), *among])
    spent = (resource.getrusage(resource.RUSAGE_SELF).ru_utime - before) / len(passages)
    cosines = np.array([embedder.query(question) for question, _ in pairs]) @ passages.T
    ranks = (cosines > np.diag(cosines)[:, None]).sum(axis=1)
    own = cosines[:, : len(pairs)]
    others = own[~np.eye(len(pairs), dtype=bool)]
    right = [f"{(ranks < most).mean():.2f}" for most in (1, 5)]
    return (
        f"{len(pairs)} questions among {len(passages)}: R@1 {right[0]}, R@5 {right[1]}; pairs that do not belong "
        f"together: mean {others.mean():.3f}, deviation {others.std():.3f}; that do: {np.diag(own).mean():.3f}; "
        f"{1e3 * spent:.1f} ms a text"
    )


def main() -> None:
    """Print a line for each set."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="default")
    parser.add_argument("--models", required=True, help="where prepared models are")
    parser.add_argument("--among", type=Path, help="a folder of notes to find the passages among")
    options = parser.parse_args()
    embedder = Embedder(resolve_model(options.model, options.models))
    embedder.query("made ready")
    among = paragraphs(options.among) if options.among else []
    for name in (
        "recall/questions-cjk.tsv",
        "recall/questions-cjk-held-out.tsv",
        "recall/questions-cjk-fresh.tsv",
        "pairs/paraphrases-chinese.tsv",
        "pairs/paraphrases-english.tsv",
    ):
        print(f"{name}: {measure(embedder, pairs_in(name), among)}")


if __name__ == "__main__":
    main()
