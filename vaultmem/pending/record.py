"""The record of answers and notifications: in the ledger, where it is safe, and in the sync logs of the memory
folder, where other machines see it. All are read as one; of two entries for one item, the later counts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from vaultmem import now as clock
from vaultmem.errors import VaultmemError
from vaultmem.ledger.ledger import Ledger
from vaultmem.light import TYPE_CHECKING, RLock
from vaultmem.memories.item_answers import (
    Answer,
    Answers,
    is_granted,
    is_of_content,
)
from vaultmem.notes.places import SYNC
from vaultmem.progress import logger
from vaultmem.synclog import log_entries, log_folder
from vaultmem.synclog.log_entries import Key, Notified, Page, Turn, Written
from vaultmem.text.times import seconds, stamp

if TYPE_CHECKING:
    from vaultmem.adapter import JsonObject
    from vaultmem.api.rpc import Reader
    from vaultmem.config import Config
    from vaultmem.index.state import State
    from vaultmem.memories.arguments import Arguments
    from vaultmem.memories.store import MemoryStore
    from vaultmem.notes.dialects import Rulebook

log = logger("vaultmem.reminders")

DAY = 86_400.0  # seconds
KEEP_FOR = 60 * DAY  # how long answers to missing items are kept, for other machines
SETTLED_FOR = 300.0  # seconds for which nothing is exchanged where nothing has changed


class Record:
    """The record of one vault. Thread-safe.

    Whatever happens to the pages, the ledger keeps its entries; `problem` says why this machine's page could not be
    written. Without `pages`, nothing is exchanged with other machines.
    """

    def __init__(self, ledger: Ledger, pages: log_folder.LogFolder | None) -> None:
        self.problem = ""
        self.ledger_only = False  # the vault may not be there
        self.awake = ""  # since when this machine is awake, set by the agent
        self._lock = RLock()
        self._ledger, self._pages = ledger, pages
        self._silent: dict[str, str] = {}  # other machines and their last sign of life
        # All entries, by the version of the ledger and pages that they come from.
        self._made_of: tuple[object, log_entries.Entries] = (None, {})
        self._entries: log_entries.Entries = {}
        self._answers: Answers = {}
        self._notified: Mapping[str, Notified] = {}
        self._settled: tuple[object, float, list[str]] = (None, 0.0, [])
        self._forgotten: set[Key] = set()  # by this process; other pages may still have them

    def answers(self) -> Answers:
        """All answers, by the ids of the items; the same mapping again while nothing has changed."""
        self._all()
        return self._answers

    def notified(self) -> Mapping[str, Notified]:
        """All notifications shown on any machine's desktop, by item id."""
        self._all()
        return self._notified

    def add(self, answers: Iterable[Answer], notified: Iterable[Notified], now: float) -> None:
        """Record answers and notifications: first in the ledger, which may raise StateError, then in the sync log."""
        with self._lock:
            if self.keep(answers, notified, now):
                self.publish()

    def keep(self, answers: Iterable[Answer], notified: Iterable[Notified], now: float) -> bool:
        """Record them in the ledger alone, which may raise StateError; `publish` tells other machines. Whether there
        was anything to record."""
        with self._lock:
            later = [
                _later_than(self.answers().get(answer.id), log_entries.plain(answer))
                for answer in answers
            ]
            every: list[log_entries.Entry] = [*later, *notified]
            new = log_entries.collect(entry for entry in every if log_entries.is_writable(entry))
            log_folder.add_answers(self._ledger, new, now)
            return bool(new)

    def publish(self) -> None:
        """Write what the sync log lacks."""
        with self._lock:
            self._publish(set())

    def written_elsewhere(self) -> dict[str, Written]:
        """What vaultmem wrote on other machines, by content id; for each content, the first time."""
        with self._lock:
            every = (entry for page in self._others() for entry in page.entries.values())
            written = [entry for entry in every if isinstance(entry, Written)]
            return {
                entry.id: entry for entry in sorted(written, key=lambda one: one.at, reverse=True)
            }

    def turn(self, now: float) -> Turn:
        """Whether this machine is the first to notify among those awake."""
        with self._lock:
            if self._pages is None or not self.awake:
                return log_entries.ALONE
            page = Page(self._pages.machine, self.awake)
            return log_entries.turn_of(page, self._pages.others(), self._silent, now)

    def others_were_silent(self) -> None:
        """Stop waiting for machines that missed their turn to notify, until they are seen again."""
        with self._lock:
            self._silent |= {
                entry.machine: log_entries.sign_of_life(entry) for entry in self._others()
            }

    def settle(self, current: set[str] | None, now: float) -> list[str]:
        """Exchange entries between ledger and sync logs, and drop old ones that are not `current`. Returns problems."""
        with self._lock:
            seen, at, problems = self._settled
            if current is None and seen == self._seen() and 0 <= now - at < SETTLED_FOR:
                return problems
            every = self._all()
            if current is not None:
                self._forgotten = _outdated_keys(every, current, now)
            if self._pages is not None:
                heard = self._pages.everything()
                fresh = {key: entry for key, entry in heard.items() if key not in self._forgotten}
                log_folder.absorb(self._ledger, fresh, self._pages.machine, now)
            if not self._forgotten.isdisjoint(log_folder.answers_in(self._ledger)):
                log_folder.forget_answers(self._ledger, self._forgotten, now)
            self._put_copies_away()
            self._publish(self._forgotten)
            problems = [*([self.problem] if self.problem else []), *self._wrong_clocks(now)]
            self._settled = None if self.problem else self._seen(), now, problems
            return problems

    def _seen(self) -> tuple[object, ...]:
        """What an exchange depends on, beside the time."""
        pages = None if self._pages is None else self._pages.pages()
        return self._ledger.version(), pages, self.awake, self.ledger_only

    def has_others(self) -> bool:
        """Whether other machines share the vault."""
        with self._lock:
            return any(page.machine for page in self._others())

    def _others(self) -> list[Page]:
        return [] if self._pages is None else self._pages.others()

    def _wrong_clocks(self, now: float) -> list[str]:
        """Machines that write entries dated in the future, which always win. Answers do not count, as they are dated
        later on purpose."""
        results = []
        for page in self._others():
            stamps = [entry.at for entry in page.entries.values() if not isinstance(entry, Answer)]
            ahead = (seconds(max([page.awake, *stamps])) or 0.0) - now
            if ahead > DAY:
                results.append(
                    f"the clock of {page.machine} is {ahead / DAY:,.0f} days ahead of the clock here, and of two "
                    "answers the later counts: correct the wrong clock"
                )
        return results

    def _all(self) -> log_entries.Entries:
        with self._lock:
            pages = self._pages.about_items() if self._pages is not None else {}
            version = self._ledger.version()
            if version != self._made_of[0] or pages is not self._made_of[1]:
                entries = log_entries.merge_entries(log_folder.answers_in(self._ledger), pages)
                if entries != self._entries:
                    self._entries = entries
                    self._answers = log_entries.of_kind(entries, Answer)
                    self._notified = log_entries.of_kind(entries, Notified)
                self._made_of = version, pages
            return self._entries

    def _publish(self, old: set[Key]) -> None:
        """Write this machine's page if it lacks something, or has `old` entries."""
        if self.ledger_only or self._pages is None:
            return
        problem = ""
        try:
            entries = log_folder.entries_in(self._ledger, self._pages.machine)
            fresh = {key: entry for key, entry in entries.items() if key not in old}
            self._pages.publish(fresh, old, self.awake)
        except VaultmemError as error:
            problem = str(error)
            self._pages.forget_stats()
        if problem and problem != self.problem:
            log.warning("%s", problem)
        self.problem = problem

    def _put_copies_away(self) -> None:
        """Remove conflict copies of this machine's page that have nothing new."""
        if self.ledger_only or self._pages is None:
            return
        try:
            for late in self._pages.put_copies_away():
                log_folder.absorb(self._ledger, late.entries, self._pages.machine, clock.seconds())
        except VaultmemError as error:
            log.warning("%s", error)


