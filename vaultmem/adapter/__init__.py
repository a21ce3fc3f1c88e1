"""What a dialect or a language package may use of vaultmem: contracts and values, nothing else.

A dialect (an editor's reading of a folder of notes) is registered under the entry-point group
"vaultmem.adapters" and is found by name at sync time. All paths are relative to the vault root, with
"/" and in Unicode NFC; all line numbers count from 1 in the file, front matter included.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime

from vaultmem.light import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from typing import Any

Value = None | bool | int | float | str | list["Value"] | dict[str, "Value"]
Properties = Mapping[str, Value]  # of a note
JsonObject = Mapping[str, object]  # who reads a field looks at what it is


class FrontMatter(NamedTuple):
    """The YAML block at the top of a note, read as YAML 1.2."""

    properties: Properties  # empty when there is none or it cannot be read
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
    or outline block. notes.blocks groups pieces into blocks."""

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
    next_day: Callable[[str, date, date], date | None]  # see text.recurrence.next_day
    is_over: Callable[[str, date, date], bool] | None = None  # see text.recurrence.is_over


class Folder(Protocol):
    """A read-only look at the vault root, for settings. Never leads out of the vault."""

    def exists(self, path: str) -> bool:
        """Whether a file or folder of that path is there."""

    def read(self, path: str) -> bytes | None:
        """The first megabyte of a file, or None when there is none or it cannot be read."""


class Rules(Protocol):
    """A dialect with the settings of one vault."""

    dialect: str
    mention_style: str  # how unlinked mentions are bounded: "words" or "latin", see notes.dialects
    uri_template: (
        str  # opens a note in its editor; {vault} {path} {title} and {abs}, the whole path with its
        # slashes, are percent-encoded into it
    )
    page_style: str  # of new pages: "frontmatter", or "outline" (lines key:: value, then blocks)

    @property
    def fingerprint(self) -> str:
        """What the reading depends on: another fingerprint means that every note is read again."""

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


# What a package for human languages has to know, registered under "vaultmem.languages". Each method takes any text,
# also in a language that it does not know, and never raises because of it.


class Moment(NamedTuple):
    """A time that a text names, and where; in the zone of the day it was written."""

    when: datetime  # items for a whole day: at 9:00
    all_day: bool
    repeat: str | None  # as vaultmem.text.recurrence reads it
    start: int
    end: int
    relative: bool  # depends on the day it was written
    grain: str = "day"  # or week, month, year: what is named, from its first day on

    def iso(self) -> str:
        """The moment as properties have it: 2026-11-22T09:00, or 2026-11-22 for a whole day."""
        return f"{self.when:%Y-%m-%d}" if self.all_day else f"{self.when:%Y-%m-%dT%H:%M}"

    def is_to_come(self, now: datetime) -> bool:
        """Whether it is not past; a whole day is to come until it ends."""
        if self.all_day:
            return self.when.date() >= now.date()
        return self.when.timestamp() > now.timestamp()


class Phrase(NamedTuple):
    """The words of a reminder, understood as far as it goes."""

    moment: Moment | None  # to come; None where no time is named
    words: str  # that say when, as they stand there
    rest: tuple[str, ...]  # words of time that are not understood
    either: tuple[str, ...] = ()  # the days that the words may mean, where nothing says which
    task: str = ""  # what is to be done, without the time where it reads well without


class DaySpan(NamedTuple):
    """A day, month or year named in a question; what it does not name is None."""

    year: int | None
    month: int | None
    day: int | None

    def bounds(self) -> tuple[int, int] | None:
        """The first and the last day as YYYYMMDD; None without a year."""
        if self.year is None:
            return None
        start = self.year * 10000 + (self.month or 1) * 100 + (self.day or 1)
        end = self.year * 10000 + (self.month or 12) * 100 + (self.day or 31)
        return start, end


class Statement(NamedTuple):
    """One fact. Everything but the span is folded: no case, no articles, days as `m05 d03`."""

    subject: str  # "user" for "I" and the user; "" when only a property is named ("port: 8100")
    property: str  # canonical: "prefers", "is", "lives in", "uses", "birthday", "favourite editor"
    value: str
    negated: bool
    span: tuple[int, int]  # where the clause stands in the text
    single: bool  # a subject has one value of it at a time (birthday, branch; not likes, uses)
    where: str = ""  # under which circumstance ("on staging", "for billing"); "" for always
    over: str = ""  # what it is preferred to
    language: str = ""  # of a value that another language may name otherwise (Wien, Vienna)


class TimeWords(NamedTuple):
    """Words that speak of days or dates, with blanks between them, and regular expressions of one word, or of two side
    by side, in lower case. A CJK character is a word."""

    words: str
    patterns: tuple[tuple[str, ...], ...]


CAP = 4000  # characters of a text in which statements are looked for


class Language(Protocol):
    """One or several human languages, as far as memories and reminders need them."""

    # Times, read on the day `written` or at the moment `now`

    def times(self, text: str, now: datetime) -> list[Moment]:
        """All times that a text names, in order."""

    def reminder(self, text: str, now: datetime) -> Moment | None:
        """The first time to come at which the text plainly wants something done; code, quotes, headings and links do
        not count."""

    def end(self, text: str, now: datetime) -> Moment | None:
        """The first time to come until which a sentence of the text holds: "in Lisbon until 12 May"."""

    def absolute(self, text: str, written: datetime) -> str:
        """The text with each relative time followed by the day it meant: tomorrow (2026-11-22)."""

    def phrase(self, text: str, now: datetime) -> Phrase:
        """When the words of a reminder want it to speak."""

    def time_alone(self, text: str, now: datetime) -> Phrase:
        """The same of words that say when and nothing else: whatever stands beside it is not understood."""

    def time_words(self) -> TimeWords:
        """What speaks of days or dates."""

    def asks_when(self, question: str) -> bool:
        """Whether the answer to a question is likely a date."""

    def days(self, question: str) -> list[DaySpan]:
        """The days, months and years that a question names."""

    # Intentions in notes

    def prose(self, text: str) -> str:
        """The text with code, quotes, headings and links blanked out, character for character."""

    def sentences(self, note: Note, text: str) -> dict[int, list[str]]:
        """Sentences that may say when something is to be done, by their lines."""

    def intention(self, sentence: str, written: datetime) -> Moment | None:
        """When such a sentence wants something done; None where it does not, or where that was before."""

    def task_time(self, text: str, written: datetime) -> Moment | None:
        """When an open task is to be done that names a time in plain words."""

    # Statements and words

    def facts(self, message: str, now: datetime | None = None) -> list[str]:
        """Sentences of a message that state something lasting about its writer, the most important first."""

    def statements(self, text: str) -> list[Statement]:
        """The facts in the first CAP characters, in order."""

    def contradicts(self, one: Statement, other: Statement) -> bool:
        """Whether both cannot be true of the same subject at the same time."""

    def contradiction(self, one: str, other: str) -> str | None:
        """Why two texts contradict, in one line for a person; None when they do not."""

    def fold(self, value: str) -> str:
        """One spelling of a value: no case, no article, no punctuation around it, days as `m05 d03`."""

    def figures(self, word: str) -> str:
        """A number in words in figures: "12" for twelve and for 十二."""

    def table(self, name: str) -> Mapping[str, Any]:
        """Lists of words: "categories" that hint at the category of a memory, "notions" such as frequent words."""
