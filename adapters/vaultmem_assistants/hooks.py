"""Our hook in the settings of a harness: recognized by its command, added at the end, removed without a trace.

That a list existed and was empty could not be detected later, so the command of the hook records it: --was event.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
from collections.abc import Callable

from vaultmem.errors import NoteChangedError, NoteNotFoundError, VaultmemError
from vaultmem.text.json_text import Node, append_item, parse, remove_item
from vaultmem.text.values import TYPE_CHECKING, value
from vaultmem.vault import write
from vaultmem_assistants.programs import Harness

if TYPE_CHECKING:
    from collections.abc import Sequence


BLANK, BARE, HOOKS, EVENT = "blank", "bare", "hooks", "event"  # what existed and was empty
ADDED = "without-"  # precedes the name of a member that a new file has and this one lacked
_WAS = "--was"
_BOM = "\ufeff"
_NOTHING = f"{_BOM} \t\r\n"


def tag(harness: Harness) -> str:
    """The words of the command by which our hook is recognized."""
    return f"hook session-start --harness {harness.name}"


def add_hook(text: str, harness: Harness, command: str) -> str:
    """The settings with exactly one hook of ours. Raises ValueError where that cannot be done safely."""
    if not text:
        return f"{_render_new(harness, command)}\n"
    if not text.strip(_NOTHING):
        return fill_blank(text, harness, command)
    while len(_ours(parse(text), harness)) > 1:
        text = _without_last(text, harness, _was(text, harness))
    root = parse(text)
    if result := _ours(root, harness):
        field = result[0][-1][0].items[result[0][-1][1]].get(harness.command)
        command = _mark(command, _was(text, harness))
        if field is None or field.text == command:
            return text
        return text[: field.start] + json.dumps(command, ensure_ascii=False) + text[field.end :]
    return _put(text, root, harness, _mark(command, _is_now(root, harness)))


def fill_blank(text: str, harness: Harness, command: str) -> str:
    """The settings for an existing file with nothing but blanks in it."""
    mark = _BOM if text.startswith(_BOM) else ""
    return mark + _render_new(harness, _mark(command, [BLANK])) + text[len(mark) :]


def _render_new(harness: Harness, command: str) -> str:
    new = {**harness.scaffold, "hooks": {harness.event: [harness.entry(command)]}}
    return json.dumps(new, ensure_ascii=False, indent=2)


def _mark(command: str, was: Sequence[str]) -> str:
    return f"{command} {_WAS} {','.join(was)}" if was else command


def _is_now(root: Node, harness: Harness) -> list[str]:
    """The empty parts that exist without our hook, which could not be told from our own when it is removed."""
    was: list[str] = []
    hooks = root.get("hooks")
    event = hooks and hooks.get(harness.event)
    if hooks is None and set(root.names) <= harness.scaffold.keys():
        was.append(BARE)
    elif event is not None and not event.items:
        was.append(EVENT)
    elif hooks is not None and not hooks.items:
        was.append(HOOKS)
    return [*was, *(ADDED + name for name in harness.scaffold if name not in root.names)]


def _was(text: str, harness: Harness) -> list[str]:
    """What our hooks say about the settings before them."""
    result: dict[str, None] = {}
    for way in _ours(parse(text), harness):
        field = way[-1][0].items[way[-1][1]].get(harness.command)
        words = shlex.split(field.text) if field else []
        raw = words[words.index(_WAS) + 1 :][:1] if _WAS in words else []
        result |= dict.fromkeys(word for part in raw for word in part.split(",") if word)
    return list(result)


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
    """The settings without our hooks and what was added for them; "" where that was all."""
    if not _has_ours(text, harness):
        return text
    if is_made(text, harness):
        return ""
    was = _was(text, harness)
    left = _without_all(_remove_added(text, harness, was), harness, was)
    if BLANK in was and _is_bare(left, harness):
        return (_BOM if text.startswith(_BOM) else "") + text[parse(text).end :]
    return left


def is_made(text: str, harness: Harness) -> bool:
    """Whether the file was created for our hook and holds nothing else."""
    if not _has_ours(text, harness):
        return False
    was = _was(text, harness)
    left = _without_all(text, harness, was)
    return _is_bare(left, harness) and not {BLANK, BARE} & set(was)


def _has_ours(text: str, harness: Harness) -> bool:
    return bool(text.strip(_NOTHING)) and bool(_ours(parse(text), harness))


def _without_all(text: str, harness: Harness, was: Sequence[str]) -> str:
    while _ours(parse(text), harness):
        text = _without_last(text, harness, was)
    return text


def _remove_added(text: str, harness: Harness, was: Sequence[str]) -> str:
    """Remove the members that we added beside the hooks, if they are unchanged."""
    for name, member in harness.scaffold.items():
        root = parse(text)
        there = root.get(name) if ADDED + name in was else None
        if there is not None and text[there.start : there.end] == json.dumps(member):
            text = remove_item(text, root, root.names.index(name))
    return text


def _without_last(text: str, harness: Harness, was: Sequence[str]) -> str:
    """Remove our last hook, and lists and groups that were added for it and hold nothing else."""
    way = _ours(parse(text), harness)[-1]
    if harness.grouped and len(way[-1][0].items) == 1:
        way = way[:-2]  # a group without hooks does nothing, whatever its matcher
    least = 3 if EVENT in was else 2 if HOOKS in was else 1
    while len(way) > least and len(way[-1][0].items) == 1:
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


def _is_bare(text: str, harness: Harness) -> bool:
    """Whether settings hold no more than a new file of ours would without its hooks."""
    return set(parse(text).names) <= harness.scaffold.keys()


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


def edit(path: str, change: Edit, *, dry_run: bool = False, spare: bool = True) -> Edited:
    """Apply a change to a file, which need not exist. If nothing is left it is removed, unless `spare`. If `change`
    raises, nothing is written."""
    real = os.path.realpath(path)
    folder, name = os.path.split(real)
    before = read(real)
    after = change(before)
    result = Edited(real, before, after)
    if dry_run or before == after:
        return result
    if not spare and not after:
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
