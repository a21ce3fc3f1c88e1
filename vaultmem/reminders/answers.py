"""What a person or an assistant has answered to pending items, and what the person was told: sets that any two
machines can put together in any order and agree."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple, TypeVar

from vaultmem.memories.ledger import Ledger
from vaultmem.reminders.pending_page import MARKS, OUTLINE
from vaultmem.text.sanitize import one_line
from vaultmem.text.times import seconds

OPEN, DONE, DROPPED, SNOOZED = "open", "done", "dropped", "snoozed"


class Answer(NamedTuple):
    """The last word on one item."""

    id: str  # of the item, vm-…
    state: str  # DONE, DROPPED, SNOOZED, or OPEN: an answer was taken back
    at: str  # when, UTC: 2026-11-22T10:00:00Z
    by: str = "you"  # or the name of an assistant
    until: str = ""  # of what is snoozed: an ISO day, or day and minute
    text: str = ""  # what it was about, in one line


class Told(NamedTuple):
    """That the desktop has told of an item."""

    id: str
    at: str  # when last, UTC
    times: int = 1
    moment: str = ""  # the moment it was told for: Due.at, or the end of a snooze


T = TypeVar("T", Answer, Told)


def union(*sets: Mapping[str, T]) -> dict[str, T]:
    """All answers, or all that was told, by id; of two to one item the later; of two in the same second the greater, on
    every machine."""
    found: dict[str, T] = {}
    for each in (one for given in sets for one in given.values()):
        before = found.get(each.id)
        if before is None or (before.at, before) < (each.at, each):
            found[each.id] = each
    return found


def asleep(answer: Answer | None, now: str) -> bool:
    """Whether the item is snoozed still; `now` is local, YYYY-MM-DDTHH:MM."""
    if answer is None or answer.state != SNOOZED:
        return False
    return answer.until[:10] > now[:10] if len(answer.until) == 10 else answer.until > now


def closed(answers: Mapping[str, Answer], id_: str) -> bool:
    """Whether the item is done or dropped."""
    answer = answers.get(id_)
    return answer is not None and answer.state in (DONE, DROPPED)


# The page answers.md: what was answered to pending items and what the desktop has told of, one line each, so that all

TITLE = "Answers"
EXPLAINED = (
    "What was answered to the items of pending.md, and what the desktop has told of, for all machines that share "
    "this vault. vaultmem writes this page; to take an answer back: vaultmem done ID --undo"
)
_MOST_NAME = 40  # characters
_REMEMBERED = 4_096  # answers are looked at again and again
_ID = r"[ \t]*[-*+] (?P<id>vm-[a-z2-7]{6,})"
_AT = r"(?P<at>2[01]\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ)"
_TIME = r"\d{4}-\d\d-\d\d(?:T\d\d:\d\d)?"
_ANSWER = re.compile(
    rf"{_ID} (?P<state>{OPEN}|{DONE}|{DROPPED}|{SNOOZED}) {_AT}(?: until (?P<until>{_TIME}))?"
    r"(?: by (?P<by>[^:]+?)(?:: (?P<text>.*))?)?[ \t]*"
)
_TOLD = re.compile(rf"{_ID} told {_AT} (?P<times>\d{{1,6}})x(?: for (?P<moment>{_TIME}))?[ \t]*")
_TELLS_MOMENT = re.compile(_TIME)
_MARK = re.compile(r"[ \t]*generated::?[ \t]*[\"']?vaultmem[\"']?[ \t]*", re.IGNORECASE)
_OURS = re.compile(rf"[ \t]*(?:[-*+] )?(?:#+ )?(?:{TITLE}|{re.escape(EXPLAINED)}|---)[ \t]*|")


class Said(NamedTuple):
    """What a page of answers says."""

    answers: Mapping[str, Answer]
    told: Mapping[str, Told]
    ours: bool  # False: a person's own note has this name


@lru_cache(_REMEMBERED)
def plain(answer: Answer) -> Answer:
    """The answer as its line says it: what both the page and the ledger keep."""
    name = one_line(answer.by.replace(":", " "), _MOST_NAME)
    name = name or ("somebody" if answer.text else "")
    until = answer.until if re.fullmatch(_TIME, answer.until) else ""
    return answer._replace(by=name, until=until, text=one_line(answer.text))


def is_plain(one: Answer | Told) -> bool:
    """Whether a page can hold it."""
    line = told_line(one) if isinstance(one, Told) else answer_line(plain(one))
    match = (_TOLD if isinstance(one, Told) else _ANSWER).fullmatch(line)
    return bool(match and seconds(one.at) is not None)


def answer_line(answer: Answer) -> str:
    """One answer, without a line end."""
    until = f" until {answer.until}" if answer.until else ""
    text = f": {answer.text}" if answer.text else ""
    by = f" by {answer.by}" if answer.by else ""
    return f"- {answer.id} {answer.state} {answer.at}{until}{by}{text}"


def told_line(told: Told) -> str:
    """One thing that was told, without a line end."""
    moment = f" for {told.moment}" if _TELLS_MOMENT.fullmatch(told.moment) else ""
    return f"- {told.id} told {told.at} {told.times}x{moment}"


def render(answers: Iterable[Answer], told: Iterable[Told], style: str) -> str:
    """The page; the same answers give the same bytes."""
    lines = sorted([*map(answer_line, answers), *map(told_line, told)])
    if style == OUTLINE:
        return "".join(f"{line}\n" for line in (MARKS[1], "", f"- {EXPLAINED}", *lines))
    head = ("---", MARKS[0], "---", "", f"# {TITLE}", "", EXPLAINED, "")
    return "".join(f"{line}\n" for line in (*head, *lines))


def read(text: str) -> Said:
    """What can be read of a page, of two lines to one item the later; a merge may have left both."""
    answers: dict[str, Answer] = {}
    told: dict[str, Told] = {}
    marked = odd = False
    for line in text.split("\n"):
        found = _read(line.rstrip("\r"))
        if isinstance(found, Answer):
            answers.update(union({found.id: answers.get(found.id, found)}, {found.id: found}))
        elif isinstance(found, Told):
            told.update(union({found.id: told.get(found.id, found)}, {found.id: found}))
        else:
            marked = marked or bool(_MARK.fullmatch(line))
            odd = odd or not _OURS.fullmatch(line.rstrip("\r"))
    return Said(answers, told, marked or not odd)


def _read(line: str) -> Answer | Told | None:
    match = _ANSWER.fullmatch(line)
    if match and seconds(match["at"]) is not None:
        text = match["text"] or ""
        return plain(
            Answer(
                match["id"],
                match["state"],
                match["at"],
                match["by"] or "",
                match["until"] or "",
                text,
            )
        )
    match = _TOLD.fullmatch(line)
    if match and seconds(match["at"]) is not None:
        return Told(match["id"], match["at"], int(match["times"]), match["moment"] or "")
    return None


# Answers to pending items, what the person was told of them, and since when an expression of time was there: parts of


def answers(ledger: Ledger) -> dict[str, Answer]:
    """All answers by the ids of the items."""
    found = ledger.rows(
        "SELECT id, state, at, who, until, text FROM answers", lambda row: Answer(*map(str, row))
    )
    return {answer.id: answer for answer in found}


def told(ledger: Ledger) -> dict[str, Told]:
    """All that the desktop has told of, by the ids of the items."""
    found = ledger.rows("SELECT id, at, times, moment FROM told", _told)
    return {each.id: each for each in found}


def add(ledger: Ledger, given: Iterable[Answer], heard: Iterable[Told], now: float) -> None:
    """Keep answers and what was told, each in place of what was known of its item."""
    with ledger.writing(now) as db:
        db.executemany("INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?, ?, ?)", list(given))
        db.executemany("INSERT OR REPLACE INTO told VALUES (?, ?, ?, ?)", list(heard))


def forget(ledger: Ledger, ids: Iterable[str], now: float) -> None:
    """Drop what is known of items that are long gone."""
    gone = [(id_,) for id_ in ids]
    with ledger.writing(now) as db:
        for table in ("answers", "told"):
            db.executemany(f"DELETE FROM {table} WHERE id = ?", gone)  # noqa: S608 - own names


def met(ledger: Ledger) -> dict[str, str]:
    """The days on which expressions of time were first seen, by what they are known by."""
    return dict(ledger.rows("SELECT id, day FROM met", lambda row: (str(row[0]), str(row[1]))))


def meet(ledger: Ledger, days: Iterable[tuple[str, str]], gone: Iterable[str], now: float) -> None:
    """Remember the days of new ones, and forget those that are gone."""
    with ledger.writing(now) as db:
        db.executemany("DELETE FROM met WHERE id = ?", [(id_,) for id_ in gone])
        db.executemany("INSERT OR IGNORE INTO met VALUES (?, ?)", list(days))


def _told(row: tuple[object, ...]) -> Told:
    id_, at, times, moment = row
    return Told(str(id_), str(at), int(str(times)), str(moment))
