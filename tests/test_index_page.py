"""Memory.md, the views beside it and What changed.md: what a person browses, short, and never one of their notes."""

import shutil
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import Write
from tests.index_dump import synced
from tests.laws import examples
from vaultmem import Vault
from vaultmem.api.rpc import Reader, carry_out
from vaultmem.memories.model import CATEGORIES
from vaultmem.memories.store import MemoryStore
from vaultmem.operations.overviews import Record, what_changed
from vaultmem.pending.open_store import open_store

pytestmark = pytest.mark.usefixtures("without_a_model")

PAGE, VIEWS = "vaultmem/Memory.md", ("vaultmem/Memories.base", "vaultmem/Pending.base")


Ask = Callable[..., Any]


@pytest.fixture
def ask(vault: Path) -> Ask:
    """Ask the store of the vault, which is indexed first."""
    stores: list[tuple[MemoryStore, Vault]] = []

    def asked(verb: str, **params: object) -> Any:
        synced(vault)
        if not stores:
            opened = Vault(str(vault))
            stores.append((open_store(opened.state, opened.config), opened))
        store, opened = stores[0]
        store.touched_all()
        return carry_out(store, Reader(opened), verb, params)

    return asked


def remember(ask: Ask, *contents: str, **params: object) -> None:
    for content in contents:
        ask("write", content=content, **params)


def test_memories_by_category_the_newest_first(vault: Path, write: Write, ask: Ask) -> None:
    day = "created_at: '2026-11-{:02}T10:00:00Z'"
    kept = [
        ("people", "Anne lives in Porto", "agent: claude"), ("people", "Bert lives in Lyon", ""), ("inbox", "Something new", ""),
        ("people", "A secret", "private: true"), ("archive", "Long gone", ""),
        ("reminders", "Water the plants", "remind: '2026-12-04T09:00'\nrepeat: every week"),
        ("reminders", "Call Mum", "remind: '2026-12-25'\nagent: claude"),
    ]  # fmt: skip
    for number, (category, title, more) in enumerate(kept, start=1):
        front = "\n".join(filter(None, (f"id: id-{number}", day.format(number), more)))
        write(f"vaultmem/{category}/{title}.md", f"---\n{front}\n---\n{title}.\n")
    (vault / "vaultmem" / "lessons").mkdir()
    assert ask("pages") == {"written": True}
    assert (vault / PAGE).read_text("utf-8") == (
        "---\ngenerated: vaultmem\n---\n\n# Memory\n\n"
        "5 memories; 1 more is private. vaultmem writes this page; changes made here are lost.\n\n"
        "## People\n\n"
        "- [[Bert lives in Lyon]] (2026-11-02)\n- [[Anne lives in Porto]] (2026-11-01, by claude)\n\n"
        "## Inbox, not filed yet\n\n- [[Something new]] (2026-11-03)\n\n"
        "## Reminders\n\n"
        "- [[Call Mum]] (reminds on 2026-12-25, by claude)\n"
        "- [[Water the plants]] (reminds on 2026-12-04 09:00, every week)\n"
    )
    assert not (vault / "vaultmem" / "lessons").exists()
    assert ask("pages") == {"written": False}


def test_what_changed_names_nothing_private(vault: Path, ask: Ask) -> None:
    """Assistants may read this note; also what became private later or is in the archive by now."""
    remember(ask, "Decision: we chose PostgreSQL over MySQL", "Decision: we chose divorce over war")
    secret = next((vault / "vaultmem/inbox").glob("*divorce*"))
    secret.write_text(secret.read_text("utf-8").replace("---\n", "---\nprivate: yes\n", 1), "utf-8")
    ask("dream", level=1)
    changed = (vault / "vaultmem/What changed.md").read_text("utf-8")
    assert "PostgreSQL" in changed
    assert "divorce" not in changed


def test_views_are_written_once_and_are_the_persons_then(vault: Path, ask: Ask) -> None:
    remember(ask, "Anne lives in Porto")
    ask("pages")
    for path in VIEWS:
        base = yaml.safe_load((vault / path).read_text("utf-8"))
        names = [view["name"] for view in base["views"]]
        assert len(names) == len(set(names)) > 2
        assert '!file.inFolder("vaultmem/entries")' in base["filters"]["and"]
        shown = {each for view in base["views"] for each in view["order"]}
        used = {each.removeprefix("formula.") for each in shown if each.startswith("formula.")}
        assert used <= base["formulas"].keys()
    assert ask("history")["count"] == 1  # only the write: no person made these files
    (vault / VIEWS[0]).write_text("mine", "utf-8")
    (vault / VIEWS[1]).unlink()
    remember(ask, "Bert lives in Lyon")
    assert ask("pages") == {"written": True}
    assert (vault / VIEWS[0]).read_text("utf-8") == "mine"
    assert not (vault / VIEWS[1]).exists()


