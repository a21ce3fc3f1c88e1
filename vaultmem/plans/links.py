"""Links between memories, kept in the property `links` of both sides, where both editors follow them."""

from __future__ import annotations

from vaultmem.adapter import Value
from vaultmem.core.memory import Memory, link_targets
from vaultmem.core.view import Draft
from vaultmem.plans.names import Names, folded, link_to


def resolve(draft: Draft) -> None:
    """Make the [[wikilinks]] in contents and the entries of `links` bidirectional; entries that lead to an archived
    memory lead to what took its place, and those that lead nowhere are removed."""
    names = Names(draft)
    memories = draft.memories()
    wanted: dict[str, dict[str, Memory]] = {memory.path: {} for memory in memories}
    for memory in memories:
        for name in (*memory.links, *memory.linked):
            other = names.living(name) or names.successor(name)
            if other is not None and other.path != memory.path and other.path in wanted:
                wanted[memory.path][other.path] = other
                wanted[other.path][memory.path] = memory
    for memory in memories:
        _settle(draft, memory, names, wanted[memory.path])


def _settle(draft: Draft, memory: Memory, names: Names, wanted: dict[str, Memory]) -> None:
    """Write the entries of one memory, if they are others now."""
    before = entries(memory)
    after = [entry for each in before if (entry := _led(each, memory, names))]
    known = {folded(name) for entry in after for name in link_targets(entry) or (entry,)}
    added = [other for _, other in sorted(wanted.items()) if folded(other.title) not in known]
    after = list(dict.fromkeys([*after, *map(link_to, added)]))
    if after == before or not draft.may(memory):
        return
    parts = [f"linked with “{other.title}”" for other in added[:3]] or [
        "links that led nowhere are gone"
    ]
    links: list[Value] = [*after]
    draft.set(memory, "; ".join(parts), links=links or None)


def _led(entry: str, memory: Memory, names: Names) -> str | None:
    """What an entry becomes; None when it leads nowhere or to the memory itself."""
    targets = link_targets(entry)
    if len(targets) != 1:
        return entry  # no link of ours: a person's word
    other = names.living(targets[0])
    if other is not None:
        return entry if other.path != memory.path else None
    other = names.successor(targets[0])
    if other is not None:
        return link_to(other) if other.path != memory.path else None
    return entry if names.is_elsewhere(targets[0]) else None


def entries(memory: Memory) -> list[str]:
    """The entries of its property `links`, each with one link where it has any."""
    given = memory.properties.get("links")
    found: list[str] = []
    for each in given if isinstance(given, list) else [given]:
        if each is None or each == "":
            continue
        targets = link_targets(each)
        found += [f"[[{name}]]" for name in targets] if len(targets) > 1 else [str(each)]
    return found


def link(draft: Draft, one: Memory, other: Memory) -> None:
    """Link two memories with each other."""
    for memory, target in ((one, other), (other, one)):
        before = entries(draft.see(memory))
        if folded(target.title) not in {
            folded(name) for each in before for name in link_targets(each)
        }:
            links: list[Value] = [*before, link_to(target)]
            draft.set(memory, f"linked with “{target.title}”", links=links)


def unlink(draft: Draft, one: Memory, other: Memory) -> None:
    """Take the link between two memories out of both; what their contents say stays."""
    for memory, target in ((one, other), (other, one)):
        before = entries(draft.see(memory))
        links: list[Value] = [each for each in before if not _leads_to(each, target)]
        if len(links) != len(before):
            draft.set(memory, f"no longer linked with “{target.title}”", links=links or None)


def redirected(memory: Memory, old: Memory, new: Memory) -> Value:
    """The property `links` of a memory with another target in one's place, once; as it is where nothing changes."""
    before = entries(memory)
    if not any(_leads_to(each, old) or _leads_to(each, new) for each in before):
        return memory.properties.get("links")
    after = [link_to(new) if _leads_to(each, old) else each for each in before]
    after = [
        each for each in dict.fromkeys(after) if memory.path != new.path or not _leads_to(each, new)
    ]
    links: list[Value] = [*after]
    return links or None


def _leads_to(entry: str, memory: Memory) -> bool:
    return [folded(name) for name in link_targets(entry)] == [folded(memory.title)]
