"""The generators of labelled sets: chats with planted facts, queries from wikilinks, moved anchors."""

import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from benchmarks.recall.chats import generate
from benchmarks.recall.relabel import main as relabel
from benchmarks.recall.wikilinks import cuts

ROOT = Path(__file__).parents[1]
RECALL = ROOT / "benchmarks" / "recall"


@pytest.fixture(scope="module")
def chats(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("chats")
    command = [sys.executable, str(RECALL / "chats.py"), str(out)]
    subprocess.run(command, check=True, capture_output=True)
    return out


def rows(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def tree(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def write(folder: Path, notes: dict[str, str]) -> Path:
    for name, text in notes.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def test_chats_are_the_same_for_the_same_seed_only(chats: Path, tmp_path: Path) -> None:
    generate(tmp_path / "again", 7)
    generate(tmp_path / "other", 8)
    assert tree(tmp_path / "again") == tree(chats)
    assert tree(tmp_path / "other") != tree(chats)


def test_chat_labels_point_at_a_turn_of_the_person_asked_about(chats: Path) -> None:
    queries = rows(chats / "queries.jsonl")
    assert len(queries) >= 200
    kinds = Counter(query["kind"] for query in queries)
    assert set(kinds) == {"single", "when", "multi", "name"}
    assert min(kinds.values()) >= 30
    for query in queries:
        labels = query["relevant"]
        assert isinstance(labels, list)
        assert len(labels) >= (2 if query["kind"] == "multi" else 1)
        spoken = [
            (chats / "vault" / label["path"])
            .read_text(encoding="utf-8")
            .splitlines()[label["line"] - 1]
            for label in labels
        ]
        tellers = {re.match(r"\*\*(\w+):\*\* ", line)[1] for line in spoken}  # type: ignore[index]
        assert len(tellers) == 1
        if query["kind"] != "name":
            assert tellers.pop() in str(query["query"])


LINKED = {
    "Roof.md": "Slates.\n",
    "a/Twin.md": "one\n",
    "b/Twin.md": "two\n",
    "pages/Gauge___Ford.md": "radar\n",
    "Source.md": (
        "---\nlinks:\n  - '[[Roof]]'\n---\n"
        "It rained. Yesterday the whistling man mended the [[Roof|old roof]] again. Then tea.\n\n"
        "- [ ] Look whether the swallows at [[Gauge/Ford]] are gone 📅 2026-11-29\n"
        "Never mind what is said in [[a/Twin]] about the price of bread.\n"
        "Nobody knows which of the two is meant by a bare [[Twin]] here.\n"
        "This sentence leads nowhere at all, see [[Missing]] for it.\n"
        "A link to oneself is no question for anyone: [[Source]] it is.\n"
        "seen:: many words stand in this property before [[Roof]] comes\n"
        "In code `we write of it as [[Roof]]` and there is no question.\n"
        "```\nthe fence holds several words and then a [[Roof]] too\n```\n"
        "[[Roof]]\n"
    ),
}


def test_queries_are_the_words_around_a_link_without_the_name(tmp_path: Path) -> None:
    found = {cut.text: (cut.source, cut.target) for cut in cuts(write(tmp_path, LINKED))}
    assert found == {
        "Yesterday the whistling man mended the old again.": ("Source.md", "Roof.md"),
        "Look whether the swallows at are gone 📅 2026-11-29": (
            "Source.md",
            "pages/Gauge___Ford.md",
        ),
        "Never mind what is said in about the price of bread.": ("Source.md", "a/Twin.md"),
    }


def test_relabel_follows_a_moved_anchor_and_stops_at_a_lost_one(tmp_path: Path) -> None:
    queries = tmp_path / "q.jsonl"
    label = {"path": "n.md", "line": 2, "end_line": 3, "grade": 3, "anchor": "the beam"}
    whole = {"path": "n.md", "line": 1, "end_line": 3, "grade": 1, "anchor": "the beam"}
    queries.write_text(json.dumps({"id": "q", "relevant": [label, whole]}) + "\n", encoding="utf-8")
    note = write(tmp_path, {"n.md": "new\nlines\nabove\nunder the beam\nlast\n"}) / "n.md"
    relabel(tmp_path, queries)
    (record,) = rows(queries)
    assert record["relevant"] == [
        {**label, "line": 4, "end_line": 5},
        {**whole, "line": 1, "end_line": 5},
    ]
    note.write_text("gone\n", encoding="utf-8")
    with pytest.raises(SystemExit, match="'the beam' is there 0 times"):
        relabel(tmp_path, queries)
