"""Advice of a language model on memories that rules cannot decide.

A deep dream asks one question: to which category an unsure memory belongs, and whether two memories say the same or
contradict each other. The answers become proposals to the person; see operations.upkeep for the asking.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from vaultmem.adapter import JsonObject
from vaultmem.adapter.services import Message, Question, json_lines, list_schema, records, short_id
from vaultmem.dreams import paraphrase
from vaultmem.dreams.classify import UNSURE, due, times_of
from vaultmem.dreams.merge import join
from vaultmem.dreams.same import is_of_one_writer, kin, may_join
from vaultmem.errors import NoteChangedError, NoteNotFoundError
from vaultmem.ledger import reads
from vaultmem.ledger.reads import CONSULTED, OPEN
from vaultmem.light import TYPE_CHECKING, NamedTuple, cast
from vaultmem.memories.access import is_private
from vaultmem.memories.arguments import Arguments
from vaultmem.memories.draft import CONTRADICTION, Plan, is_own, noticed
from vaultmem.memories.item_answers import is_decided
from vaultmem.memories.model import REMINDERS, Memory
from vaultmem.memories.store import YOU, Session
from vaultmem.notes.places import CATEGORIES, INBOX
from vaultmem.review.proposals import Proposal, open_rows
from vaultmem.text import secrets
from vaultmem.text.sanitize import one_line, quote_text
from vaultmem.text.values import toml_table

if TYPE_CHECKING:
    from vaultmem.memories.reports import ProposalRow

NEAR = 0.75  # cosine above which two memories may say the same

Group = tuple[Memory, ...]  # one memory, or two
ByPath = Mapping[str, Memory]


# Questions


class Doubt(NamedTuple):
    """A question for a model about one text, or two."""

    texts: tuple[str, ...]
    days: tuple[str, ...] = ()  # when each was written
    id: str = ""
    memories: tuple[str, ...] = ()  # ids


def doubts(session: Session, _: Arguments) -> JsonObject:
    """The "doubts" for one question. Texts are cut, and without secrets."""
    proposed = {proposal.id for proposal in reads.all_proposals(session.store.ledger)}
    memories = {memory.path: memory for memory in _by_id(session).values()}
    contents = {path: _content(session, memory) for path, memory in memories.items()}
    # Memories still where an unsure dream filed them.
    unsure = (finding["subject"] for finding in reads.findings(session.store.ledger, UNSURE))
    single = [(memories[path],) for path in unsure if contents.get(path, "").strip()]
    groups: list[Group] = [*_pairs(session, memories), *single]
    fresh = [group for group in groups if doubt_id(group) not in proposed]
    return {"doubts": [_doubt(contents, group)._asdict() for group in fresh[:BATCH]]}


def _doubt(contents: Mapping[str, str], group: Group) -> Doubt:
    texts = (secrets.redact(contents[memory.path]).text.strip()[:MOST_OF_ONE] for memory in group)
    moments = (datetime.fromtimestamp(memory.updated).astimezone() for memory in group)
    days = tuple(moment.date().isoformat() for moment in moments)
    return Doubt(tuple(texts), days, doubt_id(group), tuple(memory.id for memory in group))


def doubt_id(group: Group) -> str:
    """The same id as long as the memories are unchanged, so that no question is repeated."""
    kind = CLASSIFY if len(group) == 1 else CONTRADICTION
    keys = sorted("\0".join((memory.scope, memory.text("agent"), memory.hash)) for memory in group)
    return hashlib.sha256("\0".join((kind, *keys)).encode("utf-8", "replace")).hexdigest()[:12]


def _by_id(session: Session) -> dict[str, Memory]:
    return {memory.id: memory for memory in session.view.memories() if may_be_sent(memory)}


def may_be_sent(memory: Memory) -> bool:
    """Whether its text may be sent to a model."""
    is_apart = is_private(memory.properties) or memory.archived or is_own(memory)
    return memory.adopted and not is_apart and may_join(memory)


def _content(session: Session, memory: Memory) -> str:
    try:
        return session.view.content(memory)
    except NoteNotFoundError:  # just deleted by a person
        return ""


def _pairs(session: Session, memories: ByPath) -> list[Group]:
    """Pairs close in meaning, which may say the same, and those that a dream found to contradict each other."""
    near = sorted(
        (-cosine, path, other)
        for path, memory in memories.items()
        for other, cosine in session.view.alike(memory, NEAR)
        if other > path and other in memories
    )
    paths = {memory.id: path for path, memory in memories.items()}
    found = noticed(reads.findings(session.store.ledger, CONTRADICTION), paths)
    pairs = [(one, other) for _, one, other in near]
    pairs += [(min(pair), max(pair)) for row in found if (pair := (row["subject"], *row["others"]))]
    groups = ((memories[one], memories[other]) for one, other in dict.fromkeys(pairs))
    return [(one, other) for one, other in groups if _side(one) == _side(other)
            and one.text("replaced_by") != other.id and other.text("replaced_by") != one.id]  # fmt: skip


def _side(memory: Memory) -> tuple[str, ...]:
    """Memories can only contradict each other on one side: outside content replaces nothing else."""
    outside = any(memory.properties.get(key) for key in ("source", "url"))
    return memory.scope, memory.text("agent"), memory.text("project"), str(outside)


# Answers, as proposals


def advise(session: Session, params: Arguments) -> JsonObject:
    """Store a model's answers: "answers", each with "id", "memories", "choice", "reason". Changes no memory."""
    by_id = _by_id(session)
    model = params.line("model") and one_line(params.line("model"), 80)
    rows: dict[str, tuple[str, ProposalRow]] = {}
    for answer in params.records("answers"):
        ids = [*map(str, cast("list[str]", answer.get("memories") or []))]
        group, choice = _group(by_id, ids), str(answer.get("choice", ""))
        if not 1 <= len(group) <= 2 or (id_ := doubt_id(group)) != answer.get("id"):
            continue  # it has changed meanwhile
        kind = CLASSIFY if len(group) == 1 else MERGE if choice == SAME else CONTRADICTION
        fields: ProposalRow = {
            "kind": kind, "memories": ids, "hashes": [memory.hash for memory in group], "choice": choice,
            "reason": _reason(answer.get("reason")), "model": model, "category": group[0].category,
        }  # fmt: skip
        rows[id_] = (OPEN if _is_usable(session, kind, choice, group) else CONSULTED), fields
    before = {proposal.id for proposal in reads.all_proposals(session.store.ledger)}
    reads.advise(session.store.ledger, rows, session.now)
    new = [id_ for id_, (state, _) in rows.items() if state == OPEN and id_ not in before]
    return {"proposed": len(new), "open": len(opinions(session))}


