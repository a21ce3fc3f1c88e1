"""What a memory is in time: a fact, a preference, an event, a working note. It decides how long the memory lives.

Forgetting a fact costs more than keeping an event, so an event has to show that it is one: somebody did something that
is over, and nothing in it lasts (no decision, lesson or change of state).
"""

from __future__ import annotations

import re

CAP = 400  # characters; what a note is shows at once
EVENT = re.compile(
    r"^\W*(?:session(?: notes?)?|meeting notes|log|diary|minutes)\b\W"
    r"|^\W*(?:[\d-]{4,10}[\W]+)?(?:(?:today|yesterday|this morning|last (?:night|week)|on \w+day)\W+)?"
    r"(?:(?:I|we|the user|user|he|she|they) )?(?:(?:have|has|had|just|also) )?"
    r"(?:asked|ate|bought|booked|called|checked|cleaned|compared|debugged|discussed|drafted|drove|explained|fixed|flew|"
    r"found|had (?:a |lunch|dinner|breakfast|coffee)|helped|installed|investigated|listened|looked|made|measured|met|"
    r"ordered|paid|planned|played|prepared|printed|profiled|ran|read|refactored|released|repaired|replied|reported|"
    r"researched|reviewed|rotated|said|saw|searched|sent|shipped|shopped|sorted|spent|spoke|summari[sz]ed|talked|"
    r"tested|told|tried|translated|visited|walked|watched|went|worked|wrote)\b"
    r"|(?<!\w)(?:yesterday|today|this morning|last night|just now)(?!\w|['’])"
    r"|今[天早晚]|昨[天晚]|前天|刚才|刚刚|上周|^会话|(?:讨论|修复|发布|完成|帮\S{1,4}写|去|见|看|交|付|花)了|给\S{1,4}打电话",
    re.IGNORECASE,
)
LASTING = re.compile(
    r"(?<!\w)(?:decid\w+|decision|agreed|lesson|learned|rule|always|never|must|since|until|from now on|no longer|"
    r"any ?more|now (?!\w+ing)|born|died|married|moved (?:to|from|in)|is|are)(?!\w)"
    r"|决定|教训|改|换|搬|退休|毕业|结婚|出生|不再|以后|必须",
    re.IGNORECASE,
)
WORKING = re.compile(
    r"(?<!\w)(?:right now|for now|at the moment|in progress|currently \w+ing|now \w+ing|working on|next step (?:is|:)|"
    r"(?:in )?this (?:session|conversation|chat)|until this is done|half[- ]done)(?!\w)"
    r"|正在|目前正|本次(?:会话|对话)|这次(?:会话|对话)|下一步",
    re.IGNORECASE,
)

ABOUT_PERSON = re.compile(
    r"^\W*(?:(?:the )?user(?!\w)|I(?!\w)|my(?!\w)|用户|我(?!们)|本人)", re.IGNORECASE
)


def is_event(text: str) -> bool:
    """Whether it tells what was done, and nothing that lasts."""
    said = text[:CAP]
    return EVENT.search(said) is not None and LASTING.search(said) is None


def is_about_person(text: str) -> bool:
    """Whether it states something about the person: who is named first is them, and nothing is asked."""
    return ABOUT_PERSON.match(text) is not None and not text.rstrip().endswith(("?", "？"))


def is_working_note(text: str) -> bool:
    """Whether it tells what is being done now and will be over soon."""
    return WORKING.search(text[:CAP]) is not None
