"""Proposals for a person's own notes, and a model's for memories: shown with a diff, accepted or rejected one by
one."""

from __future__ import annotations

import codecs
import contextlib
from collections.abc import Iterable, Mapping

from vaultmem.errors import NoteChangedError, NoteNotFoundError, UsageError, VaultmemError
from vaultmem.ledger import reads
from vaultmem.ledger.reads import ALWAYS, ASK, MODEL, REJECTED, StoredProposal
from vaultmem.light import TYPE_CHECKING, NotRequired, TypedDict, cast, final
from vaultmem.memories.arguments import Arguments
from vaultmem.memories.draft import EDIT, TO_ARCHIVE, Change, Plan
from vaultmem.memories.item_answers import (
    DONE,
    DROPPED,
    Answer,
    Answers,
    carried_out_id,
    history_answers,
    keep_as_entry,
    proposal_id,
)
from vaultmem.memories.reports import PlanReport, ProposalRow, diff, header, report_planned, to_json
from vaultmem.memories.store import YOU, Session
from vaultmem.notes.places import ARCHIVED_NOTES
from vaultmem.review import advice
from vaultmem.review import proposals as finder
from vaultmem.review.proposals import DUPLICATE, Proposal, edit, is_kept, open_rows
from vaultmem.text.times import seconds, stamp
from vaultmem.text.titles import free_path
from vaultmem.vault.batch_record import Header, Outcome
from vaultmem.vault.files import digest

if TYPE_CHECKING:
    from vaultmem.adapter import JsonObject
    from vaultmem.ledger.ledger import Ledger
    from vaultmem.vault.batch_record import AnswerChange

MOST_DIFFS = 20  # files shown with a proposal


class ProposalReport(ProposalRow):
    """A proposal with its diff."""

    diff: str


def propose(session: Session) -> tuple[int, PlanReport]:
    """Find proposals, and store them for review. Returns the number of open ones, and what rules made of others."""
    every = finder.collect(session)
    doable = {row["id"] for row in _doable_as_json(session, every)}
    made = {proposal.id: to_row(proposal) for proposal in every if proposal.id in doable}
    ledger, answers = session.store.ledger, session.store.answers()
    of_dreams = [row for row in reads.all_proposals(ledger) if not row.is_of_model]
    gone = {row.id for row in of_dreams if row.id not in made and finder.is_open(row, answers)}
    reads.replace_proposals(ledger, made, gone, session.now)
    _pass_on_rejections(session, made, of_dreams, answers)
    advice.forget_stale(session)
    made_by_rule = _follow_rules(session)
    return len(_doable_as_json(session, _open(session))), made_by_rule


def _pass_on_rejections(
    session: Session, made: Mapping[str, ProposalRow], of_dreams: Iterable[StoredProposal], answers: Answers
) -> None:  # fmt: skip
    """Reject what is new only by its id: its note has another name now, or an earlier version made other ids."""
    known, rejected = set[str](), dict[tuple[str, ...], Answer]()
    for row in of_dreams:
        known.add(row.id)
        answer = answers.get(proposal_id(row.id))
        state = answer.state if answer else row.state
        if state in (DROPPED, REJECTED) and row.fields and row.id not in made:
            path = row.fields["path"]
            place = path if session.view.exists(path) else ""
            word = Answer("", DROPPED, stamp(session.now), YOU, "", f"proposal {row.id}")
            rejected[place, *_what(row.fields)] = answer or word
    same = []
    for id_ in made.keys() - known:
        places = ((path, *_what(made[id_])) for path in (made[id_]["path"], ""))
        answer = next((rejected[place] for place in places if place in rejected), None)
        same += [answer._replace(id=proposal_id(id_))] if answer else []
    session.store.pending.record.keep(same, [], session.now)


def _what(row: ProposalRow) -> tuple[str, ...]:
    return row["kind"], row["old"], row["new"], *row["evidence"][:1]


