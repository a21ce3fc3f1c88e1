"""Third-party clients, imported by the tests that use them: each worker would otherwise spend seconds on all of them
at its start."""

from importlib import import_module
from typing import Any


class Lazy:
    """A module imported on first use."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # pytest looks for its own marks
            raise AttributeError(name)
        return getattr(import_module(self._name), name)
