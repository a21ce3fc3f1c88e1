"""What changed.md: by week, newest first, short, the same for the same records."""

from __future__ import annotations

from datetime import date, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from vaultmem.memories.changed_note import Record, what_changed

TODAY = date(2026, 11, 22)  # a Sunday


def test_weeks_with_who_did_what() -> None:
    records = [
        Record(TODAY, "dream", "move", "Dark mode", 'preferences: "prefers" +2'),
        Record(date(2026, 11, 16), "claude", "create", "Dark mode"),
        Record(date(2026, 11, 15), "decay", "archive", "Old", "never read in 31 days"),
        Record(date(2026, 11, 15), "decay", "archive", "Old", "never read in 31 days"),
        Record(date(2026, 9, 27), "you", "edit", "Too long ago"),
        Record(TODAY + timedelta(1), "you", "edit", "Tomorrow"),
    ]
    assert what_changed(records, TODAY, ["dark Mode"]) == (
        "---\ngenerated: vaultmem\n---\n"
        "Written by vaultmem after its jobs; changes made here are lost. `vaultmem history` knows more,"
        " and `vaultmem undo` takes any of it back.\n\n"
        "## Week of 2026-11-16\n\n"
        "- claude wrote 1: [[dark Mode]]\n"
        '- dream filed 1: [[dark Mode]] (preferences: "prefers" +2)\n\n'
        "## Week of 2026-11-09\n\n"
        "- decay archived 1: “Old” (never read in 31 days)\n"
    )


def test_nothing_and_very_much() -> None:
    assert "Nothing in the last 8 weeks." in what_changed([], TODAY, [])
    many = [Record(TODAY, "dream", "edit", f"T{n:03}", "why") for n in range(50)]
    (line,) = [line for line in what_changed(many, TODAY, []).split("\n") if line.startswith("- ")]
    assert line.startswith("- dream changed 50: “T000”, “T001”")
    assert line.endswith("“T019” and 30 more")


def test_words_of_notes_steer_nothing() -> None:
    record = Record(TODAY, "dream\n# x", "edit", "[[A]]\x1b[2J\u202e #tag `code` <b>", "y" * 500)
    text = what_changed([record], TODAY, [])
    assert "[[" not in text
    assert text.count("\n# ") == text.count("\x1b") == text.count("\u202e") == 0
    assert max(map(len, text.split("\n")[5:])) < 300


def test_a_long_reason_ends_at_a_word() -> None:
    text = what_changed([Record(TODAY, "dream", "edit", "A", "reasonable " * 40)], TODAY, [])
    assert "reasonable…)" in text


records = st.builds(
    Record,
    st.integers(0, 80).map(lambda days: TODAY - timedelta(days)),
    st.sampled_from(["dream", "you"]),
    st.sampled_from(["create", "edit", "archive", "other"]),
    st.sampled_from(["A", "B", "C"]),
    st.sampled_from(["", "why", "because"]),
)


@settings(max_examples=50, deadline=None)
@given(
    st.lists(records, max_size=12).flatmap(
        lambda found: st.tuples(st.just(found), st.permutations(found))
    )
)
def test_the_order_of_records_is_nothing(both: tuple[list[Record], list[Record]]) -> None:
    one, other = both
    assert what_changed(one, TODAY, ["A"]) == what_changed(other, TODAY, ["A"])
