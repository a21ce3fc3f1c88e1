"""How much a memory is worth keeping, and of which type it is: the "logic" seed, sections 1.5 and 1.6.

importance = 0.6 * novelty + 0.4 * salience. Novelty is how far the meaning lies from all that is known already;
salience adds up what the words show: a name (0.3), a number or date (0.2), a preference (0.4), a technical term (0.1).
"""

from __future__ import annotations

import math
import re
from functools import cache

from vaultmem.light import NamedTuple
from vaultmem.memories.short_texts import is_event, is_working_note
from vaultmem.plugins import language
from vaultmem.text.values import lazy

# What short texts show without any model: names, numbers and dates, technical terms, in English and Chinese.

# A capital inside a sentence; at its beginning only with what follows a name.
_INNER_NAME = lazy(
    r"(?<=[\w,;:)] )(?!I\b)(?!(?:Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sep|Oct|Nov|Dec|Mon|Tue|Wed|Thu|Fri|Sat|"
    r"Sun)[a-z]*\b|May\b|"
    r"TODO\b|OK\b)(?:[A-Z][a-zà-ÿ]+|[A-Z][a-z]*[A-Z]\w*|[A-Z]{2,})(?!\w)"
)
_FIRST_NAME = lazy(
    r"(?:^|[.!?\n] {0,3}|[-*] )(?!(?:The|This|That|These|Those|It|He|She|They|We|You|Who|What|There|Here|"
    r"My|Our|Your|Today|"
    r"User|Let|Everyone|Nobody|Server|Nothing|Everything|Build|Deploy|Project|Deadline)\b)"
    r"[A-Z][a-zà-ÿ]+(?:['’]s? | [A-Z][a-zà-ÿ]+| (?:is|was|has|lives|works|likes|prefers|loves|hates|said|"
    r"says|told|asked|"
    r"wants|knows|speaks|called|met|moved|joined|uses|runs|will|and [A-Z])\b)"
)
_MIXED = lazy(
    r"\[\[[^\[\]\n]+\]\]|(?<!\w)@[A-Za-z]\w+|[a-z][A-Z]\w+|(?<![A-Za-z])[A-Z][a-z]+[A-Z]\w*"
)
_HAN_LATIN_NAME = lazy(r"[\u4e00-\u9fff，。、] ?[A-Z][A-Za-z]{2,}|[A-Z][a-z]{2,} ?[\u4e00-\u9fff]")

_NUMBER = lazy(
    r"\d|(?<!\w)(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty|forty|fifty|"
    r"hundred|thousand|million|dozen|half|twice|once a|monday|tuesday|wednesday|thursday|friday|saturday|sunday|"
    r"january|february|april|june|july|august|september|october|november|december|(?-i:March|May)|"
    r"today|tomorrow|yesterday|tonight|weekend|next (?:week|month|year)|last (?:week|month|year)|midnight|noon)s?(?!\w)"
    r"|[一二三四五六七八九十百千万两几][个天周月年点号日次倍岁元块小分条台种位本件名家层楼]|星期[一二三四五六日天]|周[一二三四五六日末]|礼拜"
    r"|[今明昨后前][天晚早年]|[上下]个?[周月]|[一二三四五六七八九十]{1,3}月|凌晨|百分之|月底|月初|年底|年初",
    re.IGNORECASE,
)

_SHAPE = lazy(
    r"`|[a-z][A-Z]|\w_\w|::|->|\(\)|[/\\]\w+[/\\.]\w|^--?\w|^v?\d+\.\d+|^0x[0-9a-f]+$|\w\.(?:py|js|ts|rs|go|md|json|yaml|yml|toml|"
    r"sh|sql|csv|txt|conf|env|html|css|lock)\b|^[A-Z]{2,}\d*s?$|\d[a-z]{1,2}$|[a-z]\d|\w=\w|^https?:"
)
_ASCII_TOKEN = lazy(r"[^\s,;!?\"'()\[\]{}]+|`[^`\n]+`")
_TOKEN = lazy(r"[^\s,;!?\"'’“”，。！？、；：()\[\]{}\u3400-\u9fff]+|`[^`\n]+`")
_HAN = lazy(r"[\u3400-\u4dbf\u4e00-\u9fff]")
_RARE, _PLAIN = 4.0, 1.0
_MEAN_RARITY = 1.25  # one technical term among twelve other words that mean something
_HAN_PER_WORD = 2


