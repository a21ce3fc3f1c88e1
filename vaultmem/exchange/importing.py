"""Memories coming in from a file of lines: read, compared with what is there, written in batches that can be undone."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

from vaultmem.adapter import Value
from vaultmem.errors import UsageError, VaultmemError
from vaultmem.exchange.arrivals import Arrival, arrival, renamed
from vaultmem.exchange.lines import JSONL, MEMORIES, READERS, Exchanged, memory, parsed
from vaultmem.memories.approving import take_back
from vaultmem.memories.asked import Asked
from vaultmem.memories.desk import Desk, Session
from vaultmem.memories.draft import CREATE, EDIT, TO_ARCHIVE, Change, Plan
from vaultmem.memories.model import Memory
from vaultmem.memories.reader import Reader
from vaultmem.memories.reports import Report, done, header, planned
from vaultmem.reminders.pending_items import is_approved
from vaultmem.text.titles import free_path, safe
from vaultmem.vault.files import digest

# A file of lines, read one by one whatever is in it: huge lines are passed over, broken ones told of.

LONGEST = 16_000_000  # bytes of a line: a note of four megabytes, also in base64 and with its text
_PART = 1 << 16


class Line(NamedTuple):
    """One line that is not empty: a memory, or what is wrong with it."""

    number: int
    size: int
    memory: Exchanged | None
    trouble: str = ""


def lines_of(file: BinaryIO, shape: str) -> Iterator[Line]:
    """All lines but empty ones."""
    number = 0
    while data := file.readline(LONGEST + 1):
        number += 1
        if len(data) > LONGEST and not data.endswith(b"\n"):
            _pass_over(file)
            yield Line(number, 0, None, f"it is longer than {LONGEST:,} bytes")
            continue
        if number == 1:
            data = data.removeprefix(b"\xef\xbb\xbf")
        if data.strip():
            yield from _lines(number, data, shape)


def _pass_over(file: BinaryIO) -> None:
    """To the end of the line."""
    while part := file.readline(_PART):
        if part.endswith(b"\n"):
            return


def _lines(number: int, data: bytes, shape: str) -> Iterator[Line]:
    """What one line says: a memory, or all that a search of **memories** has answered (its section 4.2)."""
    try:
        found = parsed(data.decode())
    except UnicodeDecodeError:
        yield Line(number, len(data), None, "it is not UTF-8")
        return
    except VaultmemError as error:
        yield Line(number, len(data), None, str(error))
        return
    results = found.get("results") if shape == MEMORIES and "content" not in found else None
    if not isinstance(results, list):
        yield _line(number, len(data), found, shape)
        return
    for each in results:
        if isinstance(each, dict):
            yield _line(number, len(data) // len(results), each, shape)
        else:
            yield Line(number, 0, None, "one of its results is not an object of JSON")


def _line(number: int, size: int, found: dict[str, object], shape: str) -> Line:
    try:
        made = memory(found) if shape == JSONL else READERS[shape](found)
    except VaultmemError as error:
        return Line(number, size, None, str(error))
    return Line(number, size, made)


FOLDER = "import"  # of the state folder, where what is imported waits
TAKEN = ".taken"  # what the file is called in which it is written how many lines were taken in
BATCH, BATCH_BYTES = 500, 8_000_000  # of memories and of their files that one undo takes back
MOST_TOLD = 1_000  # lines that are told of one by one
_NAME = re.compile(r"[0-9a-f]{32}\.jsonl")


class _Known(NamedTuple):
    """A line that is not written, and why."""

    line: int
    reason: str


class _Run:
    """One import: what was there when it began, and what became of each line."""

    def __init__(self, asked: Asked) -> None:
        self.by = asked.text("by")
        self.conflict = asked.text("on_conflict")
        self.hashes: set[tuple[str, str]] = set()  # content and scope of what was there
        self.seen: dict[str, int] = {}  # the line of each id of the file
        self.taken: set[str] = set()  # folded paths that this batch will make
        self.there: dict[str, Memory] = {}  # all memories by id, as this batch finds them
        self.reworded: dict[str, str] = {}  # titles by id, of what this batch says otherwise
        self.links: dict[
            str, tuple[str, ...]
        ] = {}  # ids by id, for shapes that name linked memories so
        self.known: list[_Known] = []
        self.kept: list[_Known] = []  # conflicts that were left as they are
        self.failed: list[_Known] = []
        self.reports: list[Report] = []


def import_lines(desk: Desk, reader: Reader, asked: Asked) -> Report:
    """Take in a file that waits in the state folder. The report has "new", "changed" and "known" (counts), "kept" and
    "failed" (each with "line" and "reason"), and "changes". Others get their turn at the desk between two batches."""
    name = asked.needed("file")
    if not _NAME.fullmatch(name):
        raise UsageError('"file" must be the name of a file that waits to be imported')
    shape = asked.text("shape") or JSONL
    run = _Run(asked)
    with desk.session(reader, writes=False) as session:
        run.hashes = {(each.hash, each.scope) for each in session.desk.collection.live()}
    try:
        with open(os.path.join(desk.state.path(FOLDER), name), "rb") as file:
            for batch in _batches(run, lines_of(file, shape)):
                with desk.session(reader, writes=not asked.flag("dry_run")) as session:
                    _take(session, asked, run, batch)
                _tell(file.name, batch[-1].number)
            if run.links and not asked.flag("dry_run"):
                with desk.session(reader, writes=True) as session:
                    _link(session, asked, run)
    except OSError as error:
        raise VaultmemError(f"what is to be imported cannot be read: {error.strerror}") from error
    return _report(run, dry_run=asked.flag("dry_run"))


def _tell(path: str, lines: int) -> None:
    """How far it is, for whoever waits; nothing depends on it."""
    with contextlib.suppress(OSError), open(path + TAKEN, "w", encoding="ascii") as file:
        file.write(str(lines))


def _batches(run: _Run, lines: Iterator[Line]) -> Iterator[list[Line]]:
    """As many lines at once as may be undone at once."""
    batch: list[Line] = []
    size = 0
    for line in lines:
        if line.memory is None:
            run.failed.append(_Known(line.number, line.trouble))
            continue
        batch.append(line)
        size += line.size
        if len(batch) >= BATCH or size >= BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _take(session: Session, asked: Asked, run: _Run, batch: list[Line]) -> None:
    """One batch: what is to be done, and then that."""
    run.taken.clear()
    run.reworded.clear()
    run.there = _by_id(session)
    changes: list[Change] = []
    at: dict[str, int] = {}
    for line in batch:
        try:
            change = _change(session, run, line)
        except VaultmemError as error:
            run.failed.append(_Known(line.number, str(error)))
            continue
        if change is not None:
            changes.append(change)
            at[change.path or change.target] = line.number
            run.taken.add(change.target.lower())
    plan = Plan("import", tuple(changes))
    if asked.flag("dry_run"):
        run.reports.append(planned(session, plan))
    elif changes:
        first, last = batch[0].number, batch[-1].number
        take_back(session, run.reworded)
        outcome = session.carry_out(
            plan, header(asked, f"import lines {first} to {last}", session.now)
        )
        run.failed += [_Known(at.get(path, first), reason) for path, reason in outcome.skipped]
        run.reports.append(done(plan, outcome))


def _change(session: Session, run: _Run, line: Line) -> Change | None:
    """What a line leads to; None when nothing is to be done."""
    assert line.memory is not None
    new = arrival(session, line.memory, run.by)
    if line.memory.links:
        run.links[new.id] = line.memory.links
    before = run.seen.setdefault(new.id, line.number)
    if before != line.number:
        raise VaultmemError(f"its id is that of line {before}")
    if session.desk.bytes_of(f"{session.desk.folder}/{new.path}") == new.data:  # whoever has its id
        run.known.append(_Known(line.number, "it is there"))
        return None
    there = run.there.get(new.id)
    if there is None:
        if not new.archived and (new.hash, new.scope) in run.hashes:
            run.known.append(_Known(line.number, "the same text is there"))
            return None
        _refuse_approved(session, run, new)
        return _created(session, run, new)
    if there.archived == new.archived and _says_the_same(session, there, new):
        run.known.append(_Known(line.number, "it is there"))
        return None
    return _merged(session, run, line.number, (there, new))


def _by_id(session: Session) -> dict[str, Memory]:
    collection = session.desk.collection
    return {each.id: each for each in (*collection.archived(), *collection.live())}


def _says_the_same(session: Session, there: Memory, new: Arrival) -> bool:
    """Whether nothing would be gained. Of another program's memory, what vaultmem has noted since stays."""
    if there.hash == new.hash and (new.is_foreign or there.properties == new.properties):
        return True
    return session.desk.bytes_of(there.path) == new.data


