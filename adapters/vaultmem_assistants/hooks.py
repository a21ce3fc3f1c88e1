"""Our hook in the settings of a harness, recognized by its command: added at the end, and removed with the containers
that it leaves empty. put() and take() edit JSON without changing any other byte."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
from collections.abc import Callable

from vaultmem.errors import NoteChangedError, NoteNotFoundError, VaultmemError
from vaultmem.text.json_text import Part, append_item, find, parse, read_parts, remove_item
from vaultmem.text.values import TYPE_CHECKING, value
from vaultmem.vault import write
from vaultmem_assistants.programs import Harness

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_NOTHING = "\ufeff \t\r\n"
Way = list[int]  # the path from the outermost value, by numbers of items


def put(text: str, new: Mapping[str, object] | list[object], *names: str) -> str:
    """The JSON with new members in the object at these names, or new items in the list there. Members that exist are
    merged if they are containers, and stay otherwise. Raises ValueError where one has another type."""
    if not text.strip(_NOTHING):
        return f"{json.dumps(new, ensure_ascii=False, indent=2)}\n"
    if isinstance(new, list):
        for item in new:
            text = append_item(text, _container(text, names, list), item)
        return text
    for name, member in new.items():
        part = _container(text, names, dict)
        if find(text, part, name)[0] is None:
            text = append_item(text, part, member, name)
        elif isinstance(member, dict | list):
            text = put(text, member, *names, name)
    return text


def _container(text: str, names: Sequence[str], kind: type) -> Part:
    """The container at these names, which exist."""
    part, _ = find(text, parse(text), *names)
    if part is None or not isinstance(part.value, kind):
        what = repr(names[-1]) if names else "it"
        raise ValueError(f"{what} is not a JSON {'list' if kind is list else 'object'}")
    return part


def _at(text: str, way: Way) -> Part:
    part = parse(text)
    for number in way:
        part = read_parts(text, part.start)[0][number]
    return part


def take(text: str, way: Way) -> str:
    """The JSON without the item at the end of the way, and without the containers that it was alone in; "" where that
    was all."""
    while way and len(read_parts(text, _at(text, way[:-1]).start)[0]) == 1:
        way = way[:-1]
    return remove_item(text, _at(text, way[:-1]), way[-1]) if way else ""


def tag(harness: Harness) -> str:
    """The words of the command by which our hook is recognized."""
    return f"hook session-start --harness {harness.name}"


def add_hook(text: str, harness: Harness, command: str) -> str:
    """The settings with exactly one hook of ours. Raises ValueError where that cannot be done safely."""
    ways = _ours(text, harness)
    if not ways:
        hooks = {harness.event: [harness.entry(command)]}
        return put(text, {**harness.scaffold, "hooks": hooks})
    for _ in ways[1:]:
        text = _without_last(text, harness)
    field, _ = find(text, _at(text, _ours(text, harness)[0]), harness.command)
    if field is None or field.value == command:
        return text
    return text[: field.start] + json.dumps(command, ensure_ascii=False) + text[field.end :]


def remove_hook(text: str, harness: Harness) -> str:
    """The settings without our hooks; "" where nothing but what a new file needs is left."""
    if not _ours(text, harness):
        return text
    while _ours(text, harness):
        text = _without_last(text, harness)
    left = parse(text).value if text else {}
    return text if isinstance(left, dict) and left.keys() - harness.scaffold.keys() else ""


def _without_last(text: str, harness: Harness) -> str:
    way = _ours(text, harness)[-1]
    if harness.grouped and len(read_parts(text, _at(text, way[:-1]).start)[0]) == 1:
        way = way[:-2]  # a group without hooks does nothing, whatever its matcher
    return take(text, way)


def _ours(text: str, harness: Harness) -> list[Way]:
    if not text.strip(_NOTHING):
        return []
    event, start = find(text, parse(text), "hooks", harness.event)
    if event is None or not isinstance(event.value, list):
        return []
    result: list[Way] = []
    for number, entry in enumerate(read_parts(text, event.start)[0]):
        way = [*start, number]
        if not harness.grouped:
            result += [way] if _is_ours(entry.value, harness) else []
            continue
        group, inside = find(text, entry, "hooks")
        hooks = group.value if group and isinstance(group.value, list) else []
        ours = (at for at, hook in enumerate(hooks) if _is_ours(hook, harness))
        result += [[*way, *inside, at] for at in ours]
    return result


def _is_ours(hook: object, harness: Harness) -> bool:
    """Whether a hook is ours: only ours runs vaultmem's hook for this harness."""
    command = hook.get(harness.command) if isinstance(hook, dict) else None
    if not isinstance(command, str):
        return False
    try:
        words = shlex.split(command)
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


def edit(
    path: str, change: Edit, *, dry_run: bool = False, keep: Callable[[], bool] = bool
) -> Edited:
    """Apply a change to a file, which need not exist. If nothing is left it is removed, unless `keep` says after the
    change that an empty one stays. If `change` raises, nothing is written."""
    real = os.path.realpath(path)
    folder, name = os.path.split(real)
    before = read(real)
    after = change(before)
    result = Edited(real, before, after)
    if dry_run or before == after:
        return result
    if not after and not keep():
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