def _notion(name: str) -> str:
    return str(language().table("notions")[name])


@cache
def _han_name() -> re.Pattern[str]:
    surnames, titles, places = (_notion(name) for name in ("surnames", "titles", "places"))
    return re.compile(
        rf"{places}|《[^》\n]{{1,40}}》|[小老阿][{surnames}](?![\u4e00-\u9fff]{{0,1}}[果子])|[{surnames}][\u4e00-\u9fff]{{0,2}}(?:{titles})"
        rf"|(?:叫|同事|朋友|同学|邻居|客户|老婆|妻子|丈夫|老公|女儿|儿子|领导|老板)[{surnames}][\u4e00-\u9fff]{{1,2}}"
        rf"|(?:^|[，。、；：\s和跟与找问给])[{surnames}][\u4e00-\u9fff]{{1,2}}(?=的?生日|住在|喜欢|说|是|在|负责|来自|会|毕业|推荐|建议|离职|入职)"
        r"|[\u4e00-\u9fff]{2,6}(?:大学|公司|银行|医院|集团|机场|车站|路|大街|中学|小学|科技|出版社|博物馆)"
    )


@cache
def _words(name: str) -> frozenset[str]:
    return frozenset(_notion(name).split())


def has_name(text: str) -> bool:
    """Whether it names a person, a place, an organisation or a product, as far as spelling shows it."""
    if any(pattern.search(text) for pattern in (_MIXED, _INNER_NAME, _FIRST_NAME)):
        return True
    if text.isascii():  # the others take 6 ms to compile
        return False
    return any(pattern.search(text) for pattern in (_HAN_LATIN_NAME, _han_name()))


def has_number(text: str) -> bool:
    """Whether it has a number, a day, a month or a word that counts."""
    return _NUMBER.search(text) is not None


