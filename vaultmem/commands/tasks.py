"""vaultmem tasks: open tasks with their dates."""

from __future__ import annotations

from vaultmem.commands.shared import open_vault
from vaultmem.output import Output
from vaultmem.search.query import day_range
from vaultmem.text.values import TYPE_CHECKING, plural

if TYPE_CHECKING:
    import argparse


def run(args: argparse.Namespace, output: Output) -> int:
    """List tasks, dated ones first."""
    span = day_range(args.due) if args.due else None
    last = span[1] if span else None
    with open_vault(args, output) as vault:
        found = vault.tasks(everything=args.all)
        if args.path:
            found = [(path, task) for path, task in found if args.path.lower() in path.lower()]
        if last:
            found = [
                (path, task) for path, task in found if (day := _date(task)) and day[:10] <= last
            ]
        if output.as_json:
            output.data(
                {"tasks": [{"path": path, **task} for path, task in found], "count": len(found)}
            )
            return 0
        output.remark(f"vaultmem: {plural(len(found), 'task')}")
        for path, task in found:
            day = _date(task)
            box = output.paint((day or "").replace("T", " ").ljust(16), "yellow")
            mark = str(task.get("marker") or f"[{task.get('status', ' ')}]")
            place = f"{path}:{task['line']}"
            again = f" 🔁 {task['recurrence']}" if task.get("recurrence") else ""
            output.line(f"{box} {mark} {task.get('text', '')}{again}  {output.paint(place, 'dim')}")
    return 0


def _date(task: dict[str, object]) -> str:
    dates = [str(task[name]) for name in ("due", "scheduled", "remind", "start") if task.get(name)]
    return str(task.get("due") or min(dates, default=""))
