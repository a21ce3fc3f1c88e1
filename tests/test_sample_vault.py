"""The sample vault has every spelling it promises, and its labelled queries point at real lines."""

import json
import re
from collections import Counter
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
VAULT = ROOT / "sample-vault"
QUERIES = ROOT / "benchmarks" / "recall" / "sample.jsonl"
UNREADABLE = "House/Damp quotes.md"
NOT_UTF8 = "Inbox/Letter from Aunt Winnie.md"
HAN = re.compile(r"[\u4e00-\u9fff]")
WIKILINK = re.compile(r"\[\[([^\[\]|#\n]+)")


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


def name(path: Path) -> str:
    return path.relative_to(VAULT).as_posix()


TEXTS = {name(path): read(path) for path in sorted(VAULT.rglob("*.md"))}
OUTLINES = {key: text for key, text in TEXTS.items() if key.startswith(("pages/", "journals/"))}
PROSE = {key: text for key, text in TEXTS.items() if key not in OUTLINES}
RECORDS = [json.loads(row) for row in QUERIES.read_text(encoding="utf-8").splitlines()]


def front_matter(text: str) -> str | None:
    found = re.match(r"---\n(.*?)^---$", text, re.DOTALL | re.MULTILINE)
    return found[1] if found else None


def link_targets(texts: dict[str, str]) -> set[str]:
    return {
        target.strip().rstrip("\\") for text in texts.values() for target in WIKILINK.findall(text)
    }


def test_both_editors_claim_the_vault() -> None:
    app = json.loads(read(VAULT / ".obsidian" / "app.json"))
    assert app["userIgnoreFilters"] == ["Templates/"]
    assert (VAULT / "Templates" / "Daily.md").is_file()
    daily = json.loads(read(VAULT / ".obsidian" / "daily-notes.json"))
    assert len(list((VAULT / daily["folder"]).glob("????-??-??.md"))) >= 12
    types = json.loads(read(VAULT / ".obsidian" / "types.json"))["types"]
    assert types["remind"] == "datetime"
    assert ":file/name-format :triple-lowbar" in read(VAULT / "logseq" / "config.edn")
    assert len(OUTLINES) >= 8


def test_only_two_notes_are_broken() -> None:
    unreadable = []
    for key, text in PROSE.items():
        try:
            yaml.safe_load(front_matter(text) or "")
        except yaml.YAMLError:
            unreadable.append(key)
    assert unreadable == [UNREADABLE]
    assert [key for key, text in TEXTS.items() if "\ufffd" in text] == [NOT_UTF8]
    with pytest.raises(UnicodeDecodeError):
        (VAULT / NOT_UTF8).read_text(encoding="utf-8")


def test_unresolved_links_are_the_ones_meant() -> None:
    files = {path.name for path in VAULT.rglob("*") if path.is_file()}
    stems = {Path(key).stem for key in TEXTS}
    targets = {target.split("/")[-1] for target in link_targets(PROSE)}
    unresolved = targets - files - stems
    aliases = {"婆婆", "CVG"}
    meant = {
        "Slater's invoice",
        "Tide tables 2027",
        "What the house sounded like before us",
        "Lu's workshop insurance",
    }
    assert unresolved == meant | aliases
    listed = [front_matter(PROSE[key]) or "" for key in PROSE if key != UNREADABLE]
    known = {alias for text in listed for alias in (yaml.safe_load(text) or {}).get("aliases", [])}
    assert aliases <= known


def test_labelled_set_is_large_varied_and_split_in_halves() -> None:
    assert len(RECORDS) >= 120
    assert len({record["id"] for record in RECORDS}) == len(RECORDS)
    assert len({record["query"] for record in RECORDS}) == len(RECORDS)
    kinds = Counter(record["kind"] for record in RECORDS)
    assert set(kinds) >= {"keyword", "question", "paraphrase", "name", "date", "typo", "chinese"}
    assert sum(bool(HAN.search(record["query"])) for record in RECORDS) >= 25
    splits = Counter(record["split"] for record in RECORDS)
    assert set(splits) == {"dev", "test"}
    assert abs(splits["dev"] - splits["test"]) <= len(kinds)


@pytest.mark.parametrize("record", RECORDS, ids=[record["id"] for record in RECORDS])
def test_labels_point_at_their_anchor(record: dict[str, object]) -> None:
    labels = record["relevant"]
    assert isinstance(labels, list)
    assert labels
    assert max(label["grade"] for label in labels) >= 2
    for label in labels:
        lines = TEXTS[label["path"]].splitlines()
        assert 1 <= label["line"] <= label["end_line"] <= len(lines)
        assert 0 < len(label["anchor"]) <= 40
        assert label["grade"] in (1, 2, 3)
        chosen = lines[label["line"] - 1 : label["end_line"]]
        assert any(label["anchor"] in line for line in chosen), label
        assert sum(label["anchor"] in line for line in lines) == 1, label


def test_paraphrases_share_no_long_word_with_their_lines() -> None:
    for record in RECORDS:
        if record["kind"] != "paraphrase":
            continue
        best = max(record["relevant"], key=lambda label: label["grade"])
        lines = TEXTS[best["path"]].splitlines()[best["line"] - 1 : best["end_line"]]
        words = set(re.findall(r"[a-z]{5,}", " ".join(lines).lower()))
        assert not words & set(re.findall(r"[a-z]{5,}", record["query"].lower())), record["query"]
