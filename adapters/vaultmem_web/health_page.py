"""The health page: findings with remedies, jobs, and tokens."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime

import htpy as h

from vaultmem import plugins
from vaultmem_server.tokens import TokenStore
from vaultmem_web import views
from vaultmem_web.actions import REMEDIES, RUN
from vaultmem_web.data import Record, Visit
from vaultmem_web.views import Page, button, when


async def health(visit: Visit) -> Page:
    """The findings of doctor with remedies, the jobs, sizes, and connected assistants."""
    t, reader = visit.t, visit.reader
    jobs, status = await asyncio.gather(reader.call("jobs"), reader.call("status"))
    titles = [assistant.title for assistant in plugins.assistants() if assistant.is_connected()]
    return Page(
        t("Health"),
        [
            views.section(t("The index"), _index(visit, status), button(visit, "sync", t("Compare now"))),
            views.section(t("Findings"), views.later(_findings(visit))),
            views.section(t("Jobs"), views.table(
                (t(name) if name else "" for name in ("job", "last run", "next run", "result", "")),
                (_job(visit, job) for job in jobs["jobs"]),
            )),
            views.section(t("Connected assistants"), views.rows(
                (h.li[title] for title in titles), t("None: vaultmem connect claude, or another."),
            )),
            views.section(t("Who may come in"), views.later(_tokens(visit))),
        ],
        "/health", "jobs",
    )  # fmt: skip


def _index(visit: Visit, status: Record) -> h.Element:
    t, agent = visit.t, status.get("agent") or {}
    done, all_ = int(status["embedded"]), int(status["embeddable"]) or 1
    waiting = (agent.get("embedding") or {}).get("waiting", 0)
    return views.facts([
        (t("notes"), f"{status['notes']:,}"),
        (t("memories"), f"{status['memory_count']:,}"),
        (t("by meaning"), [views.bar(done / all_, t("embedded")), f" {done:,} / {all_:,}"]),
        (t("waiting"), str(waiting)),
        (t("compared"), _day(status["synced"])),
        (t("size"), f"{(status['index_bytes'] + status['vector_bytes']) / 1e6:.1f} MB"),
        (t("agent"), f"{(agent.get('memory_bytes') or 0) / 1e6:.0f} MB"),
    ])  # fmt: skip


async def _findings(visit: Visit) -> h.Element:
    doctor = await visit.reader.command("doctor")
    return views.rows(
        (_finding(visit, finding) for finding in doctor["findings"]), visit.t("All is well.")
    )


def _finding(visit: Visit, finding: Record) -> h.Element:
    t = visit.t
    places = h.details[h.summary[t("Where")], h.ul[(h.li[place] for place in finding["places"])]]
    return views.row(
        "", [h.strong[finding["what"]], h.p[finding["advice"]], finding["places"] and places],
        _remedy(visit, str(finding["command"])),
        kind=f".{finding['severity']}",
    )  # fmt: skip


def _remedy(visit: Visit, command: str) -> h.Node:
    """The remedy: a button if it is safe to run from here, else the command to type."""
    deed = command.removeprefix("vaultmem ")
    if deed in REMEDIES or deed.startswith(RUN):
        return button(visit, "remedy", deed, command=command)
    return command and h.code[command]


def _job(visit: Visit, job: Record) -> Sequence[h.Node]:
    return (
        [h.strong[job["name"]], h.p(".labels")[visit.t(job["meaning"])]],
        _day(job["last_run"]), _day(job["next_run"]), job["waiting_for"] or job["last_result"],
        button(visit, "job", visit.t("Run"), name=job["name"]),
    )  # fmt: skip


async def _tokens(visit: Visit) -> h.Node:
    t, tokens = visit.t, TokenStore().all()
    if not tokens:
        return h.p(".empty")[t("No token was made: vaultmem token add NAME.")]
    return views.table(
        map(t, ("name", "scope", "acts as", "made", "ends")),
        ((token.name, token.scope, token.client or t("you"), _day(token.created), _day(token.expires)) for token in tokens),
    )  # fmt: skip


def _day(seconds: float | None) -> h.Node:
    """A time in seconds since 1970."""
    local = datetime.fromtimestamp(seconds or 0).astimezone()
    return when(local.isoformat(timespec="seconds") if seconds else "")
