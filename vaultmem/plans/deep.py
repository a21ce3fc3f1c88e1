"""The deep level of dream: what memories say together, what contradicts, what has become stale."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from vaultmem.core.view import Draft
from vaultmem.plans.clusters import clusters
from vaultmem.plans.contradictions import contradictions
from vaultmem.plans.fading import fading
from vaultmem.plans.found_reminders import found_reminders
from vaultmem.plans.stale_days import stale_days


def deep(draft: Draft) -> None:
    """All of it. Reminders are looked for before relative days get their date, in the words as they were written."""
    for step in changing():
        step(draft)
    across(draft)


def changing() -> list[Callable[[Draft], None]]:
    """The steps that change memories; when they are taken again, they look only at what has become another."""
    return [partial(found_reminders, looked=set()), partial(stale_days, looked=set())]


def across(draft: Draft) -> None:
    """Find what memories say together."""
    contradictions(draft)
    clusters(draft)
    fading(draft)
