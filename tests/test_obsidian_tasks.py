"""Task lines, their fields and reminders (R-TASK, R-REM)."""

from typing import Any

import pytest

from tests.obsidian_notes import note


def task(words: str, files: dict[str, Any] | None = None, mark: str = "- [ ]") -> dict[str, Any]:
    """One task's fields, without the empty ones."""
    tasks = note(f"{mark} {words}\n", files=files).tasks
    assert len(tasks) == 1
    told = tasks[0]._asdict()
    return {key: value for key, value in told.items() if value and key not in {"line", "status"}}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("a 📅 2026-11-30", {"text": "a", "due": "2026-11-30"}),
        ("a 📅️ 2026-11-30", {"text": "a", "due": "2026-11-30"}),
        ("a 📅2026-11-30", {"text": "a", "due": "2026-11-30"}),
        ("a 📆 2026-11-30 ⌛2026-11-29", {"text": "a", "due": "2026-11-30", "scheduled": "2026-11-29"}),
        ("a 📅 2026-11-30 then b", {"text": "a 📅 2026-11-30 then b"}),
        ("a ⏫ b 📅 2026-11-30", {"text": "a ⏫ b", "due": "2026-11-30"}),
        (
            "a #x 📅 2026-11-30 #y ⏬ #z",
            {"text": "a #x #y #z", "due": "2026-11-30", "priority": "lowest"},
        ),
        ("#x 📅 2026-11-30", {"text": "#x", "due": "2026-11-30"}),
        ("a 📅 2026-11-30 📅 2026-12-30", {"text": "a", "due": "2026-11-30"}),
        ("a 📅 2026-02-30", {"text": "a"}),
        ("a 📅 2026-02-30 📅 2026-12-30", {"text": "a"}),
        ("a 🔁 every week on Monday, Friday 🏁 delete", {"text": "a", "recurrence": "every week on Monday, Friday"}),
        ("a 🔁 every day when done", {"text": "a", "recurrence": "every day when done"}),
        ("a ⛔ x, y-1 🆔 z_2", {"text": "a", "depends_on": ("x", "y-1"), "id": "z_2"}),
        ("a 🔼 ^id-1", {"text": "a", "priority": "medium", "block_id": "id-1"}),
        (
            "a ✅ 2026-11-20 ➕ 2026-11-01 ❌ 2026-11-02 🛫 2026-11-03",
            {
                "text": "a",
                "completed": "2026-11-20",
                "created": "2026-11-01",
                "cancelled_on": "2026-11-02",
                "start": "2026-11-03",
            },
        ),
        ("run `x` [[B]] ⏫", {"text": "run `x` [[B]]", "priority": "high"}),
        ("a (due:: 2026-12-01), [priority:: lowest]", {"text": "a", "due": "2026-12-01", "priority": "lowest"}),
        (
            "a [due::2026-12-01], (id:: q) [dependsOn:: b, c]",
            {"text": "a", "due": "2026-12-01", "id": "q", "depends_on": ("b", "c")},
        ),
        ("a [due:: 2026-12-01] b", {"text": "a [due:: 2026-12-01] b"}),
        ("a [due:: 2026-12-01)", {"text": "a [due:: 2026-12-01)"}),
        ("a [due:: 2026-12-01] [mood:: good]", {"text": "a [due:: 2026-12-01] [mood:: good]"}),
        (
            "a [cancelled:: 2026-12-01] [repeat:: every day] [onCompletion:: keep]",
            {"text": "a", "cancelled_on": "2026-12-01", "recurrence": "every day"},
        ),
        ("📅 2026-11-30", {"due": "2026-11-30"}),
    ],
)  # fmt: skip
def test_fields(words: str, expected: dict[str, Any]) -> None:
    assert task(words) == expected


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("a (@2026-11-21)", {"text": "a", "remind": "2026-11-21"}),
        ("a (@2026-11-21 9:05) b", {"text": "a b", "remind": "2026-11-21T09:05"}),
        ("(@[[2026-11-21]] 10:00) a", {"text": "a", "remind": "2026-11-21T10:00"}),
        ("a (@2026-11-21) (@2026-11-22)", {"text": "a (@2026-11-22)", "remind": "2026-11-21"}),
        ("a (@2026-11-21 10:00 🔁every day)", {"text": "a", "remind": "2026-11-21T10:00", "recurrence": "every day"}),
        ("a (@2026-11-21 25:00)", {"text": "a (@2026-11-21 25:00)"}),
        ("a (@2026-11-21 08:00) 📅 2026-11-30", {"text": "a", "remind": "2026-11-21T08:00", "due": "2026-11-30"}),
        ("a ⏰ 2026-11-21 09:30", {"text": "a", "remind": "2026-11-21T09:30"}),
        ("a ⏰ 2026-11-21 09:30 b", {"text": "a b", "remind": "2026-11-21T09:30"}),
        ("a 📅 2026-11-21 18:00", {"text": "a", "due": "2026-11-21", "remind": "2026-11-21T18:00"}),
        ("a @{2026-11-21}", {"text": "a", "remind": "2026-11-21"}),
        ("a @{2026-11-21} @@{09:00}", {"text": "a", "remind": "2026-11-21T09:00"}),
        ("a @@{2:30 PM} b @[[2026-11-21]]", {"text": "a b", "remind": "2026-11-21T14:30"}),
        ("a @{2026-11-21} @@{12:10 AM}", {"text": "a", "remind": "2026-11-21T00:10"}),
        ("mail me@{2026-11-21}", {"text": "mail me@{2026-11-21}"}),
    ],
)  # fmt: skip
def test_reminders(words: str, expected: dict[str, Any]) -> None:
    assert task(words) == expected


def test_the_global_filter_limits_what_counts() -> None:
    files = {".obsidian/plugins/obsidian-tasks-plugin/data.json": {"globalFilter": "#task"}}
    text = "- [ ] #task a\n- [ ] b\n- [ ] c 📅 2026-11-30 #task\n- [ ] call (@2026-11-21)\n"
    assert [t.line for t in note(text, files=files).tasks] == [1, 3, 4]


@pytest.mark.parametrize(
    "line",
    [
        "- [] a", "-[ ] a", "- [  ] a", "a [ ] b", "[ ] a", "- a [ ] b", "- [ ]", "- [x](y.md)", "`- [ ] a`",
        "<!-- - [ ] a -->", "- [a]: b", "- - [ ] a",
    ],
)  # fmt: skip
def test_no_task(line: str) -> None:
    assert note(line).tasks == ()