def _merged(session: Session, run: _Run, line: int, pair: tuple[Memory, Arrival]) -> Change | None:
    """What becomes of two versions of one memory."""
    there, new = pair
    if run.conflict == "both":
        if not new.archived and new.hash == there.hash:
            run.known.append(_Known(line, "the same text is there"))
            return None
        return _created(session, run, renamed(session, new))
    if run.conflict == "skip" or new.updated <= there.updated:
        why = "another version is there" if run.conflict == "skip" else "the one that is there is as new"  # fmt: skip
        run.kept.append(_Known(line, f"{why}: {there.title}"))
        return None
    _refuse_approved(session, run, new)
    target = there.path if there.archived == new.archived else _free(session, run, new)
    old = session.desk.bytes_of(there.path)
    if old is None:
        raise VaultmemError(f"{there.path} cannot be read")
    if there.hash != new.hash:
        run.reworded[new.id] = there.title
    action = EDIT if target == there.path else TO_ARCHIVE
    why = "a newer version was imported"
    return Change(action, there.id, there.path, target, {}, None, digest(old), why, new.data)


def _created(session: Session, run: _Run, new: Arrival) -> Change:
    target = _free(session, run, new)
    run.reworded[new.id] = new.path.rpartition("/")[2].removesuffix(
        ".md"
    )  # of what is gone nobody knows the words
    return Change(CREATE, new.id, None, target, {}, None, None, "imported", new.data)


