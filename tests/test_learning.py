"""From a turn to notes and facts: with a model, without one, with one that fails or answers nonsense, and after a
kill."""

from pathlib import Path

import pytest

from tests.learned import AT, Scripted, facts, item, turns
from vaultmem import Vault
from vaultmem.errors import LlmError
from vaultmem_chat import summarizer
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
    "failure", [LlmError("it is down"), "prose without any fact", {"facts": "?"}, [], None, 5]
)
def test_a_model_that_fails_costs_no_turn(opened: Vault, failure: object) -> None:
    model = Scripted(facts=failure)
    learned = learning.learn(opened, item("I live in Lisbon"), model)
    assert turns(opened)[0] == ("user", "I live in Lisbon")
    if isinstance(failure, LlmError):
        assert learned.trouble == "it is down"
        assert len(facts(opened)) == 1, "rules do what they can"


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
        assert sorted(facts(vault)) == ["User likes tea", "User lives in Porto"]


@pytest.mark.parametrize(
    "answer",
    [LlmError("timeout"), None, "sorry", [], {"decisions": [{"id": 77, "event": "DELETE"}]}, {"decisions": [{"id": -1, "event": "UPDATE", "text": "x"}]}, [[[]]], {"x": 1}],
)  # fmt: skip
def test_whatever_comes_back_no_new_fact_is_lost_and_no_old_one(
    opened: Vault, answer: object
) -> None:
    learned = decided(opened, answer, ["User has a cat"])
    assert learned.added == ["User has a cat"]
    assert sorted(facts(opened)) == ["User has a cat", "User likes tea", "User lives in Lisbon"]
    assert learned.trouble == ("timeout" if isinstance(answer, LlmError) else "")


def test_a_conversation_learns_nothing_of_another_and_overwrites_nothing_of_it(
    opened: Vault,
) -> None:
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
