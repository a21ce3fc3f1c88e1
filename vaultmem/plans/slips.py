"""Whether a name is another one misspelt: rather never than for a name that means something else."""

from __future__ import annotations

import re
import unicodedata

_CJK = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]")
_KEPT = re.compile(r"[^\w+#]|_")  # C, C++ and C# are three things
_DIGITS = re.compile(r"\d+")
_WORD = re.compile(r"[^\W_]+")
_ENDING = re.compile(r"\.[A-Za-z]\w{1,4}$")  # of a file that is no note
_FILLED_IN = ("{{", "<%", "{%")  # by a template, later
_DAY_PART = re.compile(
    r"\d{1,8}(?:st|nd|rd|th)?|[wq]\d{1,2}"
    r"|(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)"
    r"|(?:january|february|march|april|august|september|october|november|december)"
    r"|(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?"
    r"|(?:周|星期|週|礼拜|禮拜)[一二三四五六日天]",
    re.IGNORECASE,
)
_BETWEEN = re.compile(r"[\W_年月日号號]+")
_TELLING = frozenset(  # one of these more or less makes another name of it
    "不非无無未没沒反前后後上下左右内內外新旧舊大小多少一二三四五六七八九十男女"
)
_TRADITIONAL = (
    "習學時間個們國說這來會過對開關電腦機網頁書讀寫記憶檔資訊設計實驗問題運動飲練體點線數"
    "據庫務業產經濟與從發現為無難應該測試錄標簽專項組織級類別結構邏輯選擇編歷語詞譯財貨幣"
)
_SIMPLIFIED = (
    "习学时间个们国说这来会过对开关电脑机网页书读写记忆档资讯设计实验问题运动饮练体点线数"
    "据库务业产经济与从发现为无难应该测试录标签专项组织级类别结构逻辑选择编历语词译财货币"
)
_PICTURE = re.compile("[\u2600-\u27bf\U0001f300-\U0001faff]")
_AS_SIMPLIFIED = dict(zip(map(ord, _TRADITIONAL), _SIMPLIFIED, strict=True))

SHORT = 5  # letters: so short a name is another one with any other letter
LETTERS_PER_SLIP = 6
SHORT_WORD = 3  # letters: "Team A" is not "Team B"
SHORT_CJK = 5


def spelling(name: str) -> str:
    """A name without case, blanks, marks and the difference of traditional and simplified characters."""
    folded = unicodedata.normalize("NFKC", name).casefold()
    return _KEPT.sub("", folded).translate(_AS_SIMPLIFIED)


def is_day(name: str) -> bool:
    """Whether a name is a day, week or month, however it is written."""
    parts = [part for part in _BETWEEN.split(name) if part]
    has_digit = any(letter.isdigit() for letter in name)
    return bool(parts) and has_digit and all(_DAY_PART.fullmatch(part) for part in parts)


def slips(name: str, title: str) -> int | None:
    """How many slips make the name of the title; None when it is no slip, but another name."""
    if any(mark in name + title for mark in _FILLED_IN) or is_day(name) or is_day(title):
        return None
    if _DIGITS.findall(name) != _DIGITS.findall(title) or _ending(name) != _ending(title):
        return None
    if _differ_in_pictures(name, title):
        return None
    one, other = spelling(name), spelling(title)
    if one == other:
        return 0 if len(one) > 1 else None
    if _CJK.search(name) or _CJK.search(title):
        return 1 if _one_character_more(one, other) else None
    return _letters(name, title, one, other)


def _differ_in_pictures(name: str, title: str) -> bool:
    """The book of a film is another note than the film."""
    one, other = set(_PICTURE.findall(name)), set(_PICTURE.findall(title))
    return bool(one and other and one != other)


def _ending(name: str) -> str:
    found = _ENDING.search(name.removesuffix(".md"))
    return found[0].lower() if found else ""


def _one_character_more(one: str, other: str) -> bool:
    """Never another character in the place of one: that is another word."""
    short, long = sorted((one, other), key=len)
    if len(short) <= SHORT_CJK or len(long) != len(short) + 1:
        return False
    at = next((n for n, (a, b) in enumerate(zip(short, long, strict=False)) if a != b), len(short))
    return short[at:] == long[at + 1 :] and long[at] not in _TELLING


def _letters(name: str, title: str, one: str, other: str) -> int | None:
    short, long = sorted((one, other), key=len)
    if not short or short[0] != long[0]:
        return None
    if _is_plural(short, long):
        return 1 if len(short) >= SHORT_WORD else None
    most = 0 if len(short) <= SHORT else len(short) // LETTERS_PER_SLIP
    count = edits(short, long, most)
    return count if count is not None and _words_agree(name, title) else None


def _is_plural(short: str, long: str) -> bool:
    return long in {short + "s", short + "es"} or (
        short.endswith("y") and long == short[:-1] + "ies"
    )


def _words_agree(name: str, title: str) -> bool:
    """Whether each word is the other's, with one slip at most; a short one has none."""
    one, other = (_WORD.findall(each.casefold()) for each in (name, title))
    if len(one) != len(other):
        return False
    differ = [(a, b) for a, b in zip(one, other, strict=True) if a != b]
    return all(
        min(len(a), len(b)) > SHORT_WORD and a[0] == b[0] and edits(a, b, 1) is not None
        for a, b in differ
    )


def edits(one: str, other: str, most: int) -> int | None:
    """How many letters are left out, added, changed or swapped with the next; None beyond `most`."""
    if abs(len(one) - len(other)) > most:
        return None
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        earlier, before, row = before, row, [i]
        for j, wanted in enumerate(other, 1):
            best = min(before[j] + 1, row[-1] + 1, before[j - 1] + (letter != wanted))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == wanted:
                best = min(best, earlier[j - 2] + 1)
            row.append(best)
        if min(row) > most:
            return None
    return row[-1] if row[-1] <= most else None
