"""Merges memories that say the same into the one read most, without losing anything of the others."""

from __future__ import annotations

from collections.abc import Iterable

from vaultmem.adapter import Value
from vaultmem.dreams import paraphrase
from vaultmem.dreams.memory_links import Linkers, fold, redirect_link, retarget_links
from vaultmem.dreams.same import Likes, Match, is_of_one_writer, kin, may_join, unite_texts
from vaultmem.dreams.short_texts import CAP
from vaultmem.memories import access
from vaultmem.memories.access import CONNECTED
from vaultmem.memories.draft import Draft
from vaultmem.memories.model import INBOX, Memory
from vaultmem.notes.places import KEYS
from vaultmem.progress import track
from vaultmem.text.times import stamp


def merge(draft: Draft, trust: str = CONNECTED) -> None:
    """Merge near-duplicates until none are left: a merged memory may now say the same as a third."""
    while _pass(draft, trust):
        pass


def join(draft: Draft, one: Memory, other: Memory, reason: str) -> bool:
    """Merge two at a person's request. Returns whether that was possible."""
    first, second = _rank(draft, [one, other])
    return _join(draft, Match(first, reason), second, Linkers(draft.memories()))


def _pass(draft: Draft, trust: str) -> bool:
    groups: dict[tuple[str, ...], Likes] = {}
    linkers: Linkers | None = None
    merged = False
    for memory in track("comparing", _rank(draft, filter(may_join, draft.memories()))):
        likes = groups.setdefault(kin(memory, draft.view.is_approved), Likes(draft, trust))
        match = likes.match(memory)
        if match is not None:
            linkers = linkers or Linkers(draft.memories())
            if _join(draft, match, memory, linkers):
                merged = True
                continue
        likes.add(memory)
    return merged


def _rank(draft: Draft, memories: Iterable[Memory]) -> list[Memory]:
    """Survivors first: the person's own words, most reads, the oldest."""

    def rank(memory: Memory) -> tuple[int, float, float, str]:
        standing = access.standing(access.origin(memory.properties))
        return standing, -draft.reads(memory), memory.created, memory.path

    return sorted(memories, key=rank)


def _join(draft: Draft, match: Match, other: Memory, linkers: Linkers) -> bool:
    """Merge a memory into the one it matches, unless that exceeds the changes that one run may make."""
    survivor = draft.see(match.memory)
    pointing = [draft.see(memory) for memory in linkers.of(other.title)]
    pointing = [memory for memory in pointing if not memory.archived and memory.path != other.path]
    if not draft.may(survivor, other, *pointing):
        return False
    why = f"takes in “{other.title}”: {match.reason}"
    whole = _content(draft, survivor, other)
    if whole != draft.content(survivor):
        draft.rewrite(survivor, whole, why)
    draft.set(survivor, why, **_properties(draft, draft.see(survivor), other))
    if survivor.phase == INBOX and other.phase != INBOX:
        draft.move(survivor, other.category, why)
    draft.archive(other, "merge", f"in “{survivor.title}”: {match.reason}", survivor.id)
    linkers.add(draft.see(survivor))
    for linker in {memory.path: memory for memory in [*pointing, survivor]}.values():
        _redirect(draft, linker, other, survivor)
        linkers.add(draft.see(linker))
    return True


def _content(draft: Draft, survivor: Memory, other: Memory) -> str:
    """The content of the survivor. Of two wordings of one statement the fuller stays, of equal ones the newer; the
    other is in the archive. Nothing of longer texts is left out; one writer's words never get another's name."""
    mine, theirs = draft.content(survivor), draft.content(other)
    if not is_of_one_writer(survivor, other):
        return mine
    if max(len(mine), len(theirs)) > CAP or "\n" in f"{mine.strip()}{theirs.strip()}":
        return unite_texts(mine, theirs)
    more = paraphrase.says_more(theirs, mine) - paraphrase.says_more(mine, theirs)
    if not paraphrase.is_same(mine, theirs) and paraphrase.says_more(theirs, mine):
        return unite_texts(mine, theirs)
    return theirs if more > 0 or (more == 0 and other.created > survivor.created) else mine


def _redirect(draft: Draft, linker: Memory, old: Memory, new: Memory) -> None:
    why = f"“{old.title}” is now in “{new.title}”"
    content = draft.content(linker)
    changed = retarget_links(content, old.title, new.title)
    if changed != content:
        draft.rewrite(linker, changed, why)
    seen = draft.see(linker)
    links = redirect_link(seen, old, new)
    if links != seen.properties.get("links"):
        draft.set(linker, why, links=links)


def _properties(draft: Draft, survivor: Memory, other: Memory) -> dict[str, Value]:
    """The properties of the survivor: the maximum of each, and the longer life of the two."""
    both = (survivor, other)
    is_same_writer = is_of_one_writer(*both)
    names = (other.title, *_texts(other, "aliases")) if is_same_writer else ()
    ratings = [memory.importance for memory in both if memory.importance is not None]
    ends = [memory.expires for memory in both]
    sets: dict[str, Value] = {
        "tags": _together(survivor.tags, other.tags),
        "aliases": _together(_texts(survivor, "aliases"), names, survivor.title),
        "links": _together(_texts(survivor, "links"), _texts(other, "links")),
        "created_at": stamp(min(memory.created for memory in both)),
        "access_count": sum(map(draft.reads, both)) or None,
        "importance": max(ratings, default=None),
        "last_reinforced_at": _latest([memory.reinforced for memory in both]),
    }
    if other.decay_policy == "stable" != survivor.decay_policy:
        sets["decay_policy"] = "stable"
    if other.properties.get("global") is True:
        sets["global"] = True
    if is_same_writer:  # what a person added to the other, and its origin
        sets |= {
            key: value
            for key, value in other.properties.items()
            if (key not in KEYS or key == "source") and key not in survivor.properties
        }
    values = {key: value for key, value in sets.items() if value not in ([], None)}
    return {**values, "expires_at": None if None in ends else _latest(ends)}


def _latest(moments: list[float | None]) -> str | None:
    return max((stamp(moment) for moment in moments if moment is not None), default=None)


def _texts(memory: Memory, key: str) -> tuple[str, ...]:
    value = memory.properties.get(key)
    if isinstance(value, list):
        return tuple(map(str, value))
    return (value,) if isinstance(value, str) and value else ()


def _together(one: tuple[str, ...], other: tuple[str, ...], without: str = "") -> list[Value]:
    first: dict[str, str] = {}
    for value in (*one, *other):
        if fold(value) != fold(without):
            first.setdefault(value.casefold(), value)
    return list(first.values())
