"""Whose turn it is to notify, where several machines are awake: one speaks at once, the others after ten minutes, and
only of what has not been notified by then. Pure.

The one is whichever woke up last, for that is where the person is likely to be. A machine that was silent when it was
its turn is not waited for any more until it shows a sign of life.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from vaultmem.synclog.log_entries import Page
from vaultmem.text.times import seconds

PATIENCE = timedelta(minutes=10)
_GONE = 7 * 86_400.0  # seconds without a sign of life after which a machine is not waited for


class Turn(NamedTuple):
    """When one machine may speak."""

    since: datetime | None = None  # when it woke up; None: there is nobody to wait for
    is_first: bool = True

    def speaks_at(self, moment: datetime) -> datetime:
        """From when on it speaks of what is to be heard at a moment. What fell into its sleep somebody else may have
        told of, so it first waits for what they have written."""
        if self.since is None or (self.is_first and self.since <= moment):
            return moment
        return max(moment, self.since) + PATIENCE


ALONE = Turn()


def turn_of(own: Page, others: Iterable[Page], silent: Mapping[str, str], now: float) -> Turn:
    """The turn of a machine that is awake; `silent` has by name the last sign of life of those that left their turn
    out."""
    alive = [one for one in others if _is_awaited(one, silent.get(one.machine, ""), now)]
    woke = seconds(own.awake)
    if not alive or woke is None:
        return ALONE
    rank = (own.awake, own.machine)
    is_first = all((page.awake, page.machine) < rank for page in alive)
    return Turn(datetime.fromtimestamp(woke, UTC), is_first)


def _is_awaited(page: Page, silent: str, now: float) -> bool:
    """Whether a machine can notify, and neither was silent at its last sign of life nor has been for days."""
    sign = sign_of_life(page)
    return bool(page.awake) and sign != silent and abs(now - (seconds(sign) or 0.0)) < _GONE


def sign_of_life(page: Page) -> str:
    """The last moment at which a machine is known to have been awake."""
    return max([page.awake, *(entry.at for entry in page.entries.values())])


def signs_of_life(pages: Iterable[Page]) -> dict[str, str]:
    """Those of machines by their names: nobody waits for them before there is a later one."""
    return {page.machine: sign_of_life(page) for page in pages}
