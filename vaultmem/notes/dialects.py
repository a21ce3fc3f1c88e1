"""Finds the dialects by entry point, and reads a vault by the rules of the right ones (R-DIAL-1)."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from functools import cache, cached_property
from itertools import accumulate
from os.path import commonprefix

from vaultmem import paths, plugins
from vaultmem.adapter import (
    Dialect,
    FrontMatter,
    Link,
    Mirrors,
    Note,
    Rules,
    Templates,
    Value,
    Views,
)
from vaultmem.errors import ConfigError
from vaultmem.light import TYPE_CHECKING, NamedTuple, cast
from vaultmem.notes.places import OUTLINE, file_name, with_our_keys
from vaultmem.text.values import lazy, with_privacy
from vaultmem.vault import files
from vaultmem.vault.walk import without_records

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from vaultmem.notes.blocks import Block


# Unlinked mentions: places where a text has a note's name or alias without a link.

# Scripts without blanks between words: a name is found anywhere in the text.
_UNSPACED = (
    r"\u1100-\u11ff\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u3130-\u318f\u31a0-\u31bf\u31f0-\u31ff"
    r"\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
_LETTER = rf"[^\W_{_UNSPACED}]"  # a letter or digit of a script that puts blanks between words
_EDGE = rf"(?:(?<!{_LETTER})|(?!{_LETTER}))"  # of a word, or in a script without blanks
_LONGEST_NAME = 250
_DEEPEST = 20  # nested groups: patterns are compiled recursively

_TEMPLATES = lazy(r"(?:^|/)[\W\d_]*(?:_?templates?|[^/]*模板)/", re.IGNORECASE)

Span = tuple[int, int]
FilesNamed = Callable[[str], Sequence[tuple[str, int]]]  # see index.catalog_read.files_named


# What may precede and follow a name, by Rules.mention_style: whole words if words are spaced; and as in Logseq, no
# Latin letter or digit on either side, no "[" or "#" before.
MENTION_EDGES = {
    "words": (_EDGE, _EDGE),
    "latin": (r"(?<![\[#0-9a-zA-Z])", r"(?![0-9a-zA-Z])"),
}


def mention_pattern(style: str, names: Iterable[str]) -> re.Pattern[str] | None:
    """A pattern that matches these names in any case, longest first; None if there is nothing to match."""
    before, after = MENTION_EDGES[style]
    tree = _tree([_lower(name) for name in _distinct(names)])
    return re.compile(f"{before}(?:{tree}){after}", re.IGNORECASE) if tree else None


def folded(text: str) -> str:
    """A text in the one case in which patterns of mentions compare letters."""
    return text.replace("İ", "i").replace("ı", "i").casefold()


def folded_names(names: Iterable[str]) -> re.Pattern[str]:
    """A pattern that finds these names in the folded() form of every text with a mention, and in few others: much
    faster than one that looks at the case and edges of each letter."""
    return re.compile(_tree([*dict.fromkeys(map(folded, _distinct(names)))]))


def spans_of_mentions(
    pattern: re.Pattern[str], text: str, links: Sequence[Span], start: int = 0
) -> Iterator[Span]:
    """The offsets of all mentions from `start` on that do not overlap a link.

    `links` are the offsets of whole links; those of property links (-1) are left out.
    """
    spans = sorted(span for span in links if span[0] >= 0)
    begins = [begin for begin, _ in spans]
    furthest = [*accumulate((end for _, end in spans), max)]  # links may be nested
    for match in pattern.finditer(text, start):
        before = bisect_right(begins, match.start())
        if before and furthest[before - 1] > match.start():
            continue
        after = bisect_left(begins, match.start())
        if after < len(begins) and begins[after] < match.end():
            continue
        yield match.span()


def _distinct(names: Iterable[str]) -> list[str]:
    """The names to match, in both Unicode forms, longest first and unique regardless of case."""
    all_names = [name.strip() for name in names]
    all_names += [
        unicodedata.normalize(form, name) for name in all_names for form in ("NFC", "NFD")
    ]
    first = {name.lower(): name for name in all_names if 0 < len(name) <= _LONGEST_NAME}
    return sorted(first.values(), key=lambda name: (-len(name), name))


def _tree(ends: list[str], depth: int = _DEEPEST) -> str:
    """A pattern that matches any of `ends` and merges common prefixes: a text is compared with thousands of names
    about as fast as with one."""
    by_letter: dict[str, list[str]] = {}
    for end in ends:
        by_letter.setdefault(end[:1] if depth else end, []).append(end)
    branches = []
    for first in sorted(by_letter, key=lambda key: (-len(key), key)):  # the empty end comes last
        group = by_letter[first]
        start = commonprefix(group)  # noqa: RUF071 - of letters
        rest = [end[len(start) :] for end in group]
        branches.append(re.escape(start) + (f"(?:{_tree(rest, depth - 1)})" if rest[1:] else ""))
    return "|".join(branches)


def _lower(name: str) -> str:
    """In lower case, letter by letter."""
    return "".join(low if len(low := letter.lower()) == 1 else letter for letter in name)


GROUP = "vaultmem.adapters"


@cache
def installed() -> list[Dialect]:
    """All installed dialects, by name; looked up once. Logs packages that cannot be loaded."""
    loaded = (plugins.load(GROUP, name) for name in plugins.registered(GROUP))
    return [dialect for dialect in loaded if hasattr(dialect, "claims")]


def claimed_vault(start: str) -> str | None:
    """The nearest folder at or above `start` in which a dialect finds its editor's own folder."""
    for folder in paths.at_and_above(start):
        root = files.Root(folder)
        if any(dialect.claims(root) > 1 for dialect in installed()):
            return folder
    return None


