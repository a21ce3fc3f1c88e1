"""Keeps the page of pending items true, and takes the answers from it: none is lost, and nothing that a person wrote.

Answers are recorded before the page is written without their items. The page is written only when this machine has
something else to say than it said last, so that two machines that know different things do not write in turns.
"""

from __future__ import annotations

import contextlib
import os
import stat as modes
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from vaultmem.errors import NoteChangedError, NoteNotFoundError, VaultmemError
from vaultmem.index.state import State
from vaultmem.reminders import page_copies, pending_page
from vaultmem.reminders.page_copies import as_bytes, as_text, is_blank, is_ours
from vaultmem.reminders.pending_items import DECIDED, Ack, stronger
from vaultmem.reminders.pending_merge import Read, merged, read, with_notes
from vaultmem.reminders.pending_page import Item, render
from vaultmem.vault import files, write
from vaultmem.vault.moves import refuse_links
from vaultmem.vault.places import ARCHIVE

MOST_BYTES = 1_000_000  # of a page that is still kept as it is
_LONGEST = 64_000_000  # bytes that are read
_LONGEST_MEMORY = 1_000_000  # characters
_TRIES = 3

Recorder = Callable[[Mapping[str, Ack]], None]


class Refreshed(NamedTuple):
    """What a refresh did."""

    written: bool
    acks: dict[str, Ack]  # what was answered on the page, and is recorded
    troubles: list[str]  # for a person


class _Memory(NamedTuple):
    """What this machine keeps of the page between two refreshes."""

    shown: str = ""  # what it would have shown last, in short
    strangers: str = ""  # which items of others it has taken from the page last, in short
    standing: frozenset[str] = (
        frozenset()
    )  # answers that it has recorded and that stand on the page still


class _Copy(NamedTuple):
    path: str
    data: bytes
    text: str


