"""vaultmem set, unset and done NOTE:LINE: a person's own notes change by one line, and this can be undone."""

from pathlib import Path

import pytest

from tests.cli_run import as_text, done, one_line, tree_hash
from tests.conftest import Write
from tests.index_dump import synced
from vaultmem import Vault
from vaultmem.errors import UsageError

pytestmark = pytest.mark.usefixtures("without_a_model")

NOTE = """---
title: "A plan"  # keep
tags: [work, 'my home']
due: 2026-12-01
---
# Plan

- [ ] call Anne 📅 2026-12-01
- [ ] buy milk
- [x] sleep ✅ 2026-11-01
- [ ] water 🔁 every week 📅 2026-11-20
"""


@pytest.fixture
def vault(vault: Path, write: Write) -> Path:
    write("Plans/Plan.md", NOTE)
    synced(vault)
    return vault


def text(vault: Path) -> str:
    return (vault / "Plans/Plan.md").read_text("utf-8")


@pytest.mark.parametrize(
    ("words", "before", "after"),
    [
        ("set Plan rating 5", "due: 2026-12-01\n", "due: 2026-12-01\nrating: 5\n"),
        ("set Plan title 7", 'title: "A plan"  # keep', "title: 7  # keep"),
        ("set Plan done true", "due: 2026-12-01\n", "due: 2026-12-01\ndone: true\n"),
        ("set Plan up [[Home]]", "due: 2026-12-01\n", 'due: 2026-12-01\nup: "[[Home]]"\n'),
        ("set Plans/Plan.md TAGS garden --add", "'my home']", "'my home', 'garden']"),
        ("set Plan tags [work,new]", "'my home']", "'new']"),
        ("unset Plan tags work", "[work, 'my home']", "['my home']"),
        ("set Plan due 2026-12-05", "due: 2026-12-01\n", "due: 2026-12-05\n"),
        ("unset Plan due", "due: 2026-12-01\n", ""),
        ("unset Plan due 2026-12-01", "due: 2026-12-01\n", ""),
        ("done Plan:9", "- [ ] buy milk", "- [x] buy milk"),
    ],
)  # fmt: skip
def test_one_line_changes_and_comes_back(vault: Path, words: str, before: str, after: str) -> None:
    untouched = tree_hash(vault)
    tried = as_text(vault, *words.split(), "--dry-run")
    assert (tried.code, tree_hash(vault)) == (0, untouched)
    assert "Plans/Plan.md" in tried.out
    assert as_text(vault, *words.split()).code == 0
    shown = text(vault)
    today = shown.partition("buy milk ")[2][:12]  # ✅ and the day
    assert shown.replace(f"buy milk {today}", "buy milk") == NOTE.replace(before, after)
    (entry, *_) = done(vault, "history")["history"]
    assert (entry["kind"], [file["path"] for file in entry["files"]]) == (
        "person",
        ["Plans/Plan.md"],
    )
    assert as_text(vault, "undo", "--last").code == 0
    assert text(vault) == NOTE


def test_what_is_so_already_is_not_written(vault: Path) -> None:
    for words in (
        ("set", "Plan", "due", "2026-12-01"),
        ("set", "Plan", "tags", "work", "--add"),
        ("unset", "Plan", "rating"),
        ("done", "Plan:10"),
    ):
        found = done(vault, *words)
        assert not (found["items"][0] if "items" in found else found)["changed"]
    assert text(vault) == NOTE
    assert done(vault, "history")["history"] == []


