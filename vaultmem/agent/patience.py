"""Which of the differences at touched paths are believed now, and which are looked at again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from vaultmem.compare import Diff, Place, moved
from vaultmem.core.pace import Seen, Touch, look_again
from vaultmem.store.walk import nfc, printable


def place_of(touches: Iterable[Touch]) -> Place:
    """The part of the vault that the touches mean. A folder may have taken the place of a note of its name,
    or a note that of a folder, so both are looked for. What is below a touched folder is looked at with it."""
    folders = {touch.path for touch in touches if touch.folder}
    outermost = {path for path in folders if folders.isdisjoint(_around(path))}
    files = (touch.path for touch in touches)
    apart = frozenset(path for path in files if outermost.isdisjoint(_around(path)))
    return Place(apart, frozenset(outermost))


def _around(path: str) -> Iterator[str]:
    """The folders that a path is in, the innermost first, the vault itself ("") last."""
    while path:
        path = path.rpartition("/")[0]
        yield path


def too_early(diff: Diff, touches: list[Touch], now: float) -> tuple[set[str], dict[Touch, float]]:
    """Paths that seem to be gone or cut off, but may be about to be replaced; and the touches to look at
    again, with the time to do so."""
    covering = _covering(_paths(diff), touches)
    last = {
        path: max(touch.last for touch in around) for path, around in covering.items() if around
    }
    later = look_again(_seen(diff), last, now)
    again: dict[Touch, float] = {}
    for path, due in later.items():
        for touch in covering[path]:
            again[touch] = min(due, again.get(touch, due))
    return set(later), again


def _paths(diff: Diff) -> Iterator[str]:
    yield from diff.gone.values()
    for entry in diff.put:
        if entry.path in diff.before:
            yield entry.path


def _covering(paths: Iterable[str], touches: list[Touch]) -> dict[str, list[Touch]]:
    """The touches that mean each path: of itself, or of a folder around it."""
    files: dict[str, list[Touch]] = {}
    folders: dict[str, list[Touch]] = {}
    for touch in touches:
        path = nfc(printable(touch.path))
        files.setdefault(path, []).append(touch)
        if touch.folder:
            folders.setdefault(path, []).append(touch)
    covering = {}
    for path in paths:
        around = [touch for above in _around(path) for touch in folders.get(above, ())]
        covering[path] = around + files.get(path, [])
    return covering


def _seen(diff: Diff) -> Iterator[Seen]:
    elsewhere = moved(diff)
    for path in diff.gone.values():
        yield Seen(path, None, diff.before[path].size, path in elsewhere)
    for entry in diff.put:
        before = diff.before.get(entry.path)
        yield Seen(entry.path, entry.size, before.size if before else None, moved=False)
