"""Of what summaries are made, and whether that is the same still.

What was forgotten, corrected or made private is told no more; what was evicted for want of room is not forgotten.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256

from vaultmem.core.conversation import SUMMARY, Entry
from vaultmem.core.likeness import content_hash
from vaultmem.core.private import is_private
from vaultmem.core.stamps import seconds


def sources(told: Iterable[Entry]) -> list[Entry]:
    """The turns and facts that summaries are made of: those that live, and those that only had to make room."""
    found = [
        one
        for one in told
        if one.role != SUMMARY
        and one.properties.get("compression_source") is not True
        and (not one.deleted or one.properties.get("evicted") is True)
    ]
    living = {one.id for one in found if not one.deleted}
    return [one for one in found if not one.deleted or one.id not in living]


def covers(entries: Iterable[Entry]) -> str:
    """What a summary is made of, to tell whether it is the same still."""
    said = sorted(f"{name(one)} {content_hash(one.content)}" for one in entries)
    return sha256("\n".join(said).encode()).hexdigest()[:16]


def name(one: Entry) -> str:
    """What leads to an entry, wherever it was put: names of turns and facts are unique, those of summaries are not."""
    path = one.path.removesuffix(".md")
    return path if one.role == SUMMARY else path.rpartition("/")[2]


def is_other(summary: Entry, entries: Iterable[Entry]) -> bool:
    """Whether a summary was made of anything else than what is there of it now. One that does not say of what it was
    made is somebody else's."""
    told = summary.properties.get("covers")
    return isinstance(told, str) and told != covers(entries)


def is_told_on(final: Entry, told: Iterable[Entry]) -> bool:
    """Whether the summary of all tells what is not to be told any more. `told` is what of the conversation may be."""
    there = [one for one in told if may_be_told(one)]
    made_of = sources(there)
    sums = [one for one in there if one.role == SUMMARY and not one.deleted]
    parts = {f"[[{name(one)}]]" for one in (*sums, *made_of)}
    covered = [one for one in made_of if one.created <= sums_up_to(final)]
    return is_other(final, covered) or not parts.issuperset(links(final))


def is_outdated(final: Entry, entries: Iterable[Entry]) -> bool:
    """Whether something that it tells was taken back since it was written: made private, forgotten, rewritten or
    removed in an editor. It is written anew after the next turn, and is not told until then; what a person has made of
    it stays as it is. What was only learned since, or corrected, takes nothing back."""
    if not is_ours(final):
        return False
    then = [_as_it_was(one, final.updated) for one in entries]
    return is_told_on(final, [one for one in then if one is not None])


def _as_it_was(one: Entry, at: float) -> Entry | None:
    """An entry as the summary of that time knows it; None for what is newer."""
    if one.role == SUMMARY:
        return one
    if not one.deleted:
        return one if one.updated <= at else None
    gone = seconds(one.properties.get("deleted_at")) or one.updated
    is_corrected = "replaced_by" in one.properties and gone >= at
    return one._replace(deleted=False) if is_corrected else one


def sums_up_to(one: Entry | None) -> float:
    """Up to when a summary sums up what was said."""
    return 0.0 if one is None else seconds(one.properties.get("covers_until")) or 0.0


def may_be_told(one: Entry) -> bool:
    """Whether models may read it."""
    return not is_private(one.properties)


def is_edited(one: Entry) -> bool:
    """Whether a person has changed the words of a summary, which are theirs from then on."""
    written = one.properties.get("content_hash")
    return isinstance(written, str) and written != content_hash(one.content)


def is_ours(one: Entry) -> bool:
    """Whether it may be written anew: a person has neither changed it nor taken it away from models."""
    return may_be_told(one) and not is_edited(one)


def links(one: Entry) -> set[str]:
    """Its links as they are written."""
    given = one.properties.get("links")
    return {str(each) for each in given} if isinstance(given, list) else set()
