"""From a turn to notes and facts: with a model, without one, with one that fails or answers nonsense, and after a
kill."""

from collections.abc import Callable
from pathlib import Path
from unittest.mock import Mock

import pytest

from tests.learned import AT, Scripted, facts, item, turns
from vaultmem import Vault
from vaultmem.errors import LlmError
from vaultmem.memories.conversation import derived_id
from vaultmem_chat import memory_context, summarizer
from vaultmem_chat.learning import learning
from vaultmem_chat.learning.learning import Source, take_in, write_down

pytestmark = pytest.mark.usefixtures("without_a_model")

KEY = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD"


def test_both_sides_are_kept_and_linked_and_facts_lead_back_to_the_words(opened: Vault) -> None:
    learned = learning.learn(opened, item("I live in Lisbon."), None)
    assert turns(opened) == [("user", "I live in Lisbon."), ("assistant", "I see.")]
    user, answer = opened.entries("c", ["turns"])
    assert user["created_at"] == "2026-11-18T11:06:40.000Z"
    assert answer["created_at"] == "2026-11-18T11:06:42.500Z"
    assert answer["properties"]["links"] == [f"[[{user['title']}]]"]
    assert answer["properties"]["model"] == "gpt-x"
    [fact] = opened.entries("c", ["facts"])
    assert "Lisbon" in fact["content"]
    assert fact["properties"]["links"] == [f"[[{user['title']}]]"]
    assert (learned.added, learned.by_model, learned.trouble) == ([fact["content"]], False, "")


@pytest.mark.parametrize(("user", "assistant", "wanted"), [
    ("hello", None, ["user"]), ("hello", "", ["user"]), ("", "hi", ["assistant"]), (" \n", None, []), ("x", "y", ["user", "assistant"]),
])  # fmt: skip
def test_what_was_not_said_is_not_written(
    opened: Vault, user: str, assistant: str | None, wanted: list[str]
) -> None:
    learning.learn(opened, item(user, assistant), None)
    assert [role for role, _ in turns(opened)] == wanted


def test_doing_it_again_changes_nothing(opened: Vault, vault: Path) -> None:
    model = Scripted(facts={"facts": ["User lives in Lisbon", "User likes tea"]}, reconcile=[])
    learning.learn(opened, item("I live in Lisbon and like tea"), model)
    before = {path: path.read_bytes() for path in vault.rglob("*.md")}
    model.answers["facts"] = {
        "facts": ["The user's home is Lisbon"]
    }  # models choose other words each time
    learning.learn(opened, item("I live in Lisbon and like tea"), model)
    assert {path: path.read_bytes() for path in vault.rglob("*.md")} == before


def test_secrets_reach_neither_the_vault_nor_the_model(opened: Vault, vault: Path) -> None:
    model = Scripted(facts=lambda _: {"facts": [f"User's key is {KEY}"]}, reconcile=[])
    learning.learn(opened, item(f"My key is {KEY}", f"So {KEY} it is"), model)
    learning.learn(opened, item(f"And {KEY} again", None, id_="two"), model)
    assert KEY not in "".join(path.read_text() for path in vault.rglob("*.md"))
    assert KEY not in model.words()


def test_only_the_words_of_the_user_make_facts(opened: Vault) -> None:
    model = Scripted(facts={"facts": []})
    learning.learn(opened, item("Hello", "I live in Lisbon. You like tea. My name is Bob."), model)
    assert facts(opened) == []
    assert "Lisbon" not in model.words()
    learning.learn(opened, item("Hello", "I live in Lisbon. My name is Bob.", id_="two"), None)
    assert facts(opened) == []


@pytest.mark.parametrize(
    "failure", [LlmError("it is down"), "prose without any fact", {"facts": "?"}, None]
)
def test_a_model_that_fails_costs_no_turn(opened: Vault, failure: object) -> None:
    model = Scripted(facts=failure)
    learned = learning.learn(opened, item("I live in Lisbon"), model)
    assert turns(opened)[0] == ("user", "I live in Lisbon")
    if isinstance(failure, LlmError):
        assert learned.trouble == "it is down"
        assert len(facts(opened)) == 1, "rules do what they can"


