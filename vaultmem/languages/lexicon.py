"""Reads the word lists of the languages, which stand in words.toml beside this module, when they are first needed."""

from __future__ import annotations

import pkgutil
import tomllib
from functools import cache
from typing import Any


@cache
def section(name: str) -> dict[str, Any]:
    """A table of the file."""
    return _tables()[name]


@cache
def names(name: str) -> frozenset[str]:
    """All words of the lists in a table."""
    return frozenset(word for words in section(name).values() for word in words.split())


@cache
def _tables() -> dict[str, dict[str, Any]]:
    data = pkgutil.get_data(__package__, "words.toml")
    assert data is not None, "the words come with the package"
    return tomllib.loads(data.decode("utf-8"))
