"""What waits in one vault, put together: what is due, what was answered, what is to review; and the page of it."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from vaultmem.core import alarms, pending_items, pending_until
from vaultmem.core.answers import SNOOZED, Answer, closed, union
from vaultmem.core.due import Due
from vaultmem.core.pending_acks import Ack
from vaultmem.core.pending_page import Item, ordered, shown_text
from vaultmem.core.places import page_path
from vaultmem.core.stamps import stamp
from vaultmem.reminders import facts, learned, review, told
from vaultmem.reminders.finding import Finder
from vaultmem.reminders.following import Following
from vaultmem.reminders.page import Page
from vaultmem.reminders.record import Record
from vaultmem.reminders.telling import Teller
from vaultmem.store import vault

if TYPE_CHECKING:
    from vaultmem.config import Config
    from vaultmem.dialects import Rulebook
    from vaultmem.reminders.listing import Fact
    from vaultmem.store.catalog import Catalog
    from vaultmem.store.ledger import Ledger
    from vaultmem.store.state import State

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
        return pending_until.until(self.dues(catalog, now, answers), answers, now.isoformat()[:16])

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
            page = vault.read(self.vault, self.path).text
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
        told.note(self._state.folder, memories, now.timestamp())
