"""What has gone and is not believed to be gone: a drive that is unmounted file by file is no deletion by a person."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterable

from vaultmem.errors import VaultGoneError
from vaultmem.index.compare import Diff, check_vanished, missing, refuse_if_lost, without
from vaultmem.vault import identity

log = logging.getLogger("vaultmem.index")

WINDOW = 60.0  # seconds
MOST_OURS = 20_000


class VanishGuard:
    """Files that have gone from the vault in the last minute, and those that the index keeps all the same.

    While the vault has `vanished` that minute stands still: else what the index keeps would be few enough to be
    believed as soon as what had gone before it is forgotten.
    """

    def __init__(self, folder: str) -> None:
        self.vanished: str | None = None  # why the index keeps what is not there
        self._folder = folder
        # What we have moved away ourselves, and the index has not heard of yet.
        self._ours: set[str] = set()
        self._lately: deque[tuple[float, int]] = deque()
        self._unconfirmed: set[str] | None = None  # None: nobody knows which they are
        self._going = 0

    def hold(self, why: str) -> None:
        """From now on, nothing that has gone is believed to be gone."""
        if why != self.vanished:
            log.error("%s", why)
        self.vanished = why

    def expect(self, paths: Iterable[str]) -> None:
        """What is gone from these paths was moved away by us, and is no loss."""
        self._ours.update(paths)

    def missing(self, diff: Diff) -> list[str]:
        """The paths of files that are gone, and neither renamed nor moved by us."""
        return [path for path in missing(diff) if path not in self._ours]

    def check_root(self) -> None:
        """Raise VaultGoneError when the vault itself is not there, or is another folder than before."""
        identity.check(self._folder)

    # A look at some paths

    def not_believed(self, diff: Diff, known: int, now: float) -> list[str]:
        """Of what is gone there, what the index keeps; it holds `known` files."""
        gone = self.missing(diff)
        if gone and not self.vanished:
            try:
                self._check(len(gone), known, now)
            except VaultGoneError as error:
                self.hold(str(error))
                self._unconfirmed = set()
        if not self.vanished:
            return []
        if self._unconfirmed is not None:
            self._unconfirmed.update(gone)
        return gone

    def are_back(self, diff: Diff) -> bool | None:
        """Whether all that the index keeps is there again; None when nothing of it is, as far as has been looked."""
        if self._unconfirmed is None:
            return True  # perhaps
        before = len(self._unconfirmed)
        self._unconfirmed.difference_update(diff.known)
        return None if len(self._unconfirmed) == before else not self._unconfirmed

    def count(self, number: int, now: float, diff: Diff | None = None) -> None:
        """So many have been removed from the index, of what differed."""
        if diff is not None:
            self._ours.difference_update(diff.gone.values())
        if number:
            self._lately.append((now, number))

    # A look at everything

    def begin(self) -> None:
        """Everything is going to be looked at."""
        self._unconfirmed, self._going = None, 0

    def check(self, diff: Diff, now: float) -> None:
        """Raises VaultGoneError when too much is gone, at once or in a short time."""
        gone = self.missing(diff)
        try:
            check_vanished(self._folder, without(diff, self._ours))
            if gone:
                self._check(len(gone), len(diff.known) + len(diff.gone), now)
        except VaultGoneError:
            self._unconfirmed = set(gone)
            raise
        self._going = len(gone)

    def end(self, now: float, *, confirmed: bool) -> None:
        """Everything has been looked at, and is in the index as it is there; a person may have confirmed it."""
        if self.vanished:
            log.info("the vault is whole again")
        self.vanished = None
        if len(self._ours) > MOST_OURS:
            self._ours.clear()
        if confirmed:
            self._lately.clear()
        self.count(self._going, now)

    def _check(self, count: int, known: int, now: float) -> None:
        """Raises VaultGoneError when, with those of the last minute, so many of `known` cannot be believed."""
        if not self.vanished:
            while self._lately and self._lately[0][0] < now - WINDOW:
                self._lately.popleft()
        before = sum(number for _, number in self._lately)
        refuse_if_lost(self._folder, before + count, known + before, empty=count == known)
