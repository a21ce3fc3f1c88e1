"""Make the index equal to the vault: compare the folder with the catalog, read what differs, write it down.

One batch: read and parse files; one catalog transaction that also marks the notes dirty; replace their
blocks in the keyword index and commit; clear the marks. A kill between any two steps is healed by the
next sync, which does again what is marked. The result always equals an index built from nothing.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from vaultmem import __version__
from vaultmem.compare import Diff, check_rebuild, check_vanished
from vaultmem.config import Config
from vaultmem.core import note_facts
from vaultmem.core.conflicts import conflicts, doubtful, nearly_equal
from vaultmem.dialects import Rulebook, open_rulebook
from vaultmem.errors import DamagedError
from vaultmem.indexing import block_row, index_entries
from vaultmem.progress import Progress, Silent
from vaultmem.reading import parse_note
from vaultmem.store import catalog_read, vault
from vaultmem.store import catalog_write as rows
from vaultmem.store.catalog import Catalog, spoken
from vaultmem.store.keyword import Entry, KeywordWriter
from vaultmem.store.state import State
from vaultmem.store.walk import Entry as File
from vaultmem.store.walk import Trouble, walk

READER = f"{__version__}/1"  # raise the number when notes are read differently: all are read again
BATCH_NOTES = 5000  # bounds what a kill costs, and memory: about 40 MB
RACY_NS = 2_000_000_000  # FAT keeps times to two seconds: a file this fresh may change unseen


class Report(NamedTuple):
    """What a sync did. Counts are notes, `seconds` is wall time."""

    added: int
    changed: int
    removed: int
    unchanged: int
    troubles: int
    rebuilt: bool
    seconds: float


def sync(folder: str, config: Config, *, rebuild: bool = False, confirm_removals: bool = False,
         progress: Progress | None = None) -> Report:  # fmt: skip
    """Bring the index of the vault in `folder` up to date, or build it anew.

    Raises VaultGoneError when the vault is empty or most notes are gone (unless confirmed), StateError
    when another process is writing or the state folder cannot be used.
    """
    started = time.monotonic()
    state = State(folder)
    work = _Work(config, confirm_removals, progress or Silent())
    with state.lock():
        try:
            report = _sync_locked(state, work, rebuild=rebuild)
        except DamagedError:
            report = _sync_locked(state, work, rebuild=True)
    return report._replace(seconds=time.monotonic() - started)


class _Work(NamedTuple):
    """How a sync is to be done."""

    config: Config
    confirmed: bool
    progress: Progress


def changes(folder: str, config: Config) -> Report:
    """What sync() would find to do, by sizes and times alone. Writes nothing."""
    state = State(folder)
    rulebook = open_rulebook(vault.Root(folder), config.text("dialect"))
    generation = state.generation()
    if generation is None:
        paths = [entry.path for entry in walk(folder, [])]
        return Report(sum(rulebook.kind(path) == "note" for path in paths), 0, 0, 0, 0, True, 0.0)
    with _Session(folder, generation, rulebook, config) as session:
        return session.preview()


@spoken()
def _sync_locked(state: State, work: _Work, *, rebuild: bool) -> Report:
    rulebook = open_rulebook(vault.Root(state.vault), work.config.text("dialect"))
    generation = state.generation()
    if generation and not rebuild:
        state.sweep()
        with _Session(state.vault, generation, rulebook, work.config) as session:
            return session.run(work)
    if not work.confirmed:
        check_rebuild(state.vault, rulebook, state.note_count())
    number, fresh = state.new_generation()
    with _Session(state.vault, fresh, rulebook, work.config) as session:
        report = session.run(work._replace(confirmed=True))
    state.adopt(number, report.added)
    return report._replace(rebuilt=True)


class _Session:
    """One sync: the open catalog and keyword index, and the rules to read by."""

    def __init__(self, folder: str, generation: str, rulebook: Rulebook, config: Config) -> None:
        self.folder = folder
        self.rules = rulebook
        self.config = config
        self.catalog = Catalog(f"{generation}/catalog.db", create=True)
        self._kw_folder = f"{generation}/kw"
        self._keyword: KeywordWriter | None = None
        self.batch = rows.Batch(self.catalog)
        fingerprint = f"{READER}|{rulebook.fingerprint}|{config['index.max_note_bytes']}|{config['memory_folder']}"
        self.reread = self.catalog.meta("reader") != fingerprint
        self.fingerprint = fingerprint

    def __enter__(self) -> _Session:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            if self._keyword:
                self._keyword.close()
        finally:
            self.catalog.close()

    @property
    def keyword(self) -> KeywordWriter:
        """The writer, opened when the first change needs it."""
        if self._keyword is None:
            self._keyword = KeywordWriter(self._kw_folder)
        return self._keyword

    def run(self, work: _Work) -> Report:
        """Bring everything up to date."""
        if self.catalog.meta("reader") is None:
            self.keyword.commit()  # an empty vault has an index, too
        diff = self._compare()
        if not work.confirmed:
            check_vanished(self.folder, diff)
        added = sum(path not in diff.known for path in self._notes(diff.put))
        removed = sum(self.rules.kind(path) == "note" for path in diff.gone.values())
        self._remove(diff.gone)
        work.progress.stage("reading notes", len(diff.put))
        changed_count = 0
        for batch in _batches(diff.put + diff.touched):
            changed_count += self._apply(batch, diff.known, work.progress)
        work.progress.stage("resolving links", 0)
        rows.resolve_stale(self.catalog, self.rules.lookups, self.rules.resolve)
        self._finish(diff)
        total = self.catalog.db.execute("SELECT count(*) FROM notes").fetchone()[0]
        troubles = catalog_read.counts(self.catalog)["unreadable"]
        return Report(
            added, changed_count - added, removed, total - changed_count, troubles, False, 0.0
        )

    def _notes(self, files: Iterable[File]) -> list[str]:
        """The paths of those that are notes."""
        return [file.path for file in files if self.rules.kind(file.path) == "note"]

    def preview(self) -> Report:
        """What run() would do."""
        diff = self._compare()
        put = self._notes(diff.put)
        gone = sum(self.rules.kind(path) == "note" for path in diff.gone.values())
        touched = sum(not self._is_racy(path) for path in self._notes(diff.touched))
        new = sum(path not in diff.known for path in put)
        changed = len(put) - new + touched
        total = self.catalog.db.execute("SELECT count(*) FROM notes").fetchone()[0]
        return Report(new, changed, gone, total - changed - gone, len(diff.troubles), False, 0.0)

    def _is_racy(self, path: str) -> bool:
        row = self.catalog.db.execute("SELECT racy FROM files WHERE path = ?", (path,)).fetchone()
        return bool(row[0])

    def _compare(self) -> Diff:
        """Where the folder and the catalog differ."""
        old = self._files()
        dirty = {row[0] for row in self.catalog.db.execute("SELECT note FROM dirty")}
        troubles: list[Trouble] = []
        diff = Diff([], [], {}, {}, {})
        for entry in walk(self.folder, troubles):
            kind = self.rules.kind(entry.path)
            row = old.get(entry.path)
            if not kind or (kind == "note" and self._is_ours(entry.path)):
                continue
            if row is None or row[1] != kind:
                diff.put.append(entry)
                continue
            del old[entry.path]
            file, _, size, mtime_ns, inode, racy = row
            diff.known[entry.path] = file
            if self.reread or file in dirty or size != entry.size:
                diff.put.append(entry)
            elif racy or (mtime_ns, inode) != (entry.mtime_ns, entry.inode):
                diff.touched.append(entry)
        hidden = tuple(trouble.path + "/" for trouble in troubles if trouble.folder)
        diff.gone.update({row[0]: path for path, row in old.items() if not path.startswith(hidden)})
        diff.troubles.update({trouble.path: trouble.reason for trouble in troubles})
        return diff

    def _files(self) -> dict[str, tuple[int, str, int, int, int, int]]:
        table = self.catalog.db.execute(
            "SELECT path, id, kind, size, mtime_ns, inode, racy FROM files"
        )
        return {row[0]: row[1:] for row in table}

    def _is_ours(self, path: str) -> bool:
        """pending.md is written from the index; it must not come back into it."""
        return path == f"{self.config['memory_folder']}/pending.md"

    def _remove(self, gone: dict[int, str]) -> None:
        orphans = [row[0] for row in self.catalog.db.execute(
            "SELECT note FROM dirty WHERE note NOT IN (SELECT id FROM files)")]  # fmt: skip
        if not gone and not orphans:
            return
        with self.catalog.transaction() as db:
            for file in gone:
                self.batch.stale(self._keys(rows.remove_file(self.catalog, file)))
            self.batch.write()
            db.executemany("INSERT OR IGNORE INTO dirty VALUES (?)", [(file,) for file in gone])
            self._unsettle()
        for file in [*gone, *orphans]:
            self.keyword.remove(file)
        self.keyword.commit()
        self._clear_dirty([*gone, *orphans])

    def _apply(self, batch: list[File], known: dict[str, int], progress: Progress) -> int:
        """Read a batch and write it down; the number of notes that really changed."""
        replaced: dict[int, list[Entry]] = {}
        with self.catalog.transaction() as db:
            for entry in batch:
                result = self._put(entry, known.get(entry.path))
                if result:
                    replaced[result[0]] = result[1]
                progress.advance()
            self.batch.write()
            db.executemany("INSERT OR IGNORE INTO dirty VALUES (?)", [(note,) for note in replaced])
            if replaced:
                self._unsettle()
        if not replaced:
            return 0
        for note, entries in replaced.items():
            self.keyword.remove(note)
            for item in entries:
                self.keyword.add(note, item)
        self.keyword.commit()
        self._clear_dirty(replaced)
        return len(replaced)

    def _clear_dirty(self, notes: Iterable[int]) -> None:
        with self.catalog.transaction() as db:
            db.executemany("DELETE FROM dirty WHERE note = ?", [(note,) for note in notes])

    def _put(self, entry: File, file: int | None) -> tuple[int, list[Entry]] | None:
        """Write one file's rows; for a note that changed, its id and the blocks to index."""
        kind = self.rules.kind(entry.path)
        if kind != "note":
            self._put_other(entry, file)
            return None
        read = vault.read(self.folder, entry.raw, self.config.number("index.max_note_bytes"))
        racy = read.mtime_ns > time.time_ns() - RACY_NS
        spelling = None if entry.raw == entry.path else entry.raw
        content = bytes.fromhex(read.hash)
        row = rows.FileRow(
            entry.path,
            kind,
            read.size,
            read.mtime_ns,
            entry.inode,
            spelling,
            content,
            racy,
        )
        if file is not None:
            self.catalog.db.execute("DELETE FROM troubles WHERE path = ?", (entry.path,))
        if read.trouble:
            self.catalog.db.execute(
                "INSERT OR REPLACE INTO troubles VALUES (?, 0, ?)", (entry.path, read.trouble)
            )
        if file is not None and not self._differs(file, content):
            rows.put_file(self.catalog, row)
            return None
        return self._put_note(row, read.text, new=file is None)

    def _differs(self, file: int, content: bytes) -> bool:
        if self.reread:
            return True
        db = self.catalog.db
        known = db.execute("SELECT hash FROM files WHERE id = ?", (file,)).fetchone()
        return known[0] != content or bool(
            db.execute("SELECT 1 FROM dirty WHERE note = ?", (file,)).fetchone()
        )

    def _put_other(self, entry: File, file: int | None) -> None:
        new = rows.put_file(self.catalog, rows.FileRow(entry.path, "file", *entry[1:4]))
        if file is None or self.reread:
            self._rename(new, self.rules.names(entry.path, None))

    def _rename(self, file: int, names: set[str]) -> None:
        before = self.catalog.names_of(file)
        if before != names:
            self.batch.stale(self._keys(before ^ names))
            self.catalog.db.execute("DELETE FROM names WHERE file = ?", (file,))
            self.batch.names(file, names)

    def _keys(self, names: Iterable[str]) -> set[str]:
        return {key for name in names for key in self.rules.affected(name)}

    def _put_note(self, row: rows.FileRow, text: str, *, new: bool) -> tuple[int, list[Entry]]:
        file = rows.put_file(self.catalog, row)
        note, grouped = parse_note(self.rules, row.path, text)
        note = self.rules.numbered(row.path, note)
        names = self.rules.names(row.path, note)
        before: set[str] = set()
        if not new:
            before = self.catalog.names_of(file)
            self.catalog.forget_content(file)
        self.batch.names(file, names)
        self.batch.stale(self._keys(before ^ names))
        self.batch.stale({link.key for link in note.links if link.key})
        record = rows.NoteRow(
            note,
            self.rules.dialect(row.path),
            note_facts.note_day(row.path, note.properties, note.journal),
            note_facts.category(row.path, note.properties, self.config.text("memory_folder")),
            self.rules.excluded(row.path),
            [block_row(note.title, block) for block in grouped],
        )
        self.batch.note(file, record)
        return file, [] if record.excluded else list(index_entries(row.path, record, grouped))

    def _unsettle(self) -> None:
        """Mark, in the transaction of a change, that _finish has to look at the whole vault."""
        self.catalog.set_meta("settled", "no")

    def _finish(self, diff: Diff) -> None:
        with self.catalog.transaction() as db:
            if self.catalog.meta("settled") != "yes":
                self._note_conflicts()
                db.execute("DELETE FROM troubles WHERE path NOT IN (SELECT path FROM files)")
                self.catalog.set_meta("settled", "yes")
            db.execute("DELETE FROM troubles WHERE walked = 1")
            db.executemany("INSERT INTO troubles VALUES (?, 1, ?)", list(diff.troubles.items()))
            for dialect, template in self.rules.uri_templates().items():
                self.catalog.set_meta(f"uri {dialect}", template)
            self.catalog.set_meta("reader", self.fingerprint)
            self.catalog.set_meta("synced", str(int(time.time())))

    def _note_conflicts(self) -> None:
        db = self.catalog.db
        ids = dict(db.execute("SELECT path, id FROM files WHERE kind = 'note'").fetchall())
        db.execute("DELETE FROM conflicts")
        found = [*conflicts(ids).items(), *self._doubtful_copies(ids)]
        db.executemany(
            "INSERT INTO conflicts VALUES (?, ?)", [(ids[copy], ids.get(of)) for copy, of in found]
        )

    def _doubtful_copies(self, paths: Iterable[str]) -> Iterator[tuple[str, str]]:
        """Of the notes that only look like copies by name, those whose texts are alike."""
        cap = self.config.number("index.max_note_bytes")
        for copy, original in doubtful(paths):
            texts = [vault.read(self.folder, path, cap).text for path in (copy, original)]
            if nearly_equal(*texts):
                yield copy, original


def _batches(entries: list[File]) -> Iterator[list[File]]:
    for start in range(0, len(entries), BATCH_NOTES):
        yield entries[start : start + BATCH_NOTES]
