"""The page pending.md on disk: reads its answers and rewrites it with the remaining items, losing no tick.

Answers are recorded before the page is written without their items. The page is only written when this machine has
something new to say, so that two machines with different knowledge do not overwrite each other in turns.
"""

from __future__ import annotations

import codecs
import contextlib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime

from vaultmem.errors import NoteNotFoundError, VaultmemError
from vaultmem.index.state import State
from vaultmem.light import NamedTuple
from vaultmem.memories.item_answers import OPEN
from vaultmem.paths import replace_private
from vaultmem.pending import ticks
from vaultmem.pending.ticks import Ack, Content
from vaultmem.reminders.items import SHORT, Extent, Item, render
from vaultmem.text.values import remembers_last
from vaultmem.vault import conflicts, files, write

MOST_BYTES = 4_000_000  # bytes of a page, and of a copy of it
_LONGEST_MEMORY = 1_000_000  # characters

Recorder = Callable[[Mapping[str, Ack]], None]


class Refreshed(NamedTuple):
    """The result of a refresh."""

    written: bool
    acks: dict[str, Ack]  # answers read from the page and recorded
    problems: list[str]  # for a person


class _Memory(NamedTuple):
    digest: str = ""  # digest of its last content
    recorded: frozenset[str] = frozenset()  # answers still on the page


class _Copy(NamedTuple):
    path: str
    data: bytes
    content: Content


class Page:
    """The page of one vault, at `path`. Not thread-safe."""

    def __init__(self, state: State, path: str, style: str, folder: str) -> None:
        self.vault, self.path, self.style = state.vault, path, style
        self._folder = folder
        self._memory_file = state.path("pending.shown")

    def acks(self, now: datetime) -> dict[str, Ack]:
        """New answers on the page and its conflict copies. Never raises."""
        turn = _Turn(self, (), now, self._load_memory())
        page = self._copy(self.path)
        if page is None and os.path.isfile(f"{self.vault}/{self.path}"):
            return {}  # a person's note
        for copy in [*([page] if page else []), *self._copies()]:
            turn.take(copy.content)
        return turn.acks

    def refresh(
        self, items: Sequence[Item], now: datetime, record: Recorder, extent: Extent = SHORT
    ) -> Refreshed:
        """Pass new answers to `record`, then write the page with the remaining items."""
        before = self._load_memory()
        turn = _Turn(self, items, now, before, record)
        turn.extent = extent
        try:
            copies = self._copies()
            for copy in copies:
                turn.take(copy.content)
                turn.typed += ticks.missing_lines(turn.typed, copy.content.notes)
            written = write.put(self.vault, self.path, turn.new_bytes)
            self._remember(_Memory(turn.digest(), turn.after), before)
            problems = self._put_away(turn, copies)
        except VaultmemError as error:
            if turn.on_page is not None:
                self._remember(before._replace(recorded=turn.on_page), before)
            return Refreshed(written=False, acks=turn.recorded, problems=[str(error)])
        return Refreshed(written, turn.acks, problems)

    def problem(self) -> str:
        """Why the page cannot be written: a person's note is in its place; "" if none is."""
        with contextlib.suppress(OSError, ValueError):
            try:
                self.own_text(files.content(f"{self.vault}/{self.path}", MOST_BYTES + 1)[0])
            except VaultmemError as error:
                return str(error)
        return ""

    def own_text(self, data: bytes) -> str:
        """The text of the page. Raises VaultmemError if it is not ours."""
        if len(data) > MOST_BYTES:
            raise VaultmemError(
                f"{self.path} is larger than {MOST_BYTES // 1_000_000} MB, and is left alone; move your notes elsewhere"
            )
        text = _decode(data)
        if not ticks.is_page(text):
            raise VaultmemError(
                f"{self.path} is a note of yours and stays as it is; give it another name, "
                "or set pending.path to where what is pending may be written"
            )
        return text

    # --- Copies by sync programs

    def _copies(self) -> list[_Copy]:
        names = conflicts.copies_of(self.vault, self.path)
        return [copy for copy in map(self._copy, names) if copy is not None]

    def _copy(self, path: str) -> _Copy | None:
        try:
            data = files.content(f"{self.vault}/{path}", MOST_BYTES + 1)[0]
        except (OSError, ValueError):
            return None
        text = _decode(data)
        if len(data) > MOST_BYTES or not ticks.is_page(text):
            return None
        return _Copy(path, data, ticks.read(text))

    def _put_away(self, turn: _Turn, copies: Iterable[_Copy]) -> list[str]:
        """Remove copies, whose ticks are recorded, if the page has their notes; else archive them."""
        problems = []
        page = self._copy(self.path)
        for copy in copies:
            try:
                if page and not ticks.missing_lines(page.content.notes, copy.content.notes):
                    target = conflicts.clear(self.vault, copy.path, self._folder, copy.data)
                else:
                    target = conflicts.archive_file(self.vault, copy.path, self._folder)
            except NoteNotFoundError:
                continue  # the sync program was faster
            late = self._copy(target) if target else None
            if late and late.data != copy.data:  # answered while being archived
                turn.take(late.content)
                turn.record_all()
                problems.append(f"{copy.path} is {target} now; there may be notes of yours in it")
        return problems

    # --- What this machine wrote last

    def _load_memory(self) -> _Memory:
        try:
            with open(self._memory_file, encoding="ascii") as file:
                lines = file.read(_LONGEST_MEMORY).split("\n")
        except (OSError, ValueError):
            return _Memory()
        return _Memory(lines[0], frozenset(lines[1:]))

    def _remember(self, after: _Memory, before: _Memory) -> None:
        if after == before:
            return
        text = "\n".join([after.digest, *sorted(after.recorded)])
        with contextlib.suppress(OSError):  # then the page is rewritten once more than needed
            replace_private(self._memory_file, text)


