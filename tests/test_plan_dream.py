"""Laws of dream and consolidate, whatever lies in the memory folder; and what memories say together: contradictions, past
days, and reminders hidden in them."""

import re
from functools import partial
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.laws import examples
from tests.stand_in_view import DAY, FOLDER, NOW, File, StandInView, ago, memory_file
from vaultmem.adapter import Value
from vaultmem.dreams.dated import make_reminders, stale_days
from vaultmem.dreams.dream import Options, consolidate, dream, write_counts
from vaultmem.dreams.supersede import supersede
from vaultmem.memories.draft import CREATE, Draft, Plan
from vaultmem.text.sanitize import quote_text

PLACES = ["inbox", "people", "knowledge", "preferences", "reminders", "archive"]
TITLES = [f"Note {letter}" for letter in "abcdefgh"]
SENTENCES = [
    "The user prefers dark mode.", "user prefers dark mode", "Anne lives in Lisbon.", "Anne lives in Porto.",
    "Lesson learned: never deploy on a Friday.", "Remind me to call Bob tomorrow.",
    "Remind me to water the plants on 5 December 2026.", "We meet every Monday at 9.",
    "See [[Note a]] and [[note b|the other]].", "[[Nobody]] knows.", "部署分支是 main。", "提醒我明天下午三点开会",
    "```\ncode [[Note a]]\n```", "- [ ] a task", "",
]  # fmt: skip
contents = st.lists(st.sampled_from(SENTENCES), max_size=4).map("\n".join)
extras: st.SearchStrategy[dict[str, Value]] = st.fixed_dictionaries(
    {},
    optional={
        "tags": st.sampled_from([["a"], ["b", "A"]]),
        "links": st.sampled_from([["[[Note a]]"], ["[[Note b]]", "[[Nobody]]"]]),
        "scope": st.sampled_from(["agent:claude"]),
        "expires_at": st.sampled_from([ago(1), ago(-9)]),
        "importance": st.sampled_from([0.1, 0.9]),
        "decay_policy": st.sampled_from(["stable", "contextual", "fsrs"]),
        "colour": st.just("red"),
        "id": st.none(),
    },
)
entries = st.tuples(
    st.sampled_from(PLACES),
    contents,
    st.sampled_from([0.001, 0.5, 3.0, 10.0, 45.0]),
    extras,
    st.integers(0, 4),
)


@st.composite
def vaults(draw: st.DrawFn) -> StandInView:
    files: dict[str, File] = {}
    reads: dict[str, int] = {}
    for title in draw(st.lists(st.sampled_from(TITLES), unique=True, max_size=6)):
        place, content, days, extra, count = draw(entries)
        if place == "archive":
            extra = {**extra, "deleted_at": ago(1), "category": "people"}
            extra.pop("id", None)
        path, file = memory_file(f"{place}/{title}", content, days, **extra)
        # A file that no dream has compared yet is not old, whatever its memory is.
        files[path] = file._replace(mtime=max(file.mtime, NOW.timestamp() - 7 * DAY))
        reads[path] = count
    return StandInView(files, {"Diary.md": "See [[Note a]], [[Note b]] and [[Note c]]."}, reads)


def words(text: str) -> set[str]:
    """Its words; in scripts without blanks, its characters."""
    return set(re.findall(r"[\u3400-\u9fff]|[^\W\u3400-\u9fff]+", text.casefold()))


def everything(view: StandInView) -> set[str]:
    """All words anywhere: a link that now leads to a survivor has its old name in the archive."""
    names = " ".join(memory.title for memory in view.everything)
    return words(" ".join([names, *(file.content for file in view.files.values())]))


def dreamt(level: int, view: StandInView, limit: int = 1_000_000) -> tuple[Plan, StandInView]:
    return view.run(partial(dream, level=level, options=Options()), limit=limit)


def consolidated(view: StandInView) -> tuple[Plan, StandInView]:
    return view.run(partial(consolidate, options=Options()))


def assert_kept(before: StandInView, plan: Plan, after: StandInView) -> None:
    assert everything(before) <= everything(after)
    assert {path for path in before.files if "/archive/" in path} <= after.files.keys()
    assert len(after.files) >= len(before.files)
    texts = {file.content for file in after.files.values()}
    gone = {change.path for change in plan.changes if change.action == "archive"}
    assert {before.files[path].content for path in gone if path} <= texts
    keys = {
        key
        for file in before.files.values()
        for key in file.properties
        if key not in ("expires_at", "links")
    }
    assert keys <= {key for file in after.files.values() for key in file.properties}
    for change in plan.changes:
        assert change.target.startswith(FOLDER + "/")
        assert change.path is None or change.path.startswith(FOLDER + "/")
        assert change.why
        assert "\n" not in change.why


