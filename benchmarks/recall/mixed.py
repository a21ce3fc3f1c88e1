"""An English vault with some notes in Chinese and Japanese: does a search find those, and still the English ones?

python benchmarks/recall/mixed.py [--model default] [--other-scripts same] [--models FOLDER]

The passages of questions-cjk.tsv and of its held-out set are notes among those of the sample vault. Their questions are
asked in their own language and in English (questions-cjk-in-english.txt), and the sample vault's own ones as well, by
words and meaning. R@1, R@5, R@10 and nDCG.
"""

import argparse
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import measure

from vaultmem import Vault
from vaultmem.search.query import Ask
from vaultmem.text.scripts import is_other

HERE = Path(__file__).parent
SAMPLE = HERE.parents[1] / "sample-vault"
DEPTH = 10


def pairs() -> Iterator[tuple[str, str, str, str]]:
    """The set, a question, the same in English, and the passage that answers it."""
    english = iter((HERE / "questions-cjk-in-english.txt").read_text("utf-8").splitlines())
    for name in ("questions-cjk", "questions-cjk-held-out"):
        for line in (HERE / f"{name}.tsv").read_text("utf-8").splitlines():
            question, passage = line.split("\t")
            yield name, question, next(english), passage


def sets(vault: Path) -> dict[str, list[measure.Query]]:
    """Write the passages into the vault. Returns all questions by set."""
    found: dict[str, list[measure.Query]] = {}
    for one in measure.read_queries(HERE / "sample.jsonl", None):
        kind = "sample, other scripts" if is_other(one.text) else "sample"
        found.setdefault(kind, []).append(one)
    for number, (name, question, english, passage) in enumerate(pairs()):
        path = f"Notes/{number:03}.md"
        (vault / "Notes").mkdir(exist_ok=True)
        (vault / path).write_text(passage + "\n", "utf-8")
        label = (measure.Span(path, grade=3),)
        for text, end in ((question, ""), (english, ", in English")):
            one = measure.Query(f"{number}", text, "", "", label)
            found.setdefault(name + end, []).append(one)
    return found


def main() -> None:
    """Print a line for each set."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="default")
    parser.add_argument("--other-scripts", default="same")
    parser.add_argument("--models", type=Path, help="where prepared models are")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        state = Path(made) / "state"
        os.environ |= {"VAULTMEM_STATE": str(state), "VAULTMEM_EMBEDDING_MODEL": chosen.model,
                       "VAULTMEM_EMBEDDING_OTHER_SCRIPTS": chosen.other_scripts}  # fmt: skip
        if chosen.models:
            state.mkdir()
            (state / "models").symlink_to(chosen.models.resolve())
        folder = Path(made) / "vault"
        shutil.copytree(SAMPLE, folder)
        asked = sets(folder)
        vault = Vault(str(folder))
        vault.sync()
        if remark := vault.embed().remark:
            raise SystemExit(remark)
        for name, queries in asked.items():
            ranks = [found(vault, query) for query in queries]
            means = [100 * sum(column) / len(ranks) for column in zip(*ranks, strict=True)]
            points = "".join(f"{mean:8.1f}" for mean in means)
            sys.stdout.write(f"{name:40} ({len(queries)}){points}\n")


def found(vault: Vault, query: measure.Query) -> list[float]:
    """R@1, R@5, R@10 and nDCG."""
    hits = vault.searcher().search(Ask(query.text, DEPTH, True, "block"), texts=False).results
    spans = [measure.Span(hit.path, hit.line, hit.end_line) for hit in hits]
    recalls = [measure.recall_at(cutoff, query.labels, spans) for cutoff in measure.CUTOFFS]
    return [*recalls, measure.ndcg_at(DEPTH, query.labels, spans)]


if __name__ == "__main__":
    main()
