"""Possible problems around a vault's agent, and the command for each: seen from outside, with or without an agent."""

from __future__ import annotations

import os
import shlex
import stat
from collections.abc import Iterator
from contextlib import closing, suppress

from vaultmem import machine, paths, plugins
from vaultmem import now as clock
from vaultmem.api import Vault
from vaultmem.errors import StateError, VaultmemError
from vaultmem.index.catalog import Catalog, catalog_errors
from vaultmem.index.state import State
from vaultmem.light import TYPE_CHECKING, TypedDict
from vaultmem.reminders.alarms import notification_findings
from vaultmem.service import log, service
from vaultmem.service.doctor import Finding, to_run
from vaultmem.service.life import holder, installed_service
from vaultmem.text.values import plural, value
from vaultmem.vault import watch_events

if TYPE_CHECKING:
    from vaultmem.adapter import JsonObject
    from vaultmem.agent.embedding import EmbedState
    from vaultmem.agent.events import Stage
    from vaultmem.agent.jobs import JobState
    from vaultmem.agent.memory_threads import ReminderState
    from vaultmem.vault.watch import WatchState

DAY = 86_400
RECENT = 2 * DAY
MUCH_MEMORY = 1_500_000_000
RESTART, START, INSTALL = "vaultmem restart", "vaultmem start", "vaultmem service install"


ModelState = TypedDict("ModelState", {"name": str, "loaded": bool, "trouble": "str | None"})
"""The model, and why it cannot be used."""


class AgentStatus(TypedDict, total=False):
    """An agent's own report; one of another version may report less."""

    pid: int
    version: str
    socket: str
    started: int
    uptime: int
    current: bool
    indexing: Stage | None
    waiting: int
    vanished: str | None
    embedding: EmbedState
    model: ModelState
    memory_bytes: int | None
    watching: WatchState | None
    idle: bool
    jobs: list[JobState]
    reminders: ReminderState
    requests: int
    connections: int
    last_error: log.LastError | None


@value
class Seen:
    """What the rules below judge: the vault, its agent's status (None: no answer), the moment."""

    vault: Vault
    agent: AgentStatus | None
    now: float
    readable: bool = True  # the index

    @property
    def state(self) -> str:
        """The state folder."""
        return self.vault.state.folder


def examine(vault: Vault, *, readable: bool) -> list[Finding]:
    """Every problem of the agent that can be found without changing anything; `readable` is the index."""
    seen = Seen(vault, _status(vault), clock.seconds(), readable and vault.is_indexed())
    rules = (
        _lock, _version, _watching, _work, _reminders, _last_error, _folders, _service, _age,
    )  # fmt: skip
    return [finding for rule in rules for finding in rule(seen)]


def _status(vault: Vault) -> AgentStatus | None:
    try:
        return vault.agent()
    except VaultmemError:  # it hangs, or is just ending
        return None


def _lock(seen: Seen) -> Iterator[Finding]:
    if seen.agent is not None:
        return
    held = holder(seen.state)
    if held and held.is_agent:
        yield to_run("error", f"the agent (process {held.pid}) does not answer", RESTART)
    elif held and held.pid is None:
        what = "the index is locked by a process that cannot be identified"
        lock = os.path.join(seen.state, "lock")
        yield Finding("warning", what, f"lsof {shlex.quote(lock)} tells which; end it")


def _version(seen: Seen) -> Iterator[Finding]:
    if seen.agent and (version := seen.agent.get("version")) != (own_version := machine.program()):
        what = f"the agent is of version {version}, this command of {own_version}"
        yield to_run("warning", what, RESTART)


def _watching(seen: Seen) -> Iterator[Finding]:
    agent = seen.agent or {}
    watching = agent.get("watching")
    if not watching:
        return
    trouble = watching["trouble"] or "no reason is known"
    if not watching["alive"]:
        what = f"the agent does not notice changes to notes ({trouble}); it looks every few minutes"
        yield to_run("warning", what, RESTART)
    elif not watching["whole"]:
        what = f"the agent does not watch all folders ({trouble}); it looks there every few minutes"
        yield Finding("warning", what, _more_watches())


def _more_watches() -> str:
    if not os.path.exists(watch_events.LIMITS):
        return RESTART
    number = watch_events.higher_limit("max_user_watches", 524_288)
    return (
        f"echo fs.inotify.max_user_watches={number} | sudo tee /etc/sysctl.d/60-vaultmem.conf && "
        "sudo sysctl --system && vaultmem restart"
    )


