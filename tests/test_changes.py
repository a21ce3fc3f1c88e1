"""What probably changes what an older text states: the signs, what is named when it is written, and what is certain."""

import importlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultmem import Vault
from vaultmem.dreams.changes import (
    BY_MEANING,
    BY_WORDS,
    PROBABLE,
    Pair,
    Text,
    by_letters,
    is_certain,
    probable,
    signs,
)
from vaultmem.dreams.short_texts import is_unreal
from vaultmem.recall.newer import likely
from vaultmem.recall.recall_candidate import Candidate
from vaultmem.text.times import without_days

DAY = 86_400.0
BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
KNOWN = [
    "Bids in Lark go through RabbitMQ", "The Lark repository is on GitHub", "The dog gets 300 g of dry food",
    "We sing on Tuesdays at eight", "My mobile is 0171 555 3806", "Judith teaches chemistry in Leeds",
]  # fmt: skip
OLDS = [Text(text, DAY * number) for number, text in enumerate(KNOWN)]


def named(new: str) -> list[str]:
    """What is probably changed, by words."""
    flags = probable(Text(new, 40 * DAY), OLDS, [None] * len(OLDS))
    return [old for old, is_named in zip(KNOWN, flags, strict=True) if is_named]


@given(st.lists(st.text(alphabet="ab 犬不小12.", max_size=20), max_size=6))
def test_similarity_by_letters_is_a_cosine(texts: list[str]) -> None:
    rows = np.array(by_letters(texts)).reshape(len(texts), len(texts))
    assert np.allclose(rows, rows.T)
    assert np.all((rows > -1e-9) & (rows < 1 + 1e-9))
    for place, text in enumerate(texts):
        has_words = any(char.isalnum() for char in text)
        assert rows[place, place] == pytest.approx(float(has_words))


def test_other_forms_and_parts_of_a_word_are_similar() -> None:
    texts = [
        "Die Terrasse wird gefliest",
        "Terrassenfliesen",
        "Der Ofen raucht",
        "我喝咖啡",
        "咖啡",
    ]
    rows = by_letters(texts)
    assert rows[0][1] > 0.2 > rows[0][2] == 0
    assert rows[3][4] > 0.3


@pytest.mark.parametrize(("new", "old"), [
    ("Threw RabbitMQ out of Lark, bids are passed on by NATS", KNOWN[0]),
    ("The vet says the dog is too fat, only 220 g of dry food from today", KNOWN[2]),
    ("Bids in Lark could go through NATS one day", None),
    ("Somebody suggested that bids in Lark go through NATS from June", None),
    ("Should bids in Lark go through NATS instead?", None),
    ("Bids in Lark are written by Anne", None),
    ("Now it rains", None),
])  # fmt: skip
def test_only_a_change_of_the_same_is_named(new: str, old: str | None) -> None:
    assert named(new) == ([old] if old else [])


def test_it_is_named_to_who_writes_it_and_stays(
    opened: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VAULTMEM_NOW", "2026-12-01T09:00")
    olds = [opened.write(text)["id"] for text in KNOWN]
    monkeypatch.setenv("VAULTMEM_NOW", "2026-12-09T09:00")
    report = opened.write("Threw RabbitMQ out of Lark, bids are passed on by NATS")
    assert [one["id"] for one in report["contradicts"]] == olds[:1]
    assert report["replaced"] == []
    assert len(opened.memories()) == len(KNOWN) + 1


def test_the_day_that_a_dream_adds_is_no_word_in_common() -> None:
    assert without_days("the hall was taken yesterday (2026-12-01), so now") == (
        "the hall was taken yesterday, so now"
    )
    plain = {"old": Text("We sang last night", 0), "new": Text("It rained last night", 9 * DAY)}
    dated = {key: Text(text.words + " (2026-12-01)", text.created) for key, text in plain.items()}
    pairs = [Pair("old", "new", 0.1)]
    assert [*signs(pairs, plain)] == [*signs(pairs, dated)]


@pytest.mark.parametrize(("text", "unreal"), [
    ("If Lark outgrew SQLite, one could think about Postgres", True),
    ("Tried Rust for an evening and gave up", True),
    ("We tried Rust, and now Lark is written in it", False),
    ("As a boy I sang treble", True),
    ("前年我考虑过搬到杭州", True),
    ("Wir könnten umziehen", True),
    ("Wir ziehen jetzt um, auch wenn es teuer würde", False),
    ("The church is full", False),
    ("I almost cancelled the cleaner", True),
    ("Almost finished now with the move, we live in Bonn", False),
])  # fmt: skip
def test_what_only_might_be_or_was_is_no_change(text: str, unreal: bool) -> None:
    assert is_unreal(text) is unreal


def test_what_states_more_is_never_certainly_replaced_nor_anything_by_words() -> None:
    old, new = "I live in Rome, and Anne works at Siemens", "I moved to Bonn"
    ((_, own),) = signs([Pair("a", "b", 1.0)], {"a": Text(old, 0), "b": Text(new, 9 * DAY)})
    assert is_certain(99, own, BY_MEANING, "I live in Rome", new)
    assert not is_certain(99, own, BY_MEANING, old, new)
    assert not is_certain(BY_MEANING.certain, own, BY_MEANING, "I live in Rome", new)
    assert not is_certain(99, own._replace(change=0.0), BY_MEANING, "I live in Rome", new)
    assert not is_certain(99, own, BY_WORDS, "I live in Rome", new)


@pytest.mark.parametrize(("old", "new"), [
    ("Ben's address is Mill Street 2", "Ann's new address is Hill Street 4"),
    ("Boris: No more hazelnuts for me, I swelled up", "Greta: No more sesame for me, I swelled up"),
    ("Das Rad von Eva steht im Keller", "Das Rad von Tom steht jetzt im Hof"),
])  # fmt: skip
def test_the_same_of_somebody_else_is_neither_certain_nor_named(old: str, new: str) -> None:
    for one, other, wanted in ((old, new, False), (new, f"{new}, no longer there", True)):
        texts = {"a": Text(one, 0), "b": Text(other, 9 * DAY)}
        ((_, own),) = signs([Pair("a", "b", 1.0)], texts)
        assert is_certain(99, own, BY_MEANING, one, other) is wanted
        assert probable(texts["b"], [texts["a"], *OLDS], [0.9, *[0.1] * len(OLDS)])[0] is wanted
        memories = {
            key: Candidate(key, 1, 1, *text[:1], created=text.created)
            for key, text in texts.items()
        }
        added = likely([Pair("a", "b", 1.0)], memories, BY_MEANING, ())
        assert bool(added.newer) is wanted
        assert likely([Pair("a", "b", 1.0)], memories, BY_MEANING, ("b",)).newer, "changes places"


def test_what_is_named_in_a_story_is_hardly_ever_still_true(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The floor of benchmarks/newer.py by words, for the largest story."""
    monkeypatch.syspath_prepend(BENCHMARKS)
    newer = importlib.import_module("newer")
    rows = newer.rows(BENCHMARKS / "life" / "coder", None, BY_WORDS)
    odds = rows.signs @ np.array(BY_WORDS.weights) + BY_WORDS.bias
    named = (odds > PROBABLE) & (rows.signs[:, 2] > 0)
    assert rows.is_change[named].sum() >= 24
    assert rows.is_true[named].sum() <= 2