def _group(by_id: Mapping[str, Memory], ids: Sequence[str]) -> Group:
    """The memories with these ids; () unless all exist."""
    group = tuple(by_id[id_] for id_ in ids if id_ in by_id)
    return group if len(group) == len(ids) else ()


def _reason(reason: object) -> str:
    return one_line(reason, REASON) if isinstance(reason, str) and reason.strip() else ""


def _is_usable(session: Session, kind: str, choice: str, group: Group) -> bool:
    if not _can_be_done(kind, group, session.is_approved):
        return False
    if kind == CLASSIFY:
        return choice in FILES and choice != group[0].category
    if kind == CONTRADICTION:
        return choice in [memory.id for memory in group]
    memory, other = (session.view.content(memory) for memory in group)
    features = paraphrase.features(memory, other)
    return not features["numbers differ"]  # different numbers make a different fact


def _can_be_done(kind: str, group: Group, is_approved: Callable[[Memory], bool]) -> bool:
    """Whether advice of this kind can still be followed for these."""
    if kind == CLASSIFY:
        return True
    one, other = group
    if kind == CONTRADICTION:
        return _side(one) == _side(other)
    return kin(one, is_approved) == kin(other, is_approved) and is_of_one_writer(one, other)


def opinions(session: Session) -> list[Proposal]:
    """All open ones that can still be followed, by path."""
    by_id, rows = _by_id(session), open_rows(session.store.ledger, session.store.answers())
    every = (
        (row, usable_group(row, by_id, session.is_approved)) for row in rows if row.is_of_model
    )
    usable = [_as_proposal(session, opinion, group) for opinion, group in every if group]
    return sorted(usable, key=lambda proposal: (proposal.path, proposal.kind, proposal.id))


def _as_proposal(session: Session, row: reads.StoredProposal, group: Group) -> Proposal:
    """The proposal of a row about these memories; those that change most sort first."""
    kind, reason, model = (row.fields[key] for key in ("kind", "reason", "model"))
    other = quote_text(group[-1].title)
    text = {
        CLASSIFY: f"a model would file it under {row.fields['choice']}",
        MERGE: f"a model says that it states the same as “{other}”",
        CONTRADICTION: f"a model says that it no longer holds, because of “{other}”",
    }[kind]
    who = f"a model ({model})" if model else "a model"
    says = f"{who}: “{reason}”" if reason else f"{who} gave no reason"
    contents = ((memory.path, quote_text(_content(session, memory))) for memory in group)
    evidence = [says, *(f"{path}: “{content}”" for path, content in contents)]
    return Proposal(
        row.id, kind, group[0].path, 0, text, evidence, "", row.fields["choice"], 0, reason, group
    )


def usable_group(
    row: reads.StoredProposal, by_id: Mapping[str, Memory], is_approved: Callable[[Memory], bool]
) -> Group:
    """The memories of a proposal, for a contradiction with the valid one last; () if it can no longer be carried
    out."""
    group, kind = _unchanged_group(row, by_id), row.fields["kind"]
    if not group or not _can_be_done(kind, group, is_approved):
        return ()
    holds = row.fields["choice"] if kind == CONTRADICTION else ""
    return tuple(sorted(group, key=lambda memory: memory.id == holds))


