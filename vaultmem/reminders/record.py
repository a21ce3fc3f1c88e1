"""The record of answers and of what was notified: in the ledger, where it is safe, and in answers.md of the memory
folder, where other machines see it. Both are read as one, and of two entries for one item the later counts."""

from __future__ import annotations

import logging
import os
import re
import threading
import time
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple, TypeVar

from vaultmem import now as clock
from vaultmem.errors import VaultmemError
from vaultmem.memories.item_answers import DONE, DROPPED, OPEN, SNOOZED, Answer
from vaultmem.memories.ledger import Ledger
from vaultmem.reminders.items import MARKS, OUTLINE
from vaultmem.text.sanitize import one_line
from vaultmem.text.times import seconds, stamp
from vaultmem.text.values import lazy
from vaultmem.vault import files, page_copies, write
from vaultmem.vault.moves import refuse_links
from vaultmem.vault.places import GENERATED

log = logging.getLogger("vaultmem.reminders")

NAME = GENERATED[2]
BASELINE = "vm-firstlook"  # notified of nothing: marks that a first look was taken
# How long an answer to what is gone stays, in seconds: another machine may not know of it.
KEEP_FOR = 60 * 86_400.0
_LONGEST = 64_000_000  # bytes that are read
_TICK_NS = 20_000_000  # a file may be written twice in one tick of the file system's clock


class Notified(NamedTuple):
    """That the desktop has notified of an item."""

    id: str
    at: str  # when last, UTC
    times: int = 1
    moment: str = ""  # the moment it was for: Due.at, or the end of a snooze


T = TypeVar("T", Answer, Notified)


class Entries(NamedTuple):
    """Answers and notifications, by the ids of the items."""

    answers: dict[str, Answer]
    notified: dict[str, Notified]

    def lacking(self, other: Entries) -> Entries:
        """Those that the other does not have, or has otherwise."""
        return Entries(
            {id_: one for id_, one in self.answers.items() if other.answers.get(id_) != one},
            {id_: one for id_, one in self.notified.items() if other.notified.get(id_) != one},
        )

    def without(self, ids: set[str]) -> Entries:
        """All but those of these items."""
        return Entries(
            {id_: one for id_, one in self.answers.items() if id_ not in ids},
            {id_: one for id_, one in self.notified.items() if id_ not in ids},
        )


def merge(*entries: Entries) -> Entries:
    """All of them: any two machines can put them together in any order and agree."""
    return Entries(
        union(*(each.answers for each in entries)), union(*(each.notified for each in entries))
    )


def union(*sets: Mapping[str, T]) -> dict[str, T]:
    """All by id; of two for one item the later, of two in the same second the greater."""
    latest: dict[str, T] = {}
    for one in (one for each in sets for one in each.values()):
        before = latest.get(one.id)
        if before is None or (before.at, before) < (one.at, one):
            latest[one.id] = one
    return latest


# --- The page answers.md: one line each, so that all sync programs and merges can put two pages together

TITLE = "Answers"
EXPLAINED = (
    "What was answered to the items of pending.md, and what the desktop has told of, for all machines that share "
    "this vault. vaultmem writes this page; to take an answer back: vaultmem done ID --undo"
)
_MOST_NAME = 40  # characters
_REMEMBERED = 4_096  # answers are looked at again and again
_ID = r"[ \t]*[-*+] (?P<id>vm-[a-z2-7]{6,})"
_AT = r"(?P<at>2[01]\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ)"
_TIME = r"\d{4}-\d\d-\d\d(?:T\d\d:\d\d)?"
_ANSWER = lazy(
    rf"{_ID} (?P<state>{OPEN}|{DONE}|{DROPPED}|{SNOOZED}) {_AT}(?: until (?P<until>{_TIME}))?"
    r"(?: by (?P<by>[^:]+?)(?:: (?P<text>.*))?)?[ \t]*"
)
_NOTIFIED = lazy(rf"{_ID} told {_AT} (?P<times>\d{{1,6}})x(?: for (?P<moment>{_TIME}))?[ \t]*")
_MARK = lazy(r"[ \t]*generated::?[ \t]*[\"']?vaultmem[\"']?[ \t]*", re.IGNORECASE)
_OURS = lazy(rf"[ \t]*(?:[-*+] )?(?:#+ )?(?:{TITLE}|{re.escape(EXPLAINED)}|---)[ \t]*|")


@lru_cache(_REMEMBERED)
def plain(answer: Answer) -> Answer:
    """The answer as its line says it: what both the page and the ledger keep."""
    name = one_line(answer.by.replace(":", " "), _MOST_NAME)
    name = name or ("somebody" if answer.text else "")
    until = answer.until if re.fullmatch(_TIME, answer.until) else ""
    return answer._replace(by=name, until=until, text=one_line(answer.text))


