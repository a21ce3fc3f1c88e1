"""Links between memories go both ways and never lead nowhere."""

import pytest

from tests.stand_in_view import StandInView, memory_file
from vaultmem.adapter import Value
from vaultmem.dreams.memory_links import link, resolve, unlink
from vaultmem.memories.draft import Draft


def resolved(view: StandInView) -> dict[str, Value]:
    _, after = view.run(resolve)
    assert after.run(resolve)[0].changes == ()
    return {memory.title: memory.properties.get("links") for memory in after.memories()}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (["[[Bob]]"], ["[[Bob]]"]),
        (["[[people/Bob|B]]"], ["[[people/Bob|B]]"]),  # as a person wrote it
        ("[[Bob]], [[Diary]]", "[[Bob]], [[Diary]]"),
        (["[[Gone]]"], None),
        (["[[Merged]]"], ["[[Bob]]"]),
        (["[[Merged]]", "[[Bob]]"], ["[[Bob]]"]),
        (["[[Twice merged]]"], ["[[Bob]]"]),
        (["[[Away]]", "[[Diary]]"], ["[[Diary]]"]),
        (["some words", "[[Anne]]"], ["some words"]),  # not to itself
    ],
)
def test_entries_lead_to_what_lives(before: Value, after: Value) -> None:
    bob = memory_file("people/Bob", "Bob")
    second = memory_file(
        "archive/Merged", "Bob", replaced_by=bob[1].properties["id"], deleted_at="2026-11-01"
    )
    files = dict([
        memory_file("people/Anne", "Anne", links=before),
        bob,
        second,
        memory_file("archive/Twice merged", "Bob", replaced_by=second[1].properties["id"]),
        memory_file("archive/Away", "Away", deleted_at="2026-11-01"),
    ])  # fmt: skip
    links = resolved(StandInView(files, {"Diary.md": ""}))
    assert links["Anne"] == after
    assert links["Bob"] == (["[[Anne]]"] if "Bob" in str(after) else None)


def test_link_and_unlink_are_each_others_undoing() -> None:
    view = StandInView(
        dict([memory_file("people/Anne", "A"), memory_file("people/Bob", "B", links=["[[Diary]]"])])
    )
    one, other = view.memories()
    draft = Draft(view)
    link(draft, one, other)
    after = view.after(draft.plan("link"))
    links = {memory.title: memory.properties.get("links") for memory in after.memories()}
    assert links == {"Anne": ["[[Bob]]"], "Bob": ["[[Diary]]", "[[Anne]]"]}
    again = Draft(after)
    link(again, *after.memories())
    assert again.plan("link").changes == ()
    back = Draft(after)
    unlink(back, *after.memories())
    undone = after.after(back.plan("unlink"))
    assert [m.properties.get("links") for m in undone.memories()] == [None, ["[[Diary]]"]]
