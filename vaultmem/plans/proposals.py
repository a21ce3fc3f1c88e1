"""What dream would do to user notes if it were asked to: proposals, each with its evidence, to accept or reject."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from vaultmem.core.likeness import content_hash
from vaultmem.core.wording import plural
from vaultmem.errors import NoteChangedError
from vaultmem.plans.note_text import SHORTEST, NoteText, free_column
from vaultmem.plans.quote import quoted

BROKEN, MENTION, DUPLICATE, ORPHAN = "broken-link", "mention", "duplicate", "orphan"
NEIGHBOURS = 3  # that an orphan is linked to


class BrokenLink(NamedTuple):
    """A wikilink that leads nowhere."""

    path: str
    line: int
    target: str  # as written, without subpath and display
    nearest: tuple[str, ...]  # titles that exist, nearest first


class Mention(NamedTuple):
    """Words that name a note without linking to it."""

    path: str
    line: int
    words: str  # as they stand there
    title: str  # of the note they name
    outline: bool = False  # whether the note is a Logseq page, where [[a|b]] is no link


class Twins(NamedTuple):
    """Notes that say the same."""

    paths: tuple[str, ...]
    backlinks: tuple[int, ...]  # of each
    likeness: float  # 1.0: equal


class Orphan(NamedTuple):
    """A note that nothing links to and that links to nothing."""

    path: str
    neighbours: tuple[tuple[str, str], ...]  # the title and what makes it near, nearest first
    outline: bool = False


class Facts(NamedTuple):
    """What was collected about user notes."""

    broken: Sequence[BrokenLink] = ()
    mentions: Sequence[Mention] = ()
    twins: Sequence[Twins] = ()
    orphans: Sequence[Orphan] = ()


class Proposal(NamedTuple):
    """One edit of one note that a person may accept."""

    id: str  # the same as long as the evidence is the same
    kind: str
    path: str
    line: int
    said: str  # one line
    evidence: tuple[str, ...]
    old: str  # what stands there; of a duplicate, the hash of its content
    new: str  # what would stand there; of a duplicate, the path of the note that stays
    column: int = 0  # where in the line `old` begins


def proposals(facts: Facts, read: Callable[[str], str]) -> list[Proposal]:
    """All proposals by path and line. `read` gives the text of a note; where it says something else by now than the
    facts do, there is nothing to propose."""

    @lru_cache(maxsize=8)
    def _text(path: str) -> NoteText:
        return NoteText(read(path))

    found = [
        *(_broken_link(fact, _text(fact.path)) for fact in sorted(facts.broken)),
        *(_mention(fact, _text(fact.path)) for fact in sorted(facts.mentions)),
        *(_orphan(fact, _text(fact.path)) for fact in sorted(facts.orphans)),
        *(each for fact in sorted(facts.twins) for each in _duplicates(fact, _text)),
    ]
    real = sorted((each for each in found if each is not None), key=_place)
    once = {proposal.id: proposal for proposal in reversed(real)}
    return sorted(once.values(), key=_place)


def _place(proposal: Proposal) -> tuple[str, int, int, str, str]:
    return proposal.path, proposal.line, proposal.column, proposal.kind, proposal.new


def _id(kind: str, path: str, key: str) -> str:
    return hashlib.sha256(f"{kind}\0{path}\0{key}".encode("utf-8", "replace")).hexdigest()[:12]


def _broken_link(fact: BrokenLink, text: NoteText) -> Proposal | None:
    line = text.line(fact.line)
    link = re.search(rf"\[\[\s*({re.escape(fact.target)})\s*(?=[\]#|\\^])", line)
    if link is None or not fact.nearest:
        return None
    new, *others = fact.nearest
    key = "\0".join((" ".join(line.split()), fact.target, new))
    said = f"[[{quoted(fact.target)}]] leads nowhere; the nearest title is “{quoted(new)}”"
    also = (f"also near: {quoted(', '.join(others))}",) if others else ()
    start, end = link.span(1)
    own = _id(BROKEN, fact.path, key)
    evidence = (quoted(line), *also)
    return Proposal(own, BROKEN, fact.path, fact.line, said, evidence, line[start:end], new, start)


def _mention(fact: Mention, text: NoteText) -> Proposal | None:
    line = text.line(fact.line)
    column = None if text.is_fixed(fact.line) else free_column(line, fact.words)
    if column is None:
        return None
    if fact.outline or fact.words.lower() == fact.title.lower():
        new = f"[[{fact.words}]]"
    else:
        bar = "\\|" if line.lstrip().startswith("|") else "|"  # in a table a bar ends the cell
        new = f"[[{fact.title}{bar}{fact.words}]]"
    key = "\0".join((" ".join(line.split()), fact.words, fact.title))
    said = f"“{quoted(fact.words)}” names [[{quoted(fact.title)}]] without a link"
    return Proposal(
        _id(MENTION, fact.path, key),
        MENTION,
        fact.path,
        fact.line,
        said,
        (quoted(line),),
        fact.words,
        new,
        column,
    )


def _orphan(fact: Orphan, text: NoteText) -> Proposal | None:
    last = text.last
    if not fact.neighbours or (last and text.is_code(last)):
        return None
    near = fact.neighbours[:NEIGHBOURS]
    links = ", ".join(f"[[{title}]]" for title, _ in near)
    old = text.line(last) if last else ""
    gap = "" if not last else "\n" if fact.outline else "\n\n"
    new = f"{old}{gap}{'- ' if fact.outline else ''}Related: {links}"
    said = f"nothing links to it, and it links to nothing; near it: {quoted(', '.join(title for title, _ in near))}"
    evidence = tuple(quoted(f"{title}: {reason}") for title, reason in near)
    return Proposal(
        _id(ORPHAN, fact.path, ""), ORPHAN, fact.path, max(last, 1), said, evidence, old, new
    )


def _duplicates(fact: Twins, text: Callable[[str], NoteText]) -> Iterator[Proposal]:
    """The note with most backlinks stays, then the one with the shortest path; each of the others that nothing
    links to may go. Where something links to several, a person has to look at the links."""
    rated = sorted(
        zip(fact.backlinks, fact.paths, strict=True),
        key=lambda each: (-each[0], len(each[1]), each[1]),
    )
    (links, keeper), *others = rated
    for fewer, path in others:
        note = text(path)
        if fewer or len(note.body) < SHORTEST:
            continue
        alike = "the same as" if fact.likeness >= 1.0 else f"{fact.likeness:.0%} the same as"
        evidence = (
            f"{keeper}: {plural(links, 'backlink')}",
            f"{path}: {plural(fewer, 'backlink')}",
        )
        said = quoted(f"it is {alike} {keeper}")
        old = content_hash(note.text)
        yield Proposal(
            _id(DUPLICATE, path, keeper), DUPLICATE, path, 1, said, evidence, old, keeper
        )


def edit(proposal: Proposal, text: str) -> str:
    """The whole text of the note with the proposal carried out; that of a duplicate stays as it is, for the note is
    moved. Raises NoteChangedError when the place is not as it was."""
    if proposal.kind == DUPLICATE:
        if content_hash(text) != proposal.old:
            raise _changed(proposal)
        return text
    note = NoteText(text)
    start, end = proposal.column, proposal.column + len(proposal.old)
    line = note.line(proposal.line)
    if line[start:end] != proposal.old or (
        proposal.kind == ORPHAN and not _is_last(proposal, note)
    ):
        raise _changed(proposal)
    at = note.offset(proposal.line) + start
    new = proposal.new.replace("\n", note.line_end)
    return text[:at] + new + text[at + len(proposal.old) :]


def _is_last(proposal: Proposal, note: NoteText) -> bool:
    if not note.last:
        return not proposal.old
    return note.last == proposal.line and note.line(proposal.line) == proposal.old


def _changed(proposal: Proposal) -> NoteChangedError:
    return NoteChangedError(
        f"{proposal.path} has changed since this was proposed; vaultmem review shows what there is now"
    )
