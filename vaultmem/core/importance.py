"""How much a memory is worth keeping, and of which type it is: the "logic" seed, sections 1.5 and 1.6.

importance = 0.6 * novelty + 0.4 * salience. Novelty is how far the meaning lies from all that is known already;
salience adds up what the words show: a name (0.3), a number or date (0.2), a preference (0.4), a technical term (0.1).
"""

from __future__ import annotations

import math
import re
from typing import NamedTuple

from vaultmem.core.kinds import is_event, is_working_note
from vaultmem.core.memory import TYPES
from vaultmem.core.notions import has_name, has_number, has_technical_terms
from vaultmem.core.statements import statements

THRESHOLD = 0.3  # below it, a text is not worth a memory
NOVELTY_SHARE, SALIENCE_SHARE = 0.6, 0.4
NAME, NUMBER, PREFERENCE, TECHNICAL = 0.3, 0.2, 0.4, 0.1
CAP = 4000  # characters; a signal that comes later does not make a text salient

_WHO = r"(?:i|we|you|they|he|she|users?|the user|[A-Z][a-z]+|(?:my|her|his|our|their) \w+)"
_PREFERENCE = re.compile(
    rf"(?<!\w)(?:(?:{_WHO}) (?:(?:really|just|absolutely|strongly|still|also|much|would|usually) )*"
    r"(?:(?:do not|don['’]t|does not|doesn['’]t|can['’]t|cannot) (?:really )?)?"
    r"(?:prefers?|hates?|loves?|likes?|enjoys?|dislikes?|stand|rather)"
    r"|(?:i|user|we)(?: would|['’]d) (?:rather|prefer)|(?:i|we|user) (?:always|never)|(?:my|['’]s|user) favou?rite"
    r"|prefer(?:s|red|ence|ences)?|(?:likes|loves|hates|dislikes|enjoys)(?= \w))(?!\w)",
    re.IGNORECASE,
)
_HAN_PREFERENCE = re.compile(
    r"喜欢|偏好|偏爱|最爱|讨厌|反感|受不了|更愿意|宁愿|宁可|倾向于|看不惯|爱[吃喝听看玩用]|(?:我|用户|本人)[^，。！？\n]{0,6}(?:总是|从不|从来不|一向)"
)
_NOW = re.compile(
    r"(?<!\w)(?:right now|for now|at the moment|this session|current(?:ly)? (?:session|task|working|"
    r"debugging|editing|file|"
    r"step|looking|writing|running|testing|fixing|reading|on)|this (?:conversation|chat)|"
    r"today['’]s session|in progress|"
    r"just now|so far (?:today|this session)|"
    r"(?:i am|i['’]m|we are|we['’]re|user is) (?:now|currently|just)|next step (?:is|:)|until this is done)(?!\w)"
    r"|本次(?:会话|对话|任务)|这次(?:会话|对话)|当前(?:会话|对话|任务|文件|步骤|正在)?(?=[^的]|$)|此刻|眼下|正在|刚刚|现在(?:在|正|先|要)|目前正|下一步",
    re.IGNORECASE,
)
_HAN_FACT = re.compile(
    r"[\u3400-\u9fff](?:位于|属于|支持|需要|包含|等于|具有|拥有|住在|毕业于|负责|依赖)"
)
_SUBJECT = re.compile(  # the word before a verb that states something
    r"(\w+)\s+(?:is|are|has|have|supports?|requires?|needs?|uses?|means|contains?|includes?|belongs?|runs?|stores?|"
    r"returns?|depends|consists|provides?|speaks?|owns?|lives?|works?|costs?|equals|must|should|cannot)\s+\S",
    re.IGNORECASE,
)
_VAGUE = frozenset(
    "i it that this there these those they we what which how who you he she all and or".split()
)
_EVENT = re.compile(
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
    said = text[:CAP]
    parts = (
        ("named entity", NAME, has_name(said)),
        ("number or date", NUMBER, has_number(said)),
        ("preference", PREFERENCE, has_preference(said)),
        ("technical term", TECHNICAL, has_technical_terms(said)),
    )
    found = [(name, weight) for name, weight, there in parts if there]
    score = round(min(1.0, sum((weight for _, weight in found), 0.0)), 4)
    return Salience(score, tuple(f"{name} +{weight}" for name, weight in found))


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


def memory_type(text: str, hint: str | None = None) -> str:
    """episodic, semantic, procedural or working; `hint` rules. Raises ValueError for a hint that is none of them."""
    if hint is not None:
        if hint not in TYPES:
            raise ValueError(f"{hint!r} is no memory type. Use one of {', '.join(TYPES)}.")
        return hint
    said = text[:CAP]
    if has_preference(said):
        return "procedural"
    if is_working_note(said):
        return "working"
    return "episodic" if is_event(said) else "semantic"


def says_something(text: str) -> bool:
    """Whether it states a fact, tells of something that happened, or of work in hand."""
    said = text[:CAP]
    if statements(said) or _EVENT.search(said) or _NOW.search(said) or _HAN_FACT.search(said):
        return True
    return any(word.lower() not in _VAGUE for word in _SUBJECT.findall(said))
