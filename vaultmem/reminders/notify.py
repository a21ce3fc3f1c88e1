"""Notifies of what is due: records it, then shows it; at most once, whatever happens between.

What this machine cannot show is not recorded, so that another machine, or this one when somebody has logged in, shows
it. What fails although it looked well stays recorded: pending.md has it, and a person is not notified twice.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable
from functools import cached_property

from vaultmem.errors import NotificationError
from vaultmem.light import TYPE_CHECKING
from vaultmem.notes.places import page_path
from vaultmem.reminders.alarms import Alarm, Planned
from vaultmem.synclog.log_entries import Notified
from vaultmem.text import sanitize

if TYPE_CHECKING:
    from vaultmem.config import Config
    from vaultmem.index.state import State
    from vaultmem.notes.dialects import Rulebook
    from vaultmem.reminders.desktop import Desktop

log = logging.getLogger("vaultmem.reminders")

FILE = "notifications.log"  # in the state folder, with the method file
RETRY = 600.0  # seconds before the next try on a desktop that could show nothing


class Notifier:
    """Notifies one person on one machine. With `rules`, a click opens the note."""

    def __init__(self, config: Config, state: State, rules: Rulebook | None = None) -> None:
        self.problem: str | None = None  # of the last notification
        self._method = config.text("notify.method")
        self._file = state.path(FILE)
        self._vault, self._rules = state.vault, rules
        self._page = page_path(config.text("memory_folder"), config.text("pending.path"))
        self._unable_since: float | None = None  # the desktop (monotonic)

    def notify(self, planned: Planned, record: Callable[[list[Notified]], None]) -> list[Alarm]:
        """Record each alarm, then show it. Returns those that worked; one that cannot be recorded is not shown."""
        if self._method == "none":
            return []
        if planned.silent:
            record(planned.silent)
        if not planned.alarms or not self._is_able():
            return []
        delivered = []
        for alarm in planned.alarms:
            record(list(alarm.records))
            try:
                self.desktop.send(alarm.title, alarm.body, alarm.urgent, self._link(alarm))
            except NotificationError as error:
                self._set_problem(str(error))
            else:
                self._set_problem(None)
                delivered.append(alarm)
        return delivered

    def can_show(self) -> bool:
        """Whether the person wants to be notified here, and can be."""
        return self._method != "none" and self._is_able()

    @cached_property
    def desktop(self) -> Desktop:
        """The notifier."""
        from vaultmem.reminders.desktop import open_desktop  # brings asyncio, and most need none

        return open_desktop(self._method, self._file)

    def close(self) -> None:
        """Close the connection to the desktop."""
        if "desktop" in self.__dict__:
            self.desktop.close()

    def _is_able(self) -> bool:
        """Whether notifications work here; after a failure the next try comes after a while only."""
        since = self._unable_since
        if since is not None and time.monotonic() - since < RETRY:
            return False
        problem = self.desktop.problem()
        if problem or since is not None:
            self._set_problem(problem)
        self._unable_since = time.monotonic() if problem else None
        return problem is None

    def _set_problem(self, problem: str | None) -> None:
        if problem and problem != self.problem:
            log.warning("a reminder was not shown: %s", problem)
        self.problem = problem

    def _link(self, alarm: Alarm) -> str:
        """The link that opens the note; for several, the page that lists them."""
        path = alarm.path or self._page
        if self._rules is None or not path:
            return ""
        title = alarm.note or os.path.splitext(os.path.basename(path))[0]
        template = self._rules.uri_templates()[self._rules.at(path).dialect]
        return sanitize.editor_uri(template, self._vault, path, title)


def notification_findings(config: Config, state: State) -> list[tuple[str, str]]:
    """What keeps a person from being reminded here, and what to do about it."""
    notifier = Notifier(config, state)
    try:
        problem = notifier.desktop.problem()
    finally:
        notifier.close()
    if problem is None:
        return []
    what, _, advice = problem.partition("; ")
    return [(f"no reminder is shown: {what}", advice)]
