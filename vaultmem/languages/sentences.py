"""The sentences of a message that state something lasting about its writer, as they stand.

Only what is typed counts: no code, no quotes, no pasted text, nothing that is only supposed. A sentence is kept when it
speaks in the first person and every clause of it states something; the clauses that ask, doubt, or speak of the task in
hand are cut off. Precision before recall.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from typing import NamedTuple

from vaultmem.languages.intentions import prose
from vaultmem.text.values import lazy

TYPED = 4000  # characters that somebody types; a longer message holds something pasted
_ROUND = 1500  # characters around what is pasted that may be typed
_LONGEST = 400  # characters of a sentence
_STOPS = "\n.!?。！？"
_QUOTED = lazy(
    r"“[^”\n]{0,600}”|「[^」\n]{0,600}」|『[^』\n]{0,600}』|«[^»\n]{0,600}»|\"[^\"\n]{0,600}\""
    r"|(?<![\w\0])['‘](?=\S)[^'’\n]{0,600}(?:['’](?=\w)[^'’\n]{0,600})*['’](?!\w)"
)
_SHELL = lazy(
    r"\s*(?:\$|>>>|%|PS [A-Z]:\S*>)\s|\t| {4}\S|\W?\d{4}-\d\d-\d\d[T ]\d\d:|\W?(?:INFO|DEBUG|WARN|ERROR)\b"
)
_SPEAKER = lazy(r"\W*(?:\[[^\]\n]{1,30}\]\W*)?([^\W\d][^:：\n.!?。，,]{0,30})[:：](?=\s|[^\s\d/])")
_NO_SPEAKER = lazy(
    r"(?:please\s+)?(?:remember|note|fyi|btw|info|(?:more |some )?(?:context|background)|"
    r"about me|me|facts?)\b"
    r"|.*\b(?:about me|my|our)\b|(?:请|帮我|你)*(?:记[住好下]|牢记|备注|备忘)|.*我",
    re.IGNORECASE,
)
_SALUTATION = lazy(
    r"\s*(?:(?:dear|hi|hello|to whom)\b[^.!?\n]{1,40}[,:]|(?:尊敬|亲爱)的[^。\n]{1,20}[，：:])\s*$",
    re.IGNORECASE,
)
_ANNOUNCED = lazy(
    r"\b(?:here(?: is|['’]s| are)|following|below|text|e-?mail|message|letter|error|output|log|"
    r"code|draft|essay|paragraph|sentences?|article|transcript|review|bio|"
    r"prompt)\b[^.!?]*[:：]\s*$|(?:下面|以下|原文|内容|邮件|文章|这[段篇封句])[^。]*[:：]\s*$",
    re.IGNORECASE,
)
# From here on the message is not about its writer: a part that is played, a text that is worked on.
_SUPPOSED = lazy(
    r"\b(?:pretend|imagine|suppos(?:e|ing)|role-?play|act (?:as|like)|let['’]?s say|"
    r"say (?:that )?i(?:['’]m| am|['’]ve)|assum(?:e|ing)|hypothetical(?:ly)?|what if|"
    r"you are (?:now )?(?:an?|my)|first[- ]person|(?:from|in) the (?:perspective|voice|"
    r"point of view))\b"
    r"|假[设如装定]|想象|扮演|设想|第一人称|的口吻|以.{1,12}的身份|你(?:现在)?是一[个名位]",
    re.IGNORECASE,
)
_WORKED_ON = lazy(
    r"\b(?:translat(?:e|ion)|proof-?read|paraphrase|rephrase|reword|spell-?check|(?:write|"
    r"compose|draft|continue|generate|tell|invent)\b.{0,40}\b(?:story|poem|song|lyrics|novel|"
    r"scene|dialogue|monologue|diary|speech|script|joke|tale|haiku|limerick)|(?:summari[sz]e|"
    r"rewrite|fix|correct|edit|improve|polish|shorten|check|analy[sz]e|explain|grade|rate|"
    r"format)\b"
    r".{0,40}\b(?:this|these|the following|following|below|(?:my|the) (?:text|e-?mail|letter|"
    r"essay|draft|sentence|paragraph|bio)))\b"
    r"|翻译|译成|校对|润色|改写|改通顺|续写|缩写|写一?[首篇个段封].{0,12}(?:诗|故事|歌|小说|剧本|对话|日记|演讲|作文)"
    r"|(?:总结|概括|修改|检查|解释|分析)一?下?.{0,8}(?:以下|下面|这[段篇封句])",
    re.IGNORECASE,
)
_SENTENCE = lazy(
    r"(?:(?<![A-Za-z])(?:Mr|Mrs|Ms|Dr|St|vs|No|approx)\.|\b[ap]\.m\.|\b[ei]\.[ge]\.|"
    r"[.!?](?=[^\s\"')\]\u3000-\u9fff])|[^.!?。！？；\n])+"
    r"[.!?。！？；]*"
)
_ASKED = lazy(r"[?？]|[吗呢]\s*[。！!.]*$")
_REMEMBER = lazy(
    r"\s*(?:(?:also|and|ok(?:ay)?|so|hey|hi|btw|thanks|great)[,!]?\s+)*"
    r"(?:please\s+|can you\s+|could you\s+)*"
    r"(?:(?:always\s+)?(?:remember|memori[sz]e)(?P<that>\s+that|\s*[:,](?!\s*(?:this|it)\b))?|"
    r"(?:do not|don['’]t) forget(?P<forget>\s+that|\s*[:,])?"
    r"|keep in mind(?P<mind>\s+that|\s*[:,])?)\s+"
    r"(?!to\s|me\b|how\b|when\b|what\b|where\b|why\b|who\b|the (?:time|day|one|moment)\b|"
    r"that (?:time|day|one)\b|about\b)",
    re.IGNORECASE,
)
_HAN_REMEMBER = lazy(
    r"\s*(?:对了|另外|还有|好的?)?[，,]?(?:请|麻烦|帮我|你|要|一定|务必)*"
    r"(?:记住|记好|牢记|记一下|记下来?|备忘|备注|别忘了?|不要忘[了记]|记得(?=我))(?:一下|了)?[，,：:\s]*"
)


class Sentence(NamedTuple):
    """One sentence as it was typed."""

    text: str  # without the words "remember that"
    is_question: bool  # what stands in front of the question may state something
    is_request: bool  # the writer asks to have it remembered


class _Rules(NamedTuple):
    """How the clauses of a language are told apart; each pattern is looked for in one clause."""

    cut: re.Pattern[str]  # between clauses
    lead: re.Pattern[str]  # opens a sentence and says nothing
    first_person: re.Pattern[str]
    standing: re.Pattern[str]  # a request that holds from now on
    asks: re.Pattern[str]  # opens a question or a request
    voids: re.Pattern[str]  # in a sentence: a condition, or what somebody else said
    doubts: re.Pattern[str]
    passing: re.Pattern[str]  # what is of the moment, or of the task in hand


_HAN = lazy(r"[\u4e00-\u9fff]")
_WORD = lazy(r"[\u4e00-\u9fff]{2}|[^\W\u4e00-\u9fff]+")
_POINTS_ONLY = lazy(
    r"(?:it|this|that|these|those|he|she|they)\b|(?:这|那|它|他|她|刚才|上面|下面|以下|提醒|买|带|去|要|把)|.*提醒",
    re.IGNORECASE,
)
_TAG = lazy(
    r"[\s,]*(?:right|okay|ok|correct|no|isn't|aren't|don't|is|are|do)(?:\s+(?:I|it|we|that|you))?[\s?]*",
    re.IGNORECASE,
)
_TAIL = lazy(
    r"(?:[\s,]+(?:please|thanks|thank you|lol|haha|though|btw|by the way|fyi|right now|at the moment|😊|🙂))+$",
    re.IGNORECASE,
)
_ASKS = (
    r"(?:(?:so|and|but|then)\s+)*(?:can|could|would|will|what|what's|how|where|when|which|who|why|"
    r"(?:is|are)\s+(?:you|we|they|he|she|it|there|that|this|my|our|the)|(?:do|does|did)\s+(?:you|i|we|they|he|she|it)|any|should|shall|tell|give|help|recommend|suggest|find|show|please|make|explain|write|list|let|pick|translate|"
    r"don't you|isn't|right|correct)\b"
)
_ENGLISH = _Rules(
    cut=lazy(
        rf"[,;:—–]\s+|\s+-+\s+|\s+(?=(?:and|but|so|because|although|while)\s+(?:(?:i|we|my|our)\b|{_ASKS}))",
        re.IGNORECASE,
    ),
    lead=lazy(
        r"(?:(?:hi|hey|hello|thanks|thank you|great|by the way|btw|fyi|also|and|but|so|well|actually|oh|ok|okay|yes|no|"
        r"yeah|just so you know|quick one|anyway|(?:some |more |for )?(?:context|background|reference)|about me|"
        r"note(?: that)?|to be clear|honestly|unfortunately|sadly|luckily)(?:\s*[,:!–—-]+\s*|\s+)){1,5}",
        re.IGNORECASE,
    ),
    first_person=lazy(r"\b(?:i|my|me|we|our|us|mine|ours)\b", re.IGNORECASE),
    standing=lazy(
        r"(?:please\s+)?(?:(?:from now on|in future|in the future)\b|(?:always|never)\s+\w+|calls? me [A-Z])"
        r"|(?:everyone|people|(?:my )?friends|you can)\s+(?:just )?calls? me\b",
        re.IGNORECASE,
    ),
    asks=lazy(_ASKS, re.IGNORECASE),
    voids=lazy(
        r"\b(?:if|whether|unless)\b|\b(?:said|says?|told|tells|asked|asks|claims?|claimed|wrote|according to|heard)\b",
        re.IGNORECASE,
    ),
    doubts=lazy(
        r"\b(?:maybe|perhaps|probably|possibly|might|(?-i:may(?! \d))|could|should|would(?! rather)|guess|think|"
        r"believe(?! in)|suppose|wish|hope|wonder\w*|seems?|apparently|you|your|yours|someday|some day)\b"
        r"|'d\b(?! rather| prefer)|\.\.\.|…"
        r"|^(?:\S+\s+){0,4}?(?:it|it's|that|that's|here|there|these(?! days)|those|"
        r"this(?! (?:year|month|week|summer|winter|spring|autumn|fall|weekend)))(?!\w)"
        r"|\b(?:first|second|third|last|latter|former|other|next|same|previous|right|following)\s+"
        r"(?:one|option|version|approach|idea|choice|solution|suggestion|paragraph|line|question|issue|problem)\b",
        re.IGNORECASE,
    ),
    passing=lazy(
        r"\b(?:i|we)\s+(?:(?:just|also|only|really|still|already|can|have|am|was|always|do not|don't)\s+)*(?:"
        r"need|want|see|know|understand|mean|agree|mention|tried|try|ran|copied|pasted|installed|added|changed|"
        r"clicked|used(?! to)|"
        r"(?!(?:lived|work|stud|graduat|mov|retir|adopt|marri|rais|serv|learn|stopp|start|join|found|visit|"
        r"travel|turn|pass|switch|convert|inherit|emigrat|immigrat|divorc|suffer|volunteer|play|us|need|own|lov|lik|hat|"
        r"bik)\w*ed\b)\w+ed\b|keep getting|set|put|got \d|get(?! up| around| (?:\w+ )?rash)|got (?:an?|the|this|some)"
        r" (?:\w+ )?(?:error|message|question|result)|"
        r"have (?:an?|another|one|the|some) (?:\w+ )?(?:question|doubt|problem|issue|error|idea)|am done|"
        r"(?:play|start|open|load|move|rename|delete|join|merge|use|work on)(?:e?d)?\s+(?:the|two|your|an?)\b|"
        r"(?:love|like|hate|prefer)\s+(?:you|when|how|what|the\b)|live\s+in\s+(?:fear|hope))"
        r"|\b(?:i'm|we're|i am|we are|i was|i've been)\s+(?:(?:just|still|so|a bit|now|very|really|too|also|all)\s+)*"
        r"(?:not (?:sure|following)|sorry|done|getting (?!married|divorced)|seeing|trying|using|working on|looking|"
        r"asking|reading|running|testing|writing|refactoring|debugging|deploying|implementing|"
        r"lost|confused|stuck|afraid (?:that|so)|back|ready|glad|curious|able|the one|wondering)"
        r"|\b(?:i'll|we'll|i will|we will)\s+(?!be\b|move\b|retire\b|turn\b|marry\b|start\b|fly\b|travel\b|visit\b)"
        r"|\bmy (?:\w+ )?(?:question|code|point|program|build|query|input|output|prompt|mistake|bad|guess|assumption)\b"
        r"|\bmy (?:\w+ )?\w+ (?:is|are) (?:down|slow|broken|stuck|frozen|not working|crashing|failing|empty)\b"
        r"|\b(?:error|exception|bug|function|loop|variable|method|regex|snippet|compile\w*|array|segfault|"
        r"homomorphism|migration|processes|(?:unit )?tests? (?:fail|pass)|config|template|"
        r"(?:two|three|several|some) (?:lists|tables|files|arrays|columns))\b",
        re.IGNORECASE,
    ),
)
_CHINESE = _Rules(
    cut=lazy(r"\s*[，,；;：:]\s*|\s+(?=我)"),
    lead=lazy(
        r"(?:(?:你好|您好|嗨|对了|另外|其实|顺便(?:说|提)一?[下句]|还有|而且|但是?|不过|因为|所以|嗯|哦|好的?|谢谢你?|那么?|话说|"
        r"补充一下)+[，,！!：:\s]*)+"
    ),
    first_person=lazy(r"[我咱俺]|本人"),
    standing=lazy(
        r"(?:请|麻烦)?你?(?:以后|今后|从现在起|始终|总是|一直|每次|永远)(?:都|请)?(?:用|回答|叫|不要|别|说|写|给)"
        r"|(?:你?(?:可以|以后)?|大家都)叫我(?!起|一[下声]|回|去|来|吃|早|别|的|了|什么|怎么|做|停)"
    ),
    asks=lazy(
        r"(?:那|所以|请问|请(?!假)|麻烦|帮|给我|推荐|能|可以|有没有|有什么|怎么|什么|哪|告诉|该|想问|想知道|送|要不要|是不是|翻译)"
    ),
    voids=lazy(
        r"如果|要是|假如|的话|除非|万一|[她他]?[说问](?:过?我|[，：:])|告诉我|据说|听说|我们来|是不是|有没有|多少"
    ),
    doubts=lazy(
        r"[?？]|[吗呢吧](?:$|[，。])|什么|怎么|如何|哪|谁|能否|是否|会不会|该不该|可能|也许|或许|大概|好像|似乎|觉得|认为|以为|感觉|猜|"
        r"怀疑|(?<!不)想(?!家|念)|希望(?!被)|应该|该换|你|您|这(?!几年|些年|个月|周|里)|那(?!边|时|里)|它|上面|下面|以下|例如|比如|…|"
        r"\.\.\.|第[一二三四五]个"
    ),
    passing=lazy(
        r"我(?:们|也|都|就|还|不太?|刚才?|刚刚|已经|正)*(?:把|需要|理解|提交|在(?:看|想|写|找|做|试|跑|改|等|读)|有[一个两几些]*(?:问题|列表|疑问|想法|错误)|"
        r"选(?!修)|试|同意|明白|知道|懂|看不?懂|运行|用了|安装|叫你|爱你|的意思|的代码|的程序|的问题)|用.{0,12}(?:安装|运行|执行|试|打开|处理|生成|做)了|循环|函数|代码|命令|脚本|变量|报错|编译|"
        r"死机|很[慢卡]|手机壳|有点事|没(?:用|关系|事|问题)|不(?:行|懂|知道|明白|清楚)$|第一次用|(?:[昨今]天|刚|我).{0,4}[吃喝](?:了|饭)|"
        r"(?:要|去)(?:吃饭|睡觉|洗澡)"
    ),
)


def lasting_sentences(message: str) -> list[str]:
    """What the writer says of themselves that lasts; first what they ask to have remembered."""
    found = [(not one.is_request, _lasting(one)) for one in _own_sentences(message)]
    return [text for _, text in sorted(found, key=lambda each: each[0]) if text]


def _own_sentences(message: str) -> list[Sentence]:
    """The sentences of a message that are its writer's own, in order."""
    found: list[Sentence] = []
    for line in _typed_lines(message):
        if _ANNOUNCED.search(line) or _SALUTATION.match(line):
            found += _of_line(line) if not _WORKED_ON.search(line) else []
            return found
        for sentence in _of_line(line):
            if _SUPPOSED.search(sentence.text) or _WORKED_ON.search(sentence.text):
                return found
            found.append(sentence)
    return found


