"""Marking a task done on a Logseq page: DONE, or on to its next date, and no other byte changes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultmem.adapter import Completion, Note, Task
from vaultmem.notes.frontmatter import split
from vaultmem.text.recurrence import next_day
from vaultmem_logseq.config_edn import Settings
from vaultmem_logseq.graph_rules import LogseqRules

DONE = Completion("2026-11-22T10:00", next_day)
RULES = LogseqRules(Settings())


def read(text: str, path: str = "pages/Note.md") -> Note:
    plain = text.replace("\r\n", "\n")
    return RULES.parse(path, plain, split(plain))


def done(text: str, path: str = "pages/Note.md") -> str | None:
    return RULES.completed(path, text, read(text, path).tasks[0], DONE)


@pytest.mark.parametrize(
    ("text", "becomes"),
    [
        ("- TODO call Anne", "- DONE call Anne"),
        ("- ## NOW call\n  id:: 1", "- ## DONE call\n  id:: 1"),
        ("# WAITING call", "# DONE call"),
        ("- IN-PROGRESS call\n  :LOGBOOK:\n  CLOCK: [x]\n  :END:", "- DONE call\n  :LOGBOOK:\n  CLOCK: [x]\n  :END:"),
        ("- TODO a\n  DEADLINE: <2026-11-20 Fri>", "- DONE a\n  DEADLINE: <2026-11-20 Fri>"),
        ("- DOING a\n  SCHEDULED: <2026-11-20 Fri +1w>", "- TODO a\n  SCHEDULED: <2026-11-27 Fri +1w>"),
        ("- NOW a\n  SCHEDULED: <2026-11-20 Fri 09:00 .+1d>", "- LATER a\n  SCHEDULED: <2026-11-23 Mon 09:00 .+1d>"),
        ("- TODO a\n  DEADLINE: <2026-10-02 Fri ++1w>", "- TODO a\n  DEADLINE: <2026-11-27 Fri ++1w>"),
        ("- TODO a\n  DEADLINE: <2026-11-22 Sun 21:00 ++1d>", "- TODO a\n  DEADLINE: <2026-11-23 Mon 21:00 ++1d>"),
        ("- TODO a\n  DEADLINE: <2026-11-22 Sun 9:00 ++2h>", "- TODO a\n  DEADLINE: <2026-11-22 Sun 11:00 ++2h>"),
        ("- TODO a\n  DEADLINE: <2026-01-31 +1m>", "- TODO a\n  DEADLINE: <2026-02-28 +1m>"),
        ("- TODO a\n  SCHEDULED: <2024-02-29 Thu +1y>", "- TODO a\n  SCHEDULED: <2025-02-28 Fri +1y>"),
        (
            "- TODO a\n  SCHEDULED: <2026-11-20 Fri +1w> DEADLINE: <2026-11-21 Sat>\n  text",
            "- TODO a\n  SCHEDULED: <2026-11-27 Fri +1w> DEADLINE: <2026-11-21 Sat>\n  text",
        ),
        ("- TODO a\n  DEADLINE: <2026-11-20 Fri +0d>", "- DONE a\n  DEADLINE: <2026-11-20 Fri +0d>"),
    ],
)  # fmt: skip
def test_done_or_the_next_turn(text: str, becomes: str) -> None:
    for end in ("\n", "\r\n"):
        whole = f"- first\n{text}\n- TODO last\n".replace("\n", end)
        assert done(whole) == f"- first\n{becomes}\n- TODO last\n".replace("\n", end)


@pytest.mark.parametrize(
    "now",
    [
        *["- DONE call", "- CANCELED call", "- TODO recall", "- call", "", "\n- TODO call"],
        *["- call\n  SCHEDULED: <2026-11-20 Fri>", "- TODO call\n  DEADLINE: <9999-12-31 Fri +1d>"],
    ],
)
def test_what_is_no_longer_that_task_stays(now: str) -> None:
    assert RULES.completed("pages/Note.md", now, Task(1, " ", "call", marker="TODO"), DONE) is None


MARKERS = st.sampled_from(["TODO ", "DOING ", "NOW ", "LATER ", "DONE ", "CANCELED ", "WAIT ", ""])
STAMPS = st.sampled_from([
    "SCHEDULED: <2026-11-20 Fri>", "DEADLINE: <2026-11-20 Fri +1w>", "SCHEDULED: <2026-11-25 Wed 09:00 .+1m>",
    "DEADLINE: <2026-11-20 ++3d>", "SCHEDULED: [2025-01-31 Fri ++1m] DEADLINE: <2026-12-01 Tue +2h>",
    "SCHEDULED: <2026-02-30 Mon +1d>", "id:: 64a1b2c3-0000-4000-8000-000000000001", "key:: DEADLINE: <2026-11-20>",
    ":LOGBOOK:", ":END:", "text", "", "```", "DEADLINE: <2026-11-20 Fri +1w>", "- [ ] x", "> TODO q",
])  # fmt: skip
BLOCKS = st.tuples(
    st.sampled_from(["- ", "\t- ", "\t\t- ", "- # ", "## "]),
    MARKERS,
    st.sampled_from(["call", "[#A] call", "`TODO` b", "TODO"]),
    st.lists(STAMPS, max_size=4),
).map(lambda one: "\n  ".join([one[0] + one[1] + one[2], *one[3]]))
PAGES = st.tuples(st.lists(BLOCKS, min_size=1, max_size=5), st.sampled_from(["\n", "\r\n"])).map(
    lambda one: "\n".join(one[0]).replace("\n", one[1])
)


@given(PAGES, st.integers(0, 5))
def test_exactly_this_task_is_done(text: str, number: int) -> None:
    tasks = read(text).tasks
    if not tasks:
        return
    task = tasks[number % len(tasks)]
    found = RULES.completed("pages/Note.md", text, task, DONE)
    if task.done or task.cancelled:
        assert found is None
        return
    assert found is not None
    after = read(found).tasks
    assert [one for one in after if one.line != task.line] == [
        one for one in tasks if one.line != task.line
    ]
    now = next(one for one in after if one.line == task.line)
    assert (now.text, now.priority, now.block_id) == (task.text, task.priority, task.block_id)
    assert now.repeater == task.repeater
    changed = sum(a != b for a, b in zip(text.split("\n"), found.split("\n"), strict=True))
    if task.repeater:
        assert now.marker == {"DOING": "TODO", "NOW": "LATER"}.get(task.marker or "", task.marker)
        assert (now.due or "", now.scheduled or "") > (task.due or "", task.scheduled or "")
        assert changed <= 3
    else:
        assert (now.marker, now.due, now.scheduled) == ("DONE", task.due, task.scheduled)
        assert changed == 1


@given(st.text(), st.integers(1, 4), st.text(), st.sampled_from(["a.md", "b.org"]))
def test_any_text_is_read_without_failing(text: str, line: int, words: str, path: str) -> None:
    RULES.completed(path, text, Task(line, " ", words), DONE)
