"""Proposals for the person's notes as items of pending.md: each shows its change, and a tick makes it.

Proposals of a model for memories are decided in vaultmem review, which shows its reasons.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Collection, Iterable, Iterator
from functools import partial

from vaultmem.dreams.note_names import Note
from vaultmem.errors import NoteChangedError
from vaultmem.index import catalog_read
from vaultmem.index.catalog import NOTES_BELOW, Catalog, below
from vaultmem.light import TYPE_CHECKING
from vaultmem.memories.access import is_private
from vaultmem.memories.item_answers import Answers, is_approved, proposal_id
from vaultmem.memories.memory_file import Reader
from vaultmem.memories.model import Memory
from vaultmem.notes.frontmatter import PLACEHOLDER
from vaultmem.notes.places import GENERATED, SYNC
from vaultmem.pending import person_facts
from vaultmem.review import advice, proposals, review
from vaultmem.review.proposals import BROKEN, DUPLICATE, MENTION, Proposal
from vaultmem.text.sanitize import quote_text
from vaultmem.vault import files
from vaultmem.vault.conflicts import conflict_original

if TYPE_CHECKING:
    from vaultmem.pending.review_items import Context

_BESIDE = 30  # characters of a line on either side of a change
_PROPERTIES = (
    "SELECT n.properties, n.title FROM files f JOIN notes n ON n.id = f.id WHERE f.path = ?"
)


def doable(context: Context, answers: Answers) -> Iterator[tuple[Proposal, str]]:
    """The open proposals that vaultmem review lists, each with its note's text: only those whose notes are unchanged
    since, and no copies that are now linked to or the last."""
    for note in review.open_for_notes(context.ledger, answers):
        read = files.read(context.vault, note.path)
        if read.trouble or (note.kind == DUPLICATE and not _may_go(context, note)):
            continue
        with contextlib.suppress(NoteChangedError):  # the next deep dream checks again
            proposals.edit(note, read.text)
            yield note, read.text


def _may_go(context: Context, duplicate: Proposal) -> bool:
    links = catalog_read.links_to(context.catalog, duplicate.path)
    is_linked = any(link.source != duplicate.path for link in links)
    return not is_linked and proposals.is_kept(context.vault, duplicate)


def questions(
    context: Context, doable: Iterable[tuple[Proposal, str]]
) -> Iterator[tuple[str, str, str, str]]:
    """Id, text, path and title of proposals, except for private notes: assistants can read the page, too."""
    for proposal, text in doable:
        row = context.catalog.db.execute(_PROPERTIES, (proposal.path,)).fetchone()
        if row is not None and not is_private(json.loads(row[0] or "{}")):
            yield proposal_id(proposal.id), _in_words(proposal, text), proposal.path, row[1]


def open_advice(context: Context, answers: Answers) -> list[str]:
    """Ids of a model's proposals about memories that can still be followed."""
    every = proposals.open_rows(context.ledger, answers)
    rows = [proposal for proposal in every if proposal.is_of_model]
    memory_ids = {id_ for row in rows for id_ in row.fields["memories"]}
    by_id = {memory.id: memory for memory in _memories(context, memory_ids)} if memory_ids else {}

    def is_meant(memory: Memory) -> bool:
        return is_approved(memory.id, answers)

    return [row.id for row in rows if advice.usable_group(row, by_id, is_meant)]


def _memories(context: Context, memory_ids: Collection[str]) -> Iterator[Memory]:
    """The current state of some memories, by id."""
    for note in person_facts.notes(context.catalog, context.folder):
        if note.id in memory_ids:
            style = partial(person_facts.style_of, note.dialect)
            data = files.read(context.vault, note.path).text.encode()
            memory = Reader(context.folder, style).parsed(note.path, data, 0.0)
            if memory and advice.may_be_sent(memory):
                yield memory


def _in_words(proposal: Proposal, text: str) -> str:
    if proposal.kind == DUPLICATE:
        return f"archive this note? it is the same as {proposal.new}"
    if proposal.kind not in (BROKEN, MENTION):
        added = proposal.new.removeprefix(proposal.old).strip().removeprefix("- ")
        return f"change this note? add at its end “{added}”"
    line = Note(proposal.path, text).line(proposal.line)
    at, end = proposal.column, proposal.column + len(proposal.old)
    before, after = line[max(0, at - _BESIDE) : at], line[end : end + _BESIDE]
    if at > _BESIDE:
        before = f"…{before}"
    if len(line) > end + _BESIDE:
        after = f"{after}…"
    old, new = (quote_text(f"{before}{words}{after}") for words in (proposal.old, proposal.new))
    return f"change line {proposal.line}? “{old}” → “{new}”"


# Files that a person should look at: sync conflict copies, and notes that cannot be read or that no job handles.

KINDS = ("copies", "unreadable", "stray")
LEFT_ALONE = "is in no folder of a category, and is left alone"
_OF_PROPERTIES = "front matter: "  # in the catalog's reasons
_STRAYS = f"""SELECT f.path, n.properties {NOTES_BELOW}
    AND instr(substr(f.path, ?), '/') = 0 ORDER BY f.path"""


FileProblems = Iterator[tuple[str, str]]  # paths, and the problem of each


def file_problems(catalog: Catalog, folder: str, page: str) -> dict[str, FileProblems]:
    """All of them, by kind; `folder` is the memory folder, `page` the path of pending.md."""
    every = _conflict_copies(catalog, folder, page), _unreadable(catalog), strays(catalog, folder)
    return dict(zip(KINDS, every, strict=True))


def _conflict_copies(catalog: Catalog, folder: str, page: str) -> FileProblems:
    """Sync conflict copies, except those of our own pages, which are handled automatically."""
    logs = f"{folder}/{SYNC}/"
    ours = {page, *(f"{folder}/{name}" for name in GENERATED)}
    for path, original in catalog_read.conflict_pairs(catalog):
        is_read = (original or conflict_original(path)) in ours or path.startswith(logs)
        if not is_read:
            rest = f" of {original}" if original else "; its original is gone"
            yield path, f"a sync conflict copy{rest}"


def _unreadable(catalog: Catalog) -> FileProblems:
    for path, reason in catalog_read.troubles(catalog):
        if PLACEHOLDER in reason:
            continue  # intentional, and no work for anyone
        if reason.startswith(_OF_PROPERTIES):
            why = reason.removeprefix(_OF_PROPERTIES)
            yield path, f"this note's properties cannot be read: {why}"
        else:
            yield path, f"this note cannot be read to its end: {reason}"


def strays(catalog: Catalog, folder: str) -> FileProblems:
    """Notes directly in the memory folder without an id, which no job handles, except copies of generated pages. A copy
    of pending.md is about to go: if it counted, two machines would write that page, and thus more copies, in turns."""
    rows = catalog.db.execute(_STRAYS, (*below(folder), len(folder) + 2)).fetchall()
    for path, properties in rows:
        known = json.loads(properties or "{}")
        if not known.get("id") and known.get("generated") != "vaultmem":
            yield path, LEFT_ALONE
