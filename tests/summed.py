"""Conversations, and a scripted model that sums them up."""

import random

import pytest

from vaultmem.adapter.services import Question
from vaultmem.errors import LlmError
from vaultmem.memories.conversation import ASSISTANT, SUMMARY, USER, Entry, derived_id, place_of
from vaultmem.text.times import seconds
from vaultmem_chat.summarizer import Changes, Limits, next_round

TALK = "trip"
START = 1_790_000_000.0
NAMES = "Anne Marek Ines Jonas Mei Priya Tom Ada Rosa Otto".split()
PLACES = "Lisbon Kyoto Bergen Quito Tallinn Cork Graz Hanoi".split()


def words(text: str) -> int:
    return len(text.split())


def entry(role: str, number: int, content: str, **properties: object) -> Entry:
    created = START + number * 60.0
    id_ = derived_id(role, str(number))
    path = f"vaultmem/{place_of(TALK, role, f'{number:06}__{id_}')}"
    return Entry(path, id_, TALK, role, content, created, created, dict(properties))  # type: ignore[arg-type]


def talk(turns: int, length: int = 30, seed: int = 1) -> list[Entry]:
    """Turns of a user and an assistant, each with this many words."""
    chance = random.Random(seed)
    found = []
    for number in range(turns):
        name, place = chance.choice(NAMES), chance.choice(PLACES)
        said = f"On day {number} {name} booked the train to {place} for {chance.randint(20, 400)} euros."
        filler = " ".join(chance.choice(NAMES).lower() for _ in range(max(0, length - words(said))))
        role = USER if number % 2 == 0 else ASSISTANT
        found.append(entry(role, number, f"{said} {filler}".strip()))
    return found


class Scripted:
    """A model that returns the requested summary, and counts calls."""

    def __init__(self, *, fails: bool = False) -> None:
        self.asked: list[Question] = []
        self._fails = fails

    def ask(self, question: Question) -> object:
        self.asked.append(question)
        if self._fails:
            raise LlmError("it is busy")
        return f"Summary {len(self.asked)}."


def written(entries: list[Entry], made: Changes | None) -> list[Entry]:
    """The entries after a round, as the verb `converse` would leave them."""
    assert made is not None
    gone = {one["id"] for one in (*made.retire, *made.evict)}
    marks = {one["id"]: one["properties"] for one in made.mark}
    kept = [
        one._replace(properties={**one.properties, **marks.get(one.id, {})})  # type: ignore[dict-item]
        for one in entries
        if one.id not in gone
    ]
    for new in made.new:
        role, text = str(new["role"]), str(new["content"])
        if role == SUMMARY:
            path = f"vaultmem/{place_of(TALK, role, str(new['name']))}"
            kept = [one for one in kept if one.path != path]
            at = START + 10**6
        else:
            own = str(new.get("id") or derived_id("made", str(len(kept))))
            path = f"vaultmem/{place_of(TALK, role, own)}"
            at = seconds(new["created_at"]) or 0.0
        id_ = str(new.get("id") or derived_id(TALK, path))
        kept.append(Entry(path, id_, TALK, role, text, at, at, new["properties"]))  # type: ignore[arg-type]
    return kept


def settled(
    entries: list[Entry], model: Scripted | None, limits: Limits, rounds: int = 200
) -> list[Entry]:
    """The entries when there is nothing left to do."""
    for _ in range(rounds):
        made = next_round(entries, model, limits, words)
        if made is None:
            return entries
        entries = written(entries, made)
    pytest.fail("it never comes to an end")


def named(entries: list[Entry], name: str) -> Entry:
    found = [one for one in entries if one.role == SUMMARY and one.path.endswith(f"/{name}.md")]
    assert len(found) == 1
    return found[0]


def spread(count: int) -> list[Entry]:
    """Sessions of two turns, a day apart."""
    found = []
    for day in range(count):
        for turn in talk(2, 120, seed=day):
            at = START + day * 86_400 + turn.created - START
            own = derived_id(turn.id, str(day))
            path = turn.path.replace(turn.id, own).replace("__", f"-{day:04}__")
            found.append(turn._replace(created=at, id=own, path=path))
    return found
