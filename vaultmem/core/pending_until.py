"""For how long what waits stays as it is, when nobody touches anything: most of it changes at midnight only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from vaultmem.core.answers import SNOOZED, Answer
from vaultmem.core.due import Due


def until(dues: Iterable[Due], answers: Mapping[str, Answer], now: str) -> str:
    """The next minute of this day from which something else may wait; "" when that is not before midnight. `now` and
    the answer are local, YYYY-MM-DDTHH:MM."""
    today = now[:10]
    ends = [one.until for one in answers.values() if one.state == SNOOZED]
    # What comes round keeps its time of day.
    ends += [today + clock for due in dues if due.rolls for clock in (due.due[10:], due.at[10:])]
    return min(
        (end for end in ends if end > now and end[:10] == today and len(end) > 10), default=""
    )
