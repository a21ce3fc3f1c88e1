"""English, Chinese, Japanese and German: times, reminders, statements and facts in plain words. The words are data."""

from __future__ import annotations

import re

from vaultmem.light import cast
from vaultmem.text.values import TYPE_CHECKING, lazy, toml_table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from vaultmem.adapter import Language


_PART = lazy(r"(?<!\?P)<([a-z_]+)>")


def words(section: str, name: str) -> str:
    """A text of words.toml."""
    text: str = toml_table("vaultmem_languages", "words")[section][name]
    return text


def pattern(
    section: str, name: str, flags: int = re.IGNORECASE, **parts: str | Callable[[], str]
) -> re.Pattern[str]:
    """A pattern of words.toml, with its lines joined. A name in <> is replaced by one of `parts`, by its result if it
    is a function, or by another text of that section."""

    def part(match: re.Match[str]) -> str:
        value = parts.get(match[1]) or joined(match[1])
        return value if isinstance(value, str) else value()

    def joined(name: str) -> str:
        return _PART.sub(part, words(section, name).replace("\n", ""))

    return lazy(lambda: joined(name), flags)


# The functions that implement the methods of vaultmem.adapter.Language.
METHODS = {
    "times": "when.find", "reminder": "when.reminder", "end": "when.end", "absolute": "when.absolute",
    "phrase": "reminder_phrase.read", "time_alone": "reminder_phrase.alone",
    "time_words": "when_words.time_words", "asks_when": "when_words.asks_when", "days": "when_words.days",
    "asks_latest": "when_words.asks_latest", "asks_before": "when_words.asks_before",
    "beside": "when_words.beside",
    "prose": "intentions.prose", "sentences": "intentions.sentences", "intention": "intentions.moment",
    "task_time": "intentions.task_moment", "facts": "facts.facts_in", "statements": "statements.statements",
    "contradicts": "statements.contradicts", "contradiction": "statements.contradiction", "fold": "slots.fold",
    "figures": "when_words.figures",
}  # fmt: skip


class _PlainLanguage:
    """Loads a method's module on first use: a search loads no time grammar."""

    def table(self, name: str) -> Mapping[str, Any]:
        """See vaultmem.adapter.Language."""
        result = toml_table("vaultmem_languages", "categories" if name == "categories" else "words")
        return result if name == "categories" else result[name]

    def __getattr__(self, name: str) -> object:
        module, _, function = METHODS.get(name, "").partition(".")
        if not function:
            raise AttributeError(name)
        result = getattr(__import__(f"vaultmem_languages.{module}", fromlist=["*"]), function)
        setattr(self, name, result)
        return result


language: Language = cast("Language", _PlainLanguage())
