"""What a deep dream notices across memories and leaves to a person: memories that fade although notes build on them,
and contradictions."""

from __future__ import annotations

from collections import defaultdict
from itertools import combinations

from vaultmem.adapter import CAP, Statement
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
