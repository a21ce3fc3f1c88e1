"""Whether the person keeps a note from assistants."""

from __future__ import annotations

import re
from collections.abc import Mapping

_NO = ("false", "no", "0", "none", "")
_HEAD = 4_000  # characters
_LINE = re.compile(r"^[ \t\"']*private[ \t\"']*::?[ \t]*(\S*)", re.IGNORECASE | re.MULTILINE)


def is_private(properties: Mapping[str, object]) -> bool:
    """Whether its property `private` is set, in whatever letters; who writes anything but no there means it."""
    return any(
        key.strip().lower() == "private" and str(value).strip().lower() not in _NO
        for key, value in properties.items()
    )


def says_private(text: str) -> bool:
    """Whether a note whose properties cannot be read says so at its beginning: what is broken is kept rather than
    told."""
    if not text.lstrip("\ufeff").startswith("---"):
        return False
    return any(found[1].strip("\"',").lower() not in _NO for found in _LINE.finditer(text[:_HEAD]))
