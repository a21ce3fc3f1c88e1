"""Talks as vaultmem stores them itself: each line a turn of a conversation, with the same questions.

python benchmarks/recall/turns.py [--split dev|test|all] [--bare] [--folder FOLDER]

The talks by hand and the chats of chats.py are written through the verb `converse`, each pair of friends as one
conversation: the first of them is the user, the other one the assistant. With `--bare` turns do not begin with a name.
Search and recall are asked, and the same talks as notes beside them. First it says how many questions keep a turn that
answers them when a conversation has no room for all turns.
"""

import argparse
import os
import re
import sys
import tempfile
from datetime import datetime
from pathlib import Path

import chats
import measure

from vaultmem import Vault
from vaultmem.memories.conversation import USER, Entry, name_of, place_of, scope_of, to_evict
from vaultmem.search.query import Ask

HERE = Path(__file__).parent
DEPTH = 10
LINE = re.compile(r"\*\*(?P<name>[^*:]+):\*\* (?P<text>.+?)(?: \^\w+)?$")
Place = tuple[str, int]


def stored(source: Path, target: Path, *, bare: bool) -> dict[Place, str]:
    """Write the talks below `source` as conversations of the vault `target`. Returns the new place of each line."""
    places: dict[Place, str] = {}
    target.mkdir(parents=True, exist_ok=True)
    vault = Vault(str(target))
    for folder in sorted({note.parent for note in source.rglob("*.md")}):
        conversation = re.sub(r"[^a-z]+", "-", folder.name.lower())
        speakers: list[str] = []
        for note in sorted(folder.glob("*.md")):
            records = []
            for number, line in enumerate(note.read_text("utf-8").split("\n"), 1):
                if not (match := LINE.match(line)):
                    continue
                name = match["name"]
                speakers += [] if name in speakers else [name]
                role = "assistant" if speakers.index(name) % 2 else "user"
                minute = f"{9 + number // 60:02}:{number % 60:02}"
                created = f"{note.stem[:10]}T{minute}:00Z"
                own = f"t{len(places):05}"
                text = match["text"] if bare else f"{name}: {match['text']}"
                records.append({"id": own, "role": role, "content": text, "created_at": created})
                inner = place_of(conversation, role, name_of(created, own))
                places[note.relative_to(source).as_posix(), number] = f"vaultmem/{inner}"
            skipped = vault.converse(conversation, new=records)["skipped"]
            if skipped:
                raise SystemExit(f"not written: {skipped[0]}")
    vault.close()
    return places


def moved(query: measure.Query, places: dict[Place, str]) -> measure.Query:
    """The labels of a query as turns."""
    labels = tuple(
        measure.Span(places[label.path, line], grade=label.grade)
        for label in query.labels
        for line in range(label.line, min(label.end_line, label.line + 40) + 1)
        if (label.path, line) in places
    )
    return query._replace(labels=labels)


def searched(vault: Vault, query: str) -> list[measure.Span]:
    """The results of a search by words and meaning."""
    hits = vault.searcher().search(Ask(query, DEPTH, True, "block", talks=True), texts=False)
    return [measure.Span(hit.path, hit.line, hit.end_line) for hit in hits.results]


def recalled(vault: Vault, query: str, scopes: list[str]) -> list[measure.Span]:
    """The results of a recall of ten."""
    found = vault.recall(query, scope=scopes, top_k=DEPTH, notes=not scopes, untrusted=True)
    return [measure.Span(one["path"], one["line"], one["end_line"]) for one in found["memories"]]


def left(source: Path, queries: list[measure.Query], share: float) -> float:
    """The share of questions that still have an answering turn if the talks are one conversation with room for a
    share."""
    entries: dict[Place, Entry] = {}
    for note in sorted(source.rglob("*.md")):
        day = datetime.fromisoformat(f"{note.stem[:10]}T12:00:00+00:00").timestamp()
        for number, line in enumerate(note.read_text("utf-8").split("\n"), 1):
            if match := LINE.match(line):
                place = note.relative_to(source).as_posix(), number
                at = day + number
                own = f"{place[0]}:{number}"
                entries[place] = Entry(own, own, "one", USER, match["text"], at, at, {})
    gone = {one.id for one in to_evict(entries.values(), round(share * len(entries)))}
    golds = [
        [
            place
            for label in query.labels
            for line in range(label.line, min(label.end_line, label.line + 40) + 1)
            if label.grade == 3 and (place := (label.path, line)) in entries
        ]
        for query in queries
    ]
    known = [[f"{path}:{line}" for path, line in gold] for gold in golds if gold]
    return sum(any(one not in gone for one in each) for each in known) / len(known)


def rows(source: Path, queries: list[measure.Query], target: Path, bare: bool) -> None:
    """Print the measures of one set, as notes and as turns."""
    places = stored(source, target, bare=bare)
    turns = [one for one in (moved(query, places) for query in queries) if one.labels]
    kept = {turn.id for turn in turns}
    notes = [query for query in queries if query.id in kept]
    scopes = sorted({scope_of(path.split("/")[2]) for path in places.values()})
    for name, folder, asked, looked in (
        ("notes", source, notes, []),
        ("turns", target, turns, scopes),
    ):
        vault = Vault(str(folder))
        vault.sync()
        vault.embed()
        for how in ("search", "recall"):
            found = [
                measure.scores(
                    query.labels,
                    searched(vault, query.text)
                    if how == "search"
                    else recalled(vault, query.text, looked),
                )
                for query in asked
            ]
            means = measure.mean(found)
            points = "".join(
                f"{100 * means[name]:8.1f}" for name in ("recall@5", "recall@10", "ndcg@10")
            )
            sys.stdout.write(
                f"{source.parent.name}/{source.name:10} {name}, {how:8} ({len(asked)}){points}\n"
            )
        vault.close()


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="Measure talks that are kept as turns.")
    parser.add_argument("--split", choices=["dev", "test", "all"], default="all")
    parser.add_argument("--bare", action="store_true", help="turns do not begin with a name")
    chosen = parser.parse_args()
    split = None if chosen.split == "all" else chosen.split
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        os.environ["VAULTMEM_STATE"] = f"{folder}/state"
        chats.generate(folder / "chats")
        for name, source, file in (
            ("talks", HERE / "talks", HERE / "talks.jsonl"),
            ("chats", folder / "chats/vault", folder / "chats/queries.jsonl"),
        ):
            queries = measure.read_queries(file, split)
            for share in (0.75, 0.5, 0.35):
                found = left(source, queries, share)
                sys.stdout.write(f"{name}: room for {share:.0%} of the turns, {found:.0%} left\n")
            rows(source, queries, folder / name / "turns", chosen.bare)


if __name__ == "__main__":
    main()
