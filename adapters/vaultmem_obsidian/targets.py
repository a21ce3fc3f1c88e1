"""Finding the file a link means: names, lookups and the choice among several candidates."""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def composed(text: str) -> str:
    """NFC, with both no-break spaces as plain blanks (R-LINK-25)."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFC", text).replace("\u00a0", " ").replace("\u202f", " ")


def folded(text: str) -> str:
    """The form in which names are compared: composed and in lower case (R-LINK-3).

    Final sigma counts as sigma: whether Python writes one depends on what follows, and the file
    "ΟΔΟΣ.md" has to meet the link "ΟΔΟΣ".
    """
    if text.isascii():
        return text.lower()
    return composed(text).lower().replace("ς", "σ")


def link_key(path: str) -> str:
    """What a link is looked up by: its last segment, or "/", which no file is called."""
    if not path:
        return ""
    return folded(path.rpartition("/")[2]) or "/"


def choose(path: str, source: str, candidates: Sequence[str]) -> str | None:
    """The target among files whose name has matched the last segment already (R-LINK-4 to 9)."""
    folder = folded(path.rpartition("/")[0])
    home = source.rpartition("/")[0]
    if path.startswith("/"):
        wanted = _plain(folder)
        return _first([c for c in candidates if _folder(c) == wanted])
    if path.startswith(("./", "../")):
        wanted = _plain(f"{folded(home)}/{folder}")
        return _first([c for c in candidates if _folder(c) == wanted])
    wanted = _plain(folder)
    exact = [c for c in candidates if _folder(c) == wanted]
    if exact:
        return _first(exact)
    if wanted:
        ending = "/" + wanted
        candidates = [c for c in candidates if _folder(c).endswith(ending)]
    inside = home + "/"
    near = [c for c in candidates if c.startswith(inside)] if home else []
    return _first(near or candidates)


@lru_cache(maxsize=1 << 15)  # every link to a name that many files have asks for all of them
def _folder(path: str) -> str:
    return folded(path.rpartition("/")[0])


def _plain(folder: str) -> str:
    """A folder without "." and ".."; what leads above the vault stays in its root."""
    kept: list[str] = []
    for part in folder.split("/"):
        if part == "..":
            del kept[-1:]
        elif part and part != ".":
            kept.append(part)
    return "/".join(kept)


def _first(paths: Sequence[str]) -> str | None:
    """The fewest characters, not the fewest folders; then the first by code point."""
    return min(paths, key=lambda path: (len(path), path), default=None)
