"""What the pages know: the answers of verbs, a list of the memories that is kept while a page is open, and a feed of
what changes."""

from __future__ import annotations

import asyncio
import contextlib
import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from vaultmem import paths
from vaultmem.errors import VaultmemError
from vaultmem_web.texts import Translator

Record = Mapping[str, Any]  # an answer as JSON

MOST = 1_000_000
_EXCERPT = 240  # characters
_AGAIN = 1.0  # seconds after which to ask an agent that did not answer
_LINGER = 60.0  # seconds


class Door(Protocol):
    """What of the HTTP door is used."""

    vaults: Mapping[str, str]
    names: set[str]
    is_private: bool
    is_closing: bool

    async def ask(self, vault: str, verb: str, params: dict[str, object]) -> object:
        """The answer of a verb of memories."""

    async def call(
        self, vault: str, method: str, params: dict[str, object] | None = None
    ) -> object:
        """The answer of a method of the agent."""


class Row(NamedTuple):
    """A memory as a list shows it."""

    id: str
    title: str
    path: str
    excerpt: str
    category: str
    agent: str
    tags: tuple[str, ...]
    confidence: float
    created: str
    source: str
    is_held_back: bool


def row_of(record: Record) -> Row:
    """The row of a memory's record."""
    text = " ".join(str(record["content"])[: 2 * _EXCERPT].split())
    return Row(
        record["id"] or record["path"], record["title"], record["path"], text[:_EXCERPT], record["category"],
        record["agent"], tuple(record["tags"]), float(record["confidence"]), record["created_at"] or "",
        record["source"], bool(record.get("attribution")),
    )  # fmt: skip


class Feed:
    """Hears of changes in one vault while somebody listens, and keeps the list of memories until then."""

    def __init__(self, door: Door, vault: str) -> None:
        self._door, self._vault = door, vault
        self._listeners: set[Listener] = set()
        self._task: asyncio.Task[None] | None = None
        self._rows: dict[bool, list[Row]] = {}
        self._round = 0  # how often they were forgotten
        self._knows = asyncio.Event()  # the counts that later ones are compared with
        self._ending: asyncio.TimerHandle | None = None

    @contextlib.contextmanager
    def opened(self) -> Iterator[Listener]:
        """Listen for a while."""
        one = Listener()
        self._listeners.add(one)
        self._begin()
        try:
            yield one
        finally:
            self._listeners.discard(one)
            self._end_later()

    def _begin(self) -> None:
        if self._task is None:
            self._knows = asyncio.Event()
            self._task = asyncio.create_task(self._listen())

    def _end_later(self) -> None:
        """End when no page is open for a while: from one page to the next nobody listens for a moment."""
        if self._ending:
            self._ending.cancel()
        self._ending = asyncio.get_running_loop().call_later(_LINGER, self._end)

    def _end(self) -> None:
        if not self._listeners and self._task:
            self._task.cancel()
            self._task = None
            self.forget()

    def forget(self) -> None:
        """Ask for the memories anew."""
        self._rows.clear()
        self._round += 1

    async def rows(self, *, deleted: bool) -> list[Row]:
        """All memories that live, or all that do not, the newest first."""
        self._begin()
        self._end_later()
        with contextlib.suppress(TimeoutError):  # what changes from now on is heard of
            await asyncio.wait_for(self._knows.wait(), _AGAIN)
        if deleted in self._rows:
            return self._rows[deleted]
        asked_in = self._round
        answer = await self._door.ask(self._vault, "list", {"limit": MOST, "deleted": deleted})
        assert isinstance(answer, dict)
        rows = [row_of(one) for one in answer["memories"]]
        if self._knows.is_set() and asked_in == self._round:  # else they may be out of date already
            self._rows[deleted] = rows
        return rows

    async def _listen(self) -> None:
        seen: dict[str, object] = {}
        while True:
            try:
                counts = await self._door.call(self._vault, "changes", {"seen": seen})
            except VaultmemError:
                await asyncio.sleep(_AGAIN)
                continue
            assert isinstance(counts, dict)
            kinds = sorted(kind for kind, number in counts.items() if seen.get(kind) != number)
            if seen and kinds:
                self.forget()
                for one in self._listeners:
                    one.hear(kinds)
            seen = counts
            self._knows.set()


class Listener:
    """One stream of events."""

    def __init__(self) -> None:
        self._kinds: set[str] = set()
        self._heard = asyncio.Event()

    def hear(self, kinds: Sequence[str]) -> None:
        """Something has changed."""
        if kinds:
            self._kinds.update(kinds)
            self._heard.set()

    async def news(self, seconds: float) -> list[str]:
        """The kinds of what has changed, or nothing after so long."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._heard.wait(), seconds)
        self._heard.clear()
        kinds, self._kinds = sorted(self._kinds), set()
        return kinds


class Reader:
    """Asks the agent of one vault."""

    def __init__(self, door: Door, vault: str, feed: Feed) -> None:
        self._door, self.vault, self._feed = door, vault, feed
        self.folder = door.vaults[vault]

    async def ask(self, verb: str, **params: object) -> Record:
        """The answer of a verb of memories. Raises VaultmemError."""
        return _record(await self._door.ask(self.vault, verb, params))

    async def call(self, method: str, **params: object) -> Record:
        """The answer of a method of the agent. Raises VaultmemError."""
        return _record(await self._door.call(self.vault, method, params))

    async def rows(self, *, deleted: bool = False) -> list[Row]:
        """All memories, the newest first."""
        return await self._feed.rows(deleted=deleted)

    async def command(self, *words: str) -> Record:
        """The JSON of a command that no agent answers."""
        command = [*paths.program(), *words, "--vault", self.folder, "--format", "json"]
        done = await asyncio.to_thread(subprocess.run, command, capture_output=True, check=False)
        try:
            return _record(json.loads(done.stdout))
        except ValueError:
            why = done.stderr.decode("utf-8", "replace").strip().splitlines()
            raise VaultmemError(why[-1] if why else f"vaultmem {words[0]} says nothing") from None


def _record(answer: object) -> Record:
    if not isinstance(answer, dict):
        raise VaultmemError("the agent answers in another form; vaultmem restart")
    return answer


@dataclass
class Visit:
    """One request for a page: who can be asked, what the address says, in which language."""

    reader: Reader
    query: Mapping[str, str]
    t: Translator
    csrf: str
    address: str
    several: Mapping[str, list[str]] = field(default_factory=dict)

    def text(self, name: str) -> str:
        """A field of the address."""
        return self.query.get(name, "").strip()

    def number(self, name: str, otherwise: float, least: float, most: float) -> float:
        """A number of the address, within bounds."""
        try:
            value = float(self.query.get(name, ""))
        except ValueError:
            return otherwise
        return min(most, max(least, value))