def _lasting(sentence: Sentence) -> str:
    """The clauses of a sentence that state something lasting of its writer; "" where none does."""
    text = sentence.text.replace("’", "'")
    rules = _CHINESE if _HAN.search(text) else _ENGLISH
    lead = rules.lead.match(text)
    text = text[lead.end() :] if lead else text
    if sentence.is_request:
        return "" if _POINTS_ONLY.match(text) or _is_short(text) else text
    if rules.voids.search(text):
        return ""
    clauses = list(_clauses(text, rules))
    if sentence.is_question:
        del clauses[-1:]
        if _TAG.fullmatch(text[clauses[-1][1] :] if clauses else text):
            return ""
    runs = [list(run) for good, run in groupby(clauses, key=lambda one: one[2]) if good]
    texts = (_TAIL.sub("", text[run[0][0] : run[-1][1]]).strip(" ,;:，；：!") for run in runs)
    stated = [one for one in texts if rules.first_person.search(one) and not _is_short(one)]
    return max(stated, key=len, default="")


def _clauses(text: str, rules: _Rules) -> Iterator[tuple[int, int, bool]]:
    """Beginning and end of each clause up to the first that asks, and whether it may be kept."""
    start = 0
    for cut in [*rules.cut.finditer(text), None]:
        end = cut.start() if cut else len(text)
        clause = text[start:end].strip()
        stands = rules.standing.match(clause) is not None
        if rules.asks.match(clause) and not stands:
            yield start, end, False
            return
        yield (
            start,
            end,
            stands or not (rules.doubts.search(clause) or rules.passing.search(clause)),
        )
        start = cut.end() if cut else end


