"""All files of the memory folder, known by their stats and read again only when they change."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from vaultmem.adapter import Value
from vaultmem.errors import NoteNotFoundError
from vaultmem.memories.memory_file import MemoryCache, Reader, Stored, fold
from vaultmem.memories.model import Memory
from vaultmem.memories.snapshot import Names, Snapshot
from vaultmem.notes import pages
from vaultmem.text.similarity import resemblance, resembling
from vaultmem.text.times import local_day
from vaultmem.text.values import SHORTEST_ID, lazy
from vaultmem.vault import files
from vaultmem.vault.files import Inside
from vaultmem.vault.walk import Entry, FileLookup, Trouble, nfc, walk

# Which memory a name means.

_ID_BEGIN = lazy(r"[0-9a-z][0-9a-z-]*")
_LINK = lazy(r"\[\[([^\[\]|#]+)(?:[|#][^\[\]]*)?\]\]")
_MOST_NAMED = 5
_LONGEST_NAME = 200  # characters compared with titles


def named(text: str, folder: str, pool: Sequence[Memory]) -> Memory | None:
    """The memory that a name means, tried in the order of _ways(). Raises NoteNotFoundError if it is ambiguous."""
    name = _bare(text)
    if not name:
        return None
    paths = {
        f"{prefix}{name}{ending}" for prefix in ("", f"{fold(folder)}/") for ending in ("", ".md")
    }
    for matches in _ways(name, paths, pool):
        if len({memory.id for memory in matches}) > 1:
            raise _several(text, matches)
        if matches:  # two machines may have archived one memory each
            return max(matches, key=lambda memory: memory.text("deleted_at"))
    return None


def _ways(name: str, paths: set[str], pool: Sequence[Memory]) -> Iterator[list[Memory]]:
    """Memories with the name as id, path, title, or beginning of an id."""
    yield [memory for memory in pool if memory.id.lower() == name]
    yield [memory for memory in pool if fold(memory.path) in paths]
    yield [memory for memory in pool if fold(memory.title) == name]
    if len(name) >= SHORTEST_ID and _ID_BEGIN.fullmatch(name):
        yield [memory for memory in pool if memory.id.lower().startswith(name)]


def unknown(text: str, pool: Iterable[Memory], *, archived: bool = False) -> NoteNotFoundError:
    """The error for a name that matches nothing."""
    near = _nearest(_bare(text), pool)
    hint = "vaultmem list shows what there is"
    if archived:
        hint = f"vaultmem list --deleted shows what was deleted, and {hint}"
    if near:
        hint = f"did you mean {' or '.join(repr(title) for title in near)}?"
    return NoteNotFoundError(
        f"Memory not found: nothing has the id, title or path {_short(text)!r}; {hint}"
    )


def deleted_error(memory: Memory) -> NoteNotFoundError:
    """The error for a memory that is in the archive."""
    day = local_day(memory.text("deleted_at"))
    when = f" on {day}" if day else ""
    return NoteNotFoundError(
        f"Memory not found: {memory.title!r} was deleted{when}; vaultmem restore {memory.id[:8]} brings it back"
    )


def _bare(text: str) -> str:
    link = _LINK.fullmatch(text.strip())
    return fold((link[1] if link else text).strip())


def _short(text: str) -> str:
    return text if len(text) <= 100 else f"{text[:99]}…"


def _several(text: str, matches: Sequence[Memory]) -> NoteNotFoundError:
    names = [f"{match.id[:8]} {match.title}" for match in matches]
    names[_MOST_NAMED:] = ["…"] if names[_MOST_NAMED:] else []
    return NoteNotFoundError(
        f"{_short(text)!r} could mean {len(matches)} memories: {', '.join(names)}; give more of the id"
    )


def _nearest(name: str, live: Iterable[Memory]) -> list[str]:
    from difflib import get_close_matches  # only after an error

    titles = {fold(memory.title): memory.title for memory in live}
    near = get_close_matches(name[:_LONGEST_NAME], titles, 3)
    return [titles[key] for key in near or [key for key in titles if name and name in key][:3]]


_LONGEST_CACHED = 4_096  # bytes
_MOST_CACHED = 16_384  # contents


class Collection:
    """The memories of one vault, as of the last refresh(). Not thread-safe."""

    def __init__(
        self,
        vault: str,
        folder: str,
        style: Callable[[str], str],
        cache: str | None,
        title: Callable[[str, Value], str] | None = None,
    ) -> None:
        """`style` and `title` give a page's style and its name for links, see notes.dialects.Rulebook; without
        `title` that is the file name."""
        self.vault = vault.rstrip("/")
        self.folder = nfc(folder.strip("/"))
        self._reader, self._title = Reader(self.folder, style), title
        self._cache = MemoryCache(cache, self.folder) if cache else None
        self._names = Names()
        self._files = self._names.files
        self._again: set[str] = set()  # paths to read again, whatever their stats
        self._unsaved: set[str] = set()  # paths whose state the cache has not
        self._walked: list[Trouble] = []
        self._loaded = False
        self._now: Snapshot | None = None
        self._text = lru_cache(_MOST_CACHED)(self._content)

    def refresh(self, paths: Iterable[str] | None = None) -> bool:
        """Read changes from disk, in all of the memory folder or at these paths. Returns whether anything has
        changed."""
        if not self._loaded:
            self._load()
            paths = None
        if paths is None:
            return self._refresh_all()
        changed_paths = sorted({nfc(path.strip("/")) for path in paths} | self._again)
        if any(
            path == self.folder or not path or self.folder.startswith(f"{path}/")
            for path in changed_paths
        ):
            return self._refresh_all()
        look = FileLookup(self.vault)
        changed = False
        for path in changed_paths:
            if path.startswith(f"{self.folder}/"):
                changed |= self._refresh_at(path, look)
        return changed

    def live(self) -> list[Memory]:
        """All living memories, by path."""
        return self._snapshot.live

    def archived(self) -> list[Memory]:
        """All memories in the archive, by path."""
        return self._snapshot.archived

    def copies(self) -> list[tuple[str, str | None]]:
        """Sync conflict copies, which are not memories, each with its original if that exists."""
        return sorted(self._snapshot.copies.items())

    def spare_copies(self) -> list[tuple[Memory, Memory]]:
        """Copies that say what their originals say, each with its original."""
        pairs = self._snapshot.spare
        return [pair for pair in pairs if self.content(pair[0]) == self.content(pair[1])]

    def content(self, memory: Memory) -> str:
        """The content of a memory, read now. Raises NoteNotFoundError if the file is gone."""
        return self._content(memory.path)

    def _content(self, path: str, *_: object) -> str:
        file = files.read(self.vault, path)
        if not file.hash:
            raise NoteNotFoundError(f"{path} {file.trouble or 'cannot be read'}")
        return pages.read(self._reader.style(path), file.text).content

    def text(self, memory: Memory) -> str:
        """Its content as of the last change seen, for comparing with many; a long one is read now."""
        if memory.size > _LONGEST_CACHED:
            return self.content(memory)
        return self._text(memory.path, memory.hash, memory.mtime)

    def find(
        self, text: str, *, archived: bool = False, seen: Callable[[Memory], bool] | None = None,
        target: Callable[[str], str | None] = lambda _: None,
    ) -> Memory:  # fmt: skip
        """The memory that a name means, among those `seen`; with `archived`, archived ones first. Raises
        NoteNotFoundError, which names the note of the person that is the `target` of [[name]]."""
        away, live = self.archived(), self.live()
        if seen is not None:
            away, live = list(filter(seen, away)), list(filter(seen, live))
        put_back = self._named(text, away) if archived else None
        memory = put_back or self._named(text, live)
        if memory is not None:
            return memory
        removed = None if archived else self._named(text, away)
        if removed:
            raise deleted_error(removed)
        if (note := target(text)) and files.on_disk(self.vault, note):
            raise NoteNotFoundError(
                f"Memory not found: {note} is a note of yours, which you change in your editor"
            )
        raise unknown(text, [*away, *live] if archived else live, archived=archived)

    def _named(self, text: str, pool: Sequence[Memory]) -> Memory | None:
        return named(text, self.folder, pool)

    def at(self, path: str) -> Memory | None:
        """The memory at a path of the vault, living or archived."""
        now = self._snapshot
        return now.at(path) or now.at(self._names.paths.get(fold(path), ""))

    def titled(self, title: str) -> Memory | None:
        """The living memory with this title."""
        return self._snapshot.titled(title)

    def with_hash(self, hash: str) -> list[Memory]:  # noqa: A002 - the word of the field
        """Living memories with this content, by path; see text.similarity.content_hash."""
        if hash not in self._snapshot.hashes:
            return []
        return [memory for memory in self.live() if memory.hash == hash]

    def like(self, sketch: bytes, least: float) -> list[tuple[Memory, float]]:
        """Living memories with similar content, and how similar, most similar first (text.similarity.sketch)."""
        if not sketch:
            return []
        live, row = self.live(), self._snapshot.sketches
        near = [live[place] for place in resembling(row, sketch, least)]
        scored = [(memory, resemblance(sketch, memory.sketch)) for memory in near]
        results = [pair for pair in scored if pair[1] >= least]
        return sorted(results, key=lambda pair: (-pair[1], pair[0].path))

    def has_title(self, title: str) -> bool:
        """Whether any note of the memory folder has this title, ignoring case."""
        return bool(self._loaded_names.of_title(title))

    def exists(self, path: str) -> bool:
        """Whether there is a file at this path of the vault, ignoring case."""
        if fold(path).startswith(f"{fold(self.folder)}/"):
            return fold(path) in self._loaded_names.paths
        return files.on_disk(self.vault, path) is not None

    def blobs(self) -> Mapping[str, str]:
        """The Git blob id of every file in the memory folder."""
        return {path: stored.blob.hex() for path, stored in self._files.items() if stored.blob}

    def troubles(self) -> list[tuple[str, str]]:
        """Files that cannot be read or were skipped, and why."""
        results = [
            (stored.path, stored.trouble) for stored in self._files.values() if stored.trouble
        ]
        return sorted([*results, *((problem.path, problem.reason) for problem in self._walked)])

    @property
    def _loaded_names(self) -> Names:
        if not self._loaded:
            self.refresh()
        return self._names

    @property
    def _snapshot(self) -> Snapshot:
        if not self._loaded:
            self.refresh()
        if self._now is None:
            self._now = Snapshot(self._names)
        return self._now

    # Reading the disk

    def _load(self) -> None:
        self._loaded = True
        if self._cache is None:
            return
        style = self._reader.style
        for path, stored in self._cache.load().items():
            if not stored.style or stored.style == style(path):
                self._names.put(path, self._titled(stored))

    def _refresh_all(self) -> bool:
        self._walked = []
        raw = files.on_disk(self.vault, self.folder) or self.folder
        there = FileLookup(self.vault).has_folder(raw)
        entries = walk(self.vault, self._walked, raw) if there else ()
        changed = self._compare(entries, self._files)
        self._save()
        return changed

    def _refresh_at(self, path: str, look: FileLookup) -> bool:
        raw = files.on_disk(self.vault, path) or path
        entry = look.at(raw)
        if entry is not None:
            return self._compare([entry], [path])
        is_folder = look.has_folder(raw)
        is_file = path in self._files and not is_folder  # with nothing below it
        below = () if is_file else (file for file in self._files if file.startswith(f"{path}/"))
        self._walked = [
            problem for problem in self._walked if not f"{problem.path}/".startswith(f"{path}/")
        ]
        entries = walk(self.vault, self._walked, raw) if is_folder else ()
        return self._compare(entries, [path, *below])

    def _compare(self, entries: Iterable[Entry], paths: Iterable[str]) -> bool:
        missing = set(paths)
        changed = False
        with Inside(self.vault) as inside:
            for entry in entries:
                missing.discard(entry.path)
                stored = self._files.get(entry.path)
                if stored is None or entry.path in self._again or not stored.is_of(entry):
                    changed |= self._read(inside, entry, stored)
        for path in missing:
            is_unlisted = any(
                problem.folder and path.startswith(f"{problem.path}/") for problem in self._walked
            )
            changed |= not is_unlisted and self._forget(path)
        return changed

    def _read(self, inside: Inside, entry: Entry, previous: Stored | None) -> bool:
        try:
            stored = self._reader.read(inside, entry)
        except FileNotFoundError:
            return self._forget(entry.path)
        if stored is None:
            self._again.add(entry.path)
            return False
        if abs(time.time_ns() - entry.mtime_ns) < files.TICK_NS:
            self._again.add(entry.path)
        else:
            self._again.discard(entry.path)
        if not stored.blob and previous is not None:  # it exists, though it cannot be read now
            stored = stored._replace(blob=previous.blob)
        stored = self._titled(stored)
        if stored == previous:
            return False
        self._names.put(entry.path, stored)
        self._unsaved.add(entry.path)
        self._now = None
        return True

    def _titled(self, stored: Stored) -> Stored:
        memory = stored.memory
        if memory is None or self._title is None:
            return stored
        title = self._title(memory.path, memory.properties.get("title"))
        return stored._replace(memory=memory._replace(title=title))

    def _forget(self, path: str) -> bool:
        self._again.discard(path)
        if not self._names.drop(path):
            return False
        self._unsaved.add(path)
        self._now = None
        return True

    def _save(self) -> None:
        """Update the cache; leave out what may change unseen."""
        ready = self._unsaved - self._again
        if self._cache is not None and ready:
            self._cache.save(self._files, sorted(ready), self._again)
        self._unsaved -= ready
