"""When things are due according to a note: its tasks, dated blocks and sentences, its properties due, deadline,
remind, scheduled and repeat, and the date of a reminder."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, tzinfo
from functools import partial

from vaultmem.adapter import JsonObject, Moment, Properties, Value
from vaultmem.light import NamedTuple
from vaultmem.plugins import language
from vaultmem.reminders.due import NOTE, REMINDER, SENTENCE, TASK, Due, Schedule
from vaultmem.text import recurrence
from vaultmem.text.values import lazy

BEGAN = "began"  # key for when vaultmem first read the vault
FURTHEST_DAYS = 3660  # nobody plans further ahead in words
GRACE_DAYS = 7  # days that a sentence, or a dated block without a task, stays overdue
_MOST = 50  # values of one property
_LONGEST = 200  # characters of a value
_ISO = lazy(
    r"(\d{4}-\d\d-\d\d)(?:(?:T|\s+)(\d{1,2}:\d\d)(?::\d\d(?:\.\d+)?)?\s*(Z|[+-]\d\d:?\d\d)?)?"
)
_LINK = lazy(r"!?\[\[([^\[\]|]{1,200})(?:\|[^\[\]]{0,200})?\]\]")
_REPEATER = lazy(r"(\.\+|\+\+|\+)(\d{1,4})([hdwmy])")
_UNITS = {"h": "hour", "d": "day", "w": "week", "m": "month", "y": "year"}
_CLOSED = frozenset(
    "done completed complete closed finished cancelled canceled dropped archived 完成 已完成 取消 已取消".split()
)
_TEMPLATE = lazy(r"(?:^|[/ _-])(?:templates?|模板)(?:[ _-][^/]*)?(?:/|\.[a-z]+$|$)", re.IGNORECASE)
_WRITTEN_KEYS = (
    "created", "created_at", "created-at", "date created", "updated", "modified", "published", "创建时间",
)  # fmt: skip
_NAME_DAY = lazy(r"(?<!\d)(\d{4})[-_.]?(\d\d)[-_.]?(\d\d)(?!\d)")


# --- When words were written: the day from which "tomorrow" counts


class Written:
    """When the words of one note were written, by what was seen before (key: local day and minute).

    `stem` is its name (see vault.conflicts), `day` the day that it is about or "", `is_own` whether that is the day
    of a journal or in its name, so that it holds whenever the note is edited; `mtime` when it was last written, in
    the person's zone.
    """

    def __init__(
        self, stem: str, day: str, mtime: datetime, met: Mapping[str, str], *, is_own: bool
    ) -> None:
        self.stem = stem
        self.former: Callable[[], str] = str  # the note's former name, if known
        self._day, self._mtime, self._met, self._is_own = day, mtime, met, is_own
        self.used: dict[str, str] = {}  # what this note has, to be recorded

    @property
    def zone(self) -> tzinfo | None:
        """The zone of the person."""
        return self._mtime.tzinfo

    def moment(self, text: str, read: Callable[[datetime], Moment | None]) -> Moment | None:
        """What `read` makes of a text on the day it was written."""
        written = self.since(text)
        moment = read(written)
        if moment is None or abs((moment.when - written).days) > FURTHEST_DAYS:
            return None
        if moment.relative or moment.repeat:
            self.used[self._key(text, self.stem)] = f"{written:%Y-%m-%dT%H:%M}"
        return moment

    def first_seen(self, text: str) -> str:
        """The ISO day on which a text was first seen."""
        seen = self._known(text) or f"{self._mtime:%Y-%m-%dT%H:%M}"
        self.used[self._key(text, self.stem)] = seen
        return seen[:10]

    def since(self, text: str) -> datetime:
        """The day on which a text was written, as far as known."""
        first_seen = self._known(text)
        since = self._day_of_note() if self._day else self._mtime
        if not first_seen or (self._is_own and first_seen[:10] != self._day):
            return since
        return self._local(first_seen) or since

    def _day_of_note(self) -> datetime:
        """The day of the note, unless it has been edited since first seen: words may be added to any note."""
        mtime, began = self._mtime, self._met.get(BEGAN, "")
        if f"{mtime:%Y-%m-%d}" == self._day:
            return mtime
        if not self._is_own and began and f"{mtime:%Y-%m-%dT%H:%M}" > began:
            return mtime
        return self._local(self._day) or mtime

    def _local(self, text: str) -> datetime | None:
        try:
            return datetime.fromisoformat(text).replace(tzinfo=self.zone)
        except ValueError:
            return None

    def _known(self, text: str) -> str:
        first_seen = self._met.get(self._key(text, self.stem))
        return first_seen or self._met.get(self._key(text, self.former()), "")

    def _key(self, text: str, stem: str) -> str:
        data = f"{stem}\0{text}".encode("utf-8", "surrogatepass")
        return hashlib.sha256(data).hexdigest()[:20]


def names_day(path: str, day: str) -> bool:
    """Whether a note's name has that ISO day."""
    match = _NAME_DAY.search(path.rpartition("/")[2])
    return match is not None and "-".join(match.groups()) == day