@settings(max_examples=examples(120))
@given(vaults(), st.sampled_from([1, 2, 3]))
def test_a_dream_loses_nothing_and_a_second_changes_nothing(view: StandInView, level: int) -> None:
    plan, after = dreamt(level, view)
    assert_kept(view, plan, after)
    again, _ = dreamt(level, after)
    assert again.changes == ()


@settings(max_examples=examples(80))
@given(vaults())
def test_consolidate_loses_nothing_and_a_second_one_changes_nothing(view: StandInView) -> None:
    plan, after = consolidated(view)
    assert_kept(view, plan, after)
    assert consolidated(after)[0].changes == ()


@settings(max_examples=examples(60))
@given(vaults(), st.randoms(use_true_random=False), st.integers(0, 4))
def test_the_order_of_files_is_nothing_and_the_limit_is_a_limit(
    view: StandInView, chance: Random, limit: int
) -> None:
    names = list(view.files)
    chance.shuffle(names)
    shuffled = StandInView({name: view.files[name] for name in names}, view.notes, view.read_counts)
    assert dreamt(3, view)[0] == dreamt(3, shuffled)[0]
    plan, after = dreamt(3, view, limit)
    assert len(plan.changes) <= limit
    assert_kept(view, plan, after)
    if not plan.left:
        assert plan == dreamt(3, view)[0]


@settings(max_examples=examples(30))
@given(vaults(), st.integers(1, 3))
def test_small_steps_come_to_an_end(view: StandInView, level: int) -> None:
    for _ in range(60):
        plan, view = dreamt(level, view, limit=4)
        if not plan.changes:
            break
    assert not plan.changes


def test_levels_go_deeper() -> None:
    files = dict([
        memory_file("inbox/A", "The user prefers dark mode.", 2),
        memory_file("preferences/B", "the user prefers dark mode", 2),
        memory_file("people/Anne", "Talk to her about [[C]]. Remind me to do so on 5 December 2026.", 2),
        memory_file("knowledge/C", "Nothing.", 2),
    ])  # fmt: skip
    view = StandInView(files, reads={"vaultmem/knowledge/C.md": 2})
    places = [
        sorted(path.removeprefix("vaultmem/") for path in dreamt(level, view)[1].files)
        for level in (1, 2, 3)
    ]
    assert places[0] == ["knowledge/C.md", "people/Anne.md", "preferences/A.md", "preferences/B.md"]
    assert places[1] == ["archive/B.md", "knowledge/C.md", "people/Anne.md", "preferences/A.md"]
    assert [path for path in places[2] if path.startswith("reminders/")] != []
    given = dreamt(2, view)[1].files["vaultmem/knowledge/C.md"].properties
    assert (given["links"], given["access_count"]) == (["[[Anne]]"], 2)


@pytest.mark.parametrize(
    ("stored", "reads", "written"), [(0, 1, True), (3, 5, False), (3, 6, True), (5, 4, False)]
)
def test_reads_are_written_once_they_have_doubled(
    stored: int, reads: int, *, written: bool
) -> None:
    about = {"access_count": stored} if stored else {}
    path, file = memory_file("knowledge/A", "Nothing.", 2, **about)
    plan, _ = StandInView({path: file}, reads={path: reads}).run(write_counts)
    assert bool(plan.changes) == written


@pytest.mark.parametrize("job", ["dream", "consolidate"])
def test_what_is_being_typed_is_left_alone_by_all(job: str) -> None:
    path, file = memory_file("inbox/A", "The user prefers dark mode", 30)
    seen = StandInView({path: file}).left()
    view = StandInView(
        {path: file._replace(content="The user prefers", mtime=NOW.timestamp() - 10)}
    )
    draft = Draft(view)
    if job == "dream":
        dream(draft, 3, Options(seen=seen))
    else:
        consolidate(draft, Options(seen=seen))
    assert draft.plan(job).changes == ()


MEETING = "Notes on the boat.\n\nThe hull is dry. Remind me to call Bob on 5 December 2026.\n"


def found(plan: Plan, kind: str) -> list[tuple[str, tuple[str, ...]]]:
    return [
        (f["subject"].rpartition("/")[2], tuple(f["others"]))
        for f in plan.findings
        if f["kind"] == kind
    ]


OUTSIDE: dict[str, Value] = {"source": "https://example.org"}  # replaces nothing
LONG = " It was a long evening." * 20


