"""For user notes dream only proposes: with evidence, and an edit that touches nothing but the place in question."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vaultmem.errors import NoteChangedError
from vaultmem.memories.proposals import (
    BrokenLink,
    Facts,
    Mention,
    Orphan,
    Proposal,
    Twins,
    edit,
    proposals,
)


def proposed(facts: Facts, **texts: str) -> list[Proposal]:
    return proposals(facts, lambda path: texts[path.removesuffix(".md")])


def broken(text: str, target: str, line: int = 1, *nearest: str) -> list[Proposal]:
    return proposed(Facts([BrokenLink("A.md", line, target, nearest or ("Grafana",))]), A=text)


@pytest.mark.parametrize(
    ("text", "line", "after"),
    [
        ("See [[Grafna]] now.", 1, "See [[Grafana]] now."),
        (
            "x\r\nSee [[Grafna#Panels|the panels]].\r\n",
            2,
            "x\r\nSee [[Grafana#Panels|the panels]].\r\n",
        ),
        ("| ![[Grafna\\|200]] |", 1, "| ![[Grafana\\|200]] |"),
        ("[[ Grafna ]]", 1, "[[ Grafana ]]"),
    ],
)
def test_of_a_broken_link_only_the_target_changes(text: str, line: int, after: str) -> None:
    (proposal,) = broken(text, "Grafna", line)
    assert edit(proposal, text) == after
    assert proposal.said == "[[Grafna]] leads nowhere; the nearest title is “Grafana”"
    with pytest.raises(NoteChangedError, match=r"A.md has changed"):
        edit(proposal, after)


def test_a_broken_link_that_is_gone_or_has_nothing_near_is_no_proposal() -> None:
    assert broken("See [[Grafana]].", "Grafna") == []
    assert proposed(Facts([BrokenLink("A.md", 1, "Grafna", ())]), A="[[Grafna]]") == []
    (proposal,) = broken("[[Grafna]]", "Grafna", 1, "Grafana", "Gravel")
    assert proposal.evidence == ("[[Grafna]]", "also near: Gravel")


@pytest.mark.parametrize(
    ("text", "line", "words", "outline", "after"),
    [
        ("Met Anne.", 1, "Anne", False, "Met [[Anne]]."),
        ("Met Annie.", 1, "Annie", False, "Met [[Anne|Annie]]."),
        ("| Annie |", 1, "Annie", False, "| [[Anne\\|Annie]] |"),
        ("- met Annie", 1, "Annie", True, "- met [[Annie]]"),
        ("[[Anne]] and `Anne` and Anne", 1, "Anne", False, "[[Anne]] and `Anne` and [[Anne]]"),
        ("[Anne](x.md) https://x.org/Anne #Anne", 1, "Anne", False, None),
        ("# About Anne", 1, "Anne", False, None),
        ("---\nwho: Anne\n---\n", 2, "Anne", False, None),
        ("```\nAnne\n```", 2, "Anne", False, None),
        ("Bob", 1, "Anne", False, None),
    ],
)
def test_a_mention_is_wrapped_where_a_link_may_stand(
    text: str, line: int, words: str, outline: bool, after: str | None
) -> None:
    found = proposed(Facts(mentions=[Mention("A.md", line, words, "Anne", outline)]), A=text)
    assert [edit(proposal, text) for proposal in found] == ([after] if after else [])


@pytest.mark.parametrize(
    ("text", "outline", "after"),
    [
        ("Body\n", False, "Body\n\nRelated: [[B]], [[C]]\n"),
        ("Body\r\n\r\nMore\r\n", False, "Body\r\n\r\nMore\r\n\r\nRelated: [[B]], [[C]]\r\n"),
        ("- a\n\t- b", True, "- a\n\t- b\n- Related: [[B]], [[C]]"),
        ("", False, "Related: [[B]], [[C]]"),
        ("```\nnever closed", False, None),
        ("```\nclosed\n```", False, "```\nclosed\n```\n\nRelated: [[B]], [[C]]"),
    ],
)
def test_an_orphan_gets_a_last_line(text: str, outline: bool, after: str | None) -> None:
    near = (("B", "similar meaning 0.80"), ("C", "shares words"))
    found = proposed(Facts(orphans=[Orphan("A.md", near, outline)]), A=text)
    assert [edit(proposal, text) for proposal in found] == ([] if after is None else [after])
    for proposal in found:
        assert proposal.evidence == ("B: similar meaning 0.80", "C: shares words")
        with pytest.raises(NoteChangedError):
            edit(proposal, text + "\nmore")


SAME = "The same words in each of the notes, and enough of them to say something that counts."


def test_of_duplicates_those_without_backlinks_go_and_no_text_changes() -> None:
    facts = Facts(twins=[Twins(("B.md", "A.md", "C.md", "D.md"), (0, 5, 0, 1), 1.0)])
    found = proposed(facts, A=SAME, B=SAME, C=SAME, D=SAME)
    assert [(each.path, each.new) for each in found] == [("B.md", "A.md"), ("C.md", "A.md")]
    assert edit(found[0], SAME + "\n") == SAME + "\n"
    with pytest.raises(NoteChangedError):
        edit(found[0], SAME + " but more")


def test_notes_that_say_next_to_nothing_are_no_duplicates() -> None:
    facts = Facts(twins=[Twins(("A.md", "B.md"), (0, 0), 1.0)])
    for text in ("same", f"---\nwhy: {SAME}\n---\nsame", f"why:: {SAME}\n\n- same"):
        assert proposed(facts, A=text, B=text) == []
    assert len(proposed(facts, A=SAME, B=SAME)) == 1


def test_an_id_stays_as_long_as_the_evidence() -> None:
    facts = Facts(
        [BrokenLink("A.md", 1, "Grafna", ("Grafana",))], [Mention("A.md", 2, "Anne", "Anne")]
    )
    one = proposed(facts, A="See [[Grafna]].\nMet Anne.")
    moved = Facts([facts.broken[0]._replace(line=3)], [facts.mentions[0]._replace(line=4)])
    assert [each.id for each in proposed(moved, A="new\n\nSee [[Grafna]].\nMet Anne.")] == [
        each.id for each in one
    ]
    assert [len(each.id) for each in one] == [12, 12]
    other = proposed(Facts([BrokenLink("A.md", 1, "Grafna", ("Gravel",))]), A="See [[Grafna]].")
    assert other[0].id not in [each.id for each in one]
    assert (
        len(
            proposed(
                facts._replace(broken=[*facts.broken, *facts.broken]),
                A="See [[Grafna]].\nMet Anne.",
            )
        )
        == 2
    )


lines = st.lists(
    st.text(alphabet="An e[]|`#-\r", max_size=12) | st.sampled_from(["```", "Anne", "---"]),
    max_size=6,
)


@settings(max_examples=200, deadline=None)
@given(lines, st.integers(1, 7), st.booleans())
def test_an_edit_changes_one_place(rows: list[str], line: int, outline: bool) -> None:
    text = "\n".join(rows)
    facts = Facts(
        [BrokenLink("A.md", line, "An", ("Ann",))],
        [Mention("A.md", line, "Ann", "Anne", outline)],
        orphans=[Orphan("A.md", (("B", "near"),), outline)],
    )
    for proposal in proposed(facts, A=text):
        after = edit(proposal, text)
        assert after != text
        assert len(after) - len(text) >= len(proposal.new) - len(proposal.old)
        start = next(
            (n for n, (a, b) in enumerate(zip(text, after, strict=False)) if a != b), len(text)
        )
        kept = len(text) - start
        assert after[:start] == text[:start]
        assert kept == 0 or after.endswith(text[start + len(proposal.old) :])
