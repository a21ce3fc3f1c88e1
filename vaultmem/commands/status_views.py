"""vaultmem status, doctor and jobs: the state of the index, the vault and the agent."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable

from vaultmem import config as settings
from vaultmem import now as clock
from vaultmem import plugins
from vaultmem.api import Vault
from vaultmem.client import NO_SIGN, OTHER_VERSION, ask, call, is_of_other_version
from vaultmem.commands.rendering import show_report, vault_of, warn
from vaultmem.errors import UsageError, VaultmemError
from vaultmem.light import TYPE_CHECKING, cast
from vaultmem.output import Output, table
from vaultmem.text.times import format_duration
from vaultmem.text.values import plural

if TYPE_CHECKING:
    from types import SimpleNamespace as Namespace
    from typing import Any

    from vaultmem.agent.jobs import Job, JobState
    from vaultmem.pending.approving import Overview
    from vaultmem.service.agent_health import AgentStatus, ModelState

    Rows = list[tuple[str, str]]
    Facts = dict[str, Any]

UNHEALTHY = "unhealthy"
MOST_PLACES = 5  # places listed per finding
ANSWER = 5.0  # seconds; a longer silence counts as no agent
_NO_MEMORIES: Overview = {
    "memory_count": 0, "archived": 0, "phases": {}, "categories": {}, "scopes": {}, "history": None,
}  # fmt: skip
_STYLES = {"error": "red", "warning": "yellow", "note": "cyan"}  # of findings, worst first


def status(args: Namespace, output: Output) -> int:
    """Print what is indexed, how fresh it is, and what the agent is doing. Reads only the index, never the notes."""
    packages = plugins.health()
    with args.vault if isinstance(args.vault, Vault) else Vault(args.vault) as vault:
        agent, problem = _agent(vault)
        index = _index(vault) if vault.is_indexed() else {}
        memories = _NO_MEMORIES  # without a memory folder, load nothing more
        if os.path.isdir(os.path.join(vault.path, vault.config.text("memory_folder"))):
            memories = vault.overview()
        facts: Facts = {
            "status": "not indexed", "vault": vault.path, "state": vault.state.folder, **index,
            "memory_count": memories["memory_count"], "memories": memories, "agent": agent,
        }  # fmt: skip
        for package in packages:
            facts = {**facts, **package.facts(vault.state.folder)}
        output.answer(facts)
        if output.as_json and problem:
            output.remark(problem)
        if index:
            _show_index(facts, vault.counts(), output)
        else:
            advice = "the agent is reading it" if agent else "run vaultmem sync"
            if is_of_other_version(vault.path):
                advice = OTHER_VERSION
            output.line(f"{vault.path} is not indexed yet; {advice}")
    rows = [
        *_memory_rows(memories),
        *(row for installed in packages for row in installed.rows(facts)),
    ]
    _show_rows([*rows, *agent_rows(agent, problem)], output)
    return int(facts["status"] == UNHEALTHY)


def _agent(vault: Vault) -> tuple[AgentStatus | None, str]:
    """The agent's own status, and why it gives none although it runs."""
    try:
        return vault.agent(), ""
    except VaultmemError as error:
        reason = str(error)
        hangs = NO_SIGN in reason  # which names the remedy itself
        return None, NO_SIGN if hangs else f"{reason}; vaultmem restart starts another"


def _index(vault: Vault) -> Facts:
    """The state of the index; sizes in bytes."""
    embedded, embeddable, problem = vault.embedded()
    shared, second = vault.shared_index(), vault.second_model()
    return {
        "status": UNHEALTHY if shared and shared.problem else "healthy",
        "synced": vault.synced(), "dialects": vault.dialects(),
        "index_bytes": folder_bytes(vault.state.generation() or ""),
        "vector_bytes": folder_bytes(vault.state.path("vec")), **vault.counts(), "embedded": embedded,
        "embeddable": embeddable, "model": vault.config["embedding.model"], "model_trouble": problem,
        **({"other_scripts": second._asdict()} if second else {}),
        **({"shared_index": {"backend": vault.config["index.backend"], **shared._asdict()}} if shared else {}),
    }  # fmt: skip


def folder_bytes(folder: str) -> int:
    """The size of all files below a folder."""
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):  # another process just removed the file
                total += os.path.getsize(os.path.join(place, name))
    return total


