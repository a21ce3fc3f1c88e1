"""The page of a conversation: readable, made of the entries alone, and silent about what was taken back."""

import json
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import Write, fill
from tests.index_dump import synced
from vaultmem import Vault
from vaultmem.memories.model import link_targets
from vaultmem.text.similarity import content_hash

pytestmark = pytest.mark.usefixtures("without_a_model")

AT = "2026-11-22T10:0{}:00Z"


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


def row(minute: int, role: str, words: str, **more: str) -> str:
    """What a page says of an entry to programs."""
    at = f"2026-11-22T10:0{minute}:00.000Z"
    own = {"id": f"e{minute}", "role": role, "created_at": at, "hash": content_hash(words)[:12]}
    return json.dumps({**own, **more}) + "\n"


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
        "vaultmem writes this page; changes made here are lost.\n\n"
        "> About nuts.\n\n"
        f"## Learned\n\n- [[{promoted['title']}]]\n- I live in Porto.\n\n"
        "## 22 November 2026\n\n"
        "**You**\n\n> I am allergic to nuts.\n>\n> # No heading\n> - [ ] no task\n\n"
        "**Assistant**\n\n> Noted.\n\n"
        "**You**\n\n> (private)\n\n"
        '<!-- vaultmem\n{"conversation": "garden", "away": "e3 e5"}\n'
        + row(1, "user", "I am allergic to nuts.\n\n# No heading\n- [ ] no task")
        + row(2, "assistant", "Noted.")
        + row(4, "memory", "I live in Porto.", of="e1")
        + "-->\n"
    )
    (memory,) = opened.memories()
    assert memory["links"] == [page.stem]
    synced(vault)
    assert opened.unresolved() == []
    uris = {one.uri.partition("&file=")[2] for one in opened.search("allergic path:entries")}
    assert len(uris) == 1, "the editor can open the page, and no record"
    assert "/Chat%202026-11-22%20garden" in uris.pop().replace("%2F", "/")


def test_code_in_an_answer_is_shown_and_not_run(vault: Path, opened: Vault) -> None:
    answer = entry(1, "assistant", "```dataviewjs\ndv.span(1)\n```\nor <% tp.x() %>, `$= x`")
    opened.ask("converse", conversation="garden", new=[answer, entry(2, "memory", "Uses `$= y`.")])
    opened.ask("pages")
    text = page_of(vault).read_text("utf-8")
    assert "> ```text dataviewjs\n> dv.span(1)\n> ```\n> or < % tp.x() %>, `text $= x`" in text
    assert "- Uses `text $= y`." in text


def test_what_is_forgotten_is_gone_from_the_page_at_once(vault: Path, opened: Vault) -> None:
    opened.ask("converse", conversation="garden", new=TALK)
    opened.ask("pages")
    assert "allergic" in page_of(vault).read_text("utf-8")
    opened.ask("forget", id="e3")
    opened.ask("forget", id="e1")
    assert "allergic" not in page_of(vault).read_text("utf-8")
    opened.ask("undo", last=True)
    assert "allergic" in page_of(vault).read_text("utf-8")


def test_a_note_of_a_person_in_its_place_stays(opened: Vault, write: Write) -> None:
    opened.ask("converse", conversation="garden", new=TALK)
    mine = write("vaultmem/entries/garden/Chat 2026-11-22 garden.md", "mine")
    opened.ask("pages")
    assert mine.read_text("utf-8") == "mine"


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
        line.lstrip("\t ").startswith(("- ", ">", "#", "{", "-->"))
        for line in body.splitlines()
        if line.strip()
    )


def on_another_machine(vault: Path, folder: Path) -> Path:
    """The vault as a sync program brings it that carries no hidden folders."""
    shutil.copytree(vault, folder, ignore=shutil.ignore_patterns(".records"))
    return page_of(folder)


def as_told(opened: Vault) -> list[tuple[object, ...]]:
    entries = opened.entries("garden")
    ids = {str(one["title"]): one["id"] for one in entries}
    return [
        (one["id"], one["role"], one["content"], one["created_at"], one["properties"].get("session_id"),
         [ids[name] for name in link_targets(one["properties"].get("links"))])
        for one in entries
    ]  # fmt: skip


@pytest.mark.parametrize("editor", ["obsidian", "logseq"])
def test_where_only_the_page_arrives_the_records_are_made_of_it(
    vault: Path, write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, editor: str
) -> None:
    if editor == "logseq":
        shutil.rmtree(vault / ".obsidian")
        write("logseq/config.edn", "{}")
    words = "- a list\n\n\tindented\n> quoted <!-- vaultmem {} -->\n```\n**You**\n```\n"
    talk = [*TALK[:4], entry(6, "user", words, properties={"session_id": "one"}), TALK[4]]
    with Vault(str(vault)) as opened:
        opened.ask("converse", conversation="garden", new=talk)
        opened.ask("pages")
        before = [one for one in as_told(opened) if one[0] != "e5"]  # which is private
    page = on_another_machine(vault, tmp_path / "other")
    with Vault(str(tmp_path / "other")) as opened:
        opened.ask("pages")
        assert as_told(opened) == []  # the records may be on their way
        monkeypatch.setenv("VAULTMEM_NOW", str(time.time() + 2 * 3600))
        opened.ask("pages")
        assert as_told(opened) == before
        text = page.read_text("utf-8")
        opened.ask("converse", conversation="garden", new=[entry(7, "user", "And on.")])
        opened.write("Femi bakes on Sundays.")
        opened.ask("pages")
        assert "And on." in page.read_text("utf-8")
    assert "(private)" in text


def test_what_was_taken_back_elsewhere_is_put_away_here(
    vault: Path, opened: Vault, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened.ask("converse", conversation="garden", new=TALK[:4])
    opened.ask("pages")
    page = on_another_machine(vault, tmp_path / "other")
    monkeypatch.setenv("VAULTMEM_NOW", str(time.time() + 2 * 3600))
    with Vault(str(tmp_path / "other")) as other:
        other.ask("pages")
        opened.ask("forget", id="e4")
        shutil.copyfile(page_of(vault), page)
        other.write("Femi bakes on Sundays.")
        other.ask("pages")
        assert [one["id"] for one in other.entries("garden")] == ["e1", "e2", "e3"]


def test_two_machines_that_went_on_alone_end_with_one_page(
    vault: Path, opened: Vault, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That of the earlier day, though what was first is private and stays on its machine."""
    first = {**TALK[4], "created_at": "2026-11-20T08:00:00Z"}
    later = {**entry(6, "user", "And on."), "created_at": "2026-11-23T08:00:00Z"}
    with Vault(str(fill(tmp_path / "other", {".obsidian/app.json": "{}"}))) as other:
        other.sync()
        other.ask("converse", conversation="garden", new=[later])
        other.ask("pages")
        opened.ask("converse", conversation="garden", new=[first, *TALK[:2]])
        opened.ask("pages")
        folder, page = page_of(tmp_path / "other").parent, page_of(vault)
        for hours in (2, 4):
            monkeypatch.setenv("VAULTMEM_NOW", str(time.time() + hours * 3600))
            shutil.copy(page, folder)  # as if a conflict had cost what the other one wrote
            other.write(f"Femi bakes on {hours} Sundays.")
            other.ask("pages")
            assert [one["id"] for one in other.entries("garden")] == ["e1", "e2", "e6"]
            assert page_of(tmp_path / "other").name == page.name
            assert "And on." in (folder / page.name).read_text("utf-8")
