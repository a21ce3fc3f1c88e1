"""The sample vault has every spelling it promises, and its labelled queries point at real lines."""

import json
import re
from collections import Counter
from datetime import date
from difflib import SequenceMatcher
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
VAULT = ROOT / "sample-vault"
QUERIES = ROOT / "benchmarks" / "recall" / "sample.jsonl"
CONFLICT = "Garden/Plot 27B.sync-conflict-20261103-081512-ABCDEFG.md"
UNREADABLE = "House/Damp quotes.md"
NOT_UTF8 = "Inbox/Letter from Aunt Winnie.md"
ORPHAN = "Inbox/Overheard on the 76 bus.md"
NOTES = 80
HAN = re.compile(r"[\u4e00-\u9fff]")
WIKILINK = re.compile(r"\[\[([^\[\]|#\n]+)")
UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"


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


def test_number_of_notes_and_of_chinese_ones() -> None:
    assert len(TEXTS) == NOTES
    mixed = [key for key, text in TEXTS.items() if len(HAN.findall(text)) >= 20]
    assert len(mixed) >= 15
    assert sum(len(HAN.findall(text)) >= 120 for text in TEXTS.values()) >= 8


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


def test_front_matter_of_many_kinds() -> None:
    blocks = [front_matter(text) for key, text in PROSE.items() if key != UNREADABLE]
    properties = [
        found for block in blocks if block and isinstance(found := yaml.safe_load(block), dict)
    ]
    values = [value for found in properties for value in found.values()]
    assert {type(value) for value in values} >= {str, int, list, bool, date}
    assert any(isinstance(value, str) and value.startswith("[[") for value in values)
    assert any(isinstance(value, list) and str(value[0]).startswith("[[") for value in values)
    assert sum("aliases" in found for found in properties) >= 8


@pytest.mark.parametrize(
    ("spelling", "pattern"),
    [
        ("link to a heading", r"(?<!!)\[\[[^\]\n|]+#[^\]^\n|]+\]\]"),
        ("link to a block", r"(?<!!)\[\[[^\]\n|]+#\^[a-z]+[\]|]"),
        ("link with an alias", r"\[\[[^\]\n|]+\|[^\]\n]+\]\]"),
        ("alias bar in a table", r"^\|.*\[\[[^\]\n]+\\\|"),
        ("embedded image", r"!\[\[plover\.png\|120\]\]"),
        ("embedded block", r"!\[\[[^\]\n]+#\^[a-z]+\]\]"),
        ("Markdown link with %20", r"\[[^\]\n]+\]\(\S*%20\S*\.md"),
        ("Markdown image with %20", r"!\[[^\]\n]+\]\(\S*%20\S*\.png\)"),
        ("link to a canvas", r"\[\[[^\]\n]+\.canvas\]\]"),
        ("block id", r" \^[a-z]+$"),
        ("nested tag", r"\b(?:tags: \[|  - )\w+/\w+"),
        ("Chinese tag in the text", r"(?:^|\s|。)#中文/\w+"),
        ("callout", r"^> \[!warning\] "),
        ("table", r"^\| --- \|"),
        ("fenced code", r"^```(?:sql|python|bash|yaml|powershell)$"),
        ("comment", r"^%% .* %%$"),
        ("maths", r"\$Q = "),
        ("conversation", r"^\*\*Anne:\*\* "),
        ("conversation in Chinese", r"^\*\*婆婆：\*\* "),
        ("due 2026-11", r"^- \[ \] .* 📅 2026-11-\d\d"),
        ("scheduled 2026-11", r"^- \[ \] .* ⏳ 2026-11-\d\d"),
        ("recurring", r"^- \[ \] .* 🔁 every "),
        ("done", r"^- \[x\] .* ✅ \d{4}-"),
        ("cancelled", r"^- \[-\] .* ❌ \d{4}-"),
        ("under way", r"^- \[/\] "),
        ("priority", r"^- \[ \] .* (?:⏫|🔺|🔼)"),
        ("dataview due", r"^- \[ \] .* \[due:: 2026-1[12]-\d\d\]"),
        ("dataview repeat", r"\[repeat:: every month[^\]]*\]"),
        ("Reminder plugin", r"\(@2026-11-25 09:00\)"),
        ("Reminder plugin, clock sign", r"⏰ 2026-11-25 08:30"),
        ("plain reminder", r"(?i)^remind me on 27 November at 18:00"),
        ("plain Chinese reminder", r"^提醒.11月28日上午9点"),
        ("plain Chinese reminder, relative", r"记得下周三下午三点"),
        ("deadline in Chinese", r"^截止 2026-11-26"),
        ("reminder property", r"^remind: 2026-12-04T18:00$"),
    ],
)
def test_obsidian_spellings(spelling: str, pattern: str) -> None:
    found = [key for key, text in PROSE.items() if re.search(pattern, text, re.MULTILINE)]
    assert found, spelling


