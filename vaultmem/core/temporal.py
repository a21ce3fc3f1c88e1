"""Whether a text speaks of days or dates. Every block is asked when it is indexed, so this is quick."""

from __future__ import annotations

import re

_TIME_WORDS = frozenset(
    """today yesterday tomorrow tonight ago monday tuesday wednesday thursday friday saturday sunday
    january february march april june july august september october november december
    jan feb mar apr jun jul aug sep sept oct nov dec weekend fortnight""".split()
)
_STARTS = ("day", "ago", "tomo", "toni", "week", "fort", "jan", "feb", "mar", "apr", "jun", "jul", "aug",
           "sep", "oct", "nov", "dec")  # fmt: skip
_YEAR = re.compile(r"[12][90]\d\d(?!\d)")
_NEAR_SPAN = re.compile(r"(?:last|next|this) (?:week|month|year|night)")
_HAN_TIMES = re.compile(
    r"[\d一二三四五六七八九十][月日号]|[昨今明后]天|[上下本这]周|[去今明]年|周[一二三四五六日]|星期"
)
_SPANS = frozenset(("week", "month", "year", "night"))
_SPACED = str.maketrans(dict.fromkeys(".,;:!?()[]*_\"'", " "))


def is_temporal(text: str) -> bool:
    """Whether a block speaks of days or dates."""
    low = text.lower()
    words = low.split()
    if not _TIME_WORDS.isdisjoint(words) or _YEAR.search(low):
        return True
    beside_a_mark = any(start in low for start in _STARTS)  # "Friday," or "(March"
    if beside_a_mark and not _TIME_WORDS.isdisjoint(low.translate(_SPACED).split()):
        return True
    if any(span in low for span in _SPANS) and _NEAR_SPAN.search(low):
        return True
    return not low.isascii() and bool(_HAN_TIMES.search(low))
