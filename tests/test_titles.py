"""Titles of memories: safe as the name of a file everywhere, taken from the content, free in the vault."""

import re
import unicodedata
from itertools import accumulate

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.effort import takes_less
from tests.laws import examples
from tests.stand_in_files import Files
from vaultmem.adapter import FrontMatter
from vaultmem.memories.model import CATEGORIES, GENERATED
from vaultmem.notes.dialects import installed
from vaultmem.text.sanitize import columns, graphemes
from vaultmem.text.titles import (
    MAX_BYTES,
    MAX_CHARACTERS,
    free_path,
    free_title,
    repeats,
    safe_title,
    title_of,
)
from vaultmem.vault.conflicts import Places, conflict_original, conflicts
from vaultmem.vault.walk import is_temporary
from vaultmem_logseq.names import title_from_path

HOSTILE = [
    *["../../x", "..", ".", "", " ", "/etc/passwd", "C:\\Windows\\x", "\\\\server\\x", "~", "~/x", "x~", "a\0b"],
    *["CON", "con", "Nul.txt", "com1", "LPT9.tar.gz", "COM¹", "CONIN$", "aux .md", "x.", "x ", "x. . ."],
    *["x" * 300, "é" * 300, "笔记" * 100, "👨‍👩‍👧‍👦" * 50, "e" + "\u0301" * 300, "🇩🇪" * 60, "각" * 100],
    *["🎉", "🎉🎉", "\u202egnp.exe", "a\u200bb", "\ufeffx", "a\u2028b", "a\ud800b", "\u061cع", "\u115f", "a\u00adb"],
    *["key: value", "- x", "---", "[a, b]", "{a: b}", "# x", "[[x]]", "x|y", "x^y", "100%% sure", "%%x%%", "50%20x"],
    *["a___b", "a____b", "README.md", "x.md.md", "pic.png", "x.excalidraw", "x.tmp", ".hidden", ".sync-conflict-x"],
    *["Plan 2", "Plan (1)", "Plan (12) 3", "Plan 2 (Conflicted copy)", "Plan.sync-conflict-20261121-101500-ABCDEFG",
     "Plan_conflict-20261121-101500"],
    *["Plan (Conflicted copy MacBook 202611211015)", "Plan (Ann's conflicted copy 2026-11-21)", "conflicted copy"],
    *["2026-11-22", "2026_11_22", "Nov 22nd, 2026", "22.11.2026", "20261122", "2026-W47", "Sunday, 22 November 2026"],
    *["2026年11月22日", "1 " * 60, "inbox", "Pending", "what changed", "SOUL", "archive", "Entries", "memory"],
]  # fmt: skip
LETTERS = st.sampled_from(
    'abcXYZ 019._-~/\\:*?"<>|#^[]%()\t\n\r\0é笔👨👩\u200d\u0301\ufe0f🇩🇪\u202e\u200b\ud800'
)
TITLES = (
    st.sampled_from(HOSTILE)
    | st.text(LETTERS, max_size=120)
    | st.text(max_size=100)
    | st.lists(st.sampled_from(HOSTILE), max_size=4).map(" ".join)
)
DEVICES = re.compile(r"(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$)", re.IGNORECASE)
RESERVED = {
    *CATEGORIES,
    "archive",
    "entries",
    *(name.removesuffix(".md").lower() for name in GENERATED),
}


def assert_safe(title: str) -> None:
    assert 0 < len(title) <= MAX_CHARACTERS
    assert len(title.encode()) <= MAX_BYTES
    assert unicodedata.normalize("NFC", title) == title
    assert not set(title) & set('\\/:*?"<>|#^[]')
    assert "%%" not in title
    assert all(unicodedata.category(c) not in {"Cc", "Cs", "Zl", "Zp"} for c in title)
    assert all(unicodedata.category(c) != "Cf" or c == "\u200d" for c in title)
    assert title == " ".join(title.split())
    assert not title.startswith((".", "~"))
    assert not title.endswith((".", " ", "~"))
    assert not DEVICES.fullmatch(title.partition(".")[0].strip())
    assert title.lower() not in RESERVED
    assert not is_temporary(title)
    assert not is_temporary(title + ".md")


