"""The entries of conversations, read from their files: turns, facts, summaries, and deleted ones.

A file is read again only if its size, time or inode has changed. Links are not followed, and an unreadable file hides
no other.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable

from vaultmem.light import NamedTuple
from vaultmem.memories.conversation import (
    ASSISTANT,
    MEMORY,
    SUMMARY,
    USER,
    Entry,
    entry_of,
    folder_of,
    is_away,
)
from vaultmem.memories.memory_file import compact, readable_id
from vaultmem.notes import pages
from vaultmem.notes.places import ENTRIES, file_name, is_our_page
from vaultmem.text.times import seconds, to_milliseconds
from vaultmem.text.values import SHORTEST_ID
from vaultmem.vault import files as vault
from vaultmem.vault.conflicts import Places, conflicts
from vaultmem.vault.walk import Entry as File
from vaultmem.vault.walk import FileLookup, Trouble, walk

_TURN = {USER: 0, ASSISTANT: 1, MEMORY: 2, SUMMARY: 3}  # order of entries written at the same time
_NO_ID = (
    "it has no id in its properties; give it one, or move it out of the folder of the conversation"
)


class _Read(NamedTuple):
    stat: tuple[int, int, int] | None  # None: just written, and may change unseen
    entry: Entry | None
    trouble: str


class Talk(NamedTuple):
    """The folder of one conversation, oldest entries first."""

    folder: str  # its name
    entries: tuple[Entry, ...]
    troubles: tuple[tuple[str, str], ...] = ()  # path and reason
    pages: tuple[File, ...] = ()  # files that show all of it


class ConversationFiles:
    """All conversations of a vault, for any thread; `style` gives the page style at a path."""

    def __init__(self, root: str, folder: str, style: Callable[[str], str]) -> None:
        self._root = root.rstrip("/")
        self.place = f"{folder}/{ENTRIES}"
        self._style = style
        self._known: dict[str, dict[str, _Read]] = {}  # by folder and path

    def entries(self, conversation: str) -> list[Entry]:
        """All entries of one conversation, oldest first, including deleted ones."""
        name, passed = folder_of(conversation), list[Trouble]()
        talk = self._talk(name, self._files(f"{self.place}/{name}", passed), passed)
        return [entry for entry in talk.entries if entry.conversation == conversation]

    def talks(self) -> list[Talk]:
        """All conversations, folder by folder."""
        passed: list[Trouble] = []
        files = defaultdict[str, list[File]](list)
        for file in self._files(self.place, passed):
            files[self._folder(file.path)].append(file)
        troubles = defaultdict[str, list[Trouble]](list)
        for entry in passed:
            troubles[self._folder(entry.path)].append(entry)
        names = sorted(files.keys() - {""})
        return [self._talk(name, files[name], troubles[name]) for name in names]

    def _folder(self, path: str) -> str:
        return path[len(self.place) + 1 :].rpartition("/")[0].partition("/")[0]

    def find(self, name: str) -> list[Entry]:
        """The entries that an id, its beginning, or a path means; of those with one id, the living one."""
        name_or_id = name.strip().removeprefix("[[").removesuffix("]]").removesuffix(".md")
        every = [entry for talk in self.talks() for entry in talk.entries]
        exact = [
            entry
            for entry in every
            if name_or_id in (entry.id, file_name(entry.path), entry.path[:-3])
        ]
        if not exact and len(name_or_id) >= SHORTEST_ID:
            exact = [entry for entry in every if entry.id.startswith(name_or_id.lower())]
        living = {entry.id: entry for entry in exact if not entry.deleted}
        return [entry for entry in exact if living.get(entry.id, entry) is entry]

    def troubles(self) -> list[tuple[str, str]]:
        """Files that cannot be read as an entry, and why."""
        return [trouble for talk in self.talks() for trouble in talk.troubles]

    def _talk(self, name: str, every: Iterable[File], passed: Iterable[Trouble]) -> Talk:
        start = len(self.place) - len(ENTRIES)
        files, pages = list[File](), list[File]()
        for one in every:
            if one.path.lower().endswith(".md"):
                (pages if is_our_page(one.path[start:]) else files).append(one)
        copies = conflicts(Places(file.path for file in files))
        before = self._known.get(name, {})
        read = {
            file.path: self._look(file, before.get(file.path))
            for file in files
            if file.path not in copies
        }
        self._known[name] = read
        troubles = [(path, file.trouble) for path, file in read.items() if file.trouble]
        troubles += [(skipped.path, skipped.reason) for skipped in passed]
        entries, twice = _unique(file.entry for file in read.values() if file.entry is not None)
        return Talk(name, tuple(entries), tuple(sorted([*troubles, *twice])), tuple(pages))

    def _files(self, place: str, troubles: list[Trouble]) -> list[File]:
        raw = vault.on_disk(self._root, place) or place
        return (
            list(walk(self._root, troubles, raw)) if FileLookup(self._root).has_folder(raw) else []
        )

    def _look(self, file: File, before: _Read | None) -> _Read:
        stat = (file.size, file.mtime_ns, file.inode)
        if before and before.stat == stat:
            return before
        is_settled = abs(time.time_ns() - file.mtime_ns) > vault.TICK_NS
        return _Read(stat if is_settled else None, *self._read(file))

    def _read(self, file: File) -> tuple[Entry | None, str]:
        if file.size > vault.CAP:
            return None, f"{file.size / 1e6:.1f} MB long, too much for an entry"
        text = vault.read(self._root, file.raw)
        page = pages.read(self._style(file.path), text.text)
        if not text.hash or page.error:
            return None, text.trouble or page.error or "cannot be read"
        properties = compact(page.properties)
        inner = file.path[len(self.place) - len(ENTRIES) :]
        conversation, role = entry_of(inner, properties)
        id_ = readable_id(properties.get("id"))
        if not id_:
            return None, _NO_ID
        if not role:
            return None, "it lies in no folder of turns, facts or summaries"
        if not conversation:
            reason = "it is of another conversation than its folder; rename the folder back"
            return None, reason
        created = seconds(properties.get("created_at"))
        created = file.mtime_ns / 1e9 if created is None else created
        updated = seconds(properties.get("updated_at"))
        entry = Entry(
            file.path, id_, conversation, role, page.content.strip("\n"),
            to_milliseconds(created), created if updated is None else updated, properties, is_away(inner),
        )  # fmt: skip
        return entry, ""


def _unique(every: Iterable[Entry]) -> tuple[list[Entry], list[tuple[str, str]]]:
    """The entries in order, with each id once among living ones; and which files have another's id. The name of a copy
    is longer, and one of what was put away is not alive, unless somebody edited it. Summaries are made again."""
    unique: list[Entry] = []
    troubles: list[tuple[str, str]] = []
    entries = sorted(every, key=lambda one: (one.created, _TURN[one.role], len(one.path), one.path))
    owners: dict[str, str] = {}
    away = {
        (one.id, one.content): one.path for one in entries if one.deleted and one.role != SUMMARY
    }
    for entry in entries:
        owner = entry.path
        if not entry.deleted:
            words = entry.id, entry.content
            owner = away.get(words) or owners.setdefault(entry.id, entry.path)
        if owner != entry.path:
            troubles.append((entry.path, f"it has the id of {owner}; give it its own"))
        else:
            unique.append(entry)
    return unique, troubles
