"""vaultmem pending: what waits for a person. Reads only."""

from __future__ import annotations

from vaultmem import now as clock
from vaultmem.output import Output
from vaultmem.reminders import listing
from vaultmem.text.values import TYPE_CHECKING, plural

if TYPE_CHECKING:
    import argparse

    from vaultmem.reminders.listing import Listed, Row

SHOWN = 20
ROOM = {
    "soon": 2,
    "overdue": 4,
    "review": 3,
    "preferences": 3,
}  # lines at least, however much there is above them
NAMES = {
    "today": "today", "soon": "upcoming", "overdue": "overdue", "review": "review", "preferences": "preferences",
}  # fmt: skip


def run(args: argparse.Namespace, output: Output) -> int:
    """List what waits, the most urgent first."""
    now = clock.seconds()
    found = listing.by_section(_listed(args, output, now).rows, args.days, now)
    count = sum(len(rows) for section, rows in found.items() if section != "preferences")
    if output.as_json:
        found["overdue"] += found.pop("older")
        shown = {NAMES[section]: [_as_json(row) for row in rows] for section, rows in found.items()}
        output.data({**shown, "count": count})
        return 0
    if not count:
        output.remark(f"vaultmem: nothing waits for you in the next {plural(args.days, 'day')}")
    older = [] if args.all else found.pop("older")
    everything = count + len(found["preferences"])
    _show(_titled(found, args.days, output), output, everything if args.all else SHOWN)
    if older:
        output.line(f"+{len(older):,} overdue for more than two weeks: vaultmem pending --all")
    return 0


def _listed(args: argparse.Namespace, output: Output, now: float) -> Listed:
    """From the listing, if nothing has changed since; else from the index."""
    given = args.vault
    elsewhere = given is None or isinstance(given, str)  # in the agent the vault is open
    if elsewhere and args.days <= listing.DAYS and (kept := listing.kept(given, now)):
        for warning in kept.warnings:
            output.remark(f"vaultmem: {warning}")
        return kept
    from vaultmem.commands.shared import open_vault
    from vaultmem.reminders.waiting import gather

    with open_vault(args, output) as vault:
        return gather(vault.settled(), now, max(args.days, listing.DAYS), keep=elsewhere)


def _as_json(row: Row) -> dict[str, object]:
    hidden = ("section", "place", "scope", "author", "memory")
    own = {name: found for name, found in row.items() if name not in hidden}
    return {**own, "by": row["author"]} if row["author"] else own


def _titled(
    found: dict[str, list[Row]], days: int, output: Output
) -> list[tuple[str, str, list[str]]]:
    """Sections with their titles and lines."""
    titles = {
        "overdue": ("overdue", "red"),
        "older": ("overdue for more than two weeks",),
        "today": ("today", "yellow"),
        "soon": (f"the next {plural(days, 'day')}", "cyan"),
        "review": ("to review",),
        "preferences": ("preferences",),
    }
    return [
        (
            section,
            output.paint(titles[section][0], "bold", *titles[section][1:]),
            [_line(row, output) for row in rows],
        )
        for section, rows in found.items()
    ]


def _line(row: Row, output: Output) -> str:
    when = (row["due"] or "").replace("T", " ")
    said = ", ".join(filter(None, [row["repeat"], row["author"] and f"by {row['author']}"]))
    text = f"{row['text']} ({said})" if said else row["text"]
    parts = (output.paint(row["id"], "yellow"), when, text, output.paint(row["source"], "dim"))
    return "  ".join(part for part in parts if part)


def _show(titled: list[tuple[str, str, list[str]]], output: Output, most: int) -> None:
    """What comes last is not crowded out by what is due."""
    room = {section: min(ROOM.get(section, 0), len(lines)) for section, _, lines in titled}
    left = most - sum(room.values())
    hidden = 0
    for section, title, lines in titled:
        left += room[section]
        shown = lines[:left]
        if shown:
            output.line(title)
        for line in shown:
            output.line(f"  {line}")
        left -= len(shown)
        hidden += len(lines) - len(shown)
    if hidden:
        output.line(f"+{hidden:,} more: vaultmem pending --all")
