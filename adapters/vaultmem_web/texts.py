"""The words of the page: English in the code, other languages in a table each."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources

LANGUAGES = {"en": "English", "zh": "中文"}


def language_of(wanted: str) -> str:
    """The first language of an Accept-Language that we speak."""
    for part in wanted.lower().split(","):
        if (name := re.split(r"[;-]", part.strip())[0]) in LANGUAGES:
            return name
    return "en"


@cache
def _table(language: str) -> Mapping[str, str]:
    if language == "en":
        return {}
    text = resources.files("vaultmem_web").joinpath(f"{language}.toml").read_text("utf-8")
    table: dict[str, str] = tomllib.loads(text)
    return table


class Translator:
    """Says things in one language."""

    def __init__(self, language: str) -> None:
        self.language = language
        self._table = _table(language)

    def __call__(self, text: str, **values: object) -> str:
        """A text, with its values filled in. What the table lacks is English."""
        known = self._table.get(text, text)
        return known.format(**values) if values else known
