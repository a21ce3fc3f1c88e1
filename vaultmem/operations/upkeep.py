"""The jobs on memories: each is a step on a draft, whose plan is shown or carried out, and reported."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import datetime

from vaultmem import plugins
from vaultmem.adapter.services import Model
from vaultmem.dreams import classify, memory_links
from vaultmem.dreams import dream as steps
from vaultmem.dreams import summaries as summing
from vaultmem.dreams.classify import UNSURE
from vaultmem.dreams.dream import DEEP, LIGHT, Options, leave_unquiet
from vaultmem.embedding import wordpieces
from vaultmem.errors import LlmError, StateError, UnconfirmedError, VaultmemError
from vaultmem.history.objects import SHORT
from vaultmem.ledger import reads
from vaultmem.light import TYPE_CHECKING
from vaultmem.memories.arguments import Arguments
from vaultmem.memories.conversation import TOKENS
from vaultmem.memories.draft import (
    CONTRADICTION,
    HALTED,
    TO_ARCHIVE,
    Change,
    Draft,
    Finding,
    Plan,
    noticed,
)
from vaultmem.memories.item_answers import UNDONE, undone_id
from vaultmem.memories.reports import (
    NOTHING,
    PlanReport,
    Tally,
    report_done,
    report_planned,
    to_json,
)
from vaultmem.memories.store import Session
from vaultmem.notes.places import ARCHIVED_NOTES
from vaultmem.operations import leaving, overviews
from vaultmem.progress import logger
from vaultmem.review import advice, review
from vaultmem.review.advice import Doubt
from vaultmem.schedule import next_time
from vaultmem.text.sanitize import quote_text
from vaultmem.text.titles import free_path
from vaultmem.text.values import plural
from vaultmem.vault.batch_record import Header
from vaultmem.vault.files import digest

if TYPE_CHECKING:
    from vaultmem.adapter import JsonObject
    from vaultmem.api.memory_vault import MemoryVault

log = logger("vaultmem.memories")

Step = Callable[[Draft, Options], None]


def dream(session: Session, params: Arguments) -> PlanReport:
    """Maintenance of a level: 1 files memories, 2 also merges and links, 3 also looks across memories."""
    level, name = params.whole("level"), f"dream {params.whole('level')}"
    store, day, dry_run = session.store, session.view.now.date(), params.flag("dry_run")
    if _is_old_news(session, params, level):
        return {**to_json(Plan(name), NOTHING), "level": level}
    report = _run(session, params, name, lambda draft, options: steps.dream(draft, level, options))
    if not dry_run:
        _forget_gone(session)
        _keep_findings(session, level, report["findings"])
        if level > LIGHT and not report["left"]:
            store.compared = session.now - steps.QUIET  # newer files may have been left out
        if level == DEEP:
            report["proposals"], made = review.propose(session)
            report["changes"] += made["changes"]
            report["skipped"] += made["skipped"]
            report["counts"] = dict(Counter(report["counts"]) + Counter(made["counts"]))
    # Without those that a model is asked about.
    report["findings"] = [finding for finding in report["findings"] if finding["kind"] != UNSURE]
    if not dry_run and not report["changes"] and not report["left"]:
        store.dreamt[level] = (store.version, day)
    report["level"] = level
    return report


def _forget_gone(session: Session) -> None:
    """Forget how memories were left whose files are gone: a later file of the same name is another memory."""
    store = session.store
    memories = [*store.collection.live(), *store.collection.archived()]
    there = {memory.id for memory in memories} | {memory.path for memory in memories}
    gone = [id_ for id_, left in store.seen().items() if there.isdisjoint((id_, left.path))]
    reads.forget_left(store.ledger, gone, session.now)


def _is_old_news(session: Session, params: Arguments, level: int) -> bool:
    store = session.store
    dreamt = store.dreamt.get(level) == (store.version, session.view.now.date())
    return params.flag("only_news") and dreamt


def _keep_findings(session: Session, level: int, findings: list[Finding]) -> None:
    """Store the findings of a dream. Since only new memories are compared with the others, doubts about a category
    stay until somebody files the memory elsewhere, and contradictions as long as both memories are unchanged."""
    ledger, collection = session.store.ledger, session.store.collection
    paths = {memory.id: memory.path for memory in collection.live()}
    kinds = (UNSURE, CONTRADICTION)[: 1 if level == LIGHT else 2]
    earlier = reads.findings(ledger, *kinds)
    rows = [
        after
        for before in earlier
        for after in noticed([before], paths)
        if _still_holds(session, before, after)
    ]
    rows += [finding for finding in findings if finding["kind"] in kinds]
    once = {(row["kind"], *row["ids"]): row for row in rows}
    reads.keep_findings(ledger, kinds, once.values(), session.now)


def _still_holds(session: Session, before: Finding, after: Finding) -> bool:
    """Whether a finding of an earlier dream holds, though this one may not have checked."""
    if after["kind"] == UNSURE:
        return before["subject"] == after["subject"]
    memories = (session.store.collection.at(path) for path in (after["subject"], *after["others"]))
    contents = (session.store.collection.content(memory) for memory in memories if memory)
    return all(quote_text(content) in after["said"] for content in contents)


def _job(name: str, step: Step) -> Callable[[Session, Arguments], PlanReport]:
    def job(session: Session, params: Arguments) -> PlanReport:
        return _run(session, params, name, step)

    return job


expire = _job("expire", steps.expire)
decay = _job("decay", steps.decay)
promote = _job("upgrade", lambda draft, options: classify.upgrade(draft, options.reads))
resolve_links = _job("resolve-links", lambda draft, _: memory_links.resolve(draft))


def compress(session: Session, params: Arguments) -> PlanReport:
    """Sum up old sessions."""
    means = _means(session, params)
    return _run(session, params, "compress", lambda draft, _: summing.compress(draft, means))


def consolidate(session: Session, params: Arguments) -> PlanReport:
    """Expire, decay, upgrade and merge, once."""
    report = _run(session, params, "consolidate", steps.consolidate)
    if not params.flag("dry_run") and not session.store.history.trouble():
        session.store.history.tidy()
    return report


def old_sessions(session: Session, params: Arguments) -> JsonObject:
    """What is to be summed up now: "id" of the summary, and "texts", without secrets; [] if private."""
    if _is_old_news(session, params, DEEP):
        return {"sessions": []}
    draft = _draft(session, session.draft(), _options(session, params))
    parts = summing.parts(draft, _means(session, params).threshold)[: params.whole("limit")]
    rows = [
        {"id": part.id, "texts": [] if part.is_private else summing.texts(draft, part)}
        for part in parts
    ]
    return {"sessions": rows}


def _means(session: Session, params: Arguments) -> summing.Means:
    """The summaries of old sessions: of those sent to a model, else of all."""
    threshold = session.store.config.number("conversations.compress_after")
    texts = {
        str(record.get("id", "")): str(record.get("text", ""))
        for record in params.records("summaries")
    }
    return summing.Means(threshold, wordpieces.count, texts if params.has("summaries") else None)


def _options(session: Session, params: Arguments) -> Options:
    config, elsewhere = session.store.config, session.store.pending.record.written_elsewhere()
    blobs = session.store.collection.blobs() if elsewhere else {}
    return Options(
        session.store.seen(), config.seconds("memories.inbox_ttl"),
        config.seconds("memories.decay_after"), config.number("memories.upgrade_reads"),
        config.text("memories.forget") == "all", config.text("recall.trust"), _means(session, params),
        session.store.compared, {path: blob for path, blob in blobs.items() if blob[:SHORT] in elsewhere},
    )  # fmt: skip


def _run(session: Session, params: Arguments, name: str, step: Step) -> PlanReport:
    job, dry_run = name.partition(" ")[0], params.flag("dry_run")
    is_unattended = params.flag("unattended") or params.flag("only_news")
    ledger, pending = session.store.ledger, session.store.pending
    with suppress(StateError, OSError):  # left to the next job
        pending.count_listed(lambda times: reads.use(ledger, times, session.now))
    if not dry_run:
        with suppress(VaultmemError, OSError):  # without an agent, other machines get ours later
            pending.record.settle(None, session.now)
    notices = leaving.notices(session) if is_unattended and not dry_run else None
    limit = params.whole("limit", session.store.config.number("dream.max_changes"))
    draft = session.draft(limit)
    draft.notices = notices
    options = _options(session, params)
    step(_draft(session, draft, options), options)
    plan = draft.plan(name)
    if job == "dream":
        copies, room = [*_spare_copies(session)], max(0, limit - len(plan.changes))
        changes, left = (*plan.changes, *copies[:room]), plan.left + len(copies[room:])
        plan = plan._replace(changes=changes, left=left)
    if dry_run:
        return {**report_planned(session, plan), "aside": len(draft.at_work)}
    if is_unattended:
        check(session, job, plan)
    assistant = params.text("by")
    why = f"{name}: {len(plan.changes)} changed"
    header = Header(assistant or job, "assistant" if assistant else "job", why, session.now)
    outcome = session.carry_out(plan, header)
    report = report_done(plan, outcome)
    if notices is not None:
        leaving.announce(session, name, notices, report["findings"])
    overviews.keep_changes(session)
    overviews.keep_index(session)
    return {**report, "aside": len(draft.at_work)}


def _spare_copies(session: Session) -> Iterator[Change]:
    """Put sync conflict copies away that say what their originals say, unless a sync program may be at work."""
    answers = session.store.answers()
    for copy, original in session.store.collection.spare_copies():
        data = session.store.bytes_of(copy.path)
        is_undone = undone_id(copy.id, copy.path, copy.hash) in answers
        is_new = abs(session.now - max(copy.mtime, original.mtime)) < steps.QUIET
        if data is None or is_new or is_undone:
            continue
        preferred = f"{session.store.folder}/{ARCHIVED_NOTES}/{copy.path}"
        target = free_path(preferred, copy.id, session.view.exists)
        why = f"a conflict copy that says what {original.path} says"
        yield Change(TO_ARCHIVE, copy.id, copy.path, target, {}, None, digest(data), why, data)


def _draft(session: Session, draft: Draft, options: Options) -> Draft:
    """The draft without files that a person is typing in, and without memories that the undo of a job restored."""
    leave_unquiet(draft, options.seen)
    undone = reads.undone(session.store.ledger)
    marks = {
        answer.id for answer in session.store.answers().values() if answer.text.startswith(UNDONE)
    }
    for memory in session.view.memories():
        row = memory.path, memory.hash
        if undone.get(memory.id) == row or (marks and undone_id(memory.id, *row) in marks):
            draft.leave(memory)
    return draft


# Confirmation by a person, since nobody watches a job and its clock may be wrong.

SHARE, FEW = 0.2, 5  # share of all memories archived at once
LATE = 14 * 86_400.0  # seconds


def check(session: Session, job: str, plan: Plan) -> None:
    """Raise UnconfirmedError if the job must wait until a person has confirmed the plan."""
    run = session.store.ledger.runs().get(job)
    last = session.now if run is None else run.seen if run.last_ok is None else run.last_ok
    _confirm(session, job, "clock", _strange_clock(session, job, last), last)
    _confirm(session, job, job, _too_many(session, job, plan), last)


def _strange_clock(session: Session, job: str, last: float) -> str:
    due = next_time(session.store.config.text(f"jobs.{job}"), last, last)
    if session.now - (last if due is None else due) <= LATE:
        return ""
    before, now = (
        f"{datetime.fromtimestamp(at).astimezone():%Y-%m-%d}" for at in (last, session.now)
    )
    return f"the clock says {now}, and the jobs that archive memories ran last on {before}"


def _too_many(session: Session, job: str, plan: Plan) -> str:
    going = sum(step.action == TO_ARCHIVE and step.raw is None for step in plan.changes)
    going += plan.left if going else 0
    there = len(session.view.memories())
    if going < FEW or going <= SHARE * there:
        return ""
    return f"{job} would archive {going:,} of {plural(there, 'memory', 'memories')} at once"


def _confirm(session: Session, job: str, subject: str, doubt: str, last: float) -> None:
    """Ask, unless answered since the last run; only the job that asked withdraws the question."""
    ledger = session.store.ledger
    halted = reads.findings(ledger, HALTED)
    mine = next((fact for fact in halted if fact["subject"] == subject), None)
    is_confirmed = mine is not None and session.store.pending.is_confirmed(mine)
    others = [fact for fact in halted if fact is not mine]
    if not doubt:
        # Earlier versions did not record which job had asked.
        if mine and mine.get("others", [job]) == [job] and not is_confirmed:
            reads.keep_findings(ledger, [HALTED], others, session.now)
        return
    if mine is None or mine["at"] < last:
        mine = {
            "kind": HALTED,
            "subject": subject,
            "said": doubt,
            "at": session.now,
            "others": [job],
        }
        reads.keep_findings(ledger, [HALTED], [*others, mine], session.now)
    elif is_confirmed:
        return
    raise UnconfirmedError(f"{doubt}; it waits until you have ticked that in what is pending")


# Jobs with help from the configured language model: it sums up old sessions before a deep dream, and answers one
# question afterwards. The vault is not locked meanwhile; without a model the job works by rules alone.


def with_help(vault: MemoryVault, name: str, params: JsonObject) -> PlanReport:
    """Dream or compress, with the model's help if there is one; a shallow dream needs none."""
    report: PlanReport
    is_shallow = name == "dream" and params["level"] != DEEP
    if is_shallow or not vault.config.text("llm.base_url") or params["dry_run"]:
        report = vault.ask(name, **params)
        return report
    assistant = _Assistant(vault)
    texts = assistant.summaries(only_news=bool(params.get("only_news")))
    report = vault.ask(name, **params, summaries=texts)
    if "proposals" in report:  # for a dream with something new
        assistant.advise(report)
    report["model"] = assistant.tally
    return report