def test_a_turn_reads_its_conversation_before_and_after_its_facts(
    opened: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads = Mock(wraps=opened.entries)
    monkeypatch.setattr(opened, "entries", reads)
    learned = learning.learn(opened, item("I live in Lisbon."), None)
    assert learned.added
    assert reads.call_count == 2


def said(
    vault: Vault, texts: list[str], model: Scripted | None = None, **more: object
) -> learning.Learned:
    return take_in(vault, Source("c", AT, **more), texts, model)  # type: ignore[arg-type]


@pytest.mark.parametrize("is_asked", [False, True])
def test_each_fact_whose_place_a_new_one_takes_leads_to_it(opened: Vault, is_asked: bool) -> None:
    both = ["User lives in Lisbon", "User lives in Madrid"]
    write_down(opened, Source("c", AT), both)
    new = "User lives in Porto"
    answer = {"decisions": [{"id": at, "event": "UPDATE", "text": new} for at in (0, 1)]}
    learned = said(opened, [new], Scripted(reconcile=answer) if is_asked else None)
    assert sorted(learned.updated) == [(old, new) for old in both]
    assert (learned.by_model, learned.deleted) == (is_asked, [])
    [fact] = opened.entries("c", ["facts"])
    gone = [entry for entry in opened.entries("c", ["facts"], deleted=True) if entry["deleted"]]
    assert sorted(one["content"] for one in gone) == both
    assert [one["properties"]["replaced_by"] for one in gone] == [fact["id"], fact["id"]]


def decided(vault: Vault, answer: object, new: list[str]) -> learning.Learned:
    write_down(vault, Source("c", AT), ["User lives in Lisbon"])
    write_down(vault, Source("c", AT + 1), ["User likes tea"])
    return said(vault, new, Scripted(reconcile=answer))


@pytest.mark.parametrize("strategy", ["subset", "enumerate"])
def test_a_model_decides(opened: Vault, strategy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VAULTMEM_LLM_STRATEGY", strategy)
    with Vault(opened.path) as vault:
        answer = [
            {"id": 0, "event": "UPDATE", "text": "User lives in Porto"},
            {"id": 1, "event": "NONE", "text": "User likes tea"},
        ]
        learned = decided(vault, {"decisions": answer}, ["User lives in Porto"])
        assert learned.by_model
        assert learned.updated == [("User lives in Lisbon", "User lives in Porto")]
        assert facts(vault) == ["User likes tea", "User lives in Porto"]


@pytest.mark.parametrize(
    "answer",
    [LlmError("timeout"), None, {"decisions": [{"id": 77, "event": "DELETE"}]}, {"decisions": [{"id": -1, "event": "UPDATE", "text": "x"}]}, [[[]]]],
)  # fmt: skip
def test_whatever_comes_back_no_fact_is_lost(opened: Vault, answer: object) -> None:
    learned = decided(opened, answer, ["User has a cat"])
    assert learned.added == ["User has a cat"]
    assert facts(opened) == ["User has a cat", "User likes tea", "User lives in Lisbon"]
    assert learned.trouble == ("timeout" if isinstance(answer, LlmError) else "")


def test_a_conversation_neither_learns_of_another_nor_changes_it(opened: Vault) -> None:
    write_down(opened, Source("other", AT), ["User lives in Lisbon"])
    opened.write("User lives in Lisbon", category="people")
    model = Scripted(reconcile={"decisions": [{"id": 0, "event": "DELETE"}]})
    said(opened, ["User lives in Porto"], model)
    assert model.asked == []
    assert facts(opened, "other") == ["User lives in Lisbon"]
    assert len(opened.memories()) == 1


def test_private_facts_and_summaries_of_sessions_are_not_shown_to_a_model(opened: Vault) -> None:
    write_down(opened, Source("c", AT), ["User's diagnosis is secret", "User likes tea"])
    [private] = [entry["id"] for entry in opened.entries("c") if "diagnosis" in entry["content"]]
    opened.converse("c", mark=[{"id": private, "properties": {"private": True}}],
                    new=[{"role": "memory", "content": "An old session", "properties": {"compression_source": True}}])  # fmt: skip
    model = Scripted(reconcile=[], summary="They spoke")
    said(opened, ["User has a cat"], model)
    summarizer.update(opened, "c", model)
    assert "tea" in model.words()
    assert "diagnosis" not in model.words()
    assert "old session" not in model.words()


def test_the_neighbourhood_is_small_and_has_what_matters(opened: Vault) -> None:
    noise = [
        f"User once read book number {number} about {word}"
        for number, word in enumerate(["ships", "bees", "tax", "snow"] * 15)
    ]
    write_down(opened, Source("c", AT), ["User lives in Lisbon", *noise])
    model = Scripted(reconcile=[])
    said(opened, ["User moved and lives in Porto now"], model)
    told = model.asked[0].messages[-1].content
    assert "Lisbon" in told
    assert told.count('"id"') <= 12


# --- What a person undoes, cuts out, forgets or keeps private meanwhile


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

    def rewritten(old: str, new: str) -> Callable[[Path, str], None]:
        def change(note: Path, _: str) -> None:
            note.write_text(note.read_text().replace(old, new, 1))

        return change

    learned(0, lambda _, id_: opened.forget(id_) and None)
    learned(1, lambda note, _: note.unlink())
    left = [entry["role"] for entry in opened.entries("c1", ["turns"])]
    assert "user" not in left, "it stays away"
    learned(2, rewritten("---\n", "---\nprivate: true\n"))
    asked = learned(3, rewritten(" am allergic to penicillin, and I", ""))
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


def test_the_oldest_go_above_the_limit(opened: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
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