def _unchanged_group(row: reads.StoredProposal, by_id: Mapping[str, Memory]) -> Group:
    """The memories of a proposal; () if they have changed since a model was asked, or one to be filed elsewhere is no
    longer where it was."""
    group, fields = _group(by_id, row.fields["memories"]), row.fields
    is_filed = fields["kind"] != CLASSIFY or [memory.category for memory in group] == [
        fields["category"]
    ]
    return group if is_filed and [memory.hash for memory in group] == fields["hashes"] else ()


def forget_stale(session: Session) -> None:
    """Drop proposals and questions about memories that have changed. What the person decided on stays."""
    by_id, ledger, answers = _by_id(session), session.store.ledger, session.store.answers()
    rows = [row for row in reads.all_proposals(ledger) if row.is_of_model]
    gone = [
        row.id for row in rows if not (_unchanged_group(row, by_id) or is_decided(row.id, answers))
    ]
    reads.replace_proposals(ledger, {}, gone, session.now)


def plan(session: Session, proposal: Proposal) -> Plan:
    """The plan for accepting it. Raises NoteChangedError if that is no longer possible."""
    draft, choice = session.draft(), proposal.new
    memory, other = proposal.memories[0], proposal.memories[-1]
    if proposal.kind == MERGE:
        join(draft, memory, other, "you accepted that they say the same")
    elif proposal.kind == CONTRADICTION:
        draft.archive(memory, YOU, f"“{other.title}” holds instead, as you accepted", other.id)
    else:
        why = f"{choice}: as you accepted"
        draft.move(memory, choice, why)
        if choice == REMINDERS and not memory.text("remind"):
            moment = due(draft.content(memory), draft.written_at(memory), draft.view.now)
            draft.set(memory, why, **times_of(moment))
    made = draft.plan("review")
    if not made.changes:
        raise NoteChangedError(f"{proposal.path} is not as it was when this was proposed")
    return made


# The one question. A model's answer is only advice.

CLASSIFY, MERGE = "classify", "merge"  # and CONTRADICTION
BATCH = 20  # memories and pairs in one question
MOST_OF_ONE = 600  # characters of a text
REASON = 200  # characters of a reason
SAME, FIRST, SECOND, NONE = "same", "first", "second", "none"
FILES = {name: about for name, about in CATEGORIES.items() if name != INBOX}
_PAIR = (SAME, FIRST, SECOND)


def question(doubts: Sequence[Doubt]) -> Question:
    """One call for all of these, each with a short id. Only texts and days are sent."""
    items = [{"id": at, **_item(doubt)} for at, doubt in enumerate(doubts)]
    files = "\n".join(f"- {name}: {about}" for name, about in FILES.items())
    task = toml_table("vaultmem.review", "prompts")["task"].replace("{files}", files)
    messages = (Message("system", task), Message("user", json_lines(items)))
    schema = list_schema("answers", {
        "id": {"type": "integer", "minimum": 0, "maximum": max(0, len(doubts) - 1)},
        "choice": {"type": "string", "enum": [*FILES, *_PAIR, NONE]},
        "reason": {"type": "string", "maxLength": REASON},
    }, len(doubts))  # fmt: skip
    return Question("advice", messages, schema, 150 + 90 * len(doubts))


def _item(doubt: Doubt) -> dict[str, str]:
    if len(doubt.texts) == 1:
        return {"text": doubt.texts[0]}
    days = {f"{name}_written": day for name, day in zip((FIRST, SECOND), doubt.days, strict=False)}
    return {**dict(zip((FIRST, SECOND), doubt.texts, strict=False)), **days}


def read(answer: object, doubts: Sequence[Doubt]) -> list[JsonObject]:
    """The answers for advise(), one per doubt; [] if none was answered. For a pair the choice is the id of the valid
    memory. Unknown ids are left out; unknown or contradicting choices count as none."""
    result: dict[int, tuple[str, str]] = {}
    for item in records(answer)[: 10 * len(doubts)]:
        place = short_id(item.get("id"))
        if place is None or place >= len(doubts):
            continue
        choice = str(item.get("choice", "")).strip().lower()
        choices = FILES if len(doubts[place].texts) == 1 else _PAIR
        if choice not in choices or (place in result and result[place][0] != choice):
            choice = ""
        result[place] = choice, _reason(item.get("reason"))
    answers: list[JsonObject] = []
    for at, doubt in enumerate(doubts if result else ()):
        choice, reason = result.get(at, ("", ""))
        if choice in (FIRST, SECOND):
            choice = doubt.memories[choice == SECOND]
        answers.append(
            {"id": doubt.id, "memories": doubt.memories, "choice": choice, "reason": reason}
        )
    return answers
