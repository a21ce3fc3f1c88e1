"""Clients of others, imported by the tests that use them: each worker would spend seconds on all of them at its start."""

from importlib import import_module
from typing import Any


class Lazy:
    """A module that is imported when something of it is used."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # pytest looks for marks of its own
            raise AttributeError(name)
        return getattr(import_module(self._name), name)
