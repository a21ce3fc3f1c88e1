"""What the JSON of a command looks like, gathered from its answers and written as types of TypeScript."""

import re
import textwrap
from typing import Any

_NAMES = {str: "string", bool: "boolean", int: "number", float: "number", type(None): "null"}
_BY_DATA = re.compile(r"[\s./]|^[0-9a-f]{8}-")  # a key that is a path, an id or a text, and no name


class Shape:
    """The kinds of the values at one place."""

    def __init__(self) -> None:
        self._plain: list[str] = []
        self._seen = 0  # objects
        self._keys: dict[str, tuple[Shape, int]] = {}
        self._items: Shape | None = None

    def add(self, value: Any) -> None:
        """Take in one more value that stands there."""
        if isinstance(value, dict):
            self._seen += 1
            for key, one in value.items():
                name = "[key: string]" if _BY_DATA.search(key) else key
                inner, count = self._keys.get(name, (Shape(), 0))
                inner.add(one)
                self._keys[name] = inner, count + 1
        elif isinstance(value, list):
            self._items = self._items or Shape()
            for one in value:
                self._items.add(one)
        elif (name := _NAMES[type(value)]) not in self._plain:
            self._plain.append(name)

    def __str__(self) -> str:
        kinds = sorted(self._plain, key=lambda name: name == "null")
        if self._seen:
            pairs = (
                f"{key}{'?' if count < self._seen and key[0] != '[' else ''}: {inner}"
                for key, (inner, count) in self._keys.items()
            )
            kinds.append(f"{{{', '.join(pairs)}}}")
        if self._items is not None:
            inner_ = str(self._items)
            kinds.append(f"({inner_})[]" if " | " in inner_ and inner_[0] != "{" else f"{inner_}[]")
        return " | ".join(kinds) or "unknown"

    def wrapped(self) -> str:
        """The same in lines."""
        return textwrap.fill(
            str(self), 110, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
        )
