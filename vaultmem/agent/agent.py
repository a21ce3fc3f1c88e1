"""The agent as a whole: starts, connects and stops its parts."""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from vaultmem import __version__, client, machine, paths
from vaultmem import config as settings
from vaultmem import now as clock
from vaultmem.agent.connection import Limits
from vaultmem.agent.debounce import Listeners
from vaultmem.agent.embedding import EmbeddingQueue
from vaultmem.agent.events import END, LOOK, RESTART, Changes, Throttle, Wakeups
from vaultmem.agent.memory_threads import Memories, Reminders
from vaultmem.agent.pool import AgentVault, Pool
from vaultmem.agent.reconciler import FIRST_BATCH, Reconciler
from vaultmem.agent.server import Server
from vaultmem.api.rpc import UNKNOWN_METHOD, Request, RequestError, only_reads
from vaultmem.api.vault import Embedded, Vault
from vaultmem.config import Config
from vaultmem.errors import ConfigError, VaultmemError
from vaultmem.index.compare import Report
from vaultmem.index.state import State
from vaultmem.index.sync import rules_of
from vaultmem.light import TYPE_CHECKING, NamedTuple
from vaultmem.text import times
from vaultmem.text.values import plural

if TYPE_CHECKING:
    from vaultmem.adapter import JsonObject
    from vaultmem.agent.jobs import JobState, Surroundings
    from vaultmem.agent.scheduler import Scheduler
    from vaultmem.service.agent_health import AgentStatus, ModelState
    from vaultmem.service.log import LastError
    from vaultmem.vault.watch import Watcher

log = logging.getLogger("vaultmem.agent")

STOP_WITHIN = 1.2  # seconds for the thread that writes; what it has not finished is rolled back
EMBED_WITHIN = 3600.0
WRITES_WITHIN = 4.0  # seconds that a search waits for what was written before it,
BUSY_WITHIN = 0.3  # and while a large part of the vault is being read
CHECK_EVERY = 30.0

Answer = Callable[[Request], object]


class Settings(NamedTuple):
    """The settings in force, and a signature that shows when they change."""

    signature: object
    config: Config


