"""Word lists and patterns: read from a TOML file and compiled at first use, since a start must not pay for hundreds of
regular expressions."""

from __future__ import annotations

import pkgutil
import re
import tomllib
from functools import cache
from typing import Any, cast


@cache
def table(package: str, name: str) -> dict[str, Any]:
    """What the file `name`.toml of a package holds."""
    data = pkgutil.get_data(package, f"{name}.toml")
    assert data is not None, "the file comes with the package"
    return tomllib.loads(data.decode("utf-8"))


def lazy(source: str, flags: int = 0) -> re.Pattern[str]:
    """The expression as re.compile() takes it; what is wrong with it shows at its first use."""
    return cast("re.Pattern[str]", _Lazy(source, flags))


class _Lazy:
    """Stands for a compiled expression; the first use of one of its methods compiles it."""

    def __init__(self, source: str, flags: int) -> None:
        self.pattern = source
        self.flags = flags

    def __getattr__(self, name: str) -> object:
        found = getattr(re.compile(self.pattern, self.flags), name)
        setattr(self, name, found)  # of the compiled expression: from now on nothing is in between
        return found
