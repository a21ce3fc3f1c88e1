"""Unlinked mentions: where a text has a note's name or alias without linking to it.

R-MENTION-1 to 4 for Obsidian, R-LS-20 for Logseq. Code counts as text; links and what they show do
not. Which notes to look at (not the note itself, no excluded ones) is the caller's to decide.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

# Scripts without blanks between words: a name is found anywhere in them.
_UNSPACED = (
    r"\u1100-\u11ff\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u3130-\u318f\u31a0-\u31bf\u31f0-\u31ff"
    r"\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
_LETTER = rf"[^\W_{_UNSPACED}]"  # a letter or digit of a script that puts blanks between words
_EDGE = rf"(?:(?<!{_LETTER})|(?!{_LETTER}))"  # of a word, or in a script without blanks
_LONGEST_NAME = 250
_DEEPEST = 20  # groups in groups: a compiled pattern is built by recursion

Span = tuple[int, int]


def obsidian_names(names: Iterable[str]) -> re.Pattern[str] | None:
    """A pattern for these names: any case, whole words where words are spaced; None for none."""
    return _either(names, _EDGE, _EDGE)


def logseq_names(names: Iterable[str]) -> re.Pattern[str] | None:
    """The same as Logseq does it: no Latin letter or digit beside, no "[" or "#" before."""
    return _either(names, r"(?<![\[#0-9a-zA-Z])", r"(?![0-9a-zA-Z])")


def mentions(
    pattern: re.Pattern[str], text: str, links: Sequence[Span], start: int = 0
) -> Iterator[Span]:
    """The offsets of all mentions from `start` on that touch none of the links.

    `links` are the offsets of whole links; those of property links (-1) are left out.
    """
    spans = sorted(span for span in links if span[0] >= 0)
    begins = [begin for begin, _ in spans]
    furthest = _running_ends(spans)
    for match in pattern.finditer(text, start):
        before = bisect_right(begins, match.start())
        if before and furthest[before - 1] > match.start():
            continue
        after = bisect_left(begins, match.start())
        if after < len(begins) and begins[after] < match.end():
            continue
        yield match.span()


def _running_ends(spans: Iterable[Span]) -> list[int]:
    """How far the links up to each one reach: one may stand inside another."""
    ends: list[int] = []
    for _, end in spans:
        ends.append(max(end, ends[-1]) if ends else end)
    return ends


def _distinct(names: Iterable[str]) -> list[str]:
    """The names that can be looked for, in both Unicode forms, longest first, once without case."""
    wanted = [name.strip() for name in names]
    wanted += [unicodedata.normalize(form, name) for name in wanted for form in ("NFC", "NFD")]
    first = {name.lower(): name for name in wanted if 0 < len(name) <= _LONGEST_NAME}
    return sorted(first.values(), key=lambda name: (-len(name), name))


def _either(names: Iterable[str], before: str, after: str) -> re.Pattern[str] | None:
    """A pattern for names between two edges; the longest wins."""
    tree = _tree([_lower(name) for name in _distinct(names)])
    return re.compile(f"{before}(?:{tree}){after}", re.IGNORECASE) if tree else None


def _tree(ends: list[str], depth: int = _DEEPEST) -> str:
    """A pattern for the ends of names, in which a beginning that several share stands once: a text is compared with
    thousands of names about as fast as with one."""
    by_letter: dict[str, list[str]] = {}
    for end in ends:
        by_letter.setdefault(end[:1] if depth else end, []).append(end)
    branches = []
    for first in sorted(by_letter, key=lambda key: (-len(key), key)):  # where nothing follows, last
        group = by_letter[first]
        start = _both_begin(min(group), max(group))
        rest = [end[len(start) :] for end in group]
        branches.append(re.escape(start) + (f"(?:{_tree(rest, depth - 1)})" if rest[1:] else ""))
    return "|".join(branches)


def _both_begin(one: str, other: str) -> str:
    """How both begin."""
    pairs = enumerate(zip(one, other, strict=False))
    return one[: next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))]


def _lower(name: str) -> str:
    """In lower case, letter by letter."""
    return "".join(low if len(low := letter.lower()) == 1 else letter for letter in name)


MENTION_PATTERNS = {"words": obsidian_names, "latin": logseq_names}  # by Rules.mention_style
