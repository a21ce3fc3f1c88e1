"""Words for days, numbers and names in English, Chinese and Japanese, in any width and script; days in questions."""

from __future__ import annotations

import re

from vaultmem.adapter import DaySpan, TimeWords
from vaultmem.text import times
from vaultmem.text.values import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import date, datetime

    from vaultmem.adapter import Moment
    from vaultmem_languages.when_parts import Reading

# Days in questions: "in March 2025", "2025-03-12", "12 March", 三月十二日 as ranges of days.

MONTHS = {
    name.lower(): number for number, full in enumerate(times.MONTHS, 1) for name in (full, full[:3])
} | {"sept": 9}

# Patterns are texts, which re compiles when a question first needs them.
_NAMES = "|".join(sorted(MONTHS, key=len, reverse=True))
_ISO = r"(?<!\d)(\d{4})-(\d{1,2})(?:-(\d{1,2}))?(?!\d)"
_DAY_MONTH = rf"(?<!\d)(\d{{1,2}})(?:st|nd|rd|th)?(?: of)? ({_NAMES})\b\.?,?(?: (\d{{4}}))?"
_MONTH_DAY = rf"\b({_NAMES})\.? (\d{{1,2}})(?:st|nd|rd|th)?\b(?!\d)(?:,? (\d{{4}}))?"
_MONTH = (
    rf"\b(?:in|of|since|during|last|this|early|late|mid|end of) ({_NAMES})\b(?: (\d{{4}}))?"
    rf"|\b({_NAMES}) (\d{{4}})\b"
)
_YEAR = r"\b(?:in|of|during|im jahre?|(?:early|late|mid)(?: of)?) ((?:19|20)\d\d)\b(?!-)"
_HAN_DIGITS = "〇一二三四五六七八九"
_SMALL = rf"\d{{1,2}}|[{_HAN_DIGITS[1:]}十]{{1,3}}"
_FOUR = rf"\d{{4}}|[{_HAN_DIGITS}零]{{4}}"
_HAN = rf"(?:({_FOUR})年)?({_SMALL})月(?:({_SMALL})[日号])?|({_FOUR})年"
# Between 3 and 9 March, from 30 March to 2 April 2026, March 3-9, 3月3日到9日.
_FROM = r"(?<![\d./:-])\b(?:(?P<between>between |zwischen )|from |vom )?(?:the |dem )?"
_FIRST, _LAST = (rf"(?P<{name}>\d{{1,2}})(?:st|nd|rd|th|\.)?" for name in ("first", "last"))
_TO = r" ?(?(between)(?:and|und)|(?:to|until|till|through|bis(?: zum)?|[-–])) ?(?:the |dem )?"
_GERMAN = {
    "januar": 1, "februar": 2, "märz": 3, "mai": 5, "juni": 6, "juli": 7, "oktober": 10, "dezember": 12,
}  # fmt: skip
_ANY_MONTH = "|".join([_NAMES, *_GERMAN])
_IN_YEAR = r"(?![-\d:])(?:,? (?P<year>\d{4}))?"
_DAYS_TO = (
    rf"{_FROM}{_FIRST}(?:(?: of)? (?P<of>{_ANY_MONTH}))?{_TO}{_LAST}(?: of)? (?P<to>{_ANY_MONTH})\b{_IN_YEAR}",
    rf"{_FROM}(?P<of>{_NAMES}) {_FIRST}{_TO}(?:(?P<to>{_NAMES}) )?{_LAST}{_IN_YEAR}",
    rf"(?:(?P<year>{_FOUR})年)?(?P<of>{_SMALL})月(?P<first>{_SMALL})[日号]?[到至~～-](?:(?P<to>{_SMALL})月)?(?P<last>{_SMALL})[日号]",
)
_WHEN = r"\b(?:when|wann)\b|\bwhat (?:day|date|time|year|month)\b|\bhow long ago\b|什么时候|何时|哪天|哪年|几号|几月"
# The grammar of times is only loaded for a question with one of these.
_RELATIVE = (
    r"\b(?:to(?:day|morrow|night)|yesterday|ago|(?:last|this|next|past|previous) [a-z]|[a-z]+day|weekend|before last"
    r"|(?:vor)?gestern|heute|(?:über)?morgen|(?:vor)?(?:letzt|nächst|dies|vorig|vergangen)e|[a-z]+tag"
    r"|vor [a-zäöü0-9]+ (?:tag|woche|monat|jahr)|\d+(?:st|nd|rd|th)\b|\d+[./]\d+[./]\d\d|\d+\. ?[\da-zä]|weihnacht"
    r"|christmas|new year|heiligabend|silvester|neujahr|(?:jän|jan|feb|mär|mai|jun|jul|okt|dez)[a-zä])"
    r"|[昨今明前后後先来][天日年周週月]|[上下本这這]个?[周週月星礼]|[周週星礼][一二三四五六日天期拜]|曜日?|[天周週月年]前|圣诞|元旦|除夕"
)
LONGEST = 300  # characters of a question; a longer text mentions times, but does not ask for them
_RECENT = (
    r"\b(?:recently|lately|of late|these days|what(?:['’]?s| is) new|neulich|kürzlich|in letzter zeit|gibt es neues)\b"
    r"|最近(?!一次)|近来|近日|这几天"
)
# A message in a chat that tells what its writer did: "Yesterday I bought a bike".
_TELLS = r"\W*(?:(?:to|yester)day|last \w+|on \w+|this \w+|heute|gestern|[今昨]天)?[\s,，]*(?:(?:i|we|ich|wir)\b|我们?)"
_ASKS = r"[?？]|什么|哪|谁|几|怎|吗|多少"
_SINCE, _SINCE_THEN = r"\b(?:since|seit|ab)\s*$|自从?$", r"以[来後]|から"
_SINCE_DATE = rf"\b(?:since|seit) (?:the )?(?:\d{{4}}|(?:\d{{1,2}}\w*\.? (?:of )?)?(?:{_NAMES}))\b"
# "After the trip to Oslo", "the week before my birthday": how far, on which side, and of what.
_BESIDE = (
    r"\b(?:(?:the |am |in der )?(day|week|tag|woche) )?(after|since|before|nach|seit|vor) (?!that\b|then\b)"
    r"(.*?)(?: gemacht| passiert)?[?.!\s]*$"
)
_FAR = {"day": 1, "tag": 1, "week": 7, "woche": 7}
_SIDES = {"before": -1, "vor": -1, "since": 0, "seit": 0}
_ON = r"\b(?:on|for|by|before|after|until|till|am|bis|vor|nach|an|of)\s*(?:the )?$"
_OVER = r"\b(?:over|during|around|über|um)\s*(?:the )?$"
# "The last ten days" are those since ten days ago.
_LAST_FEW = (
    r"\b(?:(?:last|past|previous) (\w+ (?:day|week|month|year)s)"
    r"|(?:letzten|vergangenen) (\w+ (?:tage|woche|monate|jahre)n))\b"
)
# A weekend has two days, and a week or more ago is roughly then.
_WEEKEND, _ROUGHLY = "weekend|wochenende|[周週]末", {"week|woche|[周週]": 3, "month|monat|月": 10}
_SEASONS = (
    "spring|frühling|frühjahr|春天 summer|sommer|夏天 autumn|fall|herbst|秋天 winter|冬天".split()
)
_SEASON = (
    r"(?:\b(?:(last|next|this|letzten|nächsten|diesen)|in|during|over|im) (?:the |den )?"
    r"|(去年|明年)|(?=[春夏秋冬]|\b\w+ (?:of )?[1-9]\d{3}))"
    rf"({'|'.join(_SEASONS)})(?![a-z])(?: (?:of )?([1-9]\d{{3}}))?"
)
_LATEST = (
    r"\b(?:when|where) did \w+ (?:\w+ )?last\b|\blast time\b|\bmost recent|\bthe latest\b|\bwann\b.*\bzuletzt\b"
    r"|\bletzte[sn]? mal\b|上次|上一次|最近一次|最后一次"
)
_FORMER = (
    r"\b(?:previous(?:ly)?|former(?:ly)?|originally|at first|used to|back then|at that time|in the past|damals"
    r"|(?:früher|ehemalig|ursprünglich|(?:mein|unser)\w* (?:alte|vorherig))\w*"
    r"|(?:my|our|his|her|their|user['’]?s?) (?:old|ex))\b"
    r"|\b(?:did|was|were|had)\b.{0,100}\b(?:before(?=\W*$| (?:that|then)\b| (?-i:[A-Z]))"
    r"|(?:my|our|his|her|their|['’]s) last\b)"
    r"|^(?:我们?|[他她])?(?:以前|之前|从前)|(?:以前|之前)的|前任|曾经|当时|那时|上一[份个任]|原来的|最初|起初"
)
_SIGNS_OF_DAYS = ("年", "月", *sorted({name[:3] for name in MONTHS}))


