"""References to blocks of an outline, replaced by their label or the text of the block, as its editor shows them.

The id of a block tells a reader nothing. Where its note is hidden from the viewer, or is gone, the id stays.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from vaultmem.index.catalog_read import files_named
from vaultmem.light import TYPE_CHECKING
from vaultmem.memories.access import Viewer
from vaultmem.notes.dialects import installed
from vaultmem.text.values import lazy, without_editor_lines

if TYPE_CHECKING:
    from vaultmem.search.search import Searcher

DEPTH = 2  # references in a block that is referred to; then they stay, as in blocks that refer to each other
MOST = 100  # references of one text
LONGEST = 400  # characters of a block

_ID = r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"
_REFERENCE = lazy(
    rf"\[(?P<label>[^\[\]\n]+)\]\(\(\({_ID}\)\)\)"
    rf"|\{{\{{embed[ \t]+\(\((?P<embedded>{_ID})\)\)[ \t]*\}}\}}|\(\((?P<id>{_ID})\)\)"
)
_BULLET = lazy(r"^[ \t]*(?:-|#+|\*+)(?:[ \t]+|$)", re.MULTILINE)


def with_referenced_texts(searcher: Searcher, text: str, viewer: Viewer) -> str:
    """The text with the blocks that it refers to, as far as the viewer may see them."""
    hidden = searcher.hidden_from(viewer)

    def block(reference: re.Match[str]) -> str:
        if reference["label"]:
            return reference["label"]
        id_ = reference["embedded"] or reference["id"]
        return _block(searcher, id_.lower(), hidden) or reference[0]

    for _ in range(DEPTH):
        text = _REFERENCE.sub(block, text, count=MOST)
    return text


def _block(searcher: Searcher, id_: str, hidden: Mapping[str, str]) -> str:
    """The own text of the block with an id, in one line; "" where there is none to see."""
    named = (f"{number}:(({id_}))" for number in range(len(installed())))  # see Rulebook
    files = (file for name in named for file in files_named(searcher.catalog, name))
    paths = [path for path, _ in files if path not in hidden]
    for text in searcher.texts.read(paths).values():
        own = re.search(rf"^.*\bid::?[ \t]+{id_}[ \t]*$", text, re.MULTILINE | re.IGNORECASE)
        if own:
            return _text_around(text, *own.span())
    return ""


def _text_around(text: str, start: int, end: int) -> str:
    """The text of the block that has its id between two offsets."""
    bullets = [match.start() for match in _BULLET.finditer(text, 0, end)]
    first = bullets[-1] if bullets else 0
    following = _BULLET.search(text, max(end, start + 1))
    whole = text[first : following.start() if following else len(text)]
    own = _BULLET.sub("", without_editor_lines(whole), count=1)
    line = " ".join(own.split())
    return line if len(line) <= LONGEST else f"{line[:LONGEST]}…"
