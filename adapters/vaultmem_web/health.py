"""How the vault and the agent are: findings with their remedies, jobs, and who may come in."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import htpy as h

from vaultmem_assistants import hooks
from vaultmem_assistants.programs import HARNESSES
from vaultmem_server.tokens import TokenStore
from vaultmem_web.data import Record, Visit
from vaultmem_web.views import (
    Page,
    bar,
    day,
    facts,
    form,
)

# --- health


async def health(visit: Visit) -> Page:
    """What doctor finds with its remedies, the jobs, sizes, and who is connected."""
    t, reader = visit.t, visit.reader
    doctor, jobs, status = await asyncio.gather(
        reader.command("doctor"), reader.call("jobs"), reader.call("status")
    )
    agent = status.get("agent") or {}
    embedding = agent.get("embedding") or {}
    done, all_ = int(status["embedded"]), int(status["embeddable"]) or 1
    return Page(
        t("Health"),
        [
            h.section[h.h2[t("Findings")], _findings(visit, doctor["findings"])],
            h.section[
                h.h2[t("The index")],
                facts([
                    (t("notes"), f"{status['notes']:,}"),
                    (t("memories"), f"{status['memory_count']:,}"),
                    (t("by meaning"), [bar(done / all_, t("embedded")), f" {done:,} / {all_:,}"]),
                    (t("waiting"), str(embedding.get("waiting", 0))),
                    (t("compared"), day(status["synced"])),
                    (t("size"), f"{(status['index_bytes'] + status['vector_bytes']) / 1e6:.1f} MB"),
                    (t("agent"), f"{(agent.get('memory_bytes') or 0) / 1e6:.0f} MB"),
                ]),
                form(visit, "sync", h.button[t("Compare now")]),
            ],
            h.section[h.h2[t("Jobs")], _jobs(visit, jobs["jobs"])],
            h.section[h.h2[t("Connected assistants")], _connected(visit)],
            h.section[h.h2[t("Who may come in")], _tokens(visit)],
        ],
        "/health", "jobs",
    )  # fmt: skip


def _findings(visit: Visit, findings: Sequence[Record]) -> h.Node:
    if not findings:
        return h.p(".empty")[visit.t("All is well.")]
    return h.ul(".rows")[
        (
            h.li(f".row.{one['severity']}", tabindex="0")[
                h.div[
                    h.strong[one["what"]], h.p[one["advice"]],
                    one["places"] and h.details[
                        h.summary[visit.t("Where")], h.ul[(h.li[place] for place in one["places"])]
                    ],
                ],
                h.div(".buttons")["vaultmem sync" in one["advice"] and form(visit, "sync", h.button[visit.t("Compare now")])],
            ]
            for one in findings
        )
    ]  # fmt: skip


def _jobs(visit: Visit, jobs: Sequence[Record]) -> h.Element:
    t = visit.t
    return h.table[
        h.tr[(h.th(scope="col")[t(name)] for name in ("job", "last run", "next run", "result", ""))],
        (
            h.tr[
                h.td[h.strong[job["name"]], h.p(".labels")[job["meaning"]]],
                h.td[day(job["last_run"])], h.td[day(job["next_run"])],
                h.td[job["waiting_for"] or job["last_result"]],
                h.td[form(visit, "job", h.button[t("Run")], name=job["name"])],
            ]
            for job in jobs
        ),
    ]  # fmt: skip


def _connected(visit: Visit) -> h.Node:
    titles = [one.title for one in HARNESSES.values() if hooks.is_connected(one)]
    if not titles:
        return h.p(".empty")[visit.t("None: vaultmem connect claude, or another.")]
    return h.ul[(h.li[title] for title in titles)]


def _tokens(visit: Visit) -> h.Node:
    t, known = visit.t, TokenStore().all()
    if not known:
        return h.p(".empty")[t("No token was made: vaultmem token add NAME.")]
    return h.table[
        h.tr[(h.th(scope="col")[t(name)] for name in ("name", "scope", "acts as", "made", "ends"))],
        (
            h.tr[
                h.td[one.name], h.td[one.scope], h.td[one.client or t("you")], h.td[day(one.created)],
                h.td[day(one.expires)],
            ]
            for one in known
        ),
    ]  # fmt: skip
