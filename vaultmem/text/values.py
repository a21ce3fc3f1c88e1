"""Small things that every package uses: light records, lazily loaded patterns and word lists, limits, the names of
our folders, plural forms."""

from __future__ import annotations

__all__ = ["value"]

TYPE_CHECKING = False

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from dataclasses import dataclass as value
    from typing import Any, TypeVar

    R = TypeVar("R", bound=Mapping[str, object])
    T = TypeVar("T")
else:

    def value(cls):
        """Give a class with annotated fields __init__, __eq__ and __repr__, like a dataclass."""
        names = tuple(cls.__annotations__)
        field_names, order = frozenset(names), dict.fromkeys(names)  # JSON keeps the order
        defaults = {name: cls.__dict__[name] for name in names if name in cls.__dict__}
        least, optional = len(names) - len(defaults), tuple(defaults.values())

        def __init__(self, *args, **named):  # noqa: N807 - becomes the method of the class
            if not named and least <= len(args) <= len(names):
                self.__dict__.update(zip(names, args + optional[len(args) - least :], strict=True))
                return
            if not (args or defaults) and named.keys() == field_names:
                self.__dict__.update(named)
                return
            fields = {**defaults, **dict(zip(names, args, strict=False)), **named}
            if len(args) > len(names) or fields.keys() != field_names:
                odd = sorted(fields.keys() ^ field_names)
                raise TypeError(
                    f"{cls.__name__}() takes {', '.join(names)}; check {', '.join(odd)}"
                )
            self.__dict__.update(order | fields)

        def __eq__(self, other):  # noqa: N807 - as above
            return self.__dict__ == other.__dict__ if other.__class__ is cls else NotImplemented

        def __repr__(self):  # noqa: N807 - as above
            return f"{cls.__name__}({', '.join(f'{n}={getattr(self, n)!r}' for n in names)})"

        cls.__init__, cls.__eq__, cls.__repr__ = __init__, __eq__, __repr__
        cls.__hash__, cls.__match_args__ = None, names
        return cls


# The codes of bidirectional controls, which reorder a line.
TURNING = (*range(0x202A, 0x202F), *range(0x2066, 0x206A))

# The id of an outline's block, and a line in which its editor keeps the block's state.
BLOCK_ID = r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"
EDITOR_LINE = (
    r"^[ \t]*(?:(?:[-*][ \t]+)?(?:collapsed|id|heading|background[-_]color|(?:created|updated)[-_]at|ls[-_]type"
    r"|card-(?:last-\w+|next-schedule|repeats|ease-factor)|hl-(?:color|type|stamp)|logseq\.[\w.-]+)::"
    r"|:(?:PROPERTIES|END|collapsed|id):(?=[ \t]|$)"  # in Org
    r"|:LOGBOOK:[ \t]*\n(?>(?:(?![ \t]*(?:-[ \t]|:(?:END|LOGBOOK):))[^\n]*\n)*)[ \t]*:END:)[^\n]*(?:\n|\Z)"
)

# Word lists and patterns: start-up must not pay for hundreds of regular expressions.

_tables: dict[tuple[str, str], dict[str, Any]] = {}


def toml_table(package: str, name: str) -> dict[str, Any]:
    """The contents of the file `name`.toml of a package, read once."""
    if (package, name) not in _tables:
        text = file_text(package, f"{name}.toml")
        table = simple_toml(text)
        if table is None:
            import tomllib

            table = tomllib.loads(text)
        _tables[package, name] = table
    return _tables[package, name]


def simple_toml(text: str) -> dict[str, Any] | None:
    """What tomllib would read, in a tenth of the time; None unless all is sections of literal strings."""
    table: dict[str, Any] = {}
    section, at = table, 0
    while match := _TOML.match(text, at):
        at = match.end()
        if match["section"]:
            section = table
            for part in match["section"].split("."):
                section = section.setdefault(part, {})
        elif match["name"]:
            section[match["name"]] = match["line"] or match["lines"] or ""
    return table if at == len(text) else None


