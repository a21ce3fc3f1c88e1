"""Unlinked mentions by the rules of both editors (R-MENTION, R-LS-20)."""

import re
import sys
from pathlib import Path

import pytest

from tests.effort import takes_less
from vaultmem.api import Vault
from vaultmem.notes.dialects import (
    MENTION_EDGES,
    Rulebook,
    folded,
    folded_names,
    mention_pattern,
    spans_of_mentions,
)
from vaultmem.vault import files


@pytest.mark.parametrize(
    ("name", "text", "count"),
    [
        ("Red Panda", "a red panda. RED PANDA!", 2),
        ("Red Panda", "red pandas, predred panda", 0),
        ("rust", "我用rust语言 rust_lang", 2),
        ("rust", "trust rust2 rusté", 0),
        ("кот", "котлета кот", 1),
        ("小熊猫", "动物园里的小熊猫很可爱", 1),
        ("학교", "우리학교에서", 1),
        ("C++", "use C++, not C", 1),
        ("Café", "cafe\u0301 CAFÉ", 2),
        ("a.b", "axb a.b", 1),
    ],
)
def test_in_obsidian(name: str, text: str, count: int) -> None:
    pattern = mention_pattern("words", [name])
    assert pattern
    assert len(list(spans_of_mentions(pattern, text, []))) == count


@pytest.mark.parametrize(
    ("name", "text", "count"),
    [("Rust", "I like rust.", 1), ("Rust", "trust rust2", 0), ("Rust", "#rust [rust", 0),
     ("铁锈", "这是铁锈的颜色", 1), ("铁锈", "铁锈2", 0)],
)  # fmt: skip
def test_in_logseq(name: str, text: str, count: int) -> None:
    pattern = mention_pattern("latin", [name])
    assert pattern
    assert len(list(spans_of_mentions(pattern, text, []))) == count


def test_links_and_what_they_show_are_left_out() -> None:
    text = "[[Rust]] [[B|rust]] rust"
    pattern = mention_pattern("words", ["Rust"])
    assert pattern
    assert list(spans_of_mentions(pattern, text, [(-1, -1), (9, 19), (0, 8)])) == [(20, 24)]


def test_what_stands_before_the_body_is_left_out() -> None:
    pattern = mention_pattern("words", ["a"])
    assert pattern
    assert list(spans_of_mentions(pattern, "a\na", [], start=2)) == [(2, 3)]


def test_thousands_of_aliases_are_looked_for_like_one() -> None:
    """2,700 aliases and a megabyte of notes; also if one name begins like all others."""
    many = [f"Alias {number}" for number in range(2_700)] + [
        "Al",
        "Alias",
        *("a" * n for n in range(1, 250)),
    ]
    text = "Alias said, but Alias 270 and alias 2699 did not; aaa\n" * 20_000
    for style in MENTION_EDGES:

        def found(style: str = style) -> int:
            pattern = mention_pattern(style, many)
            return sum(1 for _ in spans_of_mentions(pattern, text, []))

        assert takes_less(2.0, found)
        assert found() == 4 * 20_000
        pattern = mention_pattern(style, many)
        assert pattern is not None
        assert [each[0] for each in pattern.finditer("Alias 2699, alias 27000")] == [
            "Alias 2699",
            "alias",
        ]


def test_every_letter_that_a_mention_may_have_is_found_in_folded_text() -> None:
    cased = [
        c
        for c in map(chr, range(sys.maxunicode + 1))
        if {c} != {c.lower(), c.upper(), c.casefold()}
    ]
    text = "\n".join(cased)
    for letter in cased:
        pattern, rough = mention_pattern("latin", [letter]), folded_names([letter])
        assert pattern
        for match in pattern.finditer(text):
            assert rough.search(folded(match[0])), (letter, match[0])


def test_only_notes_with_the_letters_of_a_name_are_searched_for_mentions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".obsidian").mkdir()
    (tmp_path / "Café Luna.md").write_text("aliases")
    for number in range(20):
        (tmp_path / f"note {number}.md").write_text(
            "At CAFE\u0301 LUNA." if number < 2 else "Luna, a café"
        )
    searched = []

    class Counting:
        def __init__(self, pattern: re.Pattern[str]) -> None:
            self._pattern = pattern

        def search(self, text: str) -> object:
            searched.append(text)
            return self._pattern.search(text)

        def finditer(self, *where: object) -> object:
            return self._pattern.finditer(*where)  # type: ignore[call-overload]

    real = Rulebook.mention_pattern
    monkeypatch.setattr(Rulebook, "mention_pattern", lambda *of: Counting(real(*of)))  # type: ignore[arg-type]
    with Vault(str(tmp_path)) as vault:
        vault.sync()
        monkeypatch.delattr(files, "open_inside")  # opens all folders of a path for one file
        mentions = vault.mentions("Café Luna")
    assert [mention.path for mention in mentions] == ["note 0.md", "note 1.md"]
    assert len(searched) == 2
