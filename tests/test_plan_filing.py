"""What a dream plans for single memories: they are filed, fade and expire, are linked both ways and nowhere else, and
what a person did to them by hand is understood as intended."""

from functools import partial

import pytest

from tests.stand_in_view import DAY, NOW, File, Left, StandInView, ago, memory_file
from vaultmem.adapter import Value
from vaultmem.dreams.classify import file_inbox, upgrade
from vaultmem.dreams.dream import Options, adopt, decay, expire, write_reinforced
from vaultmem.dreams.memory_links import link, resolve, unlink
from vaultmem.memories.draft import MOVE, TO_ARCHIVE, Draft

EVENT: dict[str, Value] = {"memory_type": "episodic"}


def inbox(content: str, days: float = 1, **properties: Value) -> StandInView:
    return StandInView([memory_file("inbox/Note", content, days, **properties)])


def only(view: StandInView) -> tuple[str, File]:
    ((path, file),) = view.files.items()
    return path.removeprefix("vaultmem/"), file


@pytest.mark.parametrize(
    ("content", "category"),
    [
        ("The user prefers dark mode in every editor.", "preferences"),
        ("Lesson learned: never deploy on a Friday.", "lessons"),
        ("We decided to use Postgres for billing because of its transactions.", "decisions"),
        ("用户偏好深色模式。", "preferences"),
    ],
)
def test_what_is_plain_is_filed_with_its_reason(content: str, category: str) -> None:
    plan, after = inbox(content).run(file_inbox)
    (change,) = plan.changes
    path, file = only(after)
    assert path == f"{category}/Note.md"
    assert (file.properties["phase"], file.properties["category"]) == ("organized", category)
    assert file.content == content
    assert file.properties["memory_type"]
    assert (change.action, change.why.startswith(f"{category}: ")) == (MOVE, True)
    assert after.run(file_inbox)[0].changes == ()


@pytest.mark.parametrize(
    ("place", "content", "days", "remind"),
    [
        ("inbox", "Reminder: meeting with Emma tomorrow at 15:00 about the contract", 0.01, "2026-11-23T15:00"),
        ("inbox", "Meeting with Emma tomorrow at 15:00 about the contract, don't forget the reminder", 0.01, "2026-11-23T15:00"),
        ("inbox", "提醒：明天下午三点和李雷开会", 0.01, "2026-11-23T15:00"),
        ("reminders", "Call Emma tomorrow at 15:00", 0.01, "2026-11-23T15:00"),
        ("reminders", "Dinner with Emma is on Friday at 19:00", 0.01, "2026-11-27T19:00"),  # no wish, but put there
        ("reminders", "2026-12-01 09:00 renew the certificate", 100, "2026-12-01T09:00"),
        ("reminders", "每周一早上9点开会", 100, "2026-11-23T09:00"),
        ("reminders", "Call Emma tomorrow at 15:00", 30, None),  # past
        ("reminders", "Renew the certificate", 1, None),
    ],
)  # fmt: skip
def test_what_is_filed_or_put_among_the_reminders_says_when(
    place: str, content: str, days: float, remind: str | None
) -> None:
    view = StandInView([memory_file(f"{place}/Note", content, days)])
    path, file = only(view.run(file_inbox)[1])
    assert path == "reminders/Note.md"
    assert file.properties.get("remind") == remind


def test_importance_waits_for_a_model_and_is_not_judged_twice() -> None:
    view = inbox("The user prefers dark mode.")
    assert "importance" not in only(view.run(file_inbox)[1])[1].properties
    view.cosines = lambda *_: 0.0
    file = only(view.run(file_inbox)[1])[1]
    assert file.properties["importance"] == pytest.approx(0.6 * 0.5 + 0.4 * 0.4, abs=0.1)
    kept = inbox("The user prefers dark mode.", importance=0.11, memory_type="working")
    kept.cosines = view.cosines
    given = only(kept.run(file_inbox)[1])[1].properties
    assert (given["importance"], given["memory_type"]) == (0.11, "working")


