"""Conversations do not come before a person's own notes in searches, tasks, the history and tools."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli_run import ran
from vaultmem import Filter, Vault
from vaultmem.api.memory_tools import note_path
from vaultmem.errors import NoteNotFoundError
from vaultmem.memories.access import viewer
from vaultmem.notes.places import file_name
from vaultmem.search.query import Ask


@pytest.fixture
def opened(vault: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Vault]:
    monkeypatch.setenv("VAULTMEM_EMBEDDING_MODEL", "off")
    (vault / "Boiler.md").write_text(
        "# Boiler\n\nThe boiler is serviced in May.\n- [ ] Ring the plumber\n"
    )
    with Vault(str(vault)) as found:
        found.write("The boiler is a Vaillant.")
        turn = {
            "id": "turn-0001",
            "role": "user",
            "content": "My boiler leaks.\n- [ ] Buy a bucket",
        }
        fact = {"id": "fact-0001", "role": "memory", "content": "The user's boiler leaks."}
        found.converse("home", new=[turn, fact], by="conversation:home")
        found.sync()
        yield found


def test_a_search_finds_what_was_said_only_when_it_is_asked_for(opened: Vault) -> None:
    said = {hit.path for hit in opened.search("boiler")}
    assert not any("/entries/" in path for path in said)
    assert len(said) == 2
    for how in (
        {"talks": True},
        {"filters": (Filter("path", "entries/home"),)},
        {"filters": (Filter("scope", "conversation:home"),)},
    ):
        found = {hit.path for hit in opened.answer(Ask("boiler", **how)).results}  # type: ignore[arg-type]
        assert sum("/entries/home/" in path for path in found) == 2, how
    assert any("/entries/" in hit.path for hit in opened.search("boiler path:entries"))


def test_a_search_says_that_only_conversations_have_it(opened: Vault) -> None:
    words = ("--keyword", "--vault", opened.path)
    why = "only conversations have it; --conversations searches them, too"
    assert why in ran("search", "leaks", *words).err
    assert "My boiler leaks" in ran("search", "leaks", "--conversations", *words).out
    others = [("boiler",), ("xylophone",), ("leaks", "--conversations"), ("leaks", "--by", "codex")]
    for typed in others:  # codex sees no other client's conversation
        assert why not in ran("search", *typed, *words).err, typed
    assert why in ran("search", "leaks", "--by", "conversation:home", *words).err


def test_a_task_in_a_chat_is_no_task_of_the_vault(opened: Vault) -> None:
    assert [task["text"] for _, task in opened.tasks()] == ["Ring the plumber"]


def test_a_tool_reads_no_turn(opened: Vault) -> None:
    for given in ("turn-0001", "turn-0009"):
        with pytest.raises(
            NoteNotFoundError, match=f"no note is called '{given}'; vaultmem search"
        ):
            note_path(opened, given, viewer("claude"))


def test_who_reads_an_entry_as_a_memory_is_told_where_it_is(opened: Vault) -> None:
    path = opened.entries("home")[0]["path"]
    for name in ("fact-0001", path, f"[[{file_name(path)}]]"):
        with pytest.raises(NoteNotFoundError, match="vaultmem conversations show home"):
            opened.read(name)
    with pytest.raises(NoteNotFoundError, match="Memory not found"):
        opened.read("nothing-like-it")
