"""From sources to memories: what a source finds is handed on in batches, each of which is written as a whole.

The files are read by the process of the person who asks. The sync agent, if one runs, only gets their text: nobody
who talks to it can make it read outside the vault. Broken off anywhere, the next run goes on, because what is there
is known.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple, Protocol

from vaultmem.config import Config
from vaultmem.exchange.sources import Passed, Place, chosen
from vaultmem.exchange.texts import Piece, batches, pieces
from vaultmem.progress import Progress, Silent

if TYPE_CHECKING:
    from typing import Any


class Door(Protocol):
    """What is needed of a vault."""

    path: str
    config: Config

    def ask(self, verb: str, **params: object) -> Any:
        """What a verb says."""


class Wish(NamedTuple):
    """How to take in: who asks, how much at most, and whether only to look."""

    by: str | None = None
    limit: int | None = None
    dry_run: bool = False


class _Told:
    """What is known so far of the run."""

    def __init__(self, limit: int | None) -> None:
        self.files: list[dict[str, object]] = []
        self.written = 0
        self._limit = limit
        self._left: dict[tuple[str, str], None] = {}

    @property
    def room(self) -> int | None:
        """How many memories may still be written; None for any."""
        return None if self._limit is None else self._limit - self.written

    @property
    def left(self) -> int:
        """How many files are not taken in, or not wholly."""
        return len(self._left)

    def add(self, source: str, piece: Piece, result: Mapping[str, Any]) -> None:
        """One more result; several of one file, one behind the other, are one."""
        redacted = [*piece.redacted, *result["redacted"]] if result["memories"] else []
        one = {"source": source, "path": piece.found.path, **result, "redacted": redacted}
        if piece.found.cut:
            one["cut"] = piece.found.cut
        self.written += len(result["memories"])
        if result["rest"]:
            self.leave(source, piece.found.path)
        before = self.files[-1] if self.files else None
        if before and (before["source"], before["path"]) == (source, piece.found.path):
            self.files[-1] = _joined(before, one)
        else:
            self.files.append(one)

    def leave(self, source: str, path: str) -> None:
        """A file that waits for the next run."""
        self._left[source, path] = None

    def skip(self, source: str, path: str, reason: str) -> None:
        """Something that is not read."""
        self.files.append(
            {"source": source, "path": path, "result": "skipped", "memories": [], "known": [],
             "reason": reason, "rest": 0, "redacted": []}
        )  # fmt: skip


def ingest(
    vault: Door, source: str, path: str | None, wish: Wish, progress: Progress | None = None
) -> dict[str, Any]:
    """Take in what one source, or all, have; the report."""
    home = os.environ.get("HOME") or os.path.expanduser("~")
    found = chosen(source, path, vault.path, home, vault.config.text)
    told = _Told(wish.limit)
    heard = progress or Silent()
    for place in found.places:
        heard.stage(f"taking in from {place.source.name}", 0)
        if not _take_in(vault, place, wish, told, heard):
            found.remarks.append(f"{place.root} has nothing of this: {place.source.about}")
    return {
        "job": "ingest", "source": source, "dry_run": wish.dry_run, "places": [each.root for each in found.places],
        "counts": _counts(told), "files": told.files, "left": told.left, "remarks": found.remarks,
    }  # fmt: skip


def _counts(told: _Told) -> dict[str, int]:
    results = Counter(str(each["result"]) for each in told.files)
    redacted = sum(
        len(each["redacted"]) for each in told.files if isinstance(each["redacted"], list)
    )
    cut = sum("cut" in each for each in told.files)
    return {
        "new": results["new"], "known": results["known"], "skipped": results["skipped"],
        "memories": told.written, "cut": cut, "redacted": redacted,
    }  # fmt: skip


def _take_in(vault: Door, place: Place, wish: Wish, told: _Told, progress: Progress) -> bool:
    """Hand on what a place has; whether it has anything."""
    name, before = place.source.name, len(told.files) + told.left
    for batch in batches(_pieces(place, told)):
        if told.room == 0:  # this one was read before it was known
            for piece in batch:
                told.leave(name, piece.found.path)
            continue
        said = vault.ask(
            "take-in", source=name, items=[each.handed() for each in batch], by=wish.by, dry_run=wish.dry_run,
            limit=told.room,
        )  # fmt: skip
        for piece, result in zip(batch, said["results"], strict=False):
            told.add(name, piece, result)
        for piece in batch[len(said["results"]) :]:
            told.leave(name, piece.found.path)
        progress.advance(len(batch))
    return len(told.files) + told.left > before


def _pieces(place: Place, told: _Told) -> Iterator[Piece]:
    """All that is worth handing on, while there is room for more."""
    name = place.source.name
    for each in place.found():
        if isinstance(each, Passed):
            told.skip(name, each.path, each.reason)
        elif not each.text.strip():
            told.skip(name, each.path, "there is nothing in it")
        else:
            for piece in pieces(each):
                if told.room == 0:
                    told.leave(name, each.path)
                    break
                yield piece


def _joined(before: dict[str, object], more: dict[str, object]) -> dict[str, object]:
    """Two results of one file as one."""
    best = min((str(before["result"]), str(more["result"])), key=("new", "known", "skipped").index)
    joined = {**before, "result": best}
    for key in ("memories", "known", "redacted"):
        one, other = before[key], more[key]
        assert isinstance(one, list)
        assert isinstance(other, list)
        joined[key] = [*one, *other]
    reasons = dict.fromkeys(str(each["reason"]) for each in (before, more) if each["reason"])
    joined["rest"] = int(str(before["rest"])) + int(str(more["rest"]))
    return {**joined, "reason": "; ".join(reasons)}
