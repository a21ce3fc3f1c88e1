"""An open vault and its methods for memories: those of the verb table, and those that need several verbs, a source or
a file."""

from __future__ import annotations

from contextlib import suppress

from vaultmem import client
from vaultmem import config as settings
from vaultmem.api.methods import Methods
from vaultmem.errors import DamagedError, ModelError, StateError, VaultmemError
from vaultmem.index.catalog import as_state_error, catalog_errors
from vaultmem.index.state import State
from vaultmem.light import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, BinaryIO, Self, TypeVar

    from vaultmem.adapter import JsonObject
    from vaultmem.exchange.gathering import IngestReport
    from vaultmem.exchange.importing import ImportReport
    from vaultmem.index.compare import Report as SyncReport
    from vaultmem.memories.reports import AnswerReport, PlanReport
    from vaultmem.memories.store import MemoryStore
    from vaultmem.search.search import Searcher
    from vaultmem.search.semantic import Meaning, Second

    T = TypeVar("T")
    Report = dict[str, Any]


class MemoryVault(Methods):
    """Every `id` is an id, the beginning of one (four characters or more), a title or a path.

    Every method raises VaultmemError in one clear line: NoteNotFoundError if no memory, or more than one, has that
    name; NoteChangedError if the file was edited meanwhile; UsageError for wrong parameters. `by` is the name of the
    calling assistant (default: the person); with `dry_run=True` nothing is written, and the report has "changes" with
    a "diff" each.
    """

    def __init__(self, path: str | None = None) -> None:
        self.path = settings.choose_vault(path)
        self.config = settings.load(self.path)
        self.state = State(self.path)
        self._searcher: Searcher | None = None
        self._store: MemoryStore | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        self.close()
        if error and (state_error := as_state_error(error)):
            raise state_error from error

    def close(self) -> None:
        """Close all files."""
        self._store = None
        if self._searcher:
            self._searcher.close()
            self._searcher = None

    def is_indexed(self) -> bool:
        """Whether there is an index that was complete at least once."""
        return self.state.is_complete()

    def store(self, *, as_before: bool = False) -> MemoryStore:
        """The memories, for a verb that runs in this process; any file may have changed since the last one, unless it
        is to see them as before."""
        from vaultmem.pending.open_store import open_store

        if self._store is None:
            self._store, as_before = open_store(self.state, self.config), False
        if not as_before:
            self._store.touched_all()
        return self._store

    def settled(self) -> Self:
        """The vault; in the agent, including the latest edits."""
        return self

    def searcher(self) -> Searcher:
        """The open index, including writes by other processes. Raises StateError if the vault was never synced."""
        self._index_writes()
        return self.mended(self._refresh)

    def _refresh(self) -> Searcher:
        held = self._searcher  # the index may have been replaced
        if held and (held.generation != self.state.generation() or held.catalog.is_outdated()):
            self.close()
        if self._searcher is None:
            from vaultmem.search.search import Searcher  # reading memories does not need it

            self._searcher = Searcher(self.path, self.config)
        else:
            self._searcher.refresh()
        return self._searcher

    def mended(self, work: Callable[[], T]) -> T:
        """Run work that needs the latest index. If that turns out damaged, rebuild it and run the work again."""
        if self.state.is_behind() and not self.state.holds_lock():
            with suppress(VaultmemError):  # an older answer is better than none
                self.sync()
                self.state.catch_up()
        return self.healed(work)

    def healed(self, work: Callable[[], T]) -> T:
        """Run work. If the index turns out damaged, rebuild it and run the work again, unless this process holds the
        lock."""
        generation = self.state.generation()
        try:
            with catalog_errors():
                return work()
        except DamagedError as error:
            if self.state.holds_lock():
                raise
            self.close()
            is_in_force = generation == self.state.generation()  # otherwise another just rebuilt it
            if is_in_force:
                from vaultmem.progress import logger

                logger("vaultmem.index").warning("%s; rebuilding it", str(error).partition(" (")[0])
            self.sync(rebuild=is_in_force)
            return work()

    def _index_writes(self) -> None:
        """The agent indexes many writes at once, unless someone searches."""
        with suppress(client.AgentError):  # an incomplete answer is better than none
            client.call(self.path, "index-writes", {})

    def sync(self, *, rebuild: bool = False, confirm_removals: bool = False) -> SyncReport:
        """Bring the index up to date with the notes, or rebuild it. Keyword search is ready afterwards. A running
        agent does the work, being the one writer.

        Raises VaultGoneError when most notes have vanished, unless `confirm_removals`.
        """
        from vaultmem.index.compare import Report
        from vaultmem.index.sync import sync
        from vaultmem.progress import current_progress

        self.close()
        how = {"rebuild": rebuild, "confirm_removals": confirm_removals}
        params = {**how, "embed": False}
        done = client.ask(self.path, "sync", params, timeout=None, progress=current_progress())
        if done is not None:
            if self.state.generation() is None:  # what the agent writes cannot be read here
                raise StateError(client.OTHER_VERSION)
            return Report(**{name: done[name] for name in Report._fields})
        return sync(self.path, self.config, **how)

    def see_writes(self) -> None:
        """Let the next searcher see the latest writes; does nothing if they are indexed at once."""

    def meaning_searcher(self) -> Searcher:
        """The open index, with its vectors."""
        return self.searcher()

    def warm_meaning(self) -> Meaning | None:
        """The vectors and the model, if the model is in memory already."""
        return None

    def idle_seconds(self) -> float:
        """Seconds since the last edit or request; 0 if unknown."""
        return 0.0

    def release(self) -> None:
        """Release what other threads may be waiting for; the next verb acquires it again."""

    create, get = Methods.write, Methods.read

    def ingest(
        self, source: str, path: str | None = None, *, by: str | None = None, limit: int | None = None,
        dry_run: bool = False,
    ) -> IngestReport:  # fmt: skip
        """Import the memories of another program, by the name of an installed source, or all. `path` is its folder if
        not the usual one; `limit` is how many memories to write at most. What is already there, or was imported before,
        is left alone; secrets are removed. The report has "counts" (new, known and skipped files; memories, cut,
        redacted), "files" (each with its "result", "reason" and "memories") and "left"."""
        from vaultmem.exchange.gathering import Ingestion

        return Ingestion(self, by, limit, dry_run=dry_run).run(source, path)

    def dream(
        self, level: int = 1, *, dry_run: bool = False, limit: int | None = None, by: str | None = None,
        only_news: bool = False,
    ) -> PlanReport:  # fmt: skip
        """Run maintenance: level 1 files memories, 2 also merges and links, 3 also sums up old sessions and looks
        across memories and the user's notes, for which it only proposes changes (see proposals()). With `only_news`
        it does nothing if nothing has changed since a dream of that level that finished, and asks on the page of
        pending items before archiving very many; this is how the agent dreams. If a language model is set, a deep
        dream asks it what rules cannot decide, which gives more proposals; "model" reports on that."""
        from vaultmem.operations.upkeep import with_help

        params = {"level": level, "limit": limit, "by": by, "dry_run": dry_run}
        return with_help(self, "dream", {**params, "only_news": only_news})

    def compress(
        self, *, dry_run: bool = False, limit: int | None = None, by: str | None = None
    ) -> PlanReport:
        """Sum up the oldest sessions when there are more than conversations.compress_after, in the words of the
        language model if one is set. The originals are kept, and recalled only on request."""
        from vaultmem.operations.upkeep import with_help

        return with_help(self, "compress", {"dry_run": dry_run, "limit": limit, "by": by})

    # What is pending

    def done(self, item: str, **more: object) -> AnswerReport:
        """Mark an item of pending.md (vm-… or the beginning of it) as done; "NOTE:LINE" ticks the task on that line
        of a note. Takes `by` and `dry_run`. The report has "id", "text", "was" (its state before), "changed" (False
        if it was already done or dropped, and stays so), "carried_out" and "skipped" (the effects on files), and
        "asks": the id of the question whether to tick it in its note, too."""
        return self._answer(item, "done", more)

    def drop(self, item: str, **more: object) -> AnswerReport:
        """Dismiss an item: this time, or with `series` for good; a report like that of done()."""
        return self._answer(item, "dropped", more)

    def snooze(self, item: str, until: str | None = None, **more: object) -> AnswerReport:
        """Put an item off until a day or a time (tomorrow, if none is named); a report like that of done()."""
        return self._answer(item, "snoozed", {"until": until, **more})

    def reopen(self, item: str, **more: object) -> AnswerReport:
        """Take an answer back: a report like that of done(), with "restored", the place to which the reminder came
        back."""
        return self._answer(item, "open", more)

    def _answer(self, item: str, state: str, more: JsonObject) -> AnswerReport:
        report: AnswerReport = self.ask("answer", id=item, state=state, **more)
        return report

    def chores(self) -> list[Report]:
        """The chores that pending() only counts: items to approve, file, compare or repair."""
        chores: list[Report] = self.ask("pending")["chores"]
        return chores

    def check_expectations(self) -> list[Report]:
        """Recall the question of each expectation: rows with "question", "answer", "found" (False if nothing recalled
        has the answer) and "path". Missing answers are listed on the page of pending items."""
        from vaultmem.operations.expectations import Expectation

        rows = []
        for expectation in self.expectations():
            expected = Expectation(expectation["question"], expectation["answer"])
            recalled = self.ask("recall", query=expected.question, counts=False)["memories"]
            texts = (
                (memory.get("title", ""), memory["path"], memory["content"]) for memory in recalled
            )
            path = next((text[1] for text in texts if expected.fits(*text)), None)
            rows.append({**expectation, "found": path is not None, "path": path})
        lost = [row for row in rows if not row["found"]]
        self.ask("keep-lost", lost=lost)
        return rows

    def second_model(self) -> Second | None:
        """The state of the model for other scripts than Latin; None without a separate one."""
        searcher = self.searcher()
        try:
            meaning = searcher.meaning()
        except (ModelError, StateError):
            return None
        return (meaning.successor or meaning).second(searcher.catalog)

    # Out and in

    def export_lines(
        self, *, on_left_out: Callable[[int], object] = int, **which: object
    ) -> Iterator[str]:
        """Memories as lines of JSON, the oldest first; `scope`, `category`, `include_archived`, and `shape`: jsonl,
        memories or memory-cli. `on_left_out` is called with the number of unreadable files."""
        from vaultmem.exchange.export import write_lines

        return write_lines(self, on_left_out, **which)

    def import_lines(self, source: BinaryIO, **how: object) -> ImportReport:
        """Import memories from a file of lines; `on_conflict` (skip, newer, both), `shape`, `by`, `dry_run`. The
        report has "new", "changed" and "known" (counts), "kept" and "failed" (each with "line" and "reason")."""
        from vaultmem.exchange.export import import_file

        return import_file(self, source, **how)
