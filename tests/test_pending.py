"""Pending items: the same from the index, the listing and the agent, and how they are shown."""

import time
from pathlib import Path
from typing import Any

import pytest

from tests.cli_run import Ran, ran
from tests.conftest import Write
from tests.index_dump import synced
from tests.stand_in_agent import agent_for
from tests.test_listing import aged
from vaultmem import Vault

NOTE = """\
- [ ] late 📅 2026-03-01
- [ ] later 📅 2026-02-01
- [ ] now 📅 2026-03-10
- [ ] soon 📅 2026-03-17
- [ ] far 📅 2026-03-18
- [ ] never
- [x] done 📅 2026-03-10
- [ ] could begin 🛫 2026-01-01
- [ ] planned ⏳ 2026-03-11
"""
SECTIONS = ("today", "upcoming", "overdue", "review", "preferences")


def on_day(monkeypatch: pytest.MonkeyPatch, month: int, day: int, hour: int = 12) -> None:
    """Set the clock."""
    now = time.mktime((2026, month, day, hour, 0, 0, 0, 0, -1))
    monkeypatch.setattr(time, "time", lambda: now)


@pytest.fixture(autouse=True)
def today(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is noon of 10 March 2026."""
    on_day(monkeypatch, 3, 10)


def asked(vault: Path, *words: str) -> Ran:
    shape = () if "--format" in words else ("--json",)
    return ran("pending", *words, *shape, "--vault", str(vault))


def value_of(vault: Path, *words: str) -> dict[str, Any]:
    ended = asked(vault, *words, "--format", "json")
    assert (ended.code, ended.err) == (0, "")
    found = ended.data
    assert isinstance(found, dict)
    assert list(found) == [*SECTIONS, "count"]
    return found


def texts(found: dict[str, Any], part: str) -> list[str]:
    return [one["text"] for one in found[part]]


# --- by day


def test_by_day(vault: Path, write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    write("Tasks.md", NOTE)
    synced(vault)
    found = value_of(vault)
    assert texts(found, "overdue") == ["late", "later"]
    assert texts(found, "today") == ["now"]
    assert texts(found, "upcoming") == ["planned", "soon"]
    assert found["review"] == found["preferences"] == []
    assert found["count"] == 5
    first = found["overdue"][0]
    assert first.pop("id").startswith("vm-")
    assert first == {
        "text": "late", "due": "2026-03-01", "source": "Tasks.md:1", "title": "Tasks", "repeat": None,
    }  # fmt: skip
    assert texts(value_of(vault, "--days", "0"), "upcoming") == []
    assert texts(value_of(vault, "--days", "8"), "upcoming") == ["planned", "soon", "far"]
    on_day(monkeypatch, 3, 19)
    assert texts(value_of(vault), "upcoming") == []
    assert texts(value_of(vault), "overdue") == ["far", "soon", "planned", "now", "late", "later"]


# --- the three ways to it


@pytest.fixture
def full(vault: Path, write: Write) -> Path:
    """A vault with pending items of every kind, all old."""
    write("Tasks.md", NOTE)
    write("Clippings/Page.md", "- [ ] buy our course 📅 2026-03-10\n")
    write("Note (conflicted copy).md", "apple")
    with Vault(str(vault)) as opened:
        opened.write("Prefers trains to planes", category="preferences")
    synced(vault)
    asked(vault)  # what an expression of time means is written down from now on
    aged(vault)
    return vault


def refuse(*_: object, **__: object) -> None:
    raise AssertionError("the index was asked")


@pytest.mark.parametrize("words", [(), ("--all",)], ids=" ".join)
@pytest.mark.parametrize("form", ["text", "json"])
def test_the_index_the_listing_and_the_agent_say_the_same(
    full: Path, words: tuple[str, ...], form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = (*words, "--format", form)
    anew = asked(full, *given)
    with monkeypatch.context() as patch:
        patch.setattr(Vault, "__init__", refuse)
        assert asked(full, *given) == anew
    with agent_for(full) as host:
        assert asked(full, *given) == anew
        assert host.opened == 1


def test_a_tick_on_the_page_counts_before_any_agent_has_seen_it(full: Path, write: Write) -> None:
    id_ = value_of(full)["today"][0]["id"]
    aged(full)
    value_of(full)
    write(
        "vaultmem/pending.md", f"---\ngenerated: vaultmem\n---\n\n- [x] now 📅 2026-03-10 ^{id_}\n"
    )
    assert value_of(full)["today"] == []


# --- how it is shown


def on(vault: Path, *words: str) -> list[str]:
    ended = asked(vault, *words, "--format", "text")
    assert ended.code == 0, ended.err
    return ended.out.splitlines()


def test_a_line_begins_with_the_id_that_answers_take(vault: Path, write: Write) -> None:
    write(
        "Tasks.md", "- [ ] call Anne (@2026-03-10 15:00)\n- [ ] bins 🔁 every week 📅 2026-03-10\n"
    )
    synced(vault)
    bins, anne = value_of(vault)["today"]
    assert on(vault) == [
        "today",
        f"  {bins['id']}  Tue 2026-03-10        bins (every week)  Tasks.md:2",
        f"  {anne['id']}  Tue 2026-03-10 15:00  call Anne  Tasks.md:1",
    ]


def test_few_lines_unless_all_are_wanted(vault: Path, opened: Vault, write: Write) -> None:
    write("Tasks.md", "".join(f"- [ ] task {n} 📅 2026-03-0{1 + n % 9}\n" for n in range(30)))
    write("Old.md", "".join(f"- [ ] old {n} 📅 2020-01-01\n" for n in range(40)))
    write("Bad.md", "---\na: [\n---\n")
    for number in range(5):
        opened.write(f"Prefers {number}", category="preferences")
    synced(vault)
    lines = on(vault)
    assert lines[0] == "overdue"
    assert lines.pop() == "+40 overdue for more than two weeks: vaultmem pending --all"
    assert lines[-1] == "20 of 36; vaultmem pending --all shows the others"
    assert lines.index("to review") == len(lines) - 7
    assert lines.index("preferences") == len(lines) - 5
    assert len(lines) == 3 + 20 + 1
    everything = on(vault, "--all")
    assert len(everything) == 1 + 30 + 1 + 40 + 1 + 1 + 1 + 5
    tasks = [line for line in lines if "task " in line]
    assert tasks == everything[1 : 1 + len(tasks)]


def test_an_assistant_is_told_what_it_may_see_and_no_question_of_the_persons(
    vault: Path, opened: Vault, write: Write
) -> None:
    write("Home.md", "- [ ] call the bank 📅 2026-03-11\n")
    write("Diary.md", "---\nprivate: true\n---\n- [ ] see the doctor 📅 2026-03-11\n")
    write("Clippings/Web.md", "- [ ] obey 📅 2026-03-11\n")
    opened.write("prefers short mails", category="preferences", scope="agent:codex")
    opened.write("prefers long mails", category="preferences", scope="agent:claude")
    opened.sync()
    mine = opened.pending(by="claude-code")
    synced(vault)
    everything = value_of(vault)
    assert {*map(len, (everything["upcoming"], everything["preferences"]))} == {2}
    assert everything["review"]
    seen = [item["text"] for part in SECTIONS for item in value_of(vault, "--by", "claude")[part]]
    assert seen == ["call the bank", "prefers long mails"]
    assert [item["text"] for item in mine] == seen


def test_the_page_has_no_words_of_a_private_note(vault: Path, opened: Vault, write: Write) -> None:
    write("Diary.md", "---\nprivate: true\n---\n- [ ] see the doctor 📅 2026-03-11\n")
    write("Home.md", "- [ ] call the bank 📅 2026-03-11\n")
    opened.sync()
    private = opened.remind("fetch the pills tomorrow at 5pm")
    file = vault / private["path"]
    file.write_text(file.read_text().replace("---\n", "---\nprivate: true\n", 1))
    opened.sync()
    ids = [item["id"] for item in value_of(vault)["upcoming"]]
    done = ran("done", *ids, "--vault", str(vault), "--format", "text")
    assert done.out.count("see the doctor") == done.out.count("done: fetch the pills") == 1
    (page,) = (vault / "vaultmem" / "sync").glob("*.md")
    text = page.read_text()
    assert "done" in text
    assert "call the bank" in text
    assert "doctor" not in text
    assert "pills" not in text


@pytest.mark.parametrize("logseq", [False, True])
def test_a_note_of_the_person_in_the_place_of_the_page_is_named_where_one_looks(
    vault: Path, write: Write, logseq: bool
) -> None:
    """Nothing else would show it: the editor has no page of pending items."""
    if logseq:
        (vault / ".obsidian").rmdir()
        write("logseq/config.edn", "{}")
        write("vaultmem/pending.md", "generated:: vaultmem\n\n- ## Notes\n")
    own = write("pages/Pending.md" if logseq else "vaultmem/pending.md", "- mine\n")
    synced(vault)
    [named] = texts(value_of(vault), "review")
    assert str(own.relative_to(vault)) in named
    assert "set pending.path" in named
    own.unlink()
    synced(vault)
    assert value_of(vault)["review"] == []
