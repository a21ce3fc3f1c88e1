"""Older statements that a newer one does not affect: they are about something else, or about one of several such
things."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from vaultmem.dreams import paraphrase
from vaultmem.dreams.endings import (
    EACH_TIME,
    denies_else,
    ends_only_else,
    ends_other,
    is_another,
    parts,
)
from vaultmem.dreams.short_texts import (
    CAP,
    CUES,
    GOVERNED,
    IS,
    NAME,
    NUMBER,
    WORD,
    facts_of_both,
    form,
    is_by_user,
    read,
    stems,
    subject,
)
from vaultmem.text.values import lazy

_SIGN = r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]"
_WORD, _UNIT, _SIGNS = lazy(r"\w+"), lazy(rf"{_SIGN}|\w+"), lazy(_SIGN)
_CLITIC = lazy(r"['’]s\b")  # "Leo's" is "Leo is" or what Leo has
_FORMER = form("former")
_EXCHANGED, _BELONGS, _OWNED, _USED = map(form, ("exchanged", "belongs", "owned", "used"))


def is_aside(old: str, new: str, looks: Mapping[str, float]) -> bool:
    """Whether the newer text leaves the older statement unaffected; `looks` are the features of the two."""
    return shares_only_its_subject(old, new) or _is_else(old, new, looks)


def may_be_ended(old: str, new: str, looks: Mapping[str, float]) -> bool:
    """Whether the newer text speaks of a change, and only the shared subject suggests that it does not affect the
    older one: "Leo is vegetarian", "Leo eats meat again"."""
    is_of_subject = bool(looks["cue"]) and shares_only_its_subject(old, new)
    return is_of_subject and not _is_else(old, new, looks)


def _is_else(old: str, new: str, looks: Mapping[str, float]) -> bool:
    tests = (
        denies_else, ends_only_else, is_another, _is_past, _is_about_the_value, _states_something_else,
        _is_about_another, _is_narrower, _is_of_another_thing, _has_another_beginning,
    )  # fmt: skip
    if read(old[:CAP]).event or ends_other(new, old) or any(test(old, new) for test in tests):
        return True
    return _counts_another(old, new, looks) or _is_one_more(old, new, looks)


def _is_past(old: str, new: str) -> bool:
    """Whether only one is about what somebody had before: "the old flat", "the new flat"."""
    return bool(_FORMER.match(old)) != bool(_FORMER.match(new))


def _is_about_the_value(old: str, new: str) -> bool:
    """Whether one text begins with what the other states: "… is called Marta", "Marta moved …"."""
    return _goes_on(old, new) or _goes_on(new, old)


def _goes_on(one: str, other: str) -> bool:
    a, b = ([token.stem for token in read(text[:CAP]).tokens] for text in (one, other))
    shared = set(a) & set(b)
    count = len(shared)
    follows = 0 < count < len(a) and shared == set(a[-count:]) == set(b[:count])
    return follows and other.lstrip().lower().startswith(b[0])


def shares_only_its_subject(old: str, new: str) -> bool:
    """Whether the two are about one subject but not one property of it ("Leo is married", "Leo moved to Lodz"): they
    share only their beginning, without a verb ("Leo is"), and are not followed by two values of one kind, such as
    numbers, days or names."""
    a, b = (read(text[:CAP]).tokens for text in (old, new))
    mine, theirs = ([token.stem for token in tokens] for tokens in (a, b))
    head = paraphrase.difference(mine, theirs).head
    is_headed = 0 < head < len(mine) and _shared_stems(mine, theirs) <= {*mine[:head]}
    if not is_headed or _EXCHANGED.search(new):
        return False
    unit = _WORD if (old + new).isascii() else _UNIT
    plain_texts = (_CLITIC.sub("", CUES.sub(" ", text[:CAP]).lower()) for text in (old, new))
    first, second = map(unit.findall, plain_texts)
    shared = first[: paraphrase.difference(first, second).head]
    has_meaning = [bool(read(word).tokens) for word in shared]
    if True not in has_meaning or not all(has_meaning[has_meaning.index(True) :]):
        return False  # the subject is followed by a verb or a preposition
    values = (
        {(token.kind, token.stem[0].isdigit()) for token in rest if token.kind != WORD}
        for rest in (a[head:], b[head:])
    )
    return set.isdisjoint(*values)


def _shared_stems(mine: Sequence[str], theirs: Sequence[str]) -> set[str]:
    """The stems of both texts; a Chinese character only beside the same one or at the end: 养狗, 养老院 share none."""
    pairs = {*pairwise([*mine, ""])} & {*pairwise([*theirs, ""])}
    paired = {stem for pair in pairs for stem in pair}
    shared = {*mine} & {*theirs}
    # ASCII is looked for first: the pattern takes 2 ms to compile.
    return {
        stem for stem in shared if stem in paired or stem.isascii() or not _SIGNS.fullmatch(stem)
    }


def have_two_subjects(old: str, new: str) -> bool:
    """Whether each is about something that the other does not name: "My dentist is …", "My new doctor is …"."""
    mine, theirs = subject(old[:CAP]), subject(new[:CAP])
    return not (mine <= stems(new) or theirs <= stems(old))


def _is_about_another(old: str, new: str) -> bool:
    """Whether the two have two subjects. The user is one, too, unless the older text says what something is or has:
    "My phone is …", "I have a … now"."""
    mine, theirs = is_by_user(old), is_by_user(new)
    is_other = bool(subject(old[:CAP]) - stems(new)) or (mine and not theirs)
    return is_other and (bool(subject(new[:CAP]) - stems(old)) or (theirs and not IS.search(old)))


def _is_narrower(old: str, new: str) -> bool:
    """Whether the newer text is about one kind of what the older one is about, or something of it: "My phone", "My work
    phone"; "Anna", "Anna's sister"."""
    about, narrower = subject(old[:CAP]), subject(new[:CAP])
    if not about or not about < narrower or not narrower.isdisjoint(stems(old) - about):
        return False
    order = [token.stem for token in read(new[:CAP]).tokens]
    is_compound = order.index(min(about, key=order.index)) < min(map(order.index, narrower - about))
    is_owned = _OWNED.search(new) and not parts(stems(old), narrower)  # bed, bedtime
    return not is_compound or bool(_BELONGS.search(new) or is_owned)


