"""Task lines of Obsidian, their fields and reminders (R-TASK, R-REM), and what ticking one changes."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.obsidian_notes import note
from tests.stand_in_files import Files
from vaultmem.adapter import Completion, Note, Task
from vaultmem.notes.frontmatter import split
from vaultmem.text.recurrence import next_day
from vaultmem_obsidian.rules import ObsidianDialect, ObsidianRules


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


# --- Ticking a task


DONE = Completion("2026-11-22T10:00", next_day)
PLUGIN = ".obsidian/plugins/obsidian-tasks-plugin/data.json"


def rules(settings: dict[str, object] | None = None) -> ObsidianRules:
    """A vault without the Tasks plugin, or with these settings of it."""
    enabled = {".obsidian/community-plugins.json": ["obsidian-tasks-plugin"], PLUGIN: settings}
    return ObsidianDialect().open(Files(None if settings is None else enabled))


BARE, WITH_PLUGIN = rules(), rules({})


def read(text: str, by: ObsidianRules = BARE) -> Note:
    plain = text.replace("\r\n", "\n")
    return by.parse("Note.md", plain, split(plain))


def ticked(text: str, by: ObsidianRules = BARE, number: int = 0) -> str | None:
    return by.completed("Note.md", text, read(text, by).tasks[number], DONE)


@pytest.mark.parametrize(
    ("line", "becomes"),
    [
        ("- [ ] call Anne", "- [x] call Anne"),
        ("- [/] call Anne  ", "- [x] call Anne  "),
        ("\t> 1. [ ] call Anne ^a-1", "\t> 1. [x] call Anne ^a-1"),
        ("- [ ] call 📅 2026-11-20", "- [x] call 📅 2026-11-20 ✅ 2026-11-22"),
        ("* [ ] call ⏫ ^a-1 ", "* [x] call ⏫ ✅ 2026-11-22 ^a-1 "),
        ("- [ ] call [due:: 2026-11-20]", "- [x] call [due:: 2026-11-20]  [completion:: 2026-11-22]"),
        ("- [ ] call (@2026-11-20 09:00)", "- [x] call (@2026-11-20 09:00)"),
        ("- [ ] call @{2026-11-20} @@{09:00}", "- [x] call @{2026-11-20} @@{09:00}"),
        ("- [ ] in 📅 2026-11-20 words", "- [x] in 📅 2026-11-20 words"),
    ],
)  # fmt: skip
def test_the_box_and_the_day(line: str, becomes: str) -> None:
    for end in ("\n", "\r\n"):
        whole = end.join(["# Tasks", line, "- [ ] another", ""])
        assert ticked(whole) == end.join(["# Tasks", becomes, "- [ ] another", ""])


@pytest.mark.parametrize(
    ("settings", "becomes"),
    [
        ({}, "- [x] call ✅ 2026-11-22"),
        ({"taskFormat": "dataview"}, "- [x] call  [completion:: 2026-11-22]"),
        ({"setDoneDate": False}, "- [x] call"),
        (None, "- [x] call"),
    ],
)
def test_the_settings_of_the_plugin(settings: dict[str, object] | None, becomes: str) -> None:
    assert ticked("- [ ] call", rules(settings)) == becomes


@pytest.mark.parametrize(
    ("line", "following"),
    [
        ("call 🔁 every week 📅 2026-11-20", "call 🔁 every week 📅 2026-11-27"),
        (
            "call 🔁 every week when done 🛫 2026-11-18 ⏳ 2026-11-19 📅 2026-11-20",
            "call 🔁 every week when done 🛫 2026-11-27 ⏳ 2026-11-28 📅 2026-11-29",
        ),
        ("pay 🔁 every month 📅 2026-01-31", "pay 🔁 every month 📅 2026-02-28"),
        ("pay 🔁 every month ⏳ 2026-01-31 🛫 2026-01-30", "pay 🔁 every month ⏳ 2026-02-28 🛫 2026-02-27"),
        ("a 🆔 x1 ⛔ y2,z3 🔁 every day ➕ 2026-01-01 📅 2026-11-20 ^b", "a 🔁 every day 📅 2026-11-21"),
        ("a [repeat:: every day] [due:: 2026-11-20] [id:: q]", "a [repeat:: every day] [due:: 2026-11-21]"),
        ("a (@2026-11-20 09:00 🔁every day)", "a (@2026-11-21 09:00 🔁every day)"),
        ("a (@2026-11-20 09:00) 🔁 every day 📅 2026-11-21", "a (@2026-11-21 09:00) 🔁 every day 📅 2026-11-22"),
        ("a @{2026-11-20} 🔁 every day 📅 2026-11-21", "a @{2026-11-21} 🔁 every day 📅 2026-11-22"),
        ("a ⏰ 2026-11-20 09:00 🔁 every day 📅 2026-11-21", "a ⏰ 2026-11-21 09:00 🔁 every day 📅 2026-11-22"),
    ],
)  # fmt: skip
def test_the_next_one_stands_above(line: str, following: str) -> None:
    found = ticked(f"\t- [ ] {line}\r\n\t\t- child")
    assert found is not None
    first, second, child = found.split("\r\n")
    assert first == f"\t- [ ] {following}"
    assert second.startswith("\t- [x] ")
    assert child == "\t\t- child"


def test_the_next_one_as_the_settings_want_it() -> None:
    line = "- [ ] a ➕ 2026-01-01 🔁 every day ⏳ 2026-11-19 📅 2026-11-20"
    below = rules({"recurrenceOnNextLine": True, "setCreatedDate": True, "removeScheduledDateOnRecurrence": True})  # fmt: skip
    assert ticked(f"x\r\n{line}", below) == (
        f"x\r\n- [x]{line[5:]} ✅ 2026-11-22\r\n- [ ] a ➕ 2026-11-22 🔁 every day 📅 2026-11-21"
    )


@pytest.mark.parametrize(
    "now",
    [
        "- [x] call Anne", "- [-] call Anne", "- [ ] call Annette", "call Anne", "", "```\n- [ ] call Anne\n```",
        "\n- [ ] call Anne",
    ],
)  # fmt: skip
def test_what_is_no_longer_that_task_stays(now: str) -> None:
    assert BARE.completed("Note.md", now, Task(1, " ", "call Anne"), DONE) is None


@pytest.mark.parametrize(
    "line", ["a 🔁 every blue moon 📅 2026-11-20", "a 🔁 every year 📅 9999-12-01"]
)
def test_a_rule_that_only_the_editor_knows_is_left_to_it(line: str) -> None:
    assert ticked(f"- [ ] {line}") is None


FIELDS = st.sampled_from([
    "📅 2026-11-20", "⏳2026-01-31", "🛫️ 2026-02-30", "➕ 2026-01-01", "🔁 every day", "🔁 every month when done",
    "🆔 a1", "⛔ b2, c3", "🔺", "#home", "(@2026-11-20 09:00)", "(@[[2026-11-20]] 9:00 🔁 every day)", "@{2026-11-20}",
    "@@{09:00}", "⏰ 2026-11-20 10:00", "📅 2026-11-20 10:00", "[due:: 2026-11-20]", "(repeat:: every week)",
    "[id:: x]", "[x:: y]", "🏁 delete", "words", "✅ 2026-11-01", "⏳ 2026-11-20 10:00", "^id-1", "`", "  ", "[[a]]",
])  # fmt: skip
BOXES = st.sampled_from(["- [ ] ", "\t* [/] ", "> 1. [ ]  ", "- [x] ", "- ", "", "+ [-] ", "```"])
LINES = st.tuples(BOXES, st.lists(FIELDS, max_size=7)).map(lambda one: one[0] + " ".join(one[1]))
NOTES = st.tuples(st.lists(LINES, min_size=1, max_size=6), st.sampled_from(["\n", "\r\n"])).map(
    lambda one: one[1].join(one[0])
)
EDITORS = st.sampled_from(
    [BARE, WITH_PLUGIN, rules({"recurrenceOnNextLine": True}), rules({"taskFormat": "dataview"})]
)


def placed(task: Task) -> Task:
    return task._replace(line=0)


@given(NOTES, EDITORS, st.integers(0, 5))
def test_exactly_this_task_is_done(text: str, by: ObsidianRules, number: int) -> None:
    tasks = read(text, by).tasks
    if not tasks:
        return
    task = tasks[number % len(tasks)]
    found = by.completed("Note.md", text, task, DONE)
    if task.done or task.cancelled:
        assert found is None
        return
    if found is None:
        assert task.recurrence
        return
    before, after = text.split("\n"), found.split("\n")
    more = len(after) - len(before)
    assert more == (1 if task.recurrence else 0)
    at = task.line - 1
    assert after[:at] == before[:at]
    assert after[at + 1 + more :] == before[at + 1 :]
    now = {one.line: one for one in read(found, by).tasks}
    here = task.line + (1 if more and not by.habits.next_below else 0)
    done = now.pop(here)
    assert done.done
    assert done._replace(line=0, status=" ", done=False, completed=None) == placed(task)._replace(
        status=" ", completed=None
    )
    others = [placed(one) for one in tasks if one.line != task.line]
    if more:
        following = now.pop(2 * task.line + 1 - here)
        assert (following.text, following.status, following.done) == (task.text, " ", False)
        assert following.recurrence == task.recurrence
        assert (following.id, following.block_id, following.depends_on) == (None, None, ())
    assert [placed(one) for _, one in sorted(now.items())] == others


@given(st.text(), st.integers(1, 4), st.text())
def test_any_text_is_read_without_failing(text: str, line: int, words: str) -> None:
    BARE.completed("Note.md", text, Task(line, " ", words), DONE)