def days(question: str, now: float | None = None) -> list[DaySpan]:
    """See vaultmem.adapter.Language; at most eight."""
    result: list[DaySpan] = []

    def without(match: re.Match[str]) -> str:
        result.extend(_between(match))
        return " " * len(match[0])

    for several in _DAYS_TO if any(map(str.isdecimal, question)) or "月" in question else ():
        question = re.sub(several, without, question, flags=re.IGNORECASE)
    low = question.lower()
    result += _named(low)
    if now is not None and _may_ask(low):
        from datetime import datetime  # few questions need it

        here = datetime.fromtimestamp(now).astimezone()
        if result and re.search(_SINCE_DATE, low):
            result[0] = _since(result[0], here)
        result += [_season(match, here) for match in re.finditer(_SEASON, low)]
        if re.search(f"{_RECENT}|{_RELATIVE}", low):
            result += _relative_days(question, here)
    return list({span[:2]: span for span in reversed(result)}.values())[:-9:-1]


def _may_ask(low: str) -> bool:
    """Whether a text may ask for a time: it is short, and does not tell what its writer did."""
    return len(low) <= LONGEST and not (re.match(_TELLS, low) and not re.search(_ASKS, low))


def _named(low: str) -> Iterator[DaySpan]:
    """Days, months and years with their names or as figures."""
    if not any(map(str.isdecimal, low)) and not any(sign in low for sign in _SIGNS_OF_DAYS):
        return
    wanted = [(*match.groups(), match) for match in re.finditer(_ISO, low)]
    wanted += [(m[3], MONTHS[m[2]], m[1], m) for m in re.finditer(_DAY_MONTH, low)]
    wanted += [(m[3], MONTHS[m[1]], m[2], m) for m in re.finditer(_MONTH_DAY, low)]
    if not wanted:
        wanted += [(m[2] or m[4], MONTHS[m[1] or m[3]], 0, m) for m in re.finditer(_MONTH, low)]
    if not wanted:
        wanted += [(m[1], 0, 0, m) for m in re.finditer(_YEAR, low)]
    wanted += [(*map(han_number, (m[1] or m[4], m[2], m[3])), m) for m in re.finditer(_HAN, low)]
    for *parts, match in wanted:
        year, month, day = (int(str(part or 0)) for part in parts)
        if month in range(13) and day in range(32) and (year or month):
            first, last = 100 * (month or 1) + (day or 1), 100 * (month or 12) + (day or 31)
            start = 10_000 * year
            yield DaySpan(start + first, start + last, match[0].rstrip(",.") if day else "")


