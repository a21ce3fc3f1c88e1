"""Texts that say the same in other words are recognised, named when written, merged by a dream, and separated by
undo."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import pairs
from tests.cli_run import process
from vaultmem.dreams import paraphrase

FLOOR = 0.28  # recall
texts = st.text(alphabet="ab 12.是不小王说:“", max_size=40)


def test_on_pairs_that_nothing_was_fitted_on_it_is_right_nearly_always() -> None:
    """The floor of benchmarks/pairs.py, without a model."""
    found = [
        (label == pairs.SAME, paraphrase.is_same(old, case.new))
        for case in pairs.cases()
        if case.held
        for old, label in zip(case.olds, case.labels, strict=True)
    ]
    taken = [is_right for is_right, is_taken in found if is_taken]
    assert sum(taken) / len(taken) >= 0.95
    assert sum(taken) / sum(is_right for is_right, _ in found) >= FLOOR


@given(texts, texts)
def test_it_is_the_same_in_both_directions(one: str, other: str) -> None:
    assert paraphrase.score(one, other) == pytest.approx(paraphrase.score(other, one))


@pytest.mark.parametrize("pair", [("👍", "👎"), ("...", "🎉"), ("?", "Anne likes tea")])
def test_texts_of_punctuation_alone_are_not_the_same(pair: tuple[str, str]) -> None:
    assert not paraphrase.is_same(*pair, 0.99)


@pytest.mark.parametrize(
    ("first", "second", "third"),
    [
        ("The user prefers pytest.", "User likes pytest better than unittest.", "User likes tea."),
        ("我的经理是刘洋。", "刘洋是我的经理。", "我的医生是孙医生。"),
    ],
)
def test_what_two_assistants_say_is_named_merged_and_parted_again(
    vault: Path, first: str, second: str, third: str
) -> None:
    def run(*words: str) -> Any:
        given = words[0], "--vault", str(vault), "--format", "json", *words[1:]
        ended = process(*given, VAULTMEM_EMBEDDING_MODEL="off")
        assert ended.code == 0, ended.err
        return ended.data

    one = run("write", first, "--by", "claude")
    run("write", third, "--by", "claude")
    other = run("write", second, "--by", "codex")
    assert [(same["id"], same["merges"]) for same in other["same_as"]] == [(one["id"], True)]
    before = {path: path.read_bytes() for path in vault.glob("vaultmem/*/*.md")}
    run("dream", "--level", "2")
    living = {memory["id"] for memory in run("list")["memories"]}
    assert len(living) == 2
    (remaining,) = living & {one["id"], other["id"]}  # the older one; the times may be equal
    (gone,) = vault.glob("vaultmem/archive/*.md")
    assert f"replaced_by={remaining}" in gone.read_text("utf-8")
    run("undo", "--last")
    assert {path: path.read_bytes() for path in vault.glob("vaultmem/*/*.md")} == before
