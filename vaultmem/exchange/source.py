"""What a source of memories is: a reader of what some other program keeps, which changes nothing there.

A source is registered under the entry-point group "vaultmem.sources" and chosen by its name. It lists what it finds
below a folder, one after the other; what it does not read it names with the reason.
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
from vaultmem.vault.walk import Entry, Look, Trouble, nfc, walk

GROUP = "vaultmem.sources"


class SourceText(NamedTuple):
    """One text that may become a memory, or several."""

    path: str  # below the root of the source, "/" between, printable
    text: str  # without properties; line ends "\n"
    title: str = ""  # "" where its first line says it
    tags: tuple[str, ...] = ()  # without "#"
    aliases: tuple[str, ...] = ()
    links: tuple[str, ...] = ()  # what its properties link to, without brackets
    properties: Mapping[str, Value] = {}
    kind: str = "note"  # note, journal, instructions, memory, chat or text
    cut: str = ""  # what of the file was not read, in a few words
    day: str = ""  # of a journal, in ISO
    written: float = 0.0  # when its file was written last, in seconds since the epoch


class Passed(NamedTuple):
    """Something that is not read, and why."""

    path: str
    reason: str


Apart = Mapping[tuple[int, int], str]  # folders that are not read, by device and inode, and why not
NOTHING: Apart = {}


class Source(Protocol):
    """The entry point of a source: an instance or a module with these names."""

    name: str
    about: str  # what it reads, in a few words

    def places(self, home: str) -> tuple[str, ...]:
        """Where it looks if nobody names a folder; what is not there is passed over."""

    def read(self, root: str, apart: Apart = NOTHING) -> Iterator[SourceText | Passed]:
        """All there is below a folder (or in one file), in a stable order, read lazily, one by one. Never
        leads out of the folder, nor into an excluded one, which it names instead; writes nothing.
        Raises VaultmemError when the folder cannot be read."""


# Finds the sources by entry point, and the folders they are to read.

ALL = "all"


class Place(NamedTuple):
    """One source and one folder, or file, that it is to read, but for what lies apart."""

    source: Source
    root: str
    apart: Apart = NOTHING

    def read(self) -> Iterator[SourceText | Passed]:
        """What there is to read."""
        return self.source.read(self.root, self.apart)


class Chosen(NamedTuple):
    """What is to be read, and what was named and cannot be."""

    places: list[Place]
    remarks: list[str]


@cache
def installed() -> tuple[dict[str, Source], tuple[str, ...]]:
    """All sources by name, and a line for each package that has one that cannot be loaded: the others work on."""
    result: dict[str, Source] = {}
    troubles: list[str] = []
    plugins.each(
        GROUP,
        result.__setitem__,
        lambda name, why: troubles.append(f"the source {name!r} cannot be loaded: {why}"),
    )
    return result, tuple(troubles)


Setting = Callable[[str], str]  # the text of a setting


def chosen(
    name: str, path: str | None, vault: str, home: str, setting: Setting = lambda _: ""
) -> Chosen:
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
        return Chosen([Place(known[name], _checked_root(path, vault), _apart(vault))], [*troubles])
    wanted = [*known.values()] if name == ALL else [known[name]]
    result = Chosen([], [*troubles])
    for source in wanted:
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


def _add_places(result: Chosen, source: Source, roots: Iterable[str], vault: str) -> None:
    for root in roots:
        if not os.path.isdir(root):
            result.remarks.append(f"{source.name}: {root} is not there")
        elif is_inside(root, vault):
            result.remarks.append(f"{source.name}: {root} belongs to the vault itself")
        elif is_inside(root, state_root()):
            result.remarks.append(f"{source.name}: {root} is what vaultmem keeps of its vaults")
        else:
            result.places.append(Place(source, root, _apart(vault)))


def _apart(vault: str) -> Apart:
    """The vault, and what vaultmem keeps of vaults: what lies there came from where it is read, or is read already."""
    result: dict[tuple[int, int], str] = {}
    for path, why in (
        (state_root(), "it is what vaultmem keeps of its vaults"),
        (vault, "it is the vault itself"),
    ):
        with suppress(OSError):
            stat = os.stat(path)
            result[stat.st_dev, stat.st_ino] = why
    return result


def _checked_root(path: str, vault: str) -> str:
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
    real = Path(os.path.realpath(path))
    with suppress(OSError):
        root = os.stat(folder)
        return any(os.path.samestat(one.stat(), root) for one in (real, *real.parents))
    return False


# The files below the root of a source: listed and read without following a link, without reading more than a note.

MOST_BYTES = vault.CAP
_MOST = f"{MOST_BYTES / 1e6:g} MB"
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u2028\u2029]")
_LONG_WORD = re.compile(r"[!-~]{20,}\Z")
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


Wanted = Callable[[str], object]  # something true for the path of a file that is wanted


class Text(NamedTuple):
    """A file that was read."""

    path: str
    text: str
    written: float = 0.0  # seconds since the epoch


class Tree:
    """The files of a source: of a folder or one file, perhaps by a link. What is apart is not read."""

    def __init__(self, root: str, apart: Apart = NOTHING) -> None:
        real = os.path.realpath(root)
        self._only = os.path.basename(real) if os.path.isfile(real) else ""
        self.root = os.path.dirname(real) if self._only else real
        self._apart = apart
        # The folder apart that each folder lies in, "" for none.
        self._within: dict[str, str] = {"": ""}
        self._met: dict[str, str] = {}  # those that were met, and why they are not read

    def files(self, wanted: Wanted, below: str = "") -> Iterator[Entry | Passed]:
        """All files whose path matches, by path, then what stood in the way; none where `below` is no folder."""
        if self._only:
            entry = Look(self.root).at(self._only)
            yield entry or Passed(self._only, "hidden, or not a regular file")
            return
        if below and not Look(self.root).has_folder(below):
            return
        troubles: list[Trouble] = []
        try:
            entries = [one for one in walk(self.root, troubles, below) if self._wants(one, wanted)]
        except VaultGoneError as error:
            raise VaultmemError(f"{self.root} cannot be read: {_reason(error)}") from error
        yield from sorted(entries, key=lambda one: one.path)
        yield from (Passed(printable(nfc(path)), why) for path, why in sorted(self._met.items()))
        for trouble in sorted(troubles):
            if self._is_apart(trouble.path):
                continue
            if trouble.folder or "link" in trouble.reason or wanted(trouble.path):
                yield Passed(printable(trouble.path), trouble.reason)

    def _wants(self, entry: Entry, wanted: Wanted) -> bool:
        return not self._is_apart(entry.raw) and bool(wanted(entry.path))

    def _is_apart(self, raw: str) -> bool:
        """Whether a file lies in an excluded folder, by whatever name it goes here."""
        return bool(self._apart) and bool(self._folder_apart(raw.rpartition("/")[0]))

    def _folder_apart(self, raw: str) -> str:
        result = self._within.get(raw)
        if result is None:
            result = self._folder_apart(raw.rpartition("/")[0])
            why = "" if result else self._apart.get(_identity(f"{self.root}/{raw}"), "")
            if why:
                result = raw
                self._met[raw] = why
            self._within[raw] = result
        return result

    def texts(self, wanted: Wanted, below: str = "") -> Iterator[Text | Passed]:
        """The same, read."""
        for entry in self.files(wanted, below):
            yield entry if isinstance(entry, Passed) else self.read(entry)

    def read(self, entry: Entry) -> Text | Passed:
        """A file as text, or why not: half a note, or one with letters that are none, is no memory."""
        path = printable(entry.path)
        if entry.size > MOST_BYTES:
            return Passed(path, f"{entry.size / 1e6:,.1f} MB long, and a note has {_MOST} at most")
        result = vault.read(self.root, entry.raw)
        if result.trouble:
            return Passed(path, result.trouble)
        text = _CONTROL.sub(" ", result.text.replace("\r", "\n"))
        return Text(path, text, entry.mtime_ns / 1e9)


def beginning(read: SourceText, most: int) -> SourceText:
    """No more than the first characters of a text, and that it was cut; no secret and no long word is halved."""
    size = len(read.text)
    if size <= most:
        return read
    text = redact(read.text).text
    if len(text) <= most:
        return read._replace(text=text)
    start = text[:most]
    if not text[most].isspace():
        start = _LONG_WORD.sub("", start) or start
    return read._replace(
        text=start, cut=f"only the first {most:,} of {size:,} characters are taken"
    )


def printable(path: str) -> str:
    """A path as one line."""
    return _UNPRINTABLE.sub("\ufffd", path)


def _identity(path: str) -> tuple[int, int]:
    try:
        result = os.lstat(path)
    except (OSError, ValueError):
        return (0, 0)
    return (result.st_dev, result.st_ino)


def _reason(error: VaultmemError) -> str:
    return str(error).rpartition(": ")[2]
