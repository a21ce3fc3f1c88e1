"""Extracts facts (subject, property, value) from a short text, and decides whether two of them contradict each other.

Precision before recall: the past, suppositions, questions, and sentences about "her" and "it" give no statement, and
two statements contradict each other only if a subject has one value at a time or one negates the other.
"""

from __future__ import annotations

from vaultmem.adapter import CAP, Statement
from vaultmem.text.values import lazy
from vaultmem_languages.clauses import clauses, facts
from vaultmem_languages.slots import (
    Fact,
    canonical_subject,
    differ,
    fold,
    is_other_script,
    is_pronoun,
    opposite,
    rivals,
    slot,
    split_version,
)
from vaultmem_languages.when_words import MONTH_NAME

_LONGEST = 80  # most characters of a value or a subject
_BESIDE = 12  # characters around a statement that are not context: "Note: ", a bullet
_MOST_PRINTED = 80  # characters of a statement in a reason
_OF_PEOPLE = ("lives in", "works at", "married to", "born in")
_RELATION = lazy(r"(?i:my|our) [a-z-]+ (?=[A-Z][\w-]+$)")  # My sister Anne is Anne
_PLACE = lazy(rf"(?:in|at|on|near)\s(?!(?i:{MONTH_NAME}))[^\W\d_a-z]")
_HAVE_OPPOSITES = ("prefers", "is", "uses", "wants")
_SETTINGS = ("mode", "theme", "answers", "replies", "模式", "主题", "界面", "回答", "回复")
_SINGLE_VERBS = (
    *(*_OF_PEOPLE, "floor"),
    *(f"every so many {unit}" for unit in ("minutes", "days", "months")),
)


def statements(text: str) -> list[Statement]:
    """The facts in the first CAP characters, in order."""
    result: list[Statement] = []
    for clause in clauses(text[:CAP]):
        for fact in facts(clause):
            result += _statement(fact, (clause.start, clause.end), clause.under)
    return result


def _statement(fact: Fact, span: tuple[int, int], under: str) -> list[Statement]:
    fact = fact if fact.subject else fact._replace(subject="user")
    if len(fact.subject) > _LONGEST or not 0 < len(fact.value) <= _LONGEST:
        return []
    subject, kind, single = fact.subject, fact.property, False
    subject = canonical_subject(_RELATION.sub("", subject) if kind in _OF_PEOPLE else subject)
    if kind == "is" and (named := slot(fact.subject)):  # its last noun is a slot
        subject, kind, single = named.owner.replace("'s", ""), named.name, not fact.plural
    single = single or fact.property in _SINGLE_VERBS
    if kind == "lives in" and _PLACE.match(fact.where):  # in Hill Road 2 in Leeds
        fact = fact._replace(value=f"{fact.value} {fact.where}", where="")
    value = fold(fact.value)
    single = single or (
        fact.property == "uses" and not fact.plural and split_version(value) is not None
    )
    is_role = kind == "works at" and fact.where.startswith("as ")  # and no condition
    where = " ".join(part for part in ("" if is_role else fold(fact.where), fold(under)) if part)
    if is_pronoun(subject) or not value or is_pronoun(value) or (not subject and kind == "is"):
        return []
    over = fold(fact.over)
    return [Statement(subject, kind, value, fact.negated, span, single, where, over, fact.language)]


def contradicts(one: Statement, other: Statement, *, is_change: bool = False) -> bool:
    """Whether both cannot be true of the same subject at the same time. 里斯本 may be Lisbon, but where one speaks of a
    change, it holds in either case."""
    if (one.subject, one.property) != (other.subject, other.property) or not _meet(one, other):
        return False
    if one.negated or other.negated:
        return one.negated != other.negated and _is_denied(one, other)
    if one.over or other.over:
        return _against(one, other) or _against(other, one)
    if one.single and other.single:
        if is_change and is_other_script(one.value, other.value):
            return True
        return (rivals if one.property == "uses" else differ)(one.value, other.value)
    return _is_opposed(one, other)


def _is_denied(one: Statement, other: Statement) -> bool:
    """Whether the two, of which one is negated, name one thing; who left Siemens also left "Siemens in Munich"."""
    denied, stated = (one.value, other.value) if one.negated else (other.value, one.value)
    if one.property == "works at":
        return f"{stated} ".startswith(f"{denied} ")
    return stated == denied


def _meet(one: Statement, other: Statement) -> bool:
    """Whether they have the same condition; a negation without one applies to all."""
    if one.where == other.where:
        return True
    denial = one if one.negated else other if other.negated else None
    return denial is not None and not denial.where


def _against(one: Statement, other: Statement) -> bool:
    """Whether `one` prefers something to the value of `other`."""
    return bool(one.over) and one.over == other.value and one.value != other.value


def _is_opposed(one: Statement, other: Statement) -> bool:
    shared = opposite(one.value, other.value)
    if shared is None:
        return False
    if one.property in _HAVE_OPPOSITES:
        return True
    # One can like tea hot and cold; a display has one mode.
    return one.property == "likes" and any(word in shared for word in _SETTINGS)


def contradiction(one: str, other: str) -> str | None:
    """Why two texts contradict each other, in one line for a person; None if they do not."""
    theirs = statements(other)
    if not theirs:
        return None
    for mine in statements(one):
        for their in theirs:
            if contradicts(mine, their) and (
                mine.subject or _around(one, mine) == _around(other, their)
            ):
                return (
                    f"“{_render_statement(one, mine)}” against “{_render_statement(other, their)}”"
                )
    return None


def _around(text: str, statement: Statement) -> str:
    """The folded context of a statement: "port: 80" is the port of whatever the text is about."""
    start, end = statement.span
    context = fold(f"{text[:start]} {text[end:]}")
    return context if len(context) > _BESIDE else ""


def _render_statement(text: str, statement: Statement) -> str:
    start, end = statement.span
    words = " ".join(text[start:end].split())
    return words if len(words) <= _MOST_PRINTED else words[: _MOST_PRINTED - 1].rstrip() + "…"
