"""How many examples a law is tried on. New ones each time: what few of them miss today, others find tomorrow."""

from __future__ import annotations

import os

WHOLE = "VAULTMEM_LAWS" in os.environ  # as many as were thought of; .ci/run sets it


def examples(count: int) -> int:
    """A third of so many, or all."""
    return count if WHOLE else max(20, count // 3)
