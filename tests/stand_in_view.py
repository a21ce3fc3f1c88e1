"""A vault in memory only, as plans see it, and its state after a plan is carried out."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from vaultmem.adapter import Value
from vaultmem.ledger.reads import Left
from vaultmem.memories.draft import Draft, Plan
from vaultmem.memories.model import (
    ARCHIVE,
    CATEGORIES,
    GENERATED,
    Memory,
    category_of,
    link_targets,
)
from vaultmem.text.similarity import content_hash, opening, sketch
from vaultmem.text.times import seconds, stamp

NOW = datetime(2026, 11, 22, 10, 0, tzinfo=UTC)
FOLDER = "vaultmem"
DAY = 86400.0


class File(NamedTuple):
    """A memory's file."""

    content: str
    properties: Mapping[str, Value]
    mtime: float


def ago(days: float) -> str:
    """The moment that many days before now, as written in properties."""
    return stamp((NOW - timedelta(days=days)).timestamp())


def memory_file(path: str, content: str, days: float = 3, **properties: Value) -> tuple[str, File]:
    """An adopted memory, written some days ago; `path` is in the memory folder, without ending."""
    category = category_of(path, properties.get("category"))
    kept: dict[str, Value] = {
        "id": str(uuid.uuid5(uuid.NAMESPACE_URL, path)),
        "phase": "inbox" if category == "inbox" else "organized",
        "category": category,
        "scope": "global",
        "created_at": ago(days),
        "updated_at": ago(days),
        **properties,
    }
    given = {key: value for key, value in kept.items() if value is not None}
    return f"{FOLDER}/{path}.md", File(content, given, NOW.timestamp() - days * DAY)


class StandInView:
    """memories.draft.View over files in a dictionary."""

    def __init__(
        self,
        files: Mapping[str, File] | Iterable[tuple[str, File]],
        notes: Mapping[str, str] | None = None,
        reads: Mapping[str, int] | None = None,
        now: datetime = NOW,
    ) -> None:
        self.now = now
        self.folder = FOLDER
        self.files = dict(files)
        self.notes = dict(notes or {})  # user notes: path -> text
        self.read_counts = dict(reads or {})  # by path
        self.last_reads: dict[str, float] = {}  # by path
        self.reinforced_at: dict[str, str] = {}  # by path
        self.approved: set[str] = set()  # paths
        self.cosines: Callable[[str, str], float] | None = None
        self.everything = [self._memory(path, file) for path, file in self.files.items()]
        self._titles = {
            _title(path): path for path in sorted([*self.notes, *self.files], reverse=True)
        }
        self._titles |= {_title(memory.path): memory.path for memory in self.memories()}
        self.asked = 0  # contents read

    def _memory(self, path: str, file: File) -> Memory:
        inner = path.removeprefix(FOLDER + "/")
        given = file.properties
        category = category_of(inner, given.get("category"))
        tags = given.get("tags")
        created, updated = (seconds(given.get(key)) for key in ("created_at", "updated_at"))
        return Memory(
            path=path,
            id=str(given.get("id") or uuid.uuid5(uuid.NAMESPACE_DNS, path)),
            title=path.rpartition("/")[2].removesuffix(".md"),
            category=category,
            phase="inbox" if category == "inbox" else "organized",
            scope=str(given.get("scope", "global")),
            tags=tuple(map(str, tags)) if isinstance(tags, list) else (),
            created=file.mtime if created is None else created,
            updated=file.mtime if updated is None else updated,
            properties=given,
            hash=content_hash(file.content),
            opening=opening(file.content),
            sketch=sketch(file.content),
            size=len(file.content),
            archived=inner.startswith(ARCHIVE + "/"),
            adopted="id" in given,
            links=link_targets(file.content),
            mtime=file.mtime,
        )

    def memories(self) -> Sequence[Memory]:
        return [
            memory
            for memory in self.everything
            if not memory.archived
            and memory.path.removeprefix(FOLDER + "/") not in GENERATED
            and (memory.adopted or memory.path.split("/")[1] in CATEGORIES)
        ]

    def archived(self) -> Sequence[Memory]:
        return [memory for memory in self.everything if memory.archived]

    def has_id(self, id_: str) -> bool:
        return any(memory.id == id_ for memory in self.everything)

    def content(self, memory: Memory) -> str:
        self.asked += 1
        return self.files[memory.path].content

    def reads(self, memory: Memory) -> int:
        return self.read_counts.get(memory.path, 0)

    def last_read(self, memory: Memory) -> float | None:
        return self.last_reads.get(memory.path)

    def reinforced(self, memory: Memory) -> str:
        return self.reinforced_at.get(memory.path, "")

    def is_approved(self, memory: Memory) -> bool:
        return memory.path in self.approved

    def is_taken(self, title: str) -> bool:
        return title.lower() in self._titles

    def exists(self, path: str) -> bool:
        return path.lower() in {file.lower() for file in self.files}

    def target(self, name: str) -> str | None:
        return self._titles.get(_title(name))

    def closeness(self, texts: Sequence[str]) -> Mapping[str, Mapping[str, float]] | None:
        return None if self.cosines is None else {text: {} for text in texts}

    def familiarity(self, texts: Sequence[str]) -> Mapping[str, float | None] | None:
        return None if self.cosines is None else dict.fromkeys(texts, 0.5)

    def alike(self, memory: Memory, least: float) -> Sequence[tuple[str, float]]:
        if self.cosines is None:
            return ()
        mine = self.files[memory.path].content
        found = [(other.path, self.cosines(mine, self.files[other.path].content)) for other in self.memories()
                 if other.path != memory.path]  # fmt: skip
        return sorted((hit for hit in found if hit[1] >= least), key=lambda hit: (-hit[1], hit[0]))

    # Not called by plans

    def left(self) -> dict[str, Left]:
        """All memories as they are, to record later that vaultmem left them so."""
        return {
            memory.id: Left(memory.path, memory.hash, memory.category) for memory in self.memories()
        }

    def after(self, plan: Plan) -> StandInView:
        """The vault after a plan is carried out."""
        files, counts = dict(self.files), dict(self.read_counts)
        for change in plan.changes:
            before = files.pop(change.path) if change.path else File("", {}, 0.0)
            if change.path:
                assert change.expected == content_hash(before.content)
                counts[change.target] = counts.pop(change.path, 0)
            assert change.target.lower() not in {path.lower() for path in files}, (
                "written over a file"
            )
            merged = {**before.properties, **change.properties}
            kept = {key: value for key, value in merged.items() if value is not None}
            content = before.content if change.content is None else change.content
            files[change.target] = File(content, kept, self.now.timestamp())
        after = StandInView(files, self.notes, counts, self.now)
        after.cosines, after.reinforced_at = self.cosines, self.reinforced_at
        return after

    def run(
        self, *steps: Callable[[Draft], None], limit: int = 1_000_000
    ) -> tuple[Plan, StandInView]:
        """The plan that the steps make, and the vault after it."""
        draft = Draft(self, limit)
        for step in steps:
            step(draft)
        plan = draft.plan("test")
        return plan, self.after(plan)


def _title(path: str) -> str:
    return path.rpartition("/")[2].removesuffix(".md").lower()
