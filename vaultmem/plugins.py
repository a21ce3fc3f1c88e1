"""Finds and loads what packages register by entry point: dialects, languages, sources, verbs.

importlib.metadata would read all installed metadata, which takes a quarter of a short command's start. Only our
groups in the entry_points.txt files are read; distributions in zip files are not found.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from typing import Any

    from vaultmem.adapter import Language
    from vaultmem.adapter.services import Assistant, Health, Models

_GROUPS = "vaultmem."
_METADATA = (".dist-info", ".egg-info")
_groups: dict[tuple[str, ...], dict[str, dict[str, str]]] = {}  # by the searched path
_first: dict[str, object] = {}  # by group


def registered(group: str) -> dict[str, str]:
    """The entry points of a group: "module:attribute" by name, sorted by name."""
    path = tuple(sys.path)
    if path not in _groups:
        _groups[path] = _search(path)
    return _groups[path].get(group, {})


def _search(path: tuple[str, ...]) -> dict[str, dict[str, str]]:
    """The groups of all distributions; of two with the same name, the first on the path counts."""
    groups: dict[str, dict[str, str]] = {}
    seen: set[str] = set()
    for folder in path:
        try:
            root = os.open(folder or ".", os.O_RDONLY | os.O_DIRECTORY)
        except OSError:  # a zip file, or nothing at all
            continue
        for name in os.listdir(root):
            if not name.endswith(_METADATA) or (project := name.partition("-")[0].lower()) in seen:
                continue
            seen.add(project)
            _read(root, f"{name}/entry_points.txt", groups)
        os.close(root)
    return {group: dict(sorted(points.items())) for group, points in groups.items()}


def _read(root: int, path: str, groups: dict[str, dict[str, str]]) -> None:
    """Add the entry points of one distribution. File objects, and paths from the root, would take twice as long."""
    try:
        handle = os.open(path, os.O_RDONLY, dir_fd=root)
        try:
            data = os.read(handle, os.fstat(handle).st_size)
        finally:
            os.close(handle)
    except OSError:  # it has no entry points
        return
    if b"[%b" % _GROUPS.encode() not in data:
        return
    group = ""
    for line in map(str.strip, data.decode("utf-8", "replace").splitlines()):
        if line.startswith("["):
            group = line.strip("[] ")
        elif group.startswith(_GROUPS) and "=" in line and not line.startswith("#"):
            name, _, value = line.partition("=")
            groups.setdefault(group, {}).setdefault(name.strip(), value.partition("[")[0].strip())


def resolve(name: str) -> Any:
    """The object that "module:attribute" refers to, or the module if there is no attribute."""
    module, _, attributes = name.partition(":")
    __import__(module)  # importlib would load more than a short command needs
    result: Any = sys.modules[module]
    for attribute in filter(None, attributes.split(".")):
        result = getattr(result, attribute)
    return result


def load(group: str, name: str) -> Any:
    """Load one entry point. Raises KeyError for an unknown name."""
    return resolve(registered(group)[name])


def load_each(
    group: str,
    use: Callable[[str, Any], object],
    failed: Callable[[str, str], object],
    only: Collection[str] = (),
) -> None:
    """Load the entry points of a group by name, or `only` some, and call `use` with each. A failure does not stop the
    others: `failed` is called with its name and the reason, in one line."""
    for name in [entry for entry in registered(group) if not only or entry in only]:
        try:
            use(name, load(group, name))
        except Exception as error:  # noqa: BLE001 - the border to code of third parties
            failed(name, " ".join(str(error).split()) or type(error).__name__)


# Groups in which one entry counts, and groups in which all do


def language() -> Language:
    """The human languages: the first package registered for them."""
    result: Language = _only("vaultmem.languages")
    return result


def models() -> Models:
    """The services of language models and embedding: the first package registered for them."""
    result: Models = _only("vaultmem.models")
    return result


def _only(group: str) -> Any:
    if group not in _first:
        _first[group] = load(group, next(iter(registered(group))))
    return _first[group]


def health() -> list[Health]:
    """The packages that report in `doctor` and `status`."""
    return [load("vaultmem.health", name) for name in registered("vaultmem.health")]


def assistants() -> list[Assistant]:
    """The programs that run assistants, from all packages."""
    result = (load("vaultmem.assistants", name) for name in registered("vaultmem.assistants"))
    return [assistant for several in result for assistant in several]
