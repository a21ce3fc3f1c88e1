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


def test_thousands_of_aliases_are_looked_for_like_one() -> None:
    """2,700 aliases and a megabyte of notes; also if one name begins like all others."""
    many = [*(f"Alias {number}" for number in range(2_700)), "Al", "Alias"]
    many += ["a" * n for n in range(1, 250)]
    text = "Alias said, but Alias 270 and alias 2699 did not; aaa\n" * 20_000
    for style in MENTION_EDGES:
        pattern = mention_pattern(style, many)
        assert pattern
        counts: list[int] = []
        assert takes_less(
            2.0, lambda: counts.append(sum(1 for _ in spans_of_mentions(pattern, text, [])))  # noqa: B023 - called here
        )  # fmt: skip
        assert counts[0] == 4 * 20_000
        whole = [each[0] for each in pattern.finditer("Alias 2699, alias 27000")]
        assert whole == ["Alias 2699", "alias"]


def test_every_letter_that_a_mention_may_have_is_found_in_folded_text() -> None:
    letters = [c for c in map(chr, range(sys.maxunicode + 1)) if len({c, c.lower(), c.upper(), c.casefold()}) > 1]  # fmt: skip
    odd = [c for c in letters if len({c, c.lower(), c.upper(), c.casefold()}) > 2 or len(c.upper()) > 1]  # fmt: skip
    text = "\n".join(letters)
    for letter in [*odd, *letters[::10]]:
        pattern, rough = mention_pattern("latin", [letter]), folded_names([letter])
        assert pattern
        for match in pattern.finditer(text):
            assert rough.search(folded(match[0])), (letter, match[0])


def test_only_notes_with_the_letters_of_a_name_are_searched_for_mentions(
    vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (vault / "Café Luna.md").write_text("aliases")
    for number in range(20):
        text = "At CAFE\u0301 LUNA." if number < 2 else "Luna, a café"
        (vault / f"note {number}.md").write_text(text)
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
    with Vault(str(vault)) as opened:
        opened.sync()
        monkeypatch.delattr(files, "open_inside")  # opens all folders of a path for one file
        mentions = opened.mentions("Café Luna")
    assert [mention.path for mention in mentions] == ["note 0.md", "note 1.md"]
    assert len(searched) == 2


def found(style: str, name: str, text: str) -> list[str]:
    pattern = mention_pattern(style, [name])
    assert pattern
    return [text[slice(*span)] for span in spans_of_mentions(pattern, text, [])]


@pytest.mark.parametrize(
    ("style", "name", "text", "count"),
    [
        ("words", "Red Panda", "a red panda. RED PANDA!", 2), ("words", "Red Panda", "red pandas, predred panda", 0),
        ("words", "rust", "我用rust语言 rust_lang", 2), ("words", "rust", "trust rust2 rusté", 0), ("words", "кот", "котлета кот", 1),
        ("words", "小熊猫", "动物园里的小熊猫很可爱", 1), ("words", "학교", "우리학교에서", 1), ("words", "C++", "use C++, not C", 1),
        ("words", "Café", "cafe\u0301 CAFÉ", 2), ("words", "a.b", "axb a.b", 1),
        ("latin", "Rust", "I like rust.", 1), ("latin", "Rust", "trust rust2", 0), ("latin", "Rust", "#rust [rust", 0),
        ("latin", "铁锈", "这是铁锈的颜色", 1), ("latin", "铁锈", "铁锈2", 0),
    ],
)  # fmt: skip
def test_a_mention_is_a_whole_word_as_the_editor_has_it(
    style: str, name: str, text: str, count: int
) -> None:
    assert len(found(style, name, text)) == count


def test_links_what_they_show_and_what_stands_before_the_body_are_left_out() -> None:
    text = "[[Rust]] [[B|rust]] rust"
    pattern = mention_pattern("words", ["Rust"])
    assert pattern
    assert list(spans_of_mentions(pattern, text, [(-1, -1), (9, 19), (0, 8)])) == [(20, 24)]
    assert list(spans_of_mentions(pattern, text, [], start=19)) == [(20, 24)]
