"""The jobs on memories: each a plan of plain steps, shown or carried out."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import datetime

from vaultmem.errors import StateError, VaultmemError
from vaultmem.index import minilm
from vaultmem.memories import classify as upgrading
from vaultmem.memories import compress as compressing
from vaultmem.memories import dream as decaying
from vaultmem.memories import dream as dreaming
from vaultmem.memories import dream as expiring
from vaultmem.memories import leaving, links, reads, review
from vaultmem.memories import report as changed_note
from vaultmem.memories.adopt import leave_unquiet
from vaultmem.memories.asked import Asked
from vaultmem.memories.classify import UNSURE
from vaultmem.memories.desk import Session
from vaultmem.memories.draft import TO_ARCHIVE, Draft, Plan
from vaultmem.memories.dream import DEEP, LIGHT, MEDIUM
from vaultmem.memories.reports import Report, done, planned
from vaultmem.reminders import listing
from vaultmem.reminders.answers import DONE
from vaultmem.reminders.review import HALTED, halted_id
from vaultmem.text import times
from vaultmem.text.values import plural
from vaultmem.vault.batches import Header, Outcome

# What a job asks about before it does it, because nobody watches: age is reckoned by a clock that may be wrong.

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
    from vaultmem.agent.scheduler import next_time  # brings asyncio along

    due = next_time(session.desk.config.text(f"jobs.{job}"), ran, ran)
    if session.now - (ran if due is None else due) <= LATE:
        return ""
    before, now = (
        f"{datetime.fromtimestamp(at).astimezone():%Y-%m-%d}" for at in (ran, session.now)
    )
    return f"the clock says {now}, and the jobs that archive memories ran last on {before}"


def _too_many(session: Session, job: str, plan: Plan) -> str:
    going = sum(change.action == TO_ARCHIVE for change in plan.changes)
    going += plan.left if going else 0
    there = len(session.view.memories())
    if going < FEW or going <= SHARE * there:
        return ""
    return f"{job} would archive {going:,} of {plural(there, 'memory', 'memories')} at once"


def _ask(session: Session, subject: str, doubt: str, ran: float) -> None:
    """Ask, unless that was answered since the job ran last; take back what is no question any more."""
    ledger = session.desk.ledger
    known = [one for one in reads.findings(ledger) if one["kind"] == HALTED]
    mine = next((one for one in known if one["subject"] == subject), None)
    answers = session.desk.waiting.record.answers() if mine else {}
    answer = answers.get(halted_id(mine)) if mine else None
    is_agreed = answer is not None and answer.state == DONE
    others = [one for one in known if one is not mine]
    if not doubt:
        if mine and not is_agreed:
            reads.keep_findings(ledger, [HALTED], others, session.now)
        return
    if mine is None or float(str(mine["at"])) < ran:
        mine = {"kind": HALTED, "subject": subject, "said": doubt, "at": session.now}
        reads.keep_findings(ledger, [HALTED], [*others, mine], session.now)
    elif is_agreed:
        return
    raise VaultmemError(f"{doubt}; it waits until you have ticked that in what is pending")


_NOTICED = {
    LIGHT: (UNSURE,),
    MEDIUM: ("merged",),
    DEEP: ("contradiction", "fading", "cluster", "entity"),
}
Step = Callable[[Session, Draft], None]


def dream(session: Session, asked: Asked) -> Report:
    """Think over the memories: 1 files them, 2 also merges and links, 3 also looks across them."""
    level = asked.whole("level")
    desk, day = session.desk, session.view.now.date()
    if _is_old_news(session, asked, level):
        return {**_nothing(f"dream {level}"), "level": level}

    def step(session: Session, draft: Draft) -> None:
        options = _options(session)._replace(sessions=_sessions(session, asked))
        dreaming.dream(draft, level, options)

    report = _run(session, asked, f"dream {level}", step)
    if not asked.flag("dry_run"):
        _keep_findings(session, level, report)
        if level == DEEP:
            report["proposals"] = review.propose(session)
    report["findings"] = [
        one for one in _found(report) if one["kind"] != UNSURE
    ]  # a model is asked
    if not asked.flag("dry_run") and not report["changes"] and not report["left"]:
        desk.dreamt[level] = (desk.version, day)
    return {**report, "level": level}


def _is_old_news(session: Session, asked: Asked, level: int) -> bool:
    """Whether nothing has changed since a dream of that level had nothing more to do."""
    desk = session.desk
    dreamt = desk.dreamt.get(level) == (desk.version, session.view.now.date())
    return asked.flag("only_news") and dreamt


def _keep_findings(session: Session, level: int, report: Report) -> None:
    """Who was not there when a dream came can still see what it noticed. What it has filed without being sure no later
    dream files again: that is kept as long as it is there."""
    kinds = [kind for at, noticed in _NOTICED.items() if at <= level for kind in noticed]
    found = _found(report)
    known, at = {each["subject"] for each in found}, session.desk.collection.at
    older = [
        each
        for each in reads.findings(session.desk.ledger)
        if each["kind"] == UNSURE and each["subject"] not in known and at(str(each["subject"]))
    ]
    reads.keep_findings(session.desk.ledger, kinds, [*found, *older], session.now)


def _found(report: Report) -> list[dict[str, object]]:
    found = report["findings"]
    assert isinstance(found, list)
    return found


def _nothing(name: str) -> Report:
    return done(Plan(name), Outcome(None, (), ()))


def expire(session: Session, asked: Asked) -> Report:
    """Archive what has been in the inbox for too long, and what ends by its own word."""
    return _run(session, asked, "expire", _expire)


def decay(session: Session, asked: Asked) -> Report:
    """Archive what has faded and was never read."""
    return _run(session, asked, "decay", _decay)


def promote(session: Session, asked: Asked) -> Report:
    """File what is read again and again."""
    return _run(session, asked, "upgrade", _upgrade)


def resolve_links(session: Session, asked: Asked) -> Report:
    """Link memories both ways where one names another in its text."""
    return _run(session, asked, "resolve-links", lambda _, draft: links.resolve(draft))


def compress(session: Session, asked: Asked) -> Report:
    """Sum up old sessions."""

    def step(session: Session, draft: Draft) -> None:
        leave_unquiet(draft, _options(session).seen)
        compressing.compress(draft, _sessions(session, asked))

    return _run(session, asked, "compress", step)


def old_sessions(session: Session, asked: Asked) -> Report:
    """What is to be summed up now: "id" of the summary, and "texts", without secrets; [] of what is private."""
    if _is_old_news(session, asked, DEEP):
        return {"sessions": []}
    draft = session.draft()
    leave_unquiet(draft, _options(session).seen)
    _leave_undone(session, draft)
    threshold = _sessions(session, asked).threshold
    found = compressing.parts(draft, threshold)[: asked.whole("limit")]
    return {
        "sessions": [
            {"id": part.id, "texts": compressing.texts(draft, part) if not part.is_private else []}
            for part in found
        ]
    }


def _sessions(session: Session, asked: Asked) -> compressing.Means:
    """How old sessions are summed up: those that a model was asked about, else all that there are."""
    threshold = session.desk.config.number("conversations.compress_after")
    given = asked.records("summaries")
    summaries = {str(one.get("id", "")): str(one.get("text", "")) for one in given}
    return compressing.Means(threshold, minilm.count, summaries if asked.has("summaries") else None)


def consolidate(session: Session, asked: Asked) -> Report:
    """Expire, decay, upgrade and merge, once."""

    report = _run(
        session, asked, "consolidate",
        lambda session, draft: dreaming.consolidate(draft, _options(session)),
    )  # fmt: skip
    if not asked.flag("dry_run") and not session.desk.history.trouble():
        session.desk.history.tidy()
    return report


def _expire(session: Session, draft: Draft) -> None:
    options = _options(session)
    leave_unquiet(draft, options.seen)
    expiring.expire(draft, options.ttl, options.reads, facts=options.facts)


def _decay(session: Session, draft: Draft) -> None:
    options = _options(session)
    leave_unquiet(draft, options.seen)
    decaying.decay(draft, options.threshold, facts=options.facts)


def _upgrade(session: Session, draft: Draft) -> None:
    options = _options(session)
    leave_unquiet(draft, options.seen)
    upgrading.upgrade(draft, options.reads)


def _options(session: Session) -> dreaming.Options:
    config = session.desk.config
    return dreaming.Options(
        session.desk.seen(),
        float(times.duration_seconds(config.text("memories.inbox_ttl"))),
        float(times.duration_seconds(config.text("memories.decay_after"))),
        config.number("memories.upgrade_reads"),
        config.text("memories.forget") == "all",
        config.text("recall.trust"),
    )


def _run(session: Session, asked: Asked, name: str, step: Step) -> Report:
    limit = session.desk.config.number("dream.max_changes")
    is_job = asked.flag("unattended") or asked.flag("only_news")
    _count_told(session)
    notices = leaving.notices(session) if is_job and not asked.flag("dry_run") else None
    draft = session.draft(asked.whole("limit", limit))
    draft.notices = notices
    _leave_undone(session, draft)
    step(session, draft)
    plan = draft.plan(name)
    aside = {"aside": len(draft.at_work)}
    if asked.flag("dry_run"):
        return {**planned(session, plan), **aside}
    if is_job:
        check(session, name.partition(" ")[0], plan)
    who = asked.text("by")
    why = f"{name}: {len(plan.changes)} changed"
    header = Header(who or name.partition(" ")[0], "assistant" if who else "job", why, session.now)
    report = done(plan, session.carry_out(plan, header))
    if notices is not None:
        leaving.give(session, name, notices, _found(report))
    changed_note.keep(session)
    return {**report, **aside}


def _count_told(session: Session) -> None:
    """What was told at a start, on the page or by the desktop is in use."""
    desk = session.desk
    if found := listing.take(desk.state.folder):
        with suppress(StateError, OSError):  # then the next job does it
            reads.use(desk.ledger, found, session.now)
            listing.forget(desk.state.folder)


def _leave_undone(session: Session, draft: Draft) -> None:
    """As long as nobody changes it, a memory shall be as an undo left it."""
    undone = reads.undone(session.desk.ledger)
    for memory in session.view.memories():
        if undone.get(memory.id) == (memory.path, memory.hash):
            draft.leave(memory)
