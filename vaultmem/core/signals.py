"""The table of words that hint at the category of a memory, with their weights.

A row begins with its weight; indented lines below it go on with its alternatives, each a small pattern on the
lower-cased text. English ones are whole words, Chinese ones stand anywhere. "~" marks rows that a denial just before
takes back: "not decided" is no decision, whereas "don't like" is a preference all the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from vaultmem.core.chinese_signals import CHINESE
from vaultmem.core.english_signals import ENGLISH


class Signal(NamedTuple):
    """One row of the table; each thing that its pattern finds counts once, and two of them at most."""

    category: str
    pattern: re.Pattern[str]
    weight: float
    deniable: bool
    han: bool


_ENGLISH_PARTS = {
    "<time>": "(?:day|morning|afternoon|evening|night|week|weekday|weekend|month|<day>)",
    "<day>": "(?:mon|tues|wednes|thurs|fri|satur|sun)day",
    "<month>": "(?:january|february|march|april|may|june|july|august|september|october|november|december|"
    "jan|feb|mar|apr|jun|jul|aug|sept|sep|oct|nov|dec)",
    "<kin>": "(?:sister|brother|mother|mum|mom|father|dad|wife|husband|spouse|partner|son|daughter|uncle|aunt|cousin|"
    "niece|nephew|grandmother|grandma|grandfather|grandpa|girlfriend|boyfriend|fiancee?|parents|kids?|child(?:ren)?|"
    "twins|boss|manager|colleague|co-?worker|teammate|flatmate|roommate|neighbou?r|landlord|landlady|dentist|doctor|gp|"
    "teacher|friend|therapist|mentor|supervisor|advis[eo]r|lawyer|accountant|assistant|godmother|godfather|stepfather|"
    "stepmother|ex-wife|ex-husband|ex|classmate|tutor|coach|vet|nanny|babysitter)",
}
_CHINESE_PARTS = {
    "<number>": r"(?<![\d一二三四五六七八九十两])[\d一二三四五六七八九十两]{1,6}",
    "<surname>": "王李张刘陈杨赵黄周吴徐孙胡朱高林何郭马罗梁宋郑谢韩唐冯于董萧程曹袁邓许傅沈曾彭吕苏卢蒋蔡贾丁"
    "魏薛叶阎余潘杜戴夏钟汪田任姜范方石姚谭廖邹熊金陆郝孔白",
    "<kin>": "妻子|老婆|太太|丈夫|老公|女朋友|男朋友|女友|男友|未婚妻|未婚夫|爸爸|妈妈|爸|妈|父亲|母亲|"
    "爷爷|奶奶|外婆|外公|姥姥|"
    "姥爷|哥哥|姐姐|弟弟|妹妹|表[哥姐弟妹]|堂[哥姐弟妹]|嫂子|姐夫|岳父|岳母|婆婆|公公|儿子|女儿|侄子|侄女|外甥|舅舅|阿姨|叔叔|"
    "姑姑|姨妈|同事|室友|同学|朋友|闺蜜|邻居|房东|导师|上司|师傅|师父|老板|前任|前夫|前妻|双胞胎|孙子|孙女",
}


def _signals(table: Mapping[str, str], parts: Mapping[str, str], *, han: bool) -> Iterator[Signal]:
    for category, rows in table.items():
        for row in rows.strip("\n").replace("\n    ", "").split("\n"):
            weight, _, words = row.partition(" ")
            deniable, words = words.startswith("~"), words.removeprefix("~")
            for name, part in parts.items():
                words = words.replace(name, part)
            pattern = words if han else rf"(?<!\w)(?:{words})(?!\w)"
            compiled = re.compile(pattern, re.MULTILINE)
            yield Signal(category, compiled, float(weight), deniable, han)


SIGNALS = (
    *_signals(ENGLISH, _ENGLISH_PARTS, han=False),
    *_signals(CHINESE, _CHINESE_PARTS, han=True),
)
