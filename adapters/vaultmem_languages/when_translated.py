"""Times in other languages, translated into English ones: am nächsten Freitag um halb neun is on next Friday at half
past eight. One grammar reads all. A language is a section of words.toml, such as german_times.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache

from vaultmem.text.values import lazy, toml_table
from vaultmem_languages import pattern, words

_PART = lazy(r"<([a-z]+)>")


@cache
def _signs() -> dict[str, re.Pattern[str]]:
    """What shows that a text has times in a language, by its section."""
    sections = toml_table("vaultmem_languages", "words")
    return {name: pattern(name, "sign") for name in sections if name.endswith("_times")}


@cache
def _rules(section: str) -> tuple[tuple[re.Pattern[str], str], ...]:
    """Patterns of a language and their English translations, in the order in which they are tried."""

    def with_parts(foreign: str) -> str:
        full = _PART.sub(lambda part: words(section, part[1]), foreign)
        return with_parts(full) if _PART.search(full) else full

    rules = (line.partition(" = ") for line in _lines(section))
    return tuple(
        (re.compile(with_parts(foreign), re.IGNORECASE), english) for foreign, _, english in rules
    )


def _lines(section: str) -> Iterator[str]:
    """The phrases, and the forms of each day, month and number."""
    yield from words(section, "phrases").strip("\n").split("\n")
    for kind in ("day", "month", "number"):
        pairs = [pair.split(" = ") for pair in words(section, f"{kind}s").split(", ")]
        forms = words(section, f"forms_of_{kind}s").strip("\n")
        for number, (word, english) in enumerate(pairs):
            lines = forms.replace("<word>", word).replace("<english>", english)
            before = pairs[number - 1][1]
            yield from (
                lines.replace("<place>", str(number + 1)).replace("<before>", before).split("\n")
            )


def in_english(text: str) -> tuple[str, Sequence[int]]:
    """The text with its times in English, and the original offset of each character."""
    section = next((name for name, sign in _signs().items() if sign.search(text)), None)
    if section is None:
        return text, range(len(text))
    result: list[str] = []
    places: list[int] = []
    at, is_open = 0, True
    while at < len(text):
        english, end = _at(text, at, section) if is_open and text[at].isalnum() else None, at + 1
        if english:
            written, end = english
            result.append(written)
            places += _spread(at, end, len(written))
        else:
            result.append(text[at])
            places.append(at)
        is_open = english is not None or not text[at].isalnum()
        at = end
    return "".join(result), places


def _spread(start: int, end: int, count: int) -> Sequence[int]:
    """The original offsets of `count` characters; a time may begin and end within them."""
    if count == end - start:
        return range(start, end)
    return [start] * (count // 2) + [end - 1] * (count - count // 2)


def _at(text: str, at: int, section: str) -> tuple[str, int] | None:
    for foreign, english in _rules(section):
        if match := foreign.match(text, at):
            return match.expand(english), match.end()
    return None


# Times in Japanese, written as Chinese ones character for character: 来週の金曜日 is 下周的星期五.

_DAYS = dict(zip("月火水木金土日", "一二三四五六日", strict=True))
_DAY = "[月火水木金土日]"
_WORDS = {
    "再来周": "下下周", "再来月": "下下月", "来周": "下周", "来月": "下月", "今周": "本周", "今月": "本月",
    "先周": "上周", "先月": "上月", "明后日": "后天\u3000", "あさって": "后天\u3000\u3000",
    "あした": "明天\u3000", "きょう": "今天\u3000",
    "今夜": "今晚", "の朝": "早上", "の夜": "晚上", "の晩": "晚上", "夕方": "傍晚", "ヶ月": "个月", "か月": "个月",
    "毎朝": "每早", "来年": "明年", "毎": "每", "の": "的", "晩": "晚",
}  # fmt: skip
_PHRASE = lazy(
    rf"(?P<days>(?<=毎周){_DAY}(?:[・、,]?{_DAY})*(?!曜))"
    rf"|(?P<day>{_DAY})曜(?!石)(?P<long>日?)"
    r"|(?P<and>(?<=[日曜])と(?=[月火水木金土日]曜))|(?P<hours>(?<=[\d一二三四五六七八九十])时间(?=半?后))|(?P<weeks>(?<=[\d一二三四五六七八九十])周间)"
    r"|の朝(?![着向阳])|(?<![未本原后以将近年首领优率])(?:再?来|今|先)[周月](?![边岁])"
    r"|来年|明后日|あさって|あした|きょう|今夜|の[夜晩]|夕方|[ヶか]月|毎朝|[毎の晩]"
)


def _word(match: re.Match[str]) -> str:
    if match["days"]:
        return "".join(_DAYS.get(character, "、") for character in match["days"])
    if match["day"]:
        return ("星期" if match["long"] else "周") + _DAYS[match["day"]]
    if match["hours"] or match["weeks"]:
        return "小时" if match["hours"] else "个周"
    return "和" if match["and"] else _WORDS[match[0]]


def in_chinese(text: str) -> str:
    """The text with its Japanese times as Chinese ones."""
    return _PHRASE.sub(_word, text)
