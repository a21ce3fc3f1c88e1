"""Recognises the copies that sync programs leave beside a note (R-FILE-6).

A copy takes no part in memory jobs and ranks below its original, so a wrong guess hides a note. Hence names that no
person would choose count by themselves; names that a person might choose count only beside their original, and the
most common ones only if the texts are two versions of one note.
"""

from __future__ import annotations

import itertools
import os
import re
import unicodedata
from functools import cached_property

from vaultmem.errors import NoteChangedError, VaultmemError
from vaultmem.light import TYPE_CHECKING
from vaultmem.text.values import ARCHIVE, lazy

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


# Plan.sync-conflict-20261121-101500-ABCDEFG.md, Plan_conflict-20261121-101500.md
_STAMPED = lazy(
    r"(?P<stem>.+?)(?:\.sync-|_)conflict-[0-9]{8}-[0-9]{6}(?:-[0-9A-Za-z]{1,16})?(?P<ext>\.[^.]*)?"
)
# Plan (Conflicted copy MacBook 202611211015).md, Plan (Ann's conflicted copy 2026-11-21).md,
# Plan (Case Conflict 1).md
_BRACKETS = lazy(
    r"(?P<stem>.*\S) \((?:[^()]{1,60}['’]s? )?"
    r"(?:conflicted copy|(?:case|unicode(?: encoding)?) conflict)(?P<rest> [^()]{1,80})?\)"
    r"(?P<ext>\.[^.]*)?",
    re.IGNORECASE,
)
_STAMP = lazy(r"[0-9]{4}-[0-9]{2}-[0-9]{2}|[0-9]{12}")
# Plan (1), Plan 2, and the words for a conflicted copy in any language: Plan (Copie en conflit de Ann 2026-11-21)
_NUMBERED = lazy(
    r"(?P<stem>.*\S)(?: \((?:[1-9][0-9]?|[^()]{1,80} [0-9]{4}-[0-9]{2}-[0-9]{2}(?:[ -][0-9]{1,2}){0,4})\)"
    r"| (?:[2-9]|[1-9][0-9]))"
)
# The name of a computer: ANN-PC, DESKTOP-AB12CD; Ann's MacBook Pro
_DEVICE = lazy(
    r"(?=[0-9-]*[A-Z])[A-Z0-9][A-Z0-9-]{1,13}[A-Z0-9]|[^/]{0,24}\b(?:i?Mac|MacBook)\b[^/]{0,16}"
)

_SAMPLE = 20_000  # characters compared of each text
_LINES = 400  # lines: the comparison is quadratic
_ALIKE = 0.9
_IDS = ("id", "uid", "uuid")
_STAMPS = ("updated", "modified")  # properties that differ between two versions of one note
# A date or the target of a link.
_MARK = lazy(r"[0-9]{4}-[0-9]{2}-[0-9]{2}|\[\[[^\[\]\n|]{1,200}|\]\([^()\s]{1,200}")


def conflict_original(path: str) -> str | None:
    """The path of the original, if only a sync program gives such a name; else None.

    The original of a copy's copy is the first original. It need not exist.
    """
    chain = list(_chain(path))
    return chain[-1][0] if chain and chain[0][1] else None


def conflicts(places: Places) -> dict[str, str]:
    """Copies recognised by their names, each with its original.

    Stamped names count even if the original is gone; names without a stamp, such as "Plan (Conflicted copy).md", only
    if it exists.
    """
    copies: dict[str, str] = {}
    for path in places.paths:
        chain = list(_chain(path))
        if not chain:
            continue
        there = [real for original, _ in reversed(chain) if (real := places.find(original, path))]
        if there:
            copies[path] = there[0]
        elif chain[0][1]:
            copies[path] = chain[-1][0]
    return copies


def possible_copies(places: Places) -> list[tuple[str, str]]:
    """Notes whose names look like copies of a note beside them: (copy, original), sorted.

    "Plan (1).md", "Plan 2.md", "Plan-LAPTOP.md" and "Plan (Berlin 2026-11-21).md" may well be notes of their own: they
    are copies only if nearly_equal() says so of their texts.
    """
    pairs: list[tuple[str, str]] = []
    for path in places.paths:
        if not path.lower().endswith(".md") or any(_chain(path)):
            continue
        original = next(
            (real for name in _doubtful_originals(path) if (real := places.find(name, path))), None
        )
        if original is not None:
            pairs.append((path, original))
    return sorted(pairs)


def nearly_equal(one: str, other: str) -> bool:
    """Whether two texts are versions of one note, and not two notes from one template.

    The lines of their bodies, without front matter and headings, agree in order to 90 %, and where
    the texts differ, neither has another id, date, title or link than the other in its place.
    """
    a, b = _Text(one), _Text(other)
    if not a.body or not b.body or any(b.marks.get(key, at) != at for key, at in a.marks.items()):
        return False
    from difflib import SequenceMatcher  # rarely needed, and slow to import

    matched = SequenceMatcher(None, a.body, b.body, autojunk=False)
    if matched.quick_ratio() < _ALIKE or matched.ratio() < _ALIKE:
        return False
    replaced = [(i, m, j, n) for what, i, m, j, n in matched.get_opcodes() if what == "replace"]
    return all(_agree(a.body[i:m], b.body[j:n]) for i, m, j, n in replaced)


