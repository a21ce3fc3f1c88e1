"""From sources to memories: what a source finds is handed on in batches, each of which is written as a whole.

The files are read by the process of the person who asks. The sync agent, if one runs, only gets their text: nobody
who talks to it can make it read outside the vault. Broken off anywhere, the next run goes on, because what is there
is known.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple, Protocol

from vaultmem.core import secrets
from vaultmem.progress import Progress, Silent
from vaultmem.sources import Found, Passed, Source
from vaultmem.sources.installed import Place, chosen
from vaultmem.store.walk import nfc

if TYPE_CHECKING:
    from typing import Any

_MOST_ITEMS = 200  # of a batch: what a kill can undo of the work
_MOST_JSON = 500_000  # characters of a batch; the agent takes no line of a megabyte
_LONGEST = 60_000  # characters of an item: in JSON each may become six


class Door(Protocol):
    """What is needed of a vault."""

    path: str

    def ask(self, verb: str, **params: object) -> Any:
        """What a verb says."""


class Wish(NamedTuple):
    """How to take in: who asks, how much at most, and whether only to look."""

    by: str | None = None
    limit: int | None = None
    dry_run: bool = False


class _Piece(NamedTuple):
    """What is handed on of one text: all of it, or one of several parts that are small enough."""

    found: Found
    text: str
    redacted: tuple[str, ...]

    def handed(self) -> dict[str, object]:
        """As the verb wants it."""
        found = self.found
        return {
            "path": found.path, "text": self.text, "title": found.title, "tags": list(found.tags),
            "aliases": list(found.aliases), "links": list(found.links),
            "properties": _sendable(found.properties),
        }  # fmt: skip


class _Told:
    """What is known so far of the run."""

    def __init__(self) -> None:
        self.files: list[dict[str, object]] = []
        self.written = 0
        self.left = 0

    def add(self, source: str, piece: _Piece, result: Mapping[str, Any]) -> None:
        """One more result; several of one file, one behind the other, are one."""
        redacted = [*piece.redacted, *result["redacted"]] if result["memories"] else []
        one = {"source": source, "path": piece.found.path, **result, "redacted": redacted}
        if piece.found.cut:
            one["cut"] = piece.found.cut
        self.written += len(result["memories"])
        before = self.files[-1] if self.files else None
        if before and (before["source"], before["path"]) == (source, piece.found.path):
            self.files[-1] = _joined(before, one)
        else:
            self.files.append(one)

    def skip(self, source: str, path: str, reason: str) -> None:
        """Something that is not read."""
        self.files.append(
            {"source": source, "path": path, "result": "skipped", "memories": [], "known": [],
             "reason": reason, "redacted": []}
        )  # fmt: skip


def ingest(
    vault: Door, source: str, path: str | None, wish: Wish, progress: Progress | None = None
) -> dict[str, Any]:
    """Take in what one source, or all, have; the report."""
    home = os.environ.get("HOME") or os.path.expanduser("~")
    found = chosen(source, path, vault.path, home)
    told = _Told()
    heard = progress or Silent()
    for place in found.places:
        heard.stage(f"taking in from {place.source.name}", 0)
        _take_in(vault, place, wish, told, heard)
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


def _take_in(vault: Door, place: Place, wish: Wish, told: _Told, progress: Progress) -> None:
    name = place.source.name
    ours = _ours(vault.path, place.root)
    for batch in _batches(_pieces(place.source, place.root, ours, told)):
        if wish.limit is not None and told.written >= wish.limit:
            told.left += len(batch)
            continue
        left = None if wish.limit is None else wish.limit - told.written
        said = vault.ask(
            "take-in", source=name, items=[each.handed() for each in batch], by=wish.by, dry_run=wish.dry_run,
            limit=left,
        )  # fmt: skip
        for piece, result in zip(batch, said["results"], strict=False):
            told.add(name, piece, result)
        told.left += int(said["left"])
        progress.advance(len(batch))


def _ours(vault: str, root: str) -> str:
    """What of the source is the vault itself: its path below the root with a slash behind, or ""."""
    whole, part = (os.path.realpath(each).rstrip("/") + "/" for each in (vault, root))
    return nfc(whole[len(part) :]) if whole.startswith(part) else ""


def _pieces(source: Source, root: str, ours: str, told: _Told) -> Iterator[_Piece]:
    """All that is worth handing on, small enough and without secrets."""
    is_told = False
    for each in source.found(root):
        if ours and each.path.startswith(ours):
            if not is_told:
                told.skip(source.name, ours.rstrip("/"), "it is the vault itself")
            is_told = True
        elif isinstance(each, Passed):
            told.skip(source.name, each.path, each.reason)
        elif not each.text.strip():
            told.skip(source.name, each.path, "there is nothing in it")
        else:
            found = secrets.redacted(each.text)
            for number, text in enumerate(_cut(found.text)):
                first = number == 0
                yield _Piece(
                    each if first else each._replace(title="", aliases=(), links=()),
                    text,
                    found.kinds if first else (),
                )


def _cut(text: str) -> Iterator[str]:
    """A text in parts that can be handed on, at its paragraphs where that can be."""
    at = 0
    while len(text) - at > _LONGEST:
        gap = text.rfind("\n\n", at + _LONGEST // 2, at + _LONGEST)
        end = gap if gap > 0 else at + _LONGEST
        yield text[at:end]
        at = end
    yield text[at:]


def _batches(pieces: Iterator[_Piece]) -> Iterator[list[_Piece]]:
    batch: list[_Piece] = []
    size = 0
    for piece in pieces:
        more = len(json.dumps(piece.handed()))
        if batch and (size + more > _MOST_JSON or len(batch) >= _MOST_ITEMS):
            yield batch
            batch, size = [], 0
        batch.append(piece)
        size += more
    if batch:
        yield batch


def _sendable(properties: Mapping[str, object]) -> dict[str, object]:
    """Properties that are no heavier than a note's should be."""
    found: dict[str, object] = {}
    size = 0
    for key, value in properties.items():
        size += len(key) + len(str(value))
        if size < 20_000:
            found[key] = value
    return found


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
    return {**joined, "reason": "; ".join(reasons)}
