"""Where the entries of the sync log are stored: in a folder of the memory folder, as this machine's page and those of
the others; and in the ledger.

Everything there is read as text and never followed: names are not used as paths, links are not opened, and files that
are not our pages are left alone.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from operator import attrgetter

from vaultmem import now as clock
from vaultmem.errors import VaultmemError
from vaultmem.ledger import reads
from vaultmem.ledger.ledger import Ledger
from vaultmem.ledger.reads import EARLIER, HERE, MOST_WRITTEN, Share
from vaultmem.memories.item_answers import Answer
from vaultmem.notes.places import SYNC
from vaultmem.paths import stamp as stamp_of
from vaultmem.synclog import log_entries
from vaultmem.synclog.log_entries import Entries, Entry, Key, Notified, Page, Reads, Written
from vaultmem.text.times import seconds, stamp
from vaultmem.vault import conflicts, files, write
from vaultmem.vault.conflicts import conflict_original
from vaultmem.vault.moves import refuse_links

BELIEVED = 2 * 366 * 86_400.0  # seconds by which another machine's clock may be ahead
ALONE, TOGETHER = 86_400.0, 300.0  # seconds between two writes for reads alone
_MOST_PAGES = 200
_MOST_READS = 2_000  # memories on a page, the most recently read
_LONGEST = 4_000_000  # most bytes read of a page


class LogFolder:
    """The sync logs of one vault, for one machine. The caller ensures that one thread uses it at a time."""

    def __init__(self, vault: str, folder: str, style: str, name: Callable[[], str]) -> None:
        self.folder = f"{folder}/{SYNC}"
        self._vault, self._memories, self._style, self._name = vault, folder, style, name
        self._read_at: dict[str, tuple[object, Page | None]] = {}  # unchanging ones, by path
        self._pages: dict[str, Page] = {}
        self._about_items: Entries = {}

    @property
    def machine(self) -> str:
        """The name of this machine in this vault."""
        return self._name()

    @property
    def path(self) -> str:
        """The path of this machine's page."""
        return f"{self.folder}/{self.machine}.md"

    # --- Reading

    def pages(self) -> dict[str, Page]:
        """All pages by path, including copies by sync programs; only changed ones are read again."""
        there = {path: at for path in self._paths() if (at := self._stamp(path))}
        if there != {path: stat for path, (stat, _) in self._read_at.items()}:
            latest, recent = stamp(clock.seconds() + BELIEVED), time.time_ns() - files.TICK_NS
            pages = {path: self._page(path, stat, latest) for path, stat in there.items()}
            self._pages = {path: page for path, page in pages.items() if page is not None}
            self._read_at = {
                path: (stat, pages[path]) for path, stat in there.items() if stat[2] < recent
            }
            every = (entry for page in self._pages.values() for entry in page.entries.values())
            self._about_items = log_entries.collect(
                entry for entry in every if isinstance(entry, Answer | Notified)
            )
        return self._pages

    def _stamp(self, path: str) -> tuple[int, int, int] | None:
        with contextlib.suppress(OSError):
            return stamp_of(f"{self._vault}/{path}", os.lstat)
        return None

    def _page(self, path: str, stat: object, latest: str) -> Page | None:
        cached = self._read_at.get(path)
        return cached[1] if cached and cached[0] == stat else self._read(path, latest)

    def own(self) -> Page:
        """The page of this machine, merged with copies of it."""
        name = self.machine
        pages = [page for page in self.pages().values() if page.machine == name]
        awake = max((page.awake for page in pages), default="")
        return Page(name, awake, log_entries.merge_entries(*(page.entries for page in pages)))

    def others(self) -> list[Page]:
        """The pages of other machines."""
        name = self.machine
        return [page for page in self.pages().values() if page.machine != name]

    def everything(self) -> Entries:
        """The entries of all pages."""
        return log_entries.merge_entries(*(page.entries for page in self.pages().values()))

    def about_items(self) -> Entries:
        """The answers and notifications on all pages, which are read often."""
        self.pages()
        return self._about_items

    def forget_stats(self) -> None:
        """Read all pages again next time."""
        self._read_at = {}

    def _paths(self) -> list[str]:
        full = f"{self._vault}/{self.folder}"
        try:
            names = [] if os.path.islink(full) else sorted(os.listdir(full))
        except OSError:
            names = []
        # Files that sync programs are still writing have a leading dot, or another ending.
        pages = [name for name in names if name.endswith(".md") and not name.startswith((".", "~"))]
        return [f"{self.folder}/{name}" for name in pages[:_MOST_PAGES]]

    def _read(self, path: str, latest: str) -> Page | None:
        return log_entries.read(files.read(self._vault, path, _LONGEST).text, latest)

    # --- Writing

    def publish(
        self, entries: Entries, old: AbstractSet[Key] = frozenset(), awake: str = ""
    ) -> None:
        """Write this machine's page if it lacks a wanted entry or has an `old` one; for mere reads only now and then.
        Raises VaultmemError if it cannot be written."""
        name, page_path, others = self.machine, self.path, self.others()
        of_others = [page.entries for page in others]
        is_alone = not any(page.machine for page in others)

        def compose(now: Page) -> Page:
            held = {
                key: entry
                for key, entry in now.entries.items()
                if key not in old and log_entries.machine_of(entry) in (name, log_entries.BEFORE)
            }
            mine = log_entries.own_entries(
                log_entries.merge_entries(entries, held), held, of_others
            )
            since = now.awake if is_alone else max(now.awake, awake)
            return Page(name, since, _newest(mine))

        there = self.pages().get(page_path, Page())
        new = compose(self.own())
        if new != there and self._is_time(new, there, is_alone=is_alone):
            self._write(compose)
            self.forget_stats()

    def _is_time(self, new: Page, there: Page, *, is_alone: bool) -> bool:
        """Whether the changes are worth a write now: reads alone are, once a day while it is the only machine.
        Written contents are announced at once, or other machines would take them for the person's."""
        changed = [entry for _, entry in new.entries.items() ^ there.entries.items()]
        if new.awake != there.awake or not all(
            isinstance(entry, Reads | Written) for entry in changed
        ):
            return not (
                not there.machine and {entry.id for entry in changed} <= {log_entries.BASELINE}
            )
        if not is_alone and any(isinstance(entry, Written) for entry in changed):
            return True
        now, stat = clock.seconds(), self._stamp(self.path)
        if stat is None:
            return any(entry.at < stamp(now - ALONE) for entry in changed)
        return bool(changed) and abs(now - stat[2] / 1e9) >= (ALONE if is_alone else TOGETHER)

    def _write(self, compose: Callable[[Page], Page]) -> None:
        full = f"{self._vault}/{self.path}"
        if os.path.lexists(f"{os.path.dirname(full)}/.{os.path.basename(full)}.icloud"):
            raise VaultmemError(
                f"{self.path} is in iCloud and not on this machine; download it, and answers go to your other machines"
            )
        refuse_links(self._vault, self.path)
        if os.path.isfile(full) and self._read(self.path, "") is None:
            conflicts.archive_file(self._vault, self.path, self._memories)  # whatever the error

        def new_bytes(data: bytes | None) -> bytes:
            page = self.own() if data is None else log_entries.read(files.decode(data)[0])
            return log_entries.render(compose(page or Page()), self._style).encode()

        write.put(self._vault, self.path, new_bytes)

    def put_copies_away(self) -> list[Page]:
        """Remove copies of this machine's page, whose entries are elsewhere. Copies changed since they were read are
        archived, and returned."""
        late, name, page_path = [], self.machine, self.path
        pages = dict(self.pages())  # as before the first copy is removed
        for path in self._paths():
            page = pages.get(path)
            is_copy = page is not None and page.machine == name
            if path != page_path and (is_copy or conflict_original(path) == page_path):
                target = conflicts.archive_file(self._vault, path, self._memories)
                read_last = self._read(target, "")
                if page is not None and read_last == page:
                    with contextlib.suppress(OSError):  # then it stays in the archive
                        os.unlink(f"{self._vault}/{target}")
                else:
                    late.append(read_last or Page())
                self.forget_stats()
        return late


