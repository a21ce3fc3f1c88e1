"""Statements made one after another, as facts of a conversation or as plain memories: do their neighbours help to
find them?

python benchmarks/recall/beside.py [--split dev|test|all] [--form facts|memories]

The statements of beside.tsv stand among the notes of the sample vault, each a memory of its own, a minute apart; each
session on another day. Half of the questions have words of a neighbour, half those of the statement itself. Printed are
R@1, R@5, R@10 and nDCG of a search and of a recall, for both halves, and of the sample vault's own questions.
"""

import argparse
import os
import shutil
import sys
import tempfile
from pathlib import Path

import measure

from vaultmem import Vault
from vaultmem.search.query import Ask

HERE = Path(__file__).parent
SAMPLE = HERE.parents[1] / "sample-vault"
DEPTH = 10


def sets(vault: Path, split: str, form: str) -> dict[str, list[measure.Query]]:
    """Write the statements into the vault. Returns the questions by what they need."""
    found: dict[str, list[measure.Query]] = {"beside": [], "itself": []}
    rows = (HERE / "beside.tsv").read_text("utf-8").splitlines()[1:]
    folder = "knowledge" if form == "memories" else "conversations/talk/facts"
    scope = "global" if form == "memories" else "conversation:talk"
    (vault / "vaultmem" / folder).mkdir(parents=True, exist_ok=True)
    for number, row in enumerate(rows):
        half, statements, beside, itself = row.split("\t")
        paths = []
        for at, text in enumerate(statements.split(" | ")):
            path = f"vaultmem/{folder}/s{number:02}{at}.md"
            created = f"2026-{1 + number // 10:02}-{1 + number % 10:02}T10:{at:02}:00Z"
            head = f"---\nid: beside-{number}-{at}\ncreated_at: {created}\nscope: {scope}\nagent: claude\n---\n"
            (vault / path).write_text(f"{head}{text}\n", "utf-8")
            paths.append((path, text))
        if split not in ("all", half):
            continue
        answer = ANSWERS[number]
        for name, text, place in (("beside", beside, answer), ("itself", itself, 0)):
            label = (measure.Span(paths[place][0], grade=3),)
            found[name].append(measure.Query(f"{number}", text, "", half, label))
    found["sample"] = measure.read_queries(HERE / "sample.jsonl", None if split == "all" else split)
    return found


ANSWERS = (2, 1, 1, 2, 2, 1, 1, 2, 1, 1, 1, 2, 1, 1, 1, 1, 1, 2, 2, 1)  # the statement that answers


def main() -> None:
    """Print the measures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--split", choices=["dev", "test", "all"], default="dev")
    parser.add_argument("--form", choices=["facts", "memories"], default="memories")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        os.environ["VAULTMEM_STATE"] = f"{made}/state"
        folder = Path(made) / "vault"
        shutil.copytree(SAMPLE, folder)
        asked = sets(folder, chosen.split, chosen.form)
        vault = Vault(str(folder))
        vault.sync()
        vault.embed()
        for name, queries in asked.items():
            for how in ("search", "recall"):
                found = [measured(vault, query, how) for query in queries]
                means = [100 * sum(column) / len(found) for column in zip(*found, strict=True)]
                points = "".join(f"{mean:8.1f}" for mean in means)
                sys.stdout.write(f"{name:8} {how:8} ({len(queries)}){points}\n")


def measured(vault: Vault, query: measure.Query, how: str) -> list[float]:
    """One question's measures."""
    if how == "search":
        ask = Ask(query.text, DEPTH, True, "block", talks=True)
        hits = vault.searcher().search(ask, texts=False).results
        spans = [measure.Span(hit.path, hit.line, hit.end_line) for hit in hits]
    else:
        told = vault.recall(query.text, top_k=DEPTH, notes=True, untrusted=True,
                            scope=["global", "conversation:talk"])["memories"]  # fmt: skip
        spans = [measure.Span(one["path"], one["line"], one["end_line"]) for one in told]
    recalls = [measure.recall_at(cutoff, query.labels, spans) for cutoff in measure.CUTOFFS]
    return [*recalls, measure.ndcg_at(DEPTH, query.labels, spans)]


if __name__ == "__main__":
    main()
