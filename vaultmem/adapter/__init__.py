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
JsonObject = Mapping[str, object]  # readers check the type of each field


class FrontMatter(NamedTuple):
    """The YAML block at the top of a note, read as YAML 1.2."""

    properties: Properties  # empty when there is none or it cannot be read
    error: str | None  # why it cannot be read, in one line
    body: int  # offset in the text of the first character after the closing line; 0 without a block


class Heading(NamedTuple):
    """A heading of a note."""

    level: int  # 1 to 6
    text: str
    line: int


class Link(NamedTuple):
    """One link of a note; it is looked up by its `key`."""

    kind: str  # wikilink, embed, markdown, frontmatter, tag, property, block; self: no backlink
    path: str  # the part before "#", decoded and trimmed; "" for the note itself
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
    marker: str | None = None  # Logseq; None there means a dated block that is not a task
    repeater: str | None = None  # Logseq


class Piece(NamedTuple):
    """The smallest run of text that stays together: a paragraph, list item, table, code block or outline block.
    notes.blocks groups pieces into blocks."""

    text: str  # the text to search, without markup that only the editor needs
    line: int
    end_line: int  # last line, inclusive
    headings: tuple[str, ...] = ()  # from the outermost; in an outline: the parents' first lines
    kind: str = "text"  # text, list, table, code, heading
    label: str | None = None  # the speaker: "Anne" in a paragraph that starts with **Anne:**


class Note(NamedTuple):
    """Everything that a dialect reads from one file."""

    title: str
    pieces: tuple[Piece, ...] = ()
    properties: Mapping[str, Value] = {}
    frontmatter_error: str | None = None
    aliases: tuple[str, ...] = ()  # as written
    tags: tuple[str, ...] = ()  # without "#", first spelling, merged without case
    headings: tuple[Heading, ...] = ()
    links: tuple[Link, ...] = ()  # property links first, then in the order of the text
    tasks: tuple[Task, ...] = ()
    dates: tuple[Task, ...] = ()  # dated blocks that are not tasks
    anchors: Mapping[str, int] = {}  # block id -> line
    journal: str | None = None  # the ISO day of a daily note
    namespace: str | None = None  # Logseq: the parent page, lower case


class Completion(NamedTuple):
    """How a task is marked done in its note."""

    at: str  # local time: "2026-11-22T10:00"
    next_day: Callable[[str, date, date], date | None]  # see text.recurrence.next_day
    is_over: Callable[[str, date, date], bool] | None = None  # see text.recurrence.is_over


class Folder(Protocol):
    """Read-only access to the vault root, for settings. Never leads out of the vault."""

    def exists(self, path: str) -> bool:
        """Whether a file or folder exists at a path."""

    def read(self, path: str) -> bytes | None:
        """The first megabyte of a file; None when it does not exist or cannot be read."""


class Rules(Protocol):
    """The rules of a dialect with the settings of one vault."""

    dialect: str
    mention_style: str  # how unlinked mentions are bounded: "words" or "latin", see notes.dialects
    uri_template: (
        str  # opens a note in its editor; {vault} {path} {title} and {abs}, the whole path with its
        # slashes, are percent-encoded into it
    )
    page_style: str  # of new pages: "frontmatter", or "outline" (lines key:: value, then blocks)

    @property
    def fingerprint(self) -> str:
        """A digest of everything that parsing depends on; when it changes, every note is read again."""

    def kind(self, path: str) -> str:
        """ "note", "file" (can be linked to), or "" (invisible), decided by the path alone."""

    def excluded(self, path: str) -> bool:
        """Whether the user's settings hide this note from search and mentions."""

    def parse(self, path: str, text: str, front: FrontMatter) -> Note:
        """Parse a note. Never raises; time linear in the text. The text has "\\n" line ends and no BOM."""

    def names(self, path: str, note: Note | None) -> tuple[str, ...]:
        """The names under which links can refer to this file (`note` is None for other files)."""

    def lookups(self, key: str) -> tuple[str, ...]:
        """The names that a link with this key looks for, in order; the first that a file has wins."""

    def affected(self, name: str) -> tuple[str, ...]:
        """The keys of all links whose target can change when a file with this name appears or disappears."""

    def resolve(self, path: str, key: str, source: str, candidates: Sequence[str]) -> str | None:
        """The target among the files with the looked-up name, or None. `path` and `key` are the link's, `source` is
        the path of its note, of which only the folder may matter."""

    def completed(self, path: str, text: str, task: Task, done: Completion) -> str | None:
        """The text with this task marked done as its editor does it, or moved to its next date if it repeats;
        everything else is unchanged, with any line ends. None if the line no longer holds this open task, or if the
        task repeats by a rule that only its editor knows."""