def test_a_graph_has_an_outline_and_a_page_of_queries(vault: Path, write: Write, ask: Ask) -> None:
    shutil.rmtree(vault / ".obsidian")
    write("logseq/config.edn", "{}")
    remember(ask, "Anne lives in Porto")
    ask("pages")
    page = (vault / PAGE).read_text("utf-8")
    assert page.startswith("generated:: vaultmem\n\n- 1 memory. ")
    assert "- ## Inbox, not filed yet\n\t- [[Anne lives in Porto]] (" in page
    queries = (vault / "vaultmem" / "Memories.md").read_text("utf-8")
    for name in CATEGORIES:
        assert f"{{{{query (and (page-property category {name})" in queries
    (vault / "vaultmem" / "Memories.md").write_text("- mine", "utf-8")
    remember(ask, "Bert lives in Lyon")
    ask("pages")
    assert (vault / "vaultmem" / "Memories.md").read_text("utf-8") == "- mine"


def test_a_note_of_this_name_stays_the_only_one(vault: Path, write: Write, ask: Ask) -> None:
    remember(ask, "Anne lives in Porto")
    for path in (PAGE, "Psychology/memory.md"):
        note = write(path, "How we remember.")
        assert ask("pages") == {"written": False}
        assert note.read_text("utf-8") == "How we remember."
        assert (vault / PAGE).exists() == (path == PAGE)
        note.unlink()


TODAY = date(2026, 11, 22)  # a Sunday


RECORDS = [
    Record(TODAY, "dream", "move", "Dark mode", 'preferences: "prefers" +2 (0.58)', "preferences"),
    Record(date(2026, 11, 16), "claude", "create", "Dark mode", "written", "inbox"),
    Record(date(2026, 11, 16), "dream", "edit", "Tea", "linked with “Dark mode” (0.91)"),
    Record(date(2026, 11, 17), "you", "edit", "Tea", "tags changed"),
    Record(date(2026, 11, 15), "decay", "archive", "Old", "not read for 31 days"),
    Record(date(2026, 11, 15), "decay", "archive", "Old", "not read for 31 days"),
    Record(date(2026, 9, 27), "you", "edit", "Too long ago"),
    Record(TODAY + timedelta(1), "you", "edit", "Tomorrow"),
]


def test_weeks_with_what_was_done_to_which_memory() -> None:
    text = what_changed(RECORDS, TODAY, ["dark Mode"])
    assert text.startswith(
        "---\ngenerated: vaultmem\n---\n\n# What changed\n\nvaultmem writes this page"
    )
    assert text.partition("knows more.\n")[2] == (
        "\n## Week of 16 November 2026\n\n"
        "### New\n\n- [[dark Mode]] under preferences (by claude)\n\n"
        "### Changed\n\n- “Tea”: linked with “Dark mode”; tags changed (by dream, you)\n\n"
        "## Week of 9 November 2026\n\n"
        "### Archived\n\n- “Old”: not read for 31 days (by decay)\n"
    )


def test_nothing_and_very_much() -> None:
    assert "Nothing in the last 8 weeks." in what_changed([], TODAY, [])
    many = [Record(TODAY, "dream", "edit", f"T{n:03}", "why") for n in range(50)]
    lines = [line for line in what_changed(many, TODAY, []).split("\n") if line.startswith("- ")]
    assert lines[0] == "- “T000”: why (by dream)"
    assert lines[19:] == ["- “T019”: why (by dream)", "- and 30 more"]


def test_words_of_notes_steer_nothing() -> None:
    record = Record(TODAY, "dream\n# x", "edit", "[[A]]\x1b[2J\u202e #tag `code` <b>", "y" * 500)
    text = what_changed([record], TODAY, [])
    assert "[[" not in text
    assert text.count("\n# ") == 1
    assert text.count("\x1b") == text.count("\u202e") == 0
    assert max(map(len, text.split("\n")[5:])) < 300


records = st.builds(
    Record,
    st.integers(0, 80).map(lambda days: TODAY - timedelta(days)),
    st.sampled_from(["dream", "you"]),
    st.sampled_from(["create", "edit", "archive", "other"]),
    st.sampled_from(["A", "B", "C"]),
    st.sampled_from(["", "why", "because"]),
)


@settings(max_examples=examples(50))
@given(
    st.lists(records, max_size=12).flatmap(
        lambda found: st.tuples(st.just(found), st.permutations(found))
    )
)
def test_the_order_of_records_is_nothing(both: tuple[list[Record], list[Record]]) -> None:
    one, other = both
    assert what_changed(one, TODAY, ["A"]) == what_changed(other, TODAY, ["A"])
