"""Finds the sources by entry point, and the folders they are to read."""

from __future__ import annotations

import os
from functools import cache
from importlib.metadata import entry_points
from typing import NamedTuple

from vaultmem.errors import UsageError, VaultmemError
from vaultmem.sources import GROUP, Source

ALL = "all"


class Place(NamedTuple):
    """One source and one folder, or file, that it is to read."""

    source: Source
    root: str


class Chosen(NamedTuple):
    """What is to be read, and what was asked for and cannot be."""

    places: list[Place]
    remarks: list[str]


@cache
def installed() -> tuple[dict[str, Source], tuple[str, ...]]:
    """All sources by name, and a line for each package that has one that cannot be loaded: the others work on."""
    found: dict[str, Source] = {}
    troubles: list[str] = []
    for point in sorted(entry_points(group=GROUP), key=lambda each: each.name):
        try:
            found.setdefault(point.name, point.load())
        except Exception as error:  # noqa: BLE001 - the border to another's package
            troubles.append(f"the source {point.name!r} cannot be loaded: {error}")
    return found, tuple(troubles)


def chosen(name: str, path: str | None, vault: str, home: str) -> Chosen:
    """What a name and a folder mean. Raises UsageError for a name that nobody has, VaultmemError where nothing can be
    read: the folder is not there, or is the vault's own."""
    known, troubles = installed()
    if name != ALL and name not in known:
        raise UsageError(f"unknown source {name[:40]!r}; known: {', '.join([*known, ALL])}")
    if path is not None:
        if name == ALL:
            raise UsageError("--path goes with one source; name it instead of all")
        return Chosen([Place(known[name], _given(path, vault))], [*troubles])
    wanted = [*known.values()] if name == ALL else [known[name]]
    found = Chosen([], [*troubles])
    for source in wanted:
        _add_places(found, source, vault, home)
    if not found.places:
        advice = "name a folder with --path" if name != ALL else "name a source and its --path"
        raise VaultmemError(f"there is nothing to read for {name}; {advice}")
    return found


def _add_places(found: Chosen, source: Source, vault: str, home: str) -> None:
    for root in source.places(home):
        if not os.path.isdir(root):
            found.remarks.append(f"{source.name}: {root} is not there")
        elif is_inside(root, vault):
            found.remarks.append(f"{source.name}: {root} belongs to the vault itself")
        else:
            found.places.append(Place(source, root))


def _given(path: str, vault: str) -> str:
    full = os.path.abspath(os.path.expanduser(path))
    if not os.path.exists(full):
        raise VaultmemError(f"{path} is not there; name a folder or a file with --path")
    if is_inside(full, vault):
        raise VaultmemError(
            f"{path} belongs to the vault itself: its notes are read where they are, and need not be taken in"
        )
    return full


def is_inside(path: str, vault: str) -> bool:
    """Whether a path is the vault or lies in it, however it is spelled."""
    root = os.stat(vault)
    at = os.path.realpath(path)
    while True:
        try:
            if os.path.samestat(os.stat(at), root):
                return True
        except OSError:
            return False
        above = os.path.dirname(at)
        if above == at:
            return False
        at = above
