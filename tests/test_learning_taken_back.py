"""What a person undoes, cuts out, forgets or keeps private while turns are being learned."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.learned import AT, Scripted, facts, item, turns
from vaultmem import Vault
from vaultmem.memories.conversation import derived_id
from vaultmem_chat import memory_context
from vaultmem_chat.learning import learning

pytestmark = pytest.mark.usefixtures("without_a_model")


def test_an_answer_that_goes_on_is_written_whole_and_a_persons_words_stay(opened: Vault) -> None:
    first = item("Tell me", "First words", id_="0")
    for more in ("First words", "First words and the last:\n\n- one\n- two", "First words"):
        learning.keep_turn(opened, first._replace(assistant=more))
    [_, answer] = opened.entries("c", ["turns"])
    assert answer["content"].strip() == "First words and the last:\n\n- one\n- two"
    note = Path(opened.path) / answer["path"]
    note.write_text(note.read_text().replace("First words", "My words"))
    learning.keep_turn(
        opened, first._replace(assistant="First words and the last:\n\n- one\n- two\n- three")
    )
    [_, answer] = opened.entries("c", ["turns"])
    assert answer["content"].startswith("My words")
    assert "three" not in answer["content"]


def test_what_a_person_takes_back_while_the_turn_waits_is_not_learned(opened: Vault) -> None:
    model = Scripted(facts=lambda asked: {"facts": ["The user is allergic to penicillin"]} if "penicillin" in asked.messages[-1].content else {"facts": []})  # fmt: skip
    said = "I am allergic to penicillin, and I play the cello."

    def learned(number: int, change: Callable[[Path, str], None]) -> str:
        turn = item(said, "Noted.", id_=str(number), at=AT + number, conversation=f"c{number}")
        learning.keep_turn(opened, turn)
        [note] = [
            entry
            for entry in opened.entries(turn.conversation, ["turns"])
            if entry["role"] == "user"
        ]
        change(Path(opened.path) / note["path"], note["id"])
        before = len(model.asked)
        learning.learn(opened, turn, model, [turn.user_id, turn.assistant_id])
        asked = "".join(one.messages[-1].content for one in model.asked[before:])
        assert "penicillin" not in asked
        assert not [fact for fact in facts(opened, turn.conversation) if "penicillin" in fact]
        return asked

    learned(0, lambda _, id_: opened.forget(id_) and None)
    learned(1, lambda note, _: note.unlink())
    assert not [entry for entry in opened.entries("c1", ["turns"]) if entry["role"] == "user"], (
        "it stays away"
    )
    learned(
        2,
        lambda note, _: (
            note.write_text(note.read_text().replace("---\n", "---\nprivate: true\n", 1)) and None
        ),
    )
    asked = learned(
        3,
        lambda note, _: (
            note.write_text(note.read_text().replace(" am allergic to penicillin, and I", ""))
            and None
        ),
    )
    assert "I play the cello." in asked


def test_what_a_person_cut_out_of_an_answer_is_not_put_back(opened: Vault) -> None:
    turn = item("Tell me", "Of boats. Your number is 4711.", id_="0")
    learning.keep_turn(opened, turn)
    [_, answer] = opened.entries("c", ["turns"])
    note = Path(opened.path) / answer["path"]
    note.write_text(note.read_text().replace(" Your number is 4711.", ""))
    learning.learn(opened, turn, None)
    assert "4711" not in note.read_text()


def test_turns_that_wait_as_notes_do_not_make_summaries_begin_anew(opened: Vault) -> None:
    model = Scripted(facts=lambda asked: {"facts": [f"The user has boat {len(asked.messages[-1].content)}"]}, summary="A summary")  # fmt: skip
    turns = [item("We talk of my boat. " * 30 + "x" * number, "I see. " * 40, id_=str(number), at=AT + 60 * number) for number in range(6)]  # fmt: skip
    for turn in turns:
        learning.keep_turn(opened, turn)
    for turn in turns:
        learning.learn(opened, turn, model)
    summed = [one for one in model.asked if one.purpose == "summary"]
    anew = [one for one in summed if "A summary" not in one.messages[-1].content]
    assert len(summed) > 2
    assert len(anew) == 1


def test_a_private_summary_is_told_to_no_model_and_left_as_it_is(opened: Vault) -> None:
    new = {"role": "summary", "name": "L3/final", "content": "They spoke of the diagnosis."}
    opened.converse("c", new=[new, {"role": "memory", "content": "User has a cat"}])
    opened.sync()
    [one] = opened.entries("c", ["summaries"])
    opened.converse("c", mark=[{"id": one["id"], "properties": {"private": True}}])
    model = Scripted(facts={"facts": []}, summary="A summary of the model")
    for number in range(4):
        talked = item("We talk of boats. " * 60, "Of boats. " * 60, id_=str(number))
        learning.learn(opened, talked, model)
    assert "diagnosis" not in model.words()
    [one] = opened.entries("c", ["summaries"])
    assert one["content"] == "They spoke of the diagnosis."


def test_what_was_forgotten_is_not_told_on_when_the_next_turn_is_learned(opened: Vault) -> None:
    model = Scripted(facts={"facts": []}, summary=lambda asked: asked.messages[-1].content[:20_000])
    for number, word in enumerate(("zither ", "boats ", "nets ", "tides ")):
        learning.learn(opened, item(f"We talk about {word}" * 30, "I see. " * 40, id_=str(number), at=AT + number), model)  # fmt: skip
    [final] = opened.entries("c", ["summaries"])
    assert "zither" in final["content"]
    opened.forget(derived_id("0", "user"))
    assert opened.entries("c", ["summaries"]) == []
    learning.learn(opened, item("And about nets", "Yes", id_="5", at=AT + 9), model)
    [final] = opened.entries("c", ["summaries"])
    assert "boats" in final["content"]
    assert "zither" not in final["content"]
    [one] = [entry for entry in opened.entries("c", ["turns"]) if "boats" in entry["content"]]
    path = Path(opened.path) / one["path"]
    opened.sync()
    limits = memory_context.limits_of(opened.config)
    assert "boats" in memory_context.context_for(opened, "c", "what of it?", [], limits).text
    path.write_text(path.read_text().replace("---\n", "---\nprivate: true\n", 1))
    assert "boats" not in memory_context.context_for(opened, "c", "what of it?", [], limits).text, (
        "it waits"
    )
    [final] = opened.entries("c", ["summaries"])
    assert final["outdated"]
    learning.learn(opened, item("And about nets", "Yes", id_="6", at=AT + 10), model)
    [final] = opened.entries("c", ["summaries"])
    assert not final["outdated"]
    assert "nets" in final["content"]
    assert "boats" not in final["content"]


def test_old_turns_and_facts_are_put_away_above_the_limit(
    opened: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VAULTMEM_CONVERSATIONS_MAX_ENTRIES", "6")
    monkeypatch.setenv("VAULTMEM_CONVERSATIONS_SUMMARIES", "off")
    with Vault(opened.path) as vault:
        for number in range(5):
            learning.learn(
                vault,
                item(f"hello {number}", f"answer {number}", id_=str(number), at=AT + number * 60),
                None,
            )
        kept = [f"{who} {number}" for number in (2, 3, 4) for who in ("hello", "answer")]
        assert [content for _, content in turns(vault)] == kept
        assert len(vault.entries("c", deleted=True)) == 10
