"""Generate saved conversations with an AI assistant, a small vault in several scripts, and their questions.

    python benchmarks/recall/assistant_chats.py OUTDIR [--seed 7]

writes OUTDIR/assistant/ and OUTDIR/scripts/, each with a vault and queries.jsonl in the shape that measure.py reads.
In the conversations a person says one thing about themselves in passing; the answers are long, full of bold leads
(`- **Rating:** 4`, `**Task 2:**`), and talk about the same subject. Half of the subjects are dev, half test. The words
are in assistant_material.json. The same seed gives the same bytes.
"""

import argparse
import json
import random
from pathlib import Path
from typing import TypedDict

MATERIAL = Path(__file__).with_name("assistant_material.json")
ROUNDS = (4, 7)
LEADS = ("Pros", "Cons", "Tip", "Rating", "Cost")


class Topic(TypedDict):
    """A conversation's topic: the request, the fact told in passing, and the later questions, in the words of the
    fact (`near`) and in others (`far`)."""

    title: str
    ask: str
    fact: str
    near: str
    far: str
    words: list[str]


class Page(TypedDict):
    """A note in another script; an ask is [question, line, kind]."""

    path: str
    lines: list[str]
    asks: list[tuple[str, int, str]]


class Material(TypedDict):
    """All words of the generator."""

    topics: list[Topic]
    followups: list[str]
    openings: list[str]
    closings: list[str]
    items: list[str]
    cjk: list[Page]


class Writer:
    """Writes the conversations of one seed."""

    def __init__(self, material: Material, seed: int) -> None:
        self.material = material
        self.random = random.Random(seed)

    def answer(self, topic: Topic) -> list[str]:
        """The paragraphs of an assistant's answer; the first has its name."""
        words = self.random.sample(topic["words"], 5)
        style = self.random.choice([self._rated, self._tasks, self._plain])
        opening = self.random.choice(self.material["openings"])
        return [
            f"**Assistant:** {opening}",
            *style(words),
            self.random.choice(self.material["closings"]),
        ]

    def _item(self, word: str, other: str) -> str:
        return self.random.choice(self.material["items"]).format(w=word, v=other)

    def _rated(self, words: list[str]) -> list[str]:
        paragraphs = []
        for number, word in enumerate(words, 1):
            lines = [f"### {number}. {word.capitalize()}"]
            for lead in LEADS:
                said = (
                    str(self.random.randint(1, 5))
                    if lead == "Rating"
                    else self._item(word, words[0])
                )
                lines.append(f"- **{lead}:** {said}")
            paragraphs.append("\n".join(lines))
        return paragraphs

    def _tasks(self, words: list[str]) -> list[str]:
        return [
            f"**Task {number}:** {self._item(word, words[0])} {self._item(words[-1], word)}"
            for number, word in enumerate(words, 1)
        ]

    def _plain(self, words: list[str]) -> list[str]:
        return [
            "\n".join(
                f"{number}. **{word.capitalize()}**: {self._item(word, words[0])}"
                for number, word in enumerate(words, 1)
            )
        ]

    def conversation(self, topic: Topic) -> tuple[list[str], int]:
        """The paragraphs of a conversation, and which of them has the fact."""
        rounds = self.random.randint(*ROUNDS)
        told = self.random.choice((0, 0, 1, 2))
        paragraphs: list[str] = []
        at = 0
        for number in range(rounds):
            said = self.random.choice(self.material["followups"]) if number else topic["ask"]
            if number == told:
                at = len(paragraphs)
                said = f"{topic['fact']} {said}" if number else f"{said} {topic['fact']}"
            paragraphs += [f"**You:** {said}", *self.answer(topic)]
        return paragraphs, at


def query(text: str, kind: str, path: str, line: int, half: int) -> dict[str, object]:
    """A labelled query; its answer is one line."""
    label = {"path": path, "line": line, "end_line": line, "grade": 3}
    return {"query": text, "kind": kind, "split": ("dev", "test")[half % 2], "relevant": [label]}


def write(folder: Path, notes: dict[str, str], queries: list[dict[str, object]]) -> None:
    """Write a vault with its questions."""
    for path, text in notes.items():
        note = folder / "vault" / path
        note.parent.mkdir(parents=True, exist_ok=True)
        note.write_text(text, "utf-8")
    rows = "".join(json.dumps({"id": f"q{number:03}", **one}, ensure_ascii=False) + "\n"
                   for number, one in enumerate(queries))  # fmt: skip
    (folder / "queries.jsonl").write_text(rows, "utf-8")


def conversations(folder: Path, material: Material, seed: int) -> None:
    """The saved conversations."""
    writer, notes, queries = Writer(material, seed), dict[str, str](), list[dict[str, object]]()
    for number, topic in enumerate(material["topics"]):
        paragraphs, told = writer.conversation(topic)
        path = f"Chats/2025-{number % 12 + 1:02}-{number % 27 + 1:02} {topic['title']}.md"
        notes[path] = "\n\n".join(paragraphs) + "\n"
        line = sum(paragraph.count("\n") + 2 for paragraph in paragraphs[:told]) + 1
        for kind, text in (("near", topic["near"]), ("far", topic["far"])):
            queries.append(query(text, kind, path, line, number))
    write(folder, notes, queries)


def scripts(folder: Path, material: Material) -> None:
    """The notes in several scripts."""
    notes, queries = dict[str, str](), list[dict[str, object]]()
    for number, page in enumerate(material["cjk"]):
        notes[page["path"]] = "\n\n".join(page["lines"]) + "\n"
        for text, nth, kind in page["asks"]:
            line = 2 * nth - 1
            queries.append(query(text, kind, page["path"], line, number))
    write(folder, notes, queries)


def generate(folder: Path, seed: int = 7) -> None:
    """Write both vaults below a folder."""
    material: Material = json.loads(MATERIAL.read_text("utf-8"))
    conversations(folder / "assistant", material, seed)
    scripts(folder / "scripts", material)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="Generate saved chats with an assistant.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=7)
    chosen = parser.parse_args()
    generate(chosen.folder, chosen.seed)


if __name__ == "__main__":
    main()
