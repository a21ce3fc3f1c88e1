"""What of all that is due is shown: which section it goes to, what an answer has closed, what may not be believed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import NamedTuple

from vaultmem.memories import model
from vaultmem.reminders.answers import DONE, DROPPED, SNOOZED, Answer, asleep, closed
from vaultmem.reminders.due import TASK, Due
from vaultmem.reminders.pending_page import Found, Item, due_parts, item_id, own_words
from vaultmem.text.values import plural

DAYS = 7
RECENT = 14  # days for which what is overdue is listed singly
PRIVATE = "(private)"
COMPLETE = "complete"  # what a question to a person is about


def items(
    dues: Iterable[Due],
    answers: Mapping[str, Answer],
    now: datetime,
    *,
    days: int = DAYS,
    asks: bool = True,
) -> list[Item]:
    """What waits in the next days, and, where a person wants to be asked (`asks`), one question for each note in which
    tasks are open that were done here. `now` is the clock on the wall."""
    last = later(now.date(), days)
    found: list[Item] = []
    open_there: dict[str, list[Due]] = {}
    for due in dues:
        if is_over(due, answers):
            if asks and _is_open_in_its_note(due, answers):
                open_there.setdefault(due.path, []).append(due)
            continue
        section = section_of(due, now.date().isoformat(), last)
        if section and may_be_shown(due, answers):
            found.append(item_of(due, section))
    found += map(_question, open_there.values())
    return waiting(found, answers, now)


def section_of(due: Due, today: str, last: str) -> str:
    """Where it goes: today, soon, overdue, older; "" for nowhere, as what has begun and is due at no day."""
    day = (due.due or due.at)[:10]
    if not day or day > last or (day < today and (due.lapses or not due.due)):
        return ""
    if day == today:
        return "today"
    if day > today:
        return "soon"
    recent = (date.fromisoformat(today) - timedelta(RECENT)).isoformat()
    return "overdue" if day >= recent else "older"


def is_over(due: Due, answers: Mapping[str, Answer]) -> bool:
    """Whether it is done or dropped, this time or for good."""
    return closed(answers, due.id) or closed(answers, due.series)


def may_be_shown(due: Due, answers: Mapping[str, Answer]) -> bool:
    """Whether it is the person's own or that of an assistant, or was approved."""
    if due.foreign:
        return is_approved(due.id, answers)
    return not is_refused(due.id, answers)


approval, is_approved = model.approval, model.is_approved  # of what comes from outside


def is_refused(id_: str, answers: Mapping[str, Answer]) -> bool:
    """Whether the person does not want to hear of something from outside."""
    answer = answers.get(approval(id_))
    return answer is not None and answer.state == DROPPED


def completion(path: str) -> str:
    """The id of the question whether tasks that are done here shall be marked done in their note, too. It is asked once
    for a note."""
    return item_id(path, COMPLETE)


def carried_out(due: Due) -> str:
    """The id under which is kept that what the answer to it asks for was done."""
    return item_id(due.id, f"carried out\0{due.path}" if due.kind == TASK else "carried out")


def marks(due: Due) -> tuple[str, str]:
    """The ids under which is kept that a task was ticked in some note, and in one of this folder. Copies beside a note
    are ticked with it; the README of another project says the same by chance, and the person has not seen it."""
    folder = due.path.rpartition("/")[0]
    return item_id(due.id, "carried out"), item_id(due.id, f"carried out in\0{folder}")


def place_of(due: Due) -> str:
    """Where it stands: the note, and the line if it is one."""
    return f"{due.path}:{due.line}" if due.line else due.path


def waiting(found: Iterable[Item], answers: Mapping[str, Answer], now: datetime) -> list[Item]:
    """Without what was answered or sleeps, each thing once."""
    minute = now.isoformat()[:16]
    kept = {
        item.id: item
        for item in found
        if not closed(answers, item.id) and not asleep(answers.get(item.id), minute)
    }
    return list(kept.values())


def item_of(due: Due, section: str) -> Item:
    """How it stands on the page, which assistants read: of what is private only that it is there."""
    return Item(
        due.id, section, words_of(due), due.due or due.at, place_of(due), _title_of(due), due.repeat or None,
        scope=due.scope, author=due.author, memory=due.memory,
    )  # fmt: skip


def words_of(due: Due) -> str:
    """Its words, as far as assistants may know them."""
    return PRIVATE if due.private else due.text


def _title_of(due: Due) -> str:
    return "" if due.private else due.title


def several(found: Sequence[Item], most: int, said: str, newest: str = "") -> list[Item]:
    """So many of one kind as they are; of more only one line that counts them, such as "{} copies". A tick on it
    means that the person has seen them, and holds until there are others, or one newer than `newest`."""
    if len(found) <= most:
        return list(found)
    key = newest or "\0".join(sorted(item.id for item in found))
    first = min(found, key=lambda item: item.rank)
    return [
        Item(item_id(said, key), first.section, said.format(f"{len(found):,}"), rank=first.rank)
    ]