def proposals(session: Session, params: Arguments) -> JsonObject:
    """The open proposals, or the one with an id, each with its change; and the rules for kinds of them."""
    if params.text("id"):
        rows = [_to_json(session, _find(session, params))]
    else:
        rows = _doable_as_json(session, _open(session))
    rules = reads.rules(session.store.ledger)
    return {"proposals": rows, "count": len(rows), "rules": rules, "kinds": list(finder.KINDS)}


@final
class Decision(TypedDict):
    """The decision on a proposal."""

    id: str
    path: str
    said: str
    accepted: NotRequired[bool]
    rejected: NotRequired[bool]


def accept(
    session: Session, params: Arguments, answers: tuple[AnswerChange, ...] = ()
) -> PlanReport | Decision:
    """Make a proposed change. It is recorded in the history together with the answer (`answers`, if it was ticked), and
    can be undone."""
    proposal = _find(session, params)
    plan = _plan(session, proposal)
    if params.flag("dry_run"):
        return report_planned(session, plan)
    record, words = session.store.pending.record, _accepted(session, proposal)
    answers = answers or history_answers(record.answers(), words[:-1])
    who = header(params, f"accepted: {proposal.said}"[:200], session.now)
    session.make(plan, who._replace(answers=answers))
    record.keep(words, [], session.now)
    change = next((step for step in plan.changes if step.path == proposal.path), plan.changes[0])
    return {"id": proposal.id, "accepted": True, "path": change.target, "said": proposal.said}


def _accepted(session: Session, proposal: Proposal) -> list[Answer]:
    """What records that a proposal was accepted, unless it was ticked, and carried out: dated after its last answer."""
    last = session.store.pending.record.answers().get(proposal_id(proposal.id))
    after = (seconds(last.at) or 0.0) + 1 if last else 0.0
    word = _word(proposal, DONE, stamp(max(session.now, after)))
    mark = word._replace(id=carried_out_id(word.id))
    return [mark] if last and last.state == DONE else [word, mark]


def _word(proposal: Proposal, state: str, at: str) -> Answer:
    what = f"proposal {proposal.id} ({proposal.kind})"  # no words of a note that may be private
    return Answer(proposal_id(proposal.id), state, at, YOU, "", what)


def rule(session: Session, params: Arguments) -> JsonObject:
    """What dreams do from now on with all proposals of a kind: always make them, never show them, or ask."""
    if params.text("by"):
        raise UsageError("only you can make rules for what is proposed; leave --by out")
    kind, says = params.needed("kind"), params.needed("says")
    if not params.flag("dry_run"):
        reads.rule(session.store.ledger, kind, says, session.now)
    rules = {**reads.rules(session.store.ledger), kind: says}
    return {"kind": kind, "says": says, "rules": {k: v for k, v in rules.items() if v != ASK}}


def _follow_rules(session: Session) -> PlanReport:
    """Make the changes that the person wants always made, each as its own entry of the history, to be undone
    separately. What was answered before and is open again was taken back by the person."""
    rules, changes = reads.rules(session.store.ledger), list[Change]()
    answers = session.store.answers()
    skipped: dict[str, str] = {}  # by paths
    words: list[Answer] = []  # kept at once, as all answers are read again after each write
    for proposal in _open(session):
        is_new = proposal_id(proposal.id) not in answers
        if is_new and not proposal.memories and rules.get(proposal.kind) == ALWAYS:
            try:
                who = Header(
                    "dream", "job", f"always {proposal.kind}: {proposal.said}"[:200], session.now
                )
                plan = _plan(session, proposal)
                session.make(plan, who)
                changes += plan.changes
                words += _accepted(session, proposal)
            except VaultmemError as error:  # the next dream tries again
                skipped[proposal.path] = str(error)
    session.store.pending.record.keep(words, [], session.now)
    return to_json(Plan("rules", tuple(changes)), Outcome(None, (), tuple(skipped.items())))


def reject(session: Session, params: Arguments) -> Decision:
    """Never propose it again. Recorded in the history, like the tick that requests it, and can be undone."""
    proposal = _find(session, params)
    if not params.flag("dry_run"):
        who = header(params, f"rejected: {proposal.said}"[:200], session.now)
        keep_as_entry(session, who, [_word(proposal, DROPPED, stamp(session.now))])
    return {"id": proposal.id, "rejected": True, "path": proposal.path, "said": proposal.said}


