"""Carries out what is to be told: kept as told first, then shown; at most once, whatever happens between.

What this machine cannot show is not kept as told, so that another machine, or this one when somebody has logged in,
tells it. What fails although it looked well stays told: pending.md has it, and nobody is told twice.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, tzinfo
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from vaultmem.errors import NotificationError
from vaultmem.reminders.alarms import Alarm, Planned
from vaultmem.reminders.answers import Told
from vaultmem.text import sanitize
from vaultmem.vault.places import page_path

if TYPE_CHECKING:
    from vaultmem.config import Config
    from vaultmem.index.state import State
    from vaultmem.reminders.desktop import Desktop
    from vaultmem.vault.dialects import Rulebook

log = logging.getLogger("vaultmem.reminders")

FILE = "notifications.log"  # in the state folder, with the method file
RETRY = 600.0  # seconds before a desktop that could show nothing is asked again

Record = Callable[[list[Told]], None]


class Shows(Protocol):
    """What shows notifications: reminders.desktop."""

    def trouble(self) -> str | None: ...
    def send(self, title: str, body: str, urgent: bool = False, uri: str = "") -> None: ...
    def close(self) -> None: ...


class LocalZone(tzinfo):
    """The zone of this computer, with the days on which its clocks are set: datetime.now(LocalZone()).

    datetime.now().astimezone() has only the offset of now, which is wrong for times after such a day.
    """

    def utcoffset(self, when: datetime | None) -> timedelta:
        """The offset at a time of the clock on the wall."""
        shown = when.replace(tzinfo=None) if when else datetime.now(UTC).replace(tzinfo=None)
        return shown.astimezone().utcoffset() or timedelta()

    def dst(self, when: datetime | None) -> timedelta | None:  # noqa: ARG002 - as tzinfo has it
        """Not known, and not needed."""
        return None

    def tzname(self, when: datetime | None) -> str | None:
        """As the system calls it at that time."""
        return when.replace(tzinfo=None).astimezone().tzname() if when else None

    def fromutc(self, when: datetime) -> datetime:
        """What the clock on the wall shows at a moment."""
        at = when.replace(tzinfo=UTC).timestamp()
        return datetime.fromtimestamp(at).replace(tzinfo=self)  # noqa: DTZ006 - it knows an hour that comes twice


class Teller:
    """Tells one person on one machine. With `rules`, a click opens the note."""

    def __init__(
        self,
        config: Config,
        state: State,
        rules: Rulebook | None = None,
        desktop: Shows | None = None,
    ) -> None:
        self.trouble: str | None = None  # what kept the last notification from being shown
        self._method = config.text("notify.method")
        self._given, self._config, self._state = desktop, config, state
        self._vault, self._rules = state.vault, rules
        self._page = page_path(config.text("memory_folder"), config.text("pending.path"))
        self._asked: float | None = None  # when the desktop was found unable (monotonic)

    def tell(self, planned: Planned, record: Record) -> list[Alarm]:
        """Keep as told what is told, then tell it; what was handed over. What `record` raises is passed on, and
        nothing is told that was not kept."""
        if self._method == "none":
            return []
        if planned.silent:
            record(planned.silent)
        if not planned.tell or not self._is_able():
            return []
        return [alarm for alarm in planned.tell if self._told(alarm, record)]

    @cached_property
    def _desktop(self) -> Shows:
        return self._given or _desktop(self._config, self._state)

    def close(self) -> None:
        """Let go of the desktop."""
        if "_desktop" in self.__dict__:
            self._desktop.close()

    def _is_able(self) -> bool:
        """Whether anything can be shown here; a desktop that cannot is asked again after a while only."""
        if self._asked is not None and time.monotonic() - self._asked < RETRY:
            return False
        said = self._desktop.trouble()
        if said or self._asked is not None:
            self._say(said)
        self._asked = time.monotonic() if said else None
        return said is None

    def _told(self, alarm: Alarm, record: Record) -> bool:
        record(list(alarm.told))
        try:
            self._desktop.send(alarm.title, alarm.body, alarm.urgent, self._link(alarm))
        except NotificationError as error:
            self._say(str(error))
            return False
        self._say(None)
        return True

    def _say(self, trouble: str | None) -> None:
        if trouble and trouble != self.trouble:
            log.warning("a reminder was not shown: %s", trouble)
        self.trouble = trouble

    def _link(self, alarm: Alarm) -> str:
        """What opens the note; of several, the page on which they all are."""
        path = alarm.path or self._page
        if self._rules is None or not path:
            return ""
        title = alarm.note or os.path.splitext(os.path.basename(path))[0]
        template = self._rules.uri_templates()[self._rules.dialect(path)]
        return sanitize.fill(template, self._vault, path, title)


def notification_findings(config: Config, state: State) -> list[tuple[str, str]]:
    """What keeps a person from being reminded here, and what to do about it."""
    desktop = _desktop(config, state)
    try:
        trouble = desktop.trouble()
    finally:
        desktop.close()
    if trouble is None:
        return []
    what, _, advice = trouble.partition("; ")
    return [(f"no reminder is shown: {what}", advice)]


def _desktop(config: Config, state: State) -> Desktop:
    from vaultmem.reminders.desktop import (
        Desktop,  # brings asyncio along, and most who ask tell nothing
    )

    return Desktop(config.text("notify.method"), state.path(FILE))