def snoozed_until(given: str | None, now: datetime) -> str:
    """Until when an item sleeps: the day or minute that was named, when that is to come, else tomorrow."""
    today, minute = now.date().isoformat(), now.isoformat()[:16]
    if given and given > (today if len(given) == len(today) else minute):
        return given
    return later(now.date(), 1)


def _is_open_in_its_note(due: Due, answers: Mapping[str, Answer]) -> bool:
    """A task of a note that was done here: had it been ticked in its note, it would be due no more."""
    given = answers.get(due.id)
    is_done = given is not None and given.state == DONE
    return due.kind == TASK and is_done and may_be_shown(due, answers)


def _question(dues: Sequence[Due]) -> Item:
    """One for all tasks of a note, also for those that will be done here later."""
    due = dues[0]
    what = words_of(due) if len(dues) == 1 else plural(len(dues), "task")
    said = f"tick to mark tasks of this note done there, too, now and later: {what}"
    return Item(
        completion(due.path), "review", said, source=place_of(due), title=_title_of(due), rank=1
    )


def later(day: date, days: int) -> str:
    """So many days later, or the last day that there is."""
    return date.fromordinal(min(day.toordinal() + days, date.max.toordinal())).isoformat()


# For how long what waits stays as it is, when nobody touches anything: most of it changes at midnight only.


def until(dues: Iterable[Due], answers: Mapping[str, Answer], now: str) -> str:
    """The next minute of this day from which something else may wait; "" when that is not before midnight. `now` and
    the answer are local, YYYY-MM-DDTHH:MM."""
    today = now[:10]
    ends = [one.until for one in answers.values() if one.state == SNOOZED]
    # What comes round keeps its time of day.
    ends += [today + clock for due in dues if due.rolls for clock in (due.due[10:], due.at[10:])]
    return min(
        (end for end in ends if end > now and end[:10] == today and len(end) > 10), default=""
    )


# What a person decided about an item on the page: done, dropped, or snoozed until a day typed in the line.

DECIDED = ("done", "dropped", "snoozed")  # of two copies of an item, the first of these wins
_LOOKED_AT = 300  # characters
_DAY = re.compile(r"(?<![\d-])\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d)?(?![\d-])")
_FIELD = r"📅\ufe0f? ?"
_DATED = rf"{_FIELD}\d{{4}}-\d\d-\d\d"
_UNTIL = re.compile(r"\b(?:until|till|til)\b|[直延]?[到至]", re.IGNORECASE)
_LINK = re.compile(r"\[\[([^\[\]]*)\]\]")


class Ack(NamedTuple):
    """What a person decided about an item."""

    state: str  # open, done, dropped or snoozed
    until: str | None = None  # an ISO day or time, of what is snoozed


def ack_of(found: Found, item: Item | None, now: datetime | None) -> Ack:
    """What one line says; `item` is the one it was written for, if it is known."""
    if found.state != "snoozed":
        return Ack(found.state)
    return Ack(found.state, _until(found, item, now))


def _until(found: Found, item: Item | None, now: datetime | None) -> str | None:
    """The day that a person typed; the one that we wrote is none, nor the day that a link to the note names."""
    own = due_parts(item)[0] if item else ""
    # Of an unknown item nobody knows whether the date is the one that we wrote.
    ours = [*map(re.escape, own_words(item)), _FIELD + (own or "-")] if item else [_DATED]
    words = re.sub("|".join(ours), " ", found.words)
    told = _UNTIL.search(words)
    # "until [[2026-11-25]]" names a day; a link elsewhere is rather to the note, under an older name.
    typed = _LINK.sub(r" . \1 . ", words[told.end() :]) if told else _LINK.sub(" . ", words)
    if now is not None and (told or (item and words != found.words)):
        days = _spoken(typed, now)
    else:
        days = [match[0].replace(" ", "T") for match in _DAY.finditer(typed)]
    if not told:
        days = [day for day in days if day[:10] != own]
    if item and found.day != own:
        days.insert(0, found.day)
    return next((day for day in days if day and _is_day(day)), None)


def _spoken(words: str, now: datetime) -> list[str]:
    from vaultmem.languages import when  # the grammar is only for who snoozes in words

    return [when.iso(moment) for moment in when.find(words[:_LOOKED_AT], now)]


def _is_day(day: str) -> bool:
    try:
        date.fromisoformat(day[:10])
    except ValueError:
        return False
    return True


def stronger(one: Ack | None, other: Ack) -> Ack:
    """The more decided of two; of two that are snoozed, the one with a day, and the later day."""
    if one is None:
        return other
    ranks = [
        DECIDED.index(ack.state) if ack.state in DECIDED else len(DECIDED) for ack in (one, other)
    ]
    if ranks[0] != ranks[1]:
        return one if ranks[0] < ranks[1] else other
    return max(one, other, key=lambda ack: ack.until or "")