class Agent:
    """Keeps one vault's index up to date and answers requests. The caller holds the lock of `state`."""

    def __init__(
        self, state: State, in_force: Settings, last_error: Callable[[], LastError | None]
    ) -> None:
        self.folder = folder = state.vault
        self.config = config = in_force.config
        self._settings = in_force
        self._state = state
        self._throttle = Throttle()
        self.changes = Changes()
        self._pool = Pool(folder, config)
        listeners = Listeners(self._on_commit, self._on_replace, self._on_touch)
        self.reconciler = Reconciler(self._state, config, self._throttle, listeners)
        self._memories = Memories(state, config, self.reconciler.wrote, self._hears_all)
        self._memories.store.vanished = lambda: self.reconciler.vanished or ""
        self._reminders = Reminders(
            self.vault, lambda: self._memories.store.pending, self._is_whole
        )
        self._memories.remembered = self._reminders.tell_soon
        self.embedding = EmbeddingQueue(
            self._state, self._pool, self._throttle, lambda: rules_of(self.folder, self.config)
        )
        unload = config.text("agent.unload")
        self.embedding.unload_after = times.duration_seconds(unload) if unload != "never" else None
        self._watcher: Watcher | None = None
        self._scheduler: Scheduler | None = None
        self._is_scheduled = threading.Event()
        self._surroundings: Surroundings | None = None
        self._server: Server | None = None
        self._last_error = last_error
        self._started = time.time()
        self._program = self._installed = machine.program()
        self._environ = client.settings()
        self._complete = False
        self._refused: object = None  # changed settings that are invalid
        self.wakeups = Wakeups()

    def run(self, answer: Answer) -> bool:
        """Answer requests until stop(). Returns whether to restart."""
        # The first line opens the log: it exists when `start` reports an agent that answers.
        log.info("vaultmem %s, process %d", __version__, os.getpid())
        self._server = Server(paths.socket_path(self.folder), self._guard(answer))
        self._server.start()
        log.info("answering at %s", self._server.path)
        self.reconciler.start()
        self._start_the_rest()
        while (restart := self._is_over()) is None:
            pass
        self._end()
        return restart

    def _is_over(self) -> bool | None:
        """Wait a while. Returns False to end, True to restart, None to go on."""
        order = self.wakeups.wait(CHECK_EVERY)
        if order == END:
            return False
        if trouble := self._trouble():
            log.warning("%s; restarting", trouble)
            return True
        if self._is_updated():
            log.info("vaultmem was updated; restarting")
            return True
        if order == RESTART or self._settings_changed():
            return self._wants_new_settings(must=order == RESTART) or None
        return None

    def _trouble(self) -> str | None:
        """A failure that only a restart can repair, or None."""
        if not self._state.holds_lock():
            return "the state folder was removed"
        if self._server and not self._server.is_in_place():
            return "the socket was removed"
        threads = (self.reconciler, self.embedding, self._memories, self._watcher, self._reminders)
        dead = [thread.name for thread in threads if thread and not thread.is_alive()]
        return f"the thread for {dead[0]} has died" if dead else None

    def _is_updated(self) -> bool:
        """Whether another version of the program is installed and already was at the last look, so that its files are
        complete."""
        before, self._installed = self._installed, machine.program()
        is_there = bool(self._installed) and os.access(sys.executable, os.X_OK)
        return is_there and self._program != self._installed == before

    def _start_the_rest(self) -> None:
        """Load what is slow and not needed for the first answers."""
        from vaultmem.agent import jobs
        from vaultmem.agent.scheduler import Scheduler
        from vaultmem.vault.watch import Watcher

        self._watcher = Watcher(self.folder, self.reconciler)
        self._watcher.start()
        self.embedding.start()
        self._memories.start()
        self._reminders.start()
        self._surroundings = jobs.Surroundings(
            self.config, lambda: self.reconciler.last_edit, lambda: self._throttle.last_request
        )
        self._scheduler = Scheduler(
            jobs.schedules(self.config),
            self._run_job,
            jobs.ledger(self.folder),
            self._surroundings.reason_to_wait,
        )
        self._scheduler.on_wake = self._woke
        self._scheduler.start()
        self._is_scheduled.set()

    def stop(self) -> None:
        """Ask the agent to end; returns at once."""
        self.wakeups.send(END)

    def _settings_changed(self) -> bool:
        return settings.signature(self.folder) != self._settings.signature

    def _wants_new_settings(self, *, must: bool) -> bool:
        """Whether to restart with the current settings: never if they are invalid, and only if they changed unless
        `must`."""
        now = settings.signature(self.folder)
        if now == self._refused and not must:
            return False
        try:
            new = settings.load(self.folder)
        except ConfigError as error:
            self._refused = now
            log.error("%s; going on with the settings of before", error)
            return False
        if new == self.config and not must:
            self._settings = Settings(now, new)
            return False
        log.info("restarting with the settings of now")
        return True

    def _end(self) -> None:
        started = time.monotonic()
        self.changes.close()
        self.index_writes(STOP_WITHIN / 2)
        self.reconciler.stop()
        self.embedding.stop()
        self._memories.stop()
        self._reminders.stop()
        if self._scheduler:
            self._scheduler.stop()
        if self._server:
            self._server.stop()
        if self._watcher:
            self._watcher.stop()
        for thread in filter(None, (self.reconciler, self._watcher)):
            thread.join(max(0.1, started + STOP_WITHIN - time.monotonic()))
        self._pool.close()
        log.info("ended")

    def _guard(self, answer: Answer) -> Answer:
        def answered(request: Request) -> object:
            if not self._state.holds_lock():  # removed, or moved along with a renamed vault
                self.wakeups.send(LOOK)
            if request.method == "run" and self._settings_changed():
                self.wakeups.send(LOOK)
                raise RequestError(UNKNOWN_METHOD, "the settings have changed; ask yourself")
            if request.method in Limits.slow_methods:
                return answer(request)  # part of the background work, which must not yield to it
            with self._throttle.answering():
                return answer(request)

        return answered

    def _on_commit(self, notes: Iterable[int]) -> None:
        self._pool.changed()
        self.embedding.add(notes)
        self._reminders.changed()
        self.changes.count("notes")

    def _on_touch(self, path: str) -> None:
        self._memories.touched(path)
        if self._memories.store.pending.is_ours(path):
            self._reminders.changed()

    def _is_whole(self) -> bool:
        """Whether the whole vault has been indexed once; before that, only some due items are known."""
        self._complete = self._complete or self._state.is_complete()
        looked = self.reconciler.has_looked or self.reconciler.vanished is not None
        return self._complete and looked

    def _hears_all(self) -> bool:
        watching = self._watcher and self._watcher.as_dict()
        return bool(watching and watching["alive"] and watching["whole"])

    def _on_replace(self) -> None:
        self._pool.replaced()
        self.embedding.add_all()
        self._reminders.changed()

    # Used by requests

    @contextmanager
    def vault(self) -> Iterator[Vault]:
        """A vault with a warm index, for one request."""
        vault = AgentVault(self.folder, self.config, self._pool, self)
        try:
            yield vault
        finally:
            vault.release()

    def settings_signature(self) -> dict[str, str]:
        """The environment variables on which the answers of the agent depend."""
        return self._environ

    def sync(self, *, rebuild: bool, confirm_removals: bool, embed: bool) -> JsonObject:
        """Compare the whole vault now, or only embed waiting blocks."""
        if embed:
            done = self.embed_now()
            return {"embedded": done.blocks, "model": done.model, "remark": done.remark}
        report = self.sync_now(rebuild=rebuild, confirmed=confirm_removals)
        return report._asdict()

    def memory(self, vault: Vault, verb: str, params: JsonObject) -> object:
        """Carry out a verb of memories."""
        answer = self._memories.ask(vault, verb, params)
        if not only_reads(verb):
            self.changes.count("memories")
            self._reminders.changed()  # some verbs change only the ledger (decisions, rules)
        return answer

    def run_job(self, name: str) -> JobState:
        """Run a job now."""
        from vaultmem.agent.jobs import find_job

        if not self._is_scheduled.wait(CHECK_EVERY) or self._scheduler is None:
            raise VaultmemError("the agent is just starting; try again in a moment")
        self._scheduler.run_now(find_job(name).name)
        return next(job for job in self.jobs() if job["name"] == name)

    def _run_job(self, name: str) -> str:
        from vaultmem.agent.jobs import find_job

        try:
            with self.vault() as vault:
                return find_job(name).run(vault)
        finally:
            self._reminders.changed()  # jobs announce changes and ask on the page
            self.changes.count("jobs")

    def jobs(self) -> list[JobState]:
        """The jobs with their next and last runs."""
        from vaultmem.agent.jobs import ledger, listing

        return listing(self.config, self._scheduler or ledger(self.folder), clock.seconds())

    def status(self) -> AgentStatus:
        """The state of the agent, as data."""
        now = time.time()
        return {
            "pid": os.getpid(), "version": self._program, "socket": paths.socket_path(self.folder),
            "started": round(self._started), "uptime": round(now - self._started),
            "current": self.reconciler.is_current(), "indexing": self.reconciler.stage.as_dict(),
            "waiting": self.reconciler.waiting(), "vanished": self.reconciler.vanished,
            "embedding": self.embedding.as_dict(), "model": self._model(), "memory_bytes": machine.resident_bytes(),
            "watching": None if self._watcher is None else self._watcher.as_dict(),
            "idle": bool(self._surroundings and self._surroundings.idle()), "jobs": self.jobs(),
            "reminders": self._reminders.status(), "requests": self._server.served if self._server else 0,
            "connections": self._server.connections() if self._server else 0, "last_error": self._last_error(),
        }  # fmt: skip

    def _model(self) -> ModelState:
        opened = self._pool.shared.opened()
        return {
            "name": opened.model.name if opened else self.config.text("embedding.model"),
            "loaded": self._pool.shared.loaded() is not None,
            "trouble": self.embedding.trouble,
        }

    # Used by the vault of a request

    def idle_seconds(self) -> float:
        """Seconds since the last edit or request."""
        return time.monotonic() - max(self.reconciler.last_edit, self._throttle.last_request)

    def index_writes(self, within: float = WRITES_WITHIN) -> bool:
        """Index what was written through the agent. Returns whether that finished in time."""
        is_short = self.reconciler.stage.total <= FIRST_BATCH
        return self.reconciler.writes.wait(within if is_short else BUSY_WITHIN)

    def sync_now(self, *, rebuild: bool, confirmed: bool) -> Report:
        """Compare the whole vault now; raises what a sync raises."""
        return self.reconciler.order(rebuild=rebuild, confirmed=confirmed).result()

    def embed_now(self) -> Embedded:
        """Wait until all waiting blocks are embedded."""
        before = self.embedding.embedded
        self.embedding.add_all()
        self.embedding.wait_heard(EMBED_WITHIN)
        opened = self._pool.shared.opened()
        trouble = self.embedding.trouble
        blocks = self.embedding.embedded - before
        return Embedded(blocks, opened.model.name if opened and not trouble else None, trouble)

    def remarks(self, *, semantic: bool) -> list[str]:
        """Remarks on what searches may miss while the index is behind."""
        remarks = []
        if self.reconciler.writes.is_behind():
            what = "the latest writes are still being indexed"
            remarks.append(f"{what}; try again in a moment")
        stage = self.reconciler.stage
        self._complete = self._complete or self._state.is_complete()
        if not self._complete:
            far = f" ({stage.done:,} of {stage.total:,} notes)" if stage.total else ""
            remarks.append(f"the first indexing is not finished{far}; more will be found soon")
        if self.reconciler.vanished:
            remarks.append(self.reconciler.vanished)
        waiting = self.embedding.waiting()
        if semantic and waiting and not self.embedding.trouble:
            lacks = "search by meaning misses them until then"
            remarks.append(f"{plural(waiting, 'block')} waiting to be embedded; {lacks}")
        return remarks

    def _woke(self) -> None:
        """Compare the whole vault after the computer has slept."""
        log.info("awake again; comparing the whole vault")
        self.reconciler.look_at_all()
        self._reminders.woke()
