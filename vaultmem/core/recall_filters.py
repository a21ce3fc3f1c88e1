"""Which candidates may be recalled at all, and why the others may not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from vaultmem.core.recall_candidate import Candidate, Wanted

LEAST_IMPORTANCE = 0.2
# The cosine from which a text without a word of the question may still answer it; see docs/adr/0014. A memory or a
# turn says one thing; a block of a page says several, which makes it less like any of them.
NEAR, NEAR_OF_PAGES = 0.2, 0.1

# Of the score of the best: what fits so much worse is no answer. It is asked of what meaning has judged; by words alone
# a title outweighs a sentence with the same word many times.
FLOOR = 0.4

UNTRUSTED = "untrusted"
Test = Callable[[Candidate, Wanted], bool]

# What nobody may switch off: whose words they are, and who may read them.
_GUARDS: dict[str, Test] = {
    "archived": lambda one, wanted: one.archived and not _is_told_from_archive(one, wanted),
    "not known then": lambda one, wanted: (
        wanted.as_of is not None and not one.note and one.created >= wanted.as_of
    ),
    "private": lambda one, _: one.private,
    "of another scope": lambda one, wanted: not wanted.looks_into(one.scope),
    UNTRUSTED: lambda one, wanted: not (one.trusted or wanted.untrusted),
}
_FILTERS: dict[str, Test] = {
    "of another type": lambda one, wanted: (
        bool(wanted.types) and one.memory_type not in wanted.types
    ),
    "expired": lambda one, _: one.expired,
    "unimportant": lambda one, _: one.importance is not None and one.importance < LEAST_IMPORTANCE,
    "compressed": lambda one, wanted: one.compressed and not wanted.include_compressed,
    "faded": lambda one, wanted: one.confidence < wanted.min_confidence,
}


def _is_told_from_archive(one: Candidate, wanted: Wanted) -> bool:
    """Whether it is told although it is archived: what age alone put away, and of a time in the past what held then."""
    if one.until is not None:
        return wanted.as_of is not None and wanted.as_of <= one.until
    return one.forgotten


def reason(one: Candidate, wanted: Wanted) -> str:
    """Why it may not be recalled; "" when it may."""
    tests = {**_GUARDS, **_FILTERS} if wanted.has("filters") else _GUARDS
    return next((name for name, fails in tests.items() if fails(one, wanted)), "")


def kept(candidates: Iterable[Candidate], wanted: Wanted) -> tuple[list[Candidate], dict[str, int]]:
    """Those that may be recalled, in their order, and how many may not, by the reason."""
    left: Counter[str] = Counter()
    found: list[Candidate] = []
    for one in candidates:
        why = reason(one, wanted)
        if why:
            left[why] += 1
        else:
            found.append(one)
    return found, dict(left)


def replaced(archived: Iterable[Candidate], wanted: Wanted) -> int:
    """How many of the archive would be told if nothing newer stood in their place. What may not be told for another
    reason is not counted either."""
    return sum(
        one.until is not None
        and bool(reason(one, wanted))
        and not reason(one._replace(archived=False), wanted)
        for one in archived
    )


def held_back(candidates: Iterable[Candidate], wanted: Wanted) -> list[Candidate]:
    """Those that answer the question and would be told if the person had approved them."""
    waiting = [one for one in candidates if reason(one, wanted) == UNTRUSTED]
    approved = wanted._replace(untrusted=True)
    return [one for one in fitting(waiting) if not reason(one, approved)]


def fitting(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Those that share a telling word with the question, or are not far from it in meaning, and that do not
    fit much worse than the best. Something always comes first in a search; that does not make it an answer."""
    found = [one for one in candidates if one.shares or _cosine(one) >= _bar(one)]
    judged = [one.score for one in found if "similarity" in one.parts]
    least = FLOOR * max(judged, default=0.0)
    return [one for one in found if "similarity" not in one.parts or one.score >= least]


def _bar(one: Candidate) -> float:
    return NEAR_OF_PAGES if one.is_page else NEAR


def _cosine(one: Candidate) -> float:
    return one.parts.get("similarity", -1.0)
