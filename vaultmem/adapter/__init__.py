"""What a dialect package may use of vaultmem: contracts and values, nothing else.

A dialect (an editor's reading of a folder of notes) is registered under the entry-point group
"vaultmem.adapters" and is found by name at sync time. All paths are relative to the vault root, with
"/" and in Unicode NFC; all line numbers count from 1 in the file, front matter included.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date
from typing import NamedTuple, Protocol, runtime_checkable

Value = None | bool | int | float | str | list["Value"] | dict[str, "Value"]


class FrontMatter(NamedTuple):
    """The YAML block at the top of a note, read as YAML 1.2."""

    properties: Mapping[str, Value]  # empty when there is none or it cannot be read
    error: str | None  # why it cannot be read, in one line
    body: int  # offset in the text of the first character after the closing line; 0 without a block


class Heading(NamedTuple):
    """A heading as it stands in the note."""

    level: int  # 1 to 6
    text: str
    line: int


class Link(NamedTuple):
    """One reference as it stands in the note; `key` is what it is looked up by."""

    kind: str  # wikilink, embed, markdown, frontmatter, tag, property, block; self: no backlink
    path: str  # the part before "#", decoded and trimmed, as written; "" for the note itself
    subpath: str | None  # from "#" on
    display: str | None
    line: int
    key: str  # see Rules.lookups; "" means the note itself
    start: int = -1  # offsets of the whole link in the text; -1 for a property link
    end: int = -1


class Task(NamedTuple):
    """One task line (Obsidian) or block with a marker or a date (Logseq)."""

    line: int
    status: str  # the character in the box; Logseq: " ", "/", "x" or "-" by marker
    text: str
    done: bool = False
    cancelled: bool = False
    due: str | None = None  # dates: "2026-11-21" or "2026-11-21T09:00"
    scheduled: str | None = None
    start: str | None = None
    created: str | None = None
    completed: str | None = None
    cancelled_on: str | None = None
    remind: str | None = None
    priority: str | None = None  # highest, high, medium, low, lowest; Logseq: A, B, C
    recurrence: str | None = None
    id: str | None = None
    depends_on: tuple[str, ...] = ()
    block_id: str | None = None
    marker: str | None = None  # Logseq; None there means a dated block that is no task
    repeater: str | None = None  # Logseq


class Piece(NamedTuple):
    """A smallest run of text that should stay together: a paragraph, list item, table, code block
    or outline block. vault.blocks groups pieces into blocks."""

    text: str  # what is worth searching, without markup that only steers the editor
    line: int
    end_line: int  # last line, inclusive
    headings: tuple[str, ...] = ()  # from the outermost; in an outline: the parents' first lines
    kind: str = "text"  # text, list, table, code, heading
    label: str | None = None  # who speaks: "Anne" in a paragraph that starts with **Anne:**


class Note(NamedTuple):
    """All that a dialect reads out of one file."""

    title: str
    pieces: tuple[Piece, ...] = ()
    properties: Mapping[str, Value] = {}
    frontmatter_error: str | None = None
    aliases: tuple[str, ...] = ()  # as written
    tags: tuple[str, ...] = ()  # without "#", first spelling, merged without case
    headings: tuple[Heading, ...] = ()
    links: tuple[Link, ...] = ()  # property links first, then in the order of the text
    tasks: tuple[Task, ...] = ()
    dates: tuple[Task, ...] = ()  # dated blocks that are no tasks
    anchors: Mapping[str, int] = {}  # block id -> line
    journal: str | None = None  # the ISO day of a daily note
    namespace: str | None = None  # Logseq: the parent page, lower case


class Completion(NamedTuple):
    """How a task is marked done in its note."""

    at: str  # by the clock on the wall: "2026-11-22T10:00"
    next_day: Callable[[str, date, date], date | None]  # see languages.recurrence.next_day
    is_over: Callable[[str, date, date], bool] | None = None  # see languages.recurrence.is_over


class Folder(Protocol):
    """A read-only look at the vault root, for settings. Never leads out of the vault."""

    def exists(self, path: str) -> bool:
        """Whether a file or folder of that path is there."""

    def read(self, path: str) -> bytes | None:
        """The first megabyte of a file, or None when there is none or it cannot be read."""


class Rules(Protocol):
    """A dialect with the settings of one vault."""

    dialect: str
    mention_style: str  # how unlinked mentions are bounded: "words" or "latin", see vault.dialects
    uri_template: (
        str  # opens a note in its editor; {vault} {path} {title} and {abs}, the whole path with its
        # slashes, are percent-encoded into it
    )
    page_style: str  # of new pages: "frontmatter", or "outline" (lines key:: value, then blocks)
    fingerprint: str  # another fingerprint means that every note is read again

    def kind(self, path: str) -> str:
        """ "note", "file" (can be linked to), or "" (invisible), by the path alone."""

    def excluded(self, path: str) -> bool:
        """Whether the user hides this note from search and mentions."""

    def parse(self, path: str, text: str, front: FrontMatter) -> Note:
        """Read a note. Never raises; time linear in the text. The text has "\\n" line ends, no BOM."""

    def names(self, path: str, note: Note | None) -> tuple[str, ...]:
        """The names under which links find this file (note is None for other files)."""

    def lookups(self, key: str) -> tuple[str, ...]:
        """The names a link with this key looks for, the first that any file has winning."""

    def affected(self, name: str) -> tuple[str, ...]:
        """The keys of all links that can change when a file with this name comes or goes."""

    def resolve(self, path: str, key: str, source: str, candidates: Sequence[str]) -> str | None:
        """The target among the files that have the looked-up name, or None (a link's `path` and
        `key`, the path of the note it stands in, of which only the folder may matter)."""

    def completed(self, path: str, text: str, task: Task, done: Completion) -> str | None:
        """The text with this task marked done as its editor does it, or moved on if it comes round again; all else
        as it was, with line ends of any kind. None where it is no longer this open task that stands on that
        line, or repeats by a rule that only its editor knows."""


@runtime_checkable
class Views(Protocol):
    """What a dialect's rules may have beside: files of the editor's own that show memories."""

    def views(self) -> Mapping[str, str]:
        """Their text by the names under which they are written, once, into the memory folder. {folder} stands for that
        folder, {days} for the days in which a memory fades."""


class Dialect(Protocol):
    """The entry point of a dialect package: a module or an instance with these names."""

    name: str
    home: tuple[str, ...]  # folders it owns in a vault that several dialects claim; () is the rest

    def claims(self, root: Folder) -> int:
        """0 not mine, 1 can read it if nobody else does, 2 the editor's own folder is there."""

    def open(self, root: Folder) -> Rules:
        """The rules for this vault; unreadable settings fall back to the editor's defaults."""