# --- Tasks, dated blocks and sentences


class Place(NamedTuple):
    """The note of an item."""

    path: str
    title: str
    foreign: bool
    written: Written

    def due(self, kind: str, text: str, line: int, own_id: str = "") -> Due:
        """An item in that place, without a time yet."""
        source = own_id or self.written.stem
        return Due(
            "", kind, text, "", "", self.path, line, self.title, foreign=self.foreign, source=source
        )  # fmt: skip


def of_task(place: Place, fields: JsonObject, *, plain: bool) -> list[Schedule]:
    """An open task; `plain` says whether its words may give the times if it has no date."""
    due = place.due(TASK, _text(fields, "text"), _line(fields), _own_id(fields))
    due = due._replace(repeat=_repeat(fields))
    by, scheduled, remind = (_text(fields, key) for key in ("due", "scheduled", "remind"))
    planned = [moment for moment in (scheduled, remind) if moment]
    first = by or min(planned, default="") or _text(fields, "start")
    if not first:
        return _in_words(place, due, partial(language().task_time, due.text)) if plain else []
    at = remind or by or scheduled
    timed = at if "T" not in first and at.startswith(f"{first}T") else first
    # The id uses the day only: adding a time does not make another task.
    key = first if timed != first else ""
    due = due._replace(due=timed, at=at)
    return [Schedule(due, begins=not at, key=key)]


def of_block(place: Place, fields: JsonObject) -> Schedule | None:
    """A dated block that is not a task: plans for a day end with it, a deadline soon after."""
    limit = _text(fields, "due")
    first = limit or _text(fields, "scheduled")
    if not first:
        return None
    repeat = _repeat(fields)
    rule = repeat if repeat and recurrence.read_rule(repeat) else ""
    kind, text = SENTENCE if limit else NOTE, _text(fields, "text")
    due = place.due(kind, text, _line(fields), _own_id(fields))._replace(
        due=first, at=first, repeat=repeat, rolls=bool(rule), lapses=not limit
    )
    return Schedule(due, rule, days=GRACE_DAYS if limit else 0)


def of_sentence(place: Place, line: int, text: str) -> list[Schedule]:
    """A sentence that says when something is to be done."""
    due = place.due(SENTENCE, text, line)
    every = _in_words(place, due, partial(language().intention, text))
    return [each._replace(days=GRACE_DAYS) for each in every]


def _in_words(place: Place, due: Due, read: Callable[[datetime], Moment | None]) -> list[Schedule]:
    """The schedules of words with a time, one for each of several times of a day. What is to be done loses words such
    as "tomorrow", unless `remind` would understand these differently."""
    moment = place.written.moment(due.text, read)
    if not moment:
        return []
    phrase = language().phrase(due.text, place.written.since(due.text))
    times = [phrase.moment or moment, *phrase.again] if phrase.again else [moment]
    is_alike = phrase.moment and phrase.moment.iso() == moment.iso() and not phrase.rest
    if moment.relative and (phrase.again or is_alike):
        due = due._replace(task=to_the_person(phrase.task))
    return [_at(due, each) for each in times]


def _at(due: Due, moment: Moment) -> Schedule:
    first, rule = moment.iso(), moment.repeat or ""
    due = due._replace(due=first, at=first, repeat=rule or due.repeat, rolls=bool(rule))
    return Schedule(due, recurrence.for_each_month(rule, moment.when.date()))


def _own_id(fields: JsonObject) -> str:
    return _text(fields, "id") or _text(fields, "block_id")


def _repeat(fields: JsonObject) -> str:
    """The repetition in words; Logseq writes ++1w."""
    words = _text(fields, "recurrence")
    match = _REPEATER.fullmatch(_text(fields, "repeater"))
    if words or not match or not int(match[2]):
        return words
    count, unit = int(match[2]), _UNITS[match[3]]
    often = f"every {unit}" if count == 1 else f"every {count} {unit}s"
    return f"{often} when done" if match[1] == ".+" else often


def _text(fields: JsonObject, key: str) -> str:
    value = fields.get(key)
    return value if isinstance(value, str) else ""


def _line(fields: JsonObject) -> int:
    value = fields.get("line")
    return value if isinstance(value, int) else 0


# --- Properties


class Own(NamedTuple):
    """The note as an item."""

    memory: str  # its id, if it is a memory
    text: str  # its opening
    journal: bool
    reminder: bool  # whether it is a memory that reminds


