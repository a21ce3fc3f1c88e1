"""What a newer statement says is no longer so: what it ends, denies or takes back of an older one."""

from __future__ import annotations

import re
from collections.abc import Iterator

from vaultmem.dreams.short_texts import (
    CAP,
    CLAUSE,
    CUES,
    DENIAL,
    NEXT_CLAUSE,
    STATES,
    facts,
    form,
    has_preference,
    is_about_person,
    is_by_user,
    is_unreal,
    read,
    stems,
    stems_of,
    subject,
    tokens_of,
    words_of,
)
from vaultmem.plugins import language
from vaultmem.text.values import remembers_last

_SWITCHED = form("switched")
_ENDED, _OVER, _LISTED = map(form, ("ended", "over", "listed"))
_PURPOSE, _OWNED = form("purpose"), form("owned")
_HANDED, _NOT_HELD, _AMOUNT = form("handed"), form("not_held"), form("amount")
_LITTLE = 2  # words
_ONE_TIME, _THIS_TIME, EACH_TIME = map(form, ("one_time", "this_time", "each_time"))
_NOT_RUNNING, _PLANNED, _ANOTHER = form("not_running"), form("planned"), form("another")


@remembers_last
def without_ended(new: str, old: str) -> str:
    """The newer text without what it says is no longer so, if the older text states that: "It is on Monday now" for
    "It is on Monday, not Friday" beside "It is on Friday". What happened is so for ever."""
    if len(new) > CAP or read(old[:CAP]).event:
        return new
    stated = stems(_ENDED.sub(" ", old[:CAP]))

    def kept(match: re.Match[str]) -> str:
        ended = stems_of(match[match.lastgroup or 0])
        return " now" if ended and ended <= stated else match[0]

    return _ENDED.sub(kept, new)


def ends_other(new: str, old: str) -> bool:
    """Whether the newer text says what is no longer so, and the older one states nothing of it."""
    ended = [stems_of(match[match.lastgroup or 0]) for match in _ENDED.finditer(new[:CAP])]
    return any(ended) and stems(old).isdisjoint(frozenset().union(*ended))


def is_over(old: str, new: str) -> bool:
    """Whether the newer text says that something is over, sold or cancelled, and the older one states it of the same
    subject: "We cancelled the trip to Rome" after "We plan a trip to Rome"."""
    before = read(old[:CAP])
    if before.event or not (before.denied or _ends_something(new)) or is_another(old, new):
        return False
    about, stated = subject(old[:CAP]), stems(old)
    if has_preference(old) and not has_preference(new):
        return False  # who no longer goes there may still like it
    for match in _OVER.finditer(new[:CAP]):
        who = subject(new[:CAP]) if match["what"] and not match["own"] else frozenset()
        ended = stems_of(match[match.lastgroup or 0])
        if ended and ended | who <= stated and about <= ended | who:
            goes_on = _ONE_TIME.search(match[0]) and _is_one_of_many(old, new)
            is_device = _NOT_RUNNING.search(match[0]) and not _PLANNED.search(old)
            return not (goes_on or before.denied or is_device)
    return _is_handed_over(old, new) or _is_other_amount(old, new) or _is_reversed(old, new)


@remembers_last
def _ends_something(new: str) -> bool:
    """Whether the newer text, which is compared with many older ones, has any sign of an end."""
    text = new[:CAP]
    signs = (form.search(text) for form in (_OVER, _HANDED, DENIAL))
    return any(signs) or any(amount["to"] for amount in _AMOUNT.finditer(text))


def is_another(old: str, new: str) -> bool:
    """Whether the older text is about another of the things that the newer one names: "another band"."""
    other = None if _ANOTHER.search(new[:CAP]) else _ANOTHER.search(old[:CAP])
    return other is not None and not stems(new).isdisjoint(stems_of(other[other.lastgroup or 0]))


def _is_handed_over(old: str, new: str) -> bool:
    """Whether somebody else has what the older text says little more about than whose it is: "Ann leads the choir",
    "Ben has taken over the choir from Ann"."""
    about, stated = subject(old[:CAP]), stems(old)
    for match in _HANDED.finditer(new[:CAP]):
        thing, who = (stems_of(part) for part in match.groups() if part)
        thing, who = (who, thing) if match["giver"] or match["vor"] else (thing, who)
        shared = (thing & stated) - about
        if about and about == who & stated and 2 * len(shared) > len(thing - about):
            is_more = len(stated - about - shared) > _LITTLE
            return not (is_more or _NOT_HELD.search(old))
    return False


def _is_other_amount(old: str, new: str) -> bool:
    """Whether somebody or something brings to another amount what the older text states of the same: "I take 75 mg of
    Zoloft", "Dr. Kern has raised my Zoloft to 100 mg"."""
    mine, theirs = ([*_AMOUNT.finditer(text[:CAP])] for text in (old, new))
    named, about = subject(old[:CAP]), subject(new[:CAP])
    is_same = bool(about) and about <= stems(old) and named <= stems(new)
    if not (is_same and len(mine) == len(theirs) == 1 and theirs[0]["to"]):
        return False
    units = [stems_of(amount["unit"]) for amount in (mine[0], theirs[0])]
    return any(units) and units[0] == units[1] and mine[0]["number"] != theirs[0]["number"]


