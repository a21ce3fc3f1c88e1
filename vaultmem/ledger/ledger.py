"""The ledger: small facts that the notes do not contain and a rebuild must not lose: job runs, reads of memories
(reads), a person's answers (reads, pending.record), notifications, first sightings of time expressions, and ingested
texts (here).

<state>/ledger.db, one SQLite file without a write-ahead log, so that it can be read even when nothing can be written.
It is opened for each query, so that threads share no connection and a deleted file is created again; the rows of a
small table are queried again only after a change. Losing it costs no more than a job that runs once too often.
"""

from __future__ import annotations

import math
import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager

from vaultmem import now as clock
from vaultmem.errors import DamagedError, StateError, UnconfirmedError, VaultmemError
from vaultmem.index.catalog import as_state_error
from vaultmem.light import TYPE_CHECKING, NamedTuple, allocate_lock
from vaultmem.paths import keep_private, make_private
from vaultmem.progress import logger

if TYPE_CHECKING:
    from typing import TypeVar

    T = TypeVar("T")
log = logger("vaultmem.agent.jobs")

CUT_SHORT = "did not end: vaultmem or the computer was stopped"
_SCHEMA = """
CREATE TABLE IF NOT EXISTS runs (name TEXT PRIMARY KEY, seen REAL NOT NULL, waiting REAL, last_run REAL,
    ok INTEGER, result TEXT, seconds REAL, last_ok REAL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS notices (at REAL NOT NULL, said TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS reads (id TEXT PRIMARY KEY, count INTEGER NOT NULL, last REAL NOT NULL,
    times TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS seen (id TEXT PRIMARY KEY, path TEXT NOT NULL, hash TEXT NOT NULL,
    category TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS findings (kind TEXT NOT NULL, subject TEXT NOT NULL, fields TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS undone (id TEXT PRIMARY KEY, path TEXT NOT NULL, hash TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS answers (id TEXT PRIMARY KEY, state TEXT NOT NULL, at TEXT NOT NULL, who TEXT NOT NULL,
    until TEXT NOT NULL, text TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS told (id TEXT PRIMARY KEY, at TEXT NOT NULL, times INTEGER NOT NULL,
    moment TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS met (id TEXT PRIMARY KEY, day TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS taken (hash TEXT PRIMARY KEY, at REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS written (id TEXT PRIMARY KEY, at REAL NOT NULL, by TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS machine (one INTEGER PRIMARY KEY CHECK (one = 1), name TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS counted (id TEXT NOT NULL, machine TEXT NOT NULL, number INTEGER NOT NULL,
    last REAL NOT NULL, PRIMARY KEY (id, machine)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS recalls (id TEXT NOT NULL, by TEXT NOT NULL, day TEXT NOT NULL, times INTEGER NOT NULL,
    PRIMARY KEY (id, by, day)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS rules (kind TEXT PRIMARY KEY, says TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS reinforced (id TEXT PRIMARY KEY, at TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS proposals (id TEXT PRIMARY KEY, at REAL NOT NULL, state TEXT NOT NULL,
    fields TEXT NOT NULL) WITHOUT ROWID;
"""
MAX_NOTICE = 500  # characters
MOST_KNOWN = 5_000  # rows of a table that are kept


class Run(NamedTuple):
    """The last run of a job. Times are seconds since the epoch."""

    name: str
    seen: float  # when the job was first planned, from which a job that never ran is counted
    waiting: float | None = None  # since when it has been due but told to wait
    last_run: float | None = None
    ok: bool | None = None  # None: it never ran, or waits for a person's confirmation
    result: str | None = None
    seconds: float | None = None
    last_ok: float | None = None

    @property
    def counted_from(self) -> float:
        """The moment from which the next run is counted."""
        return self.seen if self.last_run is None else self.last_run

    def at_most(self, now: float) -> Run:
        """The run with future times, as after the clock was set back, replaced by now."""
        times = {
            name: min(at, now)
            for name in ("seen", "waiting", "last_run", "last_ok")
            if (at := getattr(self, name)) is not None
        }
        return self._replace(**times)


_FIELDS = ", ".join(Run._fields)


