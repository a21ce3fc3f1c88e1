"""The makers of labelled sets: chats with planted facts, queries from wikilinks, moved anchors."""

import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from benchmarks.recall.chats import generate
from benchmarks.recall.relabel import main as relabel
from benchmarks.recall.wikilinks import Notes, cuts, records

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


def test_chats_have_sixty_sessions_of_fifteen_to_thirty_turns(chats: Path) -> None:
    notes = list((chats / "vault").rglob("*.md"))
    assert len(notes) == 60
    for note in notes:
        text = note.read_text(encoding="utf-8")
        assert text.startswith(f"---\ndate: {note.stem}\npeople: [")
        turns = re.findall(r"^\*\*(\w+):\*\* \S", text, re.MULTILINE)
        assert 15 <= len(turns) <= 30, note
        assert len(set(turns)) == 2
        assert "{" not in text


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


def test_chat_halves_share_no_conversation(chats: Path) -> None:
    folders: dict[str, set[str]] = {"dev": set(), "test": set()}
    for query in rows(chats / "queries.jsonl"):
        labels = query["relevant"]
        assert isinstance(labels, list)
        folders[str(query["split"])] |= {str(Path(label["path"]).parent) for label in labels}
    assert len(folders["dev"]) == len(folders["test"]) == 3
    assert not folders["dev"] & folders["test"]


def test_every_asked_name_of_a_third_person_stands_in_one_session_only(chats: Path) -> None:
    texts = [note.read_text(encoding="utf-8") for note in (chats / "vault").rglob("*.md")]
    asked = [str(query["query"]) for query in rows(chats / "queries.jsonl")]
    names = [found[1] for text in asked if (found := re.fullmatch(r"Who is (\w+)\?", text))]
    assert names
    for name in names:
        assert sum(bool(re.search(rf"\b{name}\b", text)) for text in texts) == 1, name


def test_generate_refuses_a_folder_with_a_vault(chats: Path) -> None:
    with pytest.raises(SystemExit, match="is there already"):
        generate(chats)


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


def test_a_short_sentence_is_widened_to_its_paragraph(tmp_path: Path) -> None:
    notes = {"Roof.md": "", "Source.md": "Slates slide in every storm we get. See [[Roof]].\n"}
    (cut,) = cuts(write(tmp_path, notes))
    assert cut.text == "Slates slide in every storm we get. See ."


def test_a_name_that_two_notes_bear_is_no_target() -> None:
    notes = Notes(["a/Twin.md", "b/Twin.md", "c/Only.md"])
    assert notes.target("Twin") is None
    assert notes.target("B/twin.md") == "b/Twin.md"
    assert notes.target("only") == "c/Only.md"


def test_sampling_is_repeatable_and_bounded() -> None:
    vault = ROOT / "sample-vault"
    once = records(vault, 20, 7)
    assert len(once) == 20
    assert records(vault, 20, 7) == once
    assert records(vault, 20, 8) != once
    for record in records(vault, 300, 7):
        labels = record["relevant"]
        assert isinstance(labels, list)
        (label,) = labels
        name = Path(label["path"]).stem
        assert name.lower() not in str(record["query"]).lower()
        assert label["path"] != record["from"]


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