def open_record(state: State, config: Config, rules: Rulebook, ledger: Ledger) -> Record:
    """The record of a vault, including other machines unless that is turned off."""
    if config.text("sync.log") == "off":
        return Record(ledger, None)
    folder = config.text("memory_folder")
    style = rules.page_style(f"{folder}/{SYNC}/machine.md")
    return Record(
        ledger,
        log_folder.LogFolder(state.vault, folder, style, lambda: log_folder.machine_name(ledger)),
    )


def _later_than(current: Answer | None, answer: Answer) -> Answer:
    """The answer, dated after the known one even if another machine's clock is ahead."""
    if current is None or answer.at > current.at or answer == current:
        return answer
    last = seconds(current.at)
    return answer if last is None else answer._replace(at=stamp(last + 1))


def _outdated_keys(entries: log_entries.Entries, current: set[str], now: float) -> set[Key]:
    """The keys of old entries about items that can no longer be answered."""
    oldest = stamp(max(now - KEEP_FOR, 0))
    about_items = [entry for entry in entries.values() if isinstance(entry, (Answer, Notified))]
    recent = (item.id for item in about_items if item.at >= oldest or is_of_content(item.id))
    current_ids = current.union(recent)
    return {log_entries.key_of_entry(item) for item in about_items if item.id not in current_ids}


def approved_ids(store: MemoryStore, reader: Reader, params: Arguments) -> JsonObject:  # noqa: ARG001 - the form of verbs that run apart
    """Which of these questions of approval the person has answered with yes."""
    answers = store.answers()
    return {"approved": [text for text in params.texts("ids") if is_granted(text, answers)]}
