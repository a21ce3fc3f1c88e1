"""What a plan would do and what a batch has done, as JSON; and who asked for it."""

from __future__ import annotations

import difflib
from collections import Counter

from vaultmem.errors import VaultmemError
from vaultmem.memories.asked import Asked
from vaultmem.memories.desk import YOU, Session, rendering
from vaultmem.memories.draft import Change, Finding, Plan
from vaultmem.vault.batches import Header, Outcome
from vaultmem.vault.files import decode

Report = dict[str, object]
MOST_DIFFS = 200  # of a dry run; what comes after is listed without its text


def header(asked: Asked, why: str, now: float) -> Header:
    """Who does it: the assistant that says its name, else the person."""
    name = asked.text("by") or asked.text("agent")
    return Header(name or YOU, "assistant" if name else "person", why, now)


def planned(session: Session, plan: Plan) -> Report:
    """A plan that is not carried out."""
    changes = [
        {**shown(change), "diff": diff(session, change) if number < MOST_DIFFS else None}
        for number, change in enumerate(plan.changes)
    ]
    return _report(plan, changes, [], dry_run=True)


def done(plan: Plan, outcome: Outcome) -> Report:
    """A plan that was carried out, as far as it was."""
    wanted = {change.target: change for change in plan.changes}
    changes = [shown(wanted[step.target]) for step in outcome.done if step.target in wanted]
    skipped = [{"path": path, "reason": reason} for path, reason in outcome.skipped]
    now = {step.path: step.target for step in outcome.done if step.path is not None}
    moved = [
        finding._replace(
            subject=now.get(finding.subject, finding.subject),
            others=tuple(now.get(path, path) for path in finding.others),
        )
        for finding in plan.findings
    ]
    return _report(plan._replace(findings=tuple(moved)), changes, skipped, dry_run=False)


def _report(
    plan: Plan, changes: list[dict[str, object]], skipped: list[dict[str, str]], *, dry_run: bool
) -> Report:
    return {
        "job": plan.name,
        "dry_run": dry_run,
        "changes": changes,
        "counts": dict(sorted(Counter(str(change["action"]) for change in changes).items())),
        "findings": [found(finding) for finding in plan.findings],
        "skipped": skipped,
        "left": plan.left,
    }


def shown(change: Change) -> dict[str, object]:
    """A change as JSON."""
    return {
        "action": change.action, "id": change.id, "path": change.path, "target": change.target, "why": change.why,
    }  # fmt: skip


def found(finding: Finding) -> dict[str, object]:
    """A finding as JSON."""
    return {**finding._asdict(), "others": list(finding.others)}


def diff(session: Session, change: Change) -> str:
    """What the change would do to its file, as a unified diff."""
    old = None if change.path is None else session.desk.bytes_of(change.path)
    try:
        new = rendering(change, session.desk.rules.page_style)(old)
    except VaultmemError as error:
        return f"not possible: {error}\n"
    return unified(change.path, change.target, old or b"", new)


def unified(path: str | None, target: str, old: bytes, new: bytes) -> str:
    """Two versions of a file side by side."""
    lines = difflib.unified_diff(
        decode(old)[0].splitlines(),
        decode(new)[0].splitlines(),
        path or "(new)",
        target,
        lineterm="",
    )
    return "\n".join(lines) + "\n"