def _is_reversed(old: str, new: str) -> bool:
    """Whether one denies in the same words what the other states: "Ann and Ben are coming", "Ann and Ben are not
    coming"; "no fish", "I eat fish again"."""
    if _THIS_TIME.search(new[:CAP]):
        return False
    return _denies(new, old) or (bool(CUES.search(new[:CAP])) and _denies(old, new, least=1))


def parts(words: frozenset[str], others: frozenset[str]) -> frozenset[str]:
    """The words, if not very short, that begin one of the others: "bed" of "bedtime"."""
    longer = [word for word in words if len(word) > 2]
    return frozenset(
        word for word in longer if any(other.startswith(word) for other in others - words)
    )


def _denies(denying: str, stating: str, least: int = 2) -> bool:
    """Whether a clause of one text denies a clause of the other: all of it, or its last words, at `least` so many."""
    if is_by_user(denying) != is_by_user(stating):
        return False
    stated = [
        [token.stem for token in words_of(clause)]
        for clause in CLAUSE.split(stating[:CAP])
        if not DENIAL.search(clause)
    ]
    return any(
        words[-len(denied) :] == denied
        and (is_by_user(stating) or {*words[: -len(denied)]} <= who)
        and (len(denied) >= least or {*words} - who == {*denied})
        for who, denied in _denials(denying)
        for words in stated
        if who <= stems(stating)
    )


def _denials(text: str) -> Iterator[tuple[frozenset[str], list[str]]]:
    """What each clause that denies something is about, and the words that it denies."""
    for clause in CLAUSE.split(text[:CAP]):
        if mark := DENIAL.search(clause):
            signs = stems_of(mark[0])
            denied = [token.stem for token in words_of(clause[mark.start() :])]
            if denied := [stem for stem in denied if stem not in signs]:
                yield stems_of(clause[: mark.start()]), denied


def denies_else(old: str, new: str) -> bool:
    """Whether the older text denies only what the newer one does not name: "We eat no pork", "We eat beef again"."""
    denials = [denied[-1] for _, denied in _denials(old)]
    return bool(denials) and not DENIAL.search(new[:CAP]) and stems(new).isdisjoint(denials)


def ends_only_else(old: str, new: str) -> bool:
    """Whether all that the newer text does is deny the same of something else: "I train with Ben", "I no longer train
    with Tom"."""
    clauses = [clause for clause in CLAUSE.split(new[:CAP]) if stems(clause)]
    if not all(map(DENIAL.search, clauses)):
        return False
    is_owned = _OWNED.search(new) is not None and not _OWNED.search(old)  # Ann's shift, not mine
    stated = stems(old)
    denials = [(who, frozenset(denied) - {"了"}) for who, denied in _denials(new)]
    return any(
        denied & stated and denied - stated and (is_owned or stated - denied - who)
        for who, denied in denials
    )


def is_taken_back(old: str, new: str, rest: str) -> bool:
    """Whether the older text is about what the rest of the newer one names, and ends with what that one ends; or that
    is its value, or of something of the user, who switched: "My bank is KBC", "I switched from KBC to Argenta"."""
    about, last = subject(old[:CAP]), read(old[:CAP]).tokens[-1:]
    before, after = ({each.stem for each in tokens_of(text)} for text in (new, rest))
    ended = frozenset(before - after)
    stated = [fact for fact in facts(old[:CAP]) if fact.property in {"is", "uses"}]
    if about and about <= stems(rest):
        values = [stems(fact.value) for fact in stated if ended]
        return ended in values or all(token.stem in ended for token in last)
    is_own = is_by_user(old) or is_about_person(old)
    is_switch = is_by_user(new) and _SWITCHED.search(new)
    if not (ended and is_own and is_switch) or is_part(ended, old):
        return False
    is_all = is_by_user(old) and not (has_preference(old) or _PURPOSE.search(rest))
    if is_all and ended == {token.stem for token in last}:
        return True
    stated = [fact for fact in stated if len(stems(fact.subject)) == (fact.property == "is")]
    return ended in [stems(fact.value) for fact in stated]


def _is_one_of_many(old: str, new: str) -> bool:
    """Whether what is cancelled is one time of what the older text says of many: "Yoga is cancelled tonight"."""
    is_now = _THIS_TIME.search(new[:CAP]) is not None and not language().days(old[:CAP])
    return is_now or EACH_TIME.search(old[:CAP]) is not None


def is_part(ended: frozenset[str], old: str) -> bool:
    """Whether the older text lists one of these words and something else: "a Fiat and a Ford"."""
    pairs = (
        [stems_of(one) for one in match.groups() if one] for match in _LISTED.finditer(old[:CAP])
    )
    return any((one <= ended) != (other <= ended) for one, other in pairs if one and other)


def states_more(old: str, new: str) -> bool:
    """Whether the older text makes several statements that the newer one lacks, or lists more, so that it stays."""
    others = (part for part in clauses(old[:CAP]) if not stems(part) <= stems(new))
    return len([*others]) > 1 or is_part(stems(new), old)


def clauses(text: str) -> list[str]:
    """The parts of a text that each state something."""
    return [part for part in NEXT_CLAUSE.split(text) if STATES.search(part)]


def changed_parts(text: str) -> list[str]:
    """The parts of a text with several that speak of a change."""
    parts = [] if is_unreal(text) else NEXT_CLAUSE.split(text)
    return [part for part in parts if CUES.search(part)] if len(parts) > 1 else []
