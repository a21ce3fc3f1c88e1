"""What a source of memories is: a reader of what some other program keeps, which changes nothing there.

A source is registered under the entry-point group "vaultmem.sources" and asked for by its name. It lists what it finds
below a folder, one after the other; what it does not read it names with the reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple, Protocol

from vaultmem.adapter import Value

GROUP = "vaultmem.sources"


class Found(NamedTuple):
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

    def found(self, root: str, apart: Apart = NOTHING) -> Iterator[Found | Passed]:
        """All there is below a folder (or in one file), in a stable order, read one by one as it is asked for. Never
        leads out of the folder, nor into one of those that are kept apart, which it names instead; writes nothing.
        Raises VaultmemError when the folder cannot be read."""
