"""How much has gone lately: a drive that is unmounted file by file is no deletion by a person."""

from __future__ import annotations

from collections import deque

from vaultmem.compare import refuse_if_lost

WINDOW = 60.0  # seconds


class Losses:
    """Files that have gone from the vault in the last minute."""

    def __init__(self) -> None:
        self._lately: deque[tuple[float, int]] = deque()

    def check(self, folder: str, count: int, known: int, now: float) -> None:
        """Count files that are gone; `known` is how many the index holds, these among them. Raises
        VaultGoneError when, with those of the last minute, they are too many to be believed."""
        while self._lately and self._lately[0][0] < now - WINDOW:
            self._lately.popleft()
        before = sum(number for _, number in self._lately)
        total = known + before
        refuse_if_lost(folder, before + count, total, empty=count == known)
        self._lately.append((now, count))

    def forget(self) -> None:
        """A person has confirmed what is gone."""
        self._lately.clear()