class Views(Protocol):
    """An optional part of a dialect's rules: files that show memories in the editor."""

    def views(self) -> Mapping[str, str]:
        """Their text by file name, written once into the memory folder. {folder} stands for that folder, {days} for
        the days in which a memory fades."""


class Mirrors(Protocol):
    """An optional part of a dialect's rules: notes that the editor writes but never reads."""

    def is_mirror(self, path: str) -> bool:
        """Whether the note at a path is one, so that a change to it would be lost."""


class Templates(Protocol):
    """An optional part of a dialect's rules: notes that new notes are made from."""

    def is_template(self, path: str) -> bool:
        """Whether the editor's settings say that of the note at a path."""


class Dialect(Protocol):
    """The entry point of a dialect package: a module or an instance with these names."""

    name: str
    home: tuple[str, ...]  # folders it owns in a vault that several dialects claim; () for the rest

    def claims(self, root: Folder) -> int:
        """How strongly it claims a folder: 0 not at all, 1 as a fallback, 2 because the editor's own folder
        exists."""

    def open(self, root: Folder) -> Rules:
        """The rules for a vault; unreadable settings fall back to the editor's defaults."""


# The contract of a package for human languages, registered under "vaultmem.languages". Each method accepts any text,
# also in unknown languages, and never raises because of it.


class Moment(NamedTuple):
    """A time that a text names, and its position; in the zone in which it was written."""

    when: datetime  # items for a whole day: at 9:00
    all_day: bool
    repeat: str | None  # as vaultmem.text.recurrence reads it
    start: int
    end: int
    relative: bool  # relative to the day it was written
    grain: str = "day"  # or week, month, year: the unit that is named, beginning with its first day

    def iso(self) -> str:
        """The moment in the format of properties: 2026-11-22T09:00, or 2026-11-22 for a whole day."""
        return f"{self.when:%Y-%m-%d}" if self.all_day else f"{self.when:%Y-%m-%dT%H:%M}"

    def is_to_come(self, now: datetime) -> bool:
        """Whether it is in the future; a whole day counts as future until it ends."""
        if self.all_day:
            return self.when.date() >= now.date()
        return self.when.timestamp() > now.timestamp()


class Phrase(NamedTuple):
    """The words of a reminder, as far as they are understood."""

    moment: Moment | None  # in the future; None where no time is named
    words: str  # the words that say when, as written
    rest: tuple[str, ...]  # time words that are not understood
    either: tuple[str, ...] = ()  # the days that ambiguous words may mean
    task: str = ""  # what to do, without the time where it reads well without it
    again: tuple[Moment, ...] = ()  # other times of the same day, where `rest` is nothing else


YEARLESS = 9999  # days without a year are not greater


