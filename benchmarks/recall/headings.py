"""Make a labelled set from the headings of any vault: a heading asks for its note.

python benchmarks/recall/headings.py VAULT [--most 200] [--seed 7] > queries.jsonl

Left out are headings of one word, those that several notes have, and those that are in the name of their note.
"""

import argparse
import json
import random
import re
import sys
from collections import defaultdict
from pathlib import Path

import wikilinks

HEADING = re.compile(r"^[ \t]*(?:- )?#{1,6} +(.+?) *#*$", re.MULTILINE)
LEAST_WORDS = 2


def headings(vault: Path) -> dict[str, set[str]]:
    """The notes that have each heading, as a reader sees it."""
    found: dict[str, set[str]] = defaultdict(set)
    for path in wikilinks.note_paths(vault):
        text = wikilinks.prose((vault / path).read_text("utf-8", errors="replace"))
        for match in HEADING.finditer(text):
            seen = wikilinks.plain(match[1], "\0")
            if is_telling(seen) and seen.lower() not in path.lower():
                found[seen].add(path)
    return found


def is_telling(text: str) -> bool:
    """Whether it has enough words to be a question."""
    return len(wikilinks.WORD.findall(text)) >= LEAST_WORDS or len(wikilinks.CJK.findall(text)) >= 3


def records(vault: Path, most: int, seed: int) -> list[dict[str, object]]:
    """A sample as labelled queries, half dev and half test by note."""
    found = [
        (text, next(iter(paths)))
        for text, paths in sorted(headings(vault).items())
        if len(paths) == 1
    ]
    chosen = sorted(random.Random(seed).sample(found, most)) if len(found) > most else found
    notes = sorted({path for _, path in found})
    return [
        {"id": f"h{number:03}", "query": text, "kind": "heading", "split": ("dev", "test")[notes.index(path) % 2],
         "relevant": [{"path": path, "grade": 3}]}
        for number, (text, path) in enumerate(chosen)
    ]  # fmt: skip


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="Turn the headings of a vault into queries.")
    parser.add_argument("vault", type=Path)
    parser.add_argument("--most", type=int, default=200, help="at most this many (default 200)")
    parser.add_argument("--seed", type=int, default=7)
    chosen = parser.parse_args()
    for record in records(chosen.vault, chosen.most, chosen.seed):
        sys.stdout.write(json.dumps(record, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