@pytest.mark.parametrize(
    ("one", "other", "properties", "against"),
    [
        ("The deploy branch is main.", "Note: the deploy branch is release.", OUTSIDE, True),
        ("Anne lives in Lisbon", "Anne lives in Porto", OUTSIDE, True),
        (f"Anne lives in Lisbon.{LONG}", "Anne lives in Porto", {}, True),
        ("Anne lives in Lisbon", "Bob lives in Porto", {}, False),
        ("Anne likes tea", "Anne likes coffee", {}, False),
        ("Anne lives in Lisbon", "Anne lives in Porto", {"scope": "agent:claude"}, False),
    ],
)
def test_what_cannot_both_be_true_is_said(
    one: str, other: str, properties: dict[str, Value], against: bool
) -> None:
    files = dict(
        [memory_file("knowledge/Old", one, 9), memory_file("people/New", other, 2, **properties)]
    )
    plan, _ = StandInView(files).run(supersede)
    assert plan.changes == ()
    assert found(plan, "contradiction") == [("New.md", ("vaultmem/knowledge/Old.md",))] * against


def test_tomorrow_gets_its_date_when_it_is_no_longer_tomorrow() -> None:
    files = dict([
        memory_file("date/Old", "Call Bob tomorrow.", 3),
        memory_file("date/Fresh", "Call Bob tomorrow.", 0.5),
        memory_file("date/Edited", "Call Bob tomorrow.", 9, updated_at=ago(2)),
    ])  # fmt: skip
    plan, after = StandInView(files).run(stale_days)
    assert [change.path for change in plan.changes] == ["vaultmem/date/Old.md"]
    assert after.files["vaultmem/date/Old.md"].content == "Call Bob tomorrow (2026-11-20)."
    assert after.run(stale_days)[0].changes == ()


@pytest.mark.parametrize("folder", ["reminders", "archive"])
def test_what_somebody_is_reminded_of_anyway_is_no_second_reminder(folder: str) -> None:
    about = {"category": "reminders", "remind": "2026-12-10T14:30"}
    fact = memory_file(
        "date/Fact", "Dentist appointment with Dr Okafor on 10 December at 14:30.", 1
    )
    other = memory_file("date/Other", "Appointment with the bank on 10 December at 14:30.", 1)
    view = StandInView(
        [memory_file(f"{folder}/dentist Dr Okafor", "dentist", 1, **about), fact, other]
    )
    plan, _ = view.run(make_reminders)
    assert [change.path for change in plan.changes] == ["vaultmem/date/Other.md"]
    moved = memory_file(
        f"{folder}/dentist Dr Okafor",
        "dentist",
        1,
        **{**about, "remind": "2026-12-11", "updated_at": ago(0)},
    )
    plan, _ = StandInView([moved, fact]).run(make_reminders)
    assert plan.changes == ()


def test_what_the_same_dream_makes_a_reminder_is_no_second_reminder() -> None:
    first = memory_file("inbox/First", "Remind me to call Bob tomorrow.", 0)
    second = memory_file(
        "inbox/Second", "The user prefers dark mode.\nRemind me to call Bob tomorrow.", 0
    )
    plan, after = dreamt(3, StandInView([first, second]))
    assert [change.action for change in plan.changes] == ["move", "move"]
    assert dreamt(3, after)[0].changes == ()


def test_a_hidden_reminder_gets_a_memory_of_its_own_once() -> None:
    view = StandInView([memory_file("project/Boat", MEETING, 2, scope="user:anne")])
    plan, after = view.run(make_reminders)
    (made,) = [change for change in plan.changes if change.action == CREATE]
    assert made.target == "vaultmem/reminders/Remind me to call Bob on 5 December 2026.md"
    assert made.properties["remind"] == "2026-12-05"
    assert (made.properties["scope"], made.properties["links"]) == ("user:anne", ["[[Boat]]"])
    source = after.files["vaultmem/project/Boat.md"]
    assert source.content == MEETING
    assert source.properties["links"] == [
        f"[[{made.target.rpartition('/')[2].removesuffix('.md')}]]"
    ]
    assert after.run(make_reminders)[0].changes == ()
    file = after.files.pop(made.target)
    reworded = file._replace(content="Bob was called")
    put_away = StandInView({**after.files, "vaultmem/archive/Gone.md": reworded})
    assert put_away.run(make_reminders)[0].changes == ()


REMIND, END = "remind", "expires_at"