class DaySpan(NamedTuple):
    """Days named in a question, from the first to the last, as numbers YYYYMMDD; MMDD if no year is named."""

    first: int
    last: int
    words: str = (
        ""  # that say so and nothing else: "last week", "5 May", but not "on Sunday" or "in March"
    )

    @property
    def has_year(self) -> bool:
        """Whether a year is named, or follows from today."""
        return self.last > YEARLESS

    @property
    def is_short(self) -> bool:
        """Whether they are a season at most."""
        first, last = (n // 10_000 * 372 + n // 100 % 100 * 31 + n % 100 for n in self[:2])
        return last - first <= 93

    def each(self) -> list[int]:
        """Each of the days of a week or less; empty for more."""
        if self.first == self.last:
            return [self.first]
        if not (self.has_year and self.is_short):
            return []
        from datetime import date, timedelta  # only for days that were read with it

        try:
            day = date(self.first // 10_000, self.first // 100 % 100, self.first % 100)
            week = [int(f"{day + timedelta(days=step):%Y%m%d}") for step in range(8)]
        except (ValueError, OverflowError):  # since 31 November
            return []
        return [one for one in week if one <= self.last] if week[-1] > self.last else []

    @property
    def is_relative(self) -> bool:
        """Whether the words name a day, a week or more before or after today."""
        return bool(self.words) and self.has_year and str(self.first)[:4] not in self.words

    def covers(self, day: int) -> bool:
        """Whether a day, as a number YYYYMMDD, or MMDD of any year, is one of them."""
        if not self.has_year:
            return self.first <= day % 10_000 <= self.last
        years = {self.first // 10_000, self.last // 10_000} if day <= YEARLESS else {0}
        return any(self.first <= day + 10_000 * year <= self.last for year in years)


class Statement(NamedTuple):
    """One fact. Everything except the span is folded: no case, no articles, days as `m05 d03`."""

    subject: str  # "user" for "I" and the user; "" when only a property is named ("port: 8100")
    property: str  # canonical: "prefers", "is", "lives in", "uses", "birthday", "favourite editor"
    value: str
    negated: bool
    span: tuple[int, int]  # where the clause stands in the text
    single: bool  # whether a subject has one value at a time (birthday, branch; not likes, uses)
    where: str = ""  # the condition ("on staging", "for billing"); "" for always
    over: str = ""  # what it is preferred to
    language: str = ""  # of a value that another language may name otherwise (Wien, Vienna)


class TimeWords(NamedTuple):
    """Words about days or dates, separated by blanks, and regular expressions for one word or two adjacent ones, in
    lower case. A CJK character is a word."""

    words: str
    patterns: tuple[tuple[str, ...], ...]
    months: tuple[str, ...] = ()  # the names of each of the twelve


CAP = 4000  # characters of a text that are searched for statements


class Language(Protocol):
    """What memories and reminders need of one or several human languages."""

    # Times, read on the day `written` or at the moment `now`

    def times(self, text: str, now: datetime) -> list[Moment]:
        """All times that a text names, in order."""

    def reminder(self, text: str, now: datetime) -> Moment | None:
        """The first future time at which the text clearly says that something is to be done; ignores code, quotes,
        headings and links."""

    def end(self, text: str, now: datetime) -> Moment | None:
        """The first future time until which a sentence of the text holds: "in Lisbon until 12 May"."""

    def absolute(self, text: str, written: datetime) -> str:
        """The text with each relative time followed by the day it meant: tomorrow (2026-11-22)."""

    def phrase(self, text: str, now: datetime) -> Phrase:
        """Parse the words of a reminder."""

    def time_alone(self, text: str, now: datetime) -> Phrase:
        """Parse words that only say when: anything else counts as not understood."""

    def time_words(self) -> TimeWords:
        """The words about days or dates."""

    def asks_when(self, question: str) -> bool:
        """Whether the answer to a question is probably a date."""

    def asks_latest(self, question: str) -> bool:
        """Whether the answer to a question is the latest of several: when somebody last did something."""

    def asks_before(self, question: str) -> bool:
        """Whether a question is about what was so before: "my previous dentist", "where did I live before Porto"."""

    def beside(self, question: str) -> tuple[str, str, int] | None:
        """What a question asks of the time beside an event, the event, and how many days before (negative) or after
        it; 0 until today: "what did I do after the trip to Oslo"."""

    def days(self, question: str, now: float | None = None) -> list[DaySpan]:
        """The days, weeks, months and years that a question names; those relative to today only if `now` (seconds
        since the epoch) is known."""

    # Intentions in notes

    def prose(self, text: str) -> str:
        """The text with code, quotes, headings and links replaced by blanks, character for character."""

    def sentences(self, note: Note, text: str) -> dict[int, list[str]]:
        """Sentences that may say when something is to be done, by line number."""

    def intention(self, sentence: str, written: datetime) -> Moment | None:
        """When such a sentence says that something is to be done; None if it does not, or if the time is past."""

    def task_time(self, text: str, written: datetime) -> Moment | None:
        """When an open task that names a time in plain words is due; None without a time."""

    # Statements and words

    def facts(self, message: str, now: datetime | None = None) -> list[str]:
        """Sentences of a message that state something lasting about its writer, most important first."""

    def statements(self, text: str) -> list[Statement]:
        """The facts in the first CAP characters, in order."""

    def contradicts(self, one: Statement, other: Statement, *, is_change: bool = False) -> bool:
        """Whether both cannot be true of the same subject at the same time."""

    def contradiction(self, one: str, other: str) -> str | None:
        """Why two texts contradict each other, in one line for a person; None when they do not."""

    def fold(self, value: str) -> str:
        """The normal form of a value: no case, no article, no punctuation around it, days as `m05 d03`."""

    def figures(self, word: str) -> str:
        """A number word in figures: "12" for twelve and for 十二; any other word unchanged."""

    def table(self, name: str) -> Mapping[str, Any]:
        """Lists of words: "categories" that hint at the category of a memory, "notions" such as frequent words."""
