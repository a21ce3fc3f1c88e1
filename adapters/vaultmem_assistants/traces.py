"""What removing our parts from a file cannot know, such as an empty list or a blank file that was there before: it is
recorded when the first part is added, in <state root>/connected.json, without the content of any settings.

A container that a part leaves empty is removed with it, whoever created it. So what is left is compared with what was
left of the file before after parts of ours had come and gone: if it is the same, the gaps are filled.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Sequence

from vaultmem import paths
from vaultmem.errors import VaultmemError
from vaultmem_assistants import hooks
from vaultmem_assistants.hooks import Edit, Edited

Part = tuple[Edit, Edit]  # adds a part of ours to a text, and removes it
Gap = tuple[int, int, str]  # where a text differs, the length of that now, and the text before


def add_part(path: str, parts: Sequence[Part], *, dry_run: bool, is_new: bool = False) -> Edited:
    """Add the first of the parts that may be in a file. `is_new`: an empty file was created for it."""
    planned = hooks.edit(path, parts[0][0], dry_run=True)
    if dry_run or not planned.is_changed:
        return planned
    if not _holds_ours(planned.before, parts):
        bare, gaps = _without_empty(planned.before, parts)
        is_lost = gaps or (not bare and not is_new and os.path.lexists(planned.path))
        _record(planned.path, [_hash(bare), gaps] if is_lost else None)
    return hooks.edit(path, parts[0][0])


def remove_part(path: str, parts: Sequence[Part], *, dry_run: bool) -> Edited:
    """Remove the first of the parts that may be in a file; with the last, the file is as it was before."""
    record = _recorded().get(os.path.realpath(path))
    keep = False

    def change(text: str) -> str:
        nonlocal keep
        left = parts[0][1](text)
        if record is None or left == text or _holds_ours(left, parts):
            return left
        bare, _ = _without_empty(left, parts)
        if record[0] != _hash(bare):
            return left
        keep = True
        for at, length, before in reversed(record[1]):
            bare = bare[:at] + before + bare[at + length :]
        return bare

    edited = hooks.edit(path, change, dry_run=dry_run, keep=lambda: keep)
    if edited.is_changed and not dry_run and not _holds_ours(edited.after, parts):
        _record(edited.path, None)
    return edited


def _holds_ours(text: str, parts: Sequence[Part]) -> bool:
    for _, remove in parts:
        with contextlib.suppress(ValueError):
            if remove(text) != text:
                return True
    return False


def _without_empty(text: str, parts: Sequence[Part]) -> tuple[str, list[Gap]]:
    """The text after parts of ours have come and gone, and what was lost, one gap a part."""
    gaps: list[Gap] = []
    for add, remove in parts:
        with contextlib.suppress(ValueError):
            bare = remove(add(text))
            if bare != text:
                start = _same(bare, text)
                end = _same(bare[start:][::-1], text[start:][::-1])
                gaps.append((start, len(bare) - start - end, text[start : len(text) - end]))
            text = bare
    return text, gaps


def _same(one: str, other: str) -> int:
    """The number of characters at the beginning that are the same."""
    pairs = zip(one, other, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _file() -> str:
    return os.path.join(paths.state_root(), "connected.json")


def _recorded() -> dict[str, tuple[str, list[Gap]]]:
    try:
        return {
            path: (str(text), [(int(at), int(length), str(before)) for at, length, before in gaps])
            for path, (text, gaps) in paths.read_json(_file()).items()
        }
    except (ValueError, TypeError):
        return {}


def _record(path: str, record: object) -> None:
    """Record or forget a file; a state folder that cannot be written costs only empty containers."""
    rows: dict[str, object] = {**_recorded()}
    if record is None and path not in rows:
        return
    rows = {name: row for name, row in {**rows, path: record}.items() if row is not None}
    with contextlib.suppress(OSError, VaultmemError):
        paths.make_private(paths.state_root())
        paths.replace_private(_file(), json.dumps(rows, ensure_ascii=False))
