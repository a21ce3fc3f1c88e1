"""What a deep dream notices across memories and leaves to a person: memories that fade although notes build on them,
contradictions, and clusters of memories that belong together across categories."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from itertools import combinations

from vaultmem.adapter import CAP, Statement
from vaultmem.dreams.short_texts import words
from vaultmem.light import NamedTuple
from vaultmem.memories.draft import Draft, Finding, is_own
from vaultmem.memories.model import ARCHIVE, GENERATED, Memory
from vaultmem.plugins import language
from vaultmem.text.sanitize import quote_text
from vaultmem.text.values import plural

FADING = 0.5  # confidence
MOST_OF_ONE = 16  # statements of a memory
MOST_OF_A_TOPIC = 40  # different statements on one thing that are compared with each other
MOST_CONTRADICTIONS = 50  # more would not be read
NEAR = 0.8  # cosine of memories that belong together
RARE = 6  # memories; a name that more of them have connects nothing
SHARED = 2  # rare names that two memories must have in common
SMALLEST, LARGEST = 3, 25  # members of a cluster worth telling
MOST_CLUSTERS = 20
MOST_CHARACTERS, MOST_NAMES = 4000, 40  # of a memory
_ENTITY = re.compile(
    r"[A-ZÀ-Þ][\w’'-]{1,40}(?: [A-ZÀ-Þ][\w’'-]{1,40}){0,3}"  # Grafana, Anne Miller
    r"|(?<!\w)[a-z]+(?:[A-Z0-9_][a-z]*)+(?!\w)"  # camelCase, snake_case, vec2
    r"|[《「『]([^《》「」『』\n]{2,20})[》」』]"
)
_BEGINNING = re.compile(r"(?:\A|[.!?:。！？：]\s*|\n\s*|[-*+#>]\s)\Z")
_LOWER = re.compile(r"(?<![\w’'-])[a-zß-ÿ][a-zß-ÿ’'-]+(?!\w)")


def across(draft: Draft) -> None:
    """Find all of them."""
    contradictions(draft)
    clusters(draft)
    fading(draft)


def fading(draft: Draft) -> None:
    """Find "fading": a person may want to reinforce it."""
    away = f"{draft.view.folder}/{ARCHIVE}/"
    ours = {f"{draft.view.folder}/{name}" for name in GENERATED}
    for memory in draft.memories():
        confidence = draft.view.confidence(memory)
        if confidence >= FADING:
            continue
        sources = {*draft.view.sources(memory.path)} - ours - {memory.path}
        notes = tuple(sorted(path for path in sources if not path.startswith(away)))
        if notes:
            verb = "links" if len(notes) == 1 else "link"
            text = f"[[{memory.title}]] is fading ({confidence:.2f}), but {plural(len(notes), 'note')} {verb} to it"
            draft.find(Finding("fading", memory.path, text, notes))


# Memories that cannot both be true: two values for what has one, or something stated and denied.


class _Claim(NamedTuple):
    memory: Memory
    statement: Statement
    words: str

    @property
    def age(self) -> tuple[float, str]:
        return self.memory.updated, self.memory.path


def contradictions(draft: Draft) -> None:
    """Find "contradiction": the newer memory, with the older one as evidence."""
    topics: dict[tuple[str, ...], list[_Claim]] = defaultdict(list)
    for memory in draft.memories():
        if is_own(memory):
            continue
        text = draft.content(memory)[:CAP]
        for statement in language().statements(text)[:MOST_OF_ONE]:
            project = memory.text("project")
            if statement.subject or project:  # "port: 8100": of what, is not known
                key = (memory.scope, memory.text("agent"), project, statement.subject, statement.property)  # fmt: skip
                words = quote_text(text[slice(*statement.span)])
                topics[key].append(_Claim(memory, statement, words))
    findings: dict[tuple[str, str], Finding] = {}
    for _, claims in sorted(topics.items()):
        for pair in combinations(_newest(claims), 2):
            old, new = sorted(pair, key=lambda claim: claim.age)
            paths = new.memory.path, old.memory.path
            if paths[0] != paths[1] and language().contradicts(new.statement, old.statement):
                text = f"“{new.words}” against “{old.words}” in [[{old.memory.title}]]"
                findings.setdefault(paths, Finding("contradiction", paths[0], text, paths[1:]))
    for _, finding in sorted(findings.items())[:MOST_CONTRADICTIONS]:
        draft.find(finding)


def _newest(claims: list[_Claim]) -> list[_Claim]:
    newest: dict[Statement, _Claim] = {}
    for claim in sorted(claims, key=lambda each: (-each.memory.updated, each.memory.path)):
        newest.setdefault(claim.statement._replace(span=(0, 0)), claim)
    return list(newest.values())[:MOST_OF_A_TOPIC]


# Memories that belong together: near in meaning, or sharing names that few others have.


class _Entity(NamedTuple):
    name: str
    memories: dict[str, Memory]


def clusters(draft: Draft) -> None:
    """Find "cluster" (a name and its members) and "entity" (what several categories speak of)."""
    memories = [memory for memory in draft.memories() if not is_own(memory)]
    entities = _entities(draft, memories)
    pairs: Counter[tuple[str, str]] = Counter()
    for entity in entities.values():
        if len(entity.memories) <= RARE:
            pairs.update(combinations(sorted(entity.memories), 2))
    links = [pair for pair, count in pairs.items() if count >= SHARED]
    links += [(one.path, path) for one in memories for path, _ in draft.view.alike(one, NEAR)]
    by_path = {memory.path: memory for memory in memories}
    groups = [each for each in _components(by_path, links) if SMALLEST <= len(each) <= LARGEST]
    for group in groups[:MOST_CLUSTERS]:
        draft.find(_cluster([by_path[path] for path in group], entities))
    _find_shared(draft, entities)


def _cluster(group: list[Memory], entities: dict[str, _Entity]) -> Finding:
    paths = {memory.path for memory in group}
    shared = [(-len(paths & entity.memories.keys()), entity.name) for entity in entities.values()]
    count, name = min(shared, default=(0, ""))
    name = name if count < -1 else group[0].title
    text = f"“{name}”: {len(group)} memories belong together"
    return Finding("cluster", group[0].path, text, tuple(memory.path for memory in group[1:]))


def _find_shared(draft: Draft, entities: dict[str, _Entity]) -> None:
    rated = []
    for key, entity in entities.items():
        categories = sorted({memory.category for memory in entity.memories.values()})
        if len(categories) > 1 and SMALLEST <= len(entity.memories) <= LARGEST:
            rated.append((-len(categories), -len(entity.memories), key, categories))
    for _, _, key, categories in sorted(rated)[:MOST_CLUSTERS]:
        first, *others = sorted(entities[key].memories)
        text = f"“{entities[key].name}” comes up in {', '.join(categories)}"
        draft.find(Finding("entity", first, text, tuple(others)))


def _components(paths: Iterable[str], links: Iterable[tuple[str, str]]) -> list[list[str]]:
    group_of = {path: [path] for path in sorted(paths)}
    for one, other in links:
        if one in group_of and other in group_of and group_of[one] is not group_of[other]:
            small, large = sorted((group_of[one], group_of[other]), key=len)
            large += small
            group_of |= dict.fromkeys(small, large)
    unique = {id(group): sorted(group) for group in group_of.values()}
    return sorted(unique.values())


def _entities(draft: Draft, memories: Iterable[Memory]) -> dict[str, _Entity]:
    """The names that at least two memories have; no single word that is also written small."""
    entities: dict[str, _Entity] = {}
    first: list[tuple[str, Memory]] = []
    small: set[str] = set()
    for memory in memories:
        text = draft.content(memory)[:MOST_CHARACTERS]
        small.update(_LOWER.findall(text))
        for name, begins in _names(text).items():
            if begins:
                first.append((name, memory))
            else:
                _add(entities, name, memory)
    inside = set(entities)
    for name, memory in first:
        _add(entities, name if name.casefold() in inside else name.partition(" ")[2], memory)
    return {
        key: entity
        for key, entity in entities.items()
        if len(entity.memories) > 1 and key not in small
    }


def _add(entities: dict[str, _Entity], name: str, memory: Memory) -> None:
    entities.setdefault(name.casefold(), _Entity(name, {})).memories[memory.path] = memory


def _names(text: str) -> dict[str, bool]:
    names: dict[str, bool] = {}
    for match in _ENTITY.finditer(text):
        parts = (match[1] or match[0]).split(" ")
        begins = _BEGINNING.search(text, max(0, match.start() - 4), match.start()) is not None
        # Often capital at the beginning of a sentence, and no names then.
        while parts and parts[0].casefold() in words("openers"):
            parts, begins = parts[1:], False
        if parts and len(names) < MOST_NAMES:
            name = " ".join(parts)
            names[name] = names.get(name, True) and begins and len(parts) > 1
    return names