def _is_short(text: str) -> bool:
    """Whether it is too short to state something of somebody."""
    return len(_WORD.findall(text)) < 2


def typed(message: str) -> str:
    """What of a long message may be typed: its first paragraph and its last, as far as they are short. Between them
    lies what was pasted."""
    if len(message) <= TYPED:
        return message
    message = message.replace("\r\n", "\n")
    begin = message[:_ROUND].lstrip().partition("\n\n")[0]
    whole = len(begin) if len(begin) < _ROUND - 1 else max(begin.rfind(mark) for mark in _STOPS) + 1
    end = message[-_ROUND:].rstrip()
    paragraph = end.rfind("\n\n") if "\n\n" in end else end.find("\n")
    return f"{begin[:whole]}\n\n{end[paragraph:].strip() if paragraph >= 0 else ''}"


def _typed_lines(message: str) -> list[str]:
    """Lines of prose. What a shell or a log printed goes on until an empty line."""
    lines: list[str] = []
    shown = False
    for line in prose(typed(message).replace("\r\n", "\n")).split("\n"):
        shown = bool(_SHELL.match(line)) or (shown and bool(line.strip()))
        speaker = _SPEAKER.match(line)
        spoken = speaker and not _NO_SPEAKER.match(speaker[1]) and not _ANNOUNCED.search(line)
        if not shown and (not spoken or _ends_it(line)):
            lines.append(_QUOTED.sub("\0", line))
    return lines


def _ends_it(line: str) -> bool:
    return bool(_SUPPOSED.search(line) or _WORKED_ON.search(line))


def _of_line(line: str) -> list[Sentence]:
    found: list[Sentence] = []
    for match in _SENTENCE.finditer(line):
        text = match[0].strip(" \t\r-*•+")
        if not text or "\0" in text or len(text) > _LONGEST:
            continue
        asked = _ASKED.search(text) is not None
        lead = _REMEMBER.match(text) or _HAN_REMEMBER.match(text)
        kept = lead is not None and not asked and lead.end() < len(text)
        rest = text[lead.end() :] if lead and kept else text
        found.append(Sentence(rest.rstrip(".!?。！？； "), asked, kept))
    return found