def _work(seen: Seen) -> Iterator[Finding]:
    agent = seen.agent or {}
    if vanished := agent.get("vanished"):
        back = "mount the drive or bring the notes back"
        advice = f"{back}; if they are meant to be gone: vaultmem sync --confirm-removals"
        yield Finding("error", f"the agent has stopped reading: {vanished}", advice)
    size = agent.get("memory_bytes") or 0
    if size > MUCH_MEMORY:
        yield to_run("warning", f"the agent uses {size / 1e9:.1f} GB of memory", RESTART)
    for job in agent.get("jobs", []):
        if job["ok"] is False:
            what = f"the job {job['name']} failed: {job['last_result']}"
            yield to_run("warning", what, f"vaultmem jobs run {job['name']}")


def _reminders(seen: Seen) -> Iterator[Finding]:
    """Whether reminders can be shown here, according to the agent."""
    if seen.agent is None:
        for what, advice in notification_findings(seen.vault.config, seen.vault.state):
            yield Finding("note", what, advice)
        return
    reminders = seen.agent.get("reminders")
    for trouble in reminders["troubles"] if reminders else ():
        what, _, advice = trouble.partition("; ")
        yield Finding(
            "warning",
            f"reminders: {what}",
            advice or "once that is mended the agent goes on; vaultmem restart has it try at once",
        )


def _last_error(seen: Seen) -> Iterator[Finding]:
    error = (seen.agent or {}).get("last_error")
    if error is None or error["level"] != "error" or seen.now - error["time"] > RECENT:
        return
    hours = max(0, int((seen.now - error["time"]) // 3600))
    when = f"{plural(hours, 'hour')} ago" if hours else "within the last hour"
    where = shlex.quote(log.log_file(seen.state))
    advice = f"if it comes again: vaultmem restart; what led to it: tail -n 50 {where}"
    yield Finding("note", f"the agent's last error, {when}: {error['message']}", advice)


def _folders(seen: Seen) -> Iterator[Finding]:
    run = os.path.dirname(paths.socket_path(seen.vault.path))
    for folder in (seen.state, run, os.path.join(seen.state, "log")):
        try:
            status = os.lstat(folder)
        except OSError:
            continue
        typed = shlex.quote(folder)
        if status.st_uid != os.getuid():
            what = f"{folder} belongs to another user; the agent cannot use it"
            yield Finding("error", what, f'sudo chown -R "$USER" {typed}')
        elif not stat.S_ISDIR(status.st_mode):
            yield Finding("error", f"{folder} is not a folder", f"rm {typed}")
        elif status.st_mode & 0o077:
            what = f"other users can read {folder}"
            yield Finding("warning", what, f"chmod 700 {typed}")


def _service(seen: Seen) -> Iterator[Finding]:
    installed = installed_service(seen.vault.path)
    if installed is None:
        return
    python = service.interpreter(installed)
    if python is None or not os.path.exists(python):
        what = f"the service {installed.name} starts {python or 'no Python'}, which is not there"
        yield to_run("error", what, INSTALL)
    elif seen.agent is None and holder(seen.state) is None:
        what = f"the service {installed.name} is installed, but no agent is running"
        yield to_run("warning", what, START)


def freshness(state: State) -> JsonObject:
    """When the index was last compared with the notes, in seconds since 1970, and how the proxy's recalls ended."""
    synced = None
    generation = state.generation()
    if generation:
        place = f"{generation}/catalog.db"
        with suppress(StateError), catalog_errors(), closing(Catalog(place)) as catalog:
            synced = catalog.meta("synced")
    facts: JsonObject = {}
    for check in plugins.health():
        facts = {**facts, **check.facts(state.folder)}
    return {"synced": int(synced) if synced else None, "recalls": facts.get("proxy", {})}


def _age(seen: Seen) -> Iterator[Finding]:
    if seen.agent is not None or not seen.readable:
        return
    synced = seen.vault.synced()
    if synced and seen.now - synced > DAY:
        what = f"the index is {plural(int((seen.now - synced) // DAY), 'day')} old, and no agent keeps it fresh"
        advice = "vaultmem start, or vaultmem service install to have it at every login"
        yield Finding("warning", what, advice)
