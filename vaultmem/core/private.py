"""Whether the person keeps a note from assistants."""

from __future__ import annotations

from collections.abc import Mapping

_NO = ("false", "no", "0", "none", "")


def is_private(properties: Mapping[str, object]) -> bool:
    """Whether its property `private` is set, in whatever letters; who writes anything but no there means it."""
    return any(
        key.strip().lower() == "private" and str(value).strip().lower() not in _NO
        for key, value in properties.items()
    )
