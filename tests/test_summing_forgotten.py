"""What was forgotten, corrected or made private is told on in no summary."""

from __future__ import annotations

import pytest

from tests.summed import Scripted, entry, named, settled, spread, talk, words
from vaultmem.adapter import Value
from vaultmem.adapter.services import Question
from vaultmem.dreams.summaries import is_outdated
from vaultmem.memories.conversation import (
    FINAL,
    MEMORY,
    SUMMARY,
    USER,
    Entry,
    to_evict,
)
from vaultmem.text.similarity import content_hash
from vaultmem_chat.summarizer import Limits, next_round

WIDE = Limits(most=10**6, threshold=10**6)


class Telling(Scripted):
    """A model whose summaries hold all that it was told: whatever leaks, leaks here."""

    def ask(self, question: Question) -> object:
        self.asked.append(question)
        return question.messages[-1].content


def away(entries: list[Entry], word: str, **properties: object) -> list[Entry]:
    """What holds a word is put away."""
    gone = {"deleted_at": "2026-11-22T10:00:00Z", **properties}
    return [
        one._replace(deleted=True, properties={**one.properties, **gone})  # type: ignore[dict-item]
        if word in one.content and one.role != SUMMARY and "covers" not in one.properties
        else one
        for one in entries
    ]


def summaries(entries: list[Entry]) -> str:
    return "\n".join(
        one.content
        for one in entries
        if not one.deleted and (one.role == SUMMARY or one.properties.get("compression_source"))
    )


SECRET = "The user is secretly learning the zither."


@pytest.mark.parametrize("model", [Telling(), None])
@pytest.mark.parametrize("turns", [30, 150, 600])
def test_what_was_forgotten_is_told_on_in_no_summary(model: Scripted | None, turns: int) -> None:
    said = talk(turns)
    said[4] = said[4]._replace(content=f"{SECRET} {said[4].content}")
    entries = settled([*said, entry(MEMORY, 5, SECRET)], model, WIDE)
    assert "zither" in summaries(entries)
    before = {one.path: one for one in entries if one.role == SUMMARY}
    entries = settled(away(entries, "zither"), model, WIDE)
    assert "zither" not in summaries(entries)
    after = {one.path: one for one in entries if one.role == SUMMARY}
    assert after.keys() == before.keys()
    if turns == 600:
        same = [path for path, one in after.items() if one.content == before[path].content]
        assert len(same) == len(after) - 3, "one chunk, its group, and the summary of all"


@pytest.mark.parametrize("turns", [30, 600])
def test_what_became_private_or_was_corrected_is_told_on_in_no_summary(turns: int) -> None:
    model = Telling()
    said = talk(turns)
    said[4] = said[4]._replace(content=f"{SECRET} {said[4].content}")
    entries = settled(said, model, WIDE)
    own = entries[4]
    for changed in (
        own._replace(properties={"private": True}),
        own._replace(content="The user plays chess."),
    ):
        after = settled([changed, *entries[:4], *entries[5:]], model, WIDE)
        assert "zither" not in summaries(after)
        assert ("chess" in summaries(after)) == ("chess" in changed.content)


