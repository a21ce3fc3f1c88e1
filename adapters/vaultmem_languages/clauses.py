"""Clauses of a text, and the plain facts that English and Chinese clauses state: subject, relation, object."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from vaultmem.light import NamedTuple
from vaultmem.text.values import lazy, toml_table
from vaultmem_languages import pattern, slots
from vaultmem_languages.slots import Fact, fixed_fact, without_recency
from vaultmem_languages.when_words import han_number

_LONGEST = 240  # characters of a clause; longer ones are skipped
_SENTENCE = pattern("texts", "sentence", 0)
_CUT = lazy(
    r"[，,](?!\d)|\s(?=(?:but|because|while|although|though|whereas|since|so|please)\s)|\s[-–—]{1,3}\s|(?=但是|因为|所以|不过(?!敏)|而且)"
)
_UNSURE = pattern("clauses", "unsure")
_TAKEN_BACK = pattern("clauses", "taken_back")
_LEAD = pattern("clauses", "lead")
_HEADING = lazy(r"\s*(?:#{1,6}\s+(.+?)|([^\s:：][^:：\n]{0,60})[:：])\s*$")


class Clause(NamedTuple):
    """A clause that may state something; `under` is the heading above it."""

    text: str
    start: int
    end: int
    under: str = ""
    opens: bool = True  # begins its line: only there may the subject be omitted ("Prefers tea")
    denied: bool = False  # the speaker takes back what it states: "I never said that I like tea"


def clauses(text: str) -> Iterator[Clause]:
    """Yield the clauses of a text that state something as certain and currently true."""
    under = ""
    at = 0
    for line in text.split("\n"):
        may_be_heading = "#" in line or line.rstrip().endswith((":", "："))
        if may_be_heading and (heading := _HEADING.match(line)):
            under = heading[1] or heading[2]
        else:
            yield from _of_line(line, at, under)
        at += len(line) + 1


def _of_line(line: str, at: int, under: str) -> Iterator[Clause]:
    opens = True
    for sentence in _SENTENCE.finditer(line):
        taken_back = _TAKEN_BACK.match(sentence[0])
        start = taken_back.end() if taken_back else 0
        if _UNSURE.search(without_recency(sentence[0][start:])):
            opens = False
            continue
        cuts = [(m.start(), m.end()) for m in _CUT.finditer(sentence[0], start)]
        for end, resume in [*cuts, (len(sentence[0]), len(sentence[0]))]:
            piece = sentence[0][start:end]
            if piece.strip() and len(piece) <= _LONGEST:
                lead = _LEAD.match(piece)
                skipped = lead.end() if lead else 0
                stated = piece[skipped:].rstrip(" .!。！\t")
                begin = at + sentence.start() + start + skipped
                if stated:
                    yield Clause(
                        stated, begin, begin + len(stated), under, opens, taken_back is not None
                    )
                    opens = False
            start = resume


# English: a subject of at most seven words, then the verb.
_WORD = r"[^\s:：]+"
_SUBJECT = rf"(?P<subject>{_WORD}(?:[ \t]{_WORD}){{0,6}}?)"


@cache
def _verbs(language: str) -> dict[str, tuple[str, bool]]:
    """Verbs as written, with the canonical verb and whether it negates."""
    tables: dict[str, str] = toml_table("vaultmem_languages", "words")[f"{language}_verbs"]
    return {
        verb: (kind.removeprefix("not "), kind.startswith("not "))
        for kind, verbs in tables.items()
        for verb in verbs.split(", ")
    }


@cache
def _third_persons() -> dict[str, str]:
    """The third person of verbs, with the plain verb: lives in = live in."""
    plain = (verb.partition(" ") for verb in _verbs("english") if verb not in ("have", "stand"))
    return {
        "has": "have",
        **{f"{verb}s{gap}{rest}": verb + gap + rest for verb, gap, rest in plain},
    }


def _any_of(*verbs: str) -> str:
    return "|".join(sorted(verbs, key=len, reverse=True))


_WEIGHED = ("prefers", "chooses")  # one thing over another: the other is not negated
_PLAIN_AFTER = lazy(r"(?:^|\s)(?:i|we|you|they|users?|people|all|team)$", re.IGNORECASE)
_VERB_FACT = pattern(
    "clauses", "verb", subject=_SUBJECT, verbs=lambda: _any_of(*_verbs("english"), *_third_persons())
)  # fmt: skip
_ROLE = pattern("clauses", "role")
_COPULA_FACT = pattern("clauses", "copula", subject=_SUBJECT)
_KEYED = lazy(
    r"(?P<subject>[^\s:：=].{0,40}?)\s*(?:[:：]|=)\s*(?![/\\:：=])(?P<value>[^:：]{1,80})$"
)
_WHERE = pattern("clauses", "where")
_DROPPED, _NARROWER = pattern("clauses", "dropped"), lazy(r"\s(?:with|from|as well as)\s.*")
_OVER = lazy(r"\s+(?:over|rather than|instead of|more than|to|than)\s+(.+)$", re.IGNORECASE)
_LISTED = lazy(r"\s+(?:and|or|nor)\s+|\s*[、和与]\s*|\s*以及\s*", re.IGNORECASE)
_ABOUT = pattern("clauses", "said_of")
_AGE = lazy(
    r"(?P<years>[1-9]\d?|1[0-3]\d)(?P<unit>\s+years?(?:\s+old|\s+of\s+age)|[\s-]+year[\s-]+old)?$",
    re.IGNORECASE,
)
_NAMED = lazy(r"[A-Z][\w-]*(?:\s[A-Z][\w-]*){0,2}$")


def facts(clause: Clause) -> list[Fact]:
    """The facts of one clause; [] when its form is unknown or its subject is not named."""
    result: list[Fact] = []
    for fact in _read(clause.text):
        if fact.subject or clause.opens:
            names = _LISTED.split(fact.subject)  # "Ben and Clara": true of each
            names = names if all(_NAMED.fullmatch(name) for name in names) else [fact.subject]
            negated = fact.negated != clause.denied
            result += [fact._replace(subject=name, negated=negated) for name in names]
    return result


def _split_at(form: re.Pattern[str], text: str) -> tuple[str, str]:
    """The text before and after the first match; all of it and "" if there is none."""
    match = form.search(text)
    return (text[: match.start()], text[match.end() :]) if match else (text, "")


def _read(clause: str) -> list[Fact]:
    if fixed := fixed_fact(clause):
        return [fixed]
    if not clause.isascii() and re.search(r"[\u4e00-\u9fff]", clause):
        return _chinese(clause)
    clause = _ROLE.sub(r"\g<verb> \g<place> \g<role>", clause)
    for result, read in ((_VERB_FACT.match(clause), _verb), (_COPULA_FACT.match(clause), _copula)):
        if result and (facts := read(result)):
            return facts
    keyed = _KEYED.match(clause) if any(sign in clause for sign in ":：=") else None
    return _slot_fact(keyed["subject"], keyed["value"]) if keyed else []


def _verb(match: re.Match[str]) -> list[Fact]:
    written = " ".join(match["verb"].lower().split())
    subject = (match["subject"] or "").strip()
    plain = _third_persons().get(written, written)
    kind, denies = _verbs("english")[plain]
    denied = match["not"] is not None or match["cannot"] is not None
    if not _is_verb(written, subject, denied=denied) or _ABOUT.search(subject):
        return []
    if denies and match["not"]:
        return []  # not hating tea is not liking it
    if plain in ("have", "need") and re.match(r"to\s|been\s", match["value"], re.IGNORECASE):
        return []  # "has to" is not a possession
    if kind == "port":
        return _port(subject, match["value"], denied)
    return _split_value(Fact(subject, kind, match["value"], denied or denies))


def _is_verb(written: str, subject: str, *, denied: bool) -> bool:
    """Whether the word can be the verb of that subject, unlike in "things like tea" or "the drink menu"."""
    if written == "stand":
        return denied
    return written not in _verbs("english") or denied or _PLAIN_AFTER.search(subject) is not None


def _port(subject: str, value: str, denied: bool) -> list[Fact]:
    number = re.match(r"(?:port )?(\d{2,5})(?!\S)", value)
    return [Fact(f"{subject} port", "is", number[1], denied)] if number else []


def _split_value(fact: Fact) -> list[Fact]:
    """The facts of a verb, with the value split into object, place and alternative, one for each item of a list."""
    value, negated, over, where = _DROPPED.sub("", fact.value), fact.negated, "", ""
    if value.lower().startswith(("not ", "no ")):
        value, negated = value.split(" ", 1)[1].removeprefix("to "), not negated
        if not negated:
            return []
    against = _OVER.search(value)
    if against and (fact.property in _WEIGHED or " to " not in against[0][:4]):
        value, over = value[: against.start()], _LISTED.split(against[1])[0]
        over, where = _split_at(_WHERE, over)
    value, beside = _split_at(_WHERE, value)
    where = beside or where
    if negated and (narrower := _NARROWER.match(fact.value[len(value) :])):  # no tea with sugar
        where = where or narrower[0]
    value = re.sub(r"^(?:to |using |that )", "", value)
    things = [thing for thing in _LISTED.split(value) if thing]
    if over and fact.property not in _WEIGHED:
        denied = fact._replace(value=over, where=where, negated=not negated)
        return [fact._replace(value=value, where=where, negated=negated), denied]
    if over:
        return [fact._replace(value=value, where=where, negated=negated, over=over)]
    several = len(things) > 1
    return [
        fact._replace(value=thing, where=where, negated=negated, plural=several) for thing in things
    ]


def _copula(match: re.Match[str]) -> list[Fact]:
    subject, value = match["subject"], match["value"]
    if match["called"] and slots.slot(subject) is None:  # "My cat is called Minka"
        subject = f"{subject}'s name"
    verb = (match["verb"] or "am").lower()
    negated = match["not"] is not None or "n" in verb.removeprefix("=")[-3:].replace("am", "")
    if _ABOUT.search(subject) or re.match(
        r"(?:to|going|being|about to|not|why|how|what|where)\s", value, re.IGNORECASE
    ):
        return []
    plural = verb.startswith("are")
    if aged := _age(subject, value, negated):
        return aged
    if slots.slot(subject):
        return _slot_fact(subject, value, negated, plural)
    turned = re.match(r"(.+?['’]s|my|our)\s+(favou?rite\s+.+)$", value, re.IGNORECASE)
    if turned:  # "Vim is my favourite editor"
        return _slot_fact(value, subject, negated, plural)
    return [Fact(subject, "is", _DROPPED.sub("", value), negated, plural=plural)]


def _age(subject: str, value: str, negated: bool) -> list[Fact]:
    """Someone's age; [] if it is not stated, or the subject may be ambiguous: "my son" need not be the only one. A
    bare number is the user's age."""
    match = _AGE.match(_DROPPED.sub("", value))
    is_user = slots.canonical_subject(subject) == "user"
    is_one = is_user or slots.slot(subject) is not None or _NAMED.match(subject) is not None
    if not match or not is_one or not (is_user or match["unit"]):
        return []
    return [Fact(f"{subject}'s age", "is", str(int(match["years"])), negated)]