def _open(session: Session) -> list[Proposal]:
    answers = session.store.answers()
    return [*open_for_notes(session.store.ledger, answers), *advice.opinions(session)]


def open_for_notes(ledger: Ledger, answers: Answers) -> list[Proposal]:
    """The open ones not from a model, by path."""
    rows = [row.fields for row in open_rows(ledger, answers) if not row.is_of_model]
    names, defaults = Proposal._fields, Proposal._field_defaults
    every = [Proposal._make(row.get(name, defaults.get(name)) for name in names) for row in rows]
    return sorted(every, key=lambda each: (each.path, each.line, each.kind, each.id))


def to_row(proposal: Proposal) -> ProposalRow:
    """As stored and displayed."""
    row = proposal._asdict()
    memories, reason = row.pop("memories"), row.pop("reason")
    if memories:
        row |= {"who": MODEL, "reason": reason, "memories": [memory.id for memory in memories]}
    return cast("ProposalRow", row)


def _doable_as_json(session: Session, every: Iterable[Proposal]) -> list[ProposalReport]:
    """The proposals that still apply; if a note has changed, the next dream checks again."""
    rows: list[ProposalReport] = []
    for proposal in every:
        with contextlib.suppress(VaultmemError):
            rows.append(_to_json(session, proposal))
    return rows


def _to_json(session: Session, proposal: Proposal) -> ProposalReport:
    changes = _plan(session, proposal).changes[:MOST_DIFFS]
    if proposal.memories:
        proposal = proposal._replace(new=changes[0].target)
    diffs = ((change, diff(session, change)) for change in changes)
    texts = (
        text if text.strip() else f"{change.path} -> {change.target}\n" for change, text in diffs
    )
    return {**to_row(proposal), "diff": "".join(texts)}


def _find(session: Session, params: Arguments) -> Proposal:
    id_ = params.needed("id").lower()
    if params.text("by"):
        raise UsageError("only you can decide on what is proposed; leave --by out")
    matching = [proposal for proposal in _open(session) if proposal.id.startswith(id_)]
    if not matching:
        raise NoteNotFoundError(f"no open proposal has the id {id_!r}; vaultmem review lists them")
    if len(matching) > 1:
        ids = ", ".join(proposal.id for proposal in matching[:5])
        raise NoteNotFoundError(
            f"{id_!r} could mean {len(matching)} proposals: {ids}; give more of it"
        )
    return matching[0]


def _plan(session: Session, proposal: Proposal) -> Plan:
    if proposal.memories:
        return advice.plan(session, proposal)
    return Plan("review", (_change(session, proposal),))


def _change(session: Session, proposal: Proposal) -> Change:
    data = session.store.bytes_of(proposal.path)
    if data is None:
        raise NoteNotFoundError(f"{proposal.path} is gone")
    mark = codecs.BOM_UTF8 if data.startswith(codecs.BOM_UTF8) else b""
    try:
        text = data[len(mark) :].decode()
    except UnicodeDecodeError as error:
        raise NoteChangedError(f"{proposal.path} is not UTF-8; change it in your editor") from error
    raw = mark + edit(proposal, text).encode()
    target, action = proposal.path, EDIT
    if proposal.kind == DUPLICATE:
        if session.view.sources(proposal.path):
            raise NoteChangedError(f"{proposal.path} is linked to by now")
        if not is_kept(session.store.vault, proposal):
            raise NoteChangedError(f"{proposal.new} is gone or has changed since this was proposed")
        preferred = f"{session.store.folder}/{ARCHIVED_NOTES}/{proposal.path}"
        target, action = free_path(preferred, proposal.id, session.view.exists), TO_ARCHIVE
    expected = digest(data)
    return Change(
        action, proposal.id, proposal.path, target, {}, None, expected, proposal.said, raw
    )
