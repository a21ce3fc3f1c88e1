"""Laws of statements: what a short text states as a fact, and which facts exclude each other."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.effort import takes_less
from vaultmem.adapter import CAP, Statement
from vaultmem_languages.slots import differ, fold, opposite
from vaultmem_languages.statements import contradiction, contradicts, statements

SENTENCES = [
    line.split("\t")[2]
    for path in sorted((Path(__file__).parent / "data" / "classification").glob("*.tsv"))
    for line in path.read_text("utf-8").splitlines()
]


def rows(kind: str) -> list[tuple[str, ...]]:
    """Those of data/statements.tsv without their kind: "stated" (text, subject, property, value, whether there is one at
    a time), "contradictory" and "compatible" pairs, and moves to what is "no home"."""
    lines = (Path(__file__).parent / "data" / "statements.tsv").read_text("utf-8").splitlines()
    fields = (line.replace("\\n", "\n").split("\t") for line in lines)
    return [tuple(rest) for name, *rest in fields if name == kind]


CONTRADICTORY, COMPATIBLE = rows("contradictory"), rows("compatible")


@pytest.mark.parametrize(("text", "subject", "kind", "value", "single"), rows("stated"))
def test_a_fact_is_taken_apart(text: str, subject: str, kind: str, value: str, single: str) -> None:
    [found] = statements(text)
    assert (found.subject, found.property, found.value, found.single) == (
        subject, kind, value, bool(single),
    )  # fmt: skip
    assert not found.negated


@pytest.mark.parametrize(("one", "other"), CONTRADICTORY)
def test_a_contradiction_is_told_with_both_sides(one: str, other: str) -> None:
    told = contradiction(one, other)
    assert told is not None
    assert told.count("“") == 2
    assert "\n" not in told
    for statement in statements(one):
        said = one[slice(*statement.span)]
        assert said in told or not any(contradicts(statement, t) for t in statements(other))
    assert contradiction(other, one) is not None, "it does not matter which comes first"
    assert contradiction(one, one) is contradiction(other, other) is None


@pytest.mark.parametrize(("one", "other"), COMPATIBLE)
def test_what_may_both_be_true_gives_no_alarm(one: str, other: str) -> None:
    for said, before in ((one, other), (other, one), (one, one), (other, other)):
        assert contradiction(said, before) is None


def test_hundreds_of_unrelated_memories_hardly_contradict_each_other() -> None:
    found = [(text, fact) for text in SENTENCES for fact in statements(text)]
    assert len(found) > 100  # else the silence would mean nothing
    alarms = [
        (text, other)
        for at, (text, fact) in enumerate(found)
        for other, against in found[at + 1 :]
        if contradicts(fact, against)
    ]
    assert not alarms


def test_values_compare_as_people_mean_them() -> None:
    assert fold(" The  “Main Branch”. ") == "main branch"
    assert fold("“The main branch”") == "main branch"
    assert fold("May 3rd, 1990") == "m05 d03, 1990"
    assert fold("2026-05-03") == "2026 m05 d03"
    assert fold("十二月二十一日") == "m12 d21"
    assert differ("lisbon", "porto")
    assert not differ("lisbon", "lisbon, portugal")
    assert not differ("里斯本", "lisbon")
    assert opposite("dark mode", "light mode") == "mode"
    assert opposite("深色模式", "浅色模式") == "模式"
    assert opposite("dark mode", "dark mode") is None


SHORT = st.text(max_size=80)
ANY = SHORT | st.lists(
    st.sampled_from([*"的是我不喜欢：", "I ", "prefer ", "is ", "not ", "Anne's ", "birthday ", "3 May", ", ", "over ", "\n"]),
    max_size=30,
).map("".join)  # fmt: skip


@given(ANY, ANY)
def test_any_text_is_read(one: str, other: str) -> None:
    for statement in statements(one):
        start, end = statement.span
        assert 0 <= start < end <= len(one)
        assert statement.value
        assert isinstance(statement, Statement)
    assert contradiction(one, other) is None or contradiction(other, one) is not None


@pytest.mark.parametrize(
    "piece",
    ["a", " ", "的", "is ", "I like and ", "我不喜欢", "(", "\n", "a:", "x's ", "- ", "一", "1", "really ", "，",
     "moved to A ", "A of ", "搬到"],
)  # fmt: skip
def test_hostile_text_is_read_at_once(piece: str) -> None:
    text = piece * (100_000 // len(piece))
    found = statements(text)
    assert takes_less(1.0, lambda: statements(text))
    assert all(statement.span[1] <= CAP for statement in found)


@pytest.mark.parametrize("moved", [text for (text,) in rows("no home")])
def test_not_every_move_is_one_of_the_home(moved: str) -> None:
    for home in (
        "The user lives in Lisbon",
        "We live in Lisbon",
        "The meeting lives in Lisbon",
        "用户住在上海",
    ):
        assert contradiction(home, moved) is None
