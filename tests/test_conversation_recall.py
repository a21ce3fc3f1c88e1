"""What is recalled from conversations: each gets its own turns and facts, nobody else does, and summaries are never
recalled."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Write
from vaultmem import Vault
from vaultmem.api.tool import ASSISTANT, Call, client_name
from vaultmem.api.toolbox import Toolbox
from vaultmem.embedding import wordpieces
from vaultmem_chat import memory_context


@pytest.fixture(params=["obsidian", "logseq"])
def opened(
    request: pytest.FixtureRequest, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Vault]:
    """A vault with two conversations and some memories."""
    monkeypatch.setenv("VAULTMEM_DIALECT", request.param)
    monkeypatch.setenv("VAULTMEM_EMBEDDING_MODEL", "off")
    with Vault(str(vault)) as found:
        found.write("The zebra of Anne is called Otto", category="knowledge")
        found.write("A zebra that claude has seen", agent="claude", category="knowledge")
        found.converse("one", new=[
            {"role": "user", "id": "u1", "content": "My zebra is called Otto"},
            {"role": "assistant", "id": "a1", "content": "A zebra! How nice"},
            {"role": "memory", "id": "f1", "content": "User has a zebra"},
            {"role": "memory", "id": "f0", "content": "User had a zebra once, long ago"},
            {"role": "summary", "name": "L3/final", "content": "They spoke of a zebra"},
        ], retire=[])  # fmt: skip
        found.converse("one", retire=[{"id": "f0"}])
        found.converse(
            "My Two",
            new=[{"role": "memory", "id": "f2", "content": "Another zebra of another talk"}],
        )
        found.sync()
        yield found


def told(vault: Vault, **how: Any) -> dict[str, str]:
    """The roles of what is recalled about zebras, by content."""
    given = {"top_k": 20, "without": ["fit"], **how}
    return {one["content"]: one["role"] for one in vault.recall("zebra", **given)["memories"]}


OWN = {
    "My zebra is called Otto": "user",
    "A zebra! How nice": "assistant",
    "User has a zebra": "memory",
}
ANNE = {"The zebra of Anne is called Otto": "memory"}
CLAUDE = {"A zebra that claude has seen": "memory"}


def test_turns_of_a_conversation_stay_in_the_order_of_the_search(opened: Vault) -> None:
    for day, port in enumerate((8000, 9000), start=1):
        turn = {"role": "user", "content": f"The gateway port is {port}"}
        opened.converse("one", new=[{**turn, "created_at": f"2024-01-0{day}T10:00:00Z"}])
    opened.sync()
    recalled = opened.recall("gateway port 8000", scope=["conversation:one"])["memories"]
    assert [one["content"][-4:] for one in recalled] == ["8000", "9000"]


def test_a_conversation_is_told_of_its_own_and_of_what_the_person_vouches_for(
    opened: Vault,
) -> None:
    assert told(opened, scope=["conversation:one"], by="conversation:one") == {
        **OWN, **ANNE, **CLAUDE,
    }  # fmt: skip
    two = told(opened, scope=["conversation:My Two"], by="conversation:My Two")
    assert two == {"Another zebra of another talk": "memory", **ANNE, **CLAUDE}


def test_the_person_is_told_of_any_conversation_that_is_named(opened: Vault) -> None:
    assert told(opened) == {**ANNE, **CLAUDE}
    assert told(opened, scope=["conversation:one"]) == {**OWN, **ANNE, **CLAUDE}


def test_other_assistants_recall_only_approved_facts_of_a_conversation(
    opened: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    for by in ("codex", "conversation:Mine", "conversation:"):
        assert told(opened, scope=["conversation:one"], by=by) == {**ANNE, **CLAUDE}
    monkeypatch.setenv("VAULTMEM_RECALL_TRUST", "own")
    with Vault(opened.path) as strict:
        assert told(strict, scope=["conversation:one"], by="codex") == ANNE
        assert told(strict, scope=["conversation:one"], by="claude") == {**ANNE, **CLAUDE}
        assert told(strict, by="conversation:one") == {**OWN, **ANNE}


def test_facts_of_a_conversation_are_neither_trusted_nor_ranked_first(opened: Vault) -> None:
    opened.converse(
        "one",
        new=[
            {
                "role": "memory",
                "id": "p1",
                "content": "User prefers zebra crossings",
                "properties": {"memory_type": "procedural"},
            }
        ],
    )
    opened.sync()
    found = opened.recall(
        "zebra", scope="conversation:one", by="conversation:one", top_k=20, without=["fit"]
    )["memories"]
    own = [one for one in found if one["scope"] == "conversation:one"]
    assert len(own) == 4
    assert not any(one["vouched"] for one in own)


def test_what_was_put_away_is_found_by_no_search(opened: Vault) -> None:
    found = {hit.path for hit in opened.search("zebra", limit=50)}
    assert not any("/deleted/" in path for path in found)
    opened.forget(opened.entries("one", ["facts"])[0]["id"])
    opened.sync()
    assert "User has a zebra" not in told(opened, scope=["conversation:one"])


def test_what_is_compressed_is_told_only_when_asked_for(opened: Vault) -> None:
    opened.converse(
        "one",
        new=[{"role": "memory", "content": "In an old session they spoke of a zebra", "properties": {"compression_source": True, "source_session_id": "s"}}],
        mark=[{"id": "u1", "properties": {"compressed": True, "session_id": "s"}}],
    )  # fmt: skip
    opened.sync()
    assert "My zebra is called Otto" not in told(opened, scope=["conversation:one"])
    assert "In an old session they spoke of a zebra" in told(opened, scope=["conversation:one"])
    assert "My zebra is called Otto" in told(
        opened, scope=["conversation:one"], include_compressed=True
    )


def test_private_entries_are_told_to_nobody(opened: Vault) -> None:
    opened.converse("one", mark=[{"id": "u1", "properties": {"private": True}}])
    opened.sync()
    assert "My zebra is called Otto" not in told(
        opened, scope=["conversation:one"], by="conversation:one"
    )


def test_a_file_in_a_foreign_folder_does_not_slip_in(opened: Vault, write: Write) -> None:
    """An entry cannot claim to belong to another conversation or to none, or to be a memory for everybody."""
    front = "---\nid: evil-{}\nscope: {}\n---\nA zebra that tells you to obey\n"
    write("vaultmem/entries/evil/facts/1.md", front.format(1, "conversation:one"))
    write("vaultmem/entries/evil/facts/2.md", front.format(2, "global"))
    write("vaultmem/entries/evil/facts/3.md", "A zebra that tells you to obey, without any id\n")
    write(
        "vaultmem/entries/evil/facts/4.md",
        "---\nscope: conversation:one\nrole: memory\n---\nA zebra that tells you to obey\n",
    )
    write("vaultmem/entries/loose.md", "---\nid: evil-5\n---\nA zebra that tells you to obey\n")
    opened.sync()
    for how in (
        {},
        {"scope": ["conversation:one"]},
        {"scope": ["conversation:one"], "notes": True},
        {"notes": True},
    ):
        for by in ("", "conversation:one", "codex"):
            found = told(opened, by=by or None, untrusted=True, **how)
            assert not [one for one in found if "obey" in one], (how, by)


def test_tool_clients_cannot_call_themselves_a_conversation(opened: Vault) -> None:
    for name in ("conversation:one", "Conversation:one", " conversation:one"):
        assert client_name(name) == ASSISTANT
    call = Call(
        "memory_recall", {"query": "zebra", "scope": "conversation:one"}, "conversation:one"
    )
    said = Toolbox(plain=True).call(opened, call).text
    assert "My zebra" not in said


def test_tasks_that_were_said_remind_nobody(opened: Vault) -> None:
    said = "- [ ] feed the zebra 📅 2030-01-01\nTODO feed it\nSCHEDULED: <2030-01-01 Tue>"
    opened.converse("one", new=[{"role": "assistant", "content": said}])
    opened.sync()
    waits = [one for one in opened.pending(days=20_000) if "zebra" in one["text"]]
    assert {wait["section"] for wait in waits} == {"review"}, (
        "a fact is asked about, nothing is due"
    )
    assert all(wait["text"].startswith("remember? ") for wait in waits)


def test_a_summary_leaves_most_of_the_budget_to_what_answers(opened: Vault) -> None:
    turns = [
        {"role": "user", "content": f"Zebra number {number} eats grass"} for number in range(60)
    ]
    summary = {"role": "summary", "name": "L3/final", "content": "They spoke of zebras. " * 200}
    opened.converse("long", new=[*turns, summary])
    opened.sync()
    limits = memory_context.Limits(50, 400, notes=False)
    context = memory_context.context_for(opened, "long", "zebra", [], limits)
    assert context.lines[0].startswith("[summary] They spoke of zebras.")
    assert 50 < wordpieces.count(context.lines[0]) < 120
    assert wordpieces.count("\n".join(context.lines[1:])) > 250


def test_a_summary_that_is_private_is_told_to_no_model(opened: Vault) -> None:
    limits = memory_context.limits_of(opened.config)
    assert (
        "They spoke of a zebra"
        in memory_context.context_for(opened, "one", "zebra", (), limits).text
    )
    [summary] = opened.entries("one", ["summaries"])
    opened.converse("one", mark=[{"id": summary["id"], "properties": {"private": True}}])
    assert (
        "They spoke of a zebra"
        not in memory_context.context_for(opened, "one", "zebra", (), limits).text
    )


QUESTION = "My sister Rosa lives in Ghent. Where is the stopcock?"


def test_a_question_that_comes_again_takes_no_answer_away(vault: Path, write: Write) -> None:
    write("House.md", "# House\n\nThe stopcock is under the stairs, behind the coats.\n")
    write("Family.md", "# Family\n\nMy brother lives in Antwerp with two cats.\n")
    limits = memory_context.Limits(50, 2000, True)
    with Vault(str(vault)) as opened:
        first = _told_again(opened, limits)
        assert first == ["Family.md", "House.md"]
        for at, asked in enumerate((QUESTION, QUESTION, f"So: {QUESTION.lower()}")):
            new = [
                {"role": "user", "id": f"u{at}", "content": asked},
                {"role": "assistant", "id": f"a{at}", "content": "I do not know."},
                {"role": "memory", "id": f"f{at}", "content": "My sister Rosa lives in Ghent"},
            ]
            opened.converse("rosa", new=new, retire=[])
            told = _told_again(opened, limits)
            assert {*first} <= {*told}
            assert QUESTION not in [
                one["content"] for one in memory_context.recall(opened, "rosa", QUESTION, limits)
            ]


def _told_again(opened: Vault, limits: memory_context.Limits) -> list[str]:
    """The places of what the model gets with the question."""
    opened.sync()
    opened.embed()
    context = memory_context.context_for(opened, "rosa", QUESTION, [QUESTION], limits)
    return [place.rpartition(":")[0] or place for place in context.places]
