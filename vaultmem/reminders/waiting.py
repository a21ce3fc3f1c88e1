"""What waits in one vault, put together: what is due, what was answered, what is to review; and the page of it."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from vaultmem.errors import StateError
from vaultmem.memories.model import EVERYBODY
from vaultmem.paths import make_private
from vaultmem.reminders import alarms, facts, learned, listing, pending_items, review
from vaultmem.reminders.answers import DONE, SNOOZED, Answer, closed, union
from vaultmem.reminders.due import Due
from vaultmem.reminders.finding import Finder
from vaultmem.reminders.listing import DAYS, NAME, Listed, stats, surroundings
from vaultmem.reminders.moved import Following
from vaultmem.reminders.page import Page
from vaultmem.reminders.pending_items import PRIVATE, Ack
from vaultmem.reminders.pending_page import WORDS, Item, ordered, shown_text
from vaultmem.reminders.record import Record
from vaultmem.reminders.telling import Teller
from vaultmem.text.sanitize import one_line, words
from vaultmem.text.times import stamp
from vaultmem.vault import files
from vaultmem.vault.files import SETTLED_NS
from vaultmem.vault.places import GENERATED, page_path

if TYPE_CHECKING:
    from vaultmem.config import Config
    from vaultmem.index.catalog import Catalog
    from vaultmem.index.state import State
    from vaultmem.memories.ledger import Ledger
    from vaultmem.reminders.listing import Fact, Row
    from vaultmem.vault.dialects import Rulebook


log = logging.getLogger("vaultmem.reminders")

FORGET_EVERY = 3600.0  # seconds
EACH = 1_000_000  # lines of a file, where nothing has to be put together
ROUNDS = 3  # what is answered on the page can bring something else onto it
YOU = "you"


class Looked(NamedTuple):
    """What a look at everything did."""

    written: bool  # whether the page was
    answered: int  # how many answers the page had
    troubles: list[str]


class Waiting:
    """What waits. Any thread may ask; who writes the page or tells the desktop is one at a time.

    `now` is always the clock on the wall, with its zone.
    """

    def __init__(self, state: State, config: Config, rules: Rulebook, ledger: Ledger) -> None:
        self.config = config
        self.vault = state.vault
        self.folder = config.text("memory_folder")
        self.path = page_path(self.folder, config.text("pending.path"))  # "" for no page
        self._state, self._rules, self._ledger = state, rules, ledger
        self.record = Record(
            self.vault, self.folder, ledger, rules.page_style(f"{self.folder}/answers.md")
        )
        self._finder = Finder(ledger, self.folder)
        self._following = Following(state.path("pending.dues"))
        self.unsettled = (
            True  # there may be answers that are not carried out: who knows what a kill has cut off
        )
        self._writing = threading.Lock()
        self._telling = threading.Lock()  # beside the other one: a desktop may take its time
        self._forgot: float | None = None  # when what is gone was forgotten last

    @cached_property
    def page(self) -> Page | None:
        """The page, unless none is wanted."""
        if not self.path:
            return None
        return Page(self._state, self.path, self._rules.page_style(self.path), self.folder)

    @cached_property
    def teller(self) -> Teller:
        """Who tells the desktop."""
        return Teller(self.config, self._state, self._rules)

    def close(self) -> None:
        """Let go of the desktop."""
        if "teller" in self.__dict__:
            self.teller.close()

    def dues(
        self, catalog: Catalog, now: datetime, answers: Mapping[str, Answer] | None = None
    ) -> list[Due]:
        """All that is due some time, also what was answered; what repeats goes on when `answers` close it."""
        known = self.record.answers() if answers is None else answers
        return self._finder.dues(catalog, now, lambda id_: closed(known, id_))

    def answers(self, now: datetime) -> dict[str, Answer]:
        """What was answered, also on the page since it was last looked at."""
        answers = self.record.answers()
        if self.page is None:
            return answers
        return union(answers, self._answers(self.page.acks(now), now, {}))

    def is_confirmed(self, finding: Mapping[str, object]) -> bool:
        """Whether a person has ticked the question of a job that waits."""
        answer = self.record.answers().get(review.halted_id(finding))
        return answer is not None and answer.state == DONE

    def count_listed(self, use: Callable[[Mapping[str, float]], None]) -> None:
        """Have the memories counted, by id and time, that were listed since this was done last."""
        if found := listing.take(self._state.folder):
            use(found)
            listing.forget(self._state.folder)

    def items(
        self, catalog: Catalog, now: datetime, vanished: str = "", days: int = pending_items.DAYS
    ) -> list[Item]:
        """All that the page would show, were there no end to it, and it looked so many `days` ahead."""
        return self._items(catalog, now, self.answers(now), vanished, days)

    def _items(
        self,
        catalog: Catalog,
        now: datetime,
        answers: Mapping[str, Answer],
        vanished: str,
        days: int = pending_items.DAYS,
    ) -> list[Item]:
        dues = self.dues(catalog, now, answers)
        asks = self.config.text("pending.complete_in_notes") == "ask"
        items = pending_items.items(dues, answers, now.replace(tzinfo=None), days=days, asks=asks)
        sight = self._sight(catalog, now)
        items += review.items(sight, dues, answers, vanished)
        return ordered([*items, *review.preferences(sight, answers)])

    def chores(self, catalog: Catalog, now: datetime, vanished: str = "") -> list[Item]:
        """All that is to review, which the page only counts."""
        answers = self.answers(now)
        dues = self.dues(catalog, now, answers)
        return review.chores(self._sight(catalog, now), dues, answers, vanished)

    def facts(self, catalog: Catalog, now: datetime) -> list[Fact]:
        """What holds about the person and projects, for an assistant that starts."""
        trust = self.config.text("recall.trust")
        return facts.facts(self._sight(catalog, now), self.answers(now), trust)

    def until(self, catalog: Catalog, now: datetime) -> str:
        """The local minute of this day from which something else may wait; "" when that is not before midnight."""
        answers = self.answers(now)
        return pending_items.until(self.dues(catalog, now, answers), answers, now.isoformat()[:16])

    def refresh(self, catalog: Catalog, now: datetime, vanished: str = "") -> Looked:
        """Take the answers from the page, and write it anew if it has to say something else."""
        with self._writing:
            written, answered, troubles = False, 0, list[str]()
            self.mind(vanished)
            self._follow(catalog, now)
            for _ in range(ROUNDS if self.page is not None else 0):
                done = self._rewritten(catalog, now, vanished)
                written, answered = written or done.written, answered + done.answered
                troubles = list(dict.fromkeys([*troubles, *done.troubles]))
                if not done.answered:
                    break
            self._see_what_came_back(catalog, now)
            current = self._current(catalog, now, vanished)
            troubles += self.record.settle(current, now.timestamp())
            return Looked(written, answered, troubles)

    def _follow(self, catalog: Catalog, now: datetime) -> None:
        """Let what was answered and told stay with notes that have another name now."""
        answers = self.answers(now)
        dues = self.dues(catalog, now, answers)
        found = self._following.look(dues, answers, self.record.told(), now.timestamp())
        if found.answers or found.told:
            self.unsettled = self.unsettled or bool(found.answers)
            self.record.add(found.answers, found.told, now.timestamp())

    def _current(self, catalog: Catalog, now: datetime, vanished: str) -> set[str] | None:
        """What must not be forgotten; it takes a while to find out, so that is done now and then."""
        if self._forgot is not None and abs(now.timestamp() - self._forgot) < FORGET_EVERY:
            return None
        if not catalog.meta("synced"):
            return None  # who has not seen all of the vault forgets nothing
        self._forgot = now.timestamp()
        sight = self._sight(catalog, now)
        return {alarms.BASELINE, *review.current(sight, self.dues(catalog, now), vanished)}

    def _sight(self, catalog: Catalog, now: datetime) -> review.Sight:
        return review.Sight(catalog, self._ledger, self.vault, self.folder, now, self.path)

    def is_ours(self, path: str) -> bool:
        """Whether what lies at a path can be an answer: on the page, or from another machine."""
        page = self.path.removesuffix(".md")
        return (
            not path or path.startswith(f"{self.folder}/") or (bool(page) and path.startswith(page))
        )

    def mind(self, vanished: str) -> None:
        """Leave nothing behind in a vault that is not there; what is answered and told is kept in the ledger."""
        self.record.is_held = self._is_away(vanished)

    def _is_away(self, vanished: str) -> bool:
        """Whether the vault may be an empty mount point, where nothing is to be left behind."""
        return bool(vanished) and not os.path.isdir(os.path.join(self.vault, self.folder))

    def _see_what_came_back(self, catalog: Catalog, now: datetime) -> None:
        """What was carried out and is open again, in its note or by an undo, is to be answered anew."""
        answers = self.record.answers()
        self.unsettled = (
            self.unsettled
            or any(
                pending_items.carried_out(due) in answers
                for due in self.dues(catalog, now, answers)
                if pending_items.is_over(due, answers)
            )
            or bool(
                learned.answered(
                    learned.learned(catalog, self.vault, self.folder), answers, self.vault
                )
            )
        )

    def _rewritten(self, catalog: Catalog, now: datetime, vanished: str) -> Looked:
        if self.page is None or self._is_away(vanished):
            return Looked(written=False, answered=0, troubles=[])
        # With what is ticked there, which the page has to know to tell the tick from the item.
        items = self._items(catalog, now, self.record.answers(), vanished)
        texts = {item.id: shown_text(item) for item in items}

        def record(acks: Mapping[str, Ack]) -> None:
            self.unsettled = self.unsettled or bool(acks)
            self.record.add(self._answers(acks, now, texts).values(), [], now.timestamp())

        done = self.page.refresh(items, now, record)
        if done.written:
            page = files.read(self.vault, self.path).text
            self._use((item.memory for item in items if f"{item.id}\n" in page), now)
        return Looked(done.written, len(done.acks), done.troubles)

    def _answers(
        self, acks: Mapping[str, Ack], now: datetime, texts: Mapping[str, str]
    ) -> dict[str, Answer]:
        """What is ticked on the page, as answers of now."""
        at = stamp(now.timestamp())
        return {
            id_: Answer(id_, ack.state, at, YOU, self._until(ack, now), texts.get(id_, ""))
            for id_, ack in acks.items()
        }

    def _until(self, ack: Ack, now: datetime) -> str:
        if ack.state != SNOOZED:
            return ""
        return pending_items.snoozed_until(ack.until, now.replace(tzinfo=None))

    def _sooner(self, following: datetime | None, now: datetime) -> datetime | None:
        """When to look again, also for the next of what repeats, while the last one is not answered yet."""
        turn = self._finder.turns(now)
        if len(turn) <= len("2026-11-22"):  # at midnight everybody looks
            return following
        at = datetime.fromisoformat(turn).replace(tzinfo=now.tzinfo)
        return at if following is None or at < following else following

    def tell(
        self, catalog: Catalog, now: datetime, vanished: str = "", *, dry_run: bool = False
    ) -> alarms.Planned:
        """Tell the desktop of what is due and was not told yet; what that was, or would be, and when to look again."""
        with self._telling:
            if not dry_run:
                self.mind(vanished)
                with self._writing:
                    self._follow(catalog, now)
            answers, heard = self.answers(now), self.record.told()
            dues = self.dues(catalog, now, answers)
            rules = alarms.Rules(
                self.config.text("notify.day_at"),
                self.config.text("notify.quiet"),
                self.config.text("notify.again"),
                EACH if self.config.text("notify.method") == "file" else alarms.MOST_SINGLE,
            )
            planned = alarms.plan(dues, answers, heard, now, rules)
            planned = planned._replace(next=self._sooner(planned.next, now))
            if dry_run:
                return planned
            told_now = self.teller.tell(
                planned, lambda each: self.record.add([], each, now.timestamp())
            )
            with self._writing:
                self._following.keep(dues, answers, self.record.told())
            rung = {each.id for alarm in told_now for each in alarm.told}
            self._use((due.memory for due in dues if due.id in rung), now)
            return planned._replace(tell=told_now)

    def _use(self, memories: Iterable[str], now: datetime) -> None:
        listing.note(self._state.folder, memories, now.timestamp())


# Finds what waits by asking the index, and keeps it as the listing of the next one who asks.

_STALE = 60  # seconds after which whoever was writing has ended
_SHORT = 40  # characters of a repetition, or of a name


class Asked(Protocol):
    """A vault, as far as it is needed here (see vaultmem.api.Vault)."""

    path: str
    config: Config
    state: State

    def ask(self, verb: str, **params: object) -> Any:
        """What a verb of memories says."""


def gather(vault: Asked, now: float, days: int = DAYS, *, keep: bool = False) -> Listed:
    """What waits, found anew; with `keep`, the next one need not look again. Raises VaultmemError."""
    files = _files(vault) if keep else []
    before, given = stats(files), surroundings(vault.path, now)
    said = vault.ask("pending", days=days, facts=True)
    rows = [_row(item) for item in said["items"]]
    listed = Listed(rows, list(vault.config.warnings), said.get("facts", []))
    if keep and days == DAYS and _are_settled(before):
        kept = {"for": given, "files": before, "until": said.get("until") or ""}
        found = {"warnings": listed.warnings, "items": rows, "facts": listed.facts}
        _write(vault.state.folder, {**kept, **found})
    return listed


def _files(vault: Asked) -> list[str]:
    """All that what waits is read from. Copies of the page that a sync makes are seen by the folders they lie in."""
    state, folder = vault.state, vault.config.text("memory_folder")
    catalog = os.path.join(state.generation() or state.folder, "catalog.db")
    of_state = (state.path("manifest.json"), catalog, f"{catalog}-wal", state.path("ledger.db"))
    page = page_path(folder, vault.config.text("pending.path"))
    pages = [page, os.path.dirname(page)] if page else []
    ours = [*pages, folder, *(f"{folder}/{name}" for name in GENERATED if name == "answers.md")]
    return [*of_state, *(os.path.join(vault.path, each) for each in dict.fromkeys(ours))]


def _are_settled(files: Mapping[str, list[int]]) -> bool:
    """Whether another change of a file would show: within one tick of its clock, it need not."""
    now = time.time_ns()
    return all(not found or abs(now - found[2]) > SETTLED_NS for found in files.values())


def _row(item: Mapping[str, Any]) -> Row:
    """An item that may be shown to anybody."""
    repeat = item.get("repeat")
    return {
        "id": item["id"],
        "section": item["section"],
        "text": words(item["text"], WORDS),
        "due": item.get("due") or None,
        "source": item.get("source") or "",
        "place": "" if item["text"] == PRIVATE else one_line(item.get("source") or ""),
        "title": one_line(item.get("title") or ""),
        "scope": item.get("scope") or EVERYBODY,
        "repeat": one_line(repeat, _SHORT) if repeat else None,
        "author": one_line(item.get("author") or "", _SHORT),
        "memory": item.get("memory") or "",
    }


def _write(folder: str, listing: object) -> None:
    """Put it in its place, all or nothing. What cannot be kept is found anew each time."""
    with contextlib.suppress(OSError, StateError):
        path = os.path.join(make_private(folder), NAME)
        part = f"{path}.tmp"
        with contextlib.suppress(FileNotFoundError):
            if abs(time.time() - os.lstat(part).st_mtime) > _STALE:
                os.unlink(part)  # of a kill
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        with open(os.open(part, flags, 0o600), "w", encoding="utf-8") as file:
            json.dump(listing, file)
        os.replace(part, path)