def file_text(package: str, name: str) -> str:
    """The text of a file that is installed with a package."""
    # importlib would be three modules more
    module: Any = __import__(package, fromlist=["__path__"])
    data: bytes = module.__loader__.get_data(f"{module.__path__[0]}/{name}")
    return data.decode("utf-8")


def lazy(source: str | Callable[[], str], flags: int = 0) -> re.Pattern[str]:
    """A pattern compiled on first use, when an error in it is raised. `source` is an expression as for re.compile(),
    or a function that returns one."""
    result: Any = _Lazy(source, flags)
    return result  # type: ignore[no-any-return] # has all that a pattern has


def remembers_last(function: Callable[..., T]) -> Callable[..., T]:
    """A pure function that has its last result again for equal arguments. Nobody may change these, nor the result."""
    last: tuple[tuple[object, ...], T] | None = None

    def remembered(*arguments: object) -> T:
        nonlocal last
        known = last  # another thread may replace it meanwhile
        if known is None or known[0] != arguments:
            last = known = arguments, function(*arguments)
        return known[1]

    return remembered


def remembers_each(function: Callable[[R], T]) -> Callable[[Iterable[R]], list[T]]:
    """A pure function of a record, for many: one of the last call has its result again. Nobody may change that."""
    last: dict[object, T] = {}

    def each(records: Iterable[R]) -> list[T]:
        nonlocal last
        known, results = last, []  # another thread may replace it meanwhile
        used: dict[object, T] = {}
        for record in records:
            key = tuple(record.values())
            used[key] = result = known[key] if key in known else function(record)
            results.append(result)
        last = used
        return results

    return each


def without_editor_lines(text: str) -> str:
    """The text without an outline's editor state, which means nothing to a reader: id::, collapsed::, its log book."""
    has_state = "::" in text or ":LOGBOOK:" in text or ":PROPERTIES:" in text
    return _EDITOR_LINE.sub("", text).rstrip("\n") if has_state else text


class _Lazy:
    """Stands for a compiled expression; the first use of one of its methods compiles it."""

    def __init__(self, source: str | Callable[[], str], flags: int) -> None:
        self._source = source
        self.flags = flags

    @property
    def pattern(self) -> str:
        return self._source if isinstance(self._source, str) else self._source()

    def __getattr__(self, name: str) -> object:
        import re

        if name.startswith("_"):  # copy asks for these before there is a source
            raise AttributeError(name)
        result = getattr(re.compile(self.pattern, self.flags), name)
        setattr(self, name, result)  # called directly from now on
        return result


_EDITOR_LINE = lazy(f"(?im){EDITOR_LINE}")
_TOML = lazy(
    r"(?:#.*)?\n|\[(?P<section>[a-z_.]+)\]\n|[\"']?(?P<name>[a-z][a-z _-]*)[\"']? = "
    r"(?:'(?!'')(?P<line>[^'\n]*)'|'{3}\n?(?P<lines>[^']*(?:'(?!'')[^']*)*)'{3})\n"
)


# The mark of a private note: in front matter, even if unreadable; in an outline or as an inline field, in
# any block; in Org. Not inside a closed code block.
_MARKS = lazy(
    r"(?im)^(?P<inner>[ \t]*)[\"']?private[ \t\"']*:(?!:)[ \t]*(?P<front>\S*)"
    r"|(?:^[ \t>]*(?:[-*+][ \t]+)?|[\[(])private[ \t]*::[ \t]*(?P<field>\S*)"
    r"|^[ \t]*(?:#\+|:)private:[ \t]+(?P<org>\S+)"
)
_FENCES = lazy(r"(?m)^[ \t>]*(?:[-*+][ \t]+)?(?P<mark>`{3,}(?=[^`\n]*$)|~{3,})(?P<info>.*)$")


def is_yes(mark: str) -> bool:
    """Whether a mark is set: anything but "no" means yes."""
    plain = mark.strip(" \t\"',])").lower()
    return plain not in ("false", "no", "0", "none", "null", "~", "")