def _slot_fact(subject: str, value: str, negated: bool = False, plural: bool = False) -> list[Fact]:
    """A fact about something that exists once; [] when the subject names no such thing."""
    named = slots.slot(subject)
    if named is None or _ABOUT.search(subject):
        return []
    value = re.sub(r"^(?:on|in|at)\s+", "", value, flags=re.IGNORECASE)
    value, where = _split_at(_WHERE, _DROPPED.sub("", value))
    several = plural or _LISTED.search(value) is not None
    return [Fact(subject, "is", value, negated, where, plural=several)]


# Chinese: no blanks; the verb is searched from the left.
_HAN_VERB_FACT = pattern("clauses", "han_verb", 0, verbs=lambda: _any_of(*_verbs("chinese")))
_HAN_COPULA = pattern("clauses", "han_copula", 0)
_HAN_OVER = lazy(r"(?:而不是|胜过|多过|多于|而非)\s*(.+)$")
_HAN_THAN = lazy(
    r"^(?P<subject>[^比]{0,12})比起\s*(?P<over>.{1,12}?)\s*(?P<rest>(?:我|用户)?更.+)$"
)
_HAN_TAIL = lazy(r"(?:了|吧|呢|啊|的|哦|来着)$")
_HAN_POISON = pattern("clauses", "han_poison", 0)