def _free(session: Session, run: _Run, new: Arrival) -> str:
    def is_taken(path: str) -> bool:
        return path.lower() in run.taken or session.view.exists(path)

    return free_path(f"{session.desk.folder}/{new.path}", new.id, is_taken)


def _refuse_approved(session: Session, run: _Run, new: Arrival) -> None:
    """A person has approved what was there under that id, and nothing that an assistant brings in its place."""
    if run.by and is_approved(new.id, session.desk.waiting.record.answers()):
        raise VaultmemError("a person has approved what has its id; no assistant replaces that")


def _link(session: Session, asked: Asked, run: _Run) -> None:
    """Now that all are there, call those that are linked by their titles."""
    there = _by_id(session)
    changes = []
    for own, others in run.links.items():
        each = there.get(own)
        titles = [f"[[{there[other].title}]]" for other in others if other in there]
        if each is not None and titles and each.properties.get("links") != titles:
            left = [f"[[{safe(other)}]]" for other in others if other not in there]
            sets: dict[str, Value] = {"links": [*titles, *left]}
            changes.append(
                Change(EDIT, own, each.path, each.path, sets, None, None, "linked as imported")
            )
    if changes:
        plan = Plan("import", tuple(changes))
        session.carry_out(plan, header(asked, "import: links", session.now))


def _report(run: _Run, *, dry_run: bool) -> Report:
    changes: list[object] = []
    for report in run.reports:
        found = report["changes"]
        assert isinstance(found, list)
        changes += found
    actions = [change["action"] for change in changes if isinstance(change, dict)]
    return {
        "job": "import",
        "dry_run": dry_run,
        "changes": changes,
        "new": actions.count(CREATE),
        "changed": len(actions) - actions.count(CREATE),
        "known": len(run.known),
        "kept": _told(run.kept),
        "failed": _told(sorted(run.failed)),
        "failures": len(run.failed),
    }


def _told(found: list[_Known]) -> list[dict[str, object]]:
    return [{"line": each.line, "reason": each.reason} for each in found[:MOST_TOLD]]