def says_private(text: str, *, is_read: bool = True) -> bool:
    """Whether the text of a note marks it, or a block of it, as private; when in doubt, it does. Marks below a
    property do not count, unless the properties cannot be read."""
    if "private" not in text.lower():
        return False
    is_framed = text.startswith(("---", "\ufeff---"))
    end = text.find("\n---", 3) if is_framed else 0
    if end < 0:  # never closed
        end = len(text)
    return any(
        is_yes(match["front"] or match["field"] or match["org"] or "")
        for match in _MARKS.finditer(text[:end] + _without_code(text[end:]))
        if match["front"] is None or (match.start() < end and not (is_read and match["inner"]))
    )


def code_blocks(text: str) -> tuple[list[tuple[int, int]], str]:
    """The positions of closed code blocks, and the mark of one that is never closed."""
    spans, mark, begin = list[tuple[int, int]](), "", 0
    for fence in _FENCES.finditer(text):
        if not mark:
            mark, begin = fence["mark"], fence.start()
        elif fence["mark"].startswith(mark) and not fence["info"].strip():
            spans.append((begin, fence.end()))
            mark = ""
    return spans, mark


def _without_code(text: str) -> str:
    ends = [0, *(end for block in code_blocks(text)[0] for end in block), len(text)]
    return "".join(text[begin:end] for begin, end in zip(ends[::2], ends[1::2], strict=True))


# A scope in front matter that cannot be read: any but that of everybody in a memory, else one that limits a note.
# What follows a rule at the top of a note may be a sentence with a colon.
_FRAMED = r"(?:(?!---)[^\n]*\n)*?[ \t\"']*"
_SCOPE = rf"{_FRAMED}scope[ \t\"']*:[ \t\"']*+"
_SCOPED = lazy(
    rf"(?i)\ufeff?---\n(?:(?={_FRAMED}id[ \t\"']*:){_SCOPE}(?!global\b)|{_SCOPE}(?:agent|conversation|user):)"
)


def with_privacy(properties: Mapping[str, T], text: str) -> Mapping[str, T | bool]:
    """The properties of a note, private if its text says so, or if its scope cannot be read."""
    is_read = bool(properties)
    is_private = says_private(text, is_read=is_read) or (not is_read and _SCOPED.match(text))
    return {**properties, "private": True} if is_private else properties


class OnError:
    """A context manager that calls `undo` if its block raises anything: `with OnError(file.close): …`."""

    def __init__(self, undo: Callable[[], object]) -> None:
        self._undo = undo

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, *_error: object) -> None:
        if kind is not None:
            self._undo()


def json_object(data: str | bytes) -> dict[str, Any]:
    """The JSON object in `data`; {} for anything else."""
    import json

    try:
        result = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return result if isinstance(result, dict) else {}


# Limits of one request, the same for every interface.

RESULTS = 1_000_000  # in a search or list
TOOL_RESULTS = (
    1_000  # in an assistant's search, whatever its limit: each costs the agent memory and time
)
TOKENS, MEMORIES = 1_000_000, 1_000  # in a recall
DAYS = 36_500  # ahead
SHORTEST_ID = 4  # least characters of the beginning of an id that name something
SOON = 7  # days ahead of which pending items are listed by default


# The memory folder: its folders by category, other folders, and the pages we write there, whose names no title
# may have.

CATEGORIES = {
    "soul": "core identity, values, mission",
    "character": "personality traits, communication style",
    "people": "people and relationships",
    "project": "project context, repositories, deployments",
    "date": "deadlines, schedules, events",
    "knowledge": "technical knowledge, facts, patterns",
    "feedback": "feedback, suggestions, improvements",
    "preferences": "what a user or agent prefers",
    "decisions": "choices made",
    "lessons": "lessons learned, gotchas",
    "habits": "behaviour, routines",
    "skills": "skills, capabilities",
    "inbox": "not classified yet",
    "reminders": "what is to be remembered at a time",
}
INBOX, REMINDERS = "inbox", "reminders"
PHASES = (INBOX, "organized")
TYPES = ("episodic", "semantic", "procedural", "working")
POLICIES = ("stable", "contextual", "reinforceable", "fsrs")  # of decay
# Properties of a memory with a short text: each is written, listed and searched by its name.
TEXT_PROPERTIES = ("source", "agent", "personality", "project", "type")
EVERYBODY = "global"  # the default scope
ARCHIVE, ENTRIES, SYNC = "archive", "entries", "sync"  # folders other than categories
RECORDS = ".records"  # in a conversation's folder, hidden from editors
GENERATED = (  # written by us in the memory folder; not memories
    "pending.md", "What changed.md", "expectations.md", "Memory.md",
    "Memories.md",  # of queries, if an editor has them
)  # fmt: skip