class Target(NamedTuple):
    """The target of a link, and the number of files it could mean."""

    path: str | None
    choices: int


class Rulebook:
    """The rules of one vault: one dialect, or several that each own some folders.

    Every file is known by the names that each dialect gives it, so that an Obsidian note can link to a Logseq page of
    the same vault; names and keys begin with their dialect's number.
    """

    def __init__(self, parts: Sequence[tuple[tuple[str, ...], Rules]]) -> None:
        self._parts = list(parts)

    @cached_property
    def fingerprint(self) -> str:
        """A digest of everything that parsing depends on; when it changes, every note is read again."""
        return "|".join(f"{r.dialect}:{home}:{r.fingerprint}" for home, r in self._parts)

    def _at(self, path: str) -> tuple[int, Rules]:
        for number, (home, rules) in enumerate(self._parts):
            if not home or path.startswith(home):
                return number, rules
        return len(self._parts) - 1, self._parts[-1][1]

    def kind(self, path: str) -> str:
        """ "note", "file" or "" (invisible)."""
        return self.at(path).kind(without_records(path))

    def at(self, path: str) -> Rules:
        """The rules of the dialect that reads the note at a path."""
        return self._at(path)[1]

    def page_style(self, path: str) -> str:
        """The style of pages that vaultmem writes at a path; see vaultmem.adapter.Rules."""
        return self.at(path).page_style

    def page_title(self, path: str, written: Value = None) -> str:
        """The link name of a page of ours: its property `title` (`written`), else what its editor derives from its
        file name."""
        name = file_name(path)
        if not written and name.replace(" ", "").isalnum():
            return name
        text = f"title:: {written}" if written else ""
        return self.at(path).parse(path, text, FrontMatter({}, None, 0)).title

    def views(self, path: str) -> Mapping[str, str]:
        """The editor's views of memories, see vaultmem.adapter.Views; empty for a dialect without views."""
        rules = self.at(path)
        return cast(Views, rules).views() if hasattr(rules, "views") else {}

    def is_mirror(self, path: str) -> bool:
        """Whether a change to the note would be lost, see vaultmem.adapter.Mirrors."""
        rules = self.at(path)
        return hasattr(rules, "is_mirror") and cast(Mirrors, rules).is_mirror(path)

    def is_template(self, path: str) -> bool:
        """Whether new notes are made from the note, by its editor's settings or the name of its folder."""
        rules = self.at(path)
        is_set = hasattr(rules, "is_template") and cast(Templates, rules).is_template(path)
        return is_set or _TEMPLATES.search(path) is not None

    def numbered(self, path: str, note: Note) -> Note:
        """The note with link keys of this rulebook, which never equal those of other dialects."""
        if not note.links:
            return note
        number = self._at(path)[0]
        links = [Link(*k[:5], f"{number}:{k[5]}", *k[6:]) if k[5] else k for k in note.links]
        return note._replace(links=tuple(links))

    def names(self, path: str, note: Note | None) -> set[str]:
        """All names under which links can refer to the file."""
        return {
            f"{n}:{name}"
            for n, (_, rules) in enumerate(self._parts)
            for name in rules.names(path, note)
        }

    def lookups(self, key: str) -> tuple[str, ...]:
        """The names a link looks for, in order."""
        number, _, bare = key.partition(":")
        return tuple(f"{number}:{name}" for name in self._parts[int(number)][1].lookups(bare))

    def affected(self, name: str) -> tuple[str, ...]:
        """The keys of the links whose target can change when a file with this name appears or disappears."""
        number, _, bare = name.partition(":")
        if int(number) >= len(self._parts):
            return ()  # left from a former dialect of this vault: all links are read again
        return tuple(f"{number}:{key}" for key in self._parts[int(number)][1].affected(bare))

    def resolve(self, path: str, key: str, source: str, paths: Sequence[Sequence[str]]) -> Target:
        """The target of a link; `paths` holds the paths for each name of lookups(key)."""
        number, _, bare = key.partition(":")
        rules = self._parts[int(number)][1]
        for candidates in paths:
            target = rules.resolve(path, bare, source, candidates) if candidates else None
            if target is not None:
                rest = [candidate for candidate in candidates if candidate != target]
                return Target(target, 1 + _choices(rules, (path, bare, source), rest))
        return Target(None, 0)

    def follow(self, name: str, source: str, files_named: FilesNamed) -> str | None:
        """The path that [[name]] leads to from the file at `source`."""
        front = FrontMatter({}, None, 0)
        note = self.numbered(source, self.at(source).parse(source, f"[[{name}]]", front))
        if not note.links or not (key := note.links[0].key):
            return None
        paths = [[path for path, _ in files_named(lookup)] for lookup in self.lookups(key)]
        return self.resolve(note.links[0].path, key, source, paths).path

    def namesake(self, path: str, files_named: FilesNamed) -> str | None:
        """The note with the same name as a page of ours, if their editor shows only one of the two."""
        other = self.follow(file_name(path), path, files_named)
        return other if self.page_style(path) == OUTLINE and other != path else None

    def follow_anywhere(self, name: str, files_named: FilesNamed) -> list[str]:
        """The note that [[name]] leads to, by the first dialect for which it leads to one."""
        sources = [f"{home[0] if home else ''}-.md" for home, _ in self._parts]
        targets = (self.follow(name, source, files_named) for source in sources)
        return [target for target in targets if target and self.kind(target) == "note"][:1]

    def mention_pattern(self, path: str, names: list[str]) -> re.Pattern[str] | None:
        """The pattern for unlinked mentions of a note with these names."""
        return mention_pattern(self.at(path).mention_style, names)

    def uri_templates(self) -> dict[str, str]:
        """By dialect, the template of the link that opens a note in its editor (see text.sanitize)."""
        return {rules.dialect: rules.uri_template for _, rules in self._parts}


