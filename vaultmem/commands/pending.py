"""vaultmem pending: what waits for a person. Reads only."""

from __future__ import annotations

import datetime as dt
import os

from vaultmem.api import Vault
from vaultmem.commands.memories import STRAY, strays
from vaultmem.commands.shared import open_vault
from vaultmem.core import pending
from vaultmem.core.values import TYPE_CHECKING
from vaultmem.core.wording import plural
from vaultmem.errors import UsageError
from vaultmem.output import Output
from vaultmem.store import catalog_read
from vaultmem.store.frontmatter import PLACEHOLDER

if TYPE_CHECKING:
    import argparse
    from typing import Any

SHOWN = 20
REVIEWED = 5  # lines to review at least, however many tasks there are
WIDEST = 160  # characters of a task's text
FURTHEST = 36_500  # days; a calendar ends somewhere
EPILOG = """\
Overdue, due today, due in the next days, and what to look at: sync conflict copies, unreadable notes, a vault
that lost many notes at once, and what dreams noticed: memories they could not file, contradictions, what fades."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument("--all", action="store_true", help=f"everything, not the first {SHOWN}")
    parser.add_argument(
        "--days", type=int, default=7, help="how many days to look ahead (default 7)"
    )


def run(args: argparse.Namespace, output: Output, today: str | None = None) -> int:
    """List what waits, the most urgent first."""
    if not 0 <= args.days <= FURTHEST:
        raise UsageError(f"--days must be from 0 to {FURTHEST}")
    day = today or dt.date.today().isoformat()  # noqa: DTZ011 - a due day is one of the calendar on the wall
    with open_vault(args, output) as vault:
        found = pending.sections(vault.tasks(), day, args.days)
        review = [*_to_review(vault), *_noticed(vault)]
    count = len(found.overdue) + len(found.today) + len(found.upcoming) + len(review)
    if output.as_json:
        listed = {name: [{"path": path, **task} for path, task in placed]
                  for name, placed in found.__dict__.items()}  # fmt: skip
        output.data({**listed, "review": review, "count": count})
        return 0
    if not count:
        output.remark(f"vaultmem: nothing waits for you in the next {plural(args.days, 'day')}")
    _show(_titled(found, review, args.days, output), output, count if args.all else SHOWN)
    return 0


def _to_review(vault: Vault) -> list[dict[str, str]]:
    copies = [
        {"kind": "conflict copy", "path": path, "what": f"a sync conflict copy of {original}"
         if original else "a sync conflict copy; its original is gone"}
        for path, original in catalog_read.conflict_pairs(vault.searcher().catalog)
    ]  # fmt: skip
    troubled = [
        {"kind": "unreadable", "path": path, "what": reason}
        for path, reason in vault.troubles()
        if PLACEHOLDER not in reason  # on purpose, and no work for anybody
    ]
    vanished = (vault.agent() or {}).get("vanished")
    lost = [{"kind": "vanished", "path": vault.path, "what": str(vanished)}] if vanished else []
    return lost + copies + troubled


def _noticed(vault: Vault) -> list[dict[str, str]]:
    """What dreams noticed in the memories and left to a person; nothing is asked where there are none."""
    if not os.path.isdir(os.path.join(vault.path, vault.config.text("memory_folder"))):
        return []
    waiting = vault.waiting()
    found = [{"kind": "stray", "path": path, "what": STRAY} for path in strays(vault)]
    found += [
        {"kind": one["kind"], "path": one["subject"], "what": one["said"] + _advice(one)}
        for one in waiting["findings"]
    ]
    if waiting["proposals"]:
        many = plural(waiting["proposals"], "proposal")
        found.append(
            {
                "kind": "proposals",
                "path": vault.path,
                "what": f"{many} for your notes: vaultmem review",
            }
        )
    return found


def _advice(finding: dict[str, Any]) -> str:
    if finding["kind"] == "unsure":
        return f": vaultmem upgrade {finding['id'][:8]} --category NAME files it"
    if finding["kind"] == "fading":
        return f": vaultmem reinforce {finding['id'][:8]} keeps it"
    return f" ({', '.join(finding['others'])})" if finding["others"] else ""


def _titled(
    found: pending.Sections, review: list[dict[str, str]], days: int, output: Output
) -> list[tuple[str, list[str]]]:
    """Titles with their lines."""
    tasks = [
        ("overdue", "red", found.overdue),
        ("today", "yellow", found.today),
        (f"the next {plural(days, 'day')}", "cyan", found.upcoming),
    ]
    titled = [
        (output.paint(title, "bold", style), [_line(path, task, output) for path, task in placed])
        for title, style, placed in tasks
    ]
    looks = [f"{output.paint(one['path'], 'cyan')}  {one['what']}" for one in review]
    return [*titled, (output.paint("to review", "bold"), looks)]


def _line(path: str, task: pending.Task, output: Output) -> str:
    when = pending.moment(task).replace("T", " ")
    text = " ".join(str(task.get("text", "")).split())
    if len(text) > WIDEST:
        text = text[: WIDEST - 1] + "…"
    place = f"{path}:{task['line']}"
    return f"{when}  {text}  {output.paint(place, 'dim')}"


def _show(titled: list[tuple[str, list[str]]], output: Output, most: int) -> None:
    """What is to review comes last, and is not crowded out by tasks."""
    left = most - min(REVIEWED, len(titled[-1][1]))
    hidden = 0
    for number, (title, lines) in enumerate(titled):
        if number == len(titled) - 1:
            left += min(REVIEWED, len(lines))
        shown = lines[:left]
        if shown:
            output.line(title)
        for line in shown:
            output.line(f"  {line}")
        left -= len(shown)
        hidden += len(lines) - len(shown)
    if hidden:
        output.line(f"+{hidden:,} more: vaultmem pending --all")
