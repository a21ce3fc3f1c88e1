"""Reports of plans, batches and answers to pending items as JSON; and who requested them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from vaultmem.errors import VaultmemError
from vaultmem.light import NotRequired, TypedDict
from vaultmem.memories.arguments import Arguments
from vaultmem.memories.draft import Change, Finding, Plan, rendering
from vaultmem.memories.store import YOU, Session
from vaultmem.vault.batch_record import Header, Outcome
from vaultmem.vault.files import decode

MOST_DIFFS = 200  # in a dry run; later changes are listed without their text
NOTHING = Outcome(None, (), ())


class ChangeReport(TypedDict):
    """A change to one file."""

    action: NotRequired[str]  # id; missing for an undo
    id: NotRequired[str]
    path: str | None
    target: str
    why: str
    diff: NotRequired[str | None]  # of a change not made yet
    due: NotRequired[str]  # the item that asks for it


Skipped = TypedDict("Skipped", {"path": str, "reason": str})
"""A file that was not changed."""


class PlanReport(TypedDict):
    """The report of a plan, carried out or not."""

    job: str
    dry_run: bool
    changes: list[ChangeReport]
    counts: dict[str, int]
    findings: list[Finding]
    skipped: list[Skipped]
    left: int
    # For maintenance:
    level: NotRequired[int]
    aside: NotRequired[int]  # files that a person is typing in
    proposals: NotRequired[int]  # open ones
    model: NotRequired[Tally]


Tally = TypedDict("Tally", {"asked": int, "summaries": int, "proposed": int, "trouble": str})
"""What a language model did during a job."""


ProposalRow = TypedDict("ProposalRow", {
    "id": str, "kind": str, "path": str, "line": int, "said": str, "evidence": list[str], "old": str, "new": str,
    "column": int,
    # of a model
    "who": str, "memories": list[str], "hashes": list[str], "choice": str, "reason": str, "model": str,
    "category": str,
}, total=False)  # fmt: skip
"""A proposal as it is stored and shown: with the fields of Proposal, or those of an answer of a model."""


class CommitReport(TypedDict):
    """An entry of the history."""

    commit: str
    at: str
    by: str
    machine: str
    kind: NotRequired[str]
    why: str
    files: NotRequired[list[dict[str, str | None]]]
    diff: NotRequired[str]


def in_short(commit: CommitReport) -> CommitReport:
    """The entry without its files."""
    return {
        "commit": commit["commit"], "by": commit["by"], "why": commit["why"], "at": commit["at"],
        "machine": commit["machine"],
    }  # fmt: skip


class UndoReport(TypedDict):
    """The report of an undo, carried out or not."""

    undone: list[CommitReport]  # without files
    redone: bool
    dry_run: bool
    answers: list[dict[str, str]]
    refused: list[Skipped]
    before: str | None
    changes: list[ChangeReport]


def header(params: Arguments, why: str, now: float) -> Header:
    """The author: the assistant that gives its name, else the person."""
    name = params.text("by") or params.text("agent")
    return Header(name or YOU, "assistant" if name else "person", why, now)


def finish(session: Session, params: Arguments, plan: Plan, why: str) -> PlanReport | None:
    """Carry out a plan, or only preview it if requested. Raises NoteChangedError."""
    if params.flag("dry_run"):
        return report_planned(session, plan)
    if plan.changes:
        session.make(plan, header(params, why[:200], session.now))
    return None


def report_planned(session: Session, plan: Plan) -> PlanReport:
    """The report of a plan that is not carried out, with its diffs."""
    report = to_json(plan, NOTHING)
    report["dry_run"] = True
    for at, (row, change) in enumerate(zip(report["changes"], plan.changes, strict=True)):
        row["diff"] = diff(session, change) if at < MOST_DIFFS else None
    return report


def report_done(plan: Plan, outcome: Outcome) -> PlanReport:
    """The report of a plan that was carried out: the changes made, and findings with current paths."""
    targets = {step.target for step in outcome.done}
    now = {step.path: step.target for step in outcome.done if step.path is not None}
    findings = tuple(_moved(finding, now) for finding in plan.findings)
    changes = tuple(change for change in plan.changes if change.target in targets)
    return to_json(plan._replace(changes=changes, findings=findings), outcome)


def to_json(plan: Plan, outcome: Outcome) -> PlanReport:
    """A finished plan as JSON."""
    return {
        "job": plan.name, "dry_run": False,
        "changes": [
            {"action": change.action, "id": change.id, "path": change.path, "target": change.target, "why": change.why}
            for change in plan.changes
        ],
        "counts": dict(sorted(Counter(change.action for change in plan.changes).items())),
        "findings": [*plan.findings],
        "skipped": [{"path": path, "reason": reason} for path, reason in outcome.skipped], "left": plan.left,
    }  # fmt: skip


def _moved(finding: Finding, now: Mapping[str, str]) -> Finding:
    subject, others = finding["subject"], [now.get(path, path) for path in finding["others"]]
    return {**finding, "subject": now.get(subject, subject), "others": others}


def diff(session: Session, change: Change) -> str:
    """The change of a file as a unified diff."""
    old = None if change.path is None else session.store.bytes_of(change.path)
    try:
        new = rendering(change, session.store.rules.page_style)(old)
    except VaultmemError as error:
        return f"not possible: {error}\n"
    return diff_of(change.path, change.target, old or b"", new)


def diff_of(path: str | None, target: str, old: bytes, new: bytes) -> str:
    """The unified diff of two versions of a file."""
    before, after = (decode(data)[0].splitlines() for data in (old, new))
    lines = _unified_diff(before, after, path or "(new)", target)
    return "\n".join(lines) + "\n"


def _unified_diff(before: list[str], after: list[str], path: str, target: str) -> Iterable[str]:
    """As difflib has it, which is not needed for a new file and takes long to import."""
    if after and not before:
        count = f",{len(after)}" if after[1:] else ""
        return [
            f"--- {path}",
            f"+++ {target}",
            f"@@ -0,0 +1{count} @@",
            *(f"+{line}" for line in after),
        ]
    from difflib import unified_diff

    return unified_diff(before, after, path, target, lineterm="")


# --- Answers to pending items


class ItemReport(TypedDict):
    """The result of an answer."""

    due: NotRequired[str]  # the item
    id: NotRequired[str]  # "" for a task named by its line
    path: str
    text: NotRequired[str]
    action: NotRequired[str]  # what was carried out
    next: NotRequired[str]  # its next occurrence
    reason: NotRequired[str]  # why nothing was carried out


class AnswerReport(TypedDict):
    """The changes, or would-be changes, of an answer to an item."""

    id: str
    state: str
    text: str
    until: str | None
    was: str  # its state before
    changed: bool
    carried_out: NotRequired[list[ItemReport]]
    skipped: NotRequired[list[ItemReport]]
    asks: NotRequired[str | None]  # the id of the question whether to tick it in its note, too
    restored: NotRequired[str | None]  # the path of a restored reminder
    gone: NotRequired[bool]  # reopened, but no longer due
    dry_run: NotRequired[bool]
    changes: NotRequired[list[ChangeReport]]


class Settled:
    """The results of the answers, for a report."""

    def __init__(self) -> None:
        self.done: list[ItemReport] = []
        self.reopened: list[ItemReport] = []
        self.skipped: list[ItemReport] = []
        self.changes: list[ChangeReport] = []  # in a dry run

    def skip(self, id_: str, path: str, reason: str) -> None:
        """Record a change that could not be made."""
        self.skipped.append({"due": id_, "path": path, "reason": reason})

    def add_changes(self, id_: str, report: PlanReport) -> None:
        """Record the changes of a dry run."""
        self.changes += [{**change, "due": id_} for change in report["changes"]]
