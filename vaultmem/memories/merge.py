"""Merges memories that say the same into the one that is read most; nothing of the others is lost."""

from __future__ import annotations

import re

from vaultmem.adapter import Value
from vaultmem.memories import model, paraphrase
from vaultmem.memories.draft import Draft, Finding
from vaultmem.memories.links import Linkers, folded, redirected, retargeted
from vaultmem.memories.model import CONNECTED, INBOX, Memory
from vaultmem.memories.same import Likes, Match, Tried, is_of_one_writer, kin, may_join, united
from vaultmem.memories.short_texts import CAP
from vaultmem.text.times import seconds, stamp
from vaultmem.text.values import plural
from vaultmem.vault.places import KEYS

MERGED = "merged"  # the kind of what is found
_DATED = re.compile(
    r", \d{4}-\d\d-\d\d(?: [0-9a-z]{6,})?$"
)  # what text.titles adds to a title that is taken


def merge(draft: Draft, trust: str = CONNECTED) -> None:
    """Merge near-duplicates until none are left: two that were joined may now say what a third one says."""
    tried = Tried()
    while _pass(draft, tried, trust):
        pass


def join(draft: Draft, one: Memory, other: Memory, reason: str) -> bool:
    """Merge two that a person takes for the same; whether that could be done."""
    titles = {folded(memory.title) for memory in draft.memories()}
    first, second = sorted((one, other), key=lambda each: _rank(draft, each, titles))
    return _join(draft, Match(first, reason), second, Linkers(draft.memories()))


def _pass(draft: Draft, tried: Tried, trust: str) -> bool:
    groups: dict[tuple[str, ...], Likes] = {}
    memories = [memory for memory in draft.memories() if may_join(memory)]
    linkers: Linkers | None = None
    merged = False
    titles = {folded(memory.title) for memory in memories}
    for memory in sorted(memories, key=lambda each: _rank(draft, each, titles)):
        likes = groups.setdefault(kin(draft.view, memory), Likes(draft, tried, trust))
        match = likes.match(memory)
        if match is not None:
            linkers = linkers or Linkers(draft.memories())
            if _join(draft, match, memory, linkers):
                merged = True
                continue
        likes.add(memory)
    return merged


def _rank(draft: Draft, memory: Memory, titles: set[str]) -> tuple[int, float, bool, float, str]:
    """The survivor comes first: the person's own words, then most reads, then whose title is not another's with a day
    behind it, then oldest."""
    dated = _DATED.search(memory.title)
    second = dated is not None and folded(memory.title[: dated.start()]) in titles
    standing = model.standing(model.origin(memory.properties))
    return standing, -draft.reads(memory), second, memory.created, memory.path


def _join(draft: Draft, match: Match, other: Memory, linkers: Linkers) -> bool:
    """Merge the other into the one it matches, unless that would be more changes than one run may make."""
    survivor = draft.see(match.memory)
    pointing = [draft.see(each) for each in linkers.of(other.title)]
    pointing = [each for each in pointing if not each.archived and each.path != other.path]
    if not draft.may(survivor, other, *pointing):
        return False
    why = f"takes in “{other.title}”: {match.reason}"
    content = draft.content(survivor)
    whole = _words(draft, survivor, other)
    if whole != content:
        draft.rewrite(survivor, whole, why)
    draft.set(survivor, why, **_gathered(draft, draft.see(survivor), other))
    if survivor.phase == INBOX and other.phase != INBOX:
        draft.move(survivor, other.category, why)
    draft.archive(other, "merge", f"in “{survivor.title}”: {match.reason}", survivor.id)
    linkers.add(draft.see(survivor))
    for linker in {each.path: each for each in [*pointing, survivor]}.values():
        _redirect(draft, linker, other, survivor)
        linkers.add(draft.see(linker))
    _mention_user_notes(draft, other, survivor)
    return True