def _show_index(index: Facts, counts: dict[str, int], output: Output) -> None:
    age = "never" if index["synced"] is None else ago(clock.seconds() - index["synced"])
    blocks = f"{index['embedded']:,} of {index['embeddable']:,} blocks, model {index['model']}"
    sizes = f"{_megabytes(index['index_bytes'])}, vectors {_megabytes(index['vector_bytes'])}"
    output.line(output.paint(index["vault"], "bold"))
    read_by = ", ".join(index["dialects"]) or "none"
    rows = [
        ("synced", age),
        ("dialect", read_by),
        *((name.replace("_", " "), f"{n:,}") for name, n in counts.items()),
    ]
    _show_rows([*rows, ("embedded", blocks), ("index", sizes), ("state", index["state"])], output)
    if index["model_trouble"]:
        output.line(f"  {index['model_trouble']}")
    if second := index.get("other_scripts"):
        those = f"{second['embedded']:,} of {second['blocks']:,} blocks, model {second['model']}"
        _show_rows([("other scripts", second["problem"] or those)], output)
    if shared := index.get("shared_index"):
        waiting = plural(shared["waiting"], "block")
        _show_rows([("shared index", f"{shared['backend']}, {waiting} waiting")], output)
        if shared["problem"]:
            output.line(f"  {shared['problem']}")


def _show_rows(rows: Iterable[tuple[str, str]], output: Output) -> None:
    for row in table((f"  {name:<15}", text) for name, text in rows):  # as "conflict copies"
        output.line(row)


def _memory_rows(memories: Overview) -> Rows:
    """The memories, and why they have no history, if so."""
    inbox = memories["phases"].get("inbox", 0)
    in_inbox = f" ({inbox:,} in the inbox)" if inbox else ""
    archived = f", {memories['archived']:,} archived" if memories["archived"] else ""
    rows = [("memories", f"{memories['memory_count']:,}{in_inbox}{archived}")]
    return [*rows, ("history", memories["history"])] if memories["history"] else rows


def agent_rows(agent: AgentStatus | None, problem: str) -> Rows:
    """The agent: one line if it is well, and a line for each problem."""
    if problem:
        return [("agent", problem)]
    if agent is None:
        return [("agent", "not running; vaultmem start starts it")]
    age = format_duration(agent.get("uptime", 0))
    rows = [("agent", f"running (pid {agent.get('pid')}), up {age}, {_activity(agent)}")]
    size, model = agent.get("memory_bytes"), agent.get("model")
    if size and model:
        rows.append(("memory", f"{_megabytes(size)}, {_model(model)}"))
    watching = agent.get("watching")
    if watching and (watching["trouble"] or not watching["alive"]):
        rows.append(("watching", watching["trouble"] or "not at the moment"))
    if jobs := agent.get("jobs"):
        failed = [job["name"] for job in jobs if job["ok"] is False]
        names = f", failed: {', '.join(failed)} (vaultmem jobs)" if failed else ""
        rows.append(("jobs", f"{len(jobs)}{names}"))
    if reminders := agent.get("reminders"):
        if reminders["next"]:
            rows.append(("next reminder", reminders["next"][:16].replace("T", " ")))
        rows += [("reminders", reason) for reason in reminders["troubles"]]
    if last := agent.get("last_error"):
        when = ago(clock.seconds() - last["time"])
        rows.append((f"last {last['level']}", f"{when}: {last['message']}"))
    return rows


def _activity(agent: AgentStatus) -> str:
    if vanished := agent.get("vanished"):
        return f"waiting: {vanished}"
    if indexing := agent.get("indexing"):
        of = f" of {indexing['total']:,}" if indexing["total"] else ""
        text = f"{indexing['stage']} {indexing['done']:,}{of}"
    elif paths_left := agent.get("waiting"):
        text = f"{plural(paths_left, 'path')} to read"
    else:
        text = "index is current" if agent.get("current", True) else "looking for changes"
    embedding = agent.get("embedding")
    blocks = embedding["waiting"] if embedding else 0
    return f"{text}, {plural(blocks, 'block')} to embed" if blocks else text


def _model(model: ModelState) -> str:
    return model["trouble"] or f"model {model['name']} {'' if model['loaded'] else 'not '}loaded"


def _megabytes(size: int) -> str:
    return f"{size / 1e6:.1f} MB"


def ago(seconds: float) -> str:
    """A past moment, for a person."""
    return f"{format_duration(seconds)} ago" if seconds >= 60 else "just now"


# --- doctor


