"""What is due by the tasks, dated blocks and sentences of a note; reminders.due_notes has its properties.

A wish is what a note says, whatever the day is; what it means now is told by now().
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import date, datetime, timedelta
from typing import NamedTuple

from vaultmem.languages import intentions, recurrence, reminder_phrase
from vaultmem.languages.when import iso
from vaultmem.reminders.due import NOTE, SAID, TASK, Due, Written, around
from vaultmem.reminders.pending_page import item_id

GRACE_DAYS = 7  # that a sentence, or a dated block that is no task, is late
Fields = Mapping[str, object]
_REPEATER = re.compile(r"(\.\+|\+\+|\+)(\d{1,4})([hdwmy])")
_UNITS = {"h": "hour", "d": "day", "w": "week", "m": "month", "y": "year"}


class Wish(NamedTuple):
    """Something that is due, as the note has it."""

    due: Due  # without id; of what repeats, the first occurrence
    source: str  # of the id, see reminders.pending_page.item_ids
    rule: str = ""  # by which it comes round by itself, as languages.recurrence reads it
    begins: bool = False  # only starts at its time, and is late for nothing
    days: int | None = None  # after which it is over, done or not
    key: str = ""  # by which its id is made, where that is not the time it is due
    not_on: str = (
        ""  # the day on which it was first seen: a date of that day is when it was written
    )

    @property
    def is_fixed(self) -> bool:
        """Whether it is the same on every day."""
        return not (self.rule or self.begins or self.days is not None)


class Named(NamedTuple):
    """A due that counts now, and by what its id is made."""

    due: Due
    pair: tuple[str, str]


class Place(NamedTuple):
    """The note that something stands in."""

    path: str
    title: str
    stem: str
    foreign: bool
    written: Written


def task(place: Place, fields: Fields, *, plain: bool) -> Wish | None:
    """An open task; `plain` says whether its words may tell when, where it has no date."""
    text, line = _text(fields, "text"), _line(fields)
    start = _text(fields, "start")
    planned = [moment for moment in (_text(fields, "scheduled"), _text(fields, "remind")) if moment]
    first = _text(fields, "due") or min(planned, default="") or start
    if not first:
        return (
            _in_words(place, Due("", TASK, text, "", "", place.path, line, place.title), fields)
            if plain
            else None
        )
    at = _text(fields, "remind") or _text(fields, "due") or _text(fields, "scheduled")
    timed = at if "T" not in first and at.startswith(f"{first}T") else first
    due = Due(
        "", TASK, text, timed, at, place.path, line, place.title, _repeat(fields),
        foreign=place.foreign, own_id=_own_id(fields),
    )  # fmt: skip
    # The id is that of the day: a time that is added behind it makes no other task.
    return Wish(due, due.own_id or place.stem, begins=not at, key=first if timed != first else "")


def block(place: Place, fields: Fields) -> Wish | None:
    """A dated block that is no task: what is planned for a day is over with it, a deadline soon after."""
    limit, planned = _text(fields, "due"), _text(fields, "scheduled")
    first = limit or planned
    if not first:
        return None
    repeat = _repeat(fields)
    rule = repeat if repeat and recurrence.read_rule(repeat) else ""
    due = Due(
        "", SAID if limit else NOTE, _text(fields, "text"), first, first, place.path, _line(fields), place.title,
        repeat, bool(rule), not limit, place.foreign, own_id=_own_id(fields),
    )  # fmt: skip
    return Wish(due, due.own_id or place.stem, rule, days=GRACE_DAYS if limit else 0)


def sentence(place: Place, line: int, text: str) -> Wish | None:
    """A sentence that says when something is to be done."""
    found = place.written.moment(text, lambda since: intentions.moment(text, since))
    if not found:
        return None
    first, rule = iso(found), found.repeat or ""
    due = Due(
        "", SAID, text, first, first, place.path, line, place.title, rule, bool(rule), foreign=place.foreign
    )  # fmt: skip
    return Wish(due, place.stem, rule, days=GRACE_DAYS)


def _in_words(place: Place, due: Due, fields: Fields) -> Wish | None:
    """A task without a date whose words name a time."""
    found = place.written.moment(due.text, lambda since: intentions.task_moment(due.text, since))
    if not found:
        return None
    first, rule = iso(found), found.repeat or ""
    own_id = _own_id(fields)
    due = due._replace(
        due=first, at=first, repeat=rule or _repeat(fields), rolls=bool(rule), foreign=place.foreign, own_id=own_id
    )  # fmt: skip
    return Wish(due, own_id or place.stem, rule)


def rule_of(words: str, now: datetime) -> str:
    """The rule that words such as "every day", "weekly" or 每周一 mean; "" for none, or where more is said."""
    text = words[:200]
    if recurrence.read_rule(text):
        return text
    phrase = reminder_phrase.alone(text, now)
    return (phrase.moment and not phrase.rest and phrase.moment.repeat) or ""


def now(wish: Wish, moment: datetime, is_closed: Callable[[str], bool]) -> Iterator[Named]:
    """What a wish means at that moment: nothing when it is over. Of what repeats, the last occurrence until it is
    answered, then the next."""
    today = moment.date().isoformat()
    if wish.rule:
        yield from _occurrence(wish, moment, is_closed)
    elif wish.begins:
        due = wish.due if wish.due.due[:10] >= today else wish.due._replace(due="")
        yield named(due, wish.source, wish.due.due)
    elif not (_is_over(wish, wish.due.due, today) or _is_only_written(wish, today)):
        yield named(wish.due, wish.source, wish.key)


def named(due: Due, source: str, key_time: str = "") -> Named:
    """A due with its id, unless another begins alike."""
    words = " ".join(due.text.split())
    pair = source, f"{words}\0{key_time or due.due or due.at}"
    series = series_id(source, "" if due.memory else words) if due.rolls else ""
    return Named(due._replace(id=item_id(*pair), series=series), pair)


def series_id(source: str, words: str = "") -> str:
    """The id under which is kept that something comes round no more; a memory is one series, whatever it says."""
    return item_id(source, f"series\0{words}")


def _occurrence(wish: Wish, moment: datetime, is_closed: Callable[[str], bool]) -> Iterator[Named]:
    last, following = around(wish.rule, wish.due.due, moment)
    if last and not _is_over(wish, last, moment.date().isoformat()):
        found = named(_at(wish.due, last), wish.source)
        if not following or not is_closed(found.due.id):
            yield found
            return
    if following:
        yield named(_at(wish.due, following), wish.source)


def _at(due: Due, when: str) -> Due:
    """The occurrence of that time; one that reminds earlier than it is due does so each time."""
    if not due.at or due.at == due.due:
        return due._replace(due=when, at=when and due.at and when)
    shift = date.fromisoformat(when[:10]).toordinal() - date.fromisoformat(due.due[:10]).toordinal()
    day = date.fromordinal(
        max(1, min(date.max.toordinal(), date.fromisoformat(due.at[:10]).toordinal() + shift))
    )
    return due._replace(due=when, at=day.isoformat() + due.at[10:])


def turn(wish: Wish, moment: datetime) -> str:
    """When the next occurrence of what repeats takes the place of the last; "" for never."""
    return around(wish.rule, wish.due.due, moment).next if wish.rule else ""


def _is_over(wish: Wish, when: str, today: str) -> bool:
    if wish.days is None:
        return False
    try:
        end = (date.fromisoformat(when[:10]) + timedelta(wish.days)).isoformat()
    except OverflowError:
        return False
    return end < today


def _is_only_written(wish: Wish, today: str) -> bool:
    return bool(wish.not_on) and wish.due.due == today and wish.not_on >= today


def _own_id(fields: Fields) -> str:
    return _text(fields, "id") or _text(fields, "block_id")


def _repeat(fields: Fields) -> str:
    """How it repeats, in words; Logseq writes ++1w."""
    words = _text(fields, "recurrence")
    found = _REPEATER.fullmatch(_text(fields, "repeater"))
    if words or not found or not int(found[2]):
        return words
    count, unit = int(found[2]), _UNITS[found[3]]
    often = f"every {unit}" if count == 1 else f"every {count} {unit}s"
    return f"{often} when done" if found[1] == ".+" else often


def _text(fields: Fields, key: str) -> str:
    found = fields.get(key)
    return found if isinstance(found, str) else ""


def _line(fields: Fields) -> int:
    found = fields.get("line")
    return found if isinstance(found, int) else 0