def test_after_its_time_in_the_inbox_an_event_is_archived_and_a_fact_is_filed() -> None:
    for days, put_away in ((6.9, False), (7.1, True)):
        plan, after = inbox("?", days, memory_type="episodic").run(expire)
        assert [change.action for change in plan.changes] == [TO_ARCHIVE] * put_away
        assert after.run(expire)[0].changes == ()
    path, file = only(
        inbox("?", 8, category=None, phase=None, memory_type="working").run(expire)[1]
    )
    assert path == "archive/Note.md"
    assert file.properties["deleted_at"] == ago(0)
    assert (file.properties["by"], file.properties["category"]) == ("expire", "inbox")
    assert only(inbox("The roof is of slate", 8).run(expire)[1])[0] == "knowledge/Note.md"
    assert (
        only(inbox("The roof is of slate", 8).run(partial(expire, options=Options(facts=True)))[1])[
            0
        ]
        == "archive/Note.md"
    )


@pytest.mark.parametrize(
    ("properties", "days", "put_away"),
    [
        ({"updated_at": ago(2)}, 30, False),  # whichever is later
        ({"expires_at": ago(-1)}, 1, False),
        ({"expires_at": ago(1)}, 2, True),
        ({"remind": "2026-12-24"}, 30, False),
        ({"remind": "2026-01-01", "repeat": "every year"}, 30, False),
        ({"remind": "2026-10-01"}, 80, False),  # nobody said that it was done
        ({}, 80, True),
    ],
)
def test_what_expires_and_what_does_not(
    properties: dict[str, Value], days: float, put_away: bool
) -> None:
    assert (
        len(inbox("?", days, memory_type="episodic", **properties).run(expire)[0].changes)
        == put_away
    )


def test_its_own_word_counts_everywhere_and_reading_saves_from_the_time_of_the_inbox() -> None:
    view = StandInView([memory_file("soul/A", "x", 90, expires_at=ago(1))])
    assert len(view.run(expire)[0].changes) == 1
    read = inbox("?", 30)
    read.read_counts = {"vaultmem/inbox/Note.md": 3}
    assert read.run(expire)[0].changes == ()


@pytest.mark.parametrize(
    ("path", "days", "properties", "fades"),
    [
        ("knowledge/A", 31, EVENT, True),
        ("knowledge/A", 29, EVENT, False),
        ("inbox/A", 31, EVENT, False),
        ("knowledge/A", 999, {}, False),  # a fact
        ("people/A", 31, {"decay_policy": "fsrs"}, True),
        ("people/A", 31, {"decay_policy": "contextual"}, True),
        ("knowledge/A", 999, {**EVENT, "decay_policy": "stable"}, False),
        ("knowledge/A", 99, {**EVENT, "updated_at": ago(5)}, False),
        ("knowledge/A", 99, {**EVENT, "last_reinforced_at": ago(5)}, False),
        ("knowledge/A", 99, {**EVENT, "importance": 0.8}, False),
        ("knowledge/A", 99, {**EVENT, "importance": 0.79}, True),
        ("date/A", 99, {**EVENT, "due": "2027-01-01"}, False),
        ("date/A", 99, {**EVENT, "due": "2026-09-01"}, False),
        ("knowledge/A", 99, {**EVENT, "access_count": 1}, False),
    ],
)
def test_what_fades(path: str, days: float, properties: dict[str, Value], fades: bool) -> None:
    view = StandInView([memory_file(path, "x", days, **properties)])
    plan, after = view.run(decay)
    assert [change.target for change in plan.changes] == ["vaultmem/archive/A.md"] * fades
    assert after.run(decay)[0].changes == ()
    literal = view.run(partial(decay, options=Options(facts=True)))[0].changes
    assert len(literal) == (fades or (days == 999 and not properties))
    view.read_counts = {f"vaultmem/{path}.md": 1}
    assert view.run(decay)[0].changes == ()


def test_an_event_fades_when_its_last_reader_was_long_ago() -> None:
    files = dict([memory_file("knowledge/A", "x", 99, **EVENT), memory_file("people/A", "y", 99)])
    view = StandInView(files, reads=dict.fromkeys(files, 1))
    for days, fades in ((29, False), (31, True)):
        view.last_reads = dict.fromkeys(files, view.now.timestamp() - days * 86_400)
        changes = view.run(decay)[0].changes
        assert [change.path for change in changes] == ["vaultmem/knowledge/A.md"] * fades
        assert view.run(partial(decay, options=Options(facts=True)))[0].changes == ()


