"""What a chat learned about the person is proposed as a memory: asked once, one tick away, never accepted by itself."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli_run import ran
from tests.index_dump import synced
from tests.scripted_llm import ScriptedLlm
from tests.scripted_replies import Arguments, Reply, as_json, text
from vaultmem import MemoryClient, Vault
from vaultmem.dreams.short_texts import is_about_person

LISBON = "The user lives in Lisbon"
MARIA = "The user's daughter is called Maria"


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """By words alone, at noon of 22 November 2026."""
    monkeypatch.setenv("VAULTMEM_EMBEDDING_MODEL", "off")
    monkeypatch.setenv("VAULTMEM_TESTS", "1")
    at(monkeypatch, "2026-11-22T12:00:00Z")


def at(monkeypatch: pytest.MonkeyPatch, moment: str) -> None:
    monkeypatch.setenv("VAULTMEM_NOW", moment)


@pytest.fixture
def opened(vault: Path) -> Iterator[Vault]:
    synced(vault)
    with Vault(str(vault)) as found:
        yield found


def learn(vault: Vault, conversation: str, *facts: str, **properties: object) -> None:
    """Write it as a chat that learned it."""
    new = [{"role": "memory", "content": fact, "properties": properties} for fact in facts]
    vault.converse(conversation, new=new, by=f"conversation:{conversation}")


def asked(vault: Vault) -> list[str]:
    """The questions of pending, without ids."""
    shown = ran("pending", "--format", "json", "--vault", vault.path).data["review"]
    return [one["text"] for one in shown]


def answer(vault: Vault, words: str, box: str) -> dict[str, Any]:
    """Answer on the page as a person does in an editor, and read the page."""
    ran("notify", "--vault", vault.path)
    page = Path(vault.path) / "vaultmem" / "pending.md"
    before = page.read_text()
    assert f"- [ ] remember? {words}" in before
    page.write_text(before.replace(f"- [ ] remember? {words}", f"- [{box}] remember? {words}"))
    ended = ran("notify", "--format", "json", "--vault", vault.path)
    assert ended.code == 0, ended.err
    vault.sync()
    found: dict[str, Any] = ended.data
    return found


def said(vault: Vault) -> list[str]:
    return sorted(memory["content"].strip() for memory in vault.memories())


def test_a_chat_teaches_the_vault_one_tick_later(vault: Path, scripted_llm: ScriptedLlm) -> None:
    def by_purpose(one: Arguments) -> Reply:
        is_facts = one.schema_mode and "facts" in str(one.schema)
        return as_json({"facts": [LISBON]}) if is_facts else text("Nice.")

    scripted_llm.otherwise = by_purpose
    synced(vault)
    with MemoryClient(str(vault), base_url=scripted_llm.url, model="m", api_key="k") as client:
        client.chat("I live in Lisbon by now.")
        client.learn()
    with Vault(str(vault)) as opened:
        opened.sync()
        assert asked(opened) == [f"remember? {LISBON} (from the chat default on 2026-11-22)"]
        assert said(opened) == [], "nothing happens by itself"
        answer(opened, LISBON, "x")
        (made,) = opened.memories()
        assert (made["content"].strip(), made["agent"], made["scope"]) == (LISBON, "", "global")
        assert made["links"] == ["Chat 2026-11-22 default"], "it links to where it comes from"
        assert [
            one["content"]
            for one in opened.recall("where does the user live?", notes=False)["memories"]
        ] == [LISBON]
        assert asked(opened) == []


def test_an_undo_asks_about_the_fact_again(opened: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    learn(opened, "work", LISBON)
    answer(opened, LISBON, "x")
    assert said(opened) == [LISBON]
    at(monkeypatch, "2026-11-22T13:00:00Z")
    opened.undo(last=True)
    opened.sync()
    ran("notify", "--vault", opened.path)
    assert said(opened) == []
    assert len(asked(opened)) == 1
    at(monkeypatch, "2026-11-22T14:00:00Z")
    answer(opened, LISBON, "x")
    assert said(opened) == [LISBON]


def test_what_is_refused_is_not_asked_again(opened: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    learn(opened, "work", LISBON)
    answer(opened, LISBON, "-")
    learn(opened, "home", LISBON.lower(), "User lives in Lisbon.")
    at(monkeypatch, "2027-06-01T12:00:00Z")  # answers to items that are gone are forgotten by then
    opened.sync()
    ran("notify", "--vault", opened.path)
    assert asked(opened) == []
    assert said(opened) == []
    assert len(opened.entries("work", ["facts"])) == 1, "the conversation keeps what it knows"


def test_what_two_chats_learned_is_one_question(opened: Vault) -> None:
    learn(opened, "work", LISBON)
    learn(opened, "home", LISBON)
    assert len(asked(opened)) == 1
    answer(opened, LISBON, "x")
    assert said(opened) == [LISBON]
    assert opened.entries("work", ["facts"]) == opened.entries("home", ["facts"]) == []


def test_only_what_lasts_and_is_about_the_person_is_asked(opened: Vault) -> None:
    learn(
        opened, "work",
        "Lisbon is the capital of Portugal", "Does the user like tea?", "The user's key is sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD",
        "The user is working on a patch right now", "我们在讨论一个补丁",
    )  # fmt: skip
    learn(opened, "work", "The user met Rita yesterday", memory_type="episodic")
    learn(opened, "work", "The user sees a therapist", private=True)
    assert asked(opened) == []
    learn(opened, "work", "用户住在里斯本")
    assert asked(opened) == ["remember? 用户住在里斯本 (from the chat work on 2026-11-22)"]
    shown = ran("pending", "--format", "text", "--vault", opened.path).out
    assert shown.endswith("vaultmem/entries/work\n")  # and not a record in a hidden folder
    learn(opened, "work", "Our cat is called Tuna")
    assert "remember? Our cat is called Tuna (from the chat work on 2026-11-22)" in asked(opened)


@pytest.mark.parametrize(
    ("content", "is_it"),
    [("User prefers tea", True), ("The user’s sister is Ana", True), ("I moved to Porto", True), ("用户对花生过敏", True),
     ("我住在上海", True), ("The deploy key expires", False), ("Users of the app want tea", False), ("Is it my turn?", False),
     ("My what?", False)],
)  # fmt: skip
def test_who_a_statement_is_about(content: str, is_it: bool) -> None:
    assert is_about_person(content) is is_it


def test_what_a_memory_says_is_not_asked(opened: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    learn(opened, "work", "The user lives in Bristol", MARIA)
    at(monkeypatch, "2026-11-23T12:00:00Z")
    opened.write("The user lives in Lisbon now", category="people")
    opened.write("The user’s daughter is called Maria.", category="people")
    assert asked(opened) == []
    learn(opened, "work", "The user lives in Porto now")
    assert [one.partition(" (")[0] for one in asked(opened)] == [
        "remember? The user lives in Porto now"
    ]
    answer(opened, "The user lives in Porto now", "x")
    assert [one for one in said(opened) if "Maria" not in one] == ["The user lives in Porto now"], (
        "a tick is the person's word, and replaces what it contradicts"
    )


def test_a_few_questions_at_once_and_the_next_when_they_are_answered(opened: Vault) -> None:
    hobbies = ("chess", "piano", "sailing", "pottery", "judo")
    for hobby in hobbies:
        learn(opened, "work", f"The user loves {hobby}")
    opened.write("Prefers what a web page says", category="preferences", source="https://x.test")
    first = asked(opened)
    assert [one[:9] for one in first] == ["needs you", "remember?", "6 things "]
    hobby = re.findall(r"loves (\w+)", first[1])[0]
    answer(opened, f"The user loves {hobby}", "x")
    assert re.findall(r"loves (\w+)", asked(opened)[1]) not in ([], [hobby])
    listed = ran("review", "--list", "--vault", opened.path).out
    assert {*re.findall(r"remember\? The user loves (\w+)", listed)} == {*hobbies} - {hobby}


def test_recall_says_that_it_holds_one_back_and_approve_lets_it_in(opened: Vault) -> None:
    learn(opened, "work", LISBON)
    (fact,) = opened.entries("work", ["facts"])
    for by in ("", "codex"):
        found = opened.recall("where does the user live?", by=by or None)
        assert found["memories"] == []
        assert found["held_back"] == [{"id": fact["id"], "by": None, "note": False}]
    assert "held_back" not in opened.recall("what does the boiler cost?")
    shown = ran(
        "recall", "where does the user live?", "--vault", opened.path, "--format", "text"
    ).out
    assert "Lisbon" not in shown
    assert f"vaultmem approve {fact['id'][:8]}" in shown
    tried = ran("approve", fact["id"][:8], "--dry-run", "--json", "--vault", opened.path)
    assert (tried.code, said(opened)) == (0, [])
    done = ran("approve", fact["id"][:8], "--format", "json", "--vault", opened.path)
    assert (done.data["approved"], done.data["memories"][0]["title"]) == (1, LISBON)
    opened.sync()
    found = opened.recall("where does the user live?", by="codex")
    assert [one["content"] for one in found["memories"]] == [LISBON]
    assert "held_back" not in found
    assert asked(opened) == []


def test_an_assistant_cannot_answer(opened: Vault) -> None:
    learn(opened, "work", LISBON)
    (item,) = ran("pending", "--format", "json", "--vault", opened.path).data["review"]
    ended = ran("done", item["id"], "--by", "codex", "--json", "--vault", opened.path)
    assert ended.code != 0
    assert "no pending item" in ended.err, (
        "the fact is not codex's to see, so neither is the question"
    )
    assert said(opened) == []
    tried = ran("done", item["id"], "--dry-run", "--format", "json", "--vault", opened.path)
    (would,) = tried.data["items"]
    assert [one["action"] for one in would["changes"]] == ["create", "archive"]
    assert ran("done", item["id"], "--vault", opened.path).code == 0
    opened.sync()
    assert said(opened) == [LISBON]
