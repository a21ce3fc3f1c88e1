"""Laws of dream and consolidate, whatever lies in the memory folder."""

import re
from functools import partial
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.laws import examples
from tests.stand_in_view import FOLDER, NOW, File, StandInView, ago, memory_file
from vaultmem.adapter import Value
from vaultmem.dreams.dream import Options, consolidate, dream
from vaultmem.memories.draft import Draft, Plan

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
        files[path], reads[path] = file, count
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
def test_dream_loses_nothing_and_a_second_one_changes_nothing(
    view: StandInView, level: int
) -> None:
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
