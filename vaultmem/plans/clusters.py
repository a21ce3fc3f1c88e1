"""Which memories belong together across categories: alike in meaning, or sharing names that few others have."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from itertools import combinations
from typing import NamedTuple

from vaultmem.core.changes import Finding
from vaultmem.core.memory import Memory
from vaultmem.core.view import Draft
from vaultmem.plans.own import is_own
from vaultmem.plans.particulars import OPENERS

NEAR = 0.8  # cosine
RARE = 6  # memories; a name that more of them have connects nothing
SHARED = 2  # rare names that two memories must have in common
SMALLEST, LARGEST = 3, 25  # members of a cluster worth telling
MOST = 20  # findings of a kind
CAP = 4000  # characters of a memory
NAMES = 40  # of a memory
_ENTITY = re.compile(
    r"[A-ZÀ-Þ][\w’'-]{1,40}(?: [A-ZÀ-Þ][\w’'-]{1,40}){0,3}"  # Grafana, Anne Miller
    r"|(?<!\w)[a-z]+(?:[A-Z0-9_][a-z]*)+(?!\w)"  # camelCase, snake_case, vec2
    r"|[《「『]([^《》「」『』\n]{2,20})[》」』]"
)
_BEGINNING = re.compile(r"(?:\A|[.!?:。！？：]\s*|\n\s*|[-*+#>]\s)\Z")
_LOWER = re.compile(r"(?<![\w’'-])[a-zß-ÿ][a-zß-ÿ’'-]+(?!\w)")


class _Named(NamedTuple):
    """Where a name stands, and how it is written."""

    shown: str
    memories: dict[str, Memory]


def clusters(draft: Draft) -> None:
    """Find "cluster" (a name and its members) and "entity" (what several categories speak of)."""
    memories = [memory for memory in draft.memories() if not is_own(memory)]
    entities = _entities(draft, memories)
    joined = _Joined(memory.path for memory in memories)
    shared: Counter[tuple[str, str]] = Counter()
    for _, named in sorted(entities.items()):
        if len(named.memories) <= RARE:
            shared.update(combinations(sorted(named.memories), 2))
    for (one, other), count in shared.items():
        if count >= SHARED:
            joined.join(one, other)
    for memory in memories:
        for path, _ in draft.view.alike(memory, NEAR):
            joined.join(memory.path, path)
    by_path = {memory.path: memory for memory in memories}
    groups = [[by_path[path] for path in group] for group in joined.groups()]
    for group in [each for each in groups if SMALLEST <= len(each) <= LARGEST][:MOST]:
        draft.find(_cluster(group, entities))
    _shared_entities(draft, entities)


def _cluster(group: list[Memory], entities: dict[str, _Named]) -> Finding:
    paths = {memory.path for memory in group}
    shared = [(-len(paths & named.memories.keys()), named.shown) for named in entities.values()]
    count, name = min(shared, default=(0, ""))
    name = name if count < -1 else group[0].title
    said = f"“{name}”: {len(group)} memories belong together"
    return Finding("cluster", group[0].path, said, tuple(memory.path for memory in group[1:]))


def _shared_entities(draft: Draft, entities: dict[str, _Named]) -> None:
    rated = []
    for key, named in entities.items():
        places = sorted({memory.category for memory in named.memories.values()})
        if len(places) > 1 and SMALLEST <= len(named.memories) <= LARGEST:
            rated.append((-len(places), -len(named.memories), key, places))
    for _, _, key, places in sorted(rated)[:MOST]:
        first, *others = sorted(entities[key].memories)
        said = f"“{entities[key].shown}” comes up in {', '.join(places)}"
        draft.find(Finding("entity", first, said, tuple(others)))


def _entities(draft: Draft, memories: Iterable[Memory]) -> dict[str, _Named]:
    """The names that at least two memories have. A single word is a name if nobody writes it small, and the first
    word of a sentence belongs to a name ("Anne Miller", not "Ask Miller") if it does so within a sentence."""
    found: dict[str, _Named] = {}
    first: list[tuple[str, Memory]] = []
    small: set[str] = set()
    for memory in memories:
        text = draft.content(memory)[:CAP]
        small.update(_LOWER.findall(text))
        for shown, begins in _names(text).items():
            if begins:
                first.append((shown, memory))
            else:
                _add(found, shown, memory)
    inside = set(found)
    for shown, memory in first:
        _add(found, shown if shown.casefold() in inside else shown.partition(" ")[2], memory)
    return {
        key: named for key, named in found.items() if len(named.memories) > 1 and key not in small
    }


def _add(found: dict[str, _Named], shown: str, memory: Memory) -> None:
    found.setdefault(shown.casefold(), _Named(shown, {})).memories[memory.path] = memory


def _names(text: str) -> dict[str, bool]:
    """The names in a text, and whether each is of several words of which the first begins a sentence."""
    names: dict[str, bool] = {}
    for match in _ENTITY.finditer(text):
        words = (match[1] or match[0]).split(" ")
        begins = _BEGINNING.search(text, max(0, match.start() - 4), match.start()) is not None
        while words and words[0].casefold() in OPENERS:
            words, begins = words[1:], False
        if words and len(names) < NAMES:
            shown = " ".join(words)
            names[shown] = names.get(shown, True) and begins and len(words) > 1
    return names


class _Joined:
    """Groups of paths that grow together."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._above = {path: path for path in paths}

    def top(self, path: str) -> str:
        """The first path of its group."""
        while self._above[path] != path:
            self._above[path] = path = self._above[self._above[path]]
        return path

    def join(self, one: str, other: str) -> None:
        """Make one group of two; what is no member is left out."""
        if one in self._above and other in self._above:
            low, high = sorted((self.top(one), self.top(other)))
            self._above[high] = low

    def groups(self) -> list[list[str]]:
        """All groups by their first path."""
        groups: dict[str, list[str]] = {}
        for path in sorted(self._above):
            groups.setdefault(self.top(path), []).append(path)
        return [group for _, group in sorted(groups.items())]