@pytest.mark.parametrize("turns", [30, 600])
def test_the_summary_of_all_is_outdated_as_soon_as_something_it_tells_was_taken_back(
    turns: int,
) -> None:
    entries = settled(talk(turns), None, WIDE)
    final, first = named(entries, FINAL), entries[0]

    def outdated(old: Entry, *, deleted: bool = False, **properties: Value) -> bool:
        new = old._replace(deleted=deleted, properties={**old.properties, **properties})
        changed = [new if one is old else one for one in entries]
        return is_outdated(named(changed, FINAL), changed)

    assert not is_outdated(final, entries)
    assert outdated(first, private=True)
    assert outdated(first, deleted=True)
    assert not outdated(first, deleted=True, evicted=True), "it only made room"
    later_on = "2999-01-01T00:00:00Z"
    assert not outdated(first, deleted=True, replaced_by="x", deleted_at=later_on), (
        "it was corrected"
    )
    edited = first._replace(content="Something else.")
    assert is_outdated(final, [edited, *entries[1:]]), "rewritten in an editor"
    assert is_outdated(final, entries[1:]), "removed in an editor"
    learned = entry(MEMORY, 1, "Anne sails.")._replace(updated=final.updated + 1)
    assert not is_outdated(final, [*entries, learned]), "it was learned since"
    if turns == 600:
        assert outdated(named(entries, "L1/chunk_0"), private=True)
    later = entry(USER, 99_000, "I play the zither.", private=True)
    assert not is_outdated(final, [*entries, later]), "it was never told"
    mine = final._replace(properties={**final.properties, "content_hash": "of other words"})
    forgotten = away(entries, "On day 4 ")
    assert not is_outdated(mine, forgotten), "the person wrote it"
    assert is_outdated(final, forgotten)
    again = settled(forgotten, None, WIDE)
    assert not is_outdated(named(again, FINAL), again)


def test_what_had_to_make_room_stays_in_the_summaries_and_costs_nothing() -> None:
    model = Telling()
    entries = settled(talk(600), model, WIDE)
    asked, before = len(model.asked), summaries(entries)
    evicted = {one.id for one in to_evict(entries, 100)}
    made = next_round(entries, model, WIDE._replace(most=100), words)
    assert made is not None
    assert {one["id"] for one in made.evict} == evicted
    assert all(one["properties"] == {"evicted": True} for one in made.evict)
    entries = [
        one._replace(deleted=True, properties={"evicted": True}) if one.id in evicted else one
        for one in entries
    ]
    assert next_round(entries, model, WIDE._replace(most=100), words) is None
    assert (len(model.asked), summaries(entries)) == (asked, before)


@pytest.mark.parametrize("change", [{"content": "Mine."}, {"private": True}])
@pytest.mark.parametrize("turns", [50, 600])
def test_a_summary_that_a_person_edited_or_made_private_is_left_alone(
    change: dict[str, object], turns: int
) -> None:
    model = Telling()
    entries = settled(talk(turns), model, WIDE)
    final = named(entries, FINAL)
    own = {**final.properties, "content_hash": content_hash(final.content)}
    text = str(change.get("content", final.content))
    mine = final._replace(content=text, properties={**own, "private": "private" in change})
    entries = [mine if one is final else one for one in entries]
    asked = len(model.asked)
    more = [*entries, entry(MEMORY, 9_000, "Anne is allergic to nuts.")]
    assert next_round(more, model, WIDE, words) is None
    assert named(settled(away(more, "On day 4 "), model, WIDE), FINAL) == mine
    assert text not in "".join(one.messages[-1].content for one in model.asked[asked:])


def test_a_part_that_is_private_is_in_no_other_summary() -> None:
    model = Telling()
    entries = settled(talk(600), model, WIDE)
    part = named(entries, "L1/chunk_0")
    words_of_it = "On day 0 "
    hidden = part._replace(properties={**part.properties, "private": True})
    assert words_of_it in summaries([one for one in entries if one.path != part.path])
    entries = settled([hidden if one is part else one for one in entries], model, WIDE)
    assert words_of_it not in summaries([one for one in entries if one.path != part.path])
    assert hidden in entries


def test_the_summary_of_a_session_is_made_anew_without_what_was_forgotten() -> None:
    said = spread(3)
    said[0] = said[0]._replace(content=f"{SECRET} {said[0].content}")
    limits = Limits(threshold=1, summaries=False)
    model = Telling()
    entries = settled(said, model, limits)
    old = [one for one in entries if "zither" in one.content and one.role == MEMORY]
    assert len(old) == 1
    entries = settled(away(entries, "user is secretly"), model, limits)
    assert "zither" not in summaries(entries)
    new = [one for one in entries if one.properties.get("source_session_id") == old[0].properties["source_session_id"]]  # fmt: skip
    assert [said[1].content in one.content for one in new if not one.deleted] == [True]
    entries = settled(away(entries, said[1].content), model, limits)
    assert said[1].content not in summaries(entries)
