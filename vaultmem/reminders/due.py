"""One thing in the vault that wants attention at a time, wherever it is written: a task, a property, a sentence, a
reminder. Times are those of the clock on the wall, as notes have them: an ISO day, or day and minute."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time, tzinfo
from functools import lru_cache
from typing import NamedTuple

from vaultmem.languages import recurrence
from vaultmem.text.values import TYPE_CHECKING

if TYPE_CHECKING:
    from vaultmem.languages.when import Moment


TASK, NOTE, SAID, REMINDER = "task", "note", "said", "reminder"  # kinds of what is due


class Due(NamedTuple):
    """One thing that is due; of what repeats by itself, the occurrence that counts now."""

    id: str  # vm-…, see reminders.pending_page.item_ids; the same on every machine
    kind: str  # TASK: a task of a note; NOTE: a note with a date; SAID: a line; REMINDER: a memory
    text: str  # as it stands in the note
    due: str  # by when: what sorts it under overdue, today and soon; "" for what only starts
    at: str  # when to remind; "" for never
    path: str
    line: int  # 0 for a property of the note
    title: str  # of the note, as a link names it
    repeat: str = ""  # in words
    rolls: bool = False  # comes round by itself; a task does so when its editor completes it
    lapses: bool = False  # is over with its day, done or not: a date of a note is no work
    foreign: bool = False  # from outside; not to be believed before a person has approved it
    memory: str = ""  # the id of the memory, of a REMINDER
    own_id: str = ""  # by which its editor knows the task, if it does
    scope: str = "global"  # who sees it
    private: bool = False  # the person keeps its words from assistants
    author: str = ""  # the assistant that wrote it; "" for the person
    series: str = ""  # under which id the end of what rolls is kept, vm-…


# When what repeats was last, and is next: reckoned from its beginning, so that nothing drifts, on the clock of the


class Occurrences(NamedTuple):
    """The last one that is past, or runs today, and the one after it; each written as the beginning is, "" for none."""

    last: str
    next: str


def around(rule: str, start: str, now: datetime) -> Occurrences:
    """The occurrences before and after `now` (with its zone) of what repeats by a rule in words since `start`, an ISO
    day, or day and minute. What is no rule happens once."""
    day, _, clock = start.partition("T")
    today = now.date()
    until = today if _is_past(today, clock, now) else _day_before(today)
    last, following = _days(rule, date.fromisoformat(day), until)
    return Occurrences(_written(last, clock), _written(following, clock))


@lru_cache(maxsize=4096)  # the answer is the same for a day, and asked for every minute
def _days(rule: str, start: date, until: date) -> tuple[date | None, date | None]:
    known = recurrence.read_rule(rule)
    if known is None:
        return (start, None) if start <= until else (None, start)
    return recurrence.around(known, start, until)


def _is_past(day: date, clock: str, now: datetime) -> bool:
    """Whether that time of the day is over; a whole day is there from its beginning. A time that the clock shows
    twice is over after the first."""
    if not clock:
        return True
    local = datetime.combine(day, time.fromisoformat(clock), tzinfo=now.tzinfo)
    try:
        return local.astimezone(UTC) <= now.astimezone(UTC)
    except OverflowError:  # at the ends of the calendar
        return local.replace(tzinfo=None) <= now.replace(tzinfo=None)


def _day_before(day: date) -> date:
    return date.fromordinal(max(1, day.toordinal() - 1))


def _written(day: date | None, clock: str) -> str:
    if day is None:
        return ""
    return f"{day.isoformat()}T{clock}" if clock else day.isoformat()


# The day from which relative words such as "tomorrow" are to be reckoned.

BEGAN = "began"  # under this key stands when we looked for the first time
FURTHEST_DAYS = 3660  # what is further away nobody plans in words


class Source(NamedTuple):
    """What tells when the words of a note were written."""

    stem: str  # see vault.conflicts
    day: str  # that the note speaks of; "" for none
    own: bool  # the day is that of a journal, or in the name: it holds whenever the note is edited
    mtime: datetime  # when the note was last written, in the zone of the person


class Written:
    """When the words of one note were written, of what was met before (key: local day and minute)."""

    def __init__(self, source: Source, met: Mapping[str, str]) -> None:
        self._source = source
        self._met = met
        self.used: dict[str, str] = {}  # what this note has, to be remembered

    @property
    def zone(self) -> tzinfo | None:
        """The zone of the person."""
        return self._source.mtime.tzinfo

    def moment(self, text: str, read: Callable[[datetime], Moment | None]) -> Moment | None:
        """What `read` makes of a text on the day it was written."""
        key = self._key(text)
        written = self._since(key)
        found = read(written)
        if found is None or abs((found.when - written).days) > FURTHEST_DAYS:
            return None
        if found.relative or found.repeat:
            self.used[key] = f"{written:%Y-%m-%dT%H:%M}"
        return found

    def first_seen(self, text: str) -> str:
        """The ISO day on which a text was there for the first time."""
        key = self._key(text)
        self.used[key] = self._met.get(key) or f"{self._source.mtime:%Y-%m-%dT%H:%M}"
        return self.used[key][:10]

    def _since(self, key: str) -> datetime:
        source = self._source
        since = self._of_the_note() if source.day else source.mtime
        known = self._met.get(key, "")
        if not known or (source.own and known[:10] != source.day):
            return since
        try:
            return datetime.fromisoformat(known).replace(tzinfo=source.mtime.tzinfo)
        except ValueError:
            return since

    def _of_the_note(self) -> datetime:
        """The day of the note, unless it was written to since we know it: words may be added to any note."""
        source, mtime = self._source, self._source.mtime
        began = self._met.get(BEGAN, "")
        if f"{mtime:%Y-%m-%d}" == source.day:
            return mtime
        if not source.own and began and f"{mtime:%Y-%m-%dT%H:%M}" > began:
            return mtime
        try:
            return datetime.fromisoformat(source.day).replace(tzinfo=mtime.tzinfo)
        except ValueError:
            return mtime

    def _key(self, text: str) -> str:
        data = f"{self._source.stem}\0{text}".encode("utf-8", "surrogatepass")
        return hashlib.sha256(data).hexdigest()[:20]


_NAME_DAY = re.compile(r"(?<!\d)\d{4}[-_.]?\d\d[-_.]?\d\d(?!\d)")


def names_day(path: str, day: str) -> bool:
    """Whether the name of a note has that ISO day."""
    found = _NAME_DAY.search(path.rpartition("/")[2])
    return found is not None and re.sub(r"\D", "", found[0]) == day.replace("-", "")