def _between(match: re.Match[str]) -> Iterator[DaySpan]:
    """The days from one to another; without a year, those across New Year are two spans."""
    of, to = match["of"] or match["to"], match["to"] or match["of"]
    months = [(MONTHS | _GERMAN).get(name.lower()) or han_number(name) for name in (of, to)]
    numbers = han_number(match["first"]), han_number(match["last"])
    if not (all(0 < month < 13 for month in months) and all(0 < day < 32 for day in numbers)):
        return
    first, last = (100 * month + day for month, day in zip(months, numbers, strict=True))
    year = 10_000 * han_number(match["year"])
    if first <= last or year:
        yield DaySpan(year - 10_000 * (first > last) + first, year + last)
    else:
        yield from (DaySpan(first, 1231), DaySpan(101, last))


def _since(span: DaySpan, now: datetime) -> DaySpan:
    """The days from a named one to today; without a year, from the last of that name."""
    today = int(f"{now:%Y%m%d}")
    first = span.first if span.has_year else today // 10_000 * 10_000 + span.first
    return DaySpan(first if first <= today else first - 10_000, today, span.words)


def _season(match: re.Match[str], today: date) -> DaySpan:
    """A season of a year; without one, the latest that has begun. "Last" is one that has ended."""
    month = 3 * next(n for n, names in enumerate(_SEASONS, 1) if match[3] in names)
    year = int(match[4] or today.year - (today.month < month))
    is_on = (today.month - month) % 12 < 3
    if match[1] and not match[4]:
        is_last, is_next = match[1] in ("last", "letzten"), match[1] in ("next", "nächsten")
        year += -is_on if is_last else is_next or (today.month < month and not is_on)
    elif match[2]:
        year = today.year + (1 if match[2] == "明年" else -1)
    start = 10_000 * year
    last = 10_000 + 231 if month == 12 else 100 * month + 231
    return DaySpan(start + 100 * month + 1, start + last, match[0])


