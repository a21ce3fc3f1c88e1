"""Reminders: those that somebody sets, and those that hide in longer memories, which get a memory of their own, linked
with the one they come from."""

from __future__ import annotations

from datetime import datetime

from vaultmem.adapter import Phrase, Value
from vaultmem.errors import UsageError, VaultmemError
from vaultmem.memories.arguments import Arguments
from vaultmem.memories.store import Session
from vaultmem.memories.writing import write
from vaultmem.plugins import language
from vaultmem.text import recurrence

# --- Set by somebody: what, when, and how often


def remind(session: Session, params: Arguments) -> dict[str, object]:
    """Write a reminder. Its words say when, unless `at` does; a repetition is in the words or in `repeat`. What is not
    understood is refused: half of it would be another time."""
    now = session.view.now
    at = params.text("at")
    phrase = language().time_alone(at, now) if at else _phrase_in_words(params, now)
    moment = phrase.moment
    if not moment or not moment.is_to_come(now) or (at and phrase.rest):
        raise _no_time(at, phrase)
    repeat = _rule(params.text("repeat"), now) or moment.repeat
    times: dict[str, Value] = {"remind": moment.iso()}
    if repeat:
        times["repeat"] = repeat
    # One that is there already has times of its own.
    return {**times, "understood": phrase.words, **write(session, params, times)}


def _phrase_in_words(params: Arguments, now: datetime) -> Phrase:
    phrase = language().phrase(params.content(), now)
    if phrase.rest and not params.text("repeat"):
        named = ", ".join(f'"{each}"' for each in phrase.rest)
        raise VaultmemError(
            f"when? {named} is not understood; say it in other words, or give the time with --at and what comes round "
            "with --repeat: the words stay as they are then"
        )
    return phrase


def _rule(words: str, now: datetime) -> str:
    if not words or recurrence.read_rule(words):
        return words
    phrase = language().time_alone(words, now)
    if phrase.rest or not phrase.moment or not phrase.moment.repeat:
        raise UsageError(
            f"repeat must be a rule such as every day or every week on Monday, not {words!r}"
        )
    return phrase.moment.repeat


def _no_time(at: str, phrase: Phrase) -> VaultmemError:
    if at:
        named = ", ".join(f'"{each}"' for each in phrase.rest if each != at)
        more = f"; {named} is not understood" if named else ""
        return UsageError(
            f"--at must be a time that is still to come, such as tomorrow at 9, not {at!r}{more}"
        )
    return VaultmemError(
        "when? the words name no time that is still to come; add one, such as tomorrow at 9, or give it with --at"
    )