def has_technical_terms(text: str) -> bool:
    """Whether its words are rare enough on average: a frequent word does not count, a plain one counts 1, one with
    the shape of code or out of a short list of terms 4. Two Chinese characters are taken for a word."""
    pieces = (_ASCII_TOKEN if text.isascii() else _TOKEN).findall(text)
    tokens = [token.strip(".:*_`-" if len(token) < 2 else ".:*") for token in pieces]
    rarities = [r for r in (_rarity(token) for token in tokens if token) if r]
    han_terms = han_words = 0
    if not text.isascii():
        han_terms = len(re.findall(_notion("han_terms"), text))
        han_words = max(han_terms, len(_HAN.findall(text)) // _HAN_PER_WORD)
    count = len(rarities) + han_words
    total = sum(rarities) + han_words * _PLAIN + han_terms * (_RARE - _PLAIN)
    return count > 0 and total / count >= _MEAN_RARITY


def _rarity(token: str) -> float:
    folded = token.lower()
    if folded in _words("frequent"):
        return 0.0
    return _RARE if folded in _words("terms") or _SHAPE.search(token) else _PLAIN


THRESHOLD = 0.3  # below it, a text is not worth a memory
NOVELTY_SHARE, SALIENCE_SHARE = 0.6, 0.4
NAME, NUMBER, PREFERENCE, TECHNICAL = 0.3, 0.2, 0.4, 0.1
CAP = 4000  # characters; a signal that comes later does not make a text salient

_WHO = r"(?:i|we|you|they|he|she|users?|the user|[A-Z][a-z]+|(?:my|her|his|our|their) \w+)"
_PREFERENCE = lazy(
    rf"(?<!\w)(?:(?:{_WHO}) (?:(?:really|just|absolutely|strongly|still|also|much|would|usually) )*"
    r"(?:(?:do not|don['’]t|does not|doesn['’]t|can['’]t|cannot) (?:really )?)?"
    r"(?:prefers?|hates?|loves?|likes?|enjoys?|dislikes?|stand|rather)"
    r"|(?:i|user|we)(?: would|['’]d) (?:rather|prefer)|(?:i|we|user) (?:always|never)|(?:my|['’]s|user) favou?rite"
    r"|prefer(?:s|red|ence|ences)?|(?:likes|loves|hates|dislikes|enjoys)(?= \w))(?!\w)",
    re.IGNORECASE,
)
_HAN_PREFERENCE = lazy(
    r"喜欢|偏好|偏爱|最爱|讨厌|反感|受不了|更愿意|宁愿|宁可|倾向于|看不惯|爱[吃喝听看玩用]|(?:我|用户|本人)[^，。！？\n]{0,6}(?:总是|从不|从来不|一向)"
)
_HAN_FACT = lazy(
    r"[\u3400-\u9fff](?:位于|属于|支持|需要|包含|等于|具有|拥有|住在|毕业于|负责|依赖)"
)
_SUBJECT = lazy(  # the word before a verb that states something
    r"(\w+)\s+(?:is|are|has|have|supports?|requires?|needs?|uses?|means|contains?|includes?|belongs?|runs?|stores?|"
    r"returns?|depends|consists|provides?|speaks?|owns?|lives?|works?|costs?|equals|must|should|cannot)\s+\S",
    re.IGNORECASE,
)
_VAGUE = frozenset(
    "i it that this there these those they we what which how who you he she all and or".split()
)
_EVENT = lazy(
    r"(?<!\w)(?:yesterday|today|this morning|tonight|last (?:night|week|month|year|time)|ago|discussed|"
    r"reported|asked|met|"
    r"talked|went|fixed|shipped|released|visited|told|said|decided|called|had|was|were|did|finished|moved|started)(?!\w)"
    r"|昨[天晚]|今[天早晚]|前天|刚才|上次|上周|上个?月|去年|讨论了?|聊了|说了|去了|见了|修复了|发布了|完成了|开了|决定了?|了[，。！]|过[，。]",
    re.IGNORECASE,
)


class Salience(NamedTuple):
    """From 0.0 to 1.0, and what it is made of, readable."""

    score: float
    why: tuple[str, ...]


def salience(text: str) -> Salience:
    """What the words of a text promise."""
    head = text[:CAP]
    parts = (
        ("named entity", NAME, has_name(head)),
        ("number or date", NUMBER, has_number(head)),
        ("preference", PREFERENCE, has_preference(head)),
        ("technical term", TECHNICAL, has_technical_terms(head)),
    )
    signs = [(name, weight) for name, weight, is_there in parts if is_there]
    score = round(min(1.0, sum((weight for _, weight in signs), 0.0)), 4)
    return Salience(score, tuple(f"{name} +{weight}" for name, weight in signs))


def novelty(cosine: float | None) -> float:
    """From 0.0 to 1.0: how far from the centroid of all memories; None when there are none yet."""
    if cosine is None or not math.isfinite(cosine):
        return 1.0
    return min(1.0, max(0.0, 1.0 - cosine))


def importance(novelty: float, salience: float) -> float:
    """From 0.0 to 1.0, rounded to four digits."""
    return round(NOVELTY_SHARE * novelty + SALIENCE_SHARE * salience, 4)


def has_preference(text: str) -> bool:
    """Whether somebody's preference speaks from it: "I prefer", "my favorite", "讨厌"."""
    return bool(_PREFERENCE.search(text) or _HAN_PREFERENCE.search(text))


def memory_type(text: str) -> str:
    """What kind of memory it is: episodic, semantic, procedural or working."""
    head = text[:CAP]
    if has_preference(head):
        return "procedural"
    if is_working_note(head):
        return "working"
    return "episodic" if is_event(head) else "semantic"


def says_something(text: str) -> bool:
    """Whether it states a fact, tells of something that happened, or of work in hand."""
    head = text[:CAP]
    if (
        language().statements(head)
        or is_working_note(head)
        or _EVENT.search(head)
        or _HAN_FACT.search(head)
    ):
        return True
    return any(word.lower() not in _VAGUE for word in _SUBJECT.findall(head))