def _relative_days(question: str, now: datetime) -> Iterator[DaySpan]:
    """Days that the grammar of times reads, mostly relative to today."""
    from datetime import timedelta

    from vaultmem_languages import when  # which few questions need

    if recent := re.search(_RECENT, question.lower()):
        yield _from_to(now - timedelta(days=14), now, recent[0])
        return
    few = re.search(_LAST_FEW, question, re.IGNORECASE)
    if few:
        since = f"since {few[1]} ago" if few[1] else f"seit vor {few[2]}"
        question = question.replace(few[0], since)
    for reading in when.readings(question, now):
        sense, moment = reading.sense, when.moment_of(reading, now)
        is_date = sense.month is not None and sense.number is not None
        if moment and sense.dated and not sense.repeat and (is_date or not sense.weak):
            for span in _meant(question, reading, moment, now):
                yield span._replace(words=few[0]) if few and span.words else span


def _meant(question: str, reading: Reading, moment: Moment, now: datetime) -> Iterator[DaySpan]:
    """A weekday, a holiday and a day of the month may be the last one or the next."""
    from datetime import timedelta

    from vaultmem_languages.when_parts import shift_date

    words, before = question[reading.start : reading.end], question[: reading.start].lower()
    sense, after, day = reading.sense, question[reading.end :], moment.when.date()
    more = timedelta(0 if sense.through is None else (sense.through - day.weekday()) % 7)
    is_holiday = sense.month is not None and not re.search(r"\d", words)
    unit = "week" if sense.weekday is not None else "year" if sense.month is not None else "month"
    if re.search(_SINCE, before) or re.match(_SINCE_THEN, after):
        first = day if day <= now.date() else shift_date(day, -1, unit) or day
        yield _from_to(first, now, words if sense.day else "")
    elif moment.grain in ("month", "year"):
        start = 10_000 * day.year if sense.day else 0
        begin, end = (day.month, day.month) if moment.grain == "month" else (1, 12)
        named = words if sense.relative else ""
        yield DaySpan(start + 100 * begin + 1, start + 100 * end + 31, named)
    elif sense.day and not more:
        yield from _near(day, moment.grain, words)
    elif sense.day:
        yield _from_to(day, day + more, words)
    elif is_holiday and (year := re.match(r",? ([1-9]\d{3})\b", after)):
        yield _from_to(one := day.replace(year=int(year[1])), one)
    elif sense.weekday is not None and not re.search(_ON, before) and re.match(r" \w", after):
        return  # Sunday roast
    elif is_holiday or sense.month is None:
        slack = timedelta(days=1 if re.search(_OVER, before) else 0)
        for one in filter(None, (shift_date(day, -1, unit), day)):
            yield _from_to(one - slack, one + slack + more)
    else:
        number = 100 * day.month + day.day
        yield DaySpan(number, number, words)


def _near(day: date, grain: str, words: str) -> Iterator[DaySpan]:
    """A day, a weekend or a week, and the days around it that may be meant as well."""
    from datetime import timedelta

    low = words.lower()
    is_weekend = re.search(_WEEKEND, low)
    more = 6 - day.weekday() if is_weekend else 6 if grain == "week" else 0
    yield _from_to(day, day + timedelta(days=more), words)
    if not more and re.search("ago|vor|前", low):
        for slack in (
            timedelta(days=most) for unit, most in _ROUGHLY.items() if re.search(unit, low)
        ):
            yield _from_to(day - slack, day + slack, words)


def _from_to(first: date, last: date, words: str = "") -> DaySpan:
    return DaySpan(int(f"{first:%Y%m%d}"), int(f"{last:%Y%m%d}"), words)


def asks_when(question: str) -> bool:
    """Whether the answer to a question is probably a date."""
    return bool(re.search(_WHEN, question.lower()))


def asks_latest(question: str) -> bool:
    """Whether the answer to a question is the latest of several."""
    return _may_ask(low := question.lower()) and bool(re.search(_LATEST, low))


def beside(question: str) -> tuple[str, str, int] | None:
    """See vaultmem.adapter.Language."""
    match = re.search(_BESIDE, question, re.IGNORECASE) if _may_ask(question.lower()) else None
    if not match:
        return None
    far = _FAR.get((match[1] or "").lower(), 8)
    return question[: match.start()], match[3], far * _SIDES.get(match[2].lower(), 1)


def asks_before(question: str) -> bool:
    """Whether a question is about what was so before."""
    return _may_ask(question.lower()) and bool(re.search(_FORMER, question, re.IGNORECASE))


# Words about days or dates, and patterns of adjacent words. A question about a time searches for them, so that blocks
# need no preparation.