def of_properties(place: Place, properties: Properties, own: Own) -> Iterator[Schedule]:
    """The schedules of a note's properties."""
    folded = {key.lower(): value for key, value in properties.items()}
    if _is_closed(folded) or is_template(place.path):
        return
    dues = [day for key in ("due", "deadline") for day in _moments(place, folded.get(key))]
    reminds = list(_moments(place, folded.get("remind")))
    repeat = folded.get("repeat")
    first = min((*dues, *reminds), default="2000-01-01")
    since = datetime.fromisoformat(first[:10]).replace(tzinfo=place.written.zone)
    words = repeat if isinstance(repeat, str) else ""
    rule = rule_of(words, since)
    start = place.due(REMINDER, own.text, 0) if own.memory else place.due(NOTE, place.title, 0)
    source, each = own.memory or start.source, recurrence.for_each_month(rule, since.date())
    start = start._replace(memory=own.memory, source=source, repeat=rule, rolls=bool(rule))
    pairs = _pairs(dues, reminds)
    for due, at in pairs:
        yield Schedule(start._replace(due=due, at=at, repeat=rule or words), each)
    if own.journal:
        return
    written = {due[:10] for due, _ in pairs} | _days_of_writing(place.path, folded)
    # The date of any other note says when something happened, or what it is about.
    for key in ("scheduled", "date") if own.reminder else ("scheduled",):
        for day in _moments(place, folded.get(key)):
            if day[:10] not in written:
                seen = "" if "T" in day else place.written.first_seen(f"{key} {day}")
                dated = start._replace(due=day, at=day, lapses=True)
                yield Schedule(dated, rule, days=0, not_on=seen)


def rule_of(words: str, now: datetime) -> str:
    """The rule that words such as "every day", "weekly" or 每周一 mean; "" for none, or with other words."""
    text = words[:_LONGEST]
    if not text or recurrence.read_rule(text):
        return text
    phrase = language().time_alone(text, now)
    return (phrase.moment and not phrase.rest and phrase.moment.repeat) or ""


def is_generated(properties: Properties) -> bool:
    """Whether vaultmem wrote the note: its items are due in their own notes."""
    mark = properties.get("generated")
    return isinstance(mark, str) and mark.strip().lower() == "vaultmem"


def is_template(path: str) -> bool:
    """Whether a note is a template, by its name or folder."""
    return _TEMPLATE.search(path) is not None


def _pairs(dues: list[str], reminds: list[str]) -> list[tuple[str, str]]:
    """Pairs of deadline and reminder. One of each belong together; with more, that is unknown."""
    if len(dues) == 1 and len(reminds) == 1:
        return [(dues[0], reminds[0])]
    return [(due, due) for due in dict.fromkeys([*dues, *reminds])]


def _moments(place: Place, value: Value) -> Iterator[str]:
    for item in (value if isinstance(value, list) else [value])[:_MOST]:
        if isinstance(item, str) and (moment := _moment(place, item.strip())):
            yield moment


def _moment(place: Place, text: str) -> str:
    link = _LINK.fullmatch(text)
    text = (link[1] if link else text).strip()
    if len(text) > _LONGEST:
        return ""
    plain = _ISO.fullmatch(text)
    if plain:
        return _iso_moment(plain, place.written.zone)
    moment = place.written.moment(
        text, lambda since: next(iter(language().times(text, since)), None)
    )
    return moment.iso() if moment else ""


def _iso_moment(match: re.Match[str], zone: tzinfo | None) -> str:
    day, clock, offset = match.groups()
    try:
        moment = datetime.fromisoformat(f"{day}T{clock or '0:00':0>5}{offset or ''}")
        local = moment.astimezone(zone) if offset else moment
    except (ValueError, OverflowError):
        return ""
    if local.year < 1000:
        return ""
    return f"{local:%Y-%m-%dT%H:%M}" if clock else day


def _is_closed(folded: Properties) -> bool:
    status = folded.get("status")
    states = status if isinstance(status, list) else [status]
    if any(isinstance(state, str) and state.strip().lower() in _CLOSED for state in states):
        return True
    return any(folded.get(key) not in (None, False, "", "false") for key in ("done", "completed"))


def _days_of_writing(path: str, folded: Properties) -> set[str]:
    values = [folded.get(key) for key in _WRITTEN_KEYS]
    days = {value[:10] for value in values if isinstance(value, str)}
    return days | {"-".join(parts) for parts in _NAME_DAY.findall(path.rpartition("/")[2])}


def to_the_person(text: str) -> str:
    """The text without "remind me to"."""
    opening = language().table("reminders")["opening"]
    return re.sub(rf"\A\s*(?:{opening})", "", text, count=1, flags=re.IGNORECASE).strip() or text
