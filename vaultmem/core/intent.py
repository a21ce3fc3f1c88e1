"""Where a note means its reader to do something at a time, and which of its text is plain prose at all."""

from __future__ import annotations

import re

_FENCE = re.compile(r" {0,3}(?:[-*+] )?(`{3,}|~{3,})")
_HEADING_OR_QUOTE = re.compile(r"\s*(?:[-*+] |\d{1,9}[.)] )?(?:#{1,6}(?:\s|$)|>)")
# Code, links, addresses, comments: not what the writer says in plain words.
_INLINE = re.compile(
    r"``[^\n]{0,200}?``|`[^`\n]{1,1000}`|!?\[\[[^\[\]\n]{1,400}\]\]"
    r"|!?\[[^\[\]\n]{0,400}\](?:\([^()\n]{0,500}\)|\[[^\[\]\n]{0,400}\])|<[^<>\n]{1,400}>|%%[^%\n]{0,400}%%"
    r"|\bhttps?://[^\s<>\"'，。；、（）]{1,500}|\(\([0-9a-f-]{36}\)\)"
)
_TASK = re.compile(r"[\s>]*(?:[-*+]|\d{1,9}[.)])\s+\[(.)\]\s")
_MARKER = re.compile(r"[\s>]*(?:[-*+]\s+)?(TODO|DOING|NOW|LATER|WAITING|DONE|CANCELED|CANCELLED)\s")
_OPENING = re.compile(r"[\s>]*(?:[-*+]\s+|\d{1,9}[.)]\s+)?(?:\*\*|__|please\s|请)?")
_CUE = re.compile(
    r"\b(?:remind(?:er)?s?\b|due\b(?! to\b)|deadline\b|don'?t forget\b|do not forget\b|remember to\b|needs? to\b"
    r"|ha(?:ve|s) to\b|must\b|todo\b|make sure\b|appointment\b)"
    r"|提醒|截止|到期|记得|别忘|不要忘|务必|必须|待办|最晚|最迟"
)
_BEFORE = re.compile(r"\b(?:by|before|until|till|no later than)\s+(?:the\s+)?$")
_AFTER = re.compile(r"\s?(?:之|以)?(?:前|截止|到期)")
_VERBS = frozenset(
    """add answer apply arrange ask attend back backup bake book bring buy call cancel check clean close collect
    complete confirm contact cook deliver discuss do download draft drop email feed file fill finish fix follow
    get give go hand help install invite join leave mail make meet message move order organise organize pack
    paint pay phone pick plan plant post practice practise prepare present print publish put read register renew
    rent repair reply report request reserve return review ring schedule see sell send ship sign sort start
    stop study submit sync take talk tell test text throw tidy transfer try turn update upload vacuum visit
    wash watch water withdraw work wrap write""".split()
)
_HAN_DO = re.compile(
    r"[，,\s]{0,2}(?:我们?|咱们)?(?:要|得|需要?|该|应该)?(?:跟|和|与|给|向|去|到|带|把|对)?[^，。！？\s]{0,6}?"
    r"(?:开会|交|打电话|电话|买|续|复查|复诊|体检|关|参加|还|付|缴|提交|完成|回复|回电|寄|取|接|送|见面?|约|面试|考试|上课|出发"
    r"|看牙|看病|看电影|汇报|报告|面谈|会议|聚餐|搬家|报名|报税|签|办理?|写|发|准备|检查|打扫|值班|预约|订|吃药|喝水|浇|对账|起床|叫我|遛|喂|健身|跑步)"
)
_STOP = re.compile(r"[。！？；!?;]|\.(?=\s+[A-Z])")
_NEAR = 300  # characters of a sentence that are looked at on each side


def prose(text: str) -> str:
    """The text with code, quotes, headings and links blanked out, character for character."""
    lines: list[str] = []
    fence = ""
    for line in text.splitlines(keepends=True):
        mark = _FENCE.match(line)
        if fence:
            closes = mark and mark[1].startswith(fence) and not line[mark.end() :].strip("`~ \n\r")
            fence = "" if closes else fence
            lines.append(_blank(line))
        elif mark:
            fence = mark[1]
            lines.append(_blank(line))
        elif _HEADING_OR_QUOTE.match(line):
            lines.append(_blank(line))
        else:
            lines.append(_INLINE.sub(lambda found: _blank(found[0]), line))
    return "".join(lines)


def _blank(text: str) -> str:
    return "".join(char if char in "\r\n" else "\0" for char in text)


def is_plain(text: str, start: int, end: int) -> bool:
    """Whether the words around a time say that something is to be done then.

    An open task, a word such as remind, due or 截止, "by" before the time, or an imperative: "call Bob".
    """
    line_start = max(text.rfind("\n", 0, start) + 1, start - _NEAR)
    found = text.find("\n", end, end + _NEAR)
    line = text[line_start : found if found >= 0 else end + _NEAR]
    if (task := _TASK.match(line)) or (task := _MARKER.match(line)):
        return task[1] in {" ", "/", "TODO", "DOING", "NOW", "LATER", "WAITING"}
    before, after = text[line_start:start], text[end : line_start + len(line)]
    stops = [stop.end() for stop in _STOP.finditer(before)]
    before = before[stops[-1] :] if stops else before
    stop = _STOP.search(after)
    after = after[: stop.start()] if stop else after
    sentence = f"{before} {text[start:end]} {after}".lower()
    if _CUE.search(sentence.replace("’", "'")) or _BEFORE.search(before.lower()):
        return True
    return bool(_AFTER.match(after)) or _is_imperative(before, after)


def _is_imperative(before: str, after: str) -> bool:
    opening = _OPENING.match(before.lower())
    rest = before.lower()[opening.end() :] if opening else before.lower()
    words = rest.split(maxsplit=1)
    if not words:  # "tomorrow call Bob", 后天下午三点半开会
        following = after.lower().lstrip(" ,，:").split(maxsplit=1)
        return bool(following and following[0] in _VERBS) or bool(_HAN_DO.match(after))
    if words[0].strip("*_:,.") in _VERBS:
        return True
    return rest.strip() in {"我", "我们", "咱们"} and bool(_HAN_DO.match(after))
