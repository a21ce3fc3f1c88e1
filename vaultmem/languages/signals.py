"""The words that hint at the category of a memory, with their weights, out of categories.toml."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import NamedTuple

from vaultmem.text.values import lazy, table


class Signal(NamedTuple):
    """One row of the table; each thing that its pattern finds counts once, and two of them at most."""

    category: str
    pattern: re.Pattern[str]
    weight: float
    deniable: bool  # a denial just before takes it back
    han: bool


@cache
def signals() -> tuple[Signal, ...]:
    """All of them, the English ones first."""
    tables = table("vaultmem.languages", "categories")
    return (*_read(tables["english"], han=False), *_read(tables["chinese"], han=True))


def _read(language: Mapping[str, Mapping[str, str]], *, han: bool) -> Iterator[Signal]:
    parts = {f"<{name}>": part for name, part in language["parts"].items()}
    for category, rows in language["signals"].items():
        for row in rows.strip("\n").replace("\n    ", "").split("\n"):
            weight, _, words = row.partition(" ")
            deniable, words = words.startswith("~"), words.removeprefix("~")
            for name, part in parts.items():
                words = words.replace(name, part)
            pattern = words if han else rf"(?<!\w)(?:{words})(?!\w)"
            yield Signal(category, lazy(pattern, re.MULTILINE), float(weight), deniable, han)
