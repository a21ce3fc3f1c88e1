"""A vault of real prose: the documentation of the Debian and Python packages installed on this machine.

python benchmarks/make_prose.py FOLDER [--notes 10000] [--kilobytes 2.2]

Texts are read-me files, manuals, descriptions of packages, and what modules, classes and functions say of themselves;
each becomes notes of a few kilobytes with headings, front matter and code. A name of another note becomes a link where
it is first mentioned. What comes out depends on what is installed, and belongs to its authors: it is for measuring on
the spot, and no part of this repository.
"""

from __future__ import annotations

import argparse
import ast
import gzip
import random
import re
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

DEBIAN = Path("/usr/share/doc")
LEAST, LONGEST = 300, 200_000  # characters of a text
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{5,40}")
_BLANK_LINE = re.compile(r"\n\s*\n")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")
_SENTENCE = re.compile(r"[A-Z][A-Za-z ,;'()-]{48,220}\.")


def texts() -> Iterator[tuple[str, str]]:
    """Titles and texts, always in the same order."""
    places = [Path(sysconfig.get_path("purelib")), Path(sysconfig.get_path("stdlib"))]
    for place in places:
        for path in sorted(place.rglob("*")):
            if path.suffix in (".md", ".rst", ".txt") or path.name == "METADATA":
                yield path.parent.name.removesuffix(".dist-info") or path.stem, _read(path)
            elif path.suffix == ".py" and "test" not in path.parts:
                yield path.stem, _documented(_read(path))
    for path in sorted(DEBIAN.rglob("*")) if DEBIAN.is_dir() else []:
        if path.is_file() and path.name != "copyright":
            yield f"{path.parent.name} {path.name.partition('.')[0]}", _read(path)


def _read(path: Path) -> str:
    try:
        data = path.read_bytes()
        data = gzip.decompress(data) if path.suffix == ".gz" else data
    except OSError:
        return ""
    return "" if b"\0" in data else data.decode("utf-8", "replace")[:LONGEST]


def _documented(source: str) -> str:
    """The docstrings of a module and its parts, under headings."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return ""
    parts = [ast.get_docstring(tree) or ""]
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node)
            if text and len(text) > 80:
                parts.append(f"## {node.name}\n\n{text}")
    return "\n\n".join(part for part in parts if part)


def pieces(text: str, size: int) -> Iterator[str]:
    """The text cut between paragraphs."""
    part: list[str] = []
    for paragraph in _BLANK_LINE.split(text):
        part.append(paragraph)
        if sum(map(len, part)) >= size:
            yield "\n\n".join(part)
            part = []
    if sum(map(len, part)) >= LEAST:
        yield "\n\n".join(part)


def sentences(count: int, skip: int = 0) -> list[str]:
    """This many sentences of these texts after the first ones, each once, in a mixed order that is always the same."""
    found: dict[str, None] = {}
    for _, text in texts():
        for paragraph in _BLANK_LINE.split(text):
            for sentence in _SENTENCE_END.split(" ".join(paragraph.split())):
                if _SENTENCE.fullmatch(sentence):
                    found[sentence] = None
        if len(found) >= skip + count:
            break
    mixed = list(found)[skip : skip + count]
    random.Random(1).shuffle(mixed)
    return mixed


def linked(text: str, titles: dict[str, str], own: str, most: int = 4) -> str:
    """The text with links at the first mention of other notes' names."""
    seen: set[str] = {own.lower()}

    def link(match: re.Match[str]) -> str:
        title = titles.get(match[0].lower())
        if title is None or title.lower() in seen or len(seen) > most:
            return match[0]
        seen.add(title.lower())
        return f"[[{title}]]" if title == match[0] else f"[[{title}|{match[0]}]]"

    return _WORD.sub(link, text)


def make(folder: Path, count: int, size: int) -> int:
    """Write the vault. Returns its number of bytes."""
    notes: dict[str, str] = {}
    for title, text in texts():
        base = re.sub(r"[^\w .-]", " ", title).strip(" .") or "note"
        for number, part in enumerate(pieces(text, size)):
            name = base if not number else f"{base} {number + 1}"
            if name.lower() not in notes and len(notes) < count:
                notes[name.lower()] = f"{name}\n{part}"
        if len(notes) >= count:
            break
    titles = {
        name: text.partition("\n")[0] for name, text in notes.items() if _WORD.fullmatch(name)
    }
    (folder / ".obsidian").mkdir(parents=True, exist_ok=True)
    written = 0
    for number, text in enumerate(notes.values()):
        title, _, body = text.partition("\n")
        place = folder / f"Shelf {number % 40}" / f"{title}.md"
        place.parent.mkdir(exist_ok=True)
        head = f"---\ntags: [shelf/{number % 40}]\ncreated: 2026-{number % 12 + 1:02}-{number % 28 + 1:02}\n---\n"
        written += place.write_text(f"{head}# {title}\n\n{linked(body, titles, title)}\n", "utf-8")
    return written


def main() -> None:
    """Make it, and print its size."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--notes", type=int, default=10_000)
    parser.add_argument("--kilobytes", type=float, default=2.2)
    chosen = parser.parse_args()
    size = make(chosen.folder, chosen.notes, int(1000 * chosen.kilobytes))
    made = sum(1 for _ in chosen.folder.rglob("*.md"))
    print(f"{made:,} notes, {size / 1e6:.1f} MB in {chosen.folder}", file=sys.stderr)


if __name__ == "__main__":
    main()
