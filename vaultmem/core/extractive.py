"""A summary without a model: the sentences of a text that say most, as they stand, in their order."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import islice

from vaultmem.core.importance import salience

CAP = 60_000  # characters that are looked at
MOST = 600  # sentences that are weighed
LONGEST = 600  # characters of a sentence that is still one
_ENDS = re.compile(r"(?<=[.!?…])\s+|(?<=[。！？；])|\n+")
_WORDS = re.compile(r"[^\W\d_]{4,}|[\u3400-\u9fff]{2}")
_ASKED = re.compile(r"[?？]\s*$")
_CHAT = re.compile(
    r"(?:ok(?:ay)?|thanks?|thank you|sure|great|hi|hello|hey|of course|certainly|good (?:morning|evening))\b"
    r"|好的|谢谢|你好",
    re.IGNORECASE,
)


def sentences(texts: Iterable[str]) -> list[str]:
    """All sentences, without what is no sentence: marks, greetings, whole pages of code."""
    whole = "\n".join(texts)[:CAP]
    found = (part.strip(" \t>*-#") for part in _ENDS.split(whole))
    return list(islice((one for one in found if _says_something(one)), MOST))


def _says_something(sentence: str) -> bool:
    return len(sentence) <= LONGEST and bool(_WORDS.search(sentence)) and not _CHAT.match(sentence)


def summary(
    facts: Sequence[str], texts: Iterable[str], most: int, count: Callable[[str], int]
) -> str:
    """What to remember of a text in at most `most` tokens, as far as a whole sentence fits: its facts, the newest
    first, then the sentences of the texts that say most. One line each."""
    kept: list[str] = []
    left = most
    for one in dict.fromkeys(reversed([" ".join(fact.split()) for fact in facts])):
        if one and (size := count(one)) <= left:
            kept.append(one)
            left -= size
    kept.reverse()
    found = sentences(texts)
    chosen: list[int] = []
    for place in _ranked(found):
        size = count(found[place])
        if size <= left and found[place] not in kept:
            chosen.append(place)
            left -= size
    return "\n".join([*kept, *dict.fromkeys(found[place] for place in sorted(chosen))])


def _ranked(found: Sequence[str]) -> list[int]:
    """The places of the sentences, those that say most first: what is salient, and what the others speak of, too."""
    words = [frozenset(word.lower() for word in _WORDS.findall(one)) for one in found]
    often = Counter(word for each in words for word in each)
    total = max(1, len(found))

    def worth(place: int) -> float:
        own = words[place]
        central = sum(often[word] for word in own) / (total * max(4, len(own)))
        asked = 0.3 if _ASKED.search(found[place]) else 0.0
        return salience(found[place]).score + central - asked

    return sorted(range(len(found)), key=lambda place: (-worth(place), place))
