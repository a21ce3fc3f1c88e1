"""Memories that cannot both be true: two values for what has one, or a thing said and denied."""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

from vaultmem.core.changes import Finding
from vaultmem.core.memory import Memory
from vaultmem.core.statements import CAP, Statement, contradicts, statements
from vaultmem.core.view import Draft
from vaultmem.plans.own import is_own
from vaultmem.plans.quote import quoted

MOST_OF_ONE = 16  # statements that are kept of a memory
MOST_OF_A_SUBJECT = 40  # different statements on one thing that are compared with each other
MOST = 50  # findings; whoever has more does not read them

_Topic = tuple[str, ...]


class _Said(NamedTuple):
    memory: Memory
    statement: Statement
    words: str


def contradictions(draft: Draft) -> None:
    """Find "contradiction": the newer memory, with the older one as evidence."""
    topics: dict[_Topic, list[_Said]] = {}
    for memory in draft.memories():
        if is_own(memory):
            continue
        text = draft.content(memory)[:CAP]
        for statement in statements(text)[:MOST_OF_ONE]:
            topic = _topic(memory, statement)
            if topic is not None:
                words = quoted(text[slice(*statement.span)])
                topics.setdefault(topic, []).append(_Said(memory, statement, words))
    found: dict[tuple[str, str], Finding] = {}
    for _, said in sorted(topics.items()):
        for one, other in combinations(_distinct(said), 2):
            if one.memory.path != other.memory.path and contradicts(one.statement, other.statement):
                _note(found, one, other)
    for _, finding in sorted(found.items())[:MOST]:
        draft.find(finding)


def _topic(memory: Memory, statement: Statement) -> _Topic | None:
    """Statements are only compared within one: what two assistants know of two projects is no contradiction."""
    project = memory.text("project")
    if not statement.subject and not project:
        return None  # "port: 8100": of what, nobody knows
    return memory.scope, memory.text("agent"), project, statement.subject, statement.property


def _distinct(said: list[_Said]) -> list[_Said]:
    """The newest of those that say the same."""
    newest: dict[tuple[object, ...], _Said] = {}
    for each in sorted(said, key=lambda one: (-one.memory.updated, one.memory.path)):
        statement = each.statement._replace(span=(0, 0))
        newest.setdefault(tuple(statement), each)
        if len(newest) == MOST_OF_A_SUBJECT:
            break
    return list(newest.values())


def _note(found: dict[tuple[str, str], Finding], one: _Said, other: _Said) -> None:
    old, new = sorted((one, other), key=lambda each: (each.memory.updated, each.memory.path))
    said = f"“{new.words}” against “{old.words}” in [[{old.memory.title}]]"
    key = new.memory.path, old.memory.path
    found.setdefault(key, Finding("contradiction", new.memory.path, said, (old.memory.path,)))