def _choices(rules: Rules, link: tuple[str, str, str], others: Sequence[str]) -> int:
    """The number of other files with this name that the link could also mean.

    A name without a folder can mean each of them, while a path to one file seldom leads to a second; resolving for
    every file would take too long if thousands share a name.
    """
    if "/" not in link[0] or not others:
        return len(others)
    if rules.resolve(*link, others) is None:
        return 0
    return sum(rules.resolve(*link, [name]) is not None for name in others)


def open_rulebook(folder: str, dialect: str) -> Rulebook:
    """The rules for the vault in a folder: those of the dialect named `dialect`, else ("auto") of the one that claims
    the vault, else of the fallback."""
    root, dialects = files.Root(folder), installed()
    if not dialects:
        raise ConfigError("no dialect is installed; install vaultmem again, with its adapters")
    if dialect != "auto":
        chosen = [d for d in dialects if d.name == dialect]
        if not chosen:
            names = ", ".join(d.name for d in dialects)
            raise ConfigError(f"unknown dialect {dialect!r}; known: auto, {names}")
        return Rulebook([((), chosen[0].open(root))])
    claims = [(d.claims(root), d) for d in dialects]
    best = max(claim for claim, _ in claims)
    chosen = [d for claim, d in claims if claim == best]
    if len(chosen) == 1 or best < 2:
        return Rulebook([((), chosen[0].open(root))])
    chosen.sort(key=lambda d: (not d.home, d.name))  # those with their own folders come first
    return Rulebook([(d.home, d.open(root)) for d in chosen])


# Reads one note by the rules of its vault: bytes, text, note, blocks.

# A page that we generate from notes must not be read as a note, wherever it was moved.
MARK, MARKED = "generated", "vaultmem"


class NoteRead(NamedTuple):
    """A note as currently on disk."""

    read: files.Read
    note: Note
    blocks: list[Block]  # never empty: an empty note has one empty block


def parse_note(rules: Rulebook, path: str, text: str) -> tuple[Note, list[Block]]:
    """The note that a dialect reads from a text, and its blocks."""
    from vaultmem.notes import blocks as blocking  # not needed for the rules alone
    from vaultmem.notes import frontmatter, pages

    front = frontmatter.split(text)
    note = rules.at(path).parse(path, text, front)
    whole = with_privacy(pages.expand(note.properties), text)
    if whole is not note.properties:
        note = note._replace(properties=whole)
    if note.properties.get(MARK) == MARKED:
        note = Note(note.title, properties=note.properties)
    blocks = blocking.group(note.pieces)
    if "id" not in note.properties:
        blocks = [*blocking.of_properties(note, text, front.body), *blocks]
    blocks = blocks or [blocking.Block("", 1, 1)]
    turn = with_our_keys(note.properties) if "role" in note.properties else {}
    if turn.get("conversation_id"):
        blocks = blocking.as_turn(blocks, str(turn["role"]))
    return note, blocks


def read_note(rules: Rulebook, folder: str, path: str, raw: str | None, cap: int) -> NoteRead:
    """Read and parse a note. Raises nothing; problems are in `read.trouble`."""
    read = files.read(folder, raw or path, cap)
    return NoteRead(read, *parse_note(rules, path, read.text))


def read_now(folder: str, path: str, dialect: str, cap: int) -> Note:
    """A note as currently on disk, by the rules of its vault, up to `cap` bytes."""
    rules = open_rulebook(folder, dialect)
    return read_note(rules, folder, path, files.on_disk(folder, path), cap).note
