"""When and how notifications are shown on the desktop: exactly once, whatever clocks, sleep, restarts and other
machines do."""

from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultmem.memories.item_answers import DONE, DROPPED, OPEN, SNOOZED, Answer, item_id
from vaultmem.reminders.alarms import Alarm, Planned, Rules, desktop_text, plan
from vaultmem.reminders.due import NOTE, REMINDER, SENTENCE, TASK, Due
from vaultmem.synclog.log_entries import BASELINE, Notified, Turn, collect, of_kind

MINUTE = timedelta(minutes=1)
HEARD = {BASELINE: Notified(BASELINE, "2026-01-01T00:00:00Z")}  # not the first check
NEVER = Rules(again="never")


def zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except ZoneInfoNotFoundError:
        pytest.skip(f"this system does not know the time zone {name}")


def due(at: str, /, **given: object) -> Due:
    fields = {
        "id": f"vm-{given.get('text', 'x')}-{at}", "kind": TASK, "text": "Call Anne", "due": at, "at": at,
        "path": "Day.md", "line": 3, "title": "Day",
    }  # fmt: skip
    return Due(**{**fields, **given})  # type: ignore[arg-type]


def local(text: str, name: str = "UTC") -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=zone(name))


def heard_of(planned: Planned) -> list[Notified]:
    return [*planned.silent, *(told for alarm in planned.alarms for told in alarm.records)]


class Person:
    """Checks one set of dues by a clock and keeps what was shown."""

    def __init__(self, dues: Iterable[Due], rules: Rules = NEVER, name: str = "UTC") -> None:
        self.dues, self.rules, self.zone = list(dues), rules, name
        self.answers: dict[str, Answer] = {}
        self.told = dict(HEARD)

    def look(self, text: str) -> list[Alarm]:
        planned = plan(self.dues, self.answers, self.told, local(text, self.zone), self.rules)
        self.told.update({one.id: one for one in heard_of(planned)})
        self.next = planned.next and planned.next.astimezone(zone(self.zone)).isoformat()[:16]
        return planned.alarms

    def answer(self, state: str, until: str = "", number: int = 0, key: str = "") -> None:
        id_ = item_id(self.dues[number].id, key) if key else self.dues[number].id
        self.answers[id_] = Answer(id_, state, "2026-11-22T10:00:00Z", until=until)


def test_a_snooze_rings_at_its_end_and_silences_earlier_alarms() -> None:
    hours = [f"2026-11-{day}T{hour:02}:00" for day in (22, 23) for hour in range(24)]
    for until, rings in {
        "2026-11-23T15:00": ["2026-11-23T15:00"],
        "2026-11-22T12:00": ["2026-11-22T12:00", "2026-11-22T15:00"],
        "someday": ["2026-11-22T15:00"],
    }.items():
        person = Person([due("2026-11-22T15:00")])
        person.answer(SNOOZED, until)
        assert [hour for hour in hours if person.look(hour)] == rings


def test_nothing_rings_in_quiet_hours() -> None:
    person = Person(
        [due("2026-11-22T23:30"), due("2026-11-23T05:00")], Rules("09:00", "22:00-07:00", "never")
    )
    assert person.look("2026-11-22T23:30") == []
    assert person.next == "2026-11-23T05:00"  # which is a quiet time, too
    assert person.look("2026-11-23T05:00") == []
    assert person.next == "2026-11-23T07:00"
    rung = person.look("2026-11-23T07:00")
    assert [alarm.body for alarm in rung] == ["since Sunday 22 Nov · Day", "due today 05:00 · Day"]


def test_the_overdue_is_told_again_three_times() -> None:
    person = Person([due("2026-11-20T15:00")], Rules(again="1d"))
    rung = []
    at = local("2026-11-20T15:00")
    for _ in range(24 * 10):
        rung += [(at.day, alarm.urgent) for alarm in person.look(at.isoformat()[:19])]
        at += timedelta(hours=1)
    assert rung == [(20, False), (21, True), (22, True), (23, True)]
    assert person.next is None


@pytest.mark.parametrize(
    ("given", "body"),
    [
        ({"kind": NOTE, "lapses": True}, "today 15:00 · Day"),
        ({"due": ""}, "today 15:00 · Day"),  # only starts
    ],
)
def test_events_and_reminders_ring_only_once(given: dict[str, object], body: str) -> None:
    person = Person([due("2026-11-22T15:00", **given)], Rules(again="1h"))
    assert [alarm.body for alarm in person.look("2026-11-22T15:00")] == [body]
    assert person.next is None
    assert person.look("2026-11-28T15:00") == []


def test_what_comes_from_outside_waits_for_a_yes() -> None:
    for kind in (TASK, NOTE, SENTENCE):
        person = Person([due("2026-11-22T15:00", kind=kind, foreign=True)])
        assert person.look("2026-11-22T15:00") == []
        person.answer(DONE, key="approve")
        assert len(person.look("2026-11-22T15:01")) == 1


def test_many_at_one_moment_are_one() -> None:
    person = Person([due("2026-11-22", text=f"Task {number}") for number in range(5)])
    (alarm,) = person.look("2026-11-22T09:00")
    assert alarm.title == "5 reminders"
    assert alarm.body == ("Task 0 · due today\nTask 1 · due today\nTask 2 · due today\nand 2 more")
    assert len(alarm.records) == len({told.id for told in alarm.records}) == 5
    assert (alarm.path, alarm.urgent) == ("", False)
    assert person.look("2026-11-22T09:00") == []
    three = Person([due("2026-11-22", text=f"Task {number}") for number in range(3)])
    assert len(three.look("2026-11-22T09:00")) == 3


