"""What dreams propose for a person's own notes: nothing unreasonable, and an edit that touches only the place in
question."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.laws import examples
from vaultmem.dreams.note_names import Name, Note, names_in
from vaultmem.errors import NoteChangedError
from vaultmem.review.proposals import Proposal, broken_link, duplicates, edit, mention, orphan


def broken(text: str, target: str, line: int = 1, *nearest: str) -> Proposal | None:
    return broken_link(Note("A.md", text), line, target, nearest or ("Grafana",))


def named(text: str, title: str, words: str = "") -> list[Name]:
    note = Note("A.md", text)
    return list(names_in(text, note.linkable, {(words or title).lower(): title}))


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
    proposal = broken(text, "Grafna", line)
    assert proposal is not None
    assert edit(proposal, text) == after
    assert proposal.said == "[[Grafna]] leads nowhere; the nearest title is “Grafana”"
    with pytest.raises(NoteChangedError, match=r"A.md has changed"):
        edit(proposal, after)


@pytest.mark.parametrize(
    ("text", "words", "outline", "after"),
    [
        ("Met Anne B.", "Anne B", False, "Met [[Anne B]]."),
        ("Met Annie B.", "Annie B", False, "Met [[Anne B|Annie B]]."),
        ("| Annie B |", "Annie B", False, "| [[Anne B\\|Annie B]] |"),
        ("- met Annie B", "Annie B", True, "- met [[Annie B]]"),
        (
            "[[Anne B]] and `Anne B` and Anne B",
            "Anne B",
            False,
            "[[Anne B]] and `Anne B` and [[Anne B]]",
        ),
    ],
)
def test_a_mention_is_wrapped(text: str, words: str, outline: bool, after: str) -> None:
    (name,) = named(text, "Anne B", words)
    assert edit(mention(Note("A.md", text, outline), name), text) == after


@pytest.mark.parametrize(
    "text",
    [
        "[Anne Smith](x.md) https://x.org/Anne #Anne", "# About Anne Smith", "---\nwho: Anne Smith\n---\n",
        "```\nAnne Smith\n```", "```\nAnne Smith", "Bob", "#+title: About Anne Smith", "- key:: Anne Smith",
        "- [who:: Anne Smith] came", "> [!note] Anne Smith", "- ## Anne Smith",
        "[see Anne Smith](x.md) and [Anne Smith][1]", "[Anne Smith]: https://example.org",
        "$Anne Smith$ ((Anne Smith)) `Anne Smith`", "{{query Anne Smith}} %%Anne Smith%% <!-- Anne Smith -->",
        "Anne Smithson", "Anne Smith_son", ":PROPERTIES:\n:who: Anne Smith\n:END:\n",
        "#+BEGIN_QUERY\nAnne Smith\n#+END_QUERY\n", "About\nAnne Smith\n==========\n",
    ],
)  # fmt: skip
def test_words_that_are_something_else_already_get_no_link(text: str) -> None:
    assert named(text, "Anne Smith") == []
    if "```" not in text:
        after = f"{text.rstrip()}\n\nMet Anne Smith.\n"
        assert [name.line for name in named(after, "Anne Smith")] == [after.count("\n")]


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
    near = {"B": "similar meaning 0.80", "C": "shares words"}
    proposal = orphan(Note("A.md", text, outline), near)
    if proposal is None:
        assert after is None
        return
    assert edit(proposal, text) == after
    assert proposal.evidence == ("B: similar meaning 0.80", "C: shares words")
    with pytest.raises(NoteChangedError):
        edit(proposal, text + "\nmore")


SAME = "The same words in each of the notes, and enough of them to say something that counts."


def copies(text: str, **backlinks: int) -> list[Proposal]:
    counts = {f"{name}.md": count for name, count in backlinks.items()}
    return list(duplicates([Note(path, text) for path in counts], counts))


def test_of_duplicates_those_without_backlinks_go_and_no_text_changes() -> None:
    found = copies(SAME, B=0, A=5, C=0, D=1)
    assert [(each.path, each.new) for each in found] == [("B.md", "A.md"), ("C.md", "A.md")]
    assert edit(found[0], SAME + "\n") == SAME + "\n"
    with pytest.raises(NoteChangedError):
        edit(found[0], SAME + " but more")


rows_of_text = st.lists(
    st.text(alphabet="An e[]|`#-\r", max_size=12) | st.sampled_from(["```", "Anne", "---"]),
    max_size=6,
)


@settings(max_examples=examples(200))
@given(rows_of_text, st.integers(1, 7), st.booleans())
def test_an_edit_changes_one_place(rows: list[str], line: int, outline: bool) -> None:
    text = "\n".join(rows)
    note = Note("A.md", text, outline)
    found = [broken_link(note, line, "An", ("Ann",)), orphan(note, {"B": "near"})]
    found += [mention(note, name) for name in names_in(text, note.linkable, {"ann": "Ann e"})]
    for proposal in found:
        if proposal is None:
            continue
        after = edit(proposal, text)
        assert after != text
        assert len(after) - len(text) >= len(proposal.new) - len(proposal.old)
        start = next(
            (n for n, (a, b) in enumerate(zip(text, after, strict=False)) if a != b), len(text)
        )
        rest = len(text) - start
        assert after[:start] == text[:start]
        assert rest == 0 or after.endswith(text[start + len(proposal.old) :])


@settings(max_examples=examples(200))
@given(rows_of_text)
def test_where_a_link_may_be_is_a_mask_of_the_text(rows: list[str]) -> None:
    text = "\n".join(rows)
    linkable = Note("A.md", text).linkable
    assert len(linkable) == len(text)
    assert all(
        new in (old, "\0") and (old != "\n" or new == old)
        for old, new in zip(text, linkable, strict=True)
    )