def render(entries: Entries, style: str) -> str:
    """The page; the same entries give the same bytes."""
    lines = [
        *map(_answer_line, entries.answers.values()),
        *map(_notified_line, entries.notified.values()),
    ]
    if style == OUTLINE:
        head = [MARKS[1], "", f"- {EXPLAINED}"]
    else:
        head = ["---", MARKS[0], "---", "", f"# {TITLE}", "", EXPLAINED, ""]
    return "".join(f"{line}\n" for line in (*head, *sorted(lines)))


def _answer_line(answer: Answer) -> str:
    until = f" until {answer.until}" if answer.until else ""
    text = f": {answer.text}" if answer.text else ""
    by = f" by {answer.by}" if answer.by else ""
    return f"- {answer.id} {answer.state} {answer.at}{until}{by}{text}"


def _notified_line(one: Notified) -> str:
    moment = f" for {one.moment}" if re.fullmatch(_TIME, one.moment) else ""
    return f"- {one.id} told {one.at} {one.times}x{moment}"


def read(text: str) -> Entries | None:
    """What can be read of a page, of two lines for one item the later; a merge may have left both. None for a note of
    a person under this name."""
    answers: dict[str, Answer] = {}
    notified: dict[str, Notified] = {}
    marked = odd = False
    for line in text.replace("\ufffd", "").split("\n"):
        line = line.rstrip("\r")  # noqa: PLW2901 - of Windows
        entry = _entry(line)
        if isinstance(entry, Answer):
            answers |= union({entry.id: answers.get(entry.id, entry)}, {entry.id: entry})
        elif isinstance(entry, Notified):
            notified |= union({entry.id: notified.get(entry.id, entry)}, {entry.id: entry})
        else:
            marked = marked or bool(_MARK.fullmatch(line))
            odd = odd or not _OURS.fullmatch(line)
    return Entries(answers, notified) if marked or not odd else None


def _entry(line: str) -> Answer | Notified | None:
    match = _ANSWER.fullmatch(line) or _NOTIFIED.fullmatch(line)
    if not match or seconds(match["at"]) is None:
        return None
    if "times" in match.groupdict():
        return Notified(match["id"], match["at"], int(match["times"]), match["moment"] or "")
    return plain(Answer(**{name: each or "" for name, each in match.groupdict().items()}))


def _is_writable(one: Answer | Notified) -> bool:
    """Whether a page can hold it."""
    return (
        _entry(_notified_line(one) if isinstance(one, Notified) else _answer_line(one)) is not None
    )


# --- The record


