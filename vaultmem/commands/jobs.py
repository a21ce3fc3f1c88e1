"""vaultmem jobs: what the agent does by itself, when next, and how it went last; run one now."""

from __future__ import annotations

from vaultmem import config as settings
from vaultmem import now as clock
from vaultmem import paths
from vaultmem.agent import jobs
from vaultmem.api import Vault
from vaultmem.client import NO_ANSWER, UNKNOWN_METHOD, AgentError, call
from vaultmem.commands.shared import say_warnings
from vaultmem.errors import UsageError, VaultmemError
from vaultmem.memories.ledger import Runs
from vaultmem.output import Output, table
from vaultmem.text import times
from vaultmem.text.values import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

ANSWER = 5.0  # seconds; an agent that is silent for longer is as good as none


def run(args: argparse.Namespace, output: Output) -> int:
    """List the jobs, or run one."""
    if args.what not in (None, "run"):
        raise UsageError(f"{args.what!r} is nothing that jobs can do; see vaultmem jobs --help")
    if args.what is None:
        if args.dry_run:
            raise UsageError("--dry-run goes with jobs run NAME")
        return _list(args, output)
    if args.name is None:
        raise UsageError(f"jobs run needs a NAME: {', '.join(jobs.JOBS)}")
    job = jobs.named(args.name)
    return _dry_run(job, output) if args.dry_run else _run(args, job, output)


def _list(args: argparse.Namespace, output: Output) -> int:
    vault = paths.choose_vault(args.vault, settings.load(None).text("vault"))
    told = _ask(vault, "jobs", {}, timeout=ANSWER)
    found = told.get("jobs")
    pid = _ask(vault, "ping", {}, timeout=ANSWER).get("pid") if told else None
    if not isinstance(found, list):
        config, pid = settings.load(vault), None
        found = [one._asdict() for one in jobs.listing(config, jobs.ledger(vault), clock.seconds())]
    if output.as_json:
        output.data({"jobs": found, "count": len(found), "agent": pid})
        return 0
    rows = [
        ("job", "when", "next", "last", "result"),
        *(_row(one, clock.seconds()) for one in found),
    ]
    for row in table(rows):
        output.line(row)
    for said in (text for _, text in jobs.ledger(vault).notices()):
        output.remark(f"vaultmem: {said}")
    if not told:
        output.remark("vaultmem: no agent runs, so no job does; vaultmem start starts one")
    return 0


def _row(job: dict[str, object], now: float) -> tuple[str, ...]:
    last, coming = job["last_run"], job["next_run"]
    said = str(job["last_result"] or "")
    if job["ok"] is False:
        said = f"failed: {said}"
    if job["waiting_for"]:
        said = f"waiting: {job['waiting_for']}" + (f" ({said})" if said else "")
    ahead = _span(coming, now, "in {}", "now") if coming is not None else "never"
    return (
        str(job["name"]),
        str(job["schedule"]),
        "running" if job["running"] else ahead,
        _span(now, last, "{} ago", "just now") if last is not None else "never",
        said,
    )


def _span(later: object, earlier: object, words: str, at_once: str) -> str:
    if not isinstance(later, (int, float)) or not isinstance(earlier, (int, float)):
        return ""
    span = later - earlier
    return words.format(times.format_duration(span)) if span >= 1 else at_once


def _ask(
    vault: str, method: str, params: dict[str, object], timeout: float | None
) -> dict[str, object]:
    """What the agent says; nothing when there is none, or one of another age."""
    try:
        reply = call(vault, method, params, timeout=timeout)
    except AgentError as error:
        if error.code in (NO_ANSWER, UNKNOWN_METHOD) and timeout is not None:
            return {}
        raise VaultmemError(str(error)) from error
    return reply if isinstance(reply, dict) else {}


def _dry_run(job: jobs.Job, output: Output) -> int:
    if output.as_json:
        output.data({"name": job.name, "meaning": job.meaning, "dry_run": True})
    else:
        output.line(f"{job.name} {job.meaning}; nothing was done")
    return 0


def _run(args: argparse.Namespace, job: jobs.Job, output: Output) -> int:
    vault = paths.choose_vault(args.vault, settings.load(None).text("vault"))
    done = _ask(vault, "jobs.run", {"name": job.name}, timeout=None) or _run_here(
        vault, job, output
    )
    if output.as_json:
        output.data(done)
    elif done.get("ok"):
        output.line(f"{job.name}: {done.get('last_result')}")
    if not done.get("ok"):
        said = f"the job {job.name} failed: {done.get('last_result')}"
        if not output.as_json:
            raise VaultmemError(said)
        return 1
    return 0


def _run_here(folder: str, job: jobs.Job, output: Output) -> dict[str, object]:
    """Run a job in this process, as the agent would, and write its run down for it."""
    with Vault(folder) as vault:
        say_warnings(output, vault)
        runs = Runs(jobs.ledger(folder))
        runs.remember([job.name])
        runs.carry_out(job.name, lambda: job.run(vault))
        listed = jobs.listing(vault.config, runs, clock.seconds())
    return next(one for one in listed if one.name == job.name)._asdict()
