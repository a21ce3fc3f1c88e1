"""What changed.md: by week, newest first, short, the same for the same records."""

from datetime import date, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.laws import examples
from vaultmem.operations.overviews import Record, what_changed

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
        "### New\n\n- [[dark Mode]] (by claude)\n\n"
        "### Changed\n\n- “Tea”: linked with “Dark mode”; tags changed (by dream, you)\n\n"
        "### Filed\n\n- [[dark Mode]] under preferences (by dream)\n\n"
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
