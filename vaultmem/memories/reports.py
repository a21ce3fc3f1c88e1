"""What a plan would do and what a batch has done, as JSON; and who asked for it."""

from __future__ import annotations

from collections import Counter

from vaultmem.errors import VaultmemError
from vaultmem.memories.arguments import Arguments
from vaultmem.memories.draft import Change, Finding, Plan
from vaultmem.memories.store import YOU, Session, rendering
from vaultmem.vault.batches import Header, Outcome
from vaultmem.vault.files import decode

Report = dict[str, object]
MOST_DIFFS = 200  # of a dry run; what comes after is listed without its text
NOTHING = Outcome(None, (), ())


def header(params: Arguments, why: str, now: float) -> Header:
    """Who does it: the assistant that says its name, else the person."""
    name = params.text("by") or params.text("agent")
    return Header(name or YOU, "assistant" if name else "person", why, now)


def report_planned(session: Session, plan: Plan) -> Report:
    """A plan that is not carried out, with its diffs."""
    changes = [
        {**_change_to_json(change), "diff": diff(session, change) if at < MOST_DIFFS else None}
        for at, change in enumerate(plan.changes)
    ]
    return {**to_json(plan, NOTHING), "dry_run": True, "changes": changes}


def report_done(plan: Plan, outcome: Outcome) -> Report:
    """A plan that was carried out, as far as it was."""
    return to_json(settled_plan(plan, outcome), outcome)


def settled_plan(plan: Plan, outcome: Outcome) -> Plan:
    """A plan after it was carried out: the changes that were made, and findings with the paths of now."""
    targets = {step.target for step in outcome.done}
    now = {step.path: step.target for step in outcome.done if step.path is not None}
    findings = tuple(
        finding._replace(
            subject=now.get(finding.subject, finding.subject),
            others=tuple(now.get(path, path) for path in finding.others),
        )
        for finding in plan.findings
    )
    changes = tuple(change for change in plan.changes if change.target in targets)
    return plan._replace(changes=changes, findings=findings)


def to_json(plan: Plan, outcome: Outcome) -> Report:
    """A plan that is settled."""
    return {
        "job": plan.name,
        "dry_run": False,
        "changes": [_change_to_json(change) for change in plan.changes],
        "counts": _counts(plan.changes),
        "findings": [finding_to_json(finding) for finding in plan.findings],
        "skipped": [{"path": path, "reason": reason} for path, reason in outcome.skipped],
        "left": plan.left,
    }


def finding_to_json(finding: Finding) -> Report:
    """A finding as JSON."""
    return {**finding._asdict(), "others": list(finding.others)}


def _change_to_json(change: Change) -> Report:
    return {name: getattr(change, name) for name in ("action", "id", "path", "target", "why")}


def _counts(changes: tuple[Change, ...]) -> dict[str, int]:
    return dict(sorted(Counter(change.action for change in changes).items()))


def diff(session: Session, change: Change) -> str:
    """What the change would do to its file, as a unified diff."""
    old = None if change.path is None else session.desk.bytes_of(change.path)
    try:
        new = rendering(change, session.desk.rules.page_style)(old)
    except VaultmemError as error:
        return f"not possible: {error}\n"
    return diff_of(change.path, change.target, old or b"", new)


def diff_of(path: str | None, target: str, old: bytes, new: bytes) -> str:
    """Two versions of a file side by side."""
    import difflib  # only what is shown before it is done needs it

    before, after = (decode(each)[0].splitlines() for each in (old, new))
    lines = difflib.unified_diff(before, after, path or "(new)", target, lineterm="")
    return "\n".join(lines) + "\n"