class Record:
    """The record of one vault. Any thread may ask.

    Whatever becomes of the page, what the ledger has stays; `problem` says why the page could not be used.
    """

    def __init__(self, vault: str, folder: str, ledger: Ledger, style: str) -> None:
        self.problem = ""
        self.ledger_only = False  # the vault may not be there
        self._turn = threading.RLock()
        self._vault, self._folder, self._path = vault, folder, f"{folder}/{NAME}"
        self._ledger, self._style = ledger, style
        self._stats: object = None
        self._on_page = self._on_pages = Entries({}, {})  # without conflict copies, and with them

    def answers(self) -> dict[str, Answer]:
        """All answers by the ids of the items."""
        return self._all().answers

    def notified(self) -> dict[str, Notified]:
        """All that the desktop of any machine has notified of, by the ids of the items."""
        return self._all().notified

    def add(self, answers: Iterable[Answer], notified: Iterable[Notified], now: float) -> None:
        """Keep answers and what was notified: in the ledger first, which may raise StateError, then on the page."""
        with self._turn:
            before = self._all().answers
            later = [_later_than(before.get(each.id), plain(each)) for each in answers]
            new = Entries(
                {each.id: each for each in later if _is_writable(each)},
                {each.id: each for each in notified if _is_writable(each)},
            )
            if new.answers or new.notified:
                self._add_to_ledger(new, now)
                self._publish(self._all(), set())

    def settle(self, current: set[str] | None, now: float) -> list[str]:
        """Let the ledger know what the page says, and the page what the ledger says; of items that are not `current`,
        if it is known which are, what is old is forgotten. What a person should know of the page."""
        with self._turn:
            in_ledger, every = self._in_ledger(), self._all()
            old = set() if current is None else _outdated(every, now) - current
            current_ones = every.without(old)
            self._add_to_ledger(current_ones.lacking(in_ledger), now)
            if not old.isdisjoint({*in_ledger.answers, *in_ledger.notified}):
                self._forget(old, now)
            self._publish(current_ones, old)
            self._put_copies_away()
            return [self.problem] if self.problem else []

    def _all(self) -> Entries:
        with self._turn:
            self._read_pages()
            return merge(self._in_ledger(), self._on_pages)

    # --- The ledger

    def _in_ledger(self) -> Entries:
        answers = self._ledger.rows(
            "SELECT id, state, at, who, until, text FROM answers",
            lambda row: plain(Answer(*map(str, row))),
        )
        notified = self._ledger.rows(
            "SELECT id, at, times, moment FROM told",
            lambda row: Notified(str(row[0]), str(row[1]), int(str(row[2])), str(row[3])),
        )
        return Entries({each.id: each for each in answers}, {each.id: each for each in notified})

    def _add_to_ledger(self, new: Entries, now: float) -> None:
        if not (new.answers or new.notified):
            return
        with self._ledger.writing(now) as db:
            values = list(new.answers.values()), list(new.notified.values())
            db.executemany("INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?, ?, ?)", values[0])
            db.executemany("INSERT OR REPLACE INTO told VALUES (?, ?, ?, ?)", values[1])

    def _forget(self, ids: set[str], now: float) -> None:
        with self._ledger.writing(now) as db:
            for table in ("answers", "told"):
                db.executemany(f"DELETE FROM {table} WHERE id = ?", [(id_,) for id_ in ids])  # noqa: S608 - own names

    # --- The page

    def _read_pages(self) -> None:
        """Read the page and its conflict copies again when one of them has changed."""
        paths = [self._path, *page_copies.named_after(self._vault, self._path)]
        stats = [_stat(f"{self._vault}/{path}") for path in paths]
        if self._stats is not None and stats == self._stats:
            return
        pages = [self._read(path) for path in paths]
        if pages[0] is None:
            self.problem = self._not_ours()
        self._on_page = pages[0] or Entries({}, {})
        self._on_pages = merge(*(page for page in pages if page is not None))
        recent = time.time_ns() - _TICK_NS
        self._stats = stats if all(each is None or each[1] < recent for each in stats) else None

    def _read(self, path: str) -> Entries | None:
        if not os.path.lexists(f"{self._vault}/{path}"):
            return Entries({}, {})
        return read(files.read(self._vault, path, _LONGEST).text)

    def _not_ours(self) -> str:
        return (
            f"{self._path} is a note of yours, so other machines do not hear of answers; "
            "give it another name"
        )

    def _publish(self, wanted: Entries, old: set[str]) -> None:
        """Write the page if it lacks something, or has what is `old`."""
        if self.ledger_only:
            return
        self._read_pages()
        lacking = wanted.lacking(self._on_page)
        is_stale = not old.isdisjoint({*self._on_page.answers, *self._on_page.notified})
        problem = ""
        if lacking.answers or lacking.notified or is_stale:
            try:
                self._write(wanted, old)
            except VaultmemError as error:
                problem = str(error)
            self._stats = None
        if problem and problem != self.problem:
            log.warning("%s", problem)
        self.problem = problem

    def _write(self, wanted: Entries, old: set[str]) -> None:
        refuse_links(self._vault, self._path)
        full = f"{self._vault}/{self._path}"
        if not os.path.lexists(full):
            if wanted.answers or wanted.notified.keys() - {
                BASELINE
            }:  # else there is nothing to say
                data = render(wanted, self._style).encode()
                write.create(self._vault, self._path, data)
            return
        if not os.path.isfile(full):
            raise VaultmemError(
                f"{self._path} is no file, so other machines do not hear of answers; move it away"
            )

        def new_bytes(data: bytes) -> bytes:
            newest = read(files.decode(data)[0])
            if newest is None:
                raise VaultmemError(self._not_ours())
            return render(merge(wanted, newest.without(old)), self._style).encode()

        write.change(self._vault, self._path, new_bytes, part=True)

    def _put_copies_away(self) -> None:
        """Conflict copies that say nothing new any more go to the archive."""
        if self.ledger_only or self._read(self._path) is None:
            return
        for path in page_copies.named_after(self._vault, self._path):
            if self._read(path) is None:
                continue
            try:
                target = page_copies.put_away(self._vault, path, self._folder)
                if late := self._read(target):  # written while it was put away
                    new = merge(self._all(), late).lacking(self._all())
                    self._add_to_ledger(new, clock.seconds())
            except VaultmemError as error:
                self.problem = str(error)
            self._stats = None


def _stat(full: str) -> tuple[int, int, int] | None:
    try:
        stat = os.lstat(full)
    except OSError:
        return None
    return stat.st_size, stat.st_mtime_ns, stat.st_ino


def _later_than(known: Answer | None, answer: Answer) -> Answer:
    """The answer, later than what is known: it is newer, whatever the clock of another machine says."""
    if known is None or answer.at > known.at or answer == known:
        return answer
    last = seconds(known.at)
    return answer if last is None else answer._replace(at=stamp(last + 1))


def _outdated(entries: Entries, now: float) -> set[str]:
    """The items whose entries are all old."""
    oldest = stamp(max(now - KEEP_FOR, 0))
    every: list[Answer | Notified] = [*entries.answers.values(), *entries.notified.values()]
    return {one.id for one in every} - {one.id for one in every if one.at >= oldest}
