"""A vault of which a dialect sees a few files."""

import json
from typing import Any


class Files:
    """A vault with only these files; values other than text are written as JSON."""

    def __init__(self, files: dict[str, Any] | None = None) -> None:
        self.files = files or {}

    def exists(self, path: str) -> bool:
        return any(name == path or name.startswith(path + "/") for name in self.files)

    def read(self, path: str) -> bytes | None:
        if path not in self.files:
            return None
        value = self.files[path]
        return value if isinstance(value, bytes) else json.dumps(value).encode()
