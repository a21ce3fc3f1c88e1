"""Make a labelled set from the links of any vault: the words around a wikilink ask for its target.

    python benchmarks/recall/wikilinks.py VAULT [--most 300] [--seed 7] > queries.jsonl

The query is the sentence that holds the link, or its whole paragraph when the sentence is short,
without link markup and without the name of the target; the answer is the target note, the note it
was cut from stands in "from". Left out are links in front matter, in Logseq properties and in code,
links to the same note, to no note, or by a name that several notes bear. The reading is a light one
of its own, so that a fault of the product cannot hide in the measure.
"""

import argparse
import json
import random
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

FRONT_MATTER = re.compile(r"\A---[ \t]*\n.*?^---[ \t]*$\n?", re.DOTALL | re.MULTILINE)
FENCE = re.compile(r"^[ \t>]*(`{3,}|~{3,}).*?(?:^[ \t>]*\1|\Z)", re.DOTALL | re.MULTILINE)
INLINE_CODE = re.compile(r"`[^`\n]*`")
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
PROPERTY = re.compile(r"^[ \t]*(?:- )?[\w./-]+:: .*$", re.MULTILINE)
LINK = re.compile(r"!?\[\[([^\[\]|#\n]*)(#[^\[\]|\n]*)?(?:\|([^\[\]\n]*))?\]\]")
MARKDOWN_LINK = re.compile(r"!?\[([^\]\n]*)\]\([^)\n]*\)")
SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])")
MARKS = re.compile(r"[ \t]\^[A-Za-z0-9-]+$|[*_=|`>]+|^[ \t]*(?:[-+]|\d+[.)])[ \t]+(?:\[.\] )?|^#+ ")
CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
WORD = re.compile(r"[^\W\d_]{2,}")
LEAST_WORDS = 5
LEAST_CJK = 8
LONGEST_QUERY = 400


class Cut(NamedTuple):
    """A query cut out of a note, and the note that its link leads to."""

    source: str
    target: str
    text: str


class Notes:
    """A vault's notes by the names that a link may use."""

    def __init__(self, paths: list[str]) -> None:
        self.by_path = {path.removesuffix(".md").lower(): path for path in paths}
        self.by_name: dict[str, list[str]] = defaultdict(list)
        for path in paths:
            self.by_name[path.rsplit("/", 1)[-1].removesuffix(".md").lower()].append(path)

    def target(self, written: str) -> str | None:
        """The one note that is meant; None if there is none or several have the name."""
        key = written.strip().strip("/").lower().removesuffix(".md")
        for spelling in (key, key.replace("/", "___")):
            if spelling in self.by_path:
                return self.by_path[spelling]
            found = self.by_name.get(spelling.rsplit("/", 1)[-1], [])
            fitting = [path for path in found if f"/{path.lower()}".endswith(f"/{spelling}.md")]
            if len(fitting) == 1:
                return fitting[0]
        return None


def note_paths(vault: Path) -> list[str]:
    """All Markdown files outside dot folders, sorted."""
    paths = (path.relative_to(vault) for path in vault.rglob("*.md") if path.is_file())
    return sorted(
        path.as_posix() for path in paths if not any(part.startswith(".") for part in path.parts)
    )


def prose(text: str) -> str:
    """The note without the places where a link does not count or belongs to a property."""
    for pattern in (FRONT_MATTER, FENCE, COMMENT, INLINE_CODE, PROPERTY):
        text = pattern.sub("", text)
    return text


def sentence_around(paragraph: str, start: int, end: int) -> tuple[int, int]:
    """The bounds of the sentence that holds paragraph[start:end]."""
    ends = [found.start() for found in SENTENCE_END.finditer(paragraph)]
    first = max((stop for stop in ends if stop <= start), default=0)
    last = min((stop for stop in ends if stop >= end), default=len(paragraph))
    return first, last


def shown(link: re.Match[str]) -> str:
    """What a reader sees of a link."""
    return (link[3] or link[1] or "").strip()


def names_of(target: str) -> list[str]:
    """The name of a note and, for a page in a Logseq namespace, the last part of it."""
    name = target.rsplit("/", 1)[-1].removesuffix(".md")
    return [name, name.rsplit("___", 1)[-1]]


def plain(text: str, target: str) -> str:
    """The words that a reader sees, without list marks, emphasis and the target's name."""
    text = MARKDOWN_LINK.sub(r"\1", LINK.sub(shown, text))
    text = MARKS.sub(" ", text)
    for name in names_of(target):
        text = re.sub(re.escape(name), " ", text, flags=re.IGNORECASE)
    return " ".join(text.split())


def long_enough(text: str) -> bool:
    """Whether enough words are left for a query."""
    return len(WORD.findall(text)) >= LEAST_WORDS or len(CJK.findall(text)) >= LEAST_CJK


def query_of(paragraph: str, link: re.Match[str], target: str) -> str | None:
    """The query for one link, from its sentence or else its paragraph."""
    sentence = sentence_around(paragraph, link.start(), link.end())
    for first, last in (sentence, (0, len(paragraph))):
        before, after = paragraph[first : link.start()], paragraph[link.end() : last]
        text = plain(f"{before}{link[3] or ''}{after}", target)
        if long_enough(text):
            return text[:LONGEST_QUERY]
    return None


def cuts(vault: Path) -> Iterator[Cut]:
    """Every usable link of the vault, one query for each sentence and target."""
    paths = note_paths(vault)
    notes = Notes(paths)
    seen = set()
    for source in paths:
        text = prose((vault / source).read_text(encoding="utf-8", errors="replace"))
        for paragraph in text.splitlines():
            for link in LINK.finditer(paragraph):
                target = notes.target(link[1]) if link[1].strip() else None
                if target is None or target == source:
                    continue
                query = query_of(paragraph, link, target)
                if query and (query, target) not in seen:
                    seen.add((query, target))
                    yield Cut(source, target, query)


def records(vault: Path, most: int, seed: int) -> list[dict[str, object]]:
    """A sample of the links as labelled queries, half dev and half test by target note."""
    found = list(cuts(vault))
    chosen = random.Random(seed).sample(found, most) if len(found) > most else found
    targets = sorted({cut.target for cut in found})
    return [
        {
            "id": f"w{number:03d}",
            "query": cut.text,
            "kind": "wikilink",
            "split": ("dev", "test")[targets.index(cut.target) % 2],
            "from": cut.source,
            "relevant": [{"path": cut.target, "grade": 3}],
        }
        for number, cut in enumerate(sorted(chosen), 1)
    ]


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="Turn the wikilinks of a vault into queries.")
    parser.add_argument("vault", type=Path)
    parser.add_argument("--most", type=int, default=300, help="at most this many (default 300)")
    parser.add_argument("--seed", type=int, default=7)
    chosen = parser.parse_args()
    if not chosen.vault.is_dir():
        raise SystemExit(f"{chosen.vault} is not a folder")
    for record in records(chosen.vault, chosen.most, chosen.seed):
        sys.stdout.write(json.dumps(record, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