@pytest.mark.parametrize(
    ("content", "reads", "path"),
    [
        ("The user prefers dark mode.", 3, "preferences/Note.md"),
        ("Zwölf Boxkämpfer jagen Viktor.", 3, "knowledge/Note.md"),
        ("The user prefers dark mode.", 2, "inbox/Note.md"),
    ],
)
def test_what_is_read_again_and_again_gets_a_place(content: str, reads: int, path: str) -> None:
    view = inbox(content)
    view.read_counts = {"vaultmem/inbox/Note.md": reads}
    after = view.run(upgrade)[1]
    assert only(after)[0] == path
    assert after.run(upgrade)[0].changes == ()


def test_reinforcing_that_a_file_has_lost_comes_back_once() -> None:
    before, at = "2026-11-20T10:00:00Z", "2026-11-21T10:00:00Z"
    notes = {
        "people/A": {"decay_policy": "reinforceable", "last_reinforced_at": before},
        "people/B": {"decay_policy": "fsrs", "last_reinforced_at": at},
        "people/C": {"decay_policy": "stable"},
    }
    view = StandInView(dict(memory_file(name, "x", **own) for name, own in notes.items()))
    view.reinforced_at = {f"vaultmem/{name}.md": at for name in notes}
    plan, after = view.run(write_reinforced)
    assert [(change.path, dict(change.properties)) for change in plan.changes] == [
        ("vaultmem/people/A.md", {"last_reinforced_at": at})
    ]
    assert after.run(write_reinforced)[0].changes == ()


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


def test_a_memory_rewritten_without_its_properties_keeps_its_id() -> None:
    path, file = memory_file("people/Anne", "Anne likes tea")
    seen = StandInView({path: file}).left()
    (id_,) = seen
    overwritten = File("Anne likes coffee", {}, NOW.timestamp() - DAY)
    after, _ = adopted(StandInView({path: overwritten}), seen)
    assert after.files[path].properties["id"] == id_
    # Not if the memory is still there, under another name.
    after, _ = adopted(StandInView({path: overwritten, "vaultmem/people/Moved.md": file}), seen)
    assert after.files[path].properties["id"] != id_


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


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (["[[Bob]]"], ["[[Bob]]"]),
        (["[[people/Bob|B]]"], ["[[people/Bob|B]]"]),  # as a person wrote it
        ("[[Bob]], [[Diary]]", "[[Bob]], [[Diary]]"),
        (["[[Gone]]"], None),
        (["[[Merged]]"], ["[[Bob]]"]),
        (["[[Merged]]", "[[Bob]]"], ["[[Bob]]"]),
        (["[[Twice merged]]"], ["[[Bob]]"]),
        (["[[Away]]", "[[Diary]]"], ["[[Diary]]"]),
        (["some words", "[[Anne]]"], ["some words"]),  # not to itself
    ],
)
def test_entries_lead_to_what_lives(before: Value, after: Value) -> None:
    bob = memory_file("people/Bob", "Bob")
    second = memory_file(
        "archive/Merged", "Bob", replaced_by=bob[1].properties["id"], deleted_at="2026-11-01"
    )
    files = [
        memory_file("people/Anne", "Anne", links=before),
        bob,
        second,
        memory_file("archive/Twice merged", "Bob", replaced_by=second[1].properties["id"]),
        memory_file("archive/Away", "Away", deleted_at="2026-11-01"),
    ]  # fmt: skip
    _, resolved = StandInView(files, {"Diary.md": ""}).run(resolve)
    assert resolved.run(resolve)[0].changes == ()
    links = {memory.title: memory.properties.get("links") for memory in resolved.memories()}
    assert links["Anne"] == after
    assert links["Bob"] == (["[[Anne]]"] if "Bob" in str(after) else None)


def test_link_and_unlink_are_each_others_undoing() -> None:
    view = StandInView(
        [memory_file("people/Anne", "A"), memory_file("people/Bob", "B", links=["[[Diary]]"])]
    )
    one, other = view.memories()
    draft = Draft(view)
    link(draft, one, other)
    after = view.after(draft.plan("link"))
    links = {memory.title: memory.properties.get("links") for memory in after.memories()}
    assert links == {"Anne": ["[[Bob]]"], "Bob": ["[[Diary]]", "[[Anne]]"]}
    again = Draft(after)
    link(again, *after.memories())
    assert again.plan("link").changes == ()
    back = Draft(after)
    unlink(back, *after.memories())
    undone = after.after(back.plan("unlink"))
    assert [m.properties.get("links") for m in undone.memories()] == [None, ["[[Diary]]"]]
