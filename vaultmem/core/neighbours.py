"""Which of the facts that are known a new one may bear on: the few that a model, or a rule, then looks at."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import zip_longest

from vaultmem.core.conversation import Entry
from vaultmem.core.statements import statements

_WORD = re.compile(r"[^\W_]+")
_BEGINNING = 5  # letters of a word by which its forms are taken for one
_HAN = re.compile(r"[\u3400-\u9fff]")
_DULL = frozenset(
    "the a an of in on at to and or is are was were be has have had user users s my their his her its it that this "
    "with for from not no".split()
)


def neighbours(
    known: Sequence[Entry], new: Sequence[str], found: Sequence[Sequence[str]], most: int
) -> list[Entry]:
    """At most so many of the facts, the likeliest first. `found` has for each new fact the ids that a search gave."""
    if len(known) <= most:
        return list(known)
    by_id = {one.id: one for one in known}
    about = {one.id: (_topics(one.content), telling_words(one.content)) for one in known}
    newest = [one.id for one in sorted(known, key=lambda one: -one.created)]
    rows: list[Sequence[str]] = []
    for number, text in enumerate(new):
        topics, words = _topics(text), telling_words(text)
        same = [id_ for id_ in newest if topics & about[id_][0]]
        shared = {id_: len(words & about[id_][1]) for id_ in newest}
        alike = sorted((id_ for id_ in newest if shared[id_]), key=lambda id_: -shared[id_])
        rows += [same, found[number] if number < len(found) else (), alike]
    rows.append(newest)
    chosen = (id_ for turn in zip_longest(*rows) for id_ in turn if id_ in by_id)
    return [by_id[id_] for id_ in list(dict.fromkeys(chosen))[:most]]


def _topics(text: str) -> frozenset[tuple[str, str]]:
    return frozenset((one.subject, one.property) for one in statements(text))


def telling_words(text: str) -> frozenset[str]:
    """The words of a text that tell what it is about, in the forms by which they compare."""
    words = (word.casefold() for word in _WORD.findall(text))
    told = {word[:_BEGINNING] for word in words if word not in _DULL}
    return frozenset(told | set(_HAN.findall(text)))
