"""Makes the index equal to the vault: decides which index is worked on, and when a new one takes its place.

The very first index is put in force while still empty, so that searches find what has been read so far and a kill
loses nothing; a later rebuild is built beside the index in force and replaces it at once.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from vaultmem.config import Config
from vaultmem.errors import DamagedError
from vaultmem.index import catalog_write as rows
from vaultmem.index.catalog import catalog_errors
from vaultmem.index.compare import Place, Report, check_rebuild
from vaultmem.index.indexer import KNOWN_NOTES, Indexer
from vaultmem.index.state import State
from vaultmem.notes.dialects import Rulebook, open_rulebook
from vaultmem.progress import Silent, report_to
from vaultmem.text.values import OnError
from vaultmem.vault import identity
from vaultmem.vault.walk import identity as folder_identity
from vaultmem.vault.walk import walk


def sync(
    folder: str, config: Config, *, rebuild: bool = False, confirm_removals: bool = False
) -> Report:
    """Bring the index of the vault in `folder` up to date, or rebuild it.

    Raises VaultGoneError if the vault is empty or most notes are gone (unless confirmed), StateError if another
    process is writing or the state folder cannot be used.
    """
    started = time.monotonic()
    state = State(folder)
    how = {"confirmed": confirm_removals}
    with state.lock():
        try:
            report = _sync_locked(state, config, rebuild=rebuild, **how)
        except DamagedError:
            report = _sync_locked(state, config, rebuild=True, **how)
    return report._replace(seconds=time.monotonic() - started)


def changes(folder: str, config: Config) -> Report:
    """What sync() would do, by sizes and times alone. Writes nothing."""
    state = State(folder)
    rulebook = rules_of(folder, config)
    generation = state.generation()
    if generation is None:
        paths = [entry.path for entry in walk(folder, [])]
        return Report(sum(rulebook.kind(path) == "note" for path in paths), 0, 0, 0, 0, True, 0.0)
    with Indexer(folder, generation, rulebook, config) as indexer:
        diff = indexer.differences()
        closed = {path for path, known in diff.before.items() if not known.mtime_ns}  # unreadable
        put = [path for path in indexer.notes(diff.put) if path not in closed]
        gone = sum(indexer.kind(path) == "note" for path in diff.gone.values())
        touched = sum(not diff.before[path].racy for path in indexer.notes(diff.touched))
        new = sum(path not in diff.known for path in put)
        changed = len(put) - new + touched
        same = indexer.note_count() - changed - gone
        return Report(new, changed, gone, same, len(diff.troubles), False, 0.0)


@catalog_errors()
def _sync_locked(state: State, config: Config, *, rebuild: bool, confirmed: bool) -> Report:
    looked_at = folder_identity(state.vault)
    if rebuild:
        indexer, report = rebuilt(state, config, confirmed=confirmed)
        indexer.close()
    else:
        state.sweep()
        with open_indexer(state, config) as indexer:
            report = first_or_next(state, indexer, confirmed=confirmed)
    identity.remember(state.vault, config.text("memory_folder"), looked_at)
    return report


def open_indexer(state: State, config: Config) -> Indexer:
    """The index in force, opened for writing; if there is none, an empty one is put in force. The caller holds the
    lock."""
    rulebook = rules_of(state.vault, config)
    generation = state.generation()
    if generation:
        return Indexer(state.vault, generation, rulebook, config)
    number, fresh = state.new_generation()
    indexer = Indexer(state.vault, fresh, rulebook, config)
    with OnError(indexer.close):
        indexer.prepare()
        state.adopt(number, 0, complete=False)
    return indexer


def first_or_next(state: State, indexer: Indexer, *, confirmed: bool) -> Report:
    """Bring an open index up to date, and record when it is first complete."""
    first = not state.is_complete()
    report = indexer.run(confirmed=confirmed)
    if first:
        state.complete(report.added + report.changed + report.unchanged)
    return report._replace(rebuilt=first)


def rebuilt(
    state: State,
    config: Config,
    fitted: Callable[[Indexer], Indexer] = lambda indexer: indexer,
    *,
    confirmed: bool,
) -> tuple[Indexer, Report]:
    """A new index beside the one in force, which it replaces when complete. `fitted` may set the attributes that
    Indexer allows."""
    rulebook = rules_of(state.vault, config)
    if not confirmed:
        check_rebuild(state.vault, rulebook, state.note_count())
    number, fresh = state.new_generation()
    indexer = fitted(Indexer(state.vault, fresh, rulebook, config))
    with OnError(indexer.close):
        report = indexer.run(confirmed=True)
        state.adopt(number, report.added)
    return indexer, report._replace(rebuilt=True)


@catalog_errors()
def tidy_keyword(indexer: Indexer, is_wanted: Callable[[], bool]) -> bool:
    """Purge removed blocks from the keyword index, so that it ranks like one built from scratch. Tantivy's own merges
    do not help, as they only estimate text lengths: all notes are indexed again in one commit, if they fit into a
    batch and until the writer is needed elsewhere. Returns whether it was done."""
    if indexer.note_count() > KNOWN_NOTES or indexer.catalog.meta("tidy") == "yes":
        return False
    notes = indexer.catalog.db.execute(
        "SELECT f.id, coalesce(f.raw, f.path) FROM files f JOIN notes n ON n.id = f.id"
    ).fetchall()
    before = {row[0] for row in indexer.catalog.db.execute("SELECT note FROM dirty")}
    marks = [(note,) for note, _ in notes if note not in before]
    with indexer.catalog.transaction() as db:
        db.executemany("INSERT INTO dirty VALUES (?)", marks)
    diff = indexer.differences(Place(frozenset(raw for _, raw in notes)))
    usual, size = indexer.breathe, indexer.batch_notes

    def breathe() -> None:
        usual()
        if is_wanted():
            raise _WantedError

    indexer.breathe, indexer.batch_notes = breathe, KNOWN_NOTES
    try:
        with report_to(Silent()):
            indexer.apply(diff._replace(gone={}))
    except _WantedError:
        indexer.batch = rows.Batch(indexer.catalog)
        with indexer.catalog.transaction() as db:
            db.executemany("DELETE FROM dirty WHERE note = ?", marks)
        return False
    finally:
        indexer.breathe, indexer.batch_notes = usual, size
    indexer.catalog.set_meta("tidy", "yes")
    indexer.settle()
    return True


class _WantedError(Exception):
    """Stop because another task needs the writer."""


def rules_of(folder: str, config: Config) -> Rulebook:
    """The current rules for reading the vault."""
    return open_rulebook(folder, config.text("dialect"))


def describe_report(report: Report) -> str:
    """A report as text for the log."""
    return (
        f"{report.added} added, {report.changed} changed, {report.removed} removed,"
        f" {report.unchanged} unchanged in {report.seconds:.2f} s"
    )
