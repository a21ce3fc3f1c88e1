"""Lets the newest of what speaks of the same thing stand for it, where writing did not notice: notes that a person
edited or dropped in, imports, memories that were written without a model."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from vaultmem.adapter import Value
from vaultmem.core import access
from vaultmem.core.memory import DEFAULT_SCOPE, REMINDERS, Memory
from vaultmem.core.short_texts import CAP
from vaultmem.core.stamps import stamp
from vaultmem.core.supersede import REPLACES, relations, stems
from vaultmem.core.view import Draft

RECENT = 8 * 86_400.0  # seconds: what is older was compared in another dream
RARE = 30  # memories; a word that more of them have says little
MOST = 40  # older memories that one is compared with
NEAR = 0.6  # cosine
_ANYBODY = access.Viewer("an assistant that wrote nothing")


def supersede(draft: Draft) -> None:
    """Archive memories that a newer one replaces."""
    done = {memory.text("replaced_by") for memory in draft.view.archived()}
    since = draft.view.now.timestamp() - RECENT
    short = [
        memory for memory in draft.memories() if memory.size <= CAP and memory.category != REMINDERS
    ]
    texts = {memory.path: draft.content(memory) for memory in short}
    having: defaultdict[str, list[Memory]] = defaultdict(list)
    for memory in short:
        for stem in stems(texts[memory.path]):
            having[stem].append(memory)
    for new in sorted(short, key=lambda memory: (memory.created, memory.path)):
        if max(new.created, new.updated) < since or new.id in done:
            continue
        olds = _older(draft, new, [having[stem] for stem in stems(texts[new.path])])
        close = dict(draft.view.alike(new, NEAR))
        said = relations(
            texts[new.path],
            [texts[old.path] for old in olds],
            [close.get(old.path) for old in olds],
        )
        for old, each in zip(olds, said, strict=True):
            if each.kind == REPLACES and not draft.see(old).archived and draft.may(old, new):
                replace(draft, old, new.id, f"“{new.title}” is newer")


def _older(draft: Draft, new: Memory, groups: list[list[Memory]]) -> list[Memory]:
    """Older memories of the same people, project and scope that share a telling word or the meaning with a new one."""
    near = {path for path, _ in draft.view.alike(new, NEAR)}
    found = {
        old.path: old for group in groups for old in group if len(group) <= RARE or old.path in near
    }
    kept = [
        old
        for old in found.values()
        if old.created < new.created
        and old.text("replaced_by") != new.id
        and may_replace(old, new.properties)
    ]
    return sorted(kept, key=lambda old: (old.path not in near, -old.created, old.path))[:MOST]


def may_replace(old: Memory, new: Mapping[str, Value], trust: str = access.CONNECTED) -> bool:
    """Whether one with these properties may replace an older one: the same scope, no two projects, and words that are
    told to everybody, so that nobody is told nothing in its place."""
    projects = {old.text("project"), str(new.get("project") or "")} - {""}
    is_told = access.is_trusted(access.origin(new), _ANYBODY, trust)
    return old.scope == new.get("scope", DEFAULT_SCOPE) and len(projects) < 2 and is_told


def replace(draft: Draft, old: Memory, new: str, why: str) -> None:
    """Archive a memory that another one replaces; `until` says how long it was true."""
    until = stamp(draft.view.now.timestamp())
    if old.archived:
        draft.set(old, why, replaced_by=new, until=old.text("until") or until)
        return
    draft.archive(old, "supersede", why, new)
    draft.set(old, why, until=until)
