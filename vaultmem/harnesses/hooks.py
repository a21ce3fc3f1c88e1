"""Our hook in the settings of a harness: found by its command, put in at the end, taken out without a trace."""

from __future__ import annotations

import json
import shlex

from vaultmem.core.json_text import Node, added, parse, removed
from vaultmem.harnesses.table import Harness


def connected(text: str, harness: Harness, command: str) -> str:
    """The settings with our hook, once. Raises ValueError where that cannot be done safely."""
    if not text.strip("\ufeff \t\r\n"):
        new = {**harness.scaffold, "hooks": {harness.event: [harness.entry(command)]}}
        return json.dumps(new, ensure_ascii=False, indent=2) + "\n"
    while len(_ours(parse(text), harness)) > 1:
        text = _without_last(text, harness)
    root = parse(text)
    if found := _ours(root, harness):
        said = found[0][-1][0].items[found[0][-1][1]].get(harness.command)
        if said is None or said.text == command:
            return text
        return text[: said.start] + json.dumps(command, ensure_ascii=False) + text[said.end :]
    return _put(text, root, harness, command)


def _put(text: str, root: Node, harness: Harness, command: str) -> str:
    entry = harness.entry(command)
    if root.kind != "object":
        raise ValueError("it is no JSON object")
    hooks = root.get("hooks")
    if hooks is None:
        text = added(text, root, {harness.event: [entry]}, "hooks")
    else:
        event = _expected(hooks, "object", "hooks").get(harness.event)
        if event is None:
            text = added(text, hooks, [entry], harness.event)
        else:
            text = added(text, _expected(event, "list", harness.event), entry)
    for name, given in harness.scaffold.items():
        if parse(text).get(name) is None:
            text = added(text, parse(text), given, name)
    return text


def _expected(node: Node, kind: str, name: str) -> Node:
    if node.kind != kind:
        raise ValueError(f"{name!r} is no {kind}")
    return node


def disconnected(text: str, harness: Harness) -> str:
    """The settings without any hook of ours; what becomes empty by that goes, too."""
    if not text.strip("\ufeff \t\r\n"):
        return text
    while _ours(parse(text), harness):
        text = _without_last(text, harness)
    return text


def _without_last(text: str, harness: Harness) -> str:
    """Without the last hook of ours, and without the lists and groups that held nothing else."""
    way = _ours(parse(text), harness)[-1]
    if harness.grouped and len(way[-1][0].items) == 1:
        way = way[:-2]  # a group without hooks is none, whatever its matcher
    while len(way) > 1 and len(way[-1][0].items) == 1:
        way = way[:-1]
    node, number = way[-1]
    return removed(text, node, number)


Way = list[
    tuple[Node, int]
]  # from the outermost value inward: in which one, and which of its items


def _ours(root: Node, harness: Harness) -> list[Way]:
    """The ways to all hooks of ours."""
    if root.kind != "object":
        return []
    hooks = root.get("hooks")
    event = hooks.get(harness.event) if hooks is not None and hooks.kind == "object" else None
    if hooks is None or event is None or event.kind != "list":
        return []
    start = [(root, root.names.index("hooks")), (hooks, hooks.names.index(harness.event))]
    found: list[Way] = []
    for number, entry in enumerate(event.items):
        way = [*start, (event, number)]
        if not harness.grouped:
            found += [way] if _is_ours(entry, harness) else []
            continue
        group = entry.get("hooks") if entry.kind == "object" else None
        if group is None or group.kind != "list":
            continue
        inner = entry.names.index("hooks")
        found += [
            [*way, (entry, inner), (group, place)]
            for place, hook in enumerate(group.items)
            if _is_ours(hook, harness)
        ]
    return found


def _is_ours(hook: Node, harness: Harness) -> bool:
    """A hook is tagged by its own command: nobody else's asks vaultmem for the hook of this harness."""
    said = hook.get(harness.command) if hook.kind == "object" else None
    if said is None or said.kind != "text":
        return False
    try:
        words = shlex.split(said.text)
    except ValueError:
        return False
    tag = ["hook", "session-start", "--harness", harness.name]
    places = [n for n in range(1, len(words)) if words[n : n + 4] == tag]
    return bool(places) and any("vaultmem" in word for word in words[: places[0]])


def is_bare(text: str, harness: Harness) -> bool:
    """Whether settings say no more than a new file of ours would beside its hooks."""
    root = parse(text) if text.strip("\ufeff \t\r\n") else None
    return root is None or (root.kind == "object" and set(root.names) <= harness.scaffold.keys())