class _Text:
    """The parsed first lines of a text."""

    def __init__(self, text: str) -> None:
        lines = [line.strip() for line in text[:_SAMPLE].splitlines()]
        end = lines.index("---", 1) + 1 if lines[:1] == ["---"] and "---" in lines[1:] else 0
        self.body = [line for line in lines[end:] if line and not line.startswith("#")][:_LINES]
        # The ids, dates, titles and links that distinguish notes, by position.
        self.marks: dict[str, list[str]] = {}
        for line in lines[:end]:
            key, _, value = line.partition(":")
            if key in _IDS:
                self.marks[key] = [value.strip()]
            elif not key.startswith(_STAMPS) and (marks := _MARK.findall(value)):
                self.marks[key] = marks
        title = next((line for line in lines[end:] if line.startswith("# ")), None)
        if title is not None:
            self.marks["# "] = [title]


def _agree(lines: list[str], others: list[str]) -> bool:
    """Whether corresponding lines have the same dates and links, as far as both have any."""
    ours, theirs = (_MARK.findall("\n".join(side)) for side in (lines, others))
    return all(one == other for one, other in zip(ours, theirs, strict=False))


def _chain(path: str) -> Iterator[tuple[str, bool]]:
    """Yield the original of a path, the original of that, and so on, each with whether its name is certain."""
    folder, slash, name = path.rpartition("/")
    while (parted := _part(name)) is not None:
        name, is_certain = parted
        yield folder + slash + name, is_certain


def _part(name: str) -> tuple[str, bool] | None:
    """The name of the original, and whether the copy's name has the stamp of a program; None for other names."""
    if len(name) > 255 or "onflict" not in name.lower():
        return None
    match = _STAMPED.fullmatch(name)
    if match is not None:
        return match["stem"] + (match["ext"] or ""), True
    match = _BRACKETS.fullmatch(name)
    if match is None:
        return None
    return match["stem"] + (match["ext"] or ""), _STAMP.search(match["rest"] or "") is not None


def _doubtful_originals(path: str) -> Iterator[str]:
    """Yield paths of which this one may be a copy, the longest name first."""
    stem, ext = path[:-3], path[-3:]
    match = _NUMBERED.fullmatch(stem.rpartition("/")[2])
    if match is not None:
        yield path[: path.rfind("/") + 1] + match["stem"] + ext
    at = len(stem)
    while (at := stem.rfind("-", stem.rfind("/") + 2, at)) > 0:
        if _DEVICE.fullmatch(stem, at + 1):
            yield stem[:at] + ext


class Places:
    """The paths of a vault, found exactly or else regardless of case and Unicode form."""

    def __init__(self, paths: Iterable[str]) -> None:
        self.paths = list(paths)
        self._exact = frozenset(self.paths)

    def find(self, path: str, copy: str) -> str | None:
        """The path as it is spelled in the vault; None if there is none or it is the copy itself."""
        real = path if path in self._exact else self._folded.get(_fold(path))
        return None if real == copy else real

    @cached_property
    def _folded(self) -> dict[str, str]:
        """The paths by their folded form; of several, always the same, whatever their order."""
        return {_fold(path): path for path in sorted(self.paths, reverse=True)}


def _fold(path: str) -> str:
    return path.lower() if path.isascii() else unicodedata.normalize("NFC", path.casefold())


# Copies beside a generated page, which are archived once read.

_MOST = 1_000  # names of one file


def copies_of(vault: str, path: str) -> list[str]:
    """The paths of possible copies of a page, by their names; only their contents show whether they are."""
    from vaultmem.vault.walk import nfc  # most callers only look at names

    folder, _, name = path.rpartition("/")
    stem = name.rpartition(".")[0].casefold()
    try:
        names = sorted(os.listdir(f"{vault}/{folder}"))
    except OSError:
        return []
    alike = [nfc(other) for other in names if nfc(other).casefold().startswith(stem)]
    beside = [f"{folder}/{other}" if folder else other for other in alike]
    places = Places({*beside, path})
    pairs = {*conflicts(places).items(), *possible_copies(places)}
    copies = {copy for copy, original in pairs if original == path}
    copies |= {copy for copy in beside if conflict_original(copy) == path}
    full = ((copy, f"{vault}/{copy}") for copy in sorted(copies - {path}))
    return [copy for copy, at in full if os.path.isfile(at) and not os.path.islink(at)]


def archive_file(vault: str, path: str, folder: str) -> str:
    """Move a file into the archive of the memory folder, under a free name. Returns its new path."""
    from vaultmem.vault.moves import move, refuse_links  # most callers only look at names

    stem, ending = os.path.splitext(path.rpartition("/")[2])
    for number in itertools.islice(itertools.count(1), _MOST):
        name = f"{stem} {number}{ending}" if number > 1 else f"{stem}{ending}"
        target = f"{folder}/{ARCHIVE}/{name}"
        refuse_links(vault, target)
        if os.path.lexists(f"{vault}/{target}"):
            continue
        try:
            move(vault, path, target)
        except NoteChangedError:
            continue
        return target
    raise VaultmemError(f"{folder}/{ARCHIVE} has no free name for {path}")


def clear(vault: str, path: str, folder: str, data: bytes) -> str:
    """Remove a copy with these bytes, all of which are elsewhere. It is moved to the archive first: returns its path
    there if it was changed meanwhile and is kept, else "".
    """
    target = archive_file(vault, path, folder)
    try:
        with open(f"{vault}/{target}", "rb") as file:
            if file.read(len(data) + 1) != data:
                return target
        os.unlink(f"{vault}/{target}")
    except OSError:  # another program has it open
        return target
    return ""