@given(TITLES)
@settings(max_examples=examples(400))
def test_every_title_is_safe_and_stays_as_it_is(title: str) -> None:
    made = safe_title(title)
    assert_safe(made)
    assert safe_title(made) == made


@pytest.mark.parametrize(
    ("title", "content", "wanted"),
    [
        ("Met Priya - she takes the model", "Met Priya: she takes the model, from January", False),
        ("Decision - we chose MySQL, 2026-11-22", "Decision: we chose MySQL", True),
        ("Today we fixed the tap", "Today (2026-11-03) we fixed the tap", True),
        ("Next week we fix it", "Next week (2026-W47) we fix it", True),
        ("Today (2026-11-03) we fixed the tap", "Today (2026-11-03) we fixed the tap", True),
        ("The tap", "The tap drips", False),
        ("Water", "", False),
    ],
)
def test_a_title_repeats_what_a_title_of_the_content_says(title: str, content: str, wanted: bool) -> None:  # fmt: skip
    assert repeats(title, content) == wanted


def test_what_follows_a_colon_is_set_off() -> None:
    assert safe_title("Decision: use http://x.y, at 10:30") == "Decision - use http x.y, at 10-30"


@given(TITLES)
@settings(max_examples=examples(200))
def test_no_title_looks_like_a_sync_conflict(title: str) -> None:
    path = f"{safe_title(title)}.md"
    assert conflict_original(path) is None
    stem = re.sub(r" (?:\([0-9]+\)|[0-9]+)$", "", path[:-3])
    places = Places([path, f"{stem}.md", "Plan.md", "a.md"])
    assert path not in conflicts(places)
    assert not re.search(r" \([1-9][0-9]?\)$", path[:-3])


@given(TITLES)
@settings(max_examples=examples(200))
def test_no_editor_reads_a_title_as_a_day_a_folder_or_another_name(title: str) -> None:
    made = safe_title(title)
    path = f"vaultmem/inbox/{made}.md"
    assert title_from_path(path, triple_lowbar=True) == made
    for dialect in installed():
        rules = dialect.open(Files())
        assert rules.kind(path) == "note"
        assert rules.parse(path, "- x", FrontMatter({}, None, 0)).journal is None


PIECES = ["a", "é", "x\u0301", "👨‍👩‍👧‍👦", "🇩🇪", "각", "❤️", "👍🏽", "笔"]


@given(st.lists(st.sampled_from(PIECES), max_size=120))
@settings(max_examples=examples(200))
def test_no_grapheme_is_cut_in_half(pieces: list[str]) -> None:
    whole = "".join(pieces)
    assert list(graphemes(whole)) == pieces
    made = safe_title(whole)
    if pieces:
        ends = list(accumulate(map(len, pieces)))
        assert whole.startswith(made)
        assert len(made) in ends
        following = ends.index(len(made)) + 1
        if following < len(pieces):  # as much as fits
            longer = made + pieces[following]
            assert len(longer) > MAX_CHARACTERS or len(longer.encode()) > MAX_BYTES