class Ledger:
    """The ledger of one vault. Any number of processes may read; writers wait for each other.

    A damaged file is set aside and replaced by an empty one; notices() records it. Raises StateError if the disk is
    full or the file cannot be used.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._known: dict[str, tuple[object, list[tuple[object, ...]]]] = {}  # by question
        self._intact: object = None  # the version that our last transaction left

    def runs(self) -> dict[str, Run]:
        """The last runs by job name. Creates no file."""
        runs = self.rows(f"SELECT {_FIELDS} FROM runs", _run)  # noqa: S608 - own constants
        return {run.name: run for run in runs}

    def notices(self) -> list[tuple[float, str]]:
        """Notices about the ledger itself, as (when, what)."""
        return self.rows(
            "SELECT at, said FROM notices", lambda row: (float(str(row[0])), str(row[1]))
        )

    def write_runs(self, runs: Iterable[Run], now: float) -> None:
        """Store the state of jobs."""
        statement = f"INSERT OR REPLACE INTO runs ({_FIELDS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"  # noqa: S608 - own constants
        self.put(statement, runs, now)

    def put(self, statement: str, rows: Iterable[tuple[object, ...]], now: float) -> None:
        """Execute a statement for each of the rows, if any, in one transaction."""
        if every := [*rows]:
            with self.writing(now) as db:
                db.executemany(statement, every)

    def rows(
        self, question: str, read: Callable[[tuple[object, ...]], T], values: tuple[str, ...] = ()
    ) -> list[T]:
        """The rows of a query; none if the file predates the table or a column. Creates no file."""
        if not os.path.exists(self.path):
            return []
        version = self.version()  # before the query: it may see a later transaction
        known, rows = self._known.get(question, (None, []))
        try:
            if version is None or version != known:
                rows = self._query(question, values)
            result = [read(row) for row in rows]
        except (DamagedError, TypeError, ValueError):
            return []  # the next writer replaces the file; reading changes nothing
        if not values:
            self._known[question] = (version, rows) if len(rows) <= MOST_KNOWN else (None, [])
        return result

    def _query(self, question: str, values: tuple[str, ...]) -> list[tuple[object, ...]]:
        with self._open() as db:
            try:
                return db.execute(question, values).fetchall()
            except sqlite3.OperationalError as error:
                if "no such" not in str(error):
                    raise
                return []

    def version(self) -> tuple[int, int, bytes] | None:
        """A value that every transaction changes, from the SQLite file header; None without a file."""
        try:
            with open(self.path, "rb") as file:
                status = os.fstat(file.fileno())
                return status.st_ino, status.st_mtime_ns, os.pread(file.fileno(), 4, 24)
        except OSError:
            return None

    @contextmanager
    def writing(self, now: float) -> Iterator[sqlite3.Connection]:
        """A transaction, in a new file if the existing one is damaged."""
        version = self.version()
        if version is None or version != self._intact:
            self._prepare(now)
        with self._open() as db, db:
            db.execute("BEGIN IMMEDIATE")
            yield db
        self._intact = self.version()

    def _prepare(self, now: float) -> None:
        make_private(os.path.dirname(self.path))
        try:
            self._complete()
        except DamagedError as error:
            self._put_aside()
            self._complete()
            notice = f"the list of job runs was damaged and starts over ({error})"
            with self._open() as db, db:
                db.execute("INSERT INTO notices VALUES (?, ?)", (now, notice[:MAX_NOTICE]))

    def _complete(self) -> None:
        """Make the file and its tables, where they are missing; check the runs."""
        keep_private(self.path)
        with self._open() as db:
            db.executescript(_SCHEMA)
            try:
                for row in db.execute(f"SELECT {_FIELDS} FROM runs").fetchall():  # noqa: S608 - own constants
                    _run(row)
                db.execute("SELECT at, said FROM notices LIMIT 1")
            except sqlite3.OperationalError as error:
                if "no such" not in str(error):
                    raise
                raise DamagedError(f"{self.path} has other tables: {error}") from error

    def _put_aside(self) -> None:
        """Keep the last damaged file for inspection."""
        try:
            os.replace(self.path, f"{self.path}.damaged")
            for ending in ("-journal", "-wal", "-shm"):
                if os.path.exists(self.path + ending):
                    os.remove(self.path + ending)
        except FileNotFoundError:
            return  # another process was faster
        except OSError as error:
            raise self._unusable(error.strerror or str(error)) from error

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """The open file. FULL: a run that has begun is on disk before its job starts."""
        try:
            with closing(self._connect()) as db:
                yield db
        except sqlite3.DatabaseError as error:
            known = as_state_error(error)
            if isinstance(known, DamagedError):
                raise DamagedError(f"{self.path} is damaged: {error}") from error
            raise (self._unusable(str(error)) if known else error) from error
        except (TypeError, ValueError) as error:
            raise DamagedError(f"{self.path} holds what does not belong there: {error}") from error

    def _connect(self, tries: int = 3) -> sqlite3.Connection:
        db = sqlite3.connect(self.path, timeout=30, isolation_level=None)
        try:
            db.execute("PRAGMA synchronous = FULL")
        except sqlite3.OperationalError as error:
            db.close()
            if tries > 1 and error.sqlite_errorname.startswith("SQLITE_IOERR"):
                # Another process's journal disappeared while SQLite was reading it.
                return self._connect(tries - 1)
            raise
        return db

    def _unusable(self, why: str) -> StateError:
        return StateError(
            f"{self.path} cannot be used ({why}): free some space, or see that you may write there"
        )


def _run(row: tuple[object, ...]) -> Run:
    """A row as it was written; raises ValueError or TypeError if it was not written by us."""
    name, seen, waiting, last_run, ok, result, seconds, last_ok = row
    times = [
        None if at is None else float(str(at)) for at in (seen, waiting, last_run, seconds, last_ok)
    ]
    if times[0] is None or not all(math.isfinite(at) for at in times if at is not None):
        raise ValueError("a job without a time")
    return Run(
        str(name), times[0], times[1], times[2], None if ok is None else bool(ok),
        None if result is None else str(result), times[3], times[4],
    )  # fmt: skip


# The runs of jobs: those in the ledger, and those that could not be written to it.

MAX_RESULT = 500  # characters of a result worth keeping


class Runs:
    """The last run of each job, for one process. Works without the ledger when the disk is full."""

    def __init__(self, ledger: Ledger, now: Callable[[], float] = clock.seconds) -> None:
        self._ledger = ledger
        self._now = now
        self._known: dict[str, Run] = {}
        self._lock = allocate_lock()

    def remember(self, names: Iterable[str]) -> None:
        """Load the runs in the ledger, and add jobs that it does not have yet."""
        listed, now = list(names), self._now()
        try:
            written, is_read = self._ledger.runs(), True
        except StateError:
            written, is_read = {}, False
        with self._lock:
            for name in listed:
                new = Run(name, now)
                both = (self._known.get(name, new), written.get(name, new))
                latest = max(both, key=lambda run: (run.last_run or 0.0, -run.seen))
                self._known[name] = latest.at_most(now)
            changed = [run for name in listed if (run := self._known[name]) != written.get(name)]
            if is_read and changed:
                self._write(changed, "the runs of jobs")

    def runs(self) -> dict[str, Run]:
        """The last runs by job name."""
        with self._lock:
            return dict(self._known)

    def of(self, name: str) -> Run:
        """The last run of a job."""
        with self._lock:
            return self._known.setdefault(name, Run(name, self._now()))

    def waiting(self, name: str) -> float:
        """For how many seconds a job has been waiting, counted from the first call."""
        now, run = self._now(), self.of(name)
        if run.waiting is not None:
            return now - run.waiting
        self._keep(run._replace(waiting=now), f"that {name} waits")
        return 0.0

    def carry_out(self, name: str, work: Callable[[], str]) -> Run:
        """Run a job, recording its start beforehand and its end afterwards: a job that kills its process has had its
        turn and failed."""
        started, before, ticks = self._now(), self.of(name), time.monotonic()
        begun = before._replace(
            waiting=None, last_run=started, ok=False, result=CUT_SHORT, seconds=None
        )
        # A job whose start cannot be recorded is not run; it still had its turn, or it would be due again at once.
        problem = self._write([begun], f"that {name} starts")
        ok, result = (False, problem) if problem else _outcome(name, work)
        took, last_ok = time.monotonic() - ticks, started if ok else before.last_ok
        run = begun._replace(ok=ok, result=_plain(result), seconds=took, last_ok=last_ok)
        self._keep(run, f"how {name} ended")
        log.info("%s: %s", name, run.result)
        return run

    def _keep(self, run: Run, what: str) -> None:
        with self._lock:
            self._known[run.name] = run
            self._write([run], what)

    def _write(self, runs: Iterable[Run], what: str) -> str:
        """Store it. Returns the error, or ""."""
        try:
            self._ledger.write_runs(runs, self._now())
        except StateError as error:
            log.warning("%s cannot be written down: %s", what, error)
            return str(error)
        return ""


def _outcome(name: str, work: Callable[[], str]) -> tuple[bool | None, str]:
    try:
        return True, work()
    except UnconfirmedError as error:
        return None, str(error)
    except VaultmemError as error:
        return False, str(error)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        log.error("the job %s failed", name, exc_info=True)
        return False, f"{type(error).__name__} {error}".strip()


def _plain(result: str) -> str:
    """One line that every database accepts, whatever file names it contains."""
    return " ".join(result.split())[:MAX_RESULT].encode("utf-8", "replace").decode()


# Texts ingested from other programs, by hash: a part of the ledger.


def taken_hashes(ledger: Ledger) -> set[str]:
    """The hashes of all texts ever examined."""
    return set(ledger.rows("SELECT hash FROM taken", lambda row: str(row[0])))


def take(ledger: Ledger, hashes: Iterable[str], now: float) -> None:
    """Record texts as examined."""
    rows = ((hash_, now) for hash_ in hashes)
    ledger.put("INSERT OR IGNORE INTO taken VALUES (?, ?)", rows, now)