def _is_of_another_thing(old: str, new: str) -> bool:
    """Whether the user does it with another thing at another place or time: "buy bread at Aldi", "buy meat at Lidl"."""
    if not (is_by_user(old) and is_by_user(new)):
        return False
    at, there = (GOVERNED.search(text) or EACH_TIME.search(text) for text in (old, new))
    if not (at and there and at[0].lower() == there[0].lower()):
        return False
    halves = (old[: at.start()], new[: there.start()]), (old[at.end() :], new[there.end() :])
    (act, other_act), (place, other_place) = (tuple(map(stems, half)) for half in halves)
    return not (act <= other_act or other_act <= act or place == other_place)


def _has_another_beginning(old: str, new: str) -> bool:
    """Whether each begins with something else, which the other does not name: "My left knee hurts", "My right
    shoulder hurts"."""
    a, b = (read(text[:CAP]).tokens[:1] for text in (old, new))
    is_user = is_by_user(old) or is_by_user(new)
    return (
        not is_user and all((a, b)) and a[0].stem not in stems(new) and b[0].stem not in stems(old)
    )


def _counts_another(old: str, new: str, looks: Mapping[str, float]) -> bool:
    """Whether each has a number for another name: "I owe Ben 20", "I owe Tom 30"."""
    if not (looks["names differ"] and looks["numbers differ"]) or IS.search(old):
        return False  # is in Mill Street 12
    kinds = [token.kind for token in read(old[:CAP]).tokens if token.stem not in stems(new)]
    is_single = any(
        fact.single for stated in facts_of_both(new[:CAP], old[:CAP]) for fact in stated
    )
    return kinds.index(NAME) < kinds.index(NUMBER) and not is_single


def _is_one_more(old: str, new: str, looks: Mapping[str, float]) -> bool:
    """Whether the newer text adds one more of several possible values. It ends the older one only by naming the same
    value, denying it, or giving another number."""
    is_ended = looks["denied in one"] or looks["numbers differ"]
    if is_ended or not (looks["several"] or _USED.search(old)):
        return False
    ending = read(old[:CAP]).tokens[-1 if old.isascii() else -2 :]  # two characters are a word
    return not stems(new).issuperset(token.stem for token in ending)


def _states_something_else(old: str, new: str) -> bool:
    """Whether the two state different properties of one subject, or one single-valued property of different
    subjects."""
    a, b = (
        [fact for fact in stated if fact.single]
        for stated in facts_of_both(new[:CAP], old[:CAP])[::-1]
    )
    pairs = [(one, other, one.property == other.property) for one in a for other in b]
    near = [pair for pair in pairs if pair[2] or pair[0].subject == pair[1].subject]
    apart = (not is_one or _are_apart(one.subject, other.subject) for one, other, is_one in near)
    return bool(near) and all(apart)


def _are_apart(one: str, other: str) -> bool:
    owner, owned = sorted((one, other), key=len)
    if owned.startswith((f"{owner}'s ", f"{owner}的")):
        return True
    return bool(stems(one) and stems(other)) and stems(one).isdisjoint(stems(other))
