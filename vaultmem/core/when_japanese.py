"""Times in Japanese, written as Chinese ones character for character: 来週の金曜日 is 下周的星期五."""

from __future__ import annotations

import re

_JAPANESE = frozenset("毎曜来先今再午の朝夜晩あきヶ箇か夕間间")
_DAYS = dict(zip("月火水木金土日", "一二三四五六日", strict=True))
_DAY = "[月火水木金土日]"
_WORDS = {
    "再来周": "下下周", "再来月": "下下月", "来周": "下周", "来月": "下月", "今周": "本周", "今月": "本月",
    "先周": "上周", "先月": "上月", "明后日": " 后天", "あさって": "  后天", "あした": " 明天", "きょう": " 今天",
    "今夜": "今晚", "の朝": "早上", "の夜": "晚上", "の晩": "晚上", "夕方": "傍晚", "ヶ月": "个月", "か月": "个月",
    "毎朝": "每早", "毎": "每", "の": "的", "晩": "晚",
}  # fmt: skip
_PHRASE = re.compile(
    rf"(?P<days>(?<=毎周){_DAY}(?:[・、,]?{_DAY})*(?!曜))"
    rf"|(?P<day>{_DAY})曜(?!石)(?P<long>日?)"
    r"|(?P<and>(?<=[日曜])と(?=[月火水木金土日]曜))|(?P<hours>(?<=[\d一二三四五六七八九十])时间(?=后))|(?P<weeks>(?<=[\d一二三四五六七八九十])周间)"
    r"|の朝(?![着向阳])|(?<![未本原后以将近年首领优率])(?:再?来|今|先)[周月](?![边岁])"
    r"|明后日|あさって|あした|きょう|今夜|の[夜晩]|夕方|[ヶか]月|毎朝|[毎の晩]"
)


def as_chinese(text: str) -> str:
    """The text, folded already, with Japanese words of time in the Chinese ones of the same length."""
    if text.isascii() or _JAPANESE.isdisjoint(text):
        return text
    return _PHRASE.sub(_word, text)


def _word(found: re.Match[str]) -> str:
    if found["days"]:
        return "".join(_DAYS.get(each, "、") for each in found["days"])
    if found["day"]:
        return ("星期" if found["long"] else "周") + _DAYS[found["day"]]
    if found["hours"] or found["weeks"]:
        return "小时" if found["hours"] else "个周"
    return "和" if found["and"] else _WORDS[found[0]]
