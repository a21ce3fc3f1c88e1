"""Values of facts, folded so that they compare: dates, numbers, articles, and pairs of words that exclude each other.

The doubt is always in favour of "they may both be true": a value in another script, a date that is only
half given, or a longer wording of the same value never counts as a different one.
"""

from __future__ import annotations

import re
import unicodedata

_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
_MONTH_NAMES = (
    r"jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?"
)
_DAY_FIRST = re.compile(rf"\b(\d{{1,2}})(?:st|nd|rd|th)?(?: of)? ({_MONTH_NAMES})\b\.?")
_MONTH_FIRST = re.compile(rf"\b({_MONTH_NAMES})\b\.? (?:the )?(\d{{1,2}})(?:st|nd|rd|th)?(?![\d:])")
_ISO = re.compile(r"(?<!\d)(\d{4})[-/.年](\d{1,2})[-/.月](\d{1,2})[日号]?(?!\d)")
_HAN_DAY = re.compile(r"([\d一二三四五六七八九十]{1,3})月([\d一二三四五六七八九十]{1,3})[日号]?")
_DAY_TOKENS = re.compile(r"m\d\d d\d\d")
_HAN_DIGITS = {digit: at for at, digit in enumerate("零一二三四五六七八九")}
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_ARTICLES = re.compile(r"^(?:the|an?|my|our|your|some|any) +")
_AROUND = " \t.,;:!?\"'`“”‘’«»()[]{}*_。，；：！？、《》「」"
_HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]")
_LATIN = re.compile(r"[a-z]")
_TOKEN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]+|[^\s\u3400-\u4dbf\u4e00-\u9fff,]+")

_VERSIONED = re.compile(r"^(\S.*?)[ -]?(?:v(?:ersion )?(\d+(?:\.\d+)*)|(?<=[ -])(\d+(?:\.\d+)+))$")

_PAIRS = (
    "light dark", "bright dark", "tabs spaces", "short long", "brief detailed", "concise verbose", "concise detailed",
    "short detailed", "brief long", "on off", "enabled disabled", "true false", "yes no", "metric imperial",
    "12-hour 24-hour", "formal informal", "formal casual", "window aisle", "british american", "public private",
    "single-quoted double-quoted", "single double", "morning evening", "mornings evenings", "quiet loud", "hot cold",
    "sync async", "vertical horizontal", "left right", "early late", "snake_case camelcase", "merge rebase",
    "required optional", "open closed", "online offline", "paper digital", "celsius fahrenheit", "allowed forbidden",
    "深色 浅色", "暗色 亮色", "深色 亮色", "暗色 浅色", "简短 详细", "简洁 详细", "简短 冗长", "空格 制表符",
    "空格 tab", "早上 晚上", "早晨 晚上", "开启 关闭", "启用 禁用", "打开 关闭", "公开 私有",
    "正式 随意", "靠窗 靠过道",
    "中文 英文", "线上 线下", "必填 可选", "允许 禁止", "同步 异步", "甜 咸", "简体 繁体", "单引号 双引号",
)  # fmt: skip
_OPPOSITE: dict[str, set[str]] = {}
for _one, _other in (pair.split() for pair in _PAIRS):
    _OPPOSITE.setdefault(_one, set()).add(_other)
    _OPPOSITE.setdefault(_other, set()).add(_one)
_HAN_OPPOSITES = [word for word in _OPPOSITE if _HAN.match(word)]


def fold(text: str) -> str:
    """One spelling of a value: no case, no article, no punctuation around it, days as `m05 d03`."""
    plain = " ".join(unicodedata.normalize("NFKC", text).casefold().replace("’", "'").split())
    plain = _ARTICLES.sub("", plain.strip(_AROUND)).strip(_AROUND)
    if not any(letter.isdigit() for letter in plain) and "月" not in plain:
        return plain
    plain = _THOUSANDS.sub("", plain)
    plain = _ISO.sub(lambda m: f"{m[1]} {_day(m[2], m[3])}", plain)
    plain = _HAN_DAY.sub(lambda m: _day(m[1], m[2]), plain)
    plain = _DAY_FIRST.sub(lambda m: _day(m[2], m[1]), plain)
    return _MONTH_FIRST.sub(lambda m: _day(m[1], m[2]), plain)


def _day(month: str, day: str) -> str:
    return f"m{han_number(month):02d} d{han_number(day):02d}"


def han_number(text: str) -> int:
    """The number of "五", "十五" or "15"; 0 where it is none."""
    if text[:3] in _MONTHS:
        return _MONTHS.index(text[:3]) + 1
    if text.isdecimal():
        return int(text)
    tens, ten, ones = text.partition("十")
    if not ten:
        return _HAN_DIGITS.get(text, 0)
    return 10 * _HAN_DIGITS.get(tens or "一", 0) + _HAN_DIGITS.get(ones, 0)


def is_day(value: str) -> bool:
    """Whether a folded value names a day of the year."""
    return _DAY_TOKENS.search(value) is not None


def differ(one: str, other: str) -> bool:
    """Whether two folded values cannot be the same thing said in other words."""
    if one == other or not one or not other or _other_script(one, other):
        return False
    if is_day(one) != is_day(other):
        return False  # "next week" and "3 May" may be the same day
    some, more = sorted((set(_TOKEN.findall(one)), set(_TOKEN.findall(other))), key=len)
    if some <= more:
        return False
    short, long = sorted((one.replace(" ", ""), other.replace(" ", "")), key=len)
    return short not in long or (short + long).isdecimal()


def versioned(value: str) -> tuple[str, str] | None:
    """Name and version of a folded value such as "python 3.11"; None where it ends in no version."""
    found = _VERSIONED.match(value)
    return (found[1], found[2] or found[3]) if found else None


def rivals(one: str, other: str) -> bool:
    """Whether two folded values are versions of one thing that exclude each other: 3.11.4 is still 3.11."""
    mine, theirs = versioned(one), versioned(other)
    if mine is None or theirs is None or mine[0] != theirs[0]:
        return False
    pairs = zip(mine[1].split("."), theirs[1].split("."), strict=False)
    return any(a != b for a, b in pairs)


def _other_script(one: str, other: str) -> bool:
    """里斯本 and "Lisbon" are not different as far as we can tell."""
    if bool(_HAN.search(one)) == bool(_HAN.search(other)):
        return False
    return bool(_LATIN.search(one) or _LATIN.search(other))


def opposite(one: str, other: str) -> str | None:
    """What two folded values that are opposites share ("mode" of light mode and dark mode); None
    when they are no opposites."""
    if one == other:
        return None
    for word in one.split():
        rest = one.replace(word, "", 1).split()
        for against in _OPPOSITE.get(word, ()):
            if sorted(other.split()) == sorted([against, *rest]):
                return " ".join(rest)
    for word in _HAN_OPPOSITES:
        if word in one:
            for against in _OPPOSITE[word]:
                if one.replace(word, against, 1) == other:
                    return one.replace(word, "", 1).strip()
    return None
