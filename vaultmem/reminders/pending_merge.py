"""What a person did on the page of pending items, and the page written anew without losing any of it.

States are read wherever an item stands, in whatever order and with whatever bullets; a line that is not ours is kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from vaultmem.reminders import pending_page
from vaultmem.reminders.pending_items import DECIDED, Ack, ack_of, stronger
from vaultmem.reminders.pending_page import MARKS, OUTLINE, Found, Item, render, shown_text

# What a merge has left on a page of pending items where two machines wrote it: both versions, between marker lines.

FIRST, OTHER, END = "first", "other", "end"  # where a version begins, or the last one ends
_SIGNS = frozenset("<|=>")


def marker_lines(lines: Sequence[str]) -> dict[int, str]:
    """The numbers of the markers around versions of our part, and what each is. A conflict inside the notes of a
    person is theirs to settle, and its markers are not among these."""
    found: dict[int, str] = {}
    around: dict[int, str] = {}  # the markers of the conflict that is read
    seen = ""  # their signs, in order
    for at, line in enumerate(lines):
        sign = line[:1] if line[:1] in _SIGNS and pending_page.is_conflict(line) else ""
        if sign == "<":
            around, seen = {at: FIRST}, sign
        elif not sign or not around or sign in seen or (sign == "|" and "=" in seen):
            continue
        elif sign != ">":
            around[at], seen = OTHER, seen + sign
        else:
            if "=" in seen and _is_ours(list(lines[min(around) + 1 : at])):
                found |= {**around, at: END}
            around, seen = {}, ""
    return found


def once(versions: Sequence[Sequence[str]]) -> list[str]:
    """The lines of all versions, in their order; those with which a later one begins and ends like the first stand
    there once."""
    first = list(versions[0]) if versions else []
    more: list[str] = []
    for version in versions[1:]:
        start = _alike(first, version)
        end = _alike(first[start:][::-1], version[start:][::-1])
        more += version[start : len(version) - end]
    return first + more


def _alike(one: Sequence[str], other: Sequence[str]) -> int:
    """With how many of the same lines both begin."""
    least = min(len(one), len(other))
    return next((n for n in range(least) if one[n] != other[n]), least)


def _is_ours(lines: list[str]) -> bool:
    """Whether these lines are of our part of the page: its mark, an item, or where the notes begin."""
    for at, line in enumerate(lines):
        if pending_page.is_mark(line) or pending_page.is_notes(line):
            return True
        piece = pending_page.piece(lines, at)
        if piece and piece.found.id:
            return True
    return False


_MOST_FOUND = 500  # items on a page: 20 of ours, and copies that merges made
_SHORTEST_PART = 5  # of an id that was cut: vm-ab
_CUT_ID = re.compile(r"\s\^(vm-[a-z2-7]*)$")
_LINK = re.compile(r"\[\[[^\[\]]*\]\]")
_FIELDS = re.compile(
    r"📅\ufe0f? ?\d{4}-\d\d-\d\d|\^(?:v(?:m(?:-[a-z2-7]*)?)?)?$|\((?:\d\d:\d\d)?(?:, )?[^()]*\)$"
)
_WORD = re.compile(r"\w+")


class Read(NamedTuple):
    """What a page says."""

    states: Mapping[str, Ack]  # by id
    notes: str  # below the heading Notes, byte for byte
    unknown: list[str]  # other lines that are not ours, with their ends
    damage: list[str]  # what was wrong with it, for a person
    front: list[str]  # properties that a person added at the top
    found: list[Found]  # the items as they stand there, copies too


class Merged(NamedTuple):
    """The page to write, and what has to be recorded before it is written."""

    text: str
    acks: dict[str, Ack]


def read(text: str, style: str, now: datetime | None = None) -> Read:
    """What a page says; with `now`, "until Friday" has a day. Both styles are read in either: a folder can be open in
    both editors."""
    parts = _Parts(pending_page.lines_of(text), style)
    states: dict[str, Ack] = {}
    for found in parts.found:
        if found.id:
            states[found.id] = stronger(states.get(found.id), ack_of(found, None, now))
    return Read(
        states, "".join(parts.notes), parts.unknown, parts.damage(text), parts.front, parts.found
    )


def merged(old_text: str, items: Iterable[Item], style: str, now: datetime | None = None) -> Merged:
    """The page with these items, but without those that were decided on the old one. What was decided stands on the
    new page no more: record it first, and leave those items out the next time."""
    there = read(old_text, style, now)
    given = {item.id: item for item in items}
    unknown = list(there.unknown)
    lines = [(item.id, found) for found in there.found for item in _meant(found, given, there)]
    acks = {name: ack for name, ack in there.states.items() if name not in given}
    for name, found in lines:
        acks[name] = stronger(acks.get(name), ack_of(found, given[name], now))
        if not found.id:
            _drop_line(unknown, found)
    acks = {name: ack for name, ack in acks.items() if ack.state in DECIDED}
    remaining = [item for item in given.values() if item.id not in acks]
    notes = _appended(there.notes, unknown)
    page = _with_front(render(remaining, style, notes), there.front, style)
    return Merged(_with_ends(page, len(notes), old_text), acks)


def with_notes(page: str, typed: Sequence[str], style: str) -> str:
    """The page with what a person typed into a copy of it, at the end of the notes; what the page has stands there
    once."""
    there = read(page, style)
    known = {
        pending_page.bare(line) for line in (*pending_page.lines_of(there.notes), *there.unknown)
    }
    missing = [line for line in typed if pending_page.bare(line) not in known]
    if not any(pending_page.bare(line).strip() for line in missing):
        return page
    return _appended(page, [line.rstrip("\r\n") + "\n" for line in missing])


class _Parts:
    """A page taken apart, line by line."""

    def __init__(self, lines: list[str], style: str) -> None:
        self.found: list[Found] = []
        self.notes: list[str] = []
        self.unknown: list[str] = []
        self.front: list[str] = []
        self._lines = lines
        self._conflicts = any(bare.startswith("<<<<<<<") for bare in map(pending_page.bare, lines))
        self._marked = any(pending_page.is_ours(line) for line in lines)
        self._gap: list[str] | None = None  # empty lines after a line that is not ours
        self._noted = False
        self._markers = marker_lines(lines) if self._conflicts else {}
        self._began = False  # whether the conflict did in the notes
        self._versions: list[int] = []  # of a conflict: with which line of the notes each begins
        self._take(self._front(style))

    def damage(self, text: str) -> list[str]:
        """What a person should know of the page."""
        ids = [found.id for found in self.found if found.id]
        said = {
            "conflict markers of a merge": self._conflicts,
            "an item stands there twice": len(ids) != len(set(ids)),
            "the heading Notes is gone": self._marked and not self._noted,
            "not valid text": bool(re.search("[\0\ufffd\ud800-\udfff]", text)),
        }
        return [words for words, true in said.items() if true]

    def _front(self, style: str) -> int:
        """Take the properties at the top; the number of the line below them."""
        first = 1 if self._markers.get(0) else 0  # the marker of a conflict over the whole page
        shown = [pending_page.bare(line) for line in self._lines[first : first + 200]]
        if style == OUTLINE:
            end = next((at for at, line in enumerate(shown) if "::" not in line), len(shown))
            own = any(pending_page.is_mark(line) for line in shown[:end])
        else:
            end = (
                next((at for at, line in enumerate(shown) if at and line.rstrip() == "---"), 0) + 1
            )
            own = shown[:1] == ["---"] and any(map(pending_page.is_mark, shown[1:end]))
        if not own:
            return 0
        top = self._lines[first : first + end]
        inside = top if style == OUTLINE else top[1:-1]
        self.front = [line for line in inside if not pending_page.is_mark(line)]
        if first:
            self._versions = [0]
        return first + end

    def _take(self, at: int) -> None:
        in_notes = False
        while at < len(self._lines):
            line = self._lines[at]
            if at in self._markers:
                in_notes = self._version(self._markers[at], in_notes)
                at += 1
                continue
            if in_notes and not self._is_ours_again(at):
                self._note(at)
                at += 1
                continue
            if pending_page.is_notes(line):
                in_notes = self._noted = True
                self._join_notes(line)
                at += 1
                continue
            in_notes = False
            at = self._generated(at)

    def _version(self, kind: str, in_notes: bool) -> bool:
        """Go on behind the marker of a conflict; whether there are notes: each version begins where the first did."""
        self._gap = None
        if kind == FIRST:
            self._began, self._versions = in_notes, [len(self.notes)]
        elif kind == OTHER:
            self._versions.append(len(self.notes))
            in_notes = self._began
        elif self._versions:
            ends = [*self._versions[1:], len(self.notes)]
            noted = [self.notes[a:b] for a, b in zip(self._versions, ends, strict=True)]
            self.notes[self._versions[0] :] = once(noted)
        return in_notes

    def _join_notes(self, line: str) -> None:
        """What stands below a second heading begins on a line of its own; the heading stays where without it the next
        item would seem to stand in a section of ours."""
        if self.notes and not self.notes[-1].endswith(("\n", "\r")):
            self.notes.append("\n")
        last = next((each for each in reversed(self.notes) if pending_page.bare(each).strip()), "")
        if pending_page.is_section(last):
            self.notes.append(line)

    def _note(self, at: int) -> None:
        """Keep a line of the notes, and see whether an item was moved there."""
        self.notes.append(self._lines[at])
        piece = pending_page.piece(self._lines, at)
        if piece and piece.found.id:
            self.found.append(piece.found)

    def _is_ours_again(self, at: int) -> bool:
        """Whether a section of ours follows the notes: a heading of ours and an item below it."""
        if not pending_page.is_section(self._lines[at]):
            return False
        rest = range(at + 1, len(self._lines))
        following = next((n for n in rest if pending_page.bare(self._lines[n]).strip()), None)
        piece = None if following is None else pending_page.piece(self._lines, following)
        return bool(piece and piece.found.id)

    def _generated(self, at: int) -> int:
        """Take what begins at a line above the notes; the number of the line after it."""
        line = self._lines[at]
        if not pending_page.bare(line).strip():
            if self._gap is not None:
                self._gap.append(line)
            return at + 1
        piece = pending_page.piece(self._lines, at)
        again = bool(self._versions) and line in self.front  # a property that both versions have
        if piece and piece.found.id:
            self.found.append(piece.found)
            self._keep([each for each in piece.others if not self._is_marker(each)])
            return piece.end
        if piece:
            self.found.append(piece.found)
        if (
            again
            or self._is_marker(line)
            or pending_page.is_ours(line)
            or (self._marked and _is_rule(line))
        ):
            self._gap = None
        else:
            self._keep([line])
        return at + 1

    def _is_marker(self, line: str) -> bool:
        return self._conflicts and pending_page.is_conflict(line)

    def _keep(self, lines: list[str]) -> None:
        if lines:
            self.unknown += [*(self._gap or []), *lines]
        self._gap = [] if lines else None


def _is_rule(line: str) -> bool:
    """A border of front matter that is damaged."""
    return pending_page.bare(line).rstrip() == "---"


def _meant(found: Found, given: Mapping[str, Item], there: Read) -> list[Item]:
    """The item of a line, if it is one of these: by its id, by what is left of that, or by its words; none when it
    could be two."""
    if found.id:
        return [given[found.id]] if found.id in given else []
    if len(there.found) > _MOST_FOUND:
        return []  # no page of ours: what is on it stays there
    cut = _CUT_ID.search(found.words)
    if cut and len(cut[1]) >= _SHORTEST_PART:
        fits = [item for item in given.values() if item.id.startswith(cut[1])]
    else:
        words = _plain(found.words)
        alike = [item for item in given.values() if words and words[0] in item.text.casefold()]
        fits = [item for item in alike if _plain(shown_text(item)) == words]
    return fits if len(fits) == 1 else []


def _plain(words: str) -> list[str]:
    for _ in range(3):
        words = _FIELDS.sub(" ", _LINK.sub(" ", words)).strip()
    return _WORD.findall(words.casefold())


def _drop_line(unknown: list[str], found: Found) -> None:
    """Take out the line of an item that has lost its id: it is written anew."""
    for at, line in enumerate(unknown):
        piece = pending_page.piece([line], 0)
        if piece and piece.found == found:
            del unknown[at]
            return


def _appended(notes: str, unknown: list[str]) -> str:
    """The notes with lines that stood elsewhere at their end, each on its own."""
    for line in unknown:
        gap = "" if not notes or notes.endswith(("\n", "\r")) else "\n"
        notes = f"{notes}{gap}{line}"
    return notes


def _with_ends(page: str, notes: int, old: str) -> str:
    """The page with its lines ended as most of them were; in the last `notes` characters they are."""
    if old.count("\r\n") * 2 <= old.count("\n"):
        return page
    ours = len(page) - notes
    return re.sub(r"\r?\n", "\r\n", page[:ours]) + page[ours:]


def _with_front(page: str, front: Sequence[str], style: str) -> str:
    if not front:
        return page
    mark = MARKS[1] if style == OUTLINE else MARKS[0]
    lines = "".join(line if line.endswith(("\n", "\r")) else f"{line}\n" for line in front)
    return page.replace(f"{mark}\n", f"{mark}\n{lines}", 1)
