"""What was answered and told stays with what has another place now, and with nothing else."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from tests.conftest import Write
from tests.index_dump import synced
from vaultmem.api import Vault
from vaultmem.memories.store import MemoryStore
from vaultmem.reminders.answers import DONE, SNOOZED, Answer, Told
from vaultmem.reminders.due import TASK, Due
from vaultmem.reminders.moved import KEPT, Following, followed
from vaultmem.reminders.pending_items import approval

AT = "2026-11-20T10:00:00Z"
DAY = "2026-11-22"
NOW = datetime(2026, 11, 22, 10, tzinfo=ZoneInfo("Europe/Berlin"))
HEARD = {"vm-old": Told("vm-old", AT, 1, DAY)}


def due(
    id_: str, text: str = "call Anne", path: str = "a.md", line: int = 3, day: str = DAY
) -> Due:
    return Due(id_, TASK, text, day, day, path, line, "A")


def said(state: str, id_: str = "vm-old") -> dict[str, Answer]:
    return {id_: Answer(id_, state, AT, until="2027-01-01" if state == SNOOZED else "")}


OLD = {"vm-old": due("vm-old")}


def test_a_note_of_another_name_keeps_its_answers() -> None:
    answers = {**said(DONE), **said(DONE, approval("vm-old"))}
    found = followed(OLD, [due("vm-new", path="b.md", line=9)], answers, HEARD)
    assert {one.id: one.state for one in found.answers} == {
        "vm-new": DONE,
        approval("vm-new"): DONE,
    }
    assert found.told == [Told("vm-new", AT, 1, DAY)]


def test_an_answer_that_is_there_counts() -> None:
    answers = {**said(DONE), **said(SNOOZED, "vm-new")}
    assert not followed(OLD, [due("vm-new", path="b.md")], answers, {}).answers


def test_a_copy_is_told_and_not_answered() -> None:
    found = followed(OLD, [*OLD.values(), due("vm-new", path="b.md")], said(DONE), HEARD)
    assert (found.answers, [one.id for one in found.told]) == ([], ["vm-new"])


def test_a_line_that_was_mended_sleeps_on_and_is_not_told_again() -> None:
    found = followed(OLD, [due("vm-new", "call Anna")], said(SNOOZED), HEARD)
    assert [one.id for one in found.answers] == ["vm-new"]
    assert [one.id for one in found.told] == ["vm-new"]


@pytest.mark.parametrize(
    "new",
    [
        due("vm-new", "call Anna"),  # done was what stood there
        due("vm-new", "buy some milk"),
        due("vm-new", day="2026-11-23"),
        due("vm-new", "call Anna", line=4),
    ],
)
def test_another_thing_is_not_done(new: Due) -> None:
    assert not followed(OLD, [new], said(DONE), {}).answers


@pytest.mark.parametrize("new", [due("vm-new", "buy some milk"), due("vm-new", day="2026-11-23")])
def test_another_thing_is_told(new: Due) -> None:
    assert not followed(OLD, [new], {}, HEARD).told


def test_of_two_that_are_gone_nobody_knows_which_it_was() -> None:
    before = {**OLD, "vm-two": due("vm-two", path="c.md")}
    assert not followed(before, [due("vm-new", path="b.md")], said(DONE), {}).answers


def test_it_is_known_after_a_restart_and_for_a_while(tmp_path: Path) -> None:
    file = str(tmp_path / "pending.dues")
    new = [due("vm-new", path="b.md")]
    assert not Following(file).look([*OLD.values()], said(DONE), HEARD, 0.0).told
    assert Following(file).look(new, said(DONE), HEARD, 5.0).told
    slow = Following(str(tmp_path / "other"))
    slow.look([*OLD.values()], said(DONE), HEARD, 0.0)
    slow.look([], said(DONE), HEARD, 1.0)
    assert slow.look(new, said(DONE), HEARD, KEPT).answers
    late = Following(str(tmp_path / "third"))
    late.look([*OLD.values()], said(DONE), HEARD, 0.0)
    for now in (1.0, 3 * KEPT):
        late.look([], said(DONE), HEARD, now)
    assert not late.look(new, said(DONE), HEARD, 3 * KEPT).answers


@pytest.mark.parametrize("damaged", ["", "{", "[1, [2]]", '[["vm-old", 1]]', "\0"])
def test_a_damaged_file_is_none(tmp_path: Path, damaged: str) -> None:
    file = tmp_path / "pending.dues"
    file.write_text(damaged)
    assert not Following(str(file)).look([due("vm-new")], said(DONE), HEARD, 0.0).told


def test_a_note_that_is_renamed_neither_rings_nor_asks_again(
    vault: Path, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VAULTMEM_NOTIFY_METHOD", "file")
    write("One.md", f"- [ ] call Anne 📅 {DAY}\n- [ ] sweep 📅 2026-11-20\n")

    def looked(*done: str) -> tuple[list[str], list[str]]:
        synced(vault)
        opened = Vault(str(vault))
        waiting = MemoryStore(opened.state, opened.config).waiting
        catalog = opened.searcher().catalog
        for one in waiting.dues(catalog, NOW):
            if one.text in done:
                waiting.record.add([Answer(one.id, DONE, AT)], [], NOW.timestamp())
        waiting.refresh(catalog, NOW)
        told = waiting.tell(catalog, NOW).tell
        return [one.title for one in told], [
            one.text for one in waiting.items(catalog, NOW) if one.section != "review"
        ]

    assert looked("sweep") == (["call Anne"], ["call Anne"])
    (vault / "One.md").rename(vault / "Two.md")
    assert looked() == ([], ["call Anne"])
