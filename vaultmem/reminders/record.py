"""The record of answers and of what was told: in the ledger, where it is safe, and in answers.md of the memory folder,
where other machines see it. Both are read as one, and of two words on one item the later counts."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Iterable, Mapping, Set
from datetime import UTC, datetime
from typing import NamedTuple, TypeVar

from vaultmem import now as clock
from vaultmem.errors import VaultmemError
from vaultmem.memories.ledger import Ledger
from vaultmem.reminders import answers as answer_lines
from vaultmem.reminders import answers as answered
from vaultmem.reminders import page_copies
from vaultmem.reminders.alarms import BASELINE
from vaultmem.reminders.answers import Answer, Said, Told, is_plain, plain, union
from vaultmem.text.times import seconds, stamp
from vaultmem.vault import files, write
from vaultmem.vault.moves import refuse_links
from vaultmem.vault.places import GENERATED

_T = TypeVar("_T")
log = logging.getLogger("vaultmem.reminders")

NAME = GENERATED[2]
KEPT = (
    60 * 86_400.0
)  # seconds that an answer to what is gone is kept: another machine may not know of it
_LONGEST = 64_000_000  # bytes that are read
_TICK_NS = 20_000_000  # a file may be written twice in one tick of the file system's clock


class _Sets(NamedTuple):
    answers: dict[str, Answer]
    told: dict[str, Told]


class Record:
    """The record of one vault. Any thread may ask.

    Whatever becomes of the page, what the ledger has stays; `trouble` says why the page could not be used.
    """

    def __init__(self, vault: str, folder: str, ledger: Ledger, style: str) -> None:
        self.trouble = ""
        self.is_held = False  # the vault may not be there: only the ledger is written
        self._turn = threading.RLock()
        self._vault, self._path = vault, f"{folder}/{NAME}"
        self._ledger, self._style = ledger, style
        self._seen: object = None
        self._said = self._alone = Said({}, {}, ours=True)  # with conflict copies, and without

    def answers(self) -> dict[str, Answer]:
        """All answers by the ids of the items."""
        with self._turn:
            return self._both().answers

    def told(self) -> dict[str, Told]:
        """All that the desktop of any machine has told of, by the ids of the items."""
        with self._turn:
            return self._both().told

    def add(self, answers: Iterable[Answer], told: Iterable[Told], now: float) -> None:
        """Keep answers and what was told: in the ledger first, which may raise StateError, then on the page."""
        with self._turn:
            before = self._both().answers
            later = [_after(plain(each), before.get(each.id)) for each in answers]
            given = {each.id: each for each in later if is_plain(each)}
            heard = {each.id: each for each in told if is_plain(each)}
            if given or heard:
                answered.add(self._ledger, given.values(), heard.values(), now)
                self._keep(self._both())

    def settle(self, current: set[str] | None, now: float) -> list[str]:
        """Let the ledger know what the page says, and the page what the ledger says; of items that are not `current`,
        if it is known which are, what is old is forgotten. What a person should know of the page."""
        with self._turn:
            self._settle(current, now)
            return [self.trouble] if self.trouble else []

    def _settle(self, current: set[str] | None, now: float) -> None:
        mine, said = self._of_ledger(), self._page()
        both = _Sets(union(mine.answers, said.answers), union(mine.told, said.told))
        kept = both if current is None else _recent(both, current, now)
        old = {*both.answers, *both.told} - {*kept.answers, *kept.told}
        fresh = _lacking(kept, mine)
        if fresh.answers or fresh.told:
            answered.add(self._ledger, fresh.answers.values(), fresh.told.values(), now)
        gone = (mine.answers.keys() | mine.told.keys()) - (kept.answers.keys() | kept.told.keys())
        if gone:
            answered.forget(self._ledger, gone, now)
        self._keep(kept, old)
        self._put_away()

    def _both(self) -> _Sets:
        mine, said = self._of_ledger(), self._page()
        return _Sets(union(mine.answers, said.answers), union(mine.told, said.told))

    def _of_ledger(self) -> _Sets:
        mine = (plain(each) for each in answered.answers(self._ledger).values())
        told = answered.told(self._ledger)
        return _Sets({each.id: each for each in mine}, told)

    # --- The page

    def _page(self) -> Said:
        """What the page and its conflict copies say, read again when one of them has changed."""
        paths = [self._path, *page_copies.named_after(self._vault, self._path)]
        seen = [_stat(f"{self._vault}/{path}") for path in paths]
        if self._seen is None or seen != self._seen:
            self._said = self._read(paths)
            recent = time.time_ns() - _TICK_NS
            still = all(stat is None or stat[1] < recent for stat in seen)
            self._seen = seen if still else None
        return self._said

    def _read(self, paths: list[str]) -> Said:
        read = [self._read_one(path) for path in paths]
        parts = [said for said in read if said.ours]
        self._alone = read[0]
        return Said(
            union(*(said.answers for said in parts)),
            union(*(said.told for said in parts)),
            read[0].ours,
        )

    def _read_one(self, path: str) -> Said:
        if not os.path.lexists(f"{self._vault}/{path}"):
            return Said({}, {}, ours=True)
        found = files.read(self._vault, path, _LONGEST)
        said = answer_lines.read(found.text.replace("\ufffd", ""))
        if said.ours or path != self._path:
            return said
        self.trouble = f"{path} is a note of yours, so other machines do not hear of answers; give it another name"
        return Said({}, {}, ours=False)

    def _keep(self, wanted: _Sets, old: Set[str] = frozenset()) -> None:
        """Write the page if it lacks something, or has what is `old`."""
        if self.is_held:
            return
        self._page()
        lacking = _lacking(wanted, self._alone)
        stale = not old.isdisjoint({*self._alone.answers, *self._alone.told})
        trouble = ""
        if lacking.answers or lacking.told or stale:
            try:
                self._write(wanted)
            except VaultmemError as error:
                trouble = str(error)
            self._seen = None
        if trouble and trouble != self.trouble:
            log.warning("%s", trouble)
        self.trouble = trouble

    def _write(self, wanted: _Sets) -> None:
        refuse_links(self._vault, self._path)
        full = f"{self._vault}/{self._path}"
        if not os.path.lexists(full):
            if not wanted.answers and wanted.told.keys() <= {BASELINE}:
                return  # nothing to say to anybody yet
            write.create(self._vault, self._path, self._bytes(wanted))
            return
        if not os.path.isfile(full):
            raise VaultmemError(
                f"{self._path} is no file, so other machines do not hear of answers; move it away"
            )

        def anew(found: bytes) -> bytes:
            there = answer_lines.read(files.decode(found)[0].replace("\ufffd", ""))
            if not there.ours:
                raise VaultmemError(
                    f"{self._path} is a note of yours, so other machines do not hear of answers; "
                    "give it another name"
                )
            newer = {name: each for name, each in there.answers.items() if name in wanted.answers}
            later = {name: each for name, each in there.told.items() if name in wanted.told}
            since = _lacking(_Sets(dict(there.answers), dict(there.told)), self._alone)
            answers = union(wanted.answers, newer, since.answers)
            return self._bytes(_Sets(answers, union(wanted.told, later, since.told)))

        write.change(self._vault, self._path, anew, part=True)

    def _bytes(self, wanted: _Sets) -> bytes:
        answers, told = wanted.answers.values(), wanted.told.values()
        return answer_lines.render(answers, told, self._style).encode()

    def _put_away(self) -> None:
        """Conflict copies that say nothing new any more go to the archive."""
        if self.is_held:
            return
        said = self._page()
        for path in page_copies.named_after(self._vault, self._path):
            if not said.ours or not self._read_one(path).ours:
                continue
            try:
                self._put_one_away(path)
            except VaultmemError as error:
                self.trouble = str(error)
            self._seen = None

    def _put_one_away(self, path: str) -> None:
        target = page_copies.put_away(self._vault, path, os.path.dirname(self._path))
        late = self._read_one(target)  # what came while it was put away
        fresh = _lacking(_Sets(dict(late.answers), dict(late.told)), self._both())
        if fresh.answers or fresh.told:
            mine = self._of_ledger()
            newer = union(mine.answers, fresh.answers), union(mine.told, fresh.told)
            answered.add(self._ledger, newer[0].values(), newer[1].values(), clock.seconds())


def _stat(full: str) -> tuple[int, int, int] | None:
    try:
        stat = os.lstat(full)
    except OSError:
        return None
    return stat.st_size, stat.st_mtime_ns, stat.st_ino


def _after(answer: Answer, known: Answer | None) -> Answer:
    """The answer, later than what is known: it was given later, whatever the clock of another machine says."""
    if known is None or answer.at > known.at:
        return answer
    if answer == known:
        return answer
    last = seconds(known.at)
    return answer if last is None else answer._replace(at=stamp(last + 1))


def _lacking(wanted: _Sets, said: Said | _Sets) -> _Sets:
    """What is wanted and not said, or said otherwise."""
    return _Sets(
        _other(wanted.answers, said.answers),
        _other(wanted.told, said.told),
    )


def _other(wanted: Mapping[str, _T], said: Mapping[str, _T]) -> dict[str, _T]:
    return {name: each for name, each in wanted.items() if said.get(name) != each}


def _recent(both: _Sets, current: set[str], now: float) -> _Sets:
    """Without what is old and waits no longer."""
    oldest = datetime.fromtimestamp(max(now - KEPT, 0), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    def stays(one: Answer | Told) -> bool:
        return one.id in current or one.at >= oldest

    return _Sets(
        {name: each for name, each in both.answers.items() if stays(each)},
        {name: each for name, each in both.told.items() if stays(each)},
    )
