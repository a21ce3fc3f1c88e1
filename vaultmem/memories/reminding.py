"""Reminders that somebody sets: what, when, and how often."""

from __future__ import annotations

from datetime import datetime

from vaultmem.adapter import Value
from vaultmem.core import recurrence, reminder_phrase, when
from vaultmem.core.reminder_phrase import Phrase
from vaultmem.errors import UsageError, VaultmemError
from vaultmem.memories.asked import Asked
from vaultmem.memories.desk import Session
from vaultmem.memories.writing import write


def remind(session: Session, asked: Asked) -> dict[str, object]:
    """Write a reminder. Its words say when, unless `at` does; a repetition is in the words or in `repeat`. What is not
    understood is refused: half of it would be another time."""
    now = session.view.now
    given = asked.text("at")
    phrase = reminder_phrase.alone(given, now) if given else _in_words(asked, now)
    moment = phrase.moment
    if not moment or not when.is_to_come(moment, now) or (given and phrase.rest):
        raise _no_time(given, phrase)
    repeat = _rule(asked.text("repeat"), now) or moment.repeat
    times: dict[str, Value] = {"remind": when.iso(moment)}
    if repeat:
        times["repeat"] = repeat
    # One that is there already has times of its own.
    return {**times, "understood": phrase.words, **write(session, asked, times)}


def _in_words(asked: Asked, now: datetime) -> Phrase:
    phrase = reminder_phrase.read(asked.content(), now)
    if phrase.rest and not asked.text("repeat"):
        named = ", ".join(f'"{each}"' for each in phrase.rest)
        raise VaultmemError(
            f"when? {named} is not understood; say it in other words, or give the time with --at and what comes round "
            "with --repeat: the words stay as they are then"
        )
    return phrase


def _rule(given: str, now: datetime) -> str:
    if not given or recurrence.read_rule(given):
        return given
    phrase = reminder_phrase.alone(given, now)
    if phrase.rest or not phrase.moment or not phrase.moment.repeat:
        raise UsageError(
            f"repeat must be a rule such as every day or every week on Monday, not {given!r}"
        )
    return phrase.moment.repeat


def _no_time(given: str, phrase: Phrase) -> VaultmemError:
    if given:
        named = ", ".join(f'"{each}"' for each in phrase.rest if each != given)
        more = f"; {named} is not understood" if named else ""
        return UsageError(
            f"--at must be a time that is still to come, such as tomorrow at 9, not {given!r}{more}"
        )
    return VaultmemError(
        "when? the words name no time that is still to come; add one, such as tomorrow at 9, or give it with --at"
    )
