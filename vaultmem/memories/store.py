"""The store of memories: their files, the log of batches, the history; and the session of one verb or job."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date, datetime
from functools import cached_property

from vaultmem import now as clock
from vaultmem.config import Config
from vaultmem.errors import NoteChangedError, VaultmemError
from vaultmem.index.state import State
from vaultmem.ledger import reads
from vaultmem.ledger.ledger import Ledger
from vaultmem.ledger.reads import Content, Left, ReadCount
from vaultmem.light import TYPE_CHECKING, RLock
from vaultmem.memories import access, records
from vaultmem.memories.access import is_private
from vaultmem.memories.model import Memory, MemoryRecord, new_id
from vaultmem.notes.dialects import Rulebook, open_rulebook
from vaultmem.notes.places import OUTLINE, file_name, is_recorded
from vaultmem.progress import Silent, logger, report_to
from vaultmem.vault import identity
from vaultmem.vault.batch_record import DOING, PART, PlannedWrite
from vaultmem.vault.files import Root, content

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from vaultmem.api.rpc import Reader
    from vaultmem.history.history import History
    from vaultmem.memories.collection import Collection
    from vaultmem.memories.draft import Change, Draft, Plan
    from vaultmem.memories.entries import ConversationFiles
    from vaultmem.memories.item_answers import Answer
    from vaultmem.memories.view import Examples, View
    from vaultmem.pending.pending import Pending
    from vaultmem.vault.batch_record import Header, Outcome
    from vaultmem.vault.batches import Batches


log = logger("vaultmem.memories")

YOU = "you"
WHOLE = 1 << 40  # most bytes read of a file
ALL = None  # paths that may have changed


class MemoryStore:
    """The memories of one vault, as verbs, jobs and searches use them. Open it with vaultmem.pending.open_store, which
    adds the pending items. Whoever writes holds the lock of the state folder.

    Any thread may use it; they wait for each other. `on_write` is called with the written paths. Most verbs need
    little of it, so slow imports happen on first use.
    """

    def __init__(
        self, state: State, config: Config, on_write: Callable[[Iterable[str]], None] | None = None
    ) -> None:
        self.state, self.config = state, config
        self.vault = state.vault
        self.folder = config.text("memory_folder")
        self.half_life = config.seconds("memories.half_life") / 3600
        self.now: Callable[[], float] = clock.seconds
        self.new_id: Callable[[], str] = new_id
        # Runs work that nobody waits for.
        self.later: Callable[[Callable[[], None]], None] = lambda work: work()
        # Why the vault cannot be trusted, if an agent has seen too many notes disappear.
        self.vanished: Callable[[], str] = str
        self.ledger = Ledger(state.path("ledger.db"))
        # When it was made, and the value.
        self.centroid: tuple[float, NDArray[np.float32] | None] | None = None
        self.examples: Examples | None = None  # embedded examples of the categories
        self.version = 0  # counts the changes seen
        # By level, when a dream last had nothing left to do.
        self.dreamt: dict[int, tuple[int, date]] = {}
        self.compared = 0.0  # when a dream last compared all files
        self.listed: object = None  # the version and the answers that Memory.md shows
        self.recent: list[str] = []  # recently written paths, which may not be indexed yet
        self._on_write = on_write or self._index
        self._lock = RLock()
        self._left: dict[str, Left] = {}
        self._touched: set[str] | None = ALL

    @cached_property
    def rules(self) -> Rulebook:
        """The rules by which the vault is read."""
        return open_rulebook(self.vault, self.config.text("dialect"))

    @cached_property
    def batches(self) -> Batches:
        """The log of batches."""
        from vaultmem.vault.batches import Batches

        return Batches(self.state.path("batches"), self.vault, self.folder)

    def apply(self, who: Header, writes: Sequence[PlannedWrite]) -> Outcome:
        """Carry out the writes of a batch, as far as they are still possible."""
        from vaultmem.vault import write

        return write.apply(self.batches, who, writes)

    @cached_property
    def history(self) -> History:
        """The history, a Git repository."""
        from vaultmem.history.history import History

        is_on = self.config.text("memories.history") == "on"
        return History(self.state.path("history.git"), self.vault, self.folder, is_on=is_on)

    @cached_property
    def collection(self) -> Collection:
        """The files of the memory folder."""
        from vaultmem.memories.collection import Collection

        cache = self.state.path("memories.json")
        style = self.rules.page_style
        title = self.rules.page_title if style(f"{self.folder}/") == OUTLINE else None
        return Collection(self.vault, self.folder, style, cache, title)

    @cached_property
    def talks(self) -> ConversationFiles:
        """The files of conversations. Needs no lock of the store."""
        from vaultmem.memories.entries import ConversationFiles

        return ConversationFiles(self.vault, self.folder, self.rules.page_style)

    @property
    def pending(self) -> Pending:
        """The pending items and their page. Needs no lock of the store."""
        raise NotImplementedError

    def answers(self) -> Mapping[str, Answer]:
        """The person's answers to pending items."""
        raise NotImplementedError

    def touched(self, path: str) -> None:
        """Record a change at a path of the vault."""
        if self._touched is not ALL and (path + "/").startswith(self.folder + "/"):
            self._touched.add(path)
        elif self.folder.startswith(path + "/") or not path:
            self._touched = ALL

    def touched_all(self) -> None:
        """Record that any file may have changed."""
        self._touched = ALL

    @contextmanager
    def session(self, reader: Reader, *, writes: bool) -> Iterator[Session]:
        """Open a session for one verb or job, after refreshing the memories."""
        with self._lock:
            identity.check(self.vault)
            if writes:
                self.heal()
            self._refresh()
            yield Session(self, reader)

    def heal(self) -> None:
        """Finish batches that a kill interrupted. The caller holds the lock of the state folder."""
        with self._lock:
            if not self.count_batches(DOING, PART):
                return
            identity.check(self.vault)
            messages = self.batches.heal()
            for line in messages:
                log.warning("%s", line)
            if messages:
                self._touched = ALL

    def count_batches(self, *endings: str) -> int:
        """The number of records with one of these endings: unfinished ones, or those not yet in the history."""
        try:
            return sum(name.endswith(endings) for name in os.listdir(self.state.path("batches")))
        except OSError:
            return 0

    def _refresh(self) -> None:
        touched, self._touched = self._touched, set()
        if touched is ALL:
            self.version += self.collection.refresh()
        elif touched:
            self.version += self.collection.refresh(touched)

    def written(self, outcome: Outcome) -> None:
        """Update the store after a batch."""
        paths = {step.target for step in outcome.done}
        paths |= {step.path for step in outcome.done if step.path is not None}
        ours = [path for path in paths if path.startswith(self.folder + "/")]
        self.version += self.collection.refresh(ours)
        self.recent = (sorted(step.target for step in outcome.done) + self.recent)[:200]
        self._leave(outcome)
        identity.mark(self.vault, self.folder)
        self._on_write(paths)

    def _leave(self, outcome: Outcome) -> None:
        targets = {step.target for step in outcome.done}
        if len(targets) == 1:
            results = [self.collection.at(target) for target in targets]
            left = [result for result in results if result is not None]
        else:
            left = [memory for memory in self.collection.live() if memory.path in targets]
        for memory in left:
            self._left[memory.id] = Left(memory.path, memory.hash, memory.category)

    def seen(self) -> dict[str, Left]:
        """The state in which vaultmem last wrote each memory, by id."""
        self.settle()
        return reads.left_states(self.ledger)

    def settle(self) -> None:
        """Write buffered facts to the ledger, for which single writes of memories do not wait."""
        with self._lock:
            if self._left:
                reads.leave(self.ledger, self._left.items(), self.now())
                self._left = {}

    def _index(self, paths: Iterable[str]) -> None:
        """Index written files at once if no agent does and there is an index."""
        if not self.state.is_complete():
            return
        from vaultmem.index import sync
        from vaultmem.index.catalog import catalog_errors
        from vaultmem.index.compare import Place

        try:
            with (
                report_to(Silent()),
                catalog_errors(),
                sync.open_indexer(self.state, self.config) as indexer,
            ):
                indexer.apply(indexer.differences(Place(frozenset(paths))))
        except (VaultmemError, OSError) as error:
            self.state.fall_behind()
            why = str(error).partition(" (")[0]
            log.warning("%s; what was written is indexed by the next search", why)

    def remember(self) -> int:
        """Commit finished batches and people's edits to the history. Returns the number of commits."""
        with self._lock:
            identity.check(self.vault)
            self.settle()
            self._refresh()
            inside = len(self.folder) + 1
            blobs = {
                path: blob
                for path, blob in self.collection.blobs().items()
                if is_recorded(path[inside:])
            }
            self._note_written()
            return self.history.take_in(self.batches, blobs, self.now(), self.bytes_of)

    def _note_written(self) -> None:
        """Record what vaultmem wrote, except turns of chats, so that other machines do not take it for a person's
        edit."""
        from vaultmem.history.objects import short_id
        from vaultmem.memories.conversation import is_talk

        contents = (
            Content(short_id(step.new), batch.header.at, batch.header.by)
            for batch in self.batches.waiting()
            for step in batch.steps
            if not is_talk(batch.header.by)
        )
        if self.config.text("sync.log") == "on":
            reads.note_written(self.ledger, contents, self.now())

    def memory_name(self, session: Session, name: str) -> str:
        """The id of the memory that a pending item is about; any other name unchanged. Raises NoteNotFoundError if
        the item is in a person's note."""
        raise NotImplementedError

    def bytes_of(self, path: str, most: int = WHOLE) -> bytes | None:
        """A file of the vault, or its first bytes; None if there is none."""
        full = Root(self.vault).inside(path)
        try:
            return None if full is None else content(full, most)[0]
        except OSError:  # a folder, a fifo, or missing
            return None


