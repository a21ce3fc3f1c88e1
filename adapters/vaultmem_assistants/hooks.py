"""Our hook in the settings of a harness: recognized by its command, added at the end, removed with the lists and
objects that are empty then."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
from collections.abc import Callable

from vaultmem.errors import NoteChangedError, NoteNotFoundError, VaultmemError
from vaultmem.text.json_text import Node, append_item, parse, remove_item
from vaultmem.text.values import value
from vaultmem.vault import write
from vaultmem_assistants.programs import Harness

_BOM = "\ufeff"
_NOTHING = f"{_BOM} \t\r\n"


def tag(harness: Harness) -> str:
    """The words of the command by which our hook is recognized."""
    return f"hook session-start --harness {harness.name}"


def add_hook(text: str, harness: Harness, command: str) -> str:
    """The settings with exactly one hook of ours. Raises ValueError where that cannot be done safely."""
    if not text.strip(_NOTHING):
        return _render_new(harness, command)
    while len(_ours(parse(text), harness)) > 1:
        text = _without_last(text, harness)
    root = parse(text)
    if result := _ours(root, harness):
        field = result[0][-1][0].items[result[0][-1][1]].get(harness.command)
        if field is None or field.text == command:
            return text
        return text[: field.start] + json.dumps(command, ensure_ascii=False) + text[field.end :]
    return _put(text, root, harness, command)


def _render_new(harness: Harness, command: str) -> str:
    new = {**harness.scaffold, "hooks": {harness.event: [harness.entry(command)]}}
    return f"{json.dumps(new, ensure_ascii=False, indent=2)}\n"


def _put(text: str, root: Node, harness: Harness, command: str) -> str:
    entry = harness.entry(command)
    if root.kind != "object":
        raise ValueError("it is not a JSON object")
    hooks = root.get("hooks")
    if hooks is None:
        text = append_item(text, root, {harness.event: [entry]}, "hooks")
    else:
        event = _expect(hooks, "object", "hooks").get(harness.event)
        if event is None:
            text = append_item(text, hooks, [entry], harness.event)
        else:
            text = append_item(text, _expect(event, "list", harness.event), entry)
    for name, member in harness.scaffold.items():
        if parse(text).get(name) is None:
            text = append_item(text, parse(text), member, name)
    return text


def _expect(node: Node, kind: str, name: str) -> Node:
    if node.kind != kind:
        raise ValueError(f"{name!r} is not a {kind}")
    return node


def remove_hook(text: str, harness: Harness) -> str:
    """The settings without our hooks; "" where nothing is left but what a new file has besides them."""
    before = text
    while text.strip(_NOTHING) and _ours(parse(text), harness):
        text = _without_last(text, harness)
    is_bare = text != before and set(parse(text).names) <= harness.scaffold.keys()
    return "" if is_bare else text


def _without_last(text: str, harness: Harness) -> str:
    """Remove our last hook, and the group, list and object that hold nothing else."""
    way = _ours(parse(text), harness)[-1]
    if harness.grouped and len(way[-1][0].items) == 1:
        way = way[:-2]  # a group without hooks does nothing, whatever its matcher
    while len(way) > 1 and len(way[-1][0].items) == 1:
        way = way[:-1]
    node, number = way[-1]
    return remove_item(text, node, number)


# The path from the outermost value: each container with the index of its item.
Way = list[tuple[Node, int]]


def _ours(root: Node, harness: Harness) -> list[Way]:
    """The paths to all our hooks."""
    hooks = root.get("hooks")
    event = hooks and hooks.get(harness.event)
    if hooks is None or event is None or event.kind != "list":
        return []
    start = [(root, root.names.index("hooks")), (hooks, hooks.names.index(harness.event))]
    result: list[Way] = []
    for number, entry in enumerate(event.items):
        way = [*start, (event, number)]
        if not harness.grouped:
            result += [way] if _is_ours(entry, harness) else []
            continue
        group = entry.get("hooks")
        if group is None or group.kind != "list":
            continue
        inside = [*way, (entry, entry.names.index("hooks"))]
        ours = (at for at, hook in enumerate(group.items) if _is_ours(hook, harness))
        result += [[*inside, (group, at)] for at in ours]
    return result


def _is_ours(hook: Node, harness: Harness) -> bool:
    """Whether a hook is ours: only ours runs vaultmem's hook for this harness."""
    field = hook.get(harness.command)
    if field is None or field.kind != "text":
        return False
    try:
        words = shlex.split(field.text)
    except ValueError:
        return False
    places = [n for n in range(1, len(words)) if words[n : n + 4] == tag(harness).split()]
    return bool(places) and any("vaultmem" in word for word in words[: places[0]])


# Edit a file of another program's settings: it is written only if it is unchanged since it was read.

MOST = 4_000_000  # bytes, more than any settings have

Edit = Callable[[str], str]


@value
class Edited:
    """The content of a file before and after an edit, and its real path."""

    path: str
    before: str
    after: str

    @property
    def is_changed(self) -> bool:
        """Whether the edit changes anything."""
        return self.before != self.after


def edit(path: str, change: Edit, *, dry_run: bool = False) -> Edited:
    """Apply a change to a file, which need not exist. If nothing is left it is removed. If `change` raises, nothing is
    written."""
    real = os.path.realpath(path)
    folder, name = os.path.split(real)
    before = read(real)
    after = change(before)
    result = Edited(real, before, after)
    if dry_run or before == after:
        return result
    if not after:
        _remove(real, before)
        return result

    def edited(data: bytes) -> bytes:
        return change(_text(data, real)).encode()

    try:
        if os.path.lexists(real):
            write.change(folder, name, edited)
        else:
            os.makedirs(folder, exist_ok=True)
            write.create(folder, name, after.encode())
    except NoteNotFoundError as error:
        raise VaultmemError(f"{real} is not a file that can be edited") from error
    except OSError as error:
        raise VaultmemError(f"{real} cannot be written: {error.strerror}") from error
    return result


def is_connected(harness: Harness) -> bool:
    """Whether our hook is in the settings of a harness."""
    try:
        return tag(harness) in read(harness.path())
    except VaultmemError:
        return False


def read(real: str) -> str:
    """The text of a file; "" when it does not exist."""
    try:
        with open(real, "rb") as file:
            data = file.read(MOST + 1)
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise VaultmemError(f"{real} cannot be read: {error.strerror}") from error
    if len(data) > MOST:
        raise VaultmemError(f"{real} is too long to be settings; nothing was written")
    return _text(data, real)


def _text(data: bytes, real: str) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise VaultmemError(f"{real} is not UTF-8; nothing was written") from error


def _remove(real: str, before: str) -> None:
    if read(real) != before:
        raise NoteChangedError(f"{real} was changed by another program; try again")
    with contextlib.suppress(FileNotFoundError):
        os.unlink(real)
