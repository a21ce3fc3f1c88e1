"""English, Chinese and Japanese: times, reminders, statements and facts in plain words. The words are data."""

from __future__ import annotations

import re

from vaultmem.text.values import lazy, table


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