class _Turn:
    def __init__(
        self, page: Page, items: Sequence[Item], now: datetime, before: _Memory, record: Recorder = lambda _: None
    ) -> None:  # fmt: skip
        self.acks: dict[str, Ack] = {}
        self.recorded: dict[str, Ack] = {}
        # Recorded answers: on the page as read, and as written.
        self.on_page: frozenset[str] | None = None
        self.after = frozenset[str]()
        self.typed: list[str] = []  # lines of a person on copies of the page
        self.extent = SHORT
        self._page, self._items, self._now = page, items, now
        self._before, self._record = before, record

    def take(self, content: Content) -> dict[str, str]:
        """Collect new answers from a page. Returns the words that name no day, by item."""
        items = {item.id: item for item in self._items}
        acks, undated = ticks.answers_on(content, items, self._now)
        for id_, ack in acks.items():
            if f"{id_} {ack.state}" not in self._before.recorded:
                self.acks[id_] = ticks.stronger(self.acks.get(id_), ack)
        return undated

    def record_all(self) -> None:
        """Record all answers, each once, however often the page must be read again before it is written."""
        if new := dict(self.acks.items() - self.recorded.items()):
            self._record(new)
            self.recorded |= new

    def new_bytes(self, data: bytes | None) -> bytes | None:
        """The page with the remaining items; unchanged if it would say nothing new. Records its answers first."""
        text = "" if data is None else self._page.own_text(data)
        content = ticks.read(text)
        content = content._replace(unread=self.take(content))
        self.record_all()
        self.on_page = self.after = _answer_ids(content)
        is_new = (
            bool(self.acks or content.unread)
            or self._before.digest != self.digest()
            or not content.is_whole
        )
        says_something = text.strip() or self._left() or "".join(self.typed).strip()
        if not (says_something and (is_new or ticks.missing_lines(content.notes, self.typed))):
            return data
        page = ticks.compose(content, self._left(), self._page.style, self.typed, self.extent)
        self.after = _answer_ids(ticks.read(page))
        return _encode(page)

    def digest(self) -> str:
        """The digest of the page that this machine would write."""
        return _digest_of(self._left(), self._page.style, self.extent)

    def _left(self) -> list[Item]:
        return [item for item in self._items if item.id not in self.acks]


@remembers_last
def _digest_of(items: list[Item], style: str, extent: Extent) -> str:
    return files.digest(_encode(render(items, style, extent=extent)))


def _answer_ids(content: Content) -> frozenset[str]:
    return frozenset(f"{tick.id} {tick.state}" for tick in content.ticks if tick.state != OPEN)


def _decode(data: bytes) -> str:
    """The text of a page; bytes that are not UTF-8 are preserved, except the zeros that a power failure leaves."""
    text = data.rstrip(b"\0").removeprefix(codecs.BOM_UTF8)
    return text.decode("utf-8", "surrogateescape")


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