def test_the_first_look_lets_a_person_alone() -> None:
    old = [due(f"2024-01-{1 + day:02}", text=f"Task {day}") for day in range(30)] * 2
    dues = [*old, due("2026-11-22T08:00"), due("2026-11-23")]
    planned = plan(dues, {}, {}, local("2026-11-22T10:00"), Rules())
    (alarm,) = planned.alarms
    assert (alarm.title, alarm.body) == ("Call Anne", "due today 08:00, 2 hours late · Day")
    assert len(planned.silent) == 31  # with the mark that a check was made
    told = {one.id: one for one in heard_of(planned)}
    later = plan(dues, {}, told, local("2026-11-22T10:00"), Rules())
    assert (later.alarms, later.silent) == ([], [])
    assert later.next == local("2026-11-23T09:00")
    assert not plan(
        dues[:30], {}, told, local("2027-11-22T10:00"), Rules()
    ).alarms  # nor ever again


@pytest.mark.parametrize(
    "at",
    ["", "tomorrow", "2026-02-30", "2026-13-01", "9999-12-31T23:59", "0001-01-01", "2026-11-22T25:00", "2026-11-22T9:00",
     "99999-01-01", "2026-11-22T15:00+02:00", "２０２６-11-22", "2026-W47-7"],
)  # fmt: skip
def test_invalid_times_never_ring(at: str) -> None:
    for name in ("UTC", "Pacific/Kiritimati", "Pacific/Pago_Pago"):
        person = Person([due(at), due("2026-11-22T10:00", due=at)], Rules(), name)
        assert len(person.look("2026-11-22T10:00")) == 1
        assert person.next is None


HOSTILE = [
    "<b>bold</b> & <a href='https://evil.example'>click</a>", "&lt;b&gt;&#60;", "x\ny\x1b[31m\x00", "\u202eevil\u202c",
    "[[Note]] ![](x) `code`", "javascript:alert(1) obsidian://open?vault=x file:///etc/passwd", "  ", "a" * 5000,
    "https://evil.example/x", "\ud800", "<img src=x onerror=alert(1)>", "%s %n $(rm -rf ~) `rm`", "-e -title --", "\\e[0m",
]  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE)
def test_words_mean_nothing_to_a_notification_server(text: str) -> None:
    many = [due("2026-11-22", text=f"{text} {number}", title=text) for number in range(5)]
    for dues in ([due("2026-11-22", text=text, title=text)], many):
        (alarm,) = Person(dues).look("2026-11-22T09:00")
        whole = f"{alarm.title}\n{alarm.body}"
        assert not set(whole) & set("<>&\x1b\x00\u202e`")
        assert "://" not in whole
        assert "\n" not in alarm.title
        assert 0 < len(alarm.title) <= 160
        assert alarm.body.count("\n") in (0, 3)
        whole.encode()


@given(st.text(max_size=300))
def test_desktop_text_is_one_harmless_line(text: str) -> None:
    line = desktop_text(text)
    assert not set(line) & set("<>&\n\r\x00")
    assert "://" not in line
    assert len(line) <= 160
    assert desktop_text(line) == line


days = st.dates(date(2026, 3, 20), date(2026, 4, 10))
walls = st.one_of(
    days.map(str),
    st.builds(lambda day, at: f"{day}T{at:%H:%M}", days, st.times()),
    st.just("never"),
)
items = st.builds(
    lambda number, text, at, flags, kind: Due(
        f"vm-{number}", kind, text, at if flags % 3 else "", at, "A.md", 1, "A", lapses=flags % 5 == 0, foreign=flags % 7 == 0
    ),
    st.integers(0, 8), st.text(max_size=9), walls, st.integers(0, 30), st.sampled_from([TASK, NOTE, SENTENCE, REMINDER]),
)  # fmt: skip
replies = st.builds(
    lambda number, state, until: Answer(f"vm-{number}", state, "2026-03-25T00:00:00Z", until=until),
    st.integers(0, 8), st.sampled_from([OPEN, DONE, DROPPED, SNOOZED]), walls,
)  # fmt: skip
rules_ = st.builds(
    Rules, st.sampled_from(["00:00", "02:30", "09:00"]), st.sampled_from(["off", "22:00-07:00", "02:15-02:45"]),
    st.sampled_from(["never", "30m", "1d"]), st.sampled_from([1, 3, 1_000]),
    st.builds(Turn, st.none() | st.integers(0, 600).map(lambda hours: datetime(2026, 3, 19, tzinfo=UTC) + timedelta(hours=hours)), st.booleans()),
)  # fmt: skip
nows = st.builds(
    lambda day, at: datetime.combine(day, at, ZoneInfo("Europe/Berlin")), days, st.times()
)


@given(st.lists(items, max_size=12), st.lists(replies, max_size=5), nows, rules_, st.booleans())
def test_what_was_notified_is_not_notified_again(dues, answers, now, rules, first) -> None:  # type: ignore[no-untyped-def]
    given_ = {answer.id: answer for answer in answers}
    planned = plan(dues, given_, {} if first else HEARD, now, rules)
    heard = heard_of(planned)
    assert len(heard) == len({one.id for one in heard})
    assert planned.next is None or planned.next > now
    assert planned == plan(dues, given_, {} if first else HEARD, now, rules)
    told = of_kind(collect([*HEARD.values(), *heard]), Notified)
    after = plan(dues, given_, told, now, rules)
    assert (after.alarms, after.silent) == ([], [])
    assert after.next == planned.next
    closed = {one.id for one in given_.values() if one.state in (DONE, DROPPED)}
    assert not closed & {one.id for one in heard}