def _words(draft: Draft, survivor: Memory, other: Memory) -> str:
    """What the survivor says then. Of two wordings of one statement the fuller one stays, of equal ones the newer; the
    other is in the archive. Of longer texts nothing is left out; nobody's words stand under the name of another."""
    mine, theirs = draft.content(survivor), draft.content(other)
    if not is_of_one_writer(survivor, other):
        return mine
    if max(len(mine), len(theirs)) > CAP or "\n" in f"{mine.strip()}{theirs.strip()}":
        return united(mine, theirs)
    more = paraphrase.says_more(theirs, mine) - paraphrase.says_more(mine, theirs)
    if not paraphrase.is_same(mine, theirs) and paraphrase.says_more(theirs, mine):
        return united(mine, theirs)
    return theirs if more > 0 or (more == 0 and other.created > survivor.created) else mine


def _redirect(draft: Draft, linker: Memory, old: Memory, new: Memory) -> None:
    """Let the links of one memory lead to the survivor."""
    why = f"“{old.title}” is now in “{new.title}”"
    content = draft.content(linker)
    changed = retargeted(content, old.title, new.title)
    if changed != content:
        draft.rewrite(linker, changed, why)
    seen = draft.see(linker)
    links = redirected(seen, old, new)
    if links != seen.properties.get("links"):
        draft.set(linker, why, links=links)


def _mention_user_notes(draft: Draft, old: Memory, new: Memory) -> None:
    inside = draft.view.folder + "/"
    notes = tuple(
        path for path in sorted(draft.view.sources(old.path)) if not path.startswith(inside)
    )
    if notes:
        verb = "links" if len(notes) == 1 else "link"
        said = f"{plural(len(notes), 'note')} {verb} to [[{old.title}]], which is now in [[{new.title}]]"
        draft.find(Finding(MERGED, old.path, said, notes))


def _gathered(draft: Draft, survivor: Memory, other: Memory) -> dict[str, Value]:
    """The properties of the survivor that holds both. The name of a memory is words of its writer."""
    names = (other.title, *_list(other, "aliases")) if is_of_one_writer(survivor, other) else ()
    sets: dict[str, Value] = {
        "tags": _together(survivor.tags, other.tags),
        "aliases": _together(_list(survivor, "aliases"), names, survivor.title),
        "links": _together(_list(survivor, "links"), _list(other, "links")),
        "created_at": stamp(min(survivor.created, other.created)),
    }
    reads = draft.reads(survivor) + draft.reads(other)
    if reads:
        sets["access_count"] = reads
    rated = [each.importance for each in (survivor, other) if each.importance is not None]
    if rated:
        sets["importance"] = max(rated)
    sets |= _lasting(survivor, other) | _own_keys(survivor, other)
    return {
        key: value for key, value in sets.items() if value not in ([], None) or key == "expires_at"
    }


def _lasting(survivor: Memory, other: Memory) -> dict[str, Value]:
    """What keeps it: the longer life of the two."""
    sets: dict[str, Value] = {}
    ends = [survivor.expires, other.expires]
    sets["expires_at"] = (
        None if None in ends else stamp(max(end for end in ends if end is not None))
    )
    if other.decay_policy == "stable" != survivor.decay_policy:
        sets["decay_policy"] = "stable"
    read = [seconds(each.properties.get("last_reinforced_at")) for each in (survivor, other)]
    known = [each for each in read if each is not None]
    if known:
        sets["last_reinforced_at"] = stamp(max(known))
    if other.properties.get("global") is True:
        sets["global"] = True
    return sets


def _own_keys(survivor: Memory, other: Memory) -> dict[str, Value]:
    """What a person added to the other, and where it came from: it makes nobody's own words those of a page."""
    if not is_of_one_writer(survivor, other):
        return {}
    return {
        key: value
        for key, value in other.properties.items()
        if (key not in KEYS or key == "source") and key not in survivor.properties
    }


def _list(memory: Memory, key: str) -> tuple[str, ...]:
    given = memory.properties.get(key)
    if isinstance(given, list):
        return tuple(str(each) for each in given)
    return (given,) if isinstance(given, str) and given else ()


def _together(one: tuple[str, ...], other: tuple[str, ...], but: str = "") -> list[Value]:
    """All of both, once without regard to case, in their order."""
    first: dict[str, str] = {}
    for each in (*one, *other):
        if folded(each) != folded(but):
            first.setdefault(each.casefold(), each)
    return list(first.values())