class Page:
    """The page of one vault, at `path`. Not for several threads at once."""

    def __init__(self, state: State, path: str, style: str, folder: str) -> None:
        self.vault, self.path, self.style = state.vault, path, style
        self._folder = folder
        self._shown = state.path("pending.shown")

    def acks(self, now: datetime) -> dict[str, Ack]:
        """What is answered on the page and on its conflict copies, and not yet taken from there. Never raises."""
        found: dict[str, Ack] = {}
        known = self._remembered().standing
        paths = [self.path, *page_copies.named_after(self.vault, self.path)]
        for number, path in enumerate(paths):
            copy = self._copy(path)
            if copy is None:
                if not number and os.path.isfile(f"{self.vault}/{path}"):
                    return {}  # a note of the person
                continue
            _join(found, read(copy.text, self.style, now).states)
        return _fresh(found, known)

    def refresh(self, items: Sequence[Item], now: datetime, record: Recorder) -> Refreshed:
        """Let `record` keep what was answered, then write the page with what is left. `record` may be called more
        than once, also with what it was given before."""
        before = self._remembered()
        turn = _Turn(self.style, items, now, record)
        turn.known = before.standing
        try:
            copies = self._copies()
            for copy in copies:
                turn.take(copy.text)
                if len(copy.data) <= MOST_BYTES:
                    turn.note(copy.text)
            written = self._written(turn, copies)
            self._remember(turn.memory(before), before)
            self._put_away(turn, copies)
        except VaultmemError as error:
            if turn.standing is not None:
                self._remember(before._replace(standing=turn.standing), before)
            return Refreshed(
                written=False, acks=turn.recorded, troubles=[*turn.troubles, str(error)]
            )
        return Refreshed(written, turn.acks, turn.troubles)

    # --- The page

    def _written(self, turn: _Turn, copies: Sequence[_Copy]) -> bool:
        full = f"{self.vault}/{self.path}"
        for _ in range(_TRIES):
            refuse_links(self.vault, self.path)
            if os.path.isdir(full):
                self._clear_folder(turn)
            if not os.path.lexists(full):
                done = self._created(turn, copies)
            elif _size(full) > MOST_BYTES:
                self._set_aside_whole(turn)
                continue
            else:
                done = self._changed(turn)
            if done is not None:
                return done
        raise NoteChangedError(f"{self.path} is being changed by another program")

    def _created(self, turn: _Turn, copies: Sequence[_Copy]) -> bool | None:
        """Write it where none is; None when somebody else was faster. The notes of a person may be in a copy."""
        old = copies[0].text if copies else ""
        turn.record_all()
        if not turn.left() and not "".join(turn.typed).strip():
            return False
        text = turn.noted(merged(old, turn.left(), self.style, turn.now).text)
        try:
            write.create(self.vault, self.path, as_bytes(text))
        except NoteChangedError:
            return None
        turn.standing = _standing(read(text, self.style))
        return True

    def _changed(self, turn: _Turn) -> bool | None:
        """Write it over the one that is there, if it has to be; None when that is gone."""
        before = self._remembered()
        after = frozenset[str]()

        def anew(found: bytes) -> bytes:
            nonlocal after
            text, whole = as_text(found)
            if is_blank(text):
                turn.record_all()
                page = turn.noted(render(turn.left(), self.style))
                return as_bytes(page) if turn.left() or turn.typed else found
            if not is_ours(text, self.style):
                raise self._not_ours()
            there = read(text, self.style, turn.now)
            new, acks = turn.merged(text)
            turn.standing = after = _standing(there)
            turn.strangers = {one.id for one in there.found if one.id} - turn.ids - acks.keys()
            said = before.shown == turn.shown() and not turn.acks and whole
            stale = bool(turn.strangers) and _name(turn.strangers) != before.strangers
            noted = turn.noted(new)
            settled = said and not stale and noted == new
            if settled and not _is_healed(text, new, there, self.style):
                return found
            if not whole:
                self._keep_copy(found)
            after = _standing(read(noted, self.style))
            return as_bytes(noted)

        try:
            changed = write.change(self.vault, self.path, anew, part=True)
        except NoteNotFoundError:
            return None
        turn.standing = after
        return changed

    def _not_ours(self) -> VaultmemError:
        return VaultmemError(
            f"{self.path} is a note of yours and stays as it is; give it another name, "
            "or set pending.path to where what is pending may be written"
        )

    def _clear_folder(self, turn: _Turn) -> None:
        """A folder has the name of the page."""
        with contextlib.suppress(OSError):
            os.rmdir(f"{self.vault}/{self.path}")
            return
        target = page_copies.put_away(self.vault, self.path, self._folder)
        turn.troubles.append(f"{self.path} was a folder; it is {target} now")

    def _set_aside_whole(self, turn: _Turn) -> None:
        """A page that nobody can have written so long; what was answered there is taken first."""
        copy = self._copy(self.path)
        if copy is None:
            raise self._not_ours()
        turn.take(copy.text)
        turn.record_all()
        target = page_copies.put_away(self.vault, self.path, self._folder)
        self._take_late(turn, copy, target)
        turn.troubles.append(
            f"{self.path} was {len(copy.data) / 1e6:.1f} MB long; it is {target} now"
        )

    def _keep_copy(self, data: bytes) -> None:
        """The bytes of a page that is no text, before it is repaired."""
        stem, ending = os.path.splitext(self.path.rpartition("/")[2])
        path = f"{self._folder}/{ARCHIVE}/{stem} {files.digest(data)[:8]}{ending}"
        refuse_links(self.vault, path)
        if not os.path.lexists(f"{self.vault}/{path}"):
            write.create(self.vault, path, data)

    # --- Copies by sync programs

    def _copies(self) -> list[_Copy]:
        names = page_copies.named_after(self.vault, self.path)
        return [copy for copy in map(self._copy, names) if copy is not None]

    def _copy(self, path: str) -> _Copy | None:
        """What lies at a path, if that is a page of ours."""
        try:
            data = files.content(f"{self.vault}/{path}", _LONGEST)[0]
        except (OSError, ValueError):
            return None
        text, _ = as_text(data)
        return _Copy(path, data, text) if is_ours(text, self.style) else None

    def _put_away(self, turn: _Turn, copies: Sequence[_Copy]) -> None:
        for copy in copies:
            try:
                target = page_copies.put_away(self.vault, copy.path, self._folder)
            except NoteNotFoundError:
                continue  # the sync program was faster
            late = self._take_late(turn, copy, target)
            if late or len(copy.data) > MOST_BYTES:
                turn.troubles.append(
                    f"{copy.path} is {target} now; there may be notes of yours in it"
                )

    def _take_late(self, turn: _Turn, copy: _Copy, target: str) -> bool:
        """What somebody has answered while the file was put away; whether they have changed it."""
        late = self._copy(target)
        if late is None or late.data == copy.data:
            return False
        turn.take(late.text)
        turn.record_all()
        return True

    # --- What this machine has shown

    def _remembered(self) -> _Memory:
        try:
            with open(self._shown, encoding="ascii") as file:
                lines = file.read(_LONGEST_MEMORY).split("\n")
        except (OSError, ValueError):
            return _Memory()
        shown, strangers, *standing = [*lines, "", ""][: max(2, len(lines))]
        return _Memory(shown, strangers, frozenset(standing))

    def _remember(self, after: _Memory, before: _Memory) -> None:
        if after == before:
            return
        temp = f"{self._shown}.{os.getpid()}.tmp"
        with contextlib.suppress(OSError):  # then the page is written once more than needed
            with open(os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
                file.write("\n".join([after.shown, after.strangers, *sorted(after.standing)]))
            os.replace(temp, self._shown)


def _size(full: str) -> int:
    try:
        stat = os.lstat(full)
    except OSError:
        return 0  # gone since
    if not modes.S_ISREG(stat.st_mode):
        raise VaultmemError(f"{os.path.basename(full)} is no file; what is pending is not written")
    return stat.st_size


class _Turn:
    """One refresh: the items, and what was found to be answered."""

    def __init__(self, style: str, items: Sequence[Item], now: datetime, record: Recorder) -> None:
        self.now = now
        self.acks: dict[str, Ack] = {}
        self.recorded: dict[str, Ack] = {}
        self.known = frozenset[str]()  # answers that stand on the page and are recorded
        self.standing: frozenset[str] | None = None  # answers on the page that are recorded by now
        self.strangers: set[str] = set()  # items of others on the page
        self.troubles: list[str] = []
        self.typed: list[str] = []  # lines of a person on copies of the page
        self.ids = {item.id for item in items}
        self._style, self._items, self._record = style, items, record

    def take(self, text: str) -> None:
        """Note what is answered on a copy of the page."""
        acks = merged(text, self._items, self._style, self.now).acks
        _join(self.acks, _fresh(acks, self.known))

    def note(self, text: str) -> None:
        """Keep what a person typed into a copy of the page."""
        there = read(text, self._style)
        self.typed += [*pending_page.lines_of(there.notes), *there.unknown]

    def noted(self, page: str) -> str:
        """The page with the lines of a person that stand on copies alone."""
        return with_notes(page, self.typed, self._style) if self.typed else page

    def merged(self, text: str) -> tuple[str, dict[str, Ack]]:
        """The page anew, and what is answered on this one, which is recorded by then."""
        acks = merged(text, self._items, self._style, self.now).acks
        _join(self.acks, _fresh(acks, self.known))
        self.record_all()
        return merged(text, self.left(), self._style, self.now).text, acks

    def record_all(self) -> None:
        """Have all that was answered kept."""
        if self.acks:
            self._record(dict(self.acks))
            self.recorded = dict(self.acks)

    def left(self) -> list[Item]:
        """The items that were not answered."""
        return [item for item in self._items if item.id not in self.acks]

    def memory(self, before: _Memory) -> _Memory:
        """What to keep of this refresh."""
        strangers = _name(self.strangers) if self.strangers else before.strangers
        return _Memory(self.shown(), strangers, self.standing or frozenset())

    def shown(self) -> str:
        """What this machine would show, in short."""
        return files.digest(as_bytes(render(self.left(), self._style)))


def _is_healed(old: str, new: str, there: Read, style: str) -> bool:
    """Whether writing the page anew mends it; what cannot be mended is not tried for ever."""
    unmarked = not any(map(pending_page.is_mark, pending_page.lines_of(old)))
    return unmarked or (bool(there.damage) and set(read(new, style).damage) < set(there.damage))


def _name(strangers: set[str]) -> str:
    return files.digest(" ".join(sorted(strangers)).encode())


def _standing(there: Read) -> frozenset[str]:
    """The answers on a page, as this machine remembers them."""
    return frozenset(
        f"{name} {ack.state}" for name, ack in there.states.items() if ack.state in DECIDED
    )


def _fresh(acks: Mapping[str, Ack], known: frozenset[str]) -> dict[str, Ack]:
    return {name: ack for name, ack in acks.items() if f"{name} {ack.state}" not in known}


def _join(acks: dict[str, Ack], more: Mapping[str, Ack]) -> None:
    for name, ack in more.items():
        if ack.state in DECIDED:
            acks[name] = stronger(acks.get(name), ack)
