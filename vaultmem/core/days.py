"""Days in questions: "in March 2025", "2025-03-12", "12 March", 三月十二日 as ranges of days."""

from __future__ import annotations

import re

from vaultmem.core.values import value

MONTHS = {
    name: number
    for number, names in enumerate(
        ["january jan", "february feb", "march mar", "april apr", "may", "june jun", "july jul",
         "august aug", "september sep sept", "october oct", "november nov", "december dec"],
        start=1,
    )
    for name in names.split()
}  # fmt: skip


@value
class Span:
    """A day, month or year named in a question; what was not said is None."""

    year: int | None
    month: int | None
    day: int | None


# Patterns are text: re compiles and keeps them when a question first needs them, not at every start.
_NAMES = "|".join(sorted(MONTHS, key=len, reverse=True))
_ISO = r"(?<!\d)(\d{4})-(\d{1,2})(?:-(\d{1,2}))?(?!\d)"
_DAY_MONTH = rf"(?<!\d)(\d{{1,2}})(?:st|nd|rd|th)?(?: of)? ({_NAMES})\b\.?,?(?: (\d{{4}}))?"
_MONTH_DAY = rf"\b({_NAMES})\.? (\d{{1,2}})(?:st|nd|rd|th)?\b(?!\d)(?:,? (\d{{4}}))?"
_MONTH = (
    rf"\b(?:in|of|since|during|last|this|early|late|mid|end of) ({_NAMES})\b(?: (\d{{4}}))?"
    rf"|\b({_NAMES}) (\d{{4}})\b"
)
_HAN_DIGITS = "〇一二三四五六七八九"
_SMALL = rf"\d{{1,2}}|[{_HAN_DIGITS[1:]}十]{{1,3}}"
_FOUR = rf"\d{{4}}|[{_HAN_DIGITS}零]{{4}}"
_HAN = rf"(?:({_FOUR})年)?({_SMALL})月(?:({_SMALL})[日号])?|({_FOUR})年"
_WHEN = r"\bwhen\b|\bwhat (?:day|date|time|year|month)\b|\bhow long ago\b|什么时候|何时|哪天|哪年|几号|几月"
_MAY_NAME_A_DAY = rf"\d|[{_HAN_DIGITS}十][年月]|{'|'.join(sorted({name[:3] for name in MONTHS}))}"


def spans(text: str) -> list[Span]:
    """All days, months and years that a question names (at most eight)."""
    low = text.lower()
    if not re.search(_MAY_NAME_A_DAY, low):
        return []
    found = [Span(int(y), int(m), int(d) if d else None) for y, m, d in re.findall(_ISO, low)]
    found += [Span(_year(y), MONTHS[m], int(d)) for d, m, y in re.findall(_DAY_MONTH, low)]
    found += [Span(_year(y), MONTHS[m], int(d)) for m, d, y in re.findall(_MONTH_DAY, low)]
    if not found:
        found += [
            Span(_year(y1 or y2), MONTHS[m1 or m2], None)
            for m1, y1, m2, y2 in re.findall(_MONTH, low)
        ]
    for year, month, day, alone in re.findall(_HAN, low):
        found.append(Span(_han_number(year or alone), _han_number(month), _han_number(day)))
    return [s for s in found if _possible(s)][:8]


def _year(text: str) -> int | None:
    return int(text) if text else None


def _han_number(text: str) -> int | None:
    """The number of "12", "十二", "二十一" or "二〇二五"."""
    if not text or text.isdecimal():
        return _year(text)
    tens, ten, ones = text.replace("零", "〇").partition("十")
    if not ten:
        return int("".join(str(_HAN_DIGITS.index(digit)) for digit in tens))
    return 10 * (_han_number(tens) or 1) + (_han_number(ones) or 0)


def _possible(span: Span) -> bool:
    return (span.month is None or 1 <= span.month <= 12) and (
        span.day is None or 1 <= span.day <= 31
    )


def asks_when(text: str) -> bool:
    """Whether the answer to this question is likely a date."""
    return bool(re.search(_WHEN, text.lower()))


def day_number(iso: str) -> int:
    """An ISO day as YYYYMMDD, which sorts and ranges like the day itself; 0 for none."""
    digits = iso[:10].replace("-", "")
    return int(digits) if len(digits) == 8 and digits.isdecimal() else 0


def number_range(span: Span) -> tuple[int, int] | None:
    """The YYYYMMDD range of a span with a year."""
    if span.year is None:
        return None
    start = span.year * 10000 + (span.month or 1) * 100 + (span.day or 1)
    end = span.year * 10000 + (span.month or 12) * 100 + (span.day or 31)
    return start, end
