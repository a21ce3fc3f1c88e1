"""What a person or an assistant answers to what waits, by whatever door."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from vaultmem.errors import NoteNotFoundError, StateError, UsageError
from vaultmem.index.catalog import Catalog
from vaultmem.languages import when
from vaultmem.memories import model, own_notes
from vaultmem.memories.asked import Asked
from vaultmem.memories.reports import Report, header, planned
from vaultmem.memories.store import MemoryStore, Session
from vaultmem.reminders import carrying, pending_items
from vaultmem.reminders.alarms import Alarm
from vaultmem.reminders.answers import DONE, DROPPED, OPEN, SNOOZED, Answer, closed
from vaultmem.reminders.due import REMINDER, TASK, Due
from vaultmem.reminders.telling import LocalZone
from vaultmem.reminders.waiting import Waiting
from vaultmem.text import times
from vaultmem.text.sanitize import words
from vaultmem.text.times import stamp

if TYPE_CHECKING:
    from vaultmem.api.rpc import Reader

LEAST = 4  # letters of an id that name an item
_PREFIX = "vm-"
_MOST_NAMED = 5


class _Found(NamedTuple):
    """What is answered."""

    id: str
    text: str
    due: Due | None  # None for a question, or what is due no more
    given: Answer | None  # the last word on it so far


def answer(session: Session, asked: Asked) -> Report:
    """Take an answer, and carry out what it asks for. An item that is closed stays as it is."""
    state = asked.needed("state")
    now = datetime.fromtimestamp(session.now).astimezone()
    session.desk.waiting.mind(asked.told("vanished"))
    until = _until(asked, now) if state == SNOOZED else ""
    given = asked.needed("id")
    place = own_notes.place(session, given)
    if place is not None and state == DONE and not asked.text("by"):
        return own_notes.tick(session, asked, *place)
    found = _named(session, _due_at(session, place) if place else given, now)
    who = header(asked, f"{state}: {words(found.text)}"[:200], session.now)
    if who.kind == "assistant":
        _see_that_it_may(session, found, who.by)
    series = _series(session, found, state, asked)
    last = session.desk.waiting.record.answers().get(series) if series else found.given
    before = last.state if last else OPEN
    report: Report = {
        "id": found.id,
        "state": state,
        "text": words(found.text),
        "until": until or None,
        "was": before,
        "changed": not (before == state == OPEN or (state != OPEN and before in (DONE, DROPPED))),
    }
    if not report["changed"]:
        return {**report, "state": before}
    word = Answer(found.id, state, stamp(session.now), who.by, until, words(found.text))
    if asked.flag("dry_run"):
        return _tried(session, word, series) | report
    session.desk.waiting.record.add(_recorded(word, series), [], session.now)
    return report | _carried(session, asked, found, now)


def settle(session: Session, asked: Asked) -> Report:
    """Carry out what the answers ask for, wherever they came from. Once more, it does nothing."""
    session.desk.waiting.mind(asked.told("vanished"))
    return carrying.settle(session, dry_run=asked.flag("dry_run"))


def _series(session: Session, found: _Found, state: str, asked: Asked) -> str:
    """The id of the series that ends with this answer, or that goes on when it is taken back; "" for none."""
    if asked.flag("series") and state == DROPPED:
        due = found.due or _as_it_was(session, found.id)
        if due is None or not due.series:
            raise UsageError(
                f"{words(found.text)!r} ({found.id}) does not repeat; leave --series out"
            )
        return due.series
    if state != OPEN:
        return ""
    own = found.due.series if found.due else carrying.series(session, found.id)
    return own if closed(session.desk.waiting.record.answers(), own) else ""


def _as_it_was(session: Session, id_: str) -> Due | None:
    """What has this id and has moved on, since it was answered."""
    searcher = session.reader.searcher()
    now = datetime.fromtimestamp(session.now).astimezone()
    dues = session.desk.waiting.dues(searcher.catalog, now, {}) if searcher else []
    return next((due for due in dues if due.id == id_), None)


def _recorded(word: Answer, series: str) -> list[Answer]:
    """The answer: one that ends a series says so under its id."""
    if not series:
        return [word]
    return [word._replace(id=series), *([word] if word.state == OPEN else [])]


def _tried(session: Session, word: Answer, series: str) -> Report:
    """What the answer would change in files."""
    changes: list[object] = []
    skipped: list[object] = []
    if word.state == OPEN:
        plan = carrying.plan(session, word.id)
        changes += carrying.listed(planned(session, plan)["changes"]) if plan else []
    else:
        tried = carrying.settle(session, dry_run=True, more=_recorded(word, series))
        changes += carrying.about(word.id, tried["changes"])
        skipped += carrying.about(word.id, tried["skipped"])
    return {"dry_run": True, "changes": changes, "findings": [], "skipped": skipped}


def _carried(session: Session, asked: Asked, found: _Found, now: datetime) -> Report:
    """What follows from an answer that is on record."""
    more: Report = {}
    state = asked.needed("state")
    if state == OPEN:
        more["restored"] = carrying.restore(session, asked, found.id)
        more["gone"] = found.due is None and not more["restored"]
    else:
        settled = carrying.settle(session)
        more["carried_out"] = carrying.about(found.id, settled["done"])
        more["skipped"] = carrying.about(found.id, settled["skipped"])
        more["asks"] = _question(session, found) if state == DONE else None
    searcher = session.reader.searcher()
    if searcher is not None:
        session.desk.waiting.refresh(searcher.catalog, now, asked.told("vanished"))
    return more


def _question(session: Session, found: _Found) -> str | None:
    """The id of the question that the page asks once for a note, after a task of it was done here."""
    asks = session.desk.config.text("pending.complete_in_notes") == "ask"
    if not asks or found.due is None or found.due.kind != TASK:
        return None
    question = pending_items.completion(found.due.path)
    return None if closed(session.desk.waiting.record.answers(), question) else question


# --- Which item


def _named(session: Session, given: str, now: datetime) -> _Found:
    """The item that is meant by an id or the beginning of one."""
    searcher = session.reader.searcher()
    if searcher is None:
        raise StateError("the vault is not indexed; run vaultmem sync")
    waiting = session.desk.waiting
    shown = [*waiting.items(searcher.catalog, now), *waiting.chores(searcher.catalog, now)]
    items = {one.id: one.text for one in shown}
    dues = {due.id: due for due in carrying.dues(session)}
    hidden = {id_ for id_, due in dues.items() if _is_hidden(session, due)}
    items = {id_: said for id_, said in items.items() if id_ not in hidden}
    dues = {id_: due for id_, due in dues.items() if id_ not in hidden}
    current = items | {id_: due.text for id_, due in dues.items()}
    answers = {id_: one for id_, one in waiting.record.answers().items() if id_ not in hidden}
    id_ = (
        _id(given, current)
        or _of_memory(given, dues.values())
        or _id(given, {one: answers[one].text for one in answers} | carrying.put_away(session))
    )
    if not id_:
        from difflib import get_close_matches  # rarely needed

        near = get_close_matches(_whole(given), current, 1, 0.85)  # one wrong character
        advice = f"did you mean {near[0]} ({_told(near[0], items, dues)})? " if near else ""
        raise NoteNotFoundError(
            f"nothing that waits has the id {given[:40]!r}; {advice}vaultmem pending lists what waits"
        )
    known = answers.get(id_)
    text = current.get(id_) or (known.text if known else "")
    return _Found(id_, text, dues.get(id_), known)


def _due_at(session: Session, place: tuple[str, int]) -> str:
    """The id of what is due on a line of a note."""
    for due in carrying.dues(session):
        if (due.path, due.line) == place:
            return due.id
    raise NoteNotFoundError(
        f"nothing that waits is at {place[0]}:{place[1]}; vaultmem pending lists what waits"
    )


def _is_hidden(session: Session, due: Due) -> bool:
    """Whether who answers may not see what is due."""
    return bool(model.reason(due.scope, session.viewer, private=due.private))


def _told(id_: str, items: dict[str, str], dues: dict[str, Due]) -> str:
    """The words of an item, as far as anybody may be told them."""
    return words(items[id_] if id_ in items else pending_items.words_of(dues[id_]))


def _of_memory(given: str, dues: Iterable[Due]) -> str:
    """The item of the reminder that is meant by the id of its memory, or the beginning of that; "" for none."""
    wanted = given.strip().lower()
    found = [due.id for due in dues if due.memory.startswith(wanted)]
    return found[0] if len(found) == 1 and len(wanted) >= LEAST else ""


def _whole(given: str) -> str:
    plain = given.strip().removeprefix("^").lower()
    return plain if plain.startswith(_PREFIX) else f"{_PREFIX}{plain}"


def _id(given: str, known: dict[str, str]) -> str:
    """The one of these ids that is meant; "" for none."""
    wanted = _whole(given)
    if wanted in known:
        return wanted
    fitting = [id_ for id_ in known if id_.startswith(wanted)]
    if not fitting or len(wanted) < len(_PREFIX) + LEAST:
        return ""
    if len(fitting) > 1:
        ids = ", ".join(sorted(fitting)[:_MOST_NAMED])
        raise NoteNotFoundError(
            f"{given!r} could mean {len(fitting)} items: {ids}; give more of it"
        )
    return fitting[0]


def _see_that_it_may(session: Session, found: _Found, name: str) -> None:
    """An assistant answers for what is due, and for nothing else: not whether something may be believed, or written
    into a note; it silences no preference, and nothing to review. What it answered itself it may take back."""
    if found.due is not None and found.due.private:
        raise UsageError(f"{found.id} is private: only you can answer it, in pending.md")
    dues = _all_dues(session)
    known = dues.keys() | {memory.id for memory in session.desk.collection.live()}
    questions = {pending_items.approval(id_) for id_ in known}
    questions |= {pending_items.completion(due.path) for due in dues.values()}
    asked = found.due is not None and not pending_items.may_be_shown(
        found.due, session.desk.waiting.record.answers()
    )
    if found.id in questions or (asked and found.due and found.due.kind != REMINDER):
        raise UsageError(
            f"only you can approve {words(found.text)!r} ({found.id}): tick it in pending.md"
        )
    if found.due is None and not (found.given and found.given.by == name):
        said = f"{words(found.text)!r} ({found.id}) is no task or reminder that is due"
        raise UsageError(f"{said}: only you can answer it, in pending.md")


def _all_dues(session: Session) -> dict[str, Due]:
    """All that is due or is shown, by id: what repeats goes on by one rule for what is carried out, and by another for
    what is shown."""
    searcher = session.reader.searcher()
    now = datetime.fromtimestamp(session.now).astimezone()
    shown = session.desk.waiting.dues(searcher.catalog, now) if searcher else []
    return {due.id: due for due in (*carrying.dues(session), *shown)}


# --- Until when


def _until(asked: Asked, now: datetime) -> str:
    """The day or the minute, on the clock of `now`; tomorrow, if none is named."""
    given = asked.text("until")
    if not asked.has("until"):
        return (now.date() + timedelta(1)).isoformat()
    try:
        found = _iso(given, now) or _span(given, now) or _spoken(given, now)
    except (OverflowError, ValueError):
        found = ""
    if not found:
        raise UsageError(
            f"{asked.spelled('until')} must be a day, a time or a span, such as 2026-11-25, Friday, tomorrow 9:00 "
            f"or 3d, not {given!r}"
        )
    if found <= f"{now:%Y-%m-%dT%H:%M}"[: len(found)]:
        raise UsageError(
            f"{asked.spelled('until')} must be still to come; {found.replace('T', ' ')} is not"
        )
    return found


def _iso(given: str, now: datetime) -> str:
    try:
        return date.fromisoformat(given).isoformat()
    except ValueError:
        pass
    try:
        found = datetime.fromisoformat(given)
    except ValueError:
        return ""
    local = found.astimezone(now.tzinfo) if found.tzinfo else found
    return local.replace(tzinfo=None).isoformat(timespec="minutes")


def _span(given: str, now: datetime) -> str:
    """Days and weeks end with a day, hours and minutes at a minute."""
    try:
        span = timedelta(seconds=times.duration_seconds(given))
    except ValueError:
        return ""
    if not span % timedelta(1):
        return (now.date() + span).isoformat()
    return (now + span).astimezone().replace(tzinfo=None).isoformat(timespec="minutes")


def _spoken(given: str, now: datetime) -> str:
    """What words mean, if they are one expression of time and nothing else."""
    found = when.find(given, now)
    if len(found) != 1 or found[0].repeat:
        return ""
    rest = given[: found[0].start] + given[found[0].end :]
    return "" if rest.strip() else when.iso(found[0])


# What waits, for every door; and the check that tells the desktop of what is due. They take no turn at the desk: a

NOT_INDEXED = "the vault is not indexed; run vaultmem sync"


def pending(desk: MemoryStore, reader: Reader, asked: Asked) -> dict[str, object]:
    """All that waits, each item with its id, section, words, time and source; the chores that these only count; and,
    where they are asked for, the facts that an assistant is told when it starts."""
    catalog, now = _catalog(reader), _now(desk)
    days = asked.whole("days")
    items = desk.waiting.items(catalog, now, asked.told("vanished"), days)
    chores = desk.waiting.chores(catalog, now, asked.told("vanished"))
    facts = desk.waiting.facts(catalog, now) if asked.flag("facts") else []
    return {
        "items": [dict(item.__dict__) for item in items],
        "count": len(items),
        **({"facts": facts} if facts else {}),
        "chores": [dict(item.__dict__) for item in chores],
        "until": desk.waiting.until(catalog, now),
    }


def notify(desk: MemoryStore, reader: Reader, asked: Asked) -> dict[str, object]:
    """Take the answers from the page, write it anew, and tell the desktop of what is due."""
    catalog, now, waiting = _catalog(reader), _now(desk), desk.waiting
    if asked.flag("dry_run"):
        planned = waiting.tell(catalog, now, dry_run=True)
        return {**_said(waiting, planned.tell), "dry_run": True}
    looked = waiting.refresh(catalog, now, asked.told("vanished"))
    planned = waiting.tell(catalog, now, asked.told("vanished"))
    trouble = waiting.teller.trouble
    troubles = [*looked.troubles, *([trouble] if trouble else [])]
    return {
        **_said(waiting, planned.tell),
        "page": waiting.path or None,
        "written": looked.written,
        "answered": looked.answered,
        "unsettled": waiting.unsettled,
        "troubles": troubles,
        "dry_run": False,
    }


def _said(waiting: Waiting, alarms: list[Alarm]) -> dict[str, object]:
    told = [{"title": each.title, "body": each.body, "urgent": each.urgent} for each in alarms]
    return {"told": told, "method": waiting.config.text("notify.method")}


def _catalog(reader: Reader) -> Catalog:
    searcher = reader.searcher()
    if searcher is None:
        raise StateError(NOT_INDEXED)
    return searcher.catalog


def _now(desk: MemoryStore) -> datetime:
    return datetime.fromtimestamp(desk.now(), LocalZone())
