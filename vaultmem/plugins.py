"""What packages register by entry point (dialects, languages, sources, verbs, doors), found and loaded here.

importlib.metadata would read the metadata of all that is installed, which costs a short command a quarter of its start.
Only the files entry_points.txt matter, and of them our groups; a distribution in a zip file is not seen.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from vaultmem.adapter import Language

_GROUPS = "vaultmem."
_METADATA = (".dist-info", ".egg-info")
_found: dict[tuple[str, ...], dict[str, dict[str, str]]] = {}  # by the path that was searched
_language: list[Language] = []


def registered(group: str) -> dict[str, str]:
    """What is registered in a group: "module:attribute" by name, in the order of the names."""
    path = tuple(sys.path)
    if path not in _found:
        _found[path] = _search(path)
    return _found[path].get(group, {})


def _search(path: tuple[str, ...]) -> dict[str, dict[str, str]]:
    """The groups of all distributions; of two of one name, the first on the path counts."""
    groups: dict[str, dict[str, str]] = {}
    seen: set[str] = set()
    for folder in path:
        try:
            names = os.listdir(folder or ".")
        except OSError:  # a zip file, or nothing at all
            continue
        for name in names:
            project = name.partition("-")[0].lower()
            if not name.endswith(_METADATA) or project in seen:
                continue
            seen.add(project)
            _read(os.path.join(folder, name, "entry_points.txt"), groups)
    return {group: dict(sorted(points.items())) for group, points in groups.items()}


def _read(path: str, groups: dict[str, dict[str, str]]) -> None:
    """Add the entry points of one distribution."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read()
    except OSError:  # it has none
        return
    group = ""
    for line in map(str.strip, text.splitlines() if f"[{_GROUPS}" in text else ()):
        if line.startswith("["):
            group = line.strip("[] ")
        elif group.startswith(_GROUPS) and "=" in line and not line.startswith("#"):
            name, _, value = line.partition("=")
            groups.setdefault(group, {}).setdefault(name.strip(), value.partition("[")[0].strip())


def resolve(name: str) -> Any:
    """What "module:attribute" leads to; a module where it names no attribute."""
    from importlib import import_module

    module, _, attributes = name.partition(":")
    found: Any = import_module(module)
    for attribute in filter(None, attributes.split(".")):
        found = getattr(found, attribute)
    return found


def load(group: str, name: str) -> Any:
    """One entry point. Raises KeyError where nothing of that name is registered."""
    return resolve(registered(group)[name])


def each(
    group: str, use: Callable[[str, Any], object], failed: Callable[[str, str], object]
) -> None:
    """Load all of a group in the order of their names, and use them. One that cannot be loaded or used does not
    hinder the others: `failed` is called with its name and the reason, in one line."""
    for name in registered(group):
        try:
            use(name, load(group, name))
        except Exception as error:  # noqa: BLE001 - the border to code of third parties
            failed(name, " ".join(str(error).split()) or type(error).__name__)


def language() -> Language:
    """The human languages: the first package by name that is registered for them."""
    if not _language:
        group = "vaultmem.languages"
        _language.append(load(group, next(iter(registered(group)))))
    return _language[0]
