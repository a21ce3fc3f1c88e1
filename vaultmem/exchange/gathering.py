"""Ingests texts from sources, in batches that are each written as a whole.

The command's own process reads the files; a running agent only gets their text, so no client can make it read outside
the vault. After an interruption the next run continues, because ingested texts are known.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator

from vaultmem.adapter import JsonObject, Value
from vaultmem.exchange.source import Place, Skipped, SourceText, choose_places
from vaultmem.light import TYPE_CHECKING, NamedTuple, TypedDict
from vaultmem.progress import Silent, current_progress, report_to
from vaultmem.text import secrets
from vaultmem.text.values import in_batches

if TYPE_CHECKING:
    from vaultmem.api.memory_vault import MemoryVault

_MOST_ITEMS = 200  # per batch, the most that a kill can lose
_MOST_JSON = 500_000  # characters per batch; the agent rejects lines of a megabyte
_LONGEST_PART = 60_000  # characters per item; each may take six in JSON
_MOST_OF_PROPERTIES = 20_000  # characters


class FileReport(TypedDict, total=False):
    """The result for one file."""

    source: str
    path: str
    result: str  # new, known or skipped
    memories: list[dict[str, str]]
    known: list[str]
    reason: str
    rest: int  # memories beyond the limit
    redacted: list[str]
    cut: str


IngestReport = TypedDict("IngestReport", {
    "job": str, "source": str, "dry_run": bool, "places": list[str], "counts": dict[str, int],
    "files": "list[FileReport]", "left": int, "remarks": list[str],
})  # fmt: skip
"""The results of all files; `left` files remain for the next run."""


class Piece(NamedTuple):
    """The text sent of an item: all of it, or one of several parts."""

    document: SourceText  # without secrets; title, tags and links go with the first part
    redacted: tuple[str, ...]
    is_first: bool

    def record(self) -> JsonObject:
        """The piece as JSON for the verb."""
        return {**self.document._asdict(), "properties": _properties(self.document)}

    def size(self) -> int:
        """Its length in characters as JSON."""
        return len(json.dumps(self.record(), default=str))


def pieces(document: SourceText) -> Iterator[Piece]:
    """The text without secrets, in parts small enough to send, cut between paragraphs where possible."""
    text, kinds = secrets.redact(document.text)
    at, first = 0, True
    while first or at < len(text):
        end = len(text)
        if end - at > _LONGEST_PART:
            gap = text.rfind("\n\n", at + _LONGEST_PART // 2, at + _LONGEST_PART)
            end = gap if gap > 0 else at + _LONGEST_PART
        yield Piece(document._replace(text=text[at:end]), kinds if first else (), first)
        at, first, document = end, False, document._replace(title="", aliases=(), links=())


def _properties(document: SourceText) -> dict[str, Value]:
    """Its properties, limited to what a note should have."""
    chosen: dict[str, Value] = {}
    size = 0
    for key, value in document.properties.items():
        size += len(key) + len(str(value))
        if size < _MOST_OF_PROPERTIES:
            chosen[key] = value
    return chosen


class Ingestion:
    """One run on whose behalf, how much at most, and whether it is a dry run; with the result of each file."""

    def __init__(
        self, vault: MemoryVault, by: str | None, limit: int | None, *, dry_run: bool
    ) -> None:
        self._vault, self._by, self._limit, self._dry_run = vault, by, limit, dry_run
        self.files: list[FileReport] = []
        self.left: set[tuple[str, str]] = set()  # files skipped or not finished
        self._written = 0

    def run(self, source: str, path: str | None) -> IngestReport:
        """Ingest the texts of one source, or of all."""
        home = os.environ.get("HOME") or os.path.expanduser("~")
        config = self._vault.config
        selection = choose_places(source, path, self._vault.path, home, config.text)
        for place in selection.places:
            if not self.take_in(place):
                selection.remarks.append(
                    f"{place.root} has nothing that this source reads: {place.source.about}"
                )
        return {
            "job": "ingest", "source": source, "dry_run": self._dry_run,
            "places": [folder.root for folder in selection.places], "counts": self.counts(), "files": self.files,
            "left": len(self.left), "remarks": selection.remarks,
        }  # fmt: skip

    def take_in(self, place: Place) -> bool:
        """Ingest the texts of a place. Returns whether it has any."""
        name, before = place.source.name, len(self.files) + len(self.left)
        progress = current_progress()
        progress.stage(f"ingesting from {name}", 0)
        for batch in in_batches(self._pieces(place), Piece.size, _MOST_ITEMS, _MOST_JSON):
            results: list[FileReport] = []
            if self._room() != 0:
                with report_to(Silent()):
                    results = self._vault.ask(
                        "take-in", source=name, items=[item.record() for item in batch], by=self._by,
                        dry_run=self._dry_run, limit=self._room(),
                    )["results"]  # fmt: skip
            for piece, result in zip(batch, results, strict=False):
                self._add(name, piece, result)
            self.left |= {(name, piece.document.path) for piece in batch[len(results) :]}
            progress.advance(len(batch))
        return len(self.files) + len(self.left) > before

    def _room(self) -> int | None:
        """How many memories may still be written; None for no limit."""
        return None if self._limit is None else self._limit - self._written

    def _pieces(self, place: Place) -> Iterator[Piece]:
        """Yield the pieces to send, while there is room for more."""
        name = place.source.name
        for content in place.read():
            if isinstance(content, Skipped):
                self._skip(name, content.path, content.reason)
            elif not content.text.strip():
                self._skip(name, content.path, "it is empty")
            else:
                for piece in pieces(content):
                    if self._room() == 0:
                        self.left.add((name, content.path))
                        break
                    yield piece

    def _add(self, source: str, piece: Piece, result: FileReport) -> None:
        """Add a result; consecutive results of one file are joined."""
        redacted = [*piece.redacted, *result["redacted"]] if result["memories"] else []
        report: FileReport = {"source": source, "path": piece.document.path, **result}
        report["redacted"] = redacted
        if piece.document.cut:
            report["cut"] = piece.document.cut
        self._written += len(result["memories"])
        if result["rest"]:
            self.left.add((source, piece.document.path))
        if piece.is_first:
            self.files.append(report)
        else:
            self.files[-1] = _join(self.files[-1], report)

    def _skip(self, source: str, path: str, reason: str) -> None:
        self.files.append(
            {"source": source, "path": path, "result": "skipped", "memories": [], "known": [],
             "reason": reason, "rest": 0, "redacted": []}
        )  # fmt: skip

    def counts(self) -> dict[str, int]:
        """The counts for the report."""
        results = Counter(file["result"] for file in self.files)
        return {
            "new": results["new"], "known": results["known"], "skipped": results["skipped"],
            "memories": self._written, "cut": sum("cut" in file for file in self.files),
            "redacted": sum(len(file["redacted"]) for file in self.files),
        }  # fmt: skip


def _join(report: FileReport, more: FileReport) -> FileReport:
    joined: FileReport = {**report}
    joined["result"] = min(report["result"], more["result"], key=("new", "known", "skipped").index)
    joined["memories"] = [*report["memories"], *more["memories"]]
    joined["known"] = [*report["known"], *more["known"]]
    joined["redacted"] = [*report["redacted"], *more["redacted"]]
    joined["rest"] = report["rest"] + more["rest"]
    joined["reason"] = "; ".join(dict.fromkeys(filter(None, (report["reason"], more["reason"]))))
    return joined
