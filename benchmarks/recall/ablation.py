"""What each step of the ranking is worth: the measures without that step.

python benchmarks/recall/ablation.py [VAULT ...] [--split dev|test|all] [--mode keyword|hybrid]

Sets: the sample vault and the talks by hand, the chats of chats.py, the wikilinks of the sample vault and of every
VAULT named. A step is taken away by setting its weight to nothing or to what it was before; everything
happens at search time, so one index serves all rows. The indexes are made in a temporary folder.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import NamedTuple

import chats
import measure
import wikilinks

from vaultmem import Vault
from vaultmem.index import ASKS
from vaultmem.search import rank

HERE = Path(__file__).parent
SAMPLE = HERE.parents[1] / "sample-vault"
MODES = ("keyword", "hybrid")
PRESENCE = rank.PRESENCE_WEIGHTS
FIELDS = rank.FIELD_WEIGHTS
PHRASES = rank.PHRASE_WEIGHTS
POINTS = {name: getattr(rank, name) for name in ("LOOKUP_POINTS", "SIZE_POINTS")}


class Set(NamedTuple):
    """A labelled set, its vault, and the level that its labels allow."""

    name: str
    vault: Path
    queries: list[measure.Query]
    level: str


class Step(NamedTuple):
    """A row of the table: the ranking's settings that differ from the full formula."""

    name: str
    changes: Mapping[str, object]
    modes: Sequence[str] = MODES


def without(weights: Mapping[str, float], *fields: str) -> dict[str, float]:
    """The weights, with these fields zero."""
    return {name: 0.0 if name in fields else weight for name, weight in weights.items()}


def plain_bm25() -> dict[str, object]:
    """BM25 in every field, without presence."""
    return {
        "FIELD_WEIGHTS": {**FIELDS, "body": 1.75, "near": 0.8, "label": 2.0},
        "PRESENCE_WEIGHTS": {},
        "FREQUENT": 1.0,
    }


HEADINGS = ("title", "heading", "tag", "path")
STEPS = (
    Step("the full formula", {}),
    Step(
        "without neighbour text",
        {"PRESENCE_WEIGHTS": without(PRESENCE, "near"), "PHRASE_WEIGHTS": without(PHRASES, "near")},
    ),
    Step(
        "without labels",
        {
            "PRESENCE_WEIGHTS": without(PRESENCE, "label"),
            "PHRASE_WEIGHTS": without(PHRASES, "label"),
        },
    ),
    Step("plain BM25, no presence", plain_bm25()),
    Step("presence alone in texts", {"FIELD_WEIGHTS": without(FIELDS, "body")}),
    Step("stop words like others", {"STOP_WEIGHT": 1.0}),
    Step("without stop words", {"STOP_WEIGHT": 0.0}),
    Step(
        "without title, heading, tag, path",
        {
            "FIELD_WEIGHTS": without(FIELDS, *HEADINGS),
            "PHRASE_WEIGHTS": without(PHRASES, *HEADINGS),
        },
    ),
    Step("without words side by side", {"ADJACENT_WEIGHT": 0.0}),
    Step("heading weight 2", {"FIELD_WEIGHTS": {**FIELDS, "heading": 2.0}}),
    Step("without CJK characters alone", {"CHARACTER_WEIGHT": 0.0}),
    Step("without days", {"DATE_WEIGHTS": (0.0, 0.0), "NAMED_WEIGHT": 0.0, "WHEN_WEIGHT": 0.0}),
    Step("without cosine of neighbours", {"JOINED_WEIGHT": 0.0}, ("hybrid",)),
    Step("without length", {name: [0.0] * len(rank.SIZE_POINTS) for name in POINTS}),
    Step(
        "questions like others",
        {
            name: [points[size & ~ASKS] for size in range(len(points))]
            for name, points in POINTS.items()
        },
    ),
    Step("long notes like others", {"SIZE_POINTS": rank.LOOKUP_POINTS}),
    Step("without cosine of the note", {"WHOLE_WEIGHT": 0.0}, ("hybrid",)),
    Step("cosine of the block halved", {"COSINE_WEIGHT": rank.COSINE_WEIGHT / 2}, ("hybrid",)),
)