@pytest.mark.parametrize(
    ("spelling", "pattern"),
    [
        ("page property", r"\A[a-z]+:: "),
        ("alias", r"^alias:: [^,\n]+, "),
        ("title", r"^title:: "),
        ("block id", rf"^\s+id:: {UUID}$"),
        ("block reference", rf"(?<!embed )\(\({UUID}\)\)"),
        ("block embed", rf"\{{\{{embed \(\({UUID}\)\)\}}\}}"),
        ("namespace", r"\[\[Gauge/[^\]]+\]\]"),
        ("open markers", r"^\s*- (?:TODO|DOING|LATER|NOW|WAITING) "),
        ("done", r"^\s*- DONE "),
        ("cancelled", r"^\s*- CANCELED "),
        ("priority", r"- TODO \[#A\] "),
        ("scheduled with repeater", r"^\s+SCHEDULED: <2026-11-25 Wed 17:00 \.\+1w>$"),
        ("deadline", r"^\s+DEADLINE: <2026-1[12]-\d\d \w{3}>$"),
        ("collapsed", r"^\s+collapsed:: true$"),
        ("tag", r"#swallows"),
        ("Chinese", r"- 记不住的字 #汉字"),
    ],
)
def test_logseq_spellings(spelling: str, pattern: str) -> None:
    found = [key for key, text in OUTLINES.items() if re.search(pattern, text, re.MULTILINE)]
    assert found, spelling


def test_logseq_dates_carry_their_own_weekday_and_references_have_a_block() -> None:
    together = "\n".join(OUTLINES.values())
    dated = re.findall(r"<(\d{4}-\d\d-\d\d) (\w{3})", together)
    assert dated
    assert all(date.fromisoformat(day).strftime("%a") == weekday for day, weekday in dated)
    ids = Counter(re.findall(rf"^\s+id:: ({UUID})$", together, re.MULTILINE))
    assert max(ids.values()) == 1
    assert set(re.findall(rf"\(\(({UUID})\)\)", together)) == set(ids)


def test_one_name_is_ambiguous_and_linked_bare() -> None:
    stems = Counter(Path(key).stem for key in TEXTS)
    assert [stem for stem, count in stems.items() if count > 1] == ["Windows"]
    linking = [key for key, text in TEXTS.items() if "[[Windows]]" in text]
    assert linking == ["Home.md", "Work/Howto/Calibrate a pressure transducer.md"]


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


def test_block_links_have_their_block() -> None:
    for target, block in re.findall(r"\[\[([^\]\n|#]+)#\^([a-z]+)", "\n".join(PROSE.values())):
        (note,) = [text for key, text in PROSE.items() if Path(key).stem == target]
        assert re.search(rf" \^{block}$", note, re.MULTILINE), (target, block)


def test_heading_links_have_their_heading() -> None:
    links = re.findall(r"\[\[([^\]\n|#]+)#([^\]\n|^]+)[\]|]", "\n".join(PROSE.values()))
    assert len(links) >= 4
    for target, heading in links:
        (note,) = [text for key, text in PROSE.items() if Path(key).stem == target]
        assert re.search(rf"^#+ {re.escape(heading)}$", note, re.MULTILINE), (target, heading)


def test_conflict_copy_is_nearly_equal() -> None:
    original, copy = TEXTS["Garden/Plot 27B.md"], TEXTS[CONFLICT]
    assert original != copy
    assert SequenceMatcher(None, original, copy).ratio() > 0.9


def test_the_orphan_is_linked_by_nobody_and_links_nothing() -> None:
    assert "[[" not in TEXTS[ORPHAN]
    assert Path(ORPHAN).stem not in link_targets(TEXTS)


def test_canvas_and_images_are_whole() -> None:
    canvas = json.loads(read(VAULT / "Work" / "Combe network.canvas"))
    files = [node["file"] for node in canvas["nodes"] if node["type"] == "file"]
    assert files
    assert all((VAULT / file).is_file() for file in files)
    images = list((VAULT / "Attachments").glob("*.png"))
    assert images
    assert all(image.read_bytes().startswith(b"\x89PNG") for image in images)
    assert all(image.stat().st_size < 2000 for image in images)


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
