"""Make a deterministic vault of memories: short and long, English and Chinese, filed and in the inbox, some twice.

    python benchmarks/make_memories.py FOLDER [--memories 10000] [--seed 1] [--prose]

One in twenty says nearly the same as an earlier one; one in eight links to another; one in four waits in the inbox,
one in three is Chinese. What they begin with are the labelled sentences that benchmarks/classify.py is measured on,
so that dreams have something to understand. With --prose each is a sentence that somebody has really written instead
(make_prose.py).
"""

from __future__ import annotations

import argparse
import os
import random
import uuid
from collections.abc import Iterable
from pathlib import Path

import make_prose
from make_vault import HAN, Writer

SENTENCES = Path(__file__).parents[1] / "tests" / "data" / "classification"
FOLDER = "vaultmem"
NAMES = """
    Anne Bruno Carla Dmitri Elena Farid Greta Hana Ivo Jonas Kaja Lin Mira Noor Otto Priya Quentin Rosa Sven Tomoko
""".split()
PLACES = ["Aurora", "Basalt", "Cinder", "Delta", "Ember", "Fjord", "Granite", "Harbor", "Iris"]
NEWEST, DAY = 1_795_000_000, 86_400  # seconds: the times in the files follow from it


class Memories:
    """Makes memories one after another from one stream of random numbers."""

    def __init__(self, count: int, seed: int, sentences: Iterable[str] = ()) -> None:
        self.rng = random.Random(seed)
        self.sentences = iter(sentences)
        self.prose = Writer(max(count, 1), seed)
        lines = (SENTENCES / "dev.tsv").read_text("utf-8").splitlines()
        self.labelled = [line.split("\t") for line in lines]
        self.told: list[tuple[str, str]] = []  # category and text

    def next(self) -> tuple[str, str]:
        """A category, and a text that nobody has written yet, or nearly so."""
        if sentence := next(self.sentences, ""):
            return self.rng.choice(self.labelled)[0], sentence
        if self.told and self.rng.random() < 0.05:
            category, text = self.rng.choice(self.told)
            text = f"{text} Really."
        else:
            language = "zh" if self.rng.random() < 0.33 else "en"
            category, _, sentence = self.rng.choice([x for x in self.labelled if x[1] == language])
            text = f"{self._own(language)} {sentence} {self._more(language)}".strip()
        self.told.append((category, text))
        return category, text

    def _own(self, language: str) -> str:
        """A text that nobody else has."""
        rng = self.rng
        who, what, number = rng.choice(NAMES), rng.choice(PLACES), rng.randrange(100_000)
        if language == "zh":
            return f"{who}说{what}的编号是{number}，{''.join(rng.choices(HAN, k=8))}。"
        return f"{who} said that {' '.join(self.prose.pick(3))} of {what} is number {number}."

    def _more(self, language: str) -> str:
        if self.rng.random() < 0.4:
            return ""
        if language == "zh":
            parts = ["".join(self.rng.choices(HAN, k=20)) + "。" for _ in range(3)]
            return "".join(parts)
        return "\n\n".join(self.prose.paragraph() for _ in range(self.rng.randint(1, 3)))

    def page(self, number: int, title: str, linked: str) -> tuple[str, str]:
        """A memory's path in the memory folder, and its file."""
        category, text = self.next()
        if linked and self.rng.random() < 0.12:
            text += f"\n\nSee [[{linked}]]."
        waits = self.rng.random() < 0.25 or category == "inbox"
        folder = "inbox" if waits else category
        at = NEWEST - self.rng.randrange((5 if waits else 25) * DAY)
        front = {
            "id": str(uuid.UUID(int=self.rng.getrandbits(128), version=4)),
            "phase": "inbox" if waits else "organized",
            "category": folder,
            "scope": "global" if number % 10 else f"agent:{number % 7}",
            "memory_type": "semantic",
            "importance": round(self.rng.random(), 2),
            "created_at": stamp(at),
            "updated_at": stamp(at),
        }
        lines = "".join(f"{key}: {value}\n" for key, value in front.items())
        return f"{folder}/{title}.md", f"---\n{lines}---\n\n{text}\n"


def stamp(at: int) -> str:
    """A time in the format of memory files."""
    from datetime import UTC, datetime

    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def texts(count: int, seed: int = 2) -> list[str]:
    """This many texts that assistants may want to write, none of them twice."""
    made = Memories(count, seed)
    found: dict[str, None] = {}
    while len(found) < count:
        found[made.next()[1]] = None
    return list(found)


def make_memories(folder: Path, count: int, seed: int = 1, sentences: Iterable[str] = ()) -> None:
    """Write `count` memories (about 600 bytes each) into a vault."""
    made = Memories(count, seed, sentences)
    titles = [f"{made.rng.choice(NAMES)} on {name}" for name in made.prose.names[:count]]
    (folder / ".obsidian").mkdir(parents=True, exist_ok=True)
    (folder / FOLDER).mkdir()
    for number, title in enumerate(titles):
        path, text = made.page(number, title, made.rng.choice(titles))
        full = folder / FOLDER / path
        full.parent.mkdir(exist_ok=True)
        full.write_text(text, encoding="utf-8")
        os.utime(full, (NEWEST - number, NEWEST - number))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--prose", action="store_true", help="sentences of real texts")
    args = parser.parse_args()
    own = make_prose.sentences(args.memories) if args.prose else ()
    make_memories(args.folder, args.memories, args.seed, own)


if __name__ == "__main__":
    main()