def _newest(entries: Entries) -> Entries:
    """Without the oldest entries of kinds that a machine writes often."""
    dropped: set[Key] = set()
    for kind, most in ((Reads, _MOST_READS), (Written, MOST_WRITTEN)):
        some = sorted(
            (entry for entry in entries.values() if isinstance(entry, kind)), key=attrgetter("at")
        )
        dropped |= {log_entries.key_of_entry(entry) for entry in some[:-most]}
    return {key: entry for key, entry in entries.items() if key not in dropped}


# The same entries in the ledger, where a machine keeps them whatever happens to the pages.

_MOST_NUMBER = 999_999


def machine_name(ledger: Ledger) -> str:
    """This machine's name in the vault of a ledger: the computer's and six digits, created on first use. It is in
    the ledger because reads there are counted under it: they are lost together, and a restored ledger gets
    another name."""
    if names := ledger.rows("SELECT name FROM machine", _name):
        return names[0]
    host = re.sub(r"[^a-z0-9]+", "-", os.uname().nodename.partition(".")[0].lower()).strip("-")
    name = f"{host[:24].strip('-') or 'machine'}-{os.urandom(3).hex()}"
    with ledger.writing(clock.seconds()) as db:
        db.execute("INSERT OR IGNORE INTO machine VALUES (1, ?)", (name,))
        return _name(db.execute("SELECT name FROM machine").fetchone())  # of the faster process


