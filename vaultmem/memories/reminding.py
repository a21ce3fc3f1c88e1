"""Reminders that somebody sets: what, when, and how often."""

from __future__ import annotations

from vaultmem.adapter import Value
from vaultmem.core import recurrence, when
from vaultmem.core.when import Moment
from vaultmem.errors import UsageError, VaultmemError
from vaultmem.memories.asked import Asked
from vaultmem.memories.desk import Session
from vaultmem.memories.writing import write


def remind(session: Session, asked: Asked) -> dict[str, object]:
    """Write a reminder. Its words say when, unless `at` does; a repetition is in the words or in `repeat`."""
    moment = _moment(session, asked)
    repeat = asked.text("repeat") or moment.repeat
    if repeat and recurrence.read_rule(repeat) is None:
        raise UsageError(
            f"repeat must be a rule such as every day or every week on Monday, not {repeat!r}"
        )
    times: dict[str, Value] = {"remind": when.iso(moment)}
    if repeat:
        times["repeat"] = repeat
    # One that is there already has times of its own.
    return {**times, **write(session, asked, times)}


def _moment(session: Session, asked: Asked) -> Moment:
    now = session.view.now
    given = asked.text("at")
    found = when.spoken(given, now) if given else when.find(asked.content(), now)
    for moment in found:
        if moment.when > now or (moment.all_day and moment.when.date() >= now.date()):
            return moment
    if given:
        raise UsageError(
            f"--at must be a time that is still to come, such as tomorrow at 9, not {given!r}"
        )
    raise VaultmemError(
        "when? the words name no time that is still to come; add one, such as tomorrow at 9, or give it with --at"
    )
