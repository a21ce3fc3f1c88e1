"""Imports memories from a file of lines: reads them, makes files for this vault, compares them with the existing
ones, and writes them in batches that can be undone."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterator
from datetime import datetime

from vaultmem.adapter import Properties, Value
from vaultmem.errors import UsageError, VaultmemError
from vaultmem.exchange.lines import JSONL, Exchanged, Line, checked_content, in_archive, lines_of
from vaultmem.light import TYPE_CHECKING, NamedTuple, TypedDict
from vaultmem.memories.arguments import Arguments
from vaultmem.memories.draft import CREATE, EDIT, TO_ARCHIVE, Change, Plan
from vaultmem.memories.item_answers import is_approved
from vaultmem.memories.model import (
    ARCHIVE,
    CATEGORIES,
    DEFAULT_SCOPE,
    INBOX,
    REMINDERS,
    Memory,
    category_of,
)
from vaultmem.memories.reports import ChangeReport, PlanReport, header, report_done, report_planned
from vaultmem.memories.store import MemoryStore, Session
from vaultmem.notes import pages
from vaultmem.notes.places import file_name
from vaultmem.pending.approving import take_back
from vaultmem.progress import Silent, current_progress, report_to
from vaultmem.text.secrets import redact
from vaultmem.text.similarity import content_hash
from vaultmem.text.times import seconds, stamp
from vaultmem.text.titles import free_path, safe_title, title_of
from vaultmem.text.values import in_batches
from vaultmem.vault.files import CAP, decode, digest
from vaultmem.vault.walk import DEEPEST

if TYPE_CHECKING:
    from vaultmem.api.rpc import Reader

FOLDER = "import"  # in the state folder, for files to be imported
BATCH, BATCH_BYTES = 500, 8_000_000  # memories, and bytes of their files, per undo
MOST_LISTED = 1_000  # lines in the report
_NAME = re.compile(r"[0-9a-f]{32}\.jsonl")


class Arrival(NamedTuple):
    """The file that a memory will become."""

    id: str
    path: str  # in the memory folder, perhaps taken
    archived: bool
    data: bytes
    style: str
    hash: str
    scope: str
    updated: float
    properties: Properties
    is_foreign: bool  # from another program, which has no paths

    @property
    def name(self) -> str:
        """Its file name."""
        return file_name(self.path)


Unwritten = TypedDict("Unwritten", {"line": int, "reason": str})
"""A line that was not written, and why."""


class _Run:
    """One import: what existed when it began, and the result of each line."""

    def __init__(self, params: Arguments) -> None:
        self.params = params
        self.by = params.text("by")
        self.conflict = params.text("on_conflict")
        self.hashes: set[tuple[str, str]] = set()  # content and scope of existing memories
        self.seen: dict[str, int] = {}  # line numbers by the ids in the file
        self.links: dict[str, tuple[str, ...]] = {}  # ids by id, for shapes that link by id
        self.known = 0  # lines with nothing new
        self.conflicts: list[Unwritten] = []  # conflicts that were not resolved
        self.failed: list[Unwritten] = []
        self.reports: list[PlanReport] = []
        self.entries = 0  # in the history


def import_lines(store: MemoryStore, reader: Reader, params: Arguments) -> ImportReport:
    """Import a file in the state folder. The report has "new", "changed" and "known" (counts), "kept" and "failed"
    (lists of "line" and "reason"), and "changes". The store is free for others between batches."""
    name, writes = params.needed("file"), not params.flag("dry_run")
    if not _NAME.fullmatch(name):
        raise UsageError('"file" must be the name of a file in the state folder to import')
    shape = params.text("shape") or JSONL
    run = _Run(params)
    with store.session(reader, writes=False) as session:
        live = session.store.collection.live()
        run.hashes = {(memory.hash, memory.scope) for memory in live if memory.sketch}
    try:
        with open(os.path.join(store.state.path(FOLDER), name), "rb") as file:
            heard, done = current_progress(), 0
            heard.stage(
                "importing",
                sum(part.count(b"\n") for part in iter(lambda: file.read(1 << 20), b"")),
            )
            file.seek(0)
            lines = _readable(run, lines_of(file, shape))
            for batch in in_batches(lines, lambda line: line.size, BATCH, BATCH_BYTES):
                with report_to(Silent()), store.session(reader, writes=writes) as session:
                    _Batch(session, run).take(batch)
                heard.advance(batch[-1].number - done)
                done = batch[-1].number
            if run.links and writes:
                with store.session(reader, writes=True) as session:
                    _link(session, run)
    except OSError as error:
        raise VaultmemError(f"the file to import cannot be read: {error.strerror}") from error
    return _report(run)


def _readable(run: _Run, lines: Iterator[Line]) -> Iterator[Line]:
    """Yield the lines that hold memories; errors of the others go into the report."""
    for line in lines:
        if line.memory is None:
            run.failed.append({"line": line.number, "reason": line.problem})
        else:
            yield line


# From a line to the file that it becomes


def arrival(session: Session, memory: Exchanged, by: str) -> Arrival:
    """The file that a memory becomes when `by` imports it. Raises VaultmemError if it cannot be one."""
    # A vault's file becomes one again byte for byte, whatever it contains.
    content = memory.content if memory.file is not None else checked_content(memory.content)
    id_ = memory.id or _text(memory.properties.get("id")) or session.store.new_id()
    path = unicodedata.normalize("NFC", _place(memory, content))
    if f"{session.store.folder}/{path}".casefold() == session.store.pending.path.casefold():
        raise VaultmemError(f"its path {path[:60]!r} is the path of the page of pending items")
    style = session.store.rules.page_style(f"{session.store.folder}/{path}")
    if f"{session.store.folder}/{path}".count("/") > DEEPEST:
        raise VaultmemError(f"its path has more than {DEEPEST} folders; deeper files are not read")
    data = _bytes(session, memory._replace(id=id_), style)
    page = _read(style, data)
    if by and (kinds := redact(decode(data)[0]).kinds):
        raise VaultmemError(
            f"an assistant may not import what looks like a secret ({kinds[0]}); remove it first"
        )
    claimed = _text(page.properties.get("id"))
    # A file may have another's id, as copies do, but must not inherit its approval.
    if claimed not in ("", id_) and (by or _is_approved(session, claimed)):
        raise VaultmemError("the id in its file differs from that in its line")
    if by and not _text(page.properties.get("agent")):
        data = pages.edit(style, data, {"agent": by}, None)
        page = _read(style, data)
    scope = _text(page.properties.get("scope")) or DEFAULT_SCOPE
    updated = seconds(page.properties.get("updated_at")) or seconds(page.properties.get("created_at"))  # fmt: skip
    return Arrival(
        id_, path, memory.archived, data, style, content_hash(page.content), scope, updated or 0.0, page.properties,
        not memory.path,
    )  # fmt: skip


def _is_approved(session: Session, id_: str) -> bool:
    return is_approved(id_, session.store.pending.record.answers())


def _bytes(session: Session, memory: Exchanged, style: str) -> bytes:
    """The original bytes if the page style is the same; else composed from properties and content."""
    if memory.file is not None and memory.file.style == style:
        return memory.file.data
    properties: dict[str, Value] = dict(memory.properties)
    if not memory.path:  # of another program
        now = stamp(session.now)
        properties = {"id": memory.id, **properties}
        properties |= {key: now for key in ("created_at", "updated_at") if key not in properties}
        if properties.get("category") == REMINDERS:
            properties |= _times(session, memory.content, properties["created_at"])
        if memory.links:
            # Until all are written.
            properties["links"] = [f"[[{safe_title(own)}]]" for own in memory.links]
    return pages.compose(style, properties, memory.content)


def _times(session: Session, content: str, created_at: Value) -> Properties:
    """When a reminder of another program reminds: it has only its words, which count from the day of writing."""
    from vaultmem.dreams.classify import due, times_of  # few memories are reminders

    now = session.local_time
    at = min(seconds(created_at) or session.now, session.now)
    return times_of(due(content, datetime.fromtimestamp(max(at, 0.0), now.tzinfo), now))


def _read(style: str, data: bytes) -> pages.Page:
    """The page as it will be read. Raises VaultmemError for a file that could not be read back."""
    if len(data) > CAP:
        raise VaultmemError(f"it has {len(data):,} bytes, and a memory at most {CAP:,}")
    text, problem = decode(data)
    page = pages.read(style, text)
    if problem or page.error:
        raise VaultmemError(f"its file could not be read: {problem or page.error}")
    return page


def _place(memory: Exchanged, content: str) -> str:
    """The path in the memory folder: the original one, as far as it agrees with `archived`."""
    path = memory.path
    name = path.rpartition("/")[2] if path else f"{safe_title(title_of(content))}.md"
    if memory.archived:
        return path if in_archive(path) else f"{ARCHIVE}/{name}"
    if not path or in_archive(path):
        return f"{category_of('', memory.properties.get('category'))}/{name}"
    top = path.partition("/")[0] if "/" in path else ""
    if top not in CATEGORIES and not memory.properties.get("id"):
        return f"{INBOX}/{name}"  # elsewhere, a file without an id is not a memory
    return path


def _text(value: Value) -> str:
    return value.strip() if isinstance(value, str) else ""


# The changes of a batch of lines


class _Batch:
    """Plans one batch of lines and carries it out."""

    def __init__(self, session: Session, run: _Run) -> None:
        self._session, self._run = session, run
        self._taken: set[str] = set()  # folded paths that this batch creates
        self._there = _by_id(session)  # all memories by id, when the batch begins
        self._reworded: dict[str, str] = {}  # titles by id, of memories that the batch changes

    def take(self, batch: list[Line]) -> None:
        """Carry out the batch, or report what it would do."""
        session, run = self._session, self._run
        changes: list[Change] = []
        at: dict[str, int] = {}
        for line in batch:
            try:
                change = self._change(line)
            except VaultmemError as error:
                run.failed.append({"line": line.number, "reason": str(error)})
                continue
            if change is not None:
                changes.append(change)
                at[change.path or change.target] = line.number
                self._taken.add(change.target.lower())
        plan = Plan("import", tuple(changes))
        if run.params.flag("dry_run"):
            run.reports.append(report_planned(session, plan))
        elif changes:
            first, last = batch[0].number, batch[-1].number
            take_back(session, self._reworded)
            who = header(run.params, f"import lines {first} to {last}", session.now)
            outcome = session.carry_out(plan, who)
            run.entries += bool(outcome.done)
            run.failed += [
                {"line": at.get(path, first), "reason": why} for path, why in outcome.skipped
            ]
            run.reports.append(report_done(plan, outcome))

    def _change(self, line: Line) -> Change | None:
        """The change for a line; None if there is nothing to do."""
        assert line.memory is not None
        session, run = self._session, self._run
        new = arrival(session, line.memory, run.by)
        if line.memory.links:
            run.links[new.id] = line.memory.links
        before = run.seen.setdefault(new.id, line.number)
        if before != line.number:
            raise VaultmemError(f"it has the same id as line {before}")
        if session.store.bytes_of(f"{session.store.folder}/{new.path}") == new.data:  # under any id
            run.known += 1
            return None
        there = self._there.get(new.id)
        if there is None:
            if not new.archived and (new.hash, new.scope) in run.hashes:
                self._run.known += 1
                return None
            self._refuse_approved(new)
            return self._create(new)
        if there.archived == new.archived and self._says_the_same(there, new):
            self._run.known += 1
            return None
        return self._merge(line.number, there, new)

    def _says_the_same(self, there: Memory, new: Arrival) -> bool:
        """Whether an import would add nothing. Properties that vaultmem added to another program's memory stay."""
        is_equal = new.is_foreign or there.properties == new.properties
        is_same = there.hash == new.hash and is_equal
        return is_same or self._session.store.bytes_of(there.path) == new.data

    def _merge(self, number: int, there: Memory, new: Arrival) -> Change | None:
        session, conflict = self._session, self._run.conflict
        if conflict == "both":
            if not new.archived and new.hash == there.hash:
                self._run.known += 1
                return None
            new_id = session.store.new_id()
            data = pages.edit(new.style, new.data, {"id": new_id}, None)
            return self._create(new._replace(id=new_id, data=data))
        if conflict == "skip" or new.updated <= there.updated:
            why = "another version exists" if conflict == "skip" else "the existing version is as new"  # fmt: skip
            self._run.conflicts.append({"line": number, "reason": f"{why}: {there.title}"})
            return None
        self._refuse_approved(new)
        target = there.path if there.archived == new.archived else self._free_path(new)
        old = session.store.bytes_of(there.path)
        if old is None:
            raise VaultmemError(f"{there.path} cannot be read")
        if there.hash != new.hash:
            self._reworded[new.id] = there.title
        action = EDIT if target == there.path else TO_ARCHIVE
        why = "a newer version was imported"
        return Change(action, there.id, there.path, target, {}, None, digest(old), why, new.data)

    def _create(self, new: Arrival) -> Change:
        self._reworded[new.id] = new.name  # a missing file's content is unknown
        target = self._free_path(new)
        return Change(CREATE, new.id, None, target, {}, None, None, "imported", new.data)

    def _free_path(self, new: Arrival) -> str:
        def is_taken(path: str) -> bool:
            return path.lower() in self._taken or self._session.view.exists(path)

        return free_path(f"{self._session.store.folder}/{new.path}", new.id, is_taken)

    def _refuse_approved(self, new: Arrival) -> None:
        """Refuse an assistant's import of a memory whose id a person has approved."""
        if self._run.by and _is_approved(self._session, new.id):
            raise VaultmemError(
                "a person has approved the memory with its id; an assistant may not replace it"
            )


