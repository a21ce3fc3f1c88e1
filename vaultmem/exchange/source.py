"""Sources of memories: read-only readers of what other programs store.

A source is registered under the entry-point group "vaultmem.sources" and chosen by name. It yields the texts below a
folder one by one, and names what it does not read, with the reason.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path

from vaultmem import plugins
from vaultmem.adapter import Value
from vaultmem.errors import UsageError, VaultGoneError, VaultmemError
from vaultmem.light import NamedTuple, Protocol
from vaultmem.paths import state_root
from vaultmem.text.secrets import redact
from vaultmem.vault import files as vault
from vaultmem.vault.walk import Entry, FileLookup, Trouble, identity, nfc, walk

GROUP = "vaultmem.sources"


class SourceText(NamedTuple):
    """One text that may become one or several memories."""

    path: str  # relative to the root of the source, with "/", printable
    text: str  # without properties; line ends "\n"
    title: str = ""  # "" to take it from the first line
    tags: tuple[str, ...] = ()  # without "#"
    aliases: tuple[str, ...] = ()
    links: tuple[str, ...] = ()  # link targets in its properties, without brackets
    properties: Mapping[str, Value] = {}
    kind: str = "note"  # note, journal, instructions, memory, chat or text
    cut: str = ""  # what was left out of the file, in a few words
    day: str = ""  # day of a journal, in ISO
    written: float = 0.0  # modification time of its file, in seconds since the epoch


class Skipped(NamedTuple):
    """A file or folder that is not read, and why."""

    path: str
    reason: str


class Source(Protocol):
    """The entry point of a source: an instance or a module with these names."""

    name: str
    about: str  # what it reads, in a few words

    def places(self, home: str) -> tuple[str, ...]:
        """The folders that it reads by default; missing ones are skipped."""

    def read(self, root: str) -> Iterator[SourceText | Skipped]:
        """Yield all texts below a folder (or in one file), lazily and in a stable order. Never leaves the folder;
        writes nothing. Raises VaultmemError if the folder cannot be read."""


# Finding the sources by entry point, and the folders to read.

ALL = "all"


class Place(NamedTuple):
    """One source and one folder or file for it to read, except for the vault and the state folder, whose contents are
    already indexed, or are copies."""

    source: Source
    root: str
    vault: str

    def read(self) -> Iterator[SourceText | Skipped]:
        """Yield the texts of the place; of a folder that is left out, only that it is."""
        root = os.path.realpath(self.root)
        # By path, and by identity: one may be mounted elsewhere, too, or spelled otherwise.
        reasons: dict[object, str] = {}
        for folder, why in (
            (state_root(), "it is vaultmem's own state folder"),
            (self.vault, "it is the vault itself"),
        ):
            reasons[printable(nfc(os.path.relpath(os.path.realpath(folder), root)))] = why
            reasons[identity(folder) or folder] = why

        @cache
        def left_out(folder: str) -> Skipped | None:
            if not folder:
                return None
            why = reasons.get(folder) or reasons.get(identity(f"{root}/{folder}"))
            return left_out(folder.rpartition("/")[0]) or (Skipped(folder, why) if why else None)

        told = set()
        for content in self.source.read(self.root):
            skipped = left_out(content.path.rpartition("/")[0])
            if skipped is None:
                yield content
            elif skipped not in told:
                told.add(skipped)
                yield skipped


class Selection(NamedTuple):
    """The places to read, and remarks on those that cannot be read."""

    places: list[Place]
    remarks: list[str]


@cache
def installed() -> tuple[dict[str, Source], tuple[str, ...]]:
    """All sources by name, and a line for each one that cannot be loaded."""
    result: dict[str, Source] = {}
    troubles: list[str] = []
    plugins.load_each(
        GROUP,
        result.__setitem__,
        lambda name, why: troubles.append(f"the source {name!r} cannot be loaded: {why}"),
    )
    return result, tuple(troubles)


Setting = Callable[[str], str]  # the text of a setting


def choose_places(
    name: str, path: str | None, vault: str, home: str, setting: Setting = lambda _: ""
) -> Selection:
    """The places that a source name and a folder refer to. Raises UsageError for an unknown name, VaultmemError if
    nothing can be read: the folder does not exist, or belongs to the vault."""
    sources, troubles = installed()
    if name != ALL and name not in sources:
        if os.path.exists(name):
            raise UsageError(
                f"{name[:100]} is not a source; read it with --source text --path {shlex.quote(name[:100])}"
            )
        raise UsageError(f"unknown source {name[:40]!r}; known: {', '.join([*sources, ALL])}")
    if path is not None:
        if name == ALL:
            raise UsageError("--path goes with one source; name it instead of all")
        return Selection([Place(sources[name], _checked_root(path, vault), vault)], [*troubles])
    chosen_sources = [*sources.values()] if name == ALL else [sources[name]]
    result = Selection([], [*troubles])
    for source in chosen_sources:
        if name == ALL and setting(f"ingestion.{source.name}.enabled") == "off":
            result.remarks.append(f"{source.name}: it is off in the settings")
            continue
        named = setting(f"ingestion.{source.name}.path")
        roots = (os.path.expanduser(named),) if named else source.places(home)
        _add_places(result, source, roots, vault)
    if not result.places:
        advice = "name a folder with --path" if name != ALL else "name a source and its --path"
        raise VaultmemError(f"there is nothing to read for {name}; {advice}")
    return result


def _add_places(result: Selection, source: Source, roots: Iterable[str], vault: str) -> None:
    for root in roots:
        why = _why_ours(root, vault) if os.path.isdir(root) else "is not there"
        if why:
            result.remarks.append(f"{source.name}: {root} {why}")
        else:
            result.places.append(Place(source, root, vault))


def _checked_root(path: str, vault: str) -> str:
    full = os.path.abspath(os.path.expanduser(path))
    if not os.path.exists(full):
        raise VaultmemError(f"{path} is not there; name a folder or a file with --path")
    if why := _why_ours(full, vault):
        raise VaultmemError(f"{path} {why}; name another folder")
    return full


def _why_ours(path: str, vault: str) -> str:
    """Why what is there is known already; "" if it is not."""
    if is_inside(path, vault):
        return "belongs to the vault itself, whose notes need no import"
    return "is vaultmem's own state folder" if is_inside(path, state_root()) else ""


def is_inside(path: str, folder: str) -> bool:
    """Whether a path is a folder or lies inside it, however it is spelled."""
    real = Path(os.path.realpath(path))
    with suppress(OSError):
        root = os.stat(folder)
        return any(os.path.samestat(parent.stat(), root) for parent in (real, *real.parents))
    return False


# The files below a source's root, listed and read without following links, up to the size of a note.

MOST_BYTES = vault.CAP
_MOST = f"{MOST_BYTES / 1e6:g} MB"
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u2028\u2029]")
_LONG_WORD = re.compile(r"[!-~]{20,}\Z")
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


PathTest = Callable[[str], object]  # whether a file is wanted, by its path


class Text(NamedTuple):
    """The text of a file."""

    path: str
    text: str
    written: float = 0.0  # seconds since the epoch


class Tree:
    """The files of a source, which is a folder or one file, perhaps a link."""

    def __init__(self, root: str) -> None:
        real = os.path.realpath(root)
        self._only = os.path.basename(real) if os.path.isfile(real) else ""
        self.root = os.path.dirname(real) if self._only else real

    def files(self, is_wanted: PathTest, below: str = "") -> Iterator[Entry | Skipped]:
        """Yield all files whose path matches, by path, then the skipped ones; none if `below` is not a folder."""
        if self._only:
            entry = FileLookup(self.root).at(self._only)
            yield entry or Skipped(self._only, "hidden, or not a regular file")
            return
        if below and not FileLookup(self.root).has_folder(below):
            return
        troubles: list[Trouble] = []
        try:
            entries = [file for file in walk(self.root, troubles, below) if is_wanted(file.path)]
        except VaultGoneError as error:
            reason = str(error).rpartition(": ")[2]
            raise VaultmemError(f"{self.root} cannot be read: {reason}") from error
        yield from sorted(entries, key=lambda one: one.path)
        for trouble in sorted(troubles):
            if trouble.folder or "link" in trouble.reason or is_wanted(trouble.path):
                yield Skipped(printable(trouble.path), trouble.reason)

    def texts(self, is_wanted: PathTest, below: str = "") -> Iterator[Text | Skipped]:
        """Like files(), with the text of each."""
        for entry in self.files(is_wanted, below):
            yield entry if isinstance(entry, Skipped) else self.read(entry)

    def read(self, entry: Entry) -> Text | Skipped:
        """The text of a file, or why it is not read: part of a note, or one with invalid characters, is not a
        memory."""
        path = printable(entry.path)
        if entry.size > MOST_BYTES:
            return Skipped(path, f"{entry.size / 1e6:,.1f} MB long, and a note has {_MOST} at most")
        result = vault.read(self.root, entry.raw)
        if result.trouble:
            return Skipped(path, result.trouble)
        text = _CONTROL.sub(" ", result.text.replace("\r", "\n"))
        return Text(path, text, entry.mtime_ns / 1e9)


def beginning(read: SourceText, most: int) -> SourceText:
    """The first `most` characters of a text, marked where it was cut; secrets and long words are not split."""
    size = len(read.text)
    if size <= most:
        return read
    text = redact(read.text).text
    if len(text) <= most:
        return read._replace(text=text)
    start = text[:most]
    if not text[most].isspace():
        start = _LONG_WORD.sub("", start) or start
    return read._replace(text=start, cut=f"only the first {most:,} of {size:,} characters are read")


def printable(path: str) -> str:
    """A path as one line."""
    return _UNPRINTABLE.sub("\ufffd", path)
