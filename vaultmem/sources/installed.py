"""Finds the sources by entry point, and the folders they are to read."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import cache
from importlib.metadata import entry_points
from typing import NamedTuple

from vaultmem.errors import UsageError, VaultmemError
from vaultmem.paths import state_root
from vaultmem.sources import GROUP, NOTHING, Apart, Found, Passed, Source

ALL = "all"


class Place(NamedTuple):
    """One source and one folder, or file, that it is to read, but for what lies apart."""

    source: Source
    root: str
    apart: Apart = NOTHING

    def found(self) -> Iterator[Found | Passed]:
        """What there is to read."""
        return self.source.found(self.root, self.apart)


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


Setting = Callable[[str], str]  # the text of a setting


def unset(_: str) -> str:
    """No setting is made."""
    return ""


def chosen(name: str, path: str | None, vault: str, home: str, setting: Setting = unset) -> Chosen:
    """What a name and a folder mean. Raises UsageError for a name that nobody has, VaultmemError where nothing can be
    read: the folder is not there, or is the vault's own."""
    known, troubles = installed()
    if name != ALL and name not in known:
        if os.path.exists(name):
            raise UsageError(
                f"{name[:100]} is no source; read it with --source text --path {shlex.quote(name[:100])}"
            )
        raise UsageError(f"unknown source {name[:40]!r}; known: {', '.join([*known, ALL])}")
    if path is not None:
        if name == ALL:
            raise UsageError("--path goes with one source; name it instead of all")
        return Chosen([Place(known[name], _given(path, vault), _apart(vault))], [*troubles])
    wanted = [*known.values()] if name == ALL else [known[name]]
    found = Chosen([], [*troubles])
    for source in wanted:
        if name == ALL and setting(f"ingestion.{source.name}.enabled") == "off":
            found.remarks.append(f"{source.name}: it is off in the settings")
            continue
        named = setting(f"ingestion.{source.name}.path")
        roots = (os.path.expanduser(named),) if named else source.places(home)
        _add_places(found, source, roots, vault)
    if not found.places:
        advice = "name a folder with --path" if name != ALL else "name a source and its --path"
        raise VaultmemError(f"there is nothing to read for {name}; {advice}")
    return found


def _add_places(found: Chosen, source: Source, roots: Iterable[str], vault: str) -> None:
    for root in roots:
        if not os.path.isdir(root):
            found.remarks.append(f"{source.name}: {root} is not there")
        elif is_inside(root, vault):
            found.remarks.append(f"{source.name}: {root} belongs to the vault itself")
        elif is_inside(root, state_root()):
            found.remarks.append(f"{source.name}: {root} is what vaultmem keeps of its vaults")
        else:
            found.places.append(Place(source, root, _apart(vault)))


def _apart(vault: str) -> Apart:
    """The vault, and what vaultmem keeps of vaults: what lies there came from where it is read, or is read already."""
    found: dict[tuple[int, int], str] = {}
    for path, why in (
        (state_root(), "it is what vaultmem keeps of its vaults"),
        (vault, "it is the vault itself"),
    ):
        with suppress(OSError):
            stat = os.stat(path)
            found[stat.st_dev, stat.st_ino] = why
    return found


def _given(path: str, vault: str) -> str:
    full = os.path.abspath(os.path.expanduser(path))
    if not os.path.exists(full):
        raise VaultmemError(f"{path} is not there; name a folder or a file with --path")
    if is_inside(full, vault):
        raise VaultmemError(
            f"{path} belongs to the vault itself: its notes are read where they are, and need not be taken in"
        )
    if is_inside(full, state_root()):
        raise VaultmemError(f"{path} is what vaultmem keeps of its vaults; name another folder")
    return full


def is_inside(path: str, folder: str) -> bool:
    """Whether a path is that folder, as of the vault, or lies in it, however it is spelled."""
    try:
        root = os.stat(folder)
    except OSError:
        return False
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
