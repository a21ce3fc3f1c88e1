"""Due items and the answers to them: tasks, pending items, reminders, notifications."""

from __future__ import annotations

import time

from vaultmem import now as clock
from vaultmem import screen
from vaultmem.commands.rendering import open_vault, show_diff, show_done, vault_of
from vaultmem.errors import UsageError, VaultmemError
from vaultmem.memories.access import viewer
from vaultmem.output import Output
from vaultmem.pending import listing
from vaultmem.text.values import LEAST_LISTED, TYPE_CHECKING, fit_sections, plural

if TYPE_CHECKING:
    from types import SimpleNamespace as Namespace

    from vaultmem.adapter import JsonObject
    from vaultmem.commands.rendering import Answer
    from vaultmem.memories.reports import AnswerReport
    from vaultmem.pending.listing import Listed, Row

MOST_ROWS = 20
TWO_LINES = 48  # columns; with less room, the place goes below the text
_STATES = {"done": "done", "drop": "dropped", "snooze": "snoozed"}


def tasks(args: Namespace, output: Output) -> int:
    """List tasks, dated ones first."""
    from vaultmem.memories.arguments import days

    span = days(args.due, ahead=True) if args.due else None
    path = (args.path or "").lower()
    with open_vault(args, output) as vault:
        rows = [
            (note, task)
            for note, task in vault.tasks(everything=args.all)
            if path in note.lower() and (not span or "" < _date(task)[:10] <= span[1])
        ]
    output.answer({"tasks": [{"path": note, **task} for note, task in rows], "count": len(rows)})
    output.note(plural(len(rows), "task"))
    wide = max((len(_when(_date(task))) for _, task in rows), default=0)
    for note, task in rows:
        date = output.paint(_when(_date(task)).ljust(wide), "yellow")
        mark = str(task.get("marker") or f"[{task.get('status', ' ')}]")
        again = f" 🔁 {task['recurrence']}" if task.get("recurrence") else ""
        text = f"{mark} {task.get('text', '')}{again}"
        _show_row(date, wide, text, (note, str(task["line"])), output)
    return 0


def _when(stamp: str) -> str:
    """A day with its weekday, and the time if there is one."""
    if not stamp:
        return ""
    try:  # without datetime: this is a light command
        year, month, day = map(int, stamp[:10].split("-"))
        noon = time.localtime(time.mktime((year, month, day, 12, 0, 0, 0, 0, -1)))
    except (ValueError, OverflowError):
        return stamp.replace("T", " ")
    return f"{time.strftime('%a', noon)} {stamp.replace('T', ' ')}"