_TIMES = TimeWords(
    (
        "today yesterday tomorrow tonight ago weekend fortnight monday tuesday wednesday thursday friday saturday"
        " sunday january february march april june july august september october november december"
        " jan feb mar apr jun jul aug sep sept oct nov dec"
    ),
    (
        ("[12][90][0-9]{2}",), ("last|next|this", "week|month|year|night"),
        ("[0-9]{1,2}|[一二三四五六七八九十]", "[月日号]"), ("[昨今明后]", "天"), ("[上下本这]", "周"),
        ("[去今明]", "年"), ("周", "[一二三四五六日]"), ("星", "期"),
    ),
    tuple(" ".join(name for name in MONTHS if MONTHS[name] == number) for number in range(1, 13)),
)  # fmt: skip


def time_words() -> TimeWords:
    """The words about days or dates."""
    return _TIMES


# Normalizing widths and scripts, English numbers and names.

_TRADITIONAL = "後週點禮兩個鐘號這時過開間內節聖誕國慶勞動兒記繳還給買會來應須該請約"
_SIMPLIFIED = "后周点礼两个钟号这时过开间内节圣诞国庆劳动儿记缴还给买会来应须该请约"
_TABLE: dict[int, str | int | None] = {
    **{0xFF01 + step: 0x21 + step for step in range(94)},
    **dict(zip(map(ord, _TRADITIONAL), _SIMPLIFIED, strict=True)),
    **dict.fromkeys(map(ord, "\u00a0\u2007\u2009\u202f\u3000\t"), " "),
    **dict.fromkeys(map(ord, "\u2018\u2019\u02bc"), "'"),
    **dict.fromkeys(map(ord, "\u2010\u2011\u2012\u2013\u2014\uff0d\uff5e\u301c"), "-"),
    **{ord("A") + step: ord("a") + step for step in range(26)},
    **{0xFF21 + step: ord("a") + step for step in range(26)},  # wide A to Z
}

_UNITS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
    " seventeen eighteen nineteen"
).split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_NUMBERS = {word: number for number, word in enumerate(_UNITS)}
_NUMBERS |= {word: 10 * number for number, word in enumerate(_TENS, 2)}
_NUMBERS |= {"a": 1, "an": 1, "the": 1, "a couple of": 2, "a couple": 2}
SPELLED = "|".join(sorted(_UNITS[1:] + _TENS, key=len, reverse=True))
NUMBER = rf"(?:\d{{1,3}}(?:\.\d)?|a\scouple(?:\sof)?|{SPELLED}|an?)"
END = r"(?![a-z0-9_])"

MONTH_NAME = (
    "(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    rf"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?){END}\.?"
)

ORDINAL_WORDS = (
    "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh",
    "twelfth", "thirteenth", "fourteenth", "fifteenth",
)  # fmt: skip

_JAPANESE = frozenset("毎曜来先今再午の朝夜晩あきヶ箇かとや夕間间明")


def normalize(text: str) -> str:
    """The same text, character for character: half width, lower case, simplified Chinese, and Japanese time words in
    the Chinese ones of the same length."""
    text = text.translate(_TABLE)
    if text.isascii() or _JAPANESE.isdisjoint(text):
        return text
    from vaultmem_languages import when_translated  # which a search does not need

    return when_translated.in_chinese(text)


def han_number(text: str | None) -> int:
    """The number of 12, 十二, 二十一, 两, 二〇二六; 0 for none."""
    if not text:
        return 0
    if text.isdecimal():
        return int(text)
    tens, ten, ones = text.replace("〇", "零").replace("两", "二").partition("十")
    if ten:
        return 10 * (han_number(tens) or 1) + han_number(ones)
    values = ["零一二三四五六七八九".find(digit) for digit in tens]
    return int("".join(map(str, values))) if min(values) >= 0 else 0


def amount(word: str) -> float:
    """The number of "3", "1.5", "three", "twenty-five", "an"."""
    words = " ".join(word.split())
    parts = [words] if words in _NUMBERS else re.split("[ -]", words)
    return sum(float(_NUMBERS.get(part, part)) for part in parts)


def figures(word: str) -> str:
    """A number word in figures; any other word unchanged."""
    return f"{amount(word.lower()):g}" if word.isascii() else str(han_number(word))


def ordinal(word: str) -> int:
    """The number of "5th", "fifth", "5", "last"."""
    if word == "last":
        return times.LAST
    if word in ORDINAL_WORDS:
        return ORDINAL_WORDS.index(word) + 1
    return int(re.sub(r"\D", "", word))