@pytest.mark.parametrize(
    ("content", "properties", "given"),
    [
        ("Remind me to call Bob on 5 December 2025.", {}, {}),  # over
        ("Remind me to call Bob on 5 December 2026.", {REMIND: "2026-12-04"}, {}),
        ("- [ ] remind Bob 📅 2026-12-05", {}, {}),  # is already a reminder
        ("```\nremind me on 5 December 2026\n```", {}, {}),
        ("Finish the report until 4 December.", {}, {REMIND: "2026-12-04"}),
        ("I'm in Lisbon for work from 12 December until 18 December.", {}, {END: "2026-12-19T00:00:00Z"}),
        ("The pool is closed till the end of the year.", {}, {END: "2027-01-01T00:00:00Z"}),
        ("Jonas works nights until Sunday (2026-11-22).", {}, {END: "2026-11-23T00:00:00Z"}),
        ("You can reach me on 0351 555 019 until 5 pm on 1 December", {}, {END: "2026-12-01T17:00:00Z"}),
        ("In Lisbon until 18 December. My hotel is the Casa Balthazar.", {}, {REMIND: "2026-12-18"}),
        ("Until 18 December I am in Lisbon, then in Porto.", {}, {REMIND: "2026-12-18"}),
        ("In Lisbon until 18 December.", {"decay_policy": "stable"}, {}),  # the person has kept it
        ("In Lisbon until 18 December.", {END: "2026-12-10T00:00:00Z"}, {}),
    ],
)  # fmt: skip
def test_what_is_to_be_done_by_a_day_reminds_and_what_holds_until_a_day_ends(
    content: str, properties: dict[str, Value], given: dict[str, Value]
) -> None:
    view = StandInView([memory_file("date/A", content, 2, **properties)])
    plan, after = view.run(make_reminders)
    times = [{key: one.properties.get(key) for key in (REMIND, END)} for one in plan.changes]
    found = [{key: at for key, at in each.items() if at} for each in times if any(each.values())]
    assert found == [given] * bool(given)
    assert after.run(make_reminders)[0].changes == ()


def test_its_own_output_is_not_read() -> None:
    files = dict([memory_file("project/Boat", MEETING, 2)])
    files["vaultmem/pending.md"] = File(
        "Remind me to sing on 9 December 2026. The deploy branch is main.", {}, 0.0
    )
    files["vaultmem/What changed.md"] = File("The deploy branch is release. [[Boat]]", {}, 0.0)
    path, gone = memory_file("archive/Gone", "Remind me to dance on 9 December 2026.", 90)
    view = StandInView({**files, path: gone})
    plan, after = view.run(partial(dream, level=3, options=Options()))
    touched = {change.path for change in plan.changes} | {change.target for change in plan.changes}
    assert not touched & {"vaultmem/pending.md", "vaultmem/What changed.md", path}
    assert len(after.memories()) == 2
    assert found(plan, "contradiction") == []
    assert after.run(partial(dream, level=3, options=Options()))[0].changes == ()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\n  b\tc", "a b c"),
        ("\x1b[31mred\x07", "[31mred"),
        ("\u202eabc\u2066", "abc"),
        ("a" + "".join(chr(0xE0100 + ord(each)) for each in "obey"), "a"),  # invisible words
        ("x" * 300, "x" * 119 + "…"),
    ],
)
def test_quoted_words_are_one_harmless_line(text: str, shown: str) -> None:
    assert quote_text(text) == shown


def test_a_repeated_reminder_is_found_also_when_its_first_day_is_over() -> None:
    content = "The plants are in the yard. Remind me to water the plants every Monday."
    view = StandInView([memory_file("habits/Plants", content, 20)])
    plan, after = view.run(make_reminders)
    (made,) = [change for change in plan.changes if change.action == CREATE]
    assert str(made.properties["remind"]).startswith("2026-11-23")
    assert made.properties["repeat"]
    assert after.run(make_reminders)[0].changes == ()


@pytest.mark.parametrize(
    ("content", "remind"),
    [
        ("明天下午三点和李雷开会", "2026-11-23T15:00"),
        ("Remind me to call Bob on 5 December 2026.", "2026-12-05"),
        ("- [ ] call Bob on 5 December 2026", "2026-12-05"),
    ],
)
def test_what_is_a_reminder_and_nothing_else_reminds_by_itself(content: str, remind: str) -> None:
    view = StandInView([memory_file("date/Note", content, 0.01)])
    _, after = view.run(partial(dream, level=3, options=Options()))
    assert list(after.files) == ["vaultmem/date/Note.md"]
    assert after.files["vaultmem/date/Note.md"].properties["remind"] == remind
    assert after.run(partial(dream, level=3, options=Options()))[0].changes == ()


@pytest.mark.parametrize(("days", "remind"), [(6, "2026-11-17"), (30, None)])
def test_a_reminder_that_no_dream_saw_in_time_is_overdue(days: float, remind: str | None) -> None:
    """The computer was off or busy for days."""
    view = StandInView([memory_file("inbox/Call mum", "call mum tomorrow", days)])
    _, after = view.run(partial(dream, level=3, options=Options()))
    (file,) = after.files.values()
    assert file.properties.get("remind") == remind
