"""Notices: before a job archives a fact or a preference for its age, the pending page announces it for seven days.

The day of archiving is stored in the ledger, so neither a rebuilt index nor a computer that was off shortens the
notice. A tick keeps the memory: it loses its end and is marked as stable.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from vaultmem.dreams.classify import file_all
from vaultmem.ledger import reads
from vaultmem.memories.draft import LEAVING, NOTICE, Finding, Plan
from vaultmem.memories.item_answers import DONE, SNOOZED, Answer, is_asleep, leaving_id
from vaultmem.memories.model import INBOX, Memory
from vaultmem.memories.reports import Settled, report_planned
from vaultmem.memories.store import YOU, Session
from vaultmem.vault.batch_record import Header

_NOT_NOW = "9999-12-31"


def notices(session: Session) -> dict[str, str]:
    """The notices in force: the day of archiving, by id. Ticked ones are handled first."""
    now = session.local_time
    answers = session.store.pending.answers(now)
    keep_ticked(session, answers, Settled())
    results: dict[str, str] = {}
    for row in reads.findings(session.store.ledger, *LEAVING):
        answer = answers.get(leaving_id(row))
        state = answer.state if answer else ""
        if state == DONE or is_asleep(answer, now.isoformat()[:16]):
            results[row["ids"][0]] = _NOT_NOW
        elif state != SNOOZED:
            results[row["ids"][0]] = row["leaves"]
    return results


def announce(
    session: Session, job: str, values: Mapping[str, str], items: Iterable[Finding]
) -> None:
    """Record notices of memories that a job will archive soon, and drop past ones."""
    kinds = LEAVING if job == "consolidate" else {job} & {*LEAVING}  # also takes their steps
    if not kinds:
        return
    every = reads.findings(session.store.ledger, *LEAVING)
    announced = {row["ids"][0]: row["leaves"] for row in every if row["ids"][0] in values}
    day = (session.local_time + NOTICE).date().isoformat()
    rows: list[Finding] = [
        {**item, "leaves": announced.get(item["ids"][0], day)}
        for item in items
        if item["kind"] in LEAVING
    ]
    reads.keep_findings(session.store.ledger, kinds, rows, session.now)


def keep_ticked(
    session: Session, answers: Mapping[str, Answer], settled: Settled, *, dry_run: bool = False
) -> None:
    """Keep the memories whose notice was ticked."""
    open_, done = [], len(settled.done)
    live = {other.id: other for other in session.store.collection.live()}
    for row in reads.findings(session.store.ledger, *LEAVING):
        id_ = leaving_id(row)
        answer = answers.get(id_)
        memory = live.get(row["ids"][0])
        if answer is None or answer.state != DONE or memory is None:
            open_.append(row)
        elif dry_run:
            settled.add_changes(id_, report_planned(session, _plan(session, memory)))
        elif not _carry_out(session, id_, memory, settled):
            open_.append(row)
    if len(settled.done) > done:
        reads.keep_findings(session.store.ledger, LEAVING, open_, session.now)


def _carry_out(session: Session, id_: str, memory: Memory, settled: Settled) -> bool:
    plan = _plan(session, memory)
    outcome = session.carry_out(
        plan, Header(YOU, "person", f"kept: {memory.title}"[:200], session.now)
    )
    if outcome.skipped:
        path, reason = outcome.skipped[0]
        settled.skip(id_, path, reason)
        return False
    path = plan.changes[0].target if plan.changes else memory.path
    settled.done.append({"due": id_, "text": memory.title, "path": path, "action": "kept"})
    return True


def _plan(session: Session, memory: Memory) -> Plan:
    draft = session.draft()
    draft.set(memory, "kept", expires_at=None, decay_policy="stable")
    if memory.phase == INBOX:
        file_all(draft, [memory])
    return draft.plan("keep")
