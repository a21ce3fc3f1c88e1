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
_ASKED = re.compile(
    r"[?？][\s\"'”’」』)）]*$|[吗呢][。！!\s]*$"
    r"|^(?:where|what|who|whom|whose|when|why|how|which)(?:['’]s|\s+(?:do|does|did|is|are|was|were|am|can|could|should|"
    r"would|will|have|has))\s"
    r"|^(?:do|does|did|is|are|was|were|am|can|could|should|would|will|have|has)\s+(?:you|i|we|it|there|they|he|she)\s",
    re.IGNORECASE,
)
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


def sentence(
    facts: Sequence[str], texts: Iterable[str], most: int, count: Callable[[str], int]
) -> str:
    """The one sentence of at most `most` tokens that says most: a fact if there is one that fits, of those that say
    alike the newest, else a sentence of the texts. A question says nothing."""
    for found in (sentences(" ".join(fact.split()) for fact in reversed(facts)), sentences(texts)):
        told = [one for one in found if not _ASKED.search(one)]
        for place in _ranked(told):
            if count(told[place]) <= most:
                return told[place]
    return ""


def summary(
    facts: Sequence[str], texts: Iterable[str], most: int, count: Callable[[str], int]
) -> str:
    """What to remember of a text in at most `most` tokens, as far as a whole sentence fits: its facts, the newest
    first, then the sentences of the texts that say most. One line each. What was asked is told only where there is
    nothing else."""
    kept: list[str] = []
    left = most
    for one in dict.fromkeys(reversed([" ".join(fact.split()) for fact in facts])):
        if one and (size := count(one)) <= left:
            kept.append(one)
            left -= size
    kept.reverse()
    found = _told(sentences(texts), facts)
    chosen: list[int] = []
    for place in _ranked(found):
        size = count(found[place])
        if size <= left and found[place] not in kept:
            chosen.append(place)
            left -= size
    return "\n".join([*kept, *dict.fromkeys(found[place] for place in sorted(chosen))])


def _told(found: list[str], facts: Sequence[str]) -> list[str]:
    told = [one for one in found if not _ASKED.search(one)]
    return told if told or facts else found


def _ranked(found: Sequence[str]) -> list[int]:
    """The places of the sentences, those that say most first: what is salient, and what the others speak of, too."""
    words = [frozenset(word.lower() for word in _WORDS.findall(one)) for one in found]
    often = Counter(word for each in words for word in each)
    total = max(1, len(found))

    def worth(place: int) -> float:
        own = words[place]
        central = sum(often[word] for word in own) / (total * max(4, len(own)))
        return salience(found[place]).score + central

    return sorted(range(len(found)), key=lambda place: (-worth(place), place))
