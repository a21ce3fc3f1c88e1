"""What a job asks about before it does it, because nobody watches: age is reckoned by a clock that may be wrong."""

from __future__ import annotations

from datetime import datetime

from vaultmem.core.answers import DONE
from vaultmem.core.changes import ARCHIVE, Plan
from vaultmem.core.wording import plural
from vaultmem.errors import VaultmemError
from vaultmem.memories.desk import Session
from vaultmem.reminders.review import HALTED, halted_id
from vaultmem.store import reviews
from vaultmem.store.clock import next_time

SHARE, FEW = 0.2, 5  # of all memories, archived at once
LATE = 14 * 86_400.0  # seconds


def check(session: Session, job: str, plan: Plan) -> None:
    """Raise VaultmemError when the job has to wait until a person has said that the plan is right, which is asked on
    the page of pending items. It is no run that ended well, so the next one finds the clock as strange."""
    ran = _last_run(session, job)
    _ask(session, "clock", _strange_clock(session, job, ran), ran)
    _ask(session, job, _too_many(session, job, plan), ran)


def _last_run(session: Session, job: str) -> float:
    """When it last ended well; of one that never did, when it was first planned."""
    run = session.desk.ledger.runs().get(job)
    if run is None:
        return session.now
    return run.seen if run.last_ok is None else run.last_ok


def _strange_clock(session: Session, job: str, ran: float) -> str:
    due = next_time(session.desk.config.text(f"jobs.{job}"), ran, ran)
    if session.now - (ran if due is None else due) <= LATE:
        return ""
    before, now = (
        f"{datetime.fromtimestamp(at).astimezone():%Y-%m-%d}" for at in (ran, session.now)
    )
    return f"the clock says {now}, and the jobs that archive memories ran last on {before}"


def _too_many(session: Session, job: str, plan: Plan) -> str:
    going = sum(change.action == ARCHIVE for change in plan.changes)
    going += plan.left if going else 0
    there = len(session.view.memories())
    if going < FEW or going <= SHARE * there:
        return ""
    return f"{job} would archive {going:,} of {plural(there, 'memory', 'memories')} at once"


def _ask(session: Session, subject: str, doubt: str, ran: float) -> None:
    """Ask, unless that was answered since the job ran last; take back what is no question any more."""
    ledger = session.desk.ledger
    known = [one for one in reviews.findings(ledger) if one["kind"] == HALTED]
    mine = next((one for one in known if one["subject"] == subject), None)
    answers = session.desk.waiting.record.answers() if mine else {}
    answer = answers.get(halted_id(mine)) if mine else None
    is_agreed = answer is not None and answer.state == DONE
    others = [one for one in known if one is not mine]
    if not doubt:
        if mine and not is_agreed:
            reviews.keep_findings(ledger, [HALTED], others, session.now)
        return
    if mine is None or float(str(mine["at"])) < ran:
        mine = {"kind": HALTED, "subject": subject, "said": doubt, "at": session.now}
        reviews.keep_findings(ledger, [HALTED], [*others, mine], session.now)
    elif is_agreed:
        return
    raise VaultmemError(f"{doubt}; it waits until you have ticked that in what is pending")
