"""How much may be asked for at once: one limit each, whatever the door."""

from __future__ import annotations

RESULTS = 1_000_000  # of a search or a list
TOKENS, MEMORIES = 1_000_000, 1_000  # of a recall
DAYS = 36_500  # ahead; a calendar ends somewhere
