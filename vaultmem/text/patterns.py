"""Regular expressions that are compiled when they are first used: a start must not pay for hundreds of them."""

from __future__ import annotations

import re
from typing import cast


class _Lazy:
    """Stands for a compiled expression; the first use of one of its methods compiles it."""

    def __init__(self, source: str, flags: int) -> None:
        self.pattern = source
        self.flags = flags

    def __getattr__(self, name: str) -> object:
        found = getattr(re.compile(self.pattern, self.flags), name)
        setattr(
            self, name, found
        )  # bound to the compiled expression: the next use is as fast as any
        return found


def lazy(source: str, flags: int = 0) -> re.Pattern[str]:
    """The expression, as re.compile() takes it; what is wrong with it shows at its first use."""
    return cast("re.Pattern[str]", _Lazy(source, flags))
