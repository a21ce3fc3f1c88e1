"""Applies differences between the vault and the index: the work of the one writer.

One batch: read and parse files; one catalog transaction that also marks the notes dirty; replace their blocks in the
keyword index and commit; clear the marks. New notes go through in small parts, so that Tantivy's thread works while
the next part is read; their batch is committed as a whole. After a kill between any two steps, the next run repeats
the marked work. The result always equals an index built from scratch.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator

from vaultmem import __version__
from vaultmem import now as clock
from vaultmem.adapter import Link
from vaultmem.config import Config
from vaultmem.errors import VaultGoneError
from vaultmem.index import catalog_write as rows
from vaultmem.index import compare
from vaultmem.index.catalog import Catalog
from vaultmem.index.catalog_read import COUNT_UNREADABLE
from vaultmem.index.catalog_write import Copies, Entry, Judged, block_row, index_entries
from vaultmem.index.compare import Diff, Manner, Place, Report
from vaultmem.light import TYPE_CHECKING
from vaultmem.notes import blocks
from vaultmem.notes.dialects import Rulebook, parse_note
from vaultmem.notes.places import index_kind, page_path
from vaultmem.plugins import language
from vaultmem.progress import current_progress
from vaultmem.vault import files as vault
from vaultmem.vault.walk import Entry as File
from vaultmem.vault.walk import is_hidden

if TYPE_CHECKING:
    from vaultmem.index.keyword import KeywordWriter

READER = f"{__version__}/18"  # raise the number when notes are read differently: all are read again
BATCH_NOTES = 20_000  # new notes per commit: bounds what a kill costs
KNOWN_NOTES = 5000  # changed notes replaced at once: bounds memory, about 40 MB
PART_NOTES = 250  # new notes per transaction


class Indexer:
    """The open catalog and keyword index, and the rules to read by. For one thread, under the lock.

    A caller that keeps it open may set `breathe`, called between two notes; `committed`, called with the changed
    notes as soon as searches can see them, and with none if conflict copies or troubles changed; `check`, which refuses
    differences too great to be believed; `reads_on`, with which only the deletions are then refused; and `batch_notes`.
    """

    def __init__(self, folder: str, generation: str, rulebook: Rulebook, config: Config) -> None:
        self.folder = folder
        self.rules = rulebook
        self.config = config
        self.breathe: Callable[[], None] = compare.nothing
        self.committed: Callable[[Iterable[int]], None] = compare.nothing
        self.check: Callable[[str, Diff], None] = compare.check_vanished
        self._memory_folder, page = config.text("memory_folder"), config.text("pending.path")
        self._page, self._cap = page_path(self._memory_folder, page), config.number("index.max_note_bytes")  # fmt: skip
        self.reads_on = False
        self.batch_notes = BATCH_NOTES
        self.fresh_paths: set[str] = set()  # read so soon after a change that the next may not show
        self.generation = generation
        self._fresh = not os.path.exists(f"{generation}/catalog.db")
        self.catalog = Catalog(f"{generation}/catalog.db", create=True)
        self._kw_folder = f"{generation}/kw"
        self._keyword: KeywordWriter | None = None
        self.batch = rows.Batch(self.catalog)
        names = ("index.max_note_bytes", "memory_folder", "pending.path")
        settings = "|".join(str(config[name]) for name in names)
        self.fingerprint = f"{READER}|{rulebook.fingerprint}|{settings}"
        self.reread = self.catalog.meta("reader") != self.fingerprint
        self.copies = Copies(self.catalog, self._text)
        self._is_first = False  # whether all links must be resolved anyway

    def __enter__(self) -> Indexer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all files."""
        try:
            self.rest()
        finally:
            self.catalog.close()

    def rest(self) -> None:
        """Close the keyword writer, which uses much memory, until the next change."""
        if self._keyword:
            writer, self._keyword = self._keyword, None
            writer.close()

    @property
    def keyword(self) -> KeywordWriter:
        """The writer, opened for the first change."""
        if self._keyword is None:
            from vaultmem.index.keyword import KeywordWriter

            self._keyword = KeywordWriter(self._kw_folder)
        return self._keyword

    def is_in_place(self) -> bool:
        """Whether the opened files are still in place: the state may be deleted at any time."""
        return self.catalog.is_in_place() and os.path.exists(f"{self._kw_folder}/meta.json")

    def is_complete(self) -> bool:
        """Whether the vault was indexed completely at least once."""
        return self.catalog.meta("synced") is not None

    def note_count(self) -> int:
        """How many notes it holds."""
        return int(self.catalog.db.execute("SELECT count(*) FROM notes").fetchone()[0])

    def prepare(self) -> None:
        """Make a new index that is empty but searchable. It is filled by the current rules, even if that is
        interrupted and continued."""
        self.keyword.commit()
        self.catalog.set_meta("tidy", "yes")  # until blocks are removed; see sync.tidy_keyword()
        self.catalog.set_meta("reader", self.fingerprint)
        self._fresh = self.reread = False

    def run(self, *, confirmed: bool) -> Report:
        """Bring everything up to date. Raises VaultGoneError if too much is gone, unless that is confirmed."""
        if self._fresh:
            self.prepare()  # an empty vault has an index, too
        diff = compare.missed_twice(self.differences)
        doubt = None if confirmed else self._doubt(diff)
        doubted = set(compare.missing(diff)) if doubt else set()
        held = [file for file, path in diff.gone.items() if path in doubted]
        diff = compare.without(diff, doubted)
        added = sum(path not in diff.known for path in self.notes(diff.put))
        removed = sum(self.kind(path) == "note" for path in diff.gone.values())
        changed_count = self.apply(diff)
        self._finish(diff, held)
        if doubt:
            raise doubt
        same = self.note_count() - changed_count
        # Not catalog_read.counts(), which takes a tenth of a second in a large vault.
        troubles = int(self.catalog.db.execute(COUNT_UNREADABLE).fetchone()[0])
        return Report(added, changed_count - added, removed, same, troubles, False, 0.0)

    def _doubt(self, diff: Diff) -> VaultGoneError | None:
        """Why some deletions are not believed, while the other differences are applied."""
        try:
            self.check(self.folder, diff)
        except VaultGoneError as error:
            if not self.reads_on:
                raise
            return error
        return None

    def apply(self, diff: Diff) -> int:
        """Apply the differences, and resolve affected links. Returns the number of notes that really changed."""
        if self.reread:
            # Until _finish, some notes are read by the old rules and some by the new.
            self.catalog.set_meta("reader", "")
        self._is_first = not self.is_complete()
        if self._is_first and self.note_count():  # continuing after a kill
            self.catalog.add_indexes()
        taken = {entry.path for entry in diff.put}
        self._remove({file: path for file, path in diff.gone.items() if path in taken})
        current_progress().stage("reading notes", len(diff.put))
        changed_count = 0
        changed = [entry for entry in diff.put if entry.path in diff.known] + diff.touched
        for batch in _batches(changed, min(self.batch_notes, KNOWN_NOTES)):
            changed_count += self._apply(batch, diff.known)
        new = [entry for entry in diff.put if entry.path not in diff.known]
        for batch in _batches(new, self.batch_notes):
            changed_count += self._apply(batch, {})
        # Last, so that a search meanwhile finds a moved note, even if briefly twice.
        self._remove({file: path for file, path in diff.gone.items() if path not in taken})
        if new or diff.gone:
            rows.find_moved(self.catalog)
        current_progress().stage("resolving links", 0)
        rows.resolve_stale(self.catalog, self.rules.lookups, self.rules.resolve)
        if self._is_first:
            self.catalog.add_indexes()
        return changed_count

    def notes(self, files: Iterable[File]) -> list[str]:
        """The paths that are notes."""
        return [file.path for file in files if self.kind(file.path) == "note"]

    def differences(self, place: Place | None = None) -> Diff:
        """The differences between the folder, or a part of it, and the catalog."""
        how = Manner(self.kind, self.reread, self.breathe)
        return compare.differences(self.catalog, self.folder, how, place)

    def kind(self, path: str) -> str:
        """The kind of a file: note, file or nothing. A memory is a note, even if the editor hides it."""
        kind = "note" if self._is_ours(path) else self.rules.kind(path)
        return index_kind(path, self._memory_folder, self._page) if kind == "note" else kind

    def _is_ours(self, path: str) -> bool:
        inside = path.startswith(f"{self._memory_folder}/") and path.lower().endswith(".md")
        return inside and not is_hidden(path)

    def _remove(self, gone: dict[int, str]) -> None:
        orphans = self.catalog.orphans()
        if not gone and not orphans:
            return
        with self.catalog.transaction() as db:
            rows.keep_links(self.catalog, gone)
            for file in gone:
                self._stale(rows.remove_file(self.catalog, file))
            self.batch.write()
            db.executemany("INSERT OR IGNORE INTO dirty VALUES (?)", [(file,) for file in gone])
            self.catalog.set_meta("tidy", "no")
            self.copies.paths_changed()
        for file in [*gone, *orphans]:
            self.keyword.remove(file)
        self.keyword.commit()
        self._clear_dirty([*gone, *orphans])
        self.committed(gone)

    def _apply(self, batch: list[File], file_ids: dict[str, int]) -> int:
        """Read a batch and write it to the index. Returns the number of notes that really changed."""
        replaced: list[int] = []
        for part in _batches(batch, len(batch) if file_ids else PART_NOTES):
            read = self._write_down(part, file_ids)
            for note, entries in read.items():
                if file_ids or not self.keyword.was_empty:
                    self.keyword.remove(note)
                for item in entries:
                    self.keyword.add(note, item)
            replaced += read
        if replaced:
            self.keyword.commit()
            self._clear_dirty(replaced)
            self.committed(replaced)
        return len(replaced)

    def _write_down(self, part: list[File], file_ids: dict[str, int]) -> dict[int, Iterator[Entry]]:
        """Read files and put them into the catalog. Returns the blocks of each note that really changed."""
        replaced: dict[int, Iterator[Entry]] = {}
        changed, progress = set[str](), current_progress()
        with self.catalog.transaction() as db, vault.Inside(self.folder) as inside:
            for entry in part:
                result = self._put(entry, file_ids.get(entry.path), inside)
                if result:
                    replaced[result[0]] = result[1]
                    changed.add(entry.path)
                progress.advance()
                self.breathe()
            self.batch.write()
            db.executemany("INSERT OR IGNORE INTO dirty VALUES (?)", [(note,) for note in replaced])
            if changed and file_ids:
                self.catalog.set_meta("tidy", "no")
                self.copies.texts_changed(changed)
            elif changed:
                self.copies.paths_changed()
        return replaced

    def _clear_dirty(self, notes: Iterable[int]) -> None:
        with self.catalog.transaction() as db:
            db.executemany("DELETE FROM dirty WHERE note = ?", [(note,) for note in notes])

    def _put(
        self, entry: File, file: int | None, inside: vault.Inside
    ) -> tuple[int, Iterator[Entry]] | None:
        """Write one file's rows. Returns the id and blocks of a note that changed."""
        kind = self.kind(entry.path)
        if kind != "note":
            other = rows.FileRow(entry.path, "file", *entry[1:4], ctime_ns=entry.ctime_ns)
            self._rename(self._file(other, file), self.rules.names(entry.path, None))
            return None
        read = vault.read(self.folder, entry.raw, self._cap, inside)
        if read.gone:  # changed since it was listed; if it moved, the next pass shows it
            return None
        age = time.time_ns() - read.mtime_ns
        racy = age < vault.SETTLED_NS
        if racy and age > -vault.SETTLED_NS:  # a time in the future would count as fresh forever
            self.fresh_paths.add(entry.raw)
        spelling = None if entry.raw == entry.path else entry.raw
        content = bytes.fromhex(read.hash)
        row = rows.FileRow(
            entry.path, kind, read.size, read.mtime_ns, entry.inode, spelling, content, racy, entry.ctime_ns
        )  # fmt: skip
        if file is not None:
            self.catalog.db.execute("DELETE FROM troubles WHERE path = ?", (entry.path,))
        if read.trouble:
            row_of = (entry.path, read.trouble)
            self.catalog.db.execute("INSERT OR REPLACE INTO troubles VALUES (?, 0, ?)", row_of)
        if file is not None and not self._differs(file, content):
            rows.update_file(self.catalog, row, file)
            return None
        return self._put_note(row, read.text, file)

    def _differs(self, file: int, content: bytes) -> bool:
        if self.reread:
            return True
        db = self.catalog.db
        row = db.execute("SELECT hash FROM files WHERE id = ?", (file,)).fetchone()
        return row[0] != content or bool(
            db.execute("SELECT 1 FROM dirty WHERE note = ?", (file,)).fetchone()
        )

    def _file(self, row: rows.FileRow, file_id: int | None) -> int:
        if file_id is None:
            return self.batch.file(row)
        rows.update_file(self.catalog, row, file_id)
        return file_id

    def _rename(self, file: int, names: set[str]) -> None:
        before = self.catalog.names_of(file)
        if before != names:
            self._stale(before ^ names)
            self.catalog.db.execute("DELETE FROM names WHERE file = ?", (file,))
            self.batch.names(file, names)

    def _stale(self, names: Iterable[str], links: Iterable[Link] = ()) -> None:
        """Collect what must be resolved again, after these names appeared or disappeared and these links were added."""
        if self._is_first:
            self.batch.stale(rows.ALL_LINKS)
        else:
            self.batch.stale({key for name in names for key in self.rules.affected(name)})
            self.batch.stale({link.key for link in links if link.key})

    def _put_note(
        self, row: rows.FileRow, text: str, file_id: int | None
    ) -> tuple[int, Iterator[Entry]]:
        file = self._file(row, file_id)
        note, grouped = parse_note(self.rules, row.path, text)
        note = self.rules.numbered(row.path, note)
        names = self.rules.names(row.path, note)
        before = set() if file_id is None else self._forget(file)
        self.batch.names(file, names)
        self._stale(before ^ names, note.links)
        record = rows.NoteRow(
            note,
            self.rules.at(row.path).dialect,
            blocks.note_day(row.path, note.properties, note.journal),
            blocks.category(row.path, note.properties, self._memory_folder),
            not self._is_ours(row.path) and self.rules.at(row.path).excluded(row.path),
            not self._is_ours(row.path) and self.rules.is_template(row.path),
            [block_row(note.title, block, len(grouped)) for block in grouped],
            language().sentences(note, text),
            blocks.opening(note.pieces) if blocks.may_name_times(note.properties) else None,
        )
        self.batch.note(file, record)
        return file, iter(()) if record.excluded else index_entries(row.path, record, grouped)

    def _forget(self, file: int) -> set[str]:
        """Remove what was read from a note that is being read again. Returns its names. A conflict copy remains one
        until it is judged again."""
        db = self.catalog.db
        before = self.catalog.names_of(file)
        copies = db.execute("SELECT * FROM conflicts WHERE copy = ?", (file,)).fetchall()
        self.catalog.forget_content(file)
        db.executemany("INSERT INTO conflicts VALUES (?, ?)", copies)
        return before

    def _finish(self, diff: Diff, held: list[int]) -> None:
        """Record that everything examined is indexed; `held` files are gone, but kept."""
        judged = self.copies.judged(self.breathe)
        with self.catalog.transaction() as db:
            self._settle(judged)
            walked = dict(db.execute("SELECT path, reason FROM troubles WHERE walked = 1"))
            db.execute("DELETE FROM troubles WHERE walked = 1")
            db.executemany("INSERT INTO troubles VALUES (?, 1, ?)", list(diff.troubles.items()))
            for dialect, template in self.rules.uri_templates().items():
                self.catalog.set_meta(f"uri {dialect}", template)
            if self.reread:  # when they are back, they are read by the current rules
                ids = [(file,) for file in held]
                db.executemany("UPDATE files SET size = -1, hash = NULL WHERE id = ?", ids)
            self.catalog.set_meta("reader", self.fingerprint)
            if not held:
                self.catalog.set_meta("synced", str(int(clock.seconds())))
        self.reread = False
        self.copies.know(judged)
        if judged or walked != diff.troubles:
            self.committed(())

    def settle(self) -> None:
        """After single changes, update what depends on the whole vault: which notes are conflict copies."""
        judged = self.copies.judged(self.breathe)
        with self.catalog.transaction():
            self._settle(judged)
        self.copies.know(judged)
        self.committed(())

    def _settle(self, judged: Judged | None) -> None:
        if judged:
            self.copies.write(judged)
            self.catalog.db.execute(
                "DELETE FROM troubles WHERE walked = 0 AND path NOT IN (SELECT path FROM files)"
            )

    def _text(self, path: str) -> str:
        return vault.read(self.folder, path, self._cap).text


def _batches(entries: list[File], size: int) -> Iterator[list[File]]:
    for start in range(0, len(entries), size):
        yield entries[start : start + size]