class _Assistant:
    """The model during one job, until its first failure."""

    def __init__(self, vault: MemoryVault) -> None:
        self._vault = vault
        self.tally: Tally = {"asked": 0, "summaries": 0, "proposed": 0, "trouble": ""}
        self._calls = vault.config.number("llm.calls")
        try:
            self._model = plugins.models().open_model(vault.config) if self._calls else None
        except LlmError as error:
            self._model = None
            self._give_up(error)

    def _give_up(self, error: VaultmemError) -> None:
        log.info("a model was of no help: %s", error)
        self.tally["trouble"] = self.tally["trouble"] or str(error)

    def summaries(self, *, only_news: bool) -> list[dict[str, str]]:
        """Summaries of as many old sessions as calls are allowed, by "id"; "" where their own sentences must do."""
        most = max(1, self._calls)
        sessions = self._vault.ask("old-sessions", limit=most, only_news=only_news)["sessions"]
        self._vault.release()
        return [
            {"id": session["id"], "text": self._summary(session["texts"])} for session in sessions
        ]

    def _summary(self, texts: list[str]) -> str:
        if self._model is None or self.tally["trouble"] or not texts:
            return ""
        self.tally["asked"] += 1
        try:
            answer = self._model.ask(summing.remembered_part(texts, TOKENS))
        except LlmError as error:
            self._give_up(error)
            return ""
        text = summing.summary_text(answer) if isinstance(answer, str) else ""
        self.tally["summaries"] += bool(text)
        return text

    def advise(self, report: PlanReport) -> None:
        """Ask the one question; the report counts the advice among the proposals. What does not fit is asked by the
        next dream."""
        if self._model is None or self.tally["trouble"]:
            return
        name = self._vault.config.text("llm.model")
        try:
            doubts = [Doubt(**row) for row in self._vault.ask("doubts")["doubts"]]
            self._vault.release()
            if doubts:
                answers = self._answers(self._model, doubts, name)
                result = self._vault.ask("advise", answers=answers, model=name)
                self.tally["proposed"] = result["proposed"]
                report["proposals"] += result["proposed"]
        except VaultmemError as error:  # the dream itself has succeeded
            self._give_up(error)

    def _answers(self, model: Model, doubts: list[Doubt], name: str) -> list[JsonObject]:
        self.tally["asked"] += 1
        answers = advice.read(model.ask(advice.question(doubts)), doubts)
        if not answers:
            raise LlmError(f"{name} did not answer as it was asked")
        return answers
