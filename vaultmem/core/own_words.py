"""Sentences of a message that its writer says in their own name: no code, no quotes, no pasted text, nothing that is
only supposed. Which of them state something is for core.told_english and core.told_chinese."""

from __future__ import annotations

import re
from typing import NamedTuple

from vaultmem.core.intent import prose

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