@contextmanager
def changed(changes: Mapping[str, object]) -> Iterator[None]:
    """The ranking with other settings during the block."""
    before = {name: getattr(rank, name) for name in changes}
    for name, setting in changes.items():
        setattr(rank, name, setting)
    try:
        yield
    finally:
        for name, setting in before.items():
            setattr(rank, name, setting)


def answers(vault: Vault, queries: Sequence[measure.Query], mode: str) -> measure.Answers:
    """The first results of every query, without those of its own note."""
    found = {}
    for query in queries:
        spare = measure.DEPTH if query.source else 0
        results = vault.search(
            query.text, limit=measure.DEPTH + spare, semantic=mode == "hybrid", group="block"
        )
        found[query.id] = [measure.Span(r.path, r.line, r.end_line) for r in results]
    return found


def row(vault: Vault, chosen: Set, step: Step, mode: str) -> measure.Scores:
    """The measures of one set without one step."""
    with changed(step.changes):
        found = answers(vault, chosen.queries, mode)
    return measure.report(chosen.queries, found)[chosen.level]["all"]


def halves(queries: list[measure.Query], split: str) -> list[measure.Query]:
    """The requested half."""
    return [query for query in queries if split in ("all", query.split)]


def wikilink_set(vault: Path, split: str) -> Set:
    """A vault's links as queries; their labels are whole notes."""
    records = wikilinks.records(vault, 300, 7)
    queries = [measure.query_of(record) for record in records]
    return Set(f"wikilinks of {vault.name}", vault, halves(queries, split), "note")


def sets(folder: Path, vaults: Sequence[Path], split: str) -> list[Set]:
    """All sets to measure; chats are written below `folder`."""
    chats.generate(folder)
    by_hand = measure.read_queries(HERE / "sample.jsonl", None)
    talked = measure.read_queries(HERE / "talks.jsonl", None)
    invented = measure.read_queries(folder / "queries.jsonl", None)
    return [
        Set("sample", SAMPLE, halves(by_hand, split), "block"),
        Set("talks", HERE / "talks", halves(talked, split), "block"),
        Set("chats", folder / "vault", halves(invented, split), "block"),
        *(wikilink_set(vault, split) for vault in (SAMPLE, *vaults)),
    ]


def indexed(folder: Path, modes: Sequence[str]) -> Vault:
    """The vault, synced, and embedded if meaning is measured; a question is embedded only once."""
    vault = Vault(str(folder))
    vault.sync()
    if "hybrid" in modes:
        remark = vault.embed().remark
        if remark:
            raise SystemExit(remark)
        embedder = vault.searcher().meaning().embedder
        embedder.query = cache(embedder.query)  # type: ignore[method-assign] # this process only
    return vault


def print_set(chosen: Set, modes: Sequence[str]) -> None:
    """The table of one set, in points of 100."""
    vault = indexed(chosen.vault, modes)
    heading = "".join(f"{name:>11}" for name in measure.MEASURES)
    for mode in modes:
        title = f"{chosen.name}, {mode}, {len(chosen.queries)} queries"
        sys.stdout.write(f"\n{title:44}{heading}\n")
        for step in STEPS:
            if mode in step.modes:
                values = row(vault, chosen, step, mode).values()
                points = "".join(f"{100 * points:>11.1f}" for points in values)
                sys.stdout.write(f"{step.name:44}{points}\n")
    vault.close()


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="Measure the ranking with each step taken away.")
    parser.add_argument("vaults", type=Path, nargs="*")
    parser.add_argument("--split", choices=["dev", "test", "all"], default="test")
    parser.add_argument("--mode", choices=MODES, help="only this one")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["VAULTMEM_STATE"] = f"{folder}/state"
        for chosen in sets(Path(folder, "chats"), asked.vaults, asked.split):
            if chosen.queries:
                print_set(chosen, [asked.mode] if asked.mode else MODES)


if __name__ == "__main__":
    main()
