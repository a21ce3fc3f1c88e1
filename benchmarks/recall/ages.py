"""How much a memory's age should count: questions with an old answer, and questions with a new one.

python benchmarks/recall/ages.py [--split dev|test] [--policy stable|contextual]

The memories of ages.tsv, each as old as it says. Of each kind every other question is in the dev half. Prints by kind
the right answers in the first place, and the mean of one divided by its rank, for weights of recency and confidence.
With the policy `contextual` confidence sinks to nothing within 30 days.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path
from typing import NamedTuple

from vaultmem import Vault
from vaultmem import now as clock
from vaultmem.api.rpc import Reader, carry_out
from vaultmem.memories.store import MemoryStore
from vaultmem.pending.open_store import open_store
from vaultmem.recall import recall_candidate

WEIGHTS = (0.0, 0.1, 0.2, 0.3, 0.4)
SURE = (0.0, 0.1, 0.2, 0.3, 0.5, 1.0)


class Question(NamedTuple):
    """A question and the path of the memory that answers it."""

    kind: str
    text: str
    path: str


def write(folder: Path, policy: str) -> list[Question]:
    """Write the memories. Returns the questions."""
    lines = Path(__file__).with_name("ages.tsv").read_text("utf-8").splitlines()
    rows = [line.split("\t") for line in lines if not line.startswith("#")]
    today = datetime.fromtimestamp(clock.seconds(), UTC)
    questions = []
    for number, (kind, days, text, question) in enumerate(rows):
        day = (today - timedelta(days=int(days))).strftime("%Y-%m-%dT%H:%M:%SZ")
        own = f"id: m{number}\nmemory_type: semantic\ndecay_policy: {policy}\ncreated_at: {day}\n"
        path = folder / place(number)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"---\n{own}---\n{text}\n", "utf-8")
        if question:
            questions.append(Question(kind, question, place(number + (kind == "new"))))
    return questions


def place(number: int) -> str:
    """A memory's path."""
    return f"vaultmem/knowledge/m{number:03}.md"


def ranks(
    store: MemoryStore, reader: Reader, questions: list[Question], weight: float
) -> list[float]:
    """One divided by the rank of each answer."""
    results = []
    for question in questions:
        params = {"query": question.text, "untrusted": True, "recency_weight": weight}
        answer = carry_out(store, reader, "recall", params)
        assert isinstance(answer, dict)
        paths = [hit["path"] for hit in answer["memories"]]
        results.append(1 / (paths.index(question.path) + 1) if question.path in paths else 0.0)
    return results


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--split", choices=["dev", "test"], default="dev")
    parser.add_argument("--policy", choices=["stable", "contextual"], default="stable")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        os.environ["VAULTMEM_STATE"] = f"{made}/state"
        questions = write(Path(made, "vault"), options.policy)
        with Vault(f"{made}/vault") as vault:
            vault.sync()
            vault.embed()
            store, reader = open_store(vault.state, vault.config), Reader(vault)
            for sure, weight in product(SURE, WEIGHTS):
                recall_candidate.CONFIDENCE_WEIGHT = sure
                cells = []
                for kind in ("old", "new"):
                    of_kind = [question for question in questions if question.kind == kind]
                    half = of_kind[options.split == "test" :: 2]
                    found = ranks(store, reader, half, weight)
                    first, mean = found.count(1.0), 100 * sum(found) / len(half)
                    cells.append(f"{kind} {first} of {len(half)} first, MRR {mean:.1f}")
                print(f"recency {weight}, confidence {sure}: {'; '.join(cells)}")


if __name__ == "__main__":
    main()