def _name(row: tuple[object, ...]) -> str:
    return str(row[0])


def entries_in(ledger: Ledger, machine: str) -> Entries:
    """All known entries of this machine and of no machine; other machines report their own reads."""
    return log_entries.merge_entries(
        answers_in(ledger), log_entries.collect(_shared_entries(ledger, machine))
    )


def answers_in(ledger: Ledger) -> Entries:
    """Answers and notifications, which are needed at every look."""
    answers = ledger.rows(
        "SELECT id, state, at, who, until, text FROM answers",
        lambda row: log_entries.plain(Answer(*map(str, row))),
    )
    notified = ledger.rows(
        "SELECT id, at, times, moment FROM told",
        lambda row: Notified(str(row[0]), str(row[1]), int(str(row[2])), str(row[3])),
    )
    return log_entries.collect([*answers, *notified])


def _shared_entries(ledger: Ledger, machine: str) -> list[Entry]:
    names = {HERE: machine, EARLIER: log_entries.BEFORE}
    entries: list[Entry] = [
        Reads(share.id, names[share.machine], min(share.number, _MOST_NUMBER), stamp(share.last))
        for share in reads.own_shares(ledger)
    ]
    entries += [
        Written(content.id, machine, stamp(content.at), log_entries.plain_name(content.by))
        for content in reads.written_contents(ledger)
    ]
    entries += [log_entries.Reinforced(id_, at) for id_, at in reads.reinforced_at(ledger).items()]
    return [entry for entry in entries if log_entries.is_writable(entry)]


def absorb(ledger: Ledger, heard: Entries, machine: str, now: float) -> None:
    """Store entries of pages that the ledger lacks or has differently."""
    add_answers(ledger, newer(heard, answers_in(ledger)), now)
    collected = log_entries.collect(_shared_entries(ledger, machine))
    fresh = newer(heard, collected)
    reinforced = log_entries.of_kind(fresh, log_entries.Reinforced).values()
    if moments := {entry.id: entry.at for entry in reinforced}:
        reads.reinforce(ledger, moments, now)
    held = {(share.id, share.machine): share.number for share in reads.shares(ledger)}
    names = {machine: HERE, log_entries.BEFORE: EARLIER}
    heard_of = [
        Share(
            entry.id,
            names.get(entry.machine, entry.machine),
            entry.number,
            seconds(entry.at) or 0.0,
        )
        for entry in heard.values()
        if isinstance(entry, Reads)
    ]
    if more := [
        entry for entry in heard_of if entry.number > held.get((entry.id, entry.machine), 0)
    ]:
        reads.take_shares(ledger, more, now)


def newer(heard: Entries, current: Entries) -> Entries:
    """The entries of other machines that are greater than the current ones."""
    rank = log_entries.rank
    return {
        key: entry
        for key, entry in heard.items()
        if key not in current or rank(current[key]) < rank(entry)
    }


def add_answers(ledger: Ledger, new: Entries, now: float) -> None:
    """Store answers and notifications."""
    answers, notified = (
        list(log_entries.of_kind(new, Answer).values()),
        list(log_entries.of_kind(new, Notified).values()),
    )
    if answers or notified:
        with ledger.writing(now) as db:
            db.executemany("INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?, ?, ?)", answers)
            db.executemany("INSERT OR REPLACE INTO told VALUES (?, ?, ?, ?)", notified)


def forget_answers(ledger: Ledger, old: AbstractSet[Key], now: float) -> None:
    """Drop answers and notifications."""
    with ledger.writing(now) as db:
        for table, kind in (("answers", Answer.__name__), ("told", Notified.__name__)):
            ids = [(id_,) for name, id_, _ in old if name == kind]
            db.executemany(f"DELETE FROM {table} WHERE id = ?", ids)  # noqa: S608 - own names
