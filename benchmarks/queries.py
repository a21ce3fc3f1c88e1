"""Questions to a vault of make_vault.py, of every kind that takes its own way through the search.

Most words come out of the notes themselves, so that they find something; the same vault gives the
same questions everywhere.
"""

from __future__ import annotations

import random
import re
from pathlib import Path

from make_vault import zipf_words

PER_KIND = 12
_SENTENCE = re.compile(r"[A-Z][a-z]+(?: [a-z]+){5,}")
_WORD = re.compile(r"[A-Za-z][a-z]{3,14}")
_HAN = re.compile(r"[\u4e00-\u9fff]{8,}")


def make_queries(vault: Path, seed: int = 1) -> dict[str, list[str]]:
    """{kind: questions}, PER_KIND of each."""
    words, _ = zipf_words(random.Random(seed))
    rank = {word: place for place, word in enumerate(words)}
    sentences, han = _material(vault)
    kinds: dict[str, list[str]] = {}
    for number in range(PER_KIND):
        sentence = sentences[number % len(sentences)].lower().split()
        rare = max(sentence[1:], key=lambda word: rank.get(word, 0))
        usual = words[110 + 7 * number]
        tag = words[20 + number]
        chinese = han[number % len(han)]
        for kind, query in {
            "rare word": rare,
            "common words": f"{words[100 + number]} {usual}",
            "many stop words": f"how many of the {usual} were in the {rare} and what did they do with it",
            "phrase": f'"{" ".join(sentence[1:4])}"',
            "Chinese": chinese[2 : 4 + number % 5],
            "prefix": f"{rare[:4]}*",
            "misspelt": f"{rare[:2]}q{rare[3:]}",
            "excluded": f"{usual} -{words[130 + number]}",
            "filtered by tag": f"tag:{tag} {usual}",
            "filtered by path and day": f'path:"area 0{number % 10}" after:2024-06 {usual}',
            "with a date": f"{usual} in March 202{3 + number % 3}",
            "when": f"when did the {usual} {rare}",
        }.items():
            kinds.setdefault(kind, []).append(query)
    return kinds


def neighbours(vault: Path, count: int, seed: int = 1) -> list[str]:
    """This many questions of one to four words that are side by side in a note, no two the same."""
    rng, questions = random.Random(seed), dict[str, None]()
    notes = [_WORD.findall(note.read_text("utf-8")) for note in sorted(vault.rglob("*.md"))]
    while len(questions) < count:
        words = rng.choice(notes)
        start, many = rng.randrange(max(1, len(words) - 4)), rng.choice((1, 2, 2, 3, 3, 4))
        if question := " ".join(words[start : start + many]):
            questions[question] = None
    return [*questions]


def _material(vault: Path) -> tuple[list[str], list[str]]:
    """One English and one Chinese sentence from each of some notes across the vault."""
    notes = sorted(vault.rglob("*.md"))
    english, chinese = [], []
    for note in notes[:: max(1, len(notes) // (8 * PER_KIND))]:
        text = note.read_text(encoding="utf-8")
        english += _SENTENCE.findall(text)[1:2]
        chinese += _HAN.findall(text)[:1]
    return english, chinese or ["我们今天在家里工作"]
