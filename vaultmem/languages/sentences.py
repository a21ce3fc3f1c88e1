"""Sentences of a message that its writer says in their own name: no code, no quotes, no pasted text, nothing that is
only supposed. Which of them state something is for languages.told_english and languages.told_chinese."""

from __future__ import annotations

import re
from typing import NamedTuple

from vaultmem.languages.intentions import prose

TYPED = 4000  # characters that somebody types; a longer message holds something pasted
_ROUND = 1500  # characters around what is pasted that may be typed
_LONGEST = 400  # characters of a sentence
_STOPS = "\n.!?。！？"
_QUOTED = re.compile(
    r"“[^”\n]{0,600}”|「[^」\n]{0,600}」|『[^』\n]{0,600}』|«[^»\n]{0,600}»|\"[^\"\n]{0,600}\""
    r"|(?<![\w\0])['‘](?=\S)[^'’\n]{0,600}(?:['’](?=\w)[^'’\n]{0,600})*['’](?!\w)"
)
_SHELL = re.compile(
    r"\s*(?:\$|>>>|%|PS [A-Z]:\S*>)\s|\t| {4}\S|\W?\d{4}-\d\d-\d\d[T ]\d\d:|\W?(?:INFO|DEBUG|WARN|ERROR)\b"
)
_SPEAKER = re.compile(
    r"\W*(?:\[[^\]\n]{1,30}\]\W*)?([^\W\d][^:：\n.!?。，,]{0,30})[:：](?=\s|[^\s\d/])"
)
_NO_SPEAKER = re.compile(
    r"(?:please\s+)?(?:remember|note|fyi|btw|info|(?:more |some )?(?:context|background)|"
    r"about me|me|facts?)\b"
    r"|.*\b(?:about me|my|our)\b|(?:请|帮我|你)*(?:记[住好下]|牢记|备注|备忘)|.*我",
    re.IGNORECASE,
)
_SALUTATION = re.compile(
    r"\s*(?:(?:dear|hi|hello|to whom)\b[^.!?\n]{1,40}[,:]|(?:尊敬|亲爱)的[^。\n]{1,20}[，：:])\s*$",
    re.IGNORECASE,
)
_ANNOUNCED = re.compile(
    r"\b(?:here(?: is|['’]s| are)|following|below|text|e-?mail|message|letter|error|output|log|"
    r"code|draft|essay|paragraph|sentences?|article|transcript|review|bio|"
    r"prompt)\b[^.!?]*[:：]\s*$|(?:下面|以下|原文|内容|邮件|文章|这[段篇封句])[^。]*[:：]\s*$",
    re.IGNORECASE,
)
# From here on the message is not about its writer: a part that is played, a text that is worked on.
_SUPPOSED = re.compile(
    r"\b(?:pretend|imagine|suppos(?:e|ing)|role-?play|act (?:as|like)|let['’]?s say|"
    r"say (?:that )?i(?:['’]m| am|['’]ve)|assum(?:e|ing)|hypothetical(?:ly)?|what if|"
    r"you are (?:now )?(?:an?|my)|first[- ]person|(?:from|in) the (?:perspective|voice|"
    r"point of view))\b"
    r"|假[设如装定]|想象|扮演|设想|第一人称|的口吻|以.{1,12}的身份|你(?:现在)?是一[个名位]",
    re.IGNORECASE,
)
_WORKED_ON = re.compile(
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
_SENTENCE = re.compile(
    r"(?:(?<![A-Za-z])(?:Mr|Mrs|Ms|Dr|St|vs|No|approx)\.|\b[ap]\.m\.|\b[ei]\.[ge]\.|"
    r"[.!?](?=[^\s\"')\]\u3000-\u9fff])|[^.!?。！？；\n])+"
    r"[.!?。！？；]*"
)
_ASKED = re.compile(r"[?？]|[吗呢]\s*[。！!.]*$")
_REMEMBER = re.compile(
    r"\s*(?:(?:also|and|ok(?:ay)?|so|hey|hi|btw|thanks|great)[,!]?\s+)*"
    r"(?:please\s+|can you\s+|could you\s+)*"
    r"(?:(?:always\s+)?(?:remember|memori[sz]e)(?P<that>\s+that|\s*[:,](?!\s*(?:this|it)\b))?|"
    r"(?:do not|don['’]t) forget(?P<forget>\s+that|\s*[:,])?"
    r"|keep in mind(?P<mind>\s+that|\s*[:,])?)\s+"
    r"(?!to\s|me\b|how\b|when\b|what\b|where\b|why\b|who\b|the (?:time|day|one|moment)\b|"
    r"that (?:time|day|one)\b|about\b)",
    re.IGNORECASE,
)
_HAN_REMEMBER = re.compile(
    r"\s*(?:对了|另外|还有|好的?)?[，,]?(?:请|麻烦|帮我|你|要|一定|务必)*"
    r"(?:记住|记好|牢记|记一下|记下来?|备忘|备注|别忘了?|不要忘[了记]|记得(?=我))(?:一下|了)?[，,：:\s]*"
)


class Sentence(NamedTuple):
    """One sentence as it was typed."""

    text: str  # without the words "remember that"
    asked: bool  # ends as a question; what stands in front of it may state something
    remembered: bool  # the writer wants it kept


def sentences(message: str) -> list[Sentence]:
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


# What lasts, in English: what people own, are, do, have done. And for what is of the moment, or doubtful.

KIN = (
    r"(?:sister|brother|mother|mum|mom|father|dad|wife|husband|spouse|partner|son|daughter|uncle|"
    r"aunt|cousin|niece|nephew|grand(?:mother|father|son|daughter|child|ma|pa)|girlfriend|"
    r"boyfriend|fianc[ée]e?|parent|kid|children|child|baby|twin|sibling|boss|manager|colleague|"
    r"co-?worker|teammate|flatmate|roommate|neighbou?r|landlord|landlady|dentist|doctor|gp|"
    r"teacher|friend|therapist|mentor|supervisor|advisor|lawyer|accountant|(?:step|god|ex-)\w+|"
    r"in-laws?|family|dog|cat|puppy|kitten|parrot|horse|rabbit|hamster|pet|bird|tortoise)s?"
)
THING = (
    r"(?:name|job|profession|company|employer|team|school|university|major|degree|hometown|car|"
    r"bike|bicycle|motorbike|house|apartment|flat|home|phone|laptop|computer|pc|keyboard|os|"
    r"operating system|editor|ide|shell|time ?zone|(?:locker|door|gate|alarm|zip|area|post) code|"
    r"pin|blood type|(?:shoe|ring|shirt) size|flight|train|exam|interview|appointment|wedding|"
    r"anniversary|surgery|trip|holiday|vacation|visa|hobby|hobbies|goal|dream|(?:native|first|"
    r"mother) (?:language|tongue)|mother tongue|diet|religion|faith|pronouns|license plate|"
    r"website|blog|database|stack|framework|office|garden|background|field|specialty|instrument|"
    r"allergy|allergies|eyes|hair|height|weight|age|nickname|surname|birthday)"
)
HELD = re.compile(
    rf"(?:(?:a|an|one|two|three|four|five|six|seven|eight|nine|ten|\d+|no|my own|several|some|"
    rf"many|only|little|another|type \d|severe|mild|bad|chronic)\s+)*"
    rf"(?:[\w'’-]+\s+){{0,3}}?(?:{KIN}|asthma|diabetes|adhd|autism|dyslexia|epilepsy|migraines?|"
    rf"celiac|arthritis|anxiety|depression|"
    r"intolerance|allerg(?:y|ies)|blood pressure|tinnitus|insomnia|degree|phd|master['’]?s|"
    r"bachelor['’]?s|licen[cs]e|certificate|black belt|house|apartment|flat|car|garden|boat|"
    r"motorcycle|bike|piano|guitar|3d printer|tattoos?|visa|passport|green card|macbook|thinkpad|"
    r"blog|company|business|startup|podcast|channel|farm|years? of experience|"
    r"years['’] experience|eyes|hair)\b"
    r"(?!\s+(?:class|component|node|process|element|div|table|row|window|thread|folder|directory|"
    r"file|theme|field|model|object|list)(?:es|s)?\b)"
    r"|(?:an?|my)\s+(?:[\w-]+\s+){0,2}?(?:appointment|exam|interview|flight|surgery|wedding|"
    r"meeting)\b.*\b(?:on|in|at|tomorrow|next)\b",
    re.IGNORECASE,
)
BEING = re.compile(
    r"(?:an?|the)\s+(?!(?:bit|little|lot|tad|few|big|huge|one|same|only|loss|complete|total|"
    r"idiot|fool|mess|person who|fan of (?:this|the idea))\b)[\w'’-]+"
    r"|allergic|intolerant|lactose|gluten|vegetarian|vegan|pescatarian|diabetic|married|divorced|"
    r"single|engaged|widowed|retired|unemployed|self-employed|pregnant|left-handed|right-handed|"
    r"colou?r-?blind|dyslexic|deaf|blind|autistic|bilingual|fluent|trans|gay|lesbian|bisexual|"
    r"non-binary|jewish|muslim|catholic|buddhist|hindu|atheist|christian|(?-i:[A-Z][a-z]+(?:ish|"
    r"ese|an|ch|eek|iss|man))$|(?-i:[A-Z][a-z]{2,}(?: [A-Z][a-z]+)?)$"
    r"|\d{1,3}(?:$|\s+(?:years?|cm|kg|feet|ft|pounds|lbs|and\b))|\d[.,]\d+\s*m\b|"
    r"from\s+(?-i:the\s+[A-Z]|[A-Z])|based in|born|located in|in (?:my|the) (?:early |mid |"
    r"late )?(?:\w+ies|first|second|third|final|last)\b|afraid of|scared of|good at|bad at|"
    r"terrible at|into\s|passionate about|fond of|on (?:insulin|\w+ medication|a (?:diet|low|"
    r"keto|gluten))|due in|(?:learning|studying)\s+(?!about|how|from)|training for|writing (?:a|"
    r"my) (?:book|novel|thesis|dissertation|phd)|building a house|planning (?:a|my|our|"
    r"to (?:move|marry|retire))|(?:moving|flying|travell?ing|relocating|"
    r"going)\s+to\s+(?-i:[A-Z])|getting married|expecting|living (?:in|with)|working (?:as|at|"
    r"for|from|in [A-Z])|teaching|raising (?:two|three|four|\d|my|our|an? (?:child|son|daughter|"
    r"family)|kids|children|twins)|saving (?:up )?for|renovating|recovering from|turning \d|"
    r"preparing for|starting (?:a|my) (?:new )?(?:job|school|course|phd|degree)",
    re.IGNORECASE,
)
DONE = re.compile(
    r"used to\s+(?!think|see|get)\w+|was (?:born|raised|diagnosed)|grew up|lived|worked (?:as|at|"
    r"for|in|with)|studied\s+(?!the\b|your\b)|taught|served (?:in|as)|graduated|"
    r"moved\s+(?:to\s+(?-i:[A-Z])|to an? (?:\w+ )?(?:house|flat|apartment|city|town|country|"
    r"village)|from\s+(?-i:[A-Z])|in with|out of|back to|house|here)|got (?:married|engaged|"
    r"divorced|promoted|laid off|fired|my (?:degree|licen[cs]e|phd|diploma|visa|passport|"
    r"green card)|a (?:new )?(?:job|dog|cat|puppy|car|bike|tattoo|degree))|quit\s+(?:my|smoking|"
    r"drinking|school|college|sugar|coffee|work)|retired|adopted|bought (?:a|an|my|our|two)\b|"
    r"sold (?:my|our|a)\b|started (?:working (?:at|for|as)|learning|(?:my|a) new (?:job|school|"
    r"course|company)|a (?:company|business|blog)|school|university)|joined\s+(?:(?-i:[A-Z])|"
    r"(?:the|an?|my) (?:\w+ )?(?:army|navy|club|gym|team|company|choir|band))|left (?:my job|"
    r"school)|broke my|had (?:surgery|a (?:baby|stroke|heart|daughter|son))|lost my (?:job|"
    r"wallet|phone|keys|passport|mother|father|mum|mom|dad|husband|wife|dog|cat|home)|"
    r"learned (?:to\s|(?-i:[A-Z]))|visited\s+(?-i:[A-Z])|travell?ed to|ran (?:a|the|"
    r"my) (?:\w+ )?(?:half-?)?(?:marathon|race)|won (?:a|the)\b|founded|co-founded|met my|"
    r"became (?:an?|the)\b|switched (?:from|to)|stopped (?:eating|smoking|drinking)|gave up|"
    r"turned \d|passed (?:my|the) (?:\w+ )?(?:exam|bar|driving test)",
    re.IGNORECASE,
)
HAVE_BEEN = re.compile(
    r"(?:been\s+(?:an?\s+|in\s+(?-i:[A-Z])|to\s+(?-i:[A-Z])|living|working (?:as|at|for|in)|"
    r"learning|playing|married|vegetarian|vegan|diagnosed|teaching|sober|single|divorced|"
    r"with\s.*\bfor\b)|(?:lived|worked (?:as|at|for|in)|studied|played|owned|known|visited|moved|"
    r"quit|retired|stopped|given up|smoked|adopted|loved|liked|hated|preferred|eaten|driven|"
    r"ridden)\b)",
    re.IGNORECASE,
)
WILL = re.compile(
    r"(?:be (?:in|at|on|away|travell?ing|out)|move|fly|travel|visit|start|turn|retire|"
    r"get married|graduate|marry|run)\b.*"
    r"\b(?:tomorrow|tonight|next|on|in|this|\d{1,4})\b",
    re.IGNORECASE,
)
ABLE = re.compile(
    r"(?:speak|play|swim|drive|ride|read|cook|ski|sing|dance|code|write|stand|eat|drink|tolerate|"
    r"sleep|digest)\b(?!\s+(?:it|you)\b)",
    re.IGNORECASE,
)
DOING = re.compile(
    r"(?:live\s+(?:in|at|near|with|on|alone|next|close|between|by|here|there)|work\s+(?:as|at|"
    r"for|in|with|from|nights?|night|remotely|full|part|shifts|\d|on (?:weekends|the railway))|"
    r"study\s+(?!this)|teach|commute|volunteer|collect|suffer from|wear|go\s+to\s+(?:bed|the gym|"
    r"church|school|work|university|therapy|sleep)|go by|get up|wake up|sleep|celebrate|"
    r"belong to|support\s+(?-i:[A-Z])|come from|identify as|practi[cs]e|train|speciali[sz]e in|"
    r"major in|code in|program in|keep (?:bees|chickens|kosher|halal)|rent|avoid|weigh|ride|"
    r"take\s+[\w ]+\s+for\s|take (?:insulin|medication)|start\s+(?:my|a|at)\s+(?:new\s+)?(?:job|"
    r"school|course|degree|company|(?-i:[A-Z]))|turn \d|follow a [\w ]*diet|run (?:a|"
    r"my) (?:company|business|farm|shop|blog|startup|bakery|restaurant|club)|grow\s|brew|fast|"
    r"smoke$|vape|tend to|dream of|believe in|foster|share (?:a|an) (?:flat|house|apartment|"
    r"office))",
    re.IGNORECASE,
)
HABIT = re.compile(
    r"\b(?:always|never|usually|often|normally|typically|rarely|seldom)\s|\b(?:every|"
    r"each)\s+(?:single |other |second )?(?:day|morning|evening|night|week|weekend|month|year|"
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)day)|\b(?:on|at) (?:weekdays|weekends|(?:mon|tues|"
    r"wednes|thurs|fri|satur|sun)days)\b|\b(?:once|twice|\w+ times) (?:a|per) \w+|\bdaily\b",
    re.IGNORECASE,
)
NO_HABIT = re.compile(
    r"(?:see|get|have|need|want|know|understand|forget|wonder|end|receive|run into|mean|am|do|"
    r"did|can|could|would|try|feel|think|ask|seem|find|had|was|were|got|heard|saw|knew|tell|say|"
    r"said|thought|meant|mentioned|found)\b",
    re.IGNORECASE,
)
OF_KIN = re.compile(
    r"(?:is|are|was|were|['’]s|isn['’]t|aren['’]t)\s+(?!(?:so|very|too|really|just|like|wrong|"
    r"about|not (?:working|sure)|broken|slow|frozen|stuck|down|dead|full|late|sick|hungry|tired|"
    r"angry|mad|sad|bored|here|gone|empty|locked|missing|null|corrupted|unavailable|offline|"
    r"asking|annoy\w*|(?!learning|studying|living|"
    r"working (?:as|at|for|in)|moving|turning|getting|visiting|coming|arriving|graduating|"
    r"starting|expecting)\w+ing)\b)\S"
    r"|(?:has|have|had)\s+(?!to\b|been (?:asking|trying|acting))\S|(?:lives?|works?|study|"
    r"studies|go(?:es)? to|loves?|likes?|hates?|prefers?|speaks?|plays?|eats?|drinks?|died|"
    r"passed away|moved|got|graduated|turns?|turned|starts?|started|owns?|drives?|uses?|"
    r"teach(?:es)?|retired|joined|leaves|arrives|begins|ends|grew up|runs on|(?:does|do|did) not|"
    r"doesn['’]t|don['’]t|can['’]t|cannot|can|will)\b",
    re.IGNORECASE,
)
MOMENTARY = re.compile(
    r"(?:like|love|hate|prefer|enjoy|dislike)\s+(?:when|how|what|to (?:know|see|ask|hear|say)\b)|"
    r"live\s+in\s+(?:fear|hope|a dream|the past)",
    re.IGNORECASE,
)
DOUBT = re.compile(
    r"\b(?:if|whether|unless|maybe|perhaps|probably|possibly|might|(?-i:may(?! \d))|could|should|"
    r"would|guess|think|believe|suppose|wish|hope|wonder|seems?|apparently|you|your|yours|u|"
    r"someday|some day|ever|example|e\.g\.)\b|['’]d\b|\bas if\b|\.\.\.|…",
    re.IGNORECASE,
)
REPORTED = re.compile(
    r"\b(?:said|says?|told|tells|asked|asks|claims?|claimed|thinks|wrote|according to|heard)\b",
    re.IGNORECASE,
)
POINTS = re.compile(
    r"\b(?:it|its|it['’]s|this(?! (?:year|month|week|summer|winter|spring|autumn|fall|weekend))|"
    r"that|these(?! days)|those|here|there|(?:the )?(?:first|second|third|last|latter|former|"
    r"other|next|same|previous|right|best) (?:one|option|version|approach|idea|choice|solution)|"
    r"the (?:idea|design|look|sound|way|result|answer|latter|former|error|code)|option|above|"
    r"below|following|error|bug|function|loop|variable|method|regex|snippet|command|solution|"
    r"approach|answer|how|what)\b",
    re.IGNORECASE,
)
OTHERS = re.compile(r"\b(?:he|she|they|him|her|his|them|their|so|such)\b", re.IGNORECASE)
