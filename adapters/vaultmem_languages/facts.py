"""Finds up to three sentences of a message that state something lasting about its writer, verbatim."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from functools import cache
from itertools import groupby

from vaultmem.light import NamedTuple
from vaultmem.text.scripts import typed_part
from vaultmem.text.values import lazy
from vaultmem_languages import pattern, words
from vaultmem_languages.intentions import prose

MOST = 3  # facts of one message
LONGEST = 300  # characters of a fact
_HAN, _GERMAN = lazy(r"[\u4e00-\u9fff]"), pattern("texts", "capital_nouns")
_PAST = lazy(r"\b(?:was|did|had|used to|moved|got|quit|started|left|bought|sold|\w+ed)\b|了|过")
_WEEKDAY = lazy(
    r"\b(?:on|by|until) (?:mon|tues|wednes|thurs|fri|satur|sun)day\b(?! ?\()(?!s)", re.IGNORECASE
)


def facts_in(message: str, now: datetime | None = None) -> list[str]:
    """At most three sentences of a message that state something lasting about its writer, verbatim: by rules, without
    a model, in English, Chinese or German.

    With `now`, in the zone of the writer, relative days are followed by the day they mean.
    """
    result: dict[str, str] = {}
    for clause in (part for sentence in _lasting_sentences(message) for part in _split(sentence)):
        if len(clause) <= LONGEST:
            result.setdefault(clause.casefold(), clause)
    return [_with_date(fact, now) for fact in result.values()][:MOST]


def _with_date(fact: str, now: datetime | None) -> str:
    if now is None:
        return fact
    from vaultmem_languages import when  # the grammar is only needed for facts

    if not _PAST.search(fact):  # "on Friday" is the next one
        for result in reversed(when.find(fact, now)):
            if result.relative and not result.repeat and _WEEKDAY.search(fact[: result.end]):
                fact = f"{fact[: result.end]} ({result.when:%Y-%m-%d}){fact[result.end :]}"
    return when.absolute(fact, now)


# --- Sentences that state something lasting Only typed text counts: no code, quotes, pasted text or suppositions. A
# sentence counts if it is in the first person; clauses that ask, doubt, or concern the current task are cut off.

_LONGEST = 400  # characters of a sentence
_QUOTED = lazy(
    r"“[^”\n]{0,600}”|「[^」\n]{0,600}」|『[^』\n]{0,600}』|«[^»\n]{0,600}»|\"[^\"\n]{0,600}\""
    r"|\[redacted: [^\]\n]{1,40}\]|(?<![\w\0])['‘](?=\S)[^'’\n]{0,600}(?:['’](?=\w)[^'’\n]{0,600})*['’](?!\w)"
)
_SHELL = lazy(
    r"\s*(?:\$|>>>|%|PS [A-Z]:\S*>)\s|\t| {4}\S|\W?\d{4}-\d\d-\d\d[T ]\d\d:|\W?(?:INFO|DEBUG|WARN|ERROR)\b"
)
_SPEAKER = lazy(r"\W*(?:\[[^\]\n]{1,30}\]\W*)?([^\W\d][^:：\n.!?。，,]{0,30})[:：](?=\s|[^\s\d/])")
_SENTENCE = pattern("sentences", "sentence", 0, month=lambda: words("german_times", "month"))
_QUESTION = lazy(r"[?？]|[吗呢]\s*[。！!.]*$")
_WORD_OR_TWO = lazy(r"[\u4e00-\u9fff]{2}|[^\W\u4e00-\u9fff]+")
_NO_SPEAKER = pattern("sentences", "no_speaker")
_SALUTATION = pattern("sentences", "salutation")
_ANNOUNCED = pattern("sentences", "announced")
_SUPPOSED = pattern("sentences", "supposed")
_WORKED_ON = pattern("sentences", "worked_on")
_REMEMBER = pattern("sentences", "remember")
_TAKEN_BACK = pattern("clauses", "taken_back")
_POINTS_ONLY = pattern("sentences", "points_only")
_TAG = pattern("sentences", "tag")
_TAIL = pattern("sentences", "tail")
_STATES = pattern("english_sentences", "states")
_AND_STATES = pattern("english_sentences", "and_states")
_VERB = pattern("texts", "states")
_WITHOUT_ICH = pattern("german_sentences", "without_ich")
_NEXT = lazy(r",?\s+(?:and|but)\s+(?=(?:i|we|my|our)\b)|[，,；;]\s*(?=我)", re.IGNORECASE)


class _Sentence(NamedTuple):
    """One typed sentence."""

    text: str  # without the words "remember that"
    is_question: bool  # the part before the question may state something
    is_request: bool  # the writer asks to remember it


class _Rules(NamedTuple):
    """The patterns of a language for its clauses, from words.toml; each is searched in one clause."""

    cut: re.Pattern[str]  # between clauses
    lead: re.Pattern[str]  # opens a sentence without meaning
    first_person: re.Pattern[str]
    standing: re.Pattern[str]  # a standing request
    asks: re.Pattern[str]  # opens a question or a request
    voids: re.Pattern[str]  # in a sentence: a condition, or another person's words
    doubts: re.Pattern[str]
    passing: re.Pattern[str]  # momentary, or about the current task


@cache
def _rules(language: str) -> _Rules:
    return _Rules(*(pattern(f"{language}_sentences", name) for name in _Rules._fields))


def _lasting_sentences(message: str) -> list[str]:
    """The lasting sentences about the writer; first those that they ask to remember."""
    result = [(not sentence.is_request, _lasting(sentence)) for sentence in _own_sentences(message)]
    return [text for _, text in sorted(result, key=lambda pair: pair[0]) if text]


def _own_sentences(message: str) -> list[_Sentence]:
    """The sentences of a message that are its writer's own, in order."""
    result: list[_Sentence] = []
    for line in _typed_lines(message):
        if _ANNOUNCED.search(line) or _SALUTATION.match(line):
            result += _of_line(line) if not _WORKED_ON.search(line) else []
            return result
        for sentence in _of_line(line):
            if _ends_it(sentence.text):
                return result
            result.append(sentence)
    return result


