"""What two texts may not differ in if one is to stand for both: numbers, names, days, denials."""

from __future__ import annotations

import re
from typing import NamedTuple

CAP = 20_000  # characters that are looked at
_HAN = r"\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_NUMBER = re.compile(r"\d+(?:[.,:/-]\d+)*")
_WORD = re.compile(rf"[^\W\d_{_HAN}](?:[^\W{_HAN}]|['’-](?=[^\W\d_{_HAN}]))*")
_HAN_SIGN = re.compile(rf"[{_HAN}]")
_NO = re.compile(r"(?:no|not|never|none|neither|nor|without|cannot)|.*n['’]t", re.IGNORECASE)
_HAN_NO = re.compile("[不没沒别無无非勿未]")
# Often capital at the beginning of a sentence, and no names then.
OPENERS = frozenset(
    "a an the this that these those it its i i'm i've i'd we we're you he she they my our your his her their"
    " in on at for from to with by as if when while after before and but or so then there here also please"
    " use used uses do does is are was were has have had can could should would must will may no not never".split()
)
_DAYS = frozenset("today tomorrow yesterday tonight morning afternoon evening night noon".split())
_PARTICLES = frozenset("的了是在也很就都和与及着过地得吧呢啊吗这那个一")


class Particulars(NamedTuple):
    """What stands in one text. Words are folded."""

    numbers: frozenset[str]
    names: frozenset[str]  # words with a capital or a digit in them, and days
    words: frozenset[str]
    denials: int
    signs: frozenset[
        str
    ]  # Chinese and Japanese characters that carry meaning: each may be part of a name


def particulars(text: str) -> Particulars:
    """Read them out of a text."""
    text = text[:CAP]
    words = _WORD.findall(text)
    names = {
        word.casefold() for word in words if word != word.lower() or any(map(str.isdigit, word))
    }
    folded = {word.casefold() for word in words}
    denials = sum(1 for word in words if _NO.fullmatch(word)) + len(_HAN_NO.findall(text))
    return Particulars(
        frozenset(_NUMBER.findall(text)),
        frozenset(names - OPENERS | folded & _DAYS),
        frozenset(folded),
        denials,
        frozenset(_HAN_SIGN.findall(text)) - _PARTICLES,
    )


def is_covered(one: Particulars, other: Particulars) -> bool:
    """Whether the other text has all that this one has."""
    return (
        one.numbers <= other.numbers
        and one.names <= other.words
        and one.denials <= other.denials
        and one.signs <= other.signs
    )
