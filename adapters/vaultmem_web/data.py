"""The data of the pages: answers of verbs, and changes."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import AsyncIterator, Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from vaultmem import paths
from vaultmem.errors import VaultmemError
from vaultmem_web.texts import Translator

if TYPE_CHECKING:
    from vaultmem_server.door import Door

Record = Mapping[str, Any]  # an answer as JSON
_LOOK = 0.2  # seconds


def named(memory: Record) -> Record:
    """The record of a memory; one without an id is identified by its path."""
    return {**memory, "id": memory["id"] or memory["path"]}


async def changes(door: Door, vault: str) -> AsyncIterator[list[str]]:
    """Yield the kinds of changes in a vault, none as a sign of life and once all later ones are noticed, until the door
    closes."""
    seen: Record = {}
    while True:
        asking = asyncio.create_task(door.call(vault, "changes", {"seen": seen}))
        try:
            while not asking.done():
                if door.is_closing:
                    return
                await asyncio.wait({asking}, timeout=_LOOK)
            counts = _record(asking.result())
        except VaultmemError:
            yield []
            await asyncio.sleep(1)  # the agent did not answer; try again
            continue
        finally:
            asking.cancel()
        yield sorted(kind for kind, number in counts.items() if seen and seen.get(kind) != number)
        seen = counts


class Reader:
    """Calls the agent of one vault."""

    def __init__(self, door: Door, vault: str) -> None:
        self._door, self.vault = door, vault
        self.folder = door.vaults[vault]

    async def ask(self, verb: str, **params: object) -> Record:
        """The answer of a verb of memories. Raises VaultmemError."""
        return _record(await self._door.ask(self.vault, verb, params))

    async def call(self, method: str, **params: object) -> Record:
        """The answer of a method of the agent. Raises VaultmemError."""
        return _record(await self._door.call(self.vault, method, params))

    async def list(self, **params: object) -> Record:
        """The answer of the verb list, with an id for every memory."""
        answer = await self.ask("list", **params)
        return {**answer, "memories": [named(memory) for memory in answer["memories"]]}

    async def command(self, *words: str) -> Record:
        """The JSON of a command that the agent does not run."""
        command = [*paths.program(), *words, "--vault", self.folder, "--format", "json"]
        done = await asyncio.to_thread(subprocess.run, command, capture_output=True, check=False)
        try:
            return _record(json.loads(done.stdout))
        except ValueError:
            why = done.stderr.decode("utf-8", "replace").strip().splitlines()
            raise VaultmemError(
                why[-1] if why else f"vaultmem {words[0]} printed nothing"
            ) from None


def _record(answer: object) -> Record:
    if not isinstance(answer, dict):
        raise VaultmemError("the agent answers in another form; vaultmem restart")
    return answer


@dataclass
class Visit:
    """One request for a page: its reader, query and language."""

    reader: Reader
    query: Mapping[str, list[str]]
    t: Translator
    csrf: str
    address: str
    is_part: bool  # whether only the results are rendered

    def text(self, name: str) -> str:
        """A field of the query."""
        return self.name(name).strip()

    def name(self, name: str) -> str:
        """A field of the query that names a note, which may begin with a blank."""
        return self.query.get(name, [""])[-1]

    def one_of(self, name: str, known: Collection[str], usual: str = "") -> str:
        """A field of the query that is a choice; the default for any other value."""
        return text if (text := self.text(name)) in known else usual

    def number(self, name: str, otherwise: float, least: float, most: float) -> float:
        """A number in the query, within bounds."""
        try:
            return min(most, max(least, float(self.text(name))))
        except ValueError:
            return otherwise