class Session:
    """The context of one verb or job."""

    def __init__(self, store: MemoryStore, reader: Reader) -> None:
        self.store, self.reader = store, reader
        self.now = store.now()
        self.viewer = access.PERSON

    def sees(self, memory: Memory) -> bool:
        """Whether the viewer may see a memory."""
        private = bool(self.viewer.name) and is_private(memory.properties)
        return not access.reason(memory.scope, self.viewer, private=private)

    def in_its_style(self, content: str) -> str:
        """A content whose tasks are written as the memory folder's editor expects."""
        style = self.store.rules.page_style(f"{self.store.folder}/")
        if style != OUTLINE or "[" not in content:
            return content
        from vaultmem.notes.logseq_properties import with_markers

        return with_markers(content)

    @cached_property
    def reads(self) -> dict[str, ReadCount]:
        """How often memories were read."""
        return reads.counts(self.store.ledger)

    @cached_property
    def reinforced(self) -> dict[str, str]:
        """When memories were reinforced, by id."""
        return reads.reinforced_at(self.store.ledger)

    @cached_property
    def answers(self) -> Mapping[str, Answer]:
        """The person's answers."""
        return self.store.answers()

    def is_approved(self, memory: Memory) -> bool:
        """Whether the person has approved it."""
        from vaultmem.memories import item_answers

        return item_answers.is_approved(memory.id, self.answers)

    @property
    def local_time(self) -> datetime:
        """Now, with the current offset of the person's zone."""
        return datetime.fromtimestamp(self.now).astimezone()

    @cached_property
    def view(self) -> View:
        """The vault for a plan."""
        from vaultmem.memories.view import View

        return View(self)

    def draft(self, limit: int = 1_000_000_000) -> Draft:
        """An empty plan."""
        from vaultmem.memories.draft import Draft

        return Draft(self.view, limit)

    def find(self, text: str, *, archived: bool = False) -> Memory:
        """The memory that an id, its beginning, a title or a path means, among those that the viewer may see."""
        find, name = self.store.collection.find, self.store.memory_name(self, text)
        if self.viewer.name:  # who may not learn that there is such a note
            return find(name, archived=archived, seen=self.sees)
        return find(name, archived=archived, target=self._target)

    def _target(self, name: str) -> str | None:
        return self.view.target(name)

    def record(self, memory: Memory) -> MemoryRecord:
        """The record of a memory."""
        counted = self.__dict__.get("reads") or reads.counts(self.store.ledger, memory.id)
        return records.record(self, memory, self.store.collection.content(memory), counted)

    def id_of(self, title: str) -> str:
        """The id behind a link's title."""
        memory = self.store.collection.titled(title)
        return memory.id if memory else title

    def make(self, plan: Plan, who: Header) -> None:
        """Carry out all of a plan. Raises NoteChangedError."""
        outcome = self.carry_out(plan, who)
        if outcome.skipped:
            raise NoteChangedError(outcome.skipped[0][1])

    def carry_out(self, plan: Plan, who: Header) -> Outcome:
        """Carry out a plan, except for changes that are no longer possible."""
        from vaultmem.memories.draft import rendering

        style = self.store.rules.page_style
        writes = [
            PlannedWrite(change.path, change.target, rendering(change, style), change.why)
            for change in map(self._called, plan.changes)
        ]
        outcome = self.store.apply(who, writes)
        if outcome.done:
            self.store.written(outcome)
            self.__dict__.pop("view", None)
        return outcome

    def _called(self, change: Change) -> Change:
        """Give a memory a title property if its editor would derive another title from a new file name, and remove
        one that an outline's page no longer needs."""
        before, title = change.path or "", file_name(change.target)
        if change.raw is not None or file_name(before) == title:
            return change
        if self.store.rules.page_title(change.target) != title:
            return change._replace(properties={**change.properties, "title": title})
        old = self.store.collection.at(before)
        is_outline = self.store.rules.page_style(change.target) == OUTLINE
        if is_outline and old and old.properties.get("title"):
            return change._replace(properties={**change.properties, "title": None})
        return change
