"""How many examples a law is tried on. New ones each time: what few of them miss today, others find tomorrow."""

import os

WHOLE = "VAULTMEM_LAWS" in os.environ  # as many as were thought of; .ci/run sets it


def examples(count: int) -> int:
    """A third of so many, or all."""
    return count if WHOLE else max(12, count // 3)


def some(count: int) -> int:
    """The same of what takes longer: kills, of which each begins and heals something."""
    return count if WHOLE else -(-count // 3)


def points(last: int, step: int) -> range:
    """Moments at which something is killed: each `step`, or every third of those."""
    return range(1, last, step if WHOLE else 3 * step)