def _chinese(clause: str) -> list[Fact]:
    than = _HAN_THAN.match(clause)
    if than:  # "比起咖啡我更喜欢茶"
        inner = _chinese(than["subject"] + than["rest"])
        return [fact._replace(over=than["over"]) for fact in inner if fact.property == "prefers"]
    keyed = _KEYED.match(clause)
    if keyed:
        return _slot_fact(keyed["subject"], _HAN_TAIL.sub("", keyed["value"]))
    for form, read in _HAN_FORMS:
        match = form.match(clause)
        if match and not _HAN_POISON.search(match["subject"]):
            return read(match)
    return []


def _han_works(match: re.Match[str]) -> list[Fact]:
    return [Fact(match["subject"], "works at", match["value"], match["not"] is not None)]


def _han_age(match: re.Match[str]) -> list[Fact]:
    years = han_number(match["value"])
    return [Fact(f"{match['subject']}的年龄", "is", str(years))] if years else []


def _han_allergy(match: re.Match[str]) -> list[Fact]:
    denied = bool(match["not"] or match["free"])
    return [Fact(match["subject"], "is", f"allergic to {match['value']}", denied)]


def _han_verb(match: re.Match[str]) -> list[Fact]:
    kind, denies = _verbs("chinese")[match["verb"]]
    subject, value = match["subject"].strip(), _HAN_TAIL.sub("", match["value"].strip())
    if match["verb"] in ("用", "喝", "吃") and not (subject and len(subject) <= 8 and value):
        return []
    if slots.slot(subject) or (denies and match["not"]) or re.search(r"[是]", subject):
        other = _HAN_COPULA.match(match.string)
        return _han_copula(other) if other else []
    if kind == "port":
        return _port(subject, value.removeprefix("端口").strip(), match["not"] is not None)
    negated, over = (match["not"] is not None) != denies, ""
    against = _HAN_OVER.search(value)
    if against:
        value, over = value[: against.start()], against[1]
        kind = "prefers" if kind == "likes" else kind
    if over:
        return [Fact(subject, kind, value, negated, over=over)]
    things = [thing for thing in _LISTED.split(value) if thing]
    return [Fact(subject, kind, thing, negated, plural=len(things) > 1) for thing in things]


def _han_copula(match: re.Match[str]) -> list[Fact]:
    subject, value = match["subject"].strip(), _HAN_TAIL.sub("", match["value"].strip())
    negated = match["not"] is not None
    if value.endswith("过敏"):
        return []
    if match["called"] and subject and slots.slot(subject) is None:  # 我的狗叫旺财
        subject = f"{subject}的名字"
    if slots.slot(subject):
        return _slot_fact(subject, value, negated)
    return [Fact(subject, "is", value, negated)] if subject and value else []


_HAN_FORMS = (
    (pattern("clauses", "han_works", 0), _han_works),
    (pattern("clauses", "han_age", 0), _han_age),
    (pattern("clauses", "han_allergy", 0), _han_allergy),
    (_HAN_VERB_FACT, _han_verb),
    (_HAN_COPULA, _han_copula),
)
