"""Small things that every package uses: light records, patterns and word lists that are loaded at first use, limits,
the names of our folders, plural forms."""

from __future__ import annotations

__all__ = ["value"]

TYPE_CHECKING = False

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from dataclasses import dataclass as value
    from typing import Any, TypeVar

    T = TypeVar("T")
else:

    def value(cls):
        """Give a class with annotated fields __init__, __eq__, __repr__ and replace-able fields."""
        names = tuple(cls.__annotations__)
        wanted = frozenset(names)
        defaults = {name: cls.__dict__[name] for name in names if name in cls.__dict__}
        least = len(names) - len(defaults)

        def __init__(self, *args, **named):  # noqa: N807 - becomes the method of the class
            if not named and least <= len(args) <= len(names):
                self.__dict__.update(zip(names, args, strict=False))
                for name in names[len(args) :]:
                    self.__dict__[name] = defaults[name]
                return
            if not (args or defaults) and named.keys() == wanted:
                self.__dict__.update(named)
                return
            fields = {**defaults, **dict(zip(names, args, strict=False)), **named}
            if len(args) > len(names) or fields.keys() != wanted:
                odd = sorted(fields.keys() ^ wanted)
                raise TypeError(
                    f"{cls.__name__}() takes {', '.join(names)}; check {', '.join(odd)}"
                )
            self.__dict__.update((name, fields[name]) for name in names)  # JSON keeps this order

        def __eq__(self, other):  # noqa: N807 - as above
            return self.__dict__ == other.__dict__ if other.__class__ is cls else NotImplemented

        def __repr__(self):  # noqa: N807 - as above
            return f"{cls.__name__}({', '.join(f'{n}={getattr(self, n)!r}' for n in names)})"

        cls.__init__, cls.__eq__, cls.__repr__ = __init__, __eq__, __repr__
        cls.__hash__, cls.__match_args__ = None, names
        return cls


# A line of an outline in which its editor keeps the state of a block.
EDITOR_LINE = (
    r"^[ \t]*(?:[-*][ \t]+)?(?:collapsed|id|heading|background-color|created-at|updated-at|logseq\.[\w.-]+)::[^\n]*"
    r"(?:\n|\Z)"
)

# Word lists and patterns: a start must not pay for hundreds of regular expressions.

_tables: dict[tuple[str, str], dict[str, Any]] = {}


def table(package: str, name: str) -> dict[str, Any]:
    """What the file `name`.toml of a package holds, read once."""
    import tomllib

    if (package, name) not in _tables:
        _tables[package, name] = tomllib.loads(file_text(package, f"{name}.toml"))
    return _tables[package, name]


def file_text(package: str, name: str) -> str:
    """The text of a file that is installed with a package."""
    # importlib would be three modules more
    module: Any = __import__(package, fromlist=["__path__"])
    data: bytes = module.__loader__.get_data(f"{module.__path__[0]}/{name}")
    return data.decode("utf-8")


def lazy(source: str | Callable[[], str], flags: int = 0) -> re.Pattern[str]:
    """The expression as re.compile() takes it, or what gives it; what is wrong with it shows at its first use."""
    result: Any = _Lazy(source, flags)
    return result  # type: ignore[no-any-return] # has all that a pattern has


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

        if name.startswith("_"):  # copies ask for such before there is a source
            raise AttributeError(name)
        result = getattr(re.compile(self.pattern, self.flags), name)
        setattr(self, name, result)  # of the compiled expression: from now on nothing is in between
        return result


class OnError:
    """A block after whose failure, whatever it is, something is undone: `with OnError(file.close): …`."""

    def __init__(self, undo: Callable[[], object]) -> None:
        self._undo = undo

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, *_error: object) -> None:
        if kind is not None:
            self._undo()


def json_object(data: str | bytes) -> dict[str, Any]:
    """JSON that is an object; an empty one for everything else."""
    import json

    try:
        result = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return result if isinstance(result, dict) else {}


# How much may be asked for at once: one limit each, whatever the door.

RESULTS = 1_000_000  # of a search or a list
TOKENS, MEMORIES = 1_000_000, 1_000  # of a recall
DAYS = 36_500  # ahead; a calendar ends somewhere


# The memory folder: its folders by category, those beside them, and the pages we write there. No title may be one.

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
# Properties of a memory that are a short text: each is written, listed and searched by its name.
TEXT_PROPERTIES = ("source", "agent", "personality", "project", "type")
EVERYBODY = "global"  # the scope of what has no other
ARCHIVE, ENTRIES, SYNC = "archive", "entries", "sync"  # folders beside those of the categories
RECORDS = ".records"  # in the folder of a conversation: what editors pass over
GENERATED = (  # written by us in the memory folder, no memories
    "pending.md", "What changed.md", "answers.md", "expectations.md", "Memory.md",
    "Memories.md",  # of queries, where an editor knows such
)  # fmt: skip


def encodable(text: str) -> str:
    """A text as an index and a model take it: accents as one with their letters (macOS types file names otherwise), and
    without halves of characters, which bytes that are no UTF-8 leave."""
    if text.isascii():
        return text
    from unicodedata import normalize

    return normalize("NFC", text.encode("utf-8", "replace").decode())


# Small turns of phrase for messages.


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The known word that was meant by an unknown one, in brackets; "" where none is near."""
    from difflib import get_close_matches  # rarely needed, and not light

    near = get_close_matches(word, known, 1)
    return f" (did you mean {near[0]}?)" if near else ""


def plural(count: int, noun: str, several: str = "") -> str:
    """ "1 note", "2 notes"."""
    return f"{count:,} {noun if count == 1 else several or noun + 's'}"


def in_turns(*rows: Iterable[T], key: Callable[[T], object]) -> list[T]:
    """The first of each row, then the second of each, and so on; each thing once."""
    from itertools import zip_longest

    every = (one for turn in zip_longest(*rows) for one in turn if one is not None)
    return list({key(one): one for one in every}.values())


# Of 20 pending items that are listed, those of a section for which there is room, whatever stands before them.
LEAST_LISTED = {"soon": 2, "overdue": 4, "review": 3, "preferences": 3}


def with_room(
    sections: Mapping[str, list[T]], most: int, least: Mapping[str, int]
) -> dict[str, list[T]]:
    """The first of each section, at most so many of all; each leaves to those after it the room for the least."""
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
    """As many at once, one behind the other, as `most` allows, and as have at most the `largest` size together; what is
    larger comes alone."""
    batch: list[T] = []
    room = largest
    for one in every:
        room -= size(one)
        if batch and (room < 0 or len(batch) >= most):
            yield batch
            batch, room = [], largest - size(one)
        batch.append(one)
    if batch:
        yield batch