def test_what_would_lose_something_or_is_no_name_is_refused(vault: Path, write: Write) -> None:
    write("Nested.md", "---\nplan:\n  day: 3\n---\n")
    assert "'plan' in Nested.md has properties of its own" in one_line(
        as_text(vault, "set", "Nested", "plan", "3")
    )
    assert "is one line" in one_line(as_text(vault, "set", "Plan", "a\nb", "c"))
    assert as_text(vault, "unset", "Nested", "plan").code == 0
    assert text(vault) == NOTE


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("set Nobody rating 5", "no note is called 'Nobody'"),
        ("set vaultmem/pending.md a b", "is written by vaultmem"),
        ("set .obsidian/app.json a b", "is not a note"),
        ("set ../outside.md a b", "no note is called"),
        ("done Plan:7", "nothing is pending at Plans/Plan.md:7"),
        ("done Nobody:7", "no note is called"),
    ],
)
def test_refused(vault: Path, write: Write, words: str, said: str) -> None:
    write("vaultmem/pending.md", "x")
    write(".obsidian/app.json", "{}")
    (vault.parent / "outside.md").write_text("x")
    ended = as_text(vault, *words.split())
    assert ended.code in (1, 2)
    assert said in one_line(ended)


def test_a_line_that_is_pending_and_no_task_is_answered(vault: Path, write: Write) -> None:
    (vault / ".obsidian").rmdir()
    write("logseq/config.edn", "{}")
    page = write("pages/Own.md", "- practise\n  SCHEDULED: <2026-12-01 Tue 07:00 .+1d>\n")
    synced(vault)
    before = page.read_text()
    ended = as_text(vault, "done", "Own:1")
    assert ended.out.startswith("done: practise")
    assert page.read_text() == before
    assert "nothing is pending at" in one_line(as_text(vault, "done", "Own:2"))


def test_what_logseq_writes_of_its_database_is_not_changed_and_nothing_is_proposed_for_it(
    vault: Path, write: Write
) -> None:
    (vault / ".obsidian").rmdir()
    write("logseq/config.edn", "{}")
    write("pages/Green tea ceremony.md", "- tea\n")
    before = "- TODO the [[Green tea cermony]]\n"
    mirrored = write("mirror/markdown/pages/Plan.md", before)
    page = write("pages/Own.md", before)
    synced(vault)
    words = "set", "mirror/markdown/pages/Plan.md", "a", "b"
    assert "never reads it; change it there" in one_line(as_text(vault, *words))
    assert as_text(vault, "done", "mirror/markdown/pages/Plan.md:1").code != 0
    assert as_text(vault, "dream", "--level", "3").code == 0
    assert [one["path"] for one in done(vault, "review")["proposals"]] == ["pages/Own.md"]
    assert (mirrored.read_text(), page.read_text()) == (before, before)


def test_a_logseq_page(vault: Path, write: Write) -> None:
    write("logseq/config.edn", "{}")
    write("pages/Tea.md", "type:: drink\ntags:: green, [[hot water]]\n\n- TODO brew\n- NOW pour\n")
    write("pages/Old.org", "#+TITLE: Old page\n* TODO brew\n")
    write("journals/2026_11_20.md", "- tea with [[Anne]]\n")
    with Vault(str(vault)) as opened:
        opened.sync()
        opened.set("Tea", "tags", "new", add=True)
        opened.set("Tea", "rating", 5)
        opened.unset("Tea", "type")
        assert opened.done("pages/Tea.md:4")["carried_out"]
        for note, key in (("Tea", ""), ("Old page", "rating")):
            with pytest.raises(UsageError):
                opened.set(note, key, 5)
        for day in ("Nov 20th, 2026", "2026-11-20", "2026_11_20"):
            assert opened.links(day)[0].path == "Anne"
            assert opened.set(day, "rating", 5)["note"] == "journals/2026_11_20.md"
    now = (vault / "pages/Tea.md").read_text()
    assert now == "tags:: green, [[hot water]], new\nrating:: 5\n\n- DONE brew\n- NOW pour\n"


def test_an_assistant_ticks_nothing_by_naming_a_line(vault: Path) -> None:
    """For an assistant NOTE:LINE names what is due there, as the id does."""
    found = done(vault, "done", "Plan:8", "--by", "claude")["items"][0]
    assert found["id"].startswith("vm-")
    assert found["asks"]
    assert text(vault) == NOTE
    assert "nothing is pending at" in one_line(as_text(vault, "done", "Plan:9", "--by", "claude"))
    assert as_text(vault, "snooze", "Plan:8", "--until", "3d").code == 0