def _by_id(session: Session) -> dict[str, Memory]:
    collection = session.store.collection
    return {memory.id: memory for memory in (*collection.archived(), *collection.live())}


def _link(session: Session, run: _Run) -> None:
    """Replace ids in links by titles, once all memories are written."""
    there = _by_id(session)
    changes = []
    for source, others in run.links.items():
        memory = there.get(source)
        titles = [f"[[{there[other].title}]]" for other in others if other in there]
        if memory is not None and titles and memory.properties.get("links") != titles:
            left = [f"[[{safe_title(other)}]]" for other in others if other not in there]
            sets: dict[str, Value] = {"links": [*titles, *left]}
            why = "linked as imported"
            changes.append(Change(EDIT, source, memory.path, memory.path, sets, None, None, why))
    if changes:
        who = header(run.params, "import: links", session.now)
        run.entries += bool(session.carry_out(Plan("import", tuple(changes)), who).done)


class ImportReport(TypedDict):
    """The result of an import."""

    job: str
    dry_run: bool
    changes: list[ChangeReport]
    new: int
    changed: int
    known: int
    kept: list[Unwritten]
    failed: list[Unwritten]
    failures: int
    entries: int  # in the history: undo reverts one at a time


def _report(run: _Run) -> ImportReport:
    changes = [change for report in run.reports for change in report["changes"]]
    actions = [change["action"] for change in changes]
    failed = sorted(run.failed, key=lambda failure: (failure["line"], failure["reason"]))
    return {
        "job": "import", "dry_run": run.params.flag("dry_run"), "changes": changes, "new": actions.count(CREATE),
        "changed": len(actions) - actions.count(CREATE), "known": run.known, "kept": run.conflicts[:MOST_LISTED],
        "failed": failed[:MOST_LISTED], "failures": len(failed),
        "entries": run.entries,
    }  # fmt: skip