def normalize_text(text: str) -> str:
    """A text in the form that an index and a model expect: NFC (macOS stores file names in another form), without the
    lone surrogates left by bytes that are not UTF-8."""
    if text.isascii():
        return text
    from unicodedata import normalize

    return normalize("NFC", text.encode("utf-8", "replace").decode())


# Parts of messages.


CLOSE, LEAST = 0.7, 3  # likeness of a misspelling, letters of a first part
MOST_NAME = 40


def nearest(name: str, candidates: Iterable[str]) -> str:
    """The known name meant by an unknown one, or "": a misspelling, or its first part. A beginning that all share
    does not count: `memory_nope` is not close to `memory_done`, and options all have dashes."""
    from difflib import get_close_matches  # rarely needed, and slow to import

    known = {candidate.lower().lstrip("-"): candidate for candidate in candidates}
    shared = next(iter(known), "").partition("_")[0] + "_"
    if not all(candidate.startswith(shared) for candidate in known):
        shared = ""
    names = {candidate.removeprefix(shared): own for candidate, own in known.items()}
    word = name.strip().lower().lstrip("-")[:MOST_NAME].removeprefix(shared)
    near = get_close_matches(word, names, 1, CLOSE)
    begun = [own for own in names if own.startswith(word)] if len(word) >= LEAST else []
    return names[near[0]] if near else names[begun[0]] if len(begun) == 1 else ""


def did_you_mean(name: str, candidates: Iterable[str]) -> str:
    """The suggestion " (did you mean …?)" with the name that was meant; "" if none is close."""
    near = nearest(name, candidates)
    return f" (did you mean {near}?)" if near else ""


def plural(count: int, noun: str, several: str = "") -> str:
    """ "1 note", "2 notes"."""
    return f"{count:,} {noun if count == 1 else several or noun + 's'}"


def interleave(*rows: Iterable[T], key: Callable[[T], object]) -> list[T]:
    """Interleave rows: the first of each, then the second of each, and so on; each item once, by its key."""
    from itertools import zip_longest

    every = (item for turn in zip_longest(*rows) for item in turn if item is not None)
    return list({key(item): item for item in every}.values())


# How many of the 20 listed pending items are reserved for a section, whatever precedes it.
LEAST_LISTED = {"soon": 2, "overdue": 4, "review": 3, "preferences": 3}


def fit_sections(
    sections: Mapping[str, list[T]], most: int, least: Mapping[str, int]
) -> dict[str, list[T]]:
    """The first items of each section, at most `most` in all; each section leaves the room that `least` reserves for
    later ones."""
    left, room = most, {name: min(len(rows), least.get(name, 0)) for name, rows in sections.items()}
    result: dict[str, list[T]] = {}
    for name, rows in sections.items():
        del room[name]
        result[name] = rows[: left - sum(room.values())]
        left -= len(result[name])
    return result


def in_batches(
    every: Iterable[T], size: Callable[[T], int], most: int, largest: int
) -> Iterator[list[T]]:
    """Split items into batches, in order, of at most `most` items and at most the size `largest` together; a larger
    item gets a batch of its own."""
    batch: list[T] = []
    room = largest
    for item in every:
        room -= size(item)
        if batch and (room < 0 or len(batch) >= most):
            yield batch
            batch, room = [], largest - size(item)
        batch.append(item)
    if batch:
        yield batch
