"""What waits for the person, what the person approves, and changes of own notes, in Python; `Vault` has these verbs."""

from __future__ import annotations

from vaultmem.core.values import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    Report = dict[str, Any]


class WaitingVerbs:
    """Every method raises VaultmemError in one clear line; see MemoryVerbs."""

    def ask(self, verb: str, **params: object) -> Any:
        """What a verb says."""
        raise NotImplementedError

    def done(self, item: str, *, by: str | None = None, dry_run: bool = False) -> Report:
        """Say that an item of pending.md (vm-… or the beginning of it) is done; "NOTE:LINE" ticks the task on that
        line of a note. The report has "id", "text", "was"
        (what was said of it before), "changed" (False where it was done or dropped already, which stays),
        "carried_out" and "skipped" (what it led to in files), and "asks": the id of the question whether to tick it
        in its note, too."""
        return _report(self.ask("answer", id=item, state="done", by=by, dry_run=dry_run))

    def drop(
        self, item: str, *, series: bool = False, by: str | None = None, dry_run: bool = False
    ) -> Report:
        """Say that nothing will come of an item: this time, or with `series` ever again; a report like that of
        done()."""
        return _report(
            self.ask("answer", id=item, state="dropped", series=series, by=by, dry_run=dry_run)
        )

    def snooze(
        self, item: str, until: str | None = None, *, by: str | None = None, dry_run: bool = False
    ) -> Report:
        """Let an item sleep until a day or a time ("friday", "tomorrow 9:00", "3d"; tomorrow, if none is named); a
        report like that of done(), with "until"."""
        return _report(
            self.ask("answer", id=item, state="snoozed", until=until, by=by, dry_run=dry_run)
        )

    def reopen(self, item: str, *, by: str | None = None, dry_run: bool = False) -> Report:
        """Take an answer back: a report like that of done(), with "restored", where the reminder came back to."""
        return _report(self.ask("answer", id=item, state="open", by=by, dry_run=dry_run))

    def pending(self, *, days: int = 7) -> list[Report]:
        """What waits for the person: items with "id", "section" (today, soon, overdue, older, review, preferences),
        "text", "due", "source", "title", "repeat" and "author", an assistant's name; what is due within so many
        `days`."""
        found: list[Report] = self.ask("pending", days=days)["items"]
        return found

    def chores(self) -> list[Report]:
        """What there is to look after, which pending() only counts: what waits for approval, memories that could not be
        filed, contradictions, conflict copies, unreadable notes. Items as those of pending()."""
        found: list[Report] = self.ask("pending")["chores"]
        return found

    def notify(self, *, dry_run: bool = False) -> Report:
        """Take the answers from pending.md, write it anew, and tell the desktop of what is due and was not told:
        "told" (each with "title" and "body"), "written", "answered", "troubles"."""
        return _report(self.ask("notify", dry_run=dry_run))

    def settle(self, *, dry_run: bool = False) -> Report:
        """Carry out what was answered on the page or by another machine: "done", "skipped", "reopened", "changes"."""
        return _report(self.ask("settle", dry_run=dry_run))

    # The person's own notes

    def set(
        self, note: str, key: str, value: object, *, add: bool = False, dry_run: bool = False
    ) -> Report:
        """Set one property of any note, or with `add` give its list one more item; no other byte changes. The report
        has "note", "key", "was", "value" and "changed"."""
        return _report(self.ask("set", note=note, key=key, value=value, add=add, dry_run=dry_run))

    def unset(self, note: str, key: str, value: object = None, *, dry_run: bool = False) -> Report:
        """Remove one property of any note, or one item from its list; a report like that of set()."""
        return _report(self.ask("unset", note=note, key=key, value=value, dry_run=dry_run))

    # In and out

    def approve(
        self, memory: str | None = None, *, agent: str | None = None, source: str | None = None, undo: bool = False,
        dry_run: bool = False,
    ) -> Report:  # fmt: skip
        """Let assistants be told of a memory that an assistant wrote or that came from elsewhere; or of all by one
        `agent`, or from one `source`. Only a person can. The report has "approved" and "memories"."""
        return _report(
            self.ask("approve", id=memory, agent=agent, source=source, undo=undo, dry_run=dry_run)
        )


def _report(found: object) -> Report:
    assert isinstance(found, dict)
    return found
