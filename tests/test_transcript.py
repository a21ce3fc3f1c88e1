"""The page of a conversation: readable, made of the entries alone, and silent about what was taken back."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import Write
from tests.index_dump import synced
from vaultmem import Vault

AT = "2026-11-22T10:0{}:00Z"


@pytest.fixture(autouse=True)
def without_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VAULTMEM_EMBEDDING_MODEL", "off")


@pytest.fixture
def opened(vault: Path) -> Iterator[Vault]:
    synced(vault)
    with Vault(str(vault)) as found:
        yield found


def entry(minute: int, role: str, content: str, **more: object) -> dict[str, object]:
    return {
        "id": f"e{minute}",
        "role": role,
        "content": content,
        "created_at": AT.format(minute),
        **more,
    }


TALK = [
    entry(1, "user", "I am allergic to nuts.\n\n# No heading\n- [ ] no task"),
    entry(2, "assistant", "Noted."),
    entry(3, "memory", "I am allergic to nuts.", of=["e1"]),
    entry(4, "memory", "I live in Porto.", of=["e1"]),
    entry(5, "user", "My PIN is a secret.", properties={"private": True}),
]


def page_of(vault: Path, talk: str = "garden") -> Path:
    (found,) = (vault / "vaultmem" / "entries" / talk).glob("Chat *.md")
    return found


def test_a_conversation_is_a_page_to_read(vault: Path, opened: Vault) -> None:
    opened.ask("converse", conversation="garden", new=TALK)
    final = {"role": "summary", "name": "L3/final", "content": "About nuts."}
    covers = {"covers_until": AT.format(6)}
    opened.ask("converse", conversation="garden", new=[{**final, "properties": covers}])
    promoted = opened.ask("promote-fact", id="e3")
    opened.ask("pages")
    page = page_of(vault)
    assert page.name == "Chat 2026-11-22 garden.md"
    assert page.read_text("utf-8") == (
        "---\ngenerated: vaultmem\nTP_ignore_this_file: true\n---\n"
        "# Conversation of 22 November 2026\n\n"
        "Made of the notes in `turns`, `facts` and `summaries`; changes made here are lost.\n\n"
        "> About nuts.\n\n"
        f"## Learned\n\n- [[{promoted['title']}]]\n- I live in Porto.\n\n"
        "## 22 November 2026\n\n"
        "**You**\n\n> I am allergic to nuts.\n>\n> # No heading\n> - [ ] no task\n\n"
        "**Assistant**\n\n> Noted.\n\n"
        "**You**\n\n> (private)\n"
    )


def test_what_is_forgotten_is_gone_from_the_page_at_once(vault: Path, opened: Vault) -> None:
    opened.ask("converse", conversation="garden", new=TALK)
    opened.ask("pages")
    assert "allergic" in page_of(vault).read_text("utf-8")
    opened.ask("forget", id="e3")
    opened.ask("forget", id="e1")
    assert "allergic" not in page_of(vault).read_text("utf-8")
    opened.ask("undo", last=True)
    assert "allergic" in page_of(vault).read_text("utf-8")


def test_the_page_is_no_entry_and_not_in_the_history(vault: Path, opened: Vault) -> None:
    opened.ask("converse", conversation="garden", new=TALK)
    before = opened.entries("garden"), opened.ask("history", conversations=True)["count"]
    opened.ask("pages")
    page_of(vault).with_name(
        "Chat 2026-11-22 garden.sync-conflict-20261122-101500-ABCDEFG.md"
    ).write_text("x")
    synced(vault)
    assert (opened.entries("garden"), opened.ask("history", conversations=True)["count"]) == before
    assert opened.ask("conversations")["troubles"] == []
    assert not [one for one in opened.search("allergic") if "Chat " in one.path]


def test_a_note_of_a_person_in_its_place_stays(opened: Vault, write: Write) -> None:
    opened.ask("converse", conversation="garden", new=TALK)
    mine = write("vaultmem/entries/garden/Chat 2026-11-22 garden.md", "mine")
    opened.ask("pages")
    assert mine.read_text("utf-8") == "mine"


def test_an_id_that_says_nothing_is_shortened(vault: Path, opened: Vault) -> None:
    name = "3f2a91c0-1b2c-4d5e-8f90-a1b2c3d4e5f6"
    opened.ask("converse", conversation=name, new=TALK[:1])
    opened.ask("pages")
    assert page_of(vault, name).name == "Chat 2026-11-22 3f2a91c0.md"


def test_in_a_graph_of_logseq_it_is_an_outline(vault: Path, write: Write) -> None:
    shutil.rmtree(vault / ".obsidian")
    write("logseq/config.edn", "{}")
    synced(vault)
    with Vault(str(vault)) as opened:
        opened.ask("converse", conversation="garden", new=TALK)
        opened.ask("pages")
    text = page_of(vault).read_text("utf-8")
    assert text.startswith("generated:: vaultmem\n")
    body = text.partition("\n\n")[2]
    assert all(
        line.lstrip("\t ").startswith(("- ", ">", "#"))
        for line in body.splitlines()
        if line.strip()
    )
