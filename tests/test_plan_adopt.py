"""What a person does by hand in the memory folder is understood as intended."""

from functools import partial

import pytest

from tests.stand_in_view import DAY, NOW, File, Left, StandInView, ago, memory_file
from vaultmem.adapter import Value
from vaultmem.dreams.dream import adopt
from vaultmem.memories.draft import Draft


def adopted(
    view: StandInView, seen: dict[str, Left] | None = None
) -> tuple[StandInView, list[str]]:
    plan, after = view.run(partial(adopt, seen=seen or {}))
    again, _ = after.run(partial(adopt, seen=after.left() if seen is not None else {}))
    assert again.changes == (), "adopting twice changes something"
    return after, [change.why for change in plan.changes]


def test_a_file_that_was_dropped_in_becomes_a_memory() -> None:
    dropped = File("Anne likes tea", {"colour": "green"}, NOW.timestamp() - 2 * DAY)
    after, whys = adopted(StandInView({"vaultmem/people/Anne.md": dropped}))
    file = after.files["vaultmem/people/Anne.md"]
    assert file.content == "Anne likes tea"
    assert list(file.properties) == [
        "colour", "id", "phase", "category", "scope", "created_at", "updated_at",
    ]  # fmt: skip
    assert (file.properties["phase"], file.properties["category"]) == ("organized", "people")
    assert file.properties["created_at"] == file.properties["updated_at"] == ago(2)
    assert whys == ["a file of yours, taken up as a memory"]


@pytest.mark.parametrize("blank", ["", "\n \n"])
def test_a_file_that_a_sync_program_has_not_filled_yet_is_not_written(blank: str) -> None:
    _, whys = adopted(StandInView({"vaultmem/people/Anne.md": File(blank, {}, 0.0)}))
    assert whys == []


def test_a_copied_file_gets_an_id_of_its_own() -> None:
    path, file = memory_file("people/Anne", "Anne likes tea")
    view = StandInView({path: file, "vaultmem/people/Anne 2.md": file})
    view.everything[1] = view.everything[1]._replace(id="fresh", adopted=False)
    after, _ = adopted(view)
    assert after.files["vaultmem/people/Anne 2.md"].properties["id"] == "fresh"
    assert after.files[path] == file


def test_what_vaultmem_has_just_written_is_not_taken_for_typing() -> None:
    path, file = memory_file("inbox/Note", "just written", days=0)
    view = StandInView({path: file})
    draft = Draft(view)
    adopt(draft, view.left())
    assert [memory.path for memory in draft.memories()] == [path]


MOVES: list[tuple[str, str, str, str, str]] = [
    # where vaultmem left it, where it is, its property -> where it will be, why
    ("people/A", "project/A", "people", "project/A", "moved to project by hand"),
    ("people/A", "people/A", "project", "project/A", "its category changed to project by hand"),
    ("people/A", "inbox/A", "people", "inbox/A", "moved to inbox by hand"),
    ("inbox/A", "inbox/A", "people", "people/A", "its category changed to people by hand"),
    ("people/A", "project/A", "skills", "project/A", "moved to project by hand"),
    ("people/A", "people/A", "nonsense", "people/A", "it lacked category"),
]


@pytest.mark.parametrize(("was", "lies", "says", "becomes", "why"), MOVES)
def test_moving_a_file_and_changing_its_category_mean_the_same(
    was: str, lies: str, says: str, becomes: str, why: str
) -> None:
    path, file = memory_file(was, "A text")
    before = StandInView({path: file})
    now = StandInView(
        {f"vaultmem/{lies}.md": file._replace(properties={**file.properties, "category": says})}
    )
    after, whys = adopted(now, before.left())
    assert list(after.files) == [f"vaultmem/{becomes}.md"]
    given = after.files[f"vaultmem/{becomes}.md"].properties
    category = becomes.partition("/")[0]
    assert given["category"] == category
    assert given["phase"] == ("inbox" if category == "inbox" else "organized")
    assert whys == [why]


def test_an_edit_by_hand_has_the_time_of_the_file() -> None:
    path, file = memory_file("people/A", "before", days=9)
    before = StandInView({path: file})
    now = StandInView({path: file._replace(content="after", mtime=NOW.timestamp() - 2 * DAY)})
    after, whys = adopted(now, before.left())
    assert after.files[path].properties["updated_at"] == ago(2)
    assert whys == ["edited by hand"]


@pytest.mark.parametrize(
    ("title", "written", "edited", "remind", "repeat"),
    [
        ("pay Katrin", "pay Katrin", "pay Tom on the 28th", "2026-11-28", None),
        ("pay Katrin", "pay Katrin", "am 28. um 9 Tom bezahlen", "2026-11-28T09:00", None),
        ("pay Katrin", "pay Katrin", "12月3日下午四点给王芳付款", "2026-12-03T16:00", None),
        ("pay Katrin", "pay Katrin", "pay Tom every month on the 5th", "2026-12-05", "every month on the 5th"),
        ("pay Katrin", "pay Katrin", "pay Tom", "2026-11-25", "every day"),
        ("pay Katrin", "pay Katrin", "pay Tom Friday or so at 25:00", "2026-11-25", "every day"),
        ("talk about Friday", "talk about Friday", "talk to Tom about Friday", "2026-11-25", "every day"),
    ],
)  # fmt: skip
def test_a_reminder_whose_words_name_another_time_speaks_then(
    title: str, written: str, edited: str, remind: str, repeat: str | None
) -> None:
    times: dict[str, Value] = {"remind": "2026-11-25", "repeat": "every day"}
    path, file = memory_file(f"reminders/{title}", written, days=2, **times)
    before = StandInView({path: file})
    now = StandInView({path: file._replace(content=edited, mtime=NOW.timestamp() - DAY)})
    after, _ = adopted(now, before.left())
    given = after.files[path].properties
    assert (given["remind"], given.get("repeat")) == (remind, repeat)
    assert after.files[path].content == edited


def test_what_was_taken_out_of_the_archive_lives_again_and_is_not_merged_again() -> None:
    gone: dict[str, Value] = {
        "deleted_at": ago(3),
        "by": "merge",
        "replaced_by": "x",
        "expires_at": ago(2),
    }
    path, file = memory_file("people/A", "A text", days=90, **gone)
    after, whys = adopted(StandInView({path: file}))
    given = after.files[path].properties
    assert not {"deleted_at", "by", "expires_at"} & given.keys()
    assert given["replaced_by"] == "x"
    assert given["updated_at"] == ago(0)
    assert whys == ["taken out of the archive by hand"]
