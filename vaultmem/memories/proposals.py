"""What dream would do to user notes if it were asked to: proposals, each with its evidence, to accept or reject."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, lru_cache
from typing import NamedTuple

from vaultmem.errors import NoteChangedError
from vaultmem.text.sanitize import quoted
from vaultmem.text.similarity import content_hash
from vaultmem.text.values import plural

# The text of a user note by lines, and where in it words may become a link.

_FENCE = re.compile(r"\s*(?:[-*+] )?(`{3,}|~{3,})")
_HEADING = re.compile(r"\s*(?:[-*+] )?#{1,6}\s")
_CALLOUT = re.compile(r"\s*(?:[-*+] )?(?:> ?)+\[!")
_UNDERLINE = re.compile(r" {0,3}(?:=+|-+)\s*")  # makes a heading of the line above
_KEYWORD = re.compile(r"\s*(?:[-*+] )?#\+")  # of Org, also in Markdown pages of Logseq
_DRAWER = re.compile(r"\s*:[A-Za-z][\w-]*:\s*")
_DRAWER_END = re.compile(r"\s*:END:\s*", re.IGNORECASE)
_BLOCK = re.compile(r"\s*(?:[-*+] )?#\+(BEGIN|END)_", re.IGNORECASE)
_KEY = r"\s*(?:[-*+]\s+)?[^\s:`\[\](){}#]+::"
_PROPERTY = re.compile(_KEY)
# What is a link, code, an address, a tag, a comment, a formula, a macro or a property already.
_TAKEN = re.compile(
    "|".join(
        (
            r"!?\[\[[^\]\n]*\]\]",
            r"!?\[[^\]\n]*\](?:\([^)\n]*\)|\[[^\]\n]*\]|:)",
            r"\[\^[^\]\n]*\]",
            r"\(\([^)\n]*\)\)",
            r"(`+).+?\1",
            r"<[^>\n]*>",
            r"%%.*?%%",
            r"\$[^$\n]+\$",
            r"\{\{.*?\}\}",
            r"[\[(][^\[\]()\n]*::[^\[\]()\n]*[\])]",
            r"\w+://\S+",
            r"[!-~]*[/\\@][!-\[\]-{}~]+",  # paths, addresses; not the bar of a table
            r"(?<!\w)#[^\s#]+",
            rf"^{_KEY}.*",
        )
    )
)
_LATIN = re.compile(r"[^\W\u2e80-\uffff]")  # of a script with blanks between words
SHORTEST = 80  # characters of a body that says something


class NoteText:
    """A text with either kind of line end."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._lines = text.split("\n")
        self._code = self._find_code()
        self.line_end = "\r\n" if text.count("\r\n") * 2 > text.count("\n") else "\n"
        full = [number for number, line in enumerate(self._lines, 1) if line.strip()]
        self.last = full[-1] if full else 0  # the number of the last line with something in it

    def line(self, number: int) -> str:
        """A line without its end; "" where there is none."""
        return self._lines[number - 1].removesuffix("\r") if 1 <= number <= len(self._lines) else ""

    def offset(self, number: int) -> int:
        """Where in the text a line begins."""
        return sum(len(line) + 1 for line in self._lines[: number - 1])

    def is_code(self, number: int) -> bool:
        """Whether a line is in a block of code that is still open behind it."""
        return number in self._code

    def is_fixed(self, number: int) -> bool:
        """Whether a link in this line would break something: code, properties, headings that others link to."""
        if number in self._code or number in self._kept or number <= self._front:
            return True
        line = self.line(number)
        return bool(_HEADING.match(line) or _CALLOUT.match(line) or self._is_underlined(number))

    def _is_underlined(self, number: int) -> bool:
        below = self.line(number + 1)
        return bool(below and self.line(number).strip() and _UNDERLINE.fullmatch(below))

    @property
    def body(self) -> str:
        """What it says, without front matter and properties."""
        lines = (
            line
            for number, line in enumerate(self._lines, 1)
            if number > self._front and number not in self._kept and not _PROPERTY.match(line)
        )
        return "\n".join(lines).strip()

    @property
    def front(self) -> str:
        """Its front matter with the lines around it; "" without one."""
        return "\n".join(self._lines[: self._front])

    @cached_property
    def _kept(self) -> set[int]:
        """The lines of drawers, keywords and blocks of Org."""
        found: set[int] = set()
        end: re.Pattern[str] | None = None
        for number, line in enumerate(self._lines, 1):
            block = _BLOCK.match(line)
            is_key = bool(_KEYWORD.match(line))
            if end is None and _DRAWER.fullmatch(line):
                end = _DRAWER_END if self._closes(number, _DRAWER_END) else None
            elif end is None and block and block[1].upper() == "BEGIN":
                end = _BLOCK if self._closes(number, _BLOCK) else None
            elif end is not None and end.match(line):
                end, is_key = None, True
            if end is not None or is_key:
                found.add(number)
        return found

    def _closes(self, number: int, end: re.Pattern[str]) -> bool:
        """Whether what begins in a line ends within the next ones; most of a note is never taken for a drawer."""
        return any(end.match(line) for line in self._lines[number : number + 200])

    def _find_code(self) -> set[int]:
        self._front = self._end_of_front()
        found: set[int] = set()
        mark = ""
        for number, line in enumerate(self._lines, 1):
            fence = _FENCE.match(line)
            if mark and line.strip().startswith(mark):
                mark = ""
                continue
            if not mark and fence and number > self._front:
                mark = fence[1]
            if mark:
                found.add(number)
        return found

    def _end_of_front(self) -> int:
        """The number of the line that closes the front matter; 0 without one."""
        if self.line(1).rstrip() != "---":
            return 0
        ends = (n for n, line in enumerate(self._lines, 1) if n > 1 and line.rstrip() == "---")
        return next(ends, 0)


def free_column(line: str, words: str) -> int | None:
    """Where in a line the words stand by themselves and are not yet part of a link, of code or of an address."""
    if not words:
        return None
    taken = [match.span() for match in _TAKEN.finditer(line)]
    before = r"(?<![^\W\u2e80-\uffff])" if _LATIN.match(words[0]) else ""
    after = r"(?![^\W\u2e80-\uffff])" if _LATIN.match(words[-1]) else ""
    for found in re.finditer(before + re.escape(words) + after, line):
        if not any(start < found.end() and found.start() < end for start, end in taken):
            return found.start()
    return None


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
