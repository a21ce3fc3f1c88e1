"""What is pending in one vault: due items, answers and reviews; their page, and notifications."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cached_property, partial

from vaultmem.index import catalog_read
from vaultmem.light import TYPE_CHECKING, allocate_lock
from vaultmem.memories.item_answers import (
    DONE,
    SNOOZED,
    YOU,
    Answer,
    Answers,
    carried_out_id,
    halted_id,
    history_answers,
    snoozed_since,
    state_of,
)
from vaultmem.notes.places import page_path
from vaultmem.pending import listing, person_facts
from vaultmem.pending.pending_page import Page, Refreshed
from vaultmem.pending.person_facts import Learned
from vaultmem.pending.record import open_record
from vaultmem.pending.review_items import Context, Review
from vaultmem.reminders import alarms, items
from vaultmem.reminders.agenda import Agenda
from vaultmem.reminders.alarms import Notifier
from vaultmem.reminders.due import Due
from vaultmem.reminders.renames import Entries, Renames
from vaultmem.synclog.log_entries import BASELINE, collect, of_kind
from vaultmem.text.times import stamp
from vaultmem.text.values import SOON
from vaultmem.vault import files

if TYPE_CHECKING:
    from vaultmem.config import Config
    from vaultmem.index.catalog import Catalog
    from vaultmem.index.state import State
    from vaultmem.ledger.ledger import Ledger
    from vaultmem.memories.draft import Finding
    from vaultmem.notes.dialects import Rulebook
    from vaultmem.pending.ticks import Ack
    from vaultmem.vault.batch_record import AnswerChange

FORGET_EVERY = 3600.0  # seconds
ROUNDS = 3  # answers on the page can add other items to it
EACH = 1_000_000  # lines of a file of one piece


class Pending:
    """What is pending. Thread-safe; one thread at a time writes the page or notifies.

    `now` is always local time, with its zone.
    """

    def __init__(self, state: State, config: Config, rules: Rulebook, ledger: Ledger) -> None:
        self.config = config
        self.vault = state.vault
        self.folder = config.text("memory_folder")
        self.path = page_path(self.folder, config.text("pending.path"))  # "" for no page
        self._state, self._rules, self._ledger = state, rules, ledger
        self.record = open_record(state, config, rules, ledger)
        self._agenda = Agenda(ledger, self.folder)
        self._renames = Renames(state.path("pending.dues"), self.vault)
        self.vanished: Callable[[], str] = str  # why the vault cannot be trusted
        # Answers may not have been carried out, as a kill may have interrupted that.
        self.unsettled = True
        self.ticked: list[AnswerChange] = []  # answers taken from the page, for the history
        self._writing = allocate_lock()
        self._planned: tuple[object, datetime, alarms.Planned] = (
            None, datetime.min.replace(tzinfo=UTC), alarms.Planned([], [], None),
        )  # fmt: skip
        self._notifying = allocate_lock()  # separate from the other lock: a desktop may be slow
        self._forgot: float | None = None  # when obsolete entries were last dropped

    @cached_property
    def page(self) -> Page | None:
        """The page, unless it is turned off."""
        if not self.path:
            return None
        return Page(self._state, self.path, self._rules.page_style(self.path), self.folder)

    @cached_property
    def notifier(self) -> Notifier:
        """Shows notifications."""
        return Notifier(self.config, self._state, self._rules)

    def close(self) -> None:
        """Close the connection to the desktop."""
        if "notifier" in self.__dict__:
            self.notifier.close()

    # --- What is pending

    def dues(
        self, catalog: Catalog, now: datetime, answers: Answers | None = None
    ) -> Sequence[Due]:
        """All items with a due time, including answered ones; recurring ones move on when `answers` close them."""
        current_answers = self.record.answers() if answers is None else answers
        return self._agenda.dues(catalog, now, current_answers)

    def answers(self, now: datetime) -> Answers:
        """The answers, including unread ones on the page."""
        answers = self.record.answers()
        ticked = self._as_answers(self.page.acks(now), now, {}) if self.page else {}
        if not ticked:
            return answers
        return of_kind(collect([*answers.values(), *ticked.values()]), Answer)

    def at(self, catalog: Catalog, now: datetime, answers: Answers | None = None) -> Review:
        """The pending items, by answers that include the ticks of the page, or by these."""
        if answers is None:
            answers, dues = self._followed(catalog, now)
        else:
            dues = self.dues(catalog, now, answers)
        return Review(self.context(catalog, now), dues, answers, self.vanished())

    def facts_to_promote(self, catalog: Catalog, now: datetime, answers: Answers) -> list[Learned]:
        """The facts of conversations that the person wants to be remembered."""
        return person_facts.to_promote(self.context(catalog, now), answers)

    def is_confirmed(self, finding: Finding) -> bool:
        """Whether a person has ticked the question of a waiting job."""
        return state_of(self.record.answers(), halted_id(finding)) == DONE

    def count_listed(self, use: Callable[[Mapping[str, float]], None]) -> None:
        """Count the memories, by id and time, listed since the last call."""
        if memories := listing.take(self._state.folder):
            use(memories)
            listing.forget(self._state.folder)

    def is_ours(self, path: str) -> bool:
        """Whether the note at a path can hold answers: the page, or one from another machine."""
        page = self.path.removesuffix(".md")
        in_folder = not path or path.startswith(f"{self.folder}/")
        return in_folder or (bool(page) and path.startswith(page))

    def context(self, catalog: Catalog, now: datetime) -> Context:
        """The context of a review."""
        asks = self.config.text("pending.complete_in_notes") == "ask"
        trust = self.config.text("recall.trust")
        problem = self._page_problem(catalog)
        return Context(
            catalog, self._ledger, self.vault, self.folder, now, self.path, asks, trust, problem
        )

    def _page_problem(self, catalog: Catalog) -> str:
        """Why the person does not see the page in the editor; "" if they do."""
        if self.page is None or not os.path.exists(f"{self.vault}/{self.path}"):
            return ""
        if problem := self.page.problem():
            return problem
        other = self._rules.namesake(self.path, partial(catalog_read.files_named, catalog))
        both = f"{self.path} has the same name as {other}, and your editor shows only one of them"
        return f"{both}; rename yours, or set pending.path" if other else ""

    # --- The page

    def refresh(self, catalog: Catalog, now: datetime) -> Refreshed:
        """Read answers from the page, and write it if its content changes."""
        with self._writing:
            so_far = Refreshed(False, {}, [])
            self.check_vault()
            self._follow_renames(catalog, now)
            for _ in range(ROUNDS if self.page is not None and not self.record.ledger_only else 0):
                done = self._refresh_page(catalog, now)
                problems = list(dict.fromkeys([*so_far.problems, *done.problems]))
                written, acks = so_far.written or done.written, so_far.acks | done.acks
                so_far = Refreshed(written, acks, problems)
                if not done.acks:
                    break
            self._notice_reopened(catalog, now)
            current = self._answerable_ids(catalog, now)
            problems = self.record.settle(current, now.timestamp())
            return so_far._replace(problems=[*so_far.problems, *problems])

    def check_vault(self) -> None:
        """Raise rather than write into what may be an empty mount point; answers are in the ledger."""
        folder = os.path.join(self.vault, self.folder)
        self.record.ledger_only = bool(self.vanished()) and not os.path.isdir(folder)

    def _refresh_page(self, catalog: Catalog, now: datetime) -> Refreshed:
        assert self.page is not None
        # Including ticked items, which the page needs to recognize their ticks.
        answers = self.record.answers()
        extent = items.extent(answers, now)
        listed = self.at(catalog, now, answers).every(SOON, extent)

        def record(acks: Mapping[str, Ack]) -> None:
            texts = {item.id: items.display_text(item) for item in listed if item.id in acks}

            def is_new(id_: str, ack: Ack) -> bool:
                """Ignore answers of an older page that arrives late and repeats what was answered before."""
                return id_ in texts or ack.state == SNOOZED or state_of(answers, id_) != ack.state

            new_acks = {id_: ack for id_, ack in acks.items() if is_new(id_, ack)}
            self.unsettled = self.unsettled or bool(new_acks)
            new = self._as_answers(new_acks, now, texts).values()
            decided = (entry for entry in new if entry.id not in items.VIEWS)
            self.ticked += history_answers(answers, decided)
            self.record.add(new, [], now.timestamp())

        done = self.page.refresh(listed, now, record, extent)
        if done.written:
            page = files.read(self.vault, self.path).text
            self._count_uses((item.memory for item in listed if f"{item.id}\n" in page), now)
        return done

    def _as_answers(
        self, acks: Mapping[str, Ack], now: datetime, texts: Mapping[str, str]
    ) -> dict[str, Answer]:
        at, wall = stamp(now.timestamp()), now.replace(tzinfo=None)
        answers: dict[str, Answer] = {}
        for id_, ack in acks.items():
            until = items.snoozed_until(ack.until, wall) if ack.state == SNOOZED else ""
            answers[id_] = Answer(id_, ack.state, at, YOU, until, texts.get(id_, ""))
        return answers

    def _follow_renames(self, catalog: Catalog, now: datetime) -> None:
        """Move answers and notifications to the new paths of renamed notes."""
        while True:  # a recurring item may then have another occurrence
            answers = self.answers(now)
            dues = self.dues(catalog, now, answers)
            entries = Entries(answers, self.record.notified())
            moved = self._renames.follow(dues, entries, now.timestamp())
            if moved.answers or moved.notified:
                self.unsettled = self.unsettled or bool(moved.answers)
                self.record.add(moved.answers.values(), moved.notified.values(), now.timestamp())
            self._renames.keep(dues, entries)  # last, so that after a kill they are moved again
            if not moved.answers:
                return

    def _followed(self, catalog: Catalog, now: datetime) -> tuple[Answers, Sequence[Due]]:
        """The answers and the items by them, including answers of notes renamed since the last look, if that was
        another process's: without an agent, nothing may have recorded them."""
        answers = self.answers(now)
        while True:
            dues = self.dues(catalog, now, answers)
            if self._renames.has_looked:
                return answers, dues
            renames = Renames(self._state.path("pending.dues"), self.vault)
            moved = renames.follow(dues, Entries(answers, {}), now.timestamp()).answers
            if not moved:
                return answers, dues
            answers = {**answers, **moved}

    def _notice_reopened(self, catalog: Catalog, now: datetime) -> None:
        """Reopen items that were carried out and are open again: in their note, by an undo, or by another machine."""
        answers = self.record.answers()
        dues = self.dues(catalog, now, answers)
        over = (due for due in dues if items.is_over(due, answers))
        snoozed = {answer.id for answer in snoozed_since(answers)}
        self.unsettled = (
            self.unsettled
            or any(carried_out_id(due.id) in answers for due in over)
            or not snoozed.issubset(due.id for due in dues)
            or bool(self.facts_to_promote(catalog, now, answers))
        )

    def _answerable_ids(self, catalog: Catalog, now: datetime) -> set[str] | None:
        """The ids that must not be dropped. Collecting them takes a while, so it is rarely done."""
        if self._forgot is not None and abs(now.timestamp() - self._forgot) < FORGET_EVERY:
            return None
        if not catalog.meta("synced"):
            return None  # drop nothing before all of the vault was seen
        self._forgot = now.timestamp()
        return {BASELINE, *self.at(catalog, now, self.record.answers()).answerable_ids()}

    # --- Notifications

    def notify(self, catalog: Catalog, now: datetime, *, dry_run: bool = False) -> alarms.Planned:
        """Send notifications for new due items. Returns them, and when to check again."""
        with self._notifying:
            if not dry_run:
                self.check_vault()
                with self._writing:
                    self._follow_renames(catalog, now)
            answers = self.answers(now)
            dues = self.dues(catalog, now, answers)
            rules = self._rules_of_alarms(now)
            planned = self._plan(dues, Entries(answers, self.record.notified()), now, rules)
            planned = planned._replace(next=self._sooner(planned.next, now))
            if dry_run:
                return planned
            listed = self.notifier.notify(
                planned, lambda notified: self.record.keep([], notified, now.timestamp())
            )
            self.record.settle(None, now.timestamp())
            if listed and not rules.turn.is_first:
                self.record.others_were_silent()
            with self._writing:
                self._renames.keep(dues, Entries(answers, self.record.notified()))
            ids = {record.id for alarm in listed for record in alarm.records}
            self._count_uses((due.memory for due in dues if due.id in ids), now)
            return planned._replace(alarms=listed)

    def _plan(
        self, dues: Sequence[Due], entries: Entries, now: datetime, rules: alarms.Rules
    ) -> alarms.Planned:
        """The plan, or that of the last time where nothing has changed and its next moment is to come."""
        inputs = dues, entries, rules, now.utcoffset()  # days begin with the zone
        known, at, planned = self._planned
        is_quiet = not (planned.alarms or planned.silent) and at <= now
        if known == inputs and is_quiet and (planned.next is None or now < planned.next):
            return planned
        planned = alarms.plan(dues, entries.answers, entries.notified, now, rules)
        self._planned = inputs, now, planned
        return planned

    def wake_up(self, now: datetime) -> None:
        """Tell other machines that this one is awake, if it can notify."""
        self.record.awake = stamp(now.timestamp()) if self.notifier.can_show() else ""

    def exchange(self, now: datetime) -> None:
        """Exchange answers and notifications with other machines."""
        with self._writing:
            self.check_vault()
            self.record.settle(None, now.timestamp())

    def _rules_of_alarms(self, now: datetime) -> alarms.Rules:
        in_file = self.config.text("notify.method") == "file"
        return alarms.Rules(
            self.config.text("notify.day_at"),
            self.config.text("notify.quiet"),
            self.config.text("notify.again"),
            EACH if in_file else alarms.MOST_SINGLE,
            self.record.turn(now.timestamp()),
        )

    def _sooner(self, following: datetime | None, now: datetime) -> datetime | None:
        """When to check again, also for a recurring item whose last occurrence is unanswered."""
        turn = self._agenda.next_turn(now)
        if len(turn) <= len("2026-11-22"):  # everything is checked at midnight
            return following
        at = datetime.fromisoformat(turn).replace(tzinfo=now.tzinfo)
        return at if following is None or at < following else following

    def _count_uses(self, memories: Iterable[str], now: datetime) -> None:
        listing.note(self._state.folder, memories, now.timestamp())