def doctor(args: Namespace, output: Output) -> int:
    """Examine the installation, the state, the notes and the agent. Changes nothing."""
    from vaultmem.service import agent_health
    from vaultmem.service.doctor import examine

    with Vault(args.vault) as vault:
        findings = examine(vault)
        sound = all(finding.severity != "error" for finding in findings)
        findings += agent_health.examine(vault, readable=sound)
    findings.sort(key=lambda finding: [*_STYLES].index(finding.severity))
    healthy = all(finding.severity != "error" for finding in findings)
    output.answer({"healthy": healthy, "findings": [finding._asdict() for finding in findings]})
    if not findings:
        output.line("all is well")
    for finding in findings:
        most = len(finding.places) if args.all else MOST_PLACES
        output.line(f"{output.paint(finding.severity, _STYLES[finding.severity])}  {finding.what}")
        for place in finding.places[:most]:
            output.line(output.paint(f"    {place}", "dim"))
        if len(finding.places) > most:
            output.line(output.paint(f"    and {len(finding.places) - most} more (--all)", "dim"))
        output.line(f"    → {finding.advice}")
    return 0 if healthy else 1


# --- jobs


def jobs(args: Namespace, output: Output) -> int:
    """List the jobs of the agent, or run one."""
    from vaultmem.agent.jobs import JOBS, find_job

    if args.what not in (None, "run"):
        raise UsageError(f"{args.what!r} is not something jobs can do; see vaultmem jobs --help")
    if args.what is None and args.dry_run:
        raise UsageError("--dry-run goes with jobs run NAME")
    if args.what is None:
        return _list_jobs(args, output)
    if args.name is None:
        raise UsageError(f"jobs run needs a NAME: {', '.join(JOBS)}")
    job = find_job(args.name)
    if not args.dry_run:
        return _run_job(args, job, output)
    if job.preview:
        with vault_of(args, output) as opened:
            show_report(job.preview(opened), output)
        return 0
    plan = {"name": job.name, "meaning": job.meaning, "dry_run": True}
    output.result(plan, f"{job.name} {job.meaning}; it has no preview, and nothing was done")
    return 0


def _list_jobs(args: Namespace, output: Output) -> int:
    from vaultmem.agent import jobs as agent_jobs

    vault = settings.choose_vault(args.vault)
    reply = ask(vault, "jobs", {}, timeout=ANSWER)
    ping = ask(vault, "ping", {}, timeout=ANSWER) if reply else None
    ledger = agent_jobs.ledger(vault)
    now = clock.seconds()
    listed = reply["jobs"] if reply else agent_jobs.listing(settings.load(vault), ledger, now)
    output.answer({"jobs": listed, "count": len(listed), "agent": ping and ping["pid"]})
    rows = [_job_row(job, now) for job in listed]
    for row in table([("job", "when", "next", "last", "result"), *rows]):
        output.line(row)
    for _, notice in ledger.notices():
        output.note(notice)
    if not reply:
        output.note("the agent is not running, so no jobs run; vaultmem start starts it")
    return 0


def _job_row(job: JobState, now: float) -> tuple[str, ...]:
    last, coming = job["last_run"], job["next_run"]
    result = job["last_result"] or ""
    if job["ok"] is False:
        result = f"failed: {result}"
    if job["waiting_for"]:
        result = f"waiting: {job['waiting_for']}" + (f" ({result})" if result else "")
    ahead, before = "never", "never" if last is None else ago(now - last)
    if coming is not None:
        ahead = f"in {format_duration(coming - now)}" if coming - now >= 1 else "now"
    return job["name"], job["schedule"], "running" if job["running"] else ahead, before, result


def _run_job(args: Namespace, job: Job, output: Output) -> int:
    vault = settings.choose_vault(args.vault)
    reply = call(vault, "jobs.run", {"name": job.name}, timeout=None)
    done = cast("JobState", reply) if reply else _run_here(vault, job, output)
    if output.as_json:
        output.data(done)
        return 0 if done["ok"] else 1
    if not done["ok"]:
        problem = "failed" if done["ok"] is False else "has done nothing"
        raise VaultmemError(f"the job {job.name} {problem}: {done['last_result']}")
    output.line(f"{job.name}: {done['last_result']}")
    return 0


def _run_here(folder: str, job: Job, output: Output) -> JobState:
    """Run a job in this process as the agent would, and record its run."""
    import logging

    from vaultmem.agent import jobs as agent_jobs
    from vaultmem.ledger.ledger import Runs

    logging.getLogger("vaultmem.agent.jobs").addHandler(logging.NullHandler())  # in the answer
    with Vault(folder) as vault:
        warn(vault, output)
        runs = Runs(agent_jobs.ledger(folder))
        runs.remember([job.name])
        runs.carry_out(job.name, lambda: job.run(vault))
        listed = agent_jobs.listing(vault.config, runs, clock.seconds())
    return next(entry for entry in listed if entry["name"] == job.name)
