"""The table of jobs: what the agent does on a schedule, and under which conditions."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from functools import partial

from vaultmem import machine
from vaultmem.api import Vault
from vaultmem.config import Config
from vaultmem.errors import DamagedError, ModelError, UsageError
from vaultmem.index.catalog import catalog_errors
from vaultmem.index.keyword import tokenize
from vaultmem.index.state import State
from vaultmem.ledger.ledger import Ledger, Run, Runs
from vaultmem.light import TYPE_CHECKING, NamedTuple, TypedDict
from vaultmem.schedule import next_time
from vaultmem.search.query import Ask
from vaultmem.search.search import Searcher
from vaultmem.text.values import did_you_mean, plural

if TYPE_CHECKING:
    from vaultmem.agent.scheduler import Scheduler
    from vaultmem.memories.reports import PlanReport

SAMPLES = 5  # notes that an index check searches for and reads
_WORD = re.compile(r"\w{2,40}")


class Job(NamedTuple):
    """A recurring job, named by the setting jobs.NAME. `run` returns its result in one line, `preview` what it would
    do to memories.

    A gentle job yields to a person typing, to the battery and to a busy machine; an idle job waits until the vault
    has been left alone for a while.
    """

    name: str
    meaning: str
    run: Callable[[Vault], str]
    gentle: bool = True
    idle: bool = False
    preview: Callable[[Vault], PlanReport] | None = None


JobState = TypedDict("JobState", {
    "name": str, "meaning": str, "schedule": str, "next_run": "float | None", "last_run": "float | None",
    "last_result": "str | None", "ok": "bool | None",  # how the last run ended; None when there was none
    "last_ok": "float | None",  # the last successful run
    "seconds": "float | None",  # how long the last run took
    "waiting_for": "str | None", "running": bool,
})  # fmt: skip
"""A job as `vaultmem jobs` lists it. Times are seconds since the epoch."""


def _reconcile(vault: Vault) -> str:
    report = vault.sync()
    return f"{report.added} added, {report.changed} changed, {report.removed} removed, {report.unchanged} unchanged"


def _tidy(vault: Vault) -> str:
    if not vault.is_indexed():
        return "nothing to do: the vault is not indexed yet"
    searcher = vault.searcher()
    try:
        meaning = searcher.meaning()
    except ModelError as error:
        return f"nothing to do: {error}"
    before = meaning.count()
    with catalog_errors():
        meaning.tidy(searcher.catalog)
    count = meaning.count()
    dropped = f"{before - count:,} dropped, " if count < before else ""
    return f"{dropped}{plural(count, 'vector')} kept"


def _dream(vault: Vault) -> str:
    level = _depth(vault)
    return f"level {level}: {_summarize_report(vault.dream(level, only_news=True))}"


def _depth(vault: Vault) -> int:
    """How deep a dream goes, by how long the vault has been idle."""
    idle, settings = vault.idle_seconds(), ("dream.medium_after", "dream.deep_after")
    return 1 + sum(idle >= vault.config.seconds(setting) for setting in settings)


def _summarize_report(report: PlanReport) -> str:
    """The report of a job on memories, in one line."""
    changed = len(report["changes"])
    parts = [f"{changed:,} changed" if changed else "nothing to change"]
    for rows, label in ((report["skipped"], "left alone"), (report["findings"], "noticed")):
        if rows:
            parts.append(f"{len(rows):,} {label}")
    if report["left"]:
        parts.append(f"{report['left']:,} left for the next run")
    if helped := report.get("model"):
        if helped["proposed"]:
            parts.append(f"{plural(helped['proposed'], 'proposal')} of a model")
        if helped["trouble"]:
            parts.append(f"without a model: {helped['trouble']}")
    return ", ".join(parts)


def _expect(vault: Vault) -> str:
    if not vault.is_indexed() or not (rows := vault.check_expectations()):
        return "nothing to do: there are no expectations"
    met = sum(expectation["found"] for expectation in rows)
    return f"{met:,} of {plural(len(rows), 'expectation')} met"


def _check(vault: Vault) -> str:
    begun = vault.state.generation() is not None and not vault.state.is_complete()
    report = vault.sync()  # an index that is behind would look damaged
    first = "the first indexing was not finished, and is now; " if begun else ""
    if report.rebuilt and not begun:
        return f"the index was missing or damaged; rebuilt in {report.seconds:.1f} s"
    generation = vault.state.generation()
    try:
        damage = _damage(vault)
    except DamagedError as error:
        damage = str(error).partition("; run vaultmem")[0]
    if damage is None and generation != vault.state.generation():
        return f"{first}the index was damaged; rebuilt when it was opened"
    if damage is None:
        counts = vault.counts()
        many = (plural(counts["notes"], "note"), plural(counts["blocks"], "block"))
        return f"{first}sound: {', '.join(many)}"
    vault.close()
    report = vault.sync(rebuild=True)
    return f"{first}{damage}; rebuilt in {report.seconds:.1f} s"


def _damage(vault: Vault) -> str | None:
    """The damage of the index, or None. What is seen while somebody writes proves nothing."""
    searcher = vault.searcher()
    with catalog_errors():
        before = searcher.catalog.version()
        damage = _first_damage(searcher)
        is_steady = not searcher.catalog.waiting() and searcher.catalog.version() == before
    return damage if is_steady else None


def _first_damage(searcher: Searcher) -> str | None:
    if not searcher.catalog.is_sound():
        return "the catalog is damaged"
    searcher.keyword.refresh()
    listed = searcher.catalog.db.execute(
        "SELECT count(*) FROM blocks b JOIN notes n ON n.id = b.note WHERE n.excluded = 0"
    ).fetchone()[0]
    indexed = searcher.keyword.block_count()
    if listed != indexed:
        return f"the keyword index has {indexed:,} blocks and the catalog {listed:,}"
    return _lost_note(searcher)


def _lost_note(searcher: Searcher) -> str | None:
    """A sampled note that a search for a word of its title does not find, if any."""
    notes = searcher.catalog.db.execute(
        "SELECT id, title FROM notes n WHERE excluded = 0"
        " AND EXISTS (SELECT 1 FROM blocks b WHERE b.note = n.id) ORDER BY id"
    ).fetchall()
    for note, title in notes[:: max(1, len(notes) // SAMPLES)]:
        word = _WORD.search(title)
        if word is None or not tokenize(word[0]):
            continue
        ask = Ask(f'"{word[0]}"', limit=1, min_confidence=0.0, compressed=True)
        if not searcher.search(ask).results:
            return f"a search for {word[0]} does not find note {note}"
    return None


def _on_memories(
    name: str, meaning: str, verb: str = "", *, idle: bool = False, **how: bool
) -> Job:
    """A job that runs a verb on memories; `unattended` ones ask before they archive too much."""

    def report(vault: Vault, *, dry_run: bool = False) -> PlanReport:
        done: PlanReport = vault.ask(verb or name, dry_run=dry_run, **how)
        return done

    run, preview = lambda vault: _summarize_report(report(vault)), partial(report, dry_run=True)
    return Job(name, meaning, run, idle=idle, preview=preview)


JOBS = {
    job.name: job
    for job in (
        Job("reconcile", "compares the whole vault with the index", _reconcile, gentle=False),
        Job("tidy", "drops vectors of texts that are gone, and builds the graph for search by meaning", _tidy,
            idle=True),
        Job("check", "checks the index for damage, and rebuilds it where there is some", _check, idle=True),
        _on_memories("expire", "archives memories that were in the inbox too long, or end by their own word",
            unattended=True),
        _on_memories("upgrade", "files memories of the inbox that are read again and again", "promote"),
        _on_memories("decay", "archives memories that have faded and that nobody reads", unattended=True),
        _on_memories("consolidate", "expires, fades, files and merges memories, once", idle=True, unattended=True),
        Job("dream", "files new memories; with more time it merges, links and looks across them", _dream, idle=True,
            preview=lambda vault: vault.dream(_depth(vault), only_news=True, dry_run=True)),
        Job("expect", "checks that questions still find what they have to, after a change", _expect),
    )
}  # fmt: skip


def find_job(name: str) -> Job:
    """The job of that name. Raises UsageError naming the nearest one."""
    if name in JOBS:
        return JOBS[name]
    meant = did_you_mean(name, JOBS) or f"; there are {', '.join(JOBS)}"
    raise UsageError(f"no job is called {name!r}{meant}")


def schedules(config: Config) -> dict[str, str]:
    """When each job runs, by the settings in force."""
    return {name: config.text(f"jobs.{name}") for name in JOBS}


class Surroundings:
    """The person and the machine, as far as jobs wait for them.

    `last_edit` and `last_request` return when anyone else last changed a note and when the last request came, in
    seconds of the same clock as `now`.
    """

    def __init__(
        self, config: Config, last_edit: Callable[[], float], last_request: Callable[[], float],
        now: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        self._config = config
        self._last_edit, self._last_request, self._now = last_edit, last_request, now

    def idle(self) -> bool:
        """Whether the last edit and request are older than the setting says."""
        quiet = self._now() - max(self._last_edit(), self._last_request())
        return quiet >= self._config.seconds("agent.idle")

    def reason_to_wait(self, name: str) -> str | None:
        """What a job is waiting for, in words for a person; None if it may run."""
        job, config = JOBS[name], self._config
        if job.gentle:
            if self._now() - self._last_edit() < config.seconds("jobs.typing"):
                return "you are typing"
            if config.text("jobs.battery") == "wait" and machine.on_battery():
                return "the computer runs on battery"
            if machine.load() > config.number("jobs.max_load") / 100:
                return "the processors are busy"
        return "the vault is in use" if job.idle and not self.idle() else None


def ledger(vault: str) -> Ledger:
    """The ledger of a vault."""
    return Ledger(State(vault).path("ledger.db"))


def listing(config: Config, recorded: Ledger | Runs | Scheduler, now: float) -> list[JobState]:
    """All jobs in table order. Without a scheduler, `next_run` assumes that an agent starts now."""
    from vaultmem.agent import scheduler  # brings asyncio along

    runs = recorded.runs()
    listed: list[JobState] = []
    for job in JOBS.values():
        schedule = config.text(f"jobs.{job.name}")
        run = runs.get(job.name)
        if isinstance(recorded, scheduler.Scheduler):
            status = recorded.status(job.name)
        else:
            coming = next_time(schedule, run and run.counted_from, now)
            status = scheduler.Status(coming, None, running=False)
        last = run or Run(job.name, now)
        listed.append(JobState(
            name=job.name, meaning=job.meaning, schedule=schedule, next_run=status.next_run, last_run=last.last_run,
            last_result=last.result, ok=last.ok, last_ok=last.last_ok, seconds=last.seconds,
            waiting_for=status.waiting_for, running=status.running,
        ))  # fmt: skip
    return listed