def _lasting(sentence: _Sentence) -> str:
    """The clauses of a sentence that state something lasting about its writer; "" without one."""
    text = sentence.text.replace("’", "'")
    german = "german" if _GERMAN.search(text) else "english"
    rules = _rules("chinese" if _HAN.search(text) else german)
    lead = rules.lead.match(text)
    text = text[lead.end() :] if lead else text
    if german == "german" and _WITHOUT_ICH.match(text):
        text = f"ich {text[0].lower()}{text[1:]}"
    if sentence.is_request or _denies(text):
        return "" if _POINTS_ONLY.match(text) or _is_short(text) else text
    if rules.voids.search(text):
        return ""
    clauses = list(_clauses(text, rules))
    if sentence.is_question:
        del clauses[-1:]
        if _TAG.fullmatch(text[clauses[-1][1] :] if clauses else text):
            return ""
    runs = [list(run) for good, run in groupby(clauses, key=lambda clause: clause[2]) if good]
    texts = (_TAIL.sub("", text[run[0][0] : run[-1][1]]).strip(" ,;:，；：!") for run in runs)
    stated = [one for one in texts if rules.first_person.search(one) and not _is_short(one)]
    return max(stated, key=len, default="")


def _denies(text: str) -> bool:
    """Whether it takes back a statement: "I never said that I like tea"."""
    from vaultmem_languages.statements import statements  # rarely needed here

    return _TAKEN_BACK.match(text) is not None and bool(statements(text))


def _split(sentence: str) -> list[str]:
    """The statements of a sentence, separately, so that one can be replaced without the other: "I live in Rome and
    work at Fiat" has two."""
    parts: list[str] = []
    for part in _independent(sentence):
        first, *others = _AND_STATES.split(part) if _STATES.match(part) else [part]
        parts += [first, *(f"I {other}" for other in others)]
    return parts


def _independent(sentence: str) -> Iterator[str]:
    """The parts of a sentence that have a subject each; "Ben and I live in Rome" is one."""
    start = 0
    for joint in _NEXT.finditer(sentence):
        if _HAN.search(joint.string) or _VERB.match(sentence[start : joint.start()]):
            yield sentence[start : joint.start()]
            start = joint.end()
    yield sentence[start:]


def _clauses(text: str, rules: _Rules) -> Iterator[tuple[int, int, bool]]:
    """Yield the begin and end of each clause up to the first question, and whether it may be kept."""
    start = 0
    for cut in [*rules.cut.finditer(text), None]:
        end = cut.start() if cut else len(text)
        clause = text[start:end].strip()
        stands = rules.standing.match(clause) is not None
        asks = rules.asks.match(clause) is not None and not stands
        unsure = asks or rules.doubts.search(clause) or rules.passing.search(clause)
        yield start, end, stands or not unsure
        if asks:
            return
        start = cut.end() if cut else end


def _is_short(text: str) -> bool:
    """Whether it is too short to state something about somebody."""
    return len(_WORD_OR_TWO.findall(text)) < 2


def _typed_lines(message: str) -> list[str]:
    """The lines of prose. Output of a shell or a log extends to an empty line."""
    lines: list[str] = []
    printed = False
    for line in prose(typed_part(message).replace("\r\n", "\n")).split("\n"):
        printed = bool(_SHELL.match(line)) or (printed and bool(line.strip()))
        speaker = _SPEAKER.match(line)
        spoken = speaker and not (_NO_SPEAKER.match(speaker[1]) or _ANNOUNCED.search(line))
        opening = _rules("english").lead.match(line) if spoken else None  # just so you know: …
        spoken = spoken and not (opening and speaker and opening.end() >= speaker.end())
        if not printed and (not spoken or _ends_it(line)):
            lines.append(_QUOTED.sub("\0", line))
    return lines


def _ends_it(line: str) -> bool:
    """Whether the message is not about its writer from here on: a role play, or a text to edit."""
    return bool(_SUPPOSED.search(line) or _WORKED_ON.search(line))


def _of_line(line: str) -> list[_Sentence]:
    result: list[_Sentence] = []
    for match in _SENTENCE.finditer(line):
        text = match[0].strip(" \t\r-*•+")
        if not text or "\0" in text or len(text) > _LONGEST:
            continue
        is_question = _QUESTION.search(text) is not None
        lead = _REMEMBER.match(text)
        is_request = lead is not None and not is_question and lead.end() < len(text)
        rest = text[lead.end() :] if lead and is_request else text
        result.append(_Sentence(rest.rstrip(".!?。！？； "), is_question, is_request))
    return result
