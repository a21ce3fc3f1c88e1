"""English, Chinese and Japanese: times, reminders, statements and facts in plain words. The words are data."""

from __future__ import annotations

import re

from vaultmem.adapter import Language
from vaultmem.text.values import TYPE_CHECKING, lazy, table

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime
    from typing import Any

    from vaultmem.adapter import DaySpan, Moment, Note, Phrase, Statement, TimeWords


def words(section: str, name: str) -> str:
    """A text of words.toml."""
    text: str = table("vaultmem_languages", "words")[section][name]
    return text


def pattern(section: str, name: str, flags: int = re.IGNORECASE, **parts: str) -> re.Pattern[str]:
    """A pattern of words.toml, its lines joined and `parts` put in place of their names in <>."""

    def source() -> str:
        text = words(section, name).replace("\n", "")
        for part, meaning in parts.items():
            text = text.replace(f"<{part}>", meaning)
        return text

    return lazy(source, flags)


class PlainLanguage(Language):
    """English, Chinese and Japanese; vaultmem.adapter describes the methods. Each loads what it needs: a search loads
    no grammar of times."""

    def times(self, text: str, now: datetime) -> list[Moment]:
        from vaultmem_languages import when

        return when.find(text, now)

    def reminder(self, text: str, now: datetime) -> Moment | None:
        from vaultmem_languages import when

        return when.reminder(text, now)

    def end(self, text: str, now: datetime) -> Moment | None:
        from vaultmem_languages import when

        return when.end(text, now)

    def absolute(self, text: str, written: datetime) -> str:
        from vaultmem_languages import when

        return when.absolute(text, written)

    def phrase(self, text: str, now: datetime) -> Phrase:
        from vaultmem_languages import reminder_phrase

        return reminder_phrase.read(text, now)

    def time_alone(self, text: str, now: datetime) -> Phrase:
        from vaultmem_languages import reminder_phrase

        return reminder_phrase.alone(text, now)

    def time_words(self) -> TimeWords:
        from vaultmem_languages import when_words

        return when_words.TIMES

    def asks_when(self, question: str) -> bool:
        from vaultmem_languages import when_words

        return when_words.asks_when(question)

    def days(self, question: str) -> list[DaySpan]:
        from vaultmem_languages import when_words

        return when_words.day_spans(question)

    def prose(self, text: str) -> str:
        from vaultmem_languages import intentions

        return intentions.prose(text)

    def sentences(self, note: Note, text: str) -> dict[int, list[str]]:
        from vaultmem_languages import intentions

        return intentions.sentences(note, text)

    def intention(self, sentence: str, written: datetime) -> Moment | None:
        from vaultmem_languages import intentions

        return intentions.moment(sentence, written)

    def task_time(self, text: str, written: datetime) -> Moment | None:
        from vaultmem_languages import intentions

        return intentions.task_moment(text, written)

    def facts(self, message: str, now: datetime | None = None) -> list[str]:
        from vaultmem_languages import facts

        return facts.facts_in(message, now)

    def statements(self, text: str) -> list[Statement]:
        from vaultmem_languages import statements

        return statements.statements(text)

    def contradicts(self, one: Statement, other: Statement) -> bool:
        from vaultmem_languages import statements

        return statements.contradicts(one, other)

    def contradiction(self, one: str, other: str) -> str | None:
        from vaultmem_languages import statements

        return statements.contradiction(one, other)

    def fold(self, value: str) -> str:
        from vaultmem_languages import slots

        return slots.fold(value)

    def figures(self, word: str) -> str:
        from vaultmem_languages import when_words

        return when_words.figures(word)

    def table(self, name: str) -> Mapping[str, Any]:
        result = table("vaultmem_languages", "categories" if name == "categories" else "words")
        return result if name == "categories" else result[name]


language: Language = PlainLanguage()
