"""What of all that is due is shown: which section it goes to, what an answer has closed, what may not be believed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime

from vaultmem.core.answers import DONE, DROPPED, Answer, asleep, closed
from vaultmem.core.due import TASK, Due
from vaultmem.core.pending_page import Item, item_id

DAYS = 7
PRIVATE = "(private)"
APPROVE, COMPLETE = "approve", "complete"  # what a question to a person is about


def items(
    dues: Iterable[Due],
    answers: Mapping[str, Answer],
    now: datetime,
    *,
    days: int = DAYS,
    asks: bool = True,
) -> list[Item]:
    """What waits in the next days, and, where a person wants to be asked (`asks`), tasks that were answered and are
    still open in their notes. `now` is the clock on the wall."""
    last = later(now.date(), days)
    found: list[Item] = []
    for due in dues:
        if closed(answers, due.id):
            if asks and _is_open_in_its_note(due, answers):
                found.append(_question(due))
            continue
        section = section_of(due, now.date().isoformat(), last)
        if section and may_be_shown(due, answers):
            found.append(item_of(due, section))
    return waiting(found, answers, now)


def section_of(due: Due, today: str, last: str) -> str:
    """Where it goes: overdue, today, soon; "" for nowhere, as what has begun and is due at no day."""
    day = (due.due or due.at)[:10]
    if not day or day > last or (day < today and (due.lapses or not due.due)):
        return ""
    if day == today:
        return "today"
    return "overdue" if day < today else "soon"


def may_be_shown(due: Due, answers: Mapping[str, Answer]) -> bool:
    """Whether it is the person's own, or was approved."""
    return not due.foreign or is_approved(due.id, answers)


def approval(id_: str) -> str:
    """The id of the question whether something from outside may be believed."""
    return item_id(id_, APPROVE)


def is_approved(id_: str, answers: Mapping[str, Answer]) -> bool:
    """Whether the person said so of something from outside."""
    answer = answers.get(approval(id_))
    return answer is not None and answer.state == DONE


def is_refused(id_: str, answers: Mapping[str, Answer]) -> bool:
    """Whether the person does not want to hear of something from outside."""
    answer = answers.get(approval(id_))
    return answer is not None and answer.state == DROPPED


def completion(id_: str) -> str:
    """The id of the question whether a task shall be marked done in its note."""
    return item_id(id_, COMPLETE)


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
        scope=due.scope,
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
    return due.kind == TASK and answers[due.id].state == DONE and may_be_shown(due, answers)


def _question(due: Due) -> Item:
    said = f"tick to mark it done in its note, too: {words_of(due)}"
    return Item(
        completion(due.id), "review", said, source=place_of(due), title=_title_of(due), rank=1
    )


def later(day: date, days: int) -> str:
    """So many days later, or the last day that there is."""
    return date.fromordinal(min(day.toordinal() + days, date.max.toordinal())).isoformat()