def _show_row(ahead: str, wide: int, text: str, source: tuple[str, str], output: Output) -> None:
    """Print a row of a list: leading columns, text and origin, as wide as the terminal."""
    path, line = source
    if not output.columns:
        output.line(f"{ahead} {text}  {output.place(path, line, style='dim')}".rstrip())
        return
    room = output.room(wide + 1)
    if room < TWO_LINES:
        output.line(f"{ahead} {screen.cut(text, room)}".rstrip())
        if path:
            place = output.place(path, line, room=room, style="dim")
            output.line(" " * (wide + 1) + place)
        return
    least = min(screen.columns(f"{path}:{line}"), max(room // 3, 16))
    text = screen.cut(text, room - least - 2)
    place = output.place(path, line, room=room - screen.columns(text) - 2, style="dim")
    output.line(f"{ahead} {text}  {place}".rstrip())


def _date(task: dict[str, object]) -> str:
    dates = [str(task[name]) for name in ("due", "scheduled", "remind", "start") if task.get(name)]
    return str(task.get("due") or min(dates, default=""))


# --- pending


def pending(args: Namespace, output: Output) -> int:
    """List what is pending, most urgent first. Only reads."""
    now = clock.seconds()
    to = viewer(args.by or "")
    sections = listing.by_section(_load_listing(args, output, now), args.days, now, to)
    sections["review"] = [] if to.name else sections["review"]  # questions to the person
    count = sum(len(rows) for section, rows in sections.items() if section != "preferences")
    if output.as_json:
        sections["overdue"] += sections.pop("older")
        names = {"soon": "upcoming"}
        items = {names.get(name, name): [*map(_to_json, rows)] for name, rows in sections.items()}
        output.data({**items, "count": count})
        return 0
    if not count:
        output.remark(f"nothing is pending in the next {plural(args.days, 'day')}")
    older = [] if args.all else sections.pop("older")
    most = count + len(sections["preferences"]) if args.all else MOST_ROWS
    _show_sections(sections, args.days, output, most)
    if older:
        output.line(f"+{len(older):,} overdue for more than two weeks: vaultmem pending --all")
    return 0


def _load_listing(args: Namespace, output: Output, now: float) -> Listed:
    """Load the saved listing if nothing has changed since, else read the index."""
    is_own = args.vault is None or isinstance(args.vault, str)  # the agent has the vault open
    if is_own and args.days <= listing.DAYS and (listed := listing.read(args.vault, now)):
        for warning in listed.warnings:
            output.remark(warning)
        return listed

    with open_vault(args, output) as vault:
        return listing.gather(vault.settled(), now, max(args.days, listing.DAYS), keep=is_own)


def _to_json(row: Row) -> JsonObject:
    hidden = ("section", "place", "scope", "private", "author", "memory", "known")
    fields = {name: value for name, value in row.items() if name not in hidden}
    return {**fields, "by": row["author"]} if row["author"] else fields


def _show_sections(sections: dict[str, list[Row]], days: int, output: Output, most: int) -> None:
    """Print the sections, leaving room for the last ones after the due items."""
    titles = {
        "overdue": ("overdue", "red"), "older": ("overdue for more than two weeks",), "today": ("today", "yellow"),
        "soon": (f"the next {plural(days, 'day')}", "cyan"), "review": ("to review",), "preferences": ("preferences",),
    }  # fmt: skip
    every = [row for rows in sections.values() for row in rows]
    wide = max((len(_when(row["due"] or "")) for row in every), default=0)
    visible = fit_sections(sections, most, LEAST_LISTED)
    for section, rows in visible.items():
        if rows:
            title, *style = titles[section]
            output.line(output.paint(title, "bold", *style))
        for row in rows:
            _show_pending(row, wide, output)
    hidden = len(every) - sum(map(len, visible.values()))
    if hidden:
        count = len(every)
        output.line(f"{count - hidden:,} of {count:,}; vaultmem pending --all shows the others")


def _show_pending(row: Row, wide: int, output: Output) -> None:
    when = _when(row["due"] or "").ljust(wide)
    id_ = row["id"].ljust(9)
    path, colon, line = row["source"].rpartition(":")
    source = (path, line) if colon and line.isdigit() else (row["source"], "")
    # Of a record in a hidden folder, what a person can open.
    source = source[0].partition("/.")[0], source[1]
    ahead = f"  {output.paint(id_, 'yellow')}  {f'{when} ' if wide else ''}"
    text = row["text"] + listing.remark(row)
    _show_row(ahead, len(id_) + 4 + (wide + 1 if wide else 0), text, source, output)


# --- answers


def answer(args: Namespace, output: Output) -> int:
    """done, drop, snooze: answer each item, or show what that would do; a failure affects no other item."""
    params: Answer = {"state": "open"}
    if not args.undo:
        if args.command == "snooze" and not args.until and len(args.ids) > 1:
            _check_is_no_time(args.ids[-1])
        params = {name: getattr(args, name, None) for name in ("until", "series")}
        params["state"] = _STATES[args.command]
    reports: list[AnswerReport] = []
    errors: list[VaultmemError] = []
    with vault_of(args, output) as vault:
        for id_ in dict.fromkeys(args.ids):
            try:
                how = {"by": args.by, "dry_run": args.dry_run, **params}
                reports.append(vault.ask("answer", id=id_, **how))
            except VaultmemError as error:
                errors.append(error)
    if reports:
        output.answer({"items": reports, "count": len(reports)})
    for report in reports:
        _show_answered(report, output)
    for message in errors[:-1]:
        output.error(str(message))
    if errors:
        raise errors[-1]
    return 0


def _check_is_no_time(id_: str) -> None:
    """Raise UsageError for `snooze vm-abcdef friday`, before anything is snoozed until tomorrow."""
    from vaultmem.plugins import language
    from vaultmem.text.times import moment

    now = clock.local()
    if moment(id_, now, ahead=True) is not None or language().time_alone(id_, now).moment:
        raise UsageError(f"{id_!r} is no id; did you mean --until {id_}?")


def _show_answered(report: AnswerReport, output: Output) -> None:
    state = "open again" if report["state"] == "open" else report["state"]
    if not report["changed"]:
        state = f"{report['state']} already"
    elif report.get("dry_run"):
        state = f"would be {state}"
    if report["changed"] and report["until"]:
        state = f"{state} until {report['until'].replace('T', ' ')}"
    id_ = output.paint(report["id"], "yellow")
    output.line(f"{state}: {report['text']} ({id_}){_consequence(report, output)}")
    for change in report.get("changes", ()):
        show_diff(change.get("diff"), output)
    for skipped in report.get("skipped", ()):
        output.note(skipped["reason"])
    verb = next((verb for verb, state in _STATES.items() if state == report["state"]), "")
    if verb and report["changed"] and not report.get("dry_run"):
        output.note(f"vaultmem {verb} {report['id']} --undo takes it back")


def _consequence(report: AnswerReport, output: Output) -> str:
    """The effect of an answer, or a hint what to do next."""
    if report.get("asks") and not report.get("skipped"):
        command = f"vaultmem done {report['asks']}"
        return f"; still open in its note: {command} ticks it there, and later tasks of that note at once"
    if report["state"] == "open" and report.get("gone"):
        return "; it is not pending now: vaultmem history says who marked it done, vaultmem undo reverts that"
    if restored := report.get("restored"):
        return f"; back in {output.paint(restored, 'cyan')}"
    done = report.get("carried_out", ())
    moments = [f"; next on {item['next'].replace('T', ' ')}" for item in done if item.get("next")]
    paths = dict.fromkeys(item["path"] for item in done)
    return "".join([*moments, *(f"; {output.paint(path, 'cyan')}" for path in paths)])


def show_reminder(answer: Answer, _args: Namespace, output: Output) -> None:
    """remind: print when it is due."""
    if not answer["created"]:
        output.remark("this reminder already exists")
        return
    show_done(f"reminds on {_understood(answer)}", answer, output)


def remark_reminder(answer: Answer, output: Output) -> None:
    """remind: remark on secrets; in a dry run, say when it would be due."""
    from vaultmem.commands.memory_views import remark_secrets

    if answer.get("dry_run"):
        output.line(f"would remind on {_understood(answer)}")
    remark_secrets(answer, output)


def _understood(answer: Answer) -> str:
    """The days and times, and a repeating reminder's rule with the words from which it was read."""
    often = f", {answer['repeat']} (“{answer['understood']}”)" if answer.get("repeat") else ""
    times = sorted([answer["remind"], *answer.get("also", ())])
    return " and ".join(times).replace("T", " ") + often


def notify(args: Namespace, output: Output) -> int:
    """Send desktop notifications for what is due, once; the agent does so every minute."""
    import logging

    logging.getLogger("vaultmem.reminders").addHandler(logging.NullHandler())  # it is in the report
    with vault_of(args, output) as vault:
        if not args.dry_run:
            vault.sync()
        report = vault.notify(dry_run=args.dry_run)
        if report.pop("unsettled", False):
            settled = vault.settle()
            if settled["done"] or settled["reopened"]:
                report["written"] |= vault.notify()["written"]
    output.answer(report)
    for item in report["told"]:
        title = output.paint(item["title"], "bold")
        output.line(f"{title}  {' · '.join(item['body'].splitlines())}")
    many = plural(len(report["told"]), "notification")
    if report["dry_run"]:
        output.note(f"dry run, nothing was done: {many}")
        return 0
    page = f"; {report['page']} is up to date" if report["written"] else ""
    answered = f"; {plural(report['answered'], 'answer')} taken over" if report["answered"] else ""
    output.note(f"{many}{answered}{page}")
    for problem in report["troubles"]:
        output.note(problem)
    return 0
