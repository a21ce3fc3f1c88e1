"""The listing of pending items: it only counts while everything it was made from is unchanged, and contains nothing
unsafe."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import Write, fill
from tests.index_dump import synced
from tests.test_start_up import HEAVY, KEYWORD_NEEDS, MODEL_AND_GIT, loaded
from vaultmem import Vault, paths
from vaultmem.memories.item_answers import DONE, SNOOZED, Answer
from vaultmem.pending import listing
from vaultmem.pending.listing import gather, to_row
from vaultmem.reminders.due import REMINDER, Due
from vaultmem.reminders.items import unchanged_until

NOW = time.mktime((2026, 11, 22, 12, 0, 0, 0, 0, -1))
ITEM = {
    "id": "vm-abc234", "section": "today", "text": "call Anne", "due": "2026-11-22T15:00", "source": "Home.md:3",
    "title": "Home", "repeat": None, "rank": 0,
}  # fmt: skip
OLD = 1_700_000_000


class Stand(Vault):
    """A vault with a stand-in for what finds pending items."""

    items: list[dict[str, Any]] = [ITEM]  # noqa: RUF012 - replaced, never changed
    until = ""
    asked = 0

    def ask(self, verb: str, **params: object) -> Any:
        assert verb == "pending"
        assert params["days"] == listing.DAYS
        self.asked += 1
        return {"items": self.items, "until": self.until, "review": 0}


def aged(vault: Path) -> None:
    """As if all files had been written long ago."""
    for root in (Path(paths.state_folder(str(vault))), vault):
        for file in (*root.rglob("*"), root):
            os.utime(file, (OLD, OLD))


@pytest.fixture
def stand(vault: Path, write: Write) -> Stand:
    """An indexed vault with a page and answers, all old."""
    write("Home.md", "- [ ] call Anne 📅 2026-11-22\n")
    write("vaultmem/pending.md", "page")
    write("vaultmem/sync/laptop.md", "log")
    synced(vault)
    aged(vault)
    return Stand(str(vault))


def kept(stand: Stand, now: float = NOW) -> list[listing.Row] | None:
    found = listing.read(stand.path, now)
    return None if found is None else found.rows


def file_of(stand: Stand) -> Path:
    return Path(stand.state.path(listing.NAME))


# --- it is stored and read again


def test_what_was_gathered_is_read_again(stand: Stand) -> None:
    assert kept(stand) is None
    found = gather(stand, NOW, keep=True)
    assert kept(stand) == found.rows
    assert found.rows[0]["id"] == "vm-abc234"
    assert stand.asked == 1
    assert stat.S_IMODE(file_of(stand).stat().st_mode) == 0o600
    assert not list(Path(stand.state.folder).glob("*.tmp"))


def test_words_of_items_are_made_safe_once(stand: Stand, monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent is asked at the start of each session, and tens of thousands of items may be overdue."""
    stand.items = [{**ITEM, "id": f"vm-{n}", "text": f"call {n}"} for n in range(17_000)]
    before = gather(stand, NOW).rows
    monkeypatch.delattr("vaultmem.text.sanitize._step")
    assert gather(stand, NOW).rows == before


