"""Where conversations are stored: every id has its own folder that every file system accepts, and entries name their
conversation."""

import asyncio
import re
import string
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultmem import MemoryClient
from vaultmem.errors import UsageError
from vaultmem.memories.access import SCOPE
from vaultmem.memories.conversation import (
    entry_of,
    folder_of,
    in_folder,
    is_away,
    put_away,
    scope_of,
)
from vaultmem.settings import SETTINGS
from vaultmem.text.titles import conversation_problem
from vaultmem_chat.proxy.chats import Chats

HOSTILE = (
    "../../x", "a/b", "a\\b", "..", ".", "-", "CON", "con.txt", "nul", "com1", "LPT9.md", "Chat", "chat", "CHAT", "a.", "a ", ".hidden",
    "日記", "🎉🎉", "👨‍👩‍👧", "x" * 64, "x" * 180, "a:b", "a*?b", "[[x]]", "a|b", "# x", "1.0", "true", "null", "2026-11-22", "é",
    "e\u0301", "a-12345678", "entries", "deleted", "con-1a2b3c4d",
)  # fmt: skip
SAFE = set(string.ascii_lowercase + string.digits + "._-")
TEXT = st.text(st.characters(exclude_categories=["Cc", "Cs"]), min_size=1, max_size=60)


@pytest.mark.parametrize("conversation", HOSTILE)
def test_every_file_system_takes_the_folder_of_any_id(conversation: str) -> None:
    name = folder_of(conversation)
    assert name
    assert set(name) <= SAFE
    assert name[0] not in ".-"
    assert name[-1] not in ". "
    assert len(name) <= 64
    assert not re.fullmatch(r"con|prn|aux|nul|com\d|lpt\d", name.partition(".")[0])


@given(TEXT, TEXT)
def test_ids_that_differ_have_folders_that_differ_without_regard_to_case(
    one: str, other: str
) -> None:
    if one != other:
        assert folder_of(one).lower() != folder_of(other).lower()


@given(TEXT)
def test_an_id_without_a_problem_makes_a_scope_and_comes_back_from_its_folder(given: str) -> None:
    if conversation_problem(given):
        return
    assert SCOPE.fullmatch(scope_of(given))
    assert in_folder(folder_of(given), given) == given


@pytest.mark.parametrize("given", ["x" * 181, "a\nb", ":a", "a\u200bb", "a\u202eb", "\ud800"])
def test_invalid_conversation_ids_are_refused_everywhere(given: str, vault: Path) -> None:
    assert conversation_problem(given)
    check = SETTINGS["conversations.id"].check
    assert check is not None
    with pytest.raises(ValueError, match="one line"):
        check(given)
    with MemoryClient(str(vault), model="m") as client, pytest.raises(UsageError, match="the id"):
        client.search("x", conversation=given)
    body = b'{"model": "m", "messages": [{"role": "user", "content": "hello"}]}'
    parts: Any = SimpleNamespace(conversation="default", holder="")
    for named, wanted in ((given, None), ("👨‍👩‍👧", "👨‍👩‍👧"), ("", "default")):
        header = named.encode("utf-8", "surrogatepass")
        asked = asyncio.run(Chats(parts).read([(b"x-conversation-id", header)], body))
        expected = "���" if named == "\ud800" else wanted
        if expected is None:
            assert isinstance(asked, str)
            assert asked.startswith("none: the conversation id ")
        else:
            assert not isinstance(asked, str)
            assert asked[0] == expected, "no character in a header is a mark for one"


def test_an_entry_belongs_to_a_conversation_that_fits_its_folder() -> None:
    own = folder_of("My Chat")
    assert in_folder(own, "My Chat") == "My Chat"
    assert in_folder(own, "Other") == ""
    assert in_folder("default", "Other") == "default", "a renamed folder, or one made by hand"
    assert in_folder("default", None) == "default"
    assert in_folder("Default", None) == ""


def test_what_is_put_away_stays_there_and_other_notes_are_no_entries() -> None:
    away = "entries/c/deleted/facts/x.md"
    assert put_away(away) == away
    assert is_away(away)
    assert not is_away("entries/c/facts/deleted/x.md")
    assert not is_away("archive/x.md")
    assert put_away("people/Anne.md") == ""
    assert put_away("entries/stray.md") == ""
    assert entry_of("entries/stray.md", {"role": "user"}) == ("", "")
