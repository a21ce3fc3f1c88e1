"""Words of a note in a line of ours: short, in one line, without anything that steers a terminal or an editor."""

from __future__ import annotations

import unicodedata

LONGEST = 120  # characters


def quoted(text: str, longest: int = LONGEST) -> str:
    """The text as it may be quoted."""
    shown = "".join(
        " " if each.isspace() else each for each in text[: 8 * longest] if _is_shown(each)
    )
    line = " ".join(shown.split())
    return line if len(line) <= longest else line[: longest - 1].rstrip() + "…"


def _is_shown(character: str) -> bool:
    """Blanks, and no control characters, marks of direction or halves of characters; joiners hold emoji together."""
    if character.isspace() or character == "\u200d":
        return True
    return unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Co", "Cn")
