"""The jobs on memories: each a plan of plain steps, shown or carried out."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from vaultmem.core import durations
from vaultmem.core.changes import Plan
from vaultmem.core.view import Draft
from vaultmem.errors import StateError
from vaultmem.memories import changed_note, leaving, review, unattended
from vaultmem.memories.asked import Asked
from vaultmem.memories.desk import Session
from vaultmem.memories.reports import Report, done, planned
from vaultmem.plans import compress as compressing
from vaultmem.plans import decay as decaying
from vaultmem.plans import dream as dreaming
from vaultmem.plans import expire as expiring
from vaultmem.plans import links
from vaultmem.plans import upgrade as upgrading
from vaultmem.plans.adopt import leave_unquiet
from vaultmem.plans.classify import UNSURE
from vaultmem.plans.dream import DEEP, LIGHT, MEDIUM
from vaultmem.reminders import told
from vaultmem.store import reads, reviews, tokens
from vaultmem.store.batches import Header, Outcome

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
        for each in reviews.findings(session.desk.ledger)
        if each["kind"] == UNSURE and each["subject"] not in known and at(str(each["subject"]))
    ]
    reviews.keep_findings(session.desk.ledger, kinds, [*found, *older], session.now)


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
    return compressing.Means(threshold, tokens.count, summaries if asked.has("summaries") else None)


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
        float(durations.seconds(config.text("memories.inbox_ttl"))),
        float(durations.seconds(config.text("memories.decay_after"))),
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
        unattended.check(session, name.partition(" ")[0], plan)
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
    if found := told.take(desk.state.folder):
        with suppress(StateError, OSError):  # then the next job does it
            reads.use(desk.ledger, found, session.now)
            told.forget(desk.state.folder)


def _leave_undone(session: Session, draft: Draft) -> None:
    """As long as nobody changes it, a memory shall be as an undo left it."""
    undone = reads.undone(session.desk.ledger)
    for memory in session.view.memories():
        if undone.get(memory.id) == (memory.path, memory.hash):
            draft.leave(memory)
