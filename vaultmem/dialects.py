"""Find the dialects by entry point and read a vault by the rules of the right ones (R-DIAL-1)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from importlib.metadata import entry_points
from typing import NamedTuple

from vaultmem.adapter import Completion, Dialect, Folder, FrontMatter, Note, Rules, Task
from vaultmem.core.mentions import MENTION_PATTERNS
from vaultmem.errors import ConfigError

GROUP = "vaultmem.adapters"


@cache
def installed() -> list[Dialect]:
    """All dialects that are installed, by name, looked up once. A package that cannot be loaded says so."""
    found: list[Dialect] = []
    for point in sorted(entry_points(group=GROUP), key=lambda p: p.name):
        loaded = point.load()
        if hasattr(loaded, "claims"):
            found.append(loaded)
    return found


class Target(NamedTuple):
    """What a link leads to, and among how many files the choice was."""

    path: str | None
    choices: int


class Rulebook:
    """The rules of one vault: one dialect, or several that each own some folders.

    Every file is known under the names that each dialect gives it, so that an Obsidian note can link to
    a Logseq page of the same vault; names and keys carry the number of their dialect in front.
    """

    def __init__(self, parts: Sequence[tuple[tuple[str, ...], Rules]]) -> None:
        self._parts = list(parts)
        self.fingerprint = "|".join(f"{r.dialect}:{home}:{r.fingerprint}" for home, r in parts)

    def _at(self, path: str) -> tuple[int, Rules]:
        for number, (home, rules) in enumerate(self._parts):
            if not home or path.startswith(home):
                return number, rules
        return len(self._parts) - 1, self._parts[-1][1]

    def kind(self, path: str) -> str:
        """ "note", "file" or "" (invisible)."""
        return self._at(path)[1].kind(path)

    def dialect(self, path: str) -> str:
        """The name of the dialect that a note is read by."""
        return self._at(path)[1].dialect

    def page_style(self, path: str) -> str:
        """How vaultmem writes a page there, see vaultmem.adapter.Rules."""
        return self._at(path)[1].page_style

    def excluded(self, path: str) -> bool:
        """Whether the user hides the note from search."""
        return self._at(path)[1].excluded(path)

    def parse(self, path: str, text: str, front: FrontMatter) -> Note:
        """Read a note; the keys of its links are those of its dialect."""
        return self._at(path)[1].parse(path, text, front)

    def completed(self, path: str, text: str, task: Task, done: Completion) -> str | None:
        """The text with this task marked done, see vaultmem.adapter.Rules."""
        return self._at(path)[1].completed(path, text, task, done)

    def numbered(self, path: str, note: Note) -> Note:
        """The note with link keys of this rulebook, which other dialects' keys cannot equal."""
        number = self._at(path)[0]
        links = [k._replace(key=f"{number}:{k.key}") if k.key else k for k in note.links]
        return note._replace(links=tuple(links))

    def names(self, path: str, note: Note | None) -> set[str]:
        """All names under which links find the file."""
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
        """The keys of the links that a file of this name can change."""
        number, _, bare = name.partition(":")
        if int(number) >= len(self._parts):
            return ()  # from when another dialect read this vault, too: all links are read again
        return tuple(f"{number}:{key}" for key in self._parts[int(number)][1].affected(bare))

    def resolve(self, path: str, key: str, source: str, found: Sequence[Sequence[str]]) -> Target:
        """The target of a link; `found` holds the paths behind each name of lookups(key)."""
        number, _, bare = key.partition(":")
        rules = self._parts[int(number)][1]
        for candidates in found:
            target = rules.resolve(path, bare, source, candidates) if candidates else None
            if target is not None:
                rest = [each for each in candidates if each != target]
                return Target(target, 1 + _choices(rules, (path, bare, source), rest))
        return Target(None, 0)

    def mention_pattern(self, path: str, names: list[str]) -> re.Pattern[str] | None:
        """What finds unlinked mentions of a note with these names."""
        return MENTION_PATTERNS[self._at(path)[1].mention_style](names)

    def uri_templates(self) -> dict[str, str]:
        """By dialect, the link that opens a note in its editor (see core.uri)."""
        return {rules.dialect: rules.uri_template for _, rules in self._parts}


def _choices(rules: Rules, link: tuple[str, str, str], others: Sequence[str]) -> int:
    """How many of the other files with this name the link could mean as well.

    A name without a folder can mean each of them, and a path that leads to one file mostly leads to
    no second one; to ask for every file alone would take too long where thousands share a name.
    """
    if "/" not in link[0] or not others:
        return len(others)
    if rules.resolve(*link, others) is None:
        return 0
    return sum(rules.resolve(*link, [each]) is not None for each in others)


def open_rulebook(root: Folder, wanted: str = "auto") -> Rulebook:
    """The rules for a vault: the dialect that was asked for, else whoever claims it, else the fallback."""
    dialects = installed()
    if not dialects:
        raise ConfigError("no dialect is installed; install vaultmem again, with its adapters")
    if wanted != "auto":
        chosen = [d for d in dialects if d.name == wanted]
        if not chosen:
            names = ", ".join(d.name for d in dialects)
            raise ConfigError(f"unknown dialect {wanted!r}; known: auto, {names}")
        return Rulebook([((), chosen[0].open(root))])
    claims = [(d.claims(root), d) for d in dialects]
    best = max(claim for claim, _ in claims)
    chosen = [d for claim, d in claims if claim == best]
    if len(chosen) == 1 or best < 2:
        return Rulebook([((), chosen[0].open(root))])
    chosen.sort(key=lambda d: (not d.home, d.name))  # those with folders of their own come first
    return Rulebook([(d.home, d.open(root)) for d in chosen])
