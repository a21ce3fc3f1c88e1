"""What waits for a person: the decision by days, and how it is shown."""

from __future__ import annotations

import argparse
from datetime import date, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cli_run import ran, tree_hash
from tests.conftest import Write
from tests.index_dump import synced
from vaultmem.commands import pending as command
from vaultmem.core.pending import moment, sections
from vaultmem.output import Captured, Output

TODAY = "2026-03-10"

DAYS = st.dates(date(2026, 2, 1), date(2026, 4, 30)).map(date.isoformat)
MOMENTS = DAYS | st.builds(lambda day, hour: f"{day}T{hour:02}:30", DAYS, st.integers(0, 23))
TASKS = st.fixed_dictionaries(
    {"text": st.text(max_size=3), "line": st.integers(1, 9)},
    optional=dict.fromkeys(("due", "scheduled", "remind", "start"), MOMENTS),
)


@given(st.lists(st.tuples(st.text(max_size=3), TASKS)), DAYS, st.integers(0, 40))
def test_every_task_is_in_one_place_at_most(
    tasks: list[tuple[str, dict[str, object]]], today: str, days: int
) -> None:
    found = sections(tasks, today, days)
    last = (date.fromisoformat(today) + timedelta(days)).isoformat()
    placed = [id(task) for part in (found.overdue, found.today, found.upcoming) for _, task in part]
    assert len(placed) == len(set(placed))
    assert all(moment(task)[:10] < today for _, task in found.overdue)
    assert all(moment(task)[:10] == today for _, task in found.today)
    assert all(today < moment(task)[:10] <= last for _, task in found.upcoming)
    for part in (found.overdue, found.today, found.upcoming):
        assert [moment(task) for _, task in part] == sorted(moment(task) for _, task in part)
    for _, task in tasks:
        day, only_starts = moment(task)[:10], not task.keys() & {"due", "scheduled", "remind"}
        late = day < today and not only_starts
        assert (id(task) in placed) == bool(day and (late or today <= day <= last))


def test_a_day_that_is_due_goes_before_others() -> None:
    task: dict[str, object] = {
        "due": "2026-03-20",
        "scheduled": "2026-03-01",
        "start": "2026-02-01",
    }
    assert moment(task) == "2026-03-20"
    assert moment({"scheduled": "2026-03-02", "remind": "2026-03-01T08:00"}) == "2026-03-01T08:00"
    assert moment({}) == ""


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


def shown(vault: Path, *words: str, today: str = TODAY) -> Output:
    """What the command gives on a day."""
    parser = argparse.ArgumentParser()
    command.arguments(parser)
    args = parser.parse_args(words)
    args.vault = str(vault)
    output = Captured()
    assert command.run(args, output, today) == 0
    return output


def value_of(vault: Path, *words: str, today: str = TODAY) -> dict[str, list[dict[str, object]]]:
    output = shown(vault, *words, today=today)
    assert isinstance(output, Captured)
    assert isinstance(output.value, dict)
    return output.value


def texts(found: dict[str, list[dict[str, object]]], part: str) -> list[object]:
    return [one["text"] for one in found[part]]


def test_by_day(vault: Path, write: Write) -> None:
    write("Tasks.md", NOTE)
    synced(vault)
    found = value_of(vault)
    assert texts(found, "overdue") == ["later", "late"]
    assert texts(found, "today") == ["now"]
    assert texts(found, "upcoming") == ["planned", "soon"]
    assert found["review"] == []
    assert found["count"] == 5
    assert found["overdue"][0]["path"] == "Tasks.md"
    assert found["overdue"][0]["line"] == 2
    assert texts(value_of(vault, "--days", "0"), "upcoming") == []
    assert texts(value_of(vault, "--days", "8"), "upcoming") == ["planned", "soon", "far"]
    assert texts(value_of(vault, today="2026-03-19"), "upcoming") == []


def test_to_review(vault: Path, write: Write) -> None:
    write("Note.md", "apple")
    write("Note.sync-conflict-20260301-101010-ABCDEFG.md", "apple pear")
    write("Broken.md", "---\na: [\n---\ntext")
    synced(vault)
    found = value_of(vault)
    assert [(one["kind"], one["path"]) for one in found["review"]] == [
        ("conflict copy", "Note.sync-conflict-20260301-101010-ABCDEFG.md"),
        ("unreadable", "Broken.md"),
    ]
    assert "Note.md" in str(found["review"][0]["what"])
    assert "front matter" in str(found["review"][1]["what"])
    assert found["count"] == 2


def on(vault: Path, *words: str) -> list[str]:
    ended = ran("pending", *words, "--format", "text", "--vault", str(vault))
    assert ended.code == 0, ended.err
    return ended.out.splitlines()


def test_few_lines_unless_all_are_wanted(vault: Path, write: Write) -> None:
    write("Tasks.md", "".join(f"- [ ] task {n} 📅 2020-01-{1 + n % 28:02}\n" for n in range(30)))
    write("Bad.md", "---\na: [\n---\n")
    synced(vault)
    lines = on(vault)
    assert lines[0] == "overdue"
    assert lines[-1].endswith(" more: vaultmem pending --all")
    assert "to review" in lines
    assert len(lines) <= 1 + 20 + 1 + 1
    everything = on(vault, "--all")
    assert len(everything) == 1 + 30 + 1 + 1
    assert everything[-2] == "to review"
    tasks = [line for line in lines if "task " in line]
    assert tasks == everything[1 : 1 + len(tasks)]


def test_a_task_is_one_short_line(vault: Path, write: Write) -> None:
    write(
        "Tasks.md",
        f"- [ ] {'long ' * 100}\x1b[31m 📅 2020-01-01\n- [ ] {'x' * 160} 📅 2020-01-02\n",
    )
    synced(vault)
    title, first, second = on(vault)
    assert title == "overdue"
    assert first.startswith("  2020-01-01  long long")
    assert first.endswith("…  Tasks.md:1")
    assert len(first) == len("  2020-01-01  ") + 160 + len("  Tasks.md:1")
    assert f"{'x' * 160}  Tasks" in second
    assert "\x1b" not in first


def test_nothing_waits(vault: Path, write: Write) -> None:
    write("Note.md", "- [ ] some day\n")
    synced(vault)
    ended = ran("pending", "--format", "text", "--vault", str(vault))
    assert (ended.code, ended.out) == (0, "")
    assert "nothing waits" in ended.err
    assert ran("pending", "--format", "json", "--vault", str(vault)).data == {
        "overdue": [], "today": [], "upcoming": [], "review": [], "count": 0,
    }  # fmt: skip


@pytest.mark.parametrize("days", ["-1", "x", "1.5", "99999999999"])
def test_days_that_make_no_sense(vault: Path, days: str) -> None:
    ended = ran("pending", "--days", days, "--vault", str(vault), "--format", "text")
    assert ended.code == 2
    assert "--days" in ended.err


def test_the_furthest_day(vault: Path, write: Write) -> None:
    write("Note.md", "- [ ] a 📅 9999-12-31\n- [ ] b 📅 0001-01-01\n")
    synced(vault)
    assert (
        ran(
            "pending", "--days", str(command.FURTHEST), "--vault", str(vault), "--format", "json"
        ).code
        == 0
    )


def test_it_only_reads(vault: Path, write: Write) -> None:
    write("Tasks.md", NOTE)
    synced(vault)
    before = tree_hash(vault)
    on(vault)
    assert tree_hash(vault) == before
