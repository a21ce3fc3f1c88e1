"""References to blocks of an outline, replaced by their label or the block's text, as in its editor.

A block's id means nothing to a reader. If its note is hidden from the viewer or gone, the id stays.
"""

from __future__ import annotations

import re

from vaultmem.index.catalog_read import files_named
from vaultmem.light import TYPE_CHECKING
from vaultmem.memories.access import Viewer
from vaultmem.notes.dialects import installed
from vaultmem.text.values import BLOCK_ID, lazy, says_private, without_editor_lines

if TYPE_CHECKING:
    from vaultmem.search.search import Searcher

DEPTH = 2  # nested references; deeper ones stay, as in blocks that refer to each other
MOST = 100  # blocks referenced by one text
LONGEST = 400  # characters of a block

_REFERENCE = lazy(
    rf"\[(?P<label>[^\[\]\n]+)\]\(\(\({BLOCK_ID}\)\)\)"
    rf"|\{{\{{embed[ \t]+\(\((?P<embedded>{BLOCK_ID})\)\)[ \t]*\}}\}}|\(\((?P<id>{BLOCK_ID})\)\)"
)
_BULLET = lazy(r"^[ \t]*(?:-|#+|\*+)(?:[ \t]+|$)", re.MULTILINE)


def with_referenced_texts(searcher: Searcher, text: str, viewer: Viewer) -> str:
    """The text with the blocks that it refers to, as far as the viewer may see them."""
    blocks = _Blocks(searcher, viewer)
    for _ in range(DEPTH):
        text = _REFERENCE.sub(blocks.shown, text)
    return text


class _Blocks:
    """The blocks that one text refers to; each, and each page, is looked up once."""

    def __init__(self, searcher: Searcher, viewer: Viewer) -> None:
        self._searcher, self._viewer = searcher, viewer
        self._hidden = searcher.hidden_from(viewer)
        self._pages: dict[str, tuple[str, str]] = {}  # their texts, also in lower case
        self._known: dict[str, str] = {}

    def shown(self, reference: re.Match[str]) -> str:
        """The text that replaces a reference."""
        if reference["label"]:
            return reference["label"]
        id_ = (reference["embedded"] or reference["id"]).lower()
        if id_ not in self._known and len(self._known) < MOST:
            self._known[id_] = self._block(id_)
        return self._known.get(id_) or reference[0]

    def _block(self, id_: str) -> str:
        """The text of the block with an id, on one line; "" if the viewer may see none."""
        named = (f"{number}:(({id_}))" for number in range(len(installed())))  # see Rulebook
        for path in (
            path for name in named for path, _ in files_named(self._searcher.catalog, name)
        ):
            text, low = self._page(path)
            at = low.find(id_)
            while at >= 0:
                start, end = _line_around(text, at)
                if re.fullmatch(rf".*\bid::?[ \t]+{id_}[ \t]*", text[start:end], re.IGNORECASE):
                    return _text_around(text, start, end)
                at = low.find(id_, end)
        return ""

    def _page(self, path: str) -> tuple[str, str]:
        if path not in self._pages:
            text = "" if path in self._hidden else self._searcher.texts.read([path])[path]
            if self._viewer.name and says_private(text):  # perhaps only since the last sync
                text = ""
            low = text.lower()
            self._pages[path] = text, low if len(low) == len(text) else text
        return self._pages[path]


def _line_around(text: str, at: int) -> tuple[int, int]:
    end = text.find("\n", at)
    return text.rfind("\n", 0, at) + 1, len(text) if end < 0 else end


def _text_around(text: str, start: int, end: int) -> str:
    """The text of the block whose id line is between two offsets."""
    first = start
    while first and not _BULLET.match(text, first):
        first = text.rfind("\n", 0, first - 1) + 1
    following = _BULLET.search(text, max(end, start + 1))
    whole = text[first : following.start() if following else len(text)]
    own_text = _BULLET.sub("", without_editor_lines(whole), count=1)
    line = " ".join(own_text.split())
    return line if len(line) <= LONGEST else f"{line[:LONGEST]}…"