@pytest.mark.parametrize(
    ("content", "title"),
    [
        ("# **Hello** [[a|b]] world", "Hello b world"),
        ("key:: value\nother::\n- [ ] do `this` _now_.", "do this now"),
        ("```python\nx = 1\n```\nThe text", "The text"),
        ("```\nonly code\n```", "only code"),
        ("\n\n---\n\n***\n> [!note] Mind the gap!", "Mind the gap"),
        ("see [the docs](https://x.y/z) and ![[pic.png]]", "see the docs and pic.png"),
        ("1. first\n2. second", "first"),
        ("How to descale the machine: 1. mix citric acid with water 2. run half of it", "How to descale the machine"),
        ("Heron uses Python 3.12 and uv; run its tests with four processes at once", "Heron uses Python 3.12 and uv"),
        ("- - nested", "nested"),
        ("<b>bold</b> <!-- not --> text", "bold text"),
        ("snake_case and 2 * 3", "snake_case and 2 3"),
        ("The first sentence of all is short. The second one is longer than a title can be.", "The first sentence of all is short"),
        ("我喜欢在早上喝咖啡，因为它让我清醒。下午我喝茶，因为咖啡因会让我睡不着觉，所以不喝。", "我喜欢在早上喝咖啡，因为它让我清醒"),
        ("🎉🎉", "🎉🎉"),
        ("After the long review of the two databases we chose MySQL over PostgreSQL", "After the long review of the two databases we chose MySQL…"),
        ("The first half of the sentence has so many words that in the end it stops", "The first half of the sentence has so many words…"),
        ("Moved to Porto with Ana on Friday, the address is Rua S. João 12, second floor", "Moved to Porto with Ana on Friday, the address is Rua S…"),
        ("The flat is at Av. da Liberdade 455. The keys are with the neighbour below us", "The flat is at Av. da Liberdade 455"),
        ("我喜欢在早上喝咖啡因为它让我清醒而且下午我喝茶因为咖啡因会让我睡不着觉所以不喝", "我喜欢在早上喝咖啡因为它让我清醒而且下午我喝茶因为咖啡因会…"),
        ("we chose MySQL over", "we chose MySQL over"),  # nothing was cut
        ("---\nid: evil\n---\nThe real text", "The real text"),
        ("---\nid: evil\ntags:\n  - a\nThe real text", "The real text"),
        ("---\nid: evil", "id: evil"),  # there is nothing else
        ("---\nThe real text: a story\n---\nmore", "The real text: a story"),
        ("Date: 3 May, at the harbour", "Date: 3 May, at the harbour"),
        ("", ""),
        ("...\n---\n!?", ""),
        ("\u202e", ""),
    ],
)  # fmt: skip
def test_a_title_is_what_a_person_would_call_it(content: str, title: str) -> None:
    assert title_of(content) == title


@given(st.text(max_size=300) | TITLES | st.lists(TITLES, max_size=5).map("\n".join))
@example("word " * 100)
@example("词" * 100)
@settings(max_examples=examples(200))
def test_a_title_is_short(content: str) -> None:
    title = title_of(content)
    assert sum(map(columns, graphemes(title))) <= 60
    assert "\n" not in title
    assert_safe(safe_title(title))


@pytest.mark.parametrize(
    "part", ["*", "[", "[[", "<", "_", "`", "- ", "a::", "> ", "[x](", "^a ", "\\"]
)
def test_time_is_linear_in_the_content(part: str) -> None:
    assert takes_less(1, lambda: safe_title(title_of(part * (60_000 // len(part)))))


@given(TITLES, st.uuids().map(str), st.integers(0, 6))
@settings(max_examples=examples(100))
def test_a_free_title_is_free_safe_and_always_the_same(content: str, own: str, count: int) -> None:
    taken: set[str] = set()
    for _ in range(count + 1):
        title = free_title(content, "2026-11-22", own, lambda name: name.lower() in taken)
        assert title.lower() not in taken
        assert_safe(title)
        again = free_title(content, "2026-11-22", own, lambda name: name.lower() in taken)
        assert again == title
        taken.add(title.lower())


def test_a_free_title_says_the_day_and_then_the_id() -> None:
    own = "a1b2c3d4-0000-4000-8000-000000000000"
    found: list[str] = []
    for _ in range(5):
        found.append(free_title("Tea", "2026-11-22", own, lambda name: name in found))
    assert found[:4] == [
        "Tea",
        "Tea, 2026-11-22",
        "Tea, 2026-11-22 a1b2c3",
        "Tea, 2026-11-22 a1b2c3d4",
    ]
    assert free_title("", "2026-11-22", own, lambda _: False) == "Untitled"


def test_a_free_path_keeps_folder_and_ending() -> None:
    own = "a1b2c3d4-0000-4000-8000-000000000000"
    assert free_path("m/archive/Tea.md", own, lambda _: False) == "m/archive/Tea.md"
    first = free_path("m/archive/Tea.md", own, lambda path: path == "m/archive/Tea.md")
    assert first == "m/archive/Tea a1b2c3.md"
    seen = {"m/archive/Tea.md", first}
    assert free_path("m/archive/Tea.md", own, seen.__contains__) == "m/archive/Tea a1b2c3d4.md"
    assert free_path("Tea", own, lambda path: path == "Tea") == "Tea a1b2c3"