def test_the_vault_that_is_meant_is_found_as_any_command_finds_it(
    stand: Stand, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    gather(stand, NOW, keep=True)
    monkeypatch.chdir(stand.path)
    assert listing.read(None, NOW)
    monkeypatch.chdir(tmp_path)
    assert listing.read(None, NOW) is None
    with monkeypatch.context() as patch:
        patch.setenv("VAULTMEM_VAULT", stand.path)
        assert listing.read(None, NOW)
    own = Path(paths.config_file())
    own.parent.mkdir(parents=True, exist_ok=True)
    own.write_text(f"vault: {stand.path}\n")
    try:
        gather(stand, NOW, keep=True)
        assert listing.read(None, NOW)
        own.write_text("vault: [\n")
        assert listing.read(None, NOW) is None
    finally:
        own.unlink()


# --- it is invalid as soon as anything changes


CHANGES: dict[str, Callable[[Path, Path], object]] = {
    "the catalog": lambda _, state: os.utime(generation_of(state) / "catalog.db"),
    "the log of the catalog": lambda _, state: (generation_of(state) / "catalog.db-wal").write_bytes(b"x"),
    "the manifest": lambda _, state: os.utime(state / "manifest.json"),
    "the ledger": lambda _, state: (state / "ledger.db").write_bytes(b"x"),
    "a tick on the page": lambda vault, _: (vault / "vaultmem/pending.md").write_text("PAGE"),
    "the page is gone": lambda vault, _: (vault / "vaultmem/pending.md").unlink(),
    "the sync log of another machine": lambda vault, _: (vault / "vaultmem/sync/laptop.md").write_text("more"),
    "a copy of the page": lambda vault, _: (vault / "vaultmem/pending (1).md").write_text("copy"),
    "the vault's settings": lambda vault, _: fill(vault, {".vaultmem/config.yaml": "search.limit: 5\n"}),
}  # fmt: skip


def generation_of(state: Path) -> Path:
    return next(state.glob("gen-*"))


def test_a_change_is_seen(stand: Stand) -> None:
    for what, change in CHANGES.items():
        aged(Path(stand.path))
        gather(stand, NOW, keep=True)
        assert kept(stand), what
        change(Path(stand.path), Path(stand.state.folder))
        assert kept(stand) is None, what


@pytest.mark.usefixtures("never_settled")
def test_what_was_written_a_moment_ago_is_not_kept_yet(stand: Stand) -> None:
    """Within one tick of the clock a file can change twice and look the same."""
    os.utime(Path(stand.path, "vaultmem/pending.md"))
    gather(stand, NOW, keep=True)
    assert not file_of(stand).exists()


# --- it is cheap

LOADED = 64  # modules: argparse and json import half, the table of verbs with its check 6
NOT_LOADED = (
    HEAVY | MODEL_AND_GIT | KEYWORD_NEEDS - {"typing"}
    | {"tantivy", "hashlib", "datetime", "unicodedata", "vaultmem.api.vault", "vaultmem.text.sanitize"}
)  # fmt: skip


@pytest.mark.parametrize(
    "words", [("pending",), ("pending", "--all"), ("hook", "session-start", "--harness", "claude")],
    ids=" ".join,
)  # fmt: skip
def test_a_listing_saves_many_imports(vault: Path, write: Write, words: tuple[str, ...]) -> None:
    write("Home.md", "- [ ] call Anne 📅 2020-11-22\n")
    synced(vault)
    aged(vault)
    assert "vaultmem.api.vault" in loaded(*words, "--vault", str(vault))
    aged(vault)
    loaded(*words, "--vault", str(vault))
    modules = loaded(*words, "--vault", str(vault))
    assert not modules & NOT_LOADED
    assert len(modules) <= LOADED, (len(modules), sorted(modules))


# --- damage


def test_a_damaged_listing_is_none(stand: Stand) -> None:
    for damage in (b"", b"{", b"null", b'{"for": 1}', b"\xff\xfe", b"[" * 60_000, b'{"items": []}'):
        file_of(stand).write_bytes(damage)
        assert kept(stand) is None, damage[:20]


def test_a_link_or_a_folder_in_its_place_is_not_followed(stand: Stand, tmp_path: Path) -> None:
    gather(stand, NOW, keep=True)
    moved = file_of(stand).rename(tmp_path / "elsewhere.json")
    file_of(stand).symlink_to(moved)
    assert kept(stand) is None
    gather(stand, NOW, keep=True)
    assert kept(stand)
    assert not file_of(stand).is_symlink()
    file_of(stand).unlink()
    file_of(stand).mkdir()
    assert kept(stand) is None
    assert gather(stand, NOW, keep=True).rows


# --- safety


@given(st.text(), st.text())
def test_any_text_is_one_harmless_line(text: str, title: str) -> None:
    row = to_row({**ITEM, "text": text, "title": title, "source": f"{title}.md:1"})
    assert row["text"]
    for shown in (row["text"], row["title"], row["place"]):
        assert len(shown) <= 160
        assert len(shown.splitlines()) <= 1
        assert not set(shown) & set("<>`@#^")
        assert "](" not in shown
    assert row["source"] == f"{title}.md:1"


# --- valid until


def due(at: str, *, rolls: bool = True) -> Due:
    return Due("vm-a", REMINDER, "x", at, at, "a.md", 1, "a", rolls=rolls)


def answer(state: str, ends: str) -> dict[str, Answer]:
    return {"vm-b": Answer("vm-b", state, "2026-11-22T00:00:00Z", until=ends)}


@pytest.mark.parametrize(
    ("dues", "answers", "ends"),
    [
        ([], {}, ""),
        ([due("2026-11-21T15:00")], {}, "2026-11-22T15:00"),
        ([due("2026-11-21T15:00", rolls=False)], {}, ""),
        ([due("2026-11-21")], {}, ""),
        ([], answer(SNOOZED, "2026-11-22T12:30"), "2026-11-22T12:30"),
        ([], answer(SNOOZED, "2026-11-22T12:00"), ""),
        ([], answer(SNOOZED, "2026-11-23T12:30"), ""),
        ([], answer(DONE, "2026-11-22T12:30"), ""),
        ([due("2026-11-21T15:00")], answer(SNOOZED, "2026-11-22T12:30"), "2026-11-22T12:30"),
    ],
)
def test_until_when_nothing_waits(dues: list[Due], answers: dict[str, Answer], ends: str) -> None:
    assert unchanged_until(dues, answers, "2026-11-22T12:00") == ends
