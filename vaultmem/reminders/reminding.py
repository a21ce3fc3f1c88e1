"""Sets reminders: what, when, and how often, by their words or by `at` and `repeat`."""

from __future__ import annotations

import re
from datetime import datetime

from vaultmem.adapter import JsonObject, Phrase, Value
from vaultmem.errors import UsageError, VaultmemError
from vaultmem.light import TYPE_CHECKING
from vaultmem.memories.arguments import Arguments, which_day
from vaultmem.plugins import language
from vaultmem.reminders.schedules import rule_of, to_the_person
from vaultmem.schedule import LocalZone

if TYPE_CHECKING:
    from vaultmem.memories.store import Session


def remind(session: Session, params: Arguments) -> JsonObject:
    """Write a reminder, whose words, or `at` and `repeat`, say when. Raises if the time is not understood."""
    from vaultmem.operations.writing import write_each  # due items are read more often

    now = datetime.fromtimestamp(session.now, LocalZone())
    at = params.text("at")
    phrase = language().time_alone(at, now) if at else _phrase_in_words(params, now)
    moment = phrase.moment
    if not moment or not moment.is_to_come(now) or (at and phrase.rest and not phrase.again):
        raise _no_time(params, phrase)
    words = params.text("repeat")
    repeat = rule_of(words, now)
    if words and not repeat:
        raise UsageError(
            f"{params.spelled('repeat')} must be a rule such as every day or every week on Monday, not {words!r}"
        )
    rule: dict[str, Value] = {"repeat": repeat or moment.repeat} if repeat or moment.repeat else {}
    task = params.but(content=to_the_person(params.content() if at else phrase.task))
    every: list[dict[str, Value]] = [
        {"remind": each.iso(), **rule} for each in (moment, *phrase.again)
    ]
    made = zip(every, write_each(session, task, every), strict=True)
    # An existing one has its own times.
    answers = [{**times, "understood": phrase.words, **answer} for times, answer in made]
    first, *others = sorted(answers, key=lambda one: not (one["created"] or "changes" in one))
    also = {"also": [answer["remind"] for answer in others]} if others else {}
    return {**first, **also}


def _phrase_in_words(params: Arguments, now: datetime) -> Phrase:
    phrase = language().phrase(params.content(), now)
    if phrase.rest and not (phrase.again or params.text("repeat")):
        named = ", ".join(f'"{part}"' for part in phrase.rest)
        raise VaultmemError(
            f"when? {named} is not understood; say it in other words, or give the time with {params.spelled('at')} and "
            f"a rule with {params.spelled('repeat')}, which keep the text as it is"
        )
    call = language().table("reminders")["call"]
    only = re.sub(rf"\A\s*{call}", "", params.content(), count=1, flags=re.IGNORECASE)
    alone = language().time_alone(only, now)
    if phrase.moment and (alone.again or not alone.rest):
        raise VaultmemError("what? these words only say when; add what to do then")
    return phrase


def _no_time(params: Arguments, phrase: Phrase) -> VaultmemError:
    at, spelled = params.text("at"), params.spelled("at")
    if phrase.either:
        return VaultmemError(f"when? {which_day(phrase)}")
    if at:
        named = ", ".join(f'"{part}"' for part in phrase.rest if part != at)
        more = f"; {named} is not understood" if named else ""
        return UsageError(
            f"{spelled} must be a time that is still to come, such as tomorrow at 9, not {at!r}{more}"
        )
    return VaultmemError(
        f"when? these words name no future time; add one, such as tomorrow at 9, or use {spelled}"
    )
