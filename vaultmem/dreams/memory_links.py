"""Links between memories, kept in the property `links` of both, where both editors follow them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import cache

from vaultmem.adapter import Value
from vaultmem.adapter.scan import hidden_spans
from vaultmem.memories.draft import Draft
from vaultmem.memories.model import Memory, link_targets
from vaultmem.notes.places import file_name
from vaultmem.text.values import lazy

# What a [[name]] refers to: a living memory, the successor of an archived one, something else, or nothing.

_WIKILINK = lazy(r"\[\[([^\[\]|#\n]{1,500})([|#][^\[\]\n]{0,500})?\]\]")
_STEPS = 20  # longest chain of replacements followed


def fold(name: str) -> str:
    """A title or link target in the form for comparison: no path, no ending, no case."""
    bare = unicodedata.normalize("NFC", name.strip()).lower()
    return file_name(bare)


class Names:
    """The titles of all memories, as a draft has left them."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        everyone = [draft.see(memory) for memory in draft.view.memories()]
        living = [memory for memory in everyone if not memory.archived]
        archived = [memory for memory in everyone if memory.archived]
        self._living = {fold(memory.title): memory for memory in living}
        self._by_id = {memory.id: memory for memory in living}
        self._by_path = {memory.path: memory for memory in living}
        away = [*draft.view.archived(), *archived]
        self._archived = {fold(memory.title): memory for memory in away}
        self._archived_by_id = {memory.id: memory for memory in self._archived.values()}
        self._target = cache(draft.view.target)

    def living(self, name: str) -> Memory | None:
        """The living memory of that name."""
        target = self._target(name)
        return self._living.get(fold(name)) if target is None else self._by_path.get(target)

    def successor(self, name: str) -> Memory | None:
        """The memory that replaced the archived one of that name."""
        memory = self._archived.get(fold(name))
        for _ in range(_STEPS):
            if memory is None:
                return None
            after = memory.text("replaced_by")
            if after in self._by_id:
                return self._by_id[after]
            memory = self._archived_by_id.get(after)
        return None

    def is_elsewhere(self, name: str) -> bool:
        """Whether the name belongs to a note that is neither a memory nor in the archive, or to a memory about to be
        written."""
        if self._draft.is_coming(name.strip()):
            return True
        if fold(name) in self._archived:
            return False
        target = self._target(name)
        return target is not None and target not in self._by_path


def link_to(memory: Memory) -> str:
    """The link to a memory; both editors understand it."""
    return f"[[{memory.title}]]"


def retarget_links(content: str, old: str, new: str) -> str:
    """The content with its links to one title pointing to another; their display text, and code, are unchanged."""
    old_key = fold(old)

    def link(match: re.Match[str]) -> str:
        return f"[[{new}{match[2] or ''}]]" if fold(match[1]) == old_key else match[0]

    parts: list[str] = []
    at = 0
    spans = [(span.begin, span.end) for span in hidden_spans(content)]
    for begin, end in [*spans, (len(content), len(content))]:
        parts += [_WIKILINK.sub(link, content[at:begin]), content[begin:end]]
        at = end
    return "".join(parts)


class Linkers:
    """Which memories link to which titles, in their content or their property `links`."""

    def __init__(self, memories: Iterable[Memory]) -> None:
        self._paths: dict[str, dict[str, Memory]] = {}
        for memory in memories:
            self.add(memory)

    def add(self, memory: Memory) -> None:
        """Add the links of a memory."""
        for name in (*memory.links, *memory.linked):
            self._paths.setdefault(fold(name), {})[memory.path] = memory

    def of(self, title: str) -> list[Memory]:
        """The memories that link to a title, by path."""
        return [memory for _, memory in sorted(self._paths.get(fold(title), {}).items())]


def resolve(draft: Draft) -> None:
    """Make links between memories mutual; links to archived memories move to the replacement, or are removed."""
    names = Names(draft)
    memories = draft.memories()
    links: dict[str, dict[str, Memory]] = {memory.path: {} for memory in memories}
    for memory in memories:
        for name in (*memory.links, *memory.linked):
            other = names.living(name) or names.successor(name)
            if other is not None and other.path != memory.path and other.path in links:
                links[memory.path][other.path] = other
                links[other.path][memory.path] = memory
    for memory in memories:
        _settle(draft, memory, names, links[memory.path])


def _settle(draft: Draft, memory: Memory, names: Names, others: dict[str, Memory]) -> None:
    before = entries(memory)
    after = [entry for value in before if (entry := _resolve_entry(value, memory, names))]
    linked = {fold(name) for entry in after for name in link_targets(entry) or (entry,)}
    added = [other for _, other in sorted(others.items()) if fold(other.title) not in linked]
    after = list(dict.fromkeys([*after, *map(link_to, added)]))
    if after == before or not draft.may(memory):
        return
    parts = [f"linked with “{other.title}”" for other in added[:3]] or [
        "links that led nowhere are removed"
    ]
    links: list[Value] = [*after]
    draft.set(memory, "; ".join(parts), links=links or None)


def _resolve_entry(entry: str, memory: Memory, names: Names) -> str | None:
    """The new form of an entry; None if it leads nowhere or to the memory itself."""
    targets = link_targets(entry)
    if len(targets) != 1:
        return entry  # not our link: a person's text
    other = names.living(targets[0])
    if other is not None:
        return entry if other.path != memory.path else None
    other = names.successor(targets[0])
    if other is not None:
        return link_to(other) if other.path != memory.path else None
    return entry if names.is_elsewhere(targets[0]) else None


def entries(memory: Memory) -> list[str]:
    """The entries of its property `links`, each holding one link, if any."""
    value = memory.properties.get("links")
    texts: list[str] = []
    for item in value if isinstance(value, list) else [value]:
        if item is None or item == "":
            continue
        targets = link_targets(item)
        texts += [f"[[{name}]]" for name in targets] if len(targets) > 1 else [str(item)]
    return texts


def link(draft: Draft, one: Memory, other: Memory) -> None:
    """Link two memories to each other."""
    for memory, target in ((one, other), (other, one)):
        before = entries(draft.see(memory))
        if fold(target.title) not in {
            fold(name) for value in before for name in link_targets(value)
        }:
            links: list[Value] = [*before, link_to(target)]
            draft.set(memory, f"linked with “{target.title}”", links=links)


def unlink(draft: Draft, one: Memory, other: Memory) -> None:
    """Remove the link between two memories from both; their contents are unchanged."""
    for memory, target in ((one, other), (other, one)):
        before = entries(draft.see(memory))
        links: list[Value] = [value for value in before if not _leads_to(value, target)]
        if len(links) != len(before):
            draft.set(memory, f"no longer linked with “{target.title}”", links=links or None)


def redirect_link(memory: Memory, old: Memory, new: Memory) -> Value:
    """The property `links` of a memory with one target replaced by another, without duplicates."""
    before = entries(memory)
    if not any(_leads_to(value, old) or _leads_to(value, new) for value in before):
        return memory.properties.get("links")
    after = [link_to(new) if _leads_to(value, old) else value for value in before]
    after = [
        value
        for value in dict.fromkeys(after)
        if memory.path != new.path or not _leads_to(value, new)
    ]
    links: list[Value] = [*after]
    return links or None


def _leads_to(entry: str, memory: Memory) -> bool:
    return [fold(name) for name in link_targets(entry)] == [fold(memory.title)]
