"""Proposals for a person's own notes: edits that a deep dream suggests and that are only made if the person accepts.

Four kinds: a link to a misspelt title or moved note, an unlinked mention of a title, a copy of another note, and a
note without links that has near neighbours. Too few rather than too many: a wrong one costs trust.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice

from vaultmem.dreams.note_names import Name, Note, Titles, names, names_in
from vaultmem.errors import NoteChangedError
from vaultmem.index import catalog_read
from vaultmem.ledger import reads
from vaultmem.light import TYPE_CHECKING, NamedTuple
from vaultmem.memories.item_answers import is_decided, proposal_id
from vaultmem.memories.store import Session
from vaultmem.notes.places import OUTLINE
from vaultmem.text.sanitize import quote_text
from vaultmem.text.similarity import content_hash
from vaultmem.text.values import json_object, lazy, plural
from vaultmem.vault import files

if TYPE_CHECKING:
    from vaultmem.index.catalog import Catalog
    from vaultmem.ledger.ledger import Ledger
    from vaultmem.ledger.reads import StoredProposal
    from vaultmem.memories.item_answers import Answers
    from vaultmem.memories.model import Memory

BROKEN, MENTION, DUPLICATE, ORPHAN = KINDS = "broken-link", "mention", "duplicate", "orphan"
LARGEST = 500_000  # bytes of a note; a larger one is not read line by line
SHORTEST = 80  # least characters of a meaningful body
NEIGHBOURS = 3  # notes to which an orphan is linked
MOST_BROKEN, MOST_MENTIONS, MOST_DUPLICATES, MOST_ORPHANS = 200, 30, 100, 10
MOST_IN_NOTE = 3  # mentions: more would be a burden
MOST_READ = 300  # most recently changed notes searched for mentions
MOST_ALONE = 200  # notes without links compared with others
LEAST_BODY = 200  # characters of an orphan
LEAST_VAULT = 20  # notes; in a smaller vault a person finds everything
LEAST_SCORE = 0.9  # least score of a neighbour, unreachable by words alone


class Proposal(NamedTuple):
    """One edit of one note that a person may accept, or what a model would do with memories."""

    id: str  # independent of the surrounding words, so that rejected ones stay rejected
    kind: str
    path: str
    line: int
    said: str  # one line
    evidence: Sequence[str]
    old: str  # the text to replace; for a duplicate, the hash of its content
    # The replacement; for a duplicate, the path of the note that stays; from a model, its choice.
    new: str
    column: int = 0  # column of `old` in the line
    reason: str = ""  # given by a model
    memories: Sequence[Memory] = ()  # the model's subjects


def open_rows(ledger: Ledger, answers: Answers) -> list[StoredProposal]:
    """Those not decided yet and not of a kind that the person has hidden, by id."""
    ruled = reads.rules(ledger)
    return [
        row
        for row in reads.all_proposals(ledger)
        if is_open(row, answers) and ruled.get(row.fields["kind"]) != reads.NEVER
    ]


def is_open(row: StoredProposal, answers: Answers) -> bool:
    """Whether it waits for a decision. An earlier version kept decisions as states, without an answer."""
    is_answered = proposal_id(row.id) in answers
    return (row.state == reads.OPEN or is_answered) and not is_decided(row.id, answers)


# The four kinds


def broken_link(
    note: Note, number: int, target: str, nearest: Sequence[str], *, moved: bool = False
) -> Proposal | None:
    """Point a broken link to the nearest title; `moved`: to the new one of its note."""
    line, (new, *others) = note.line(number), nearest
    link_to = rf"\[\[\s*({re.escape(target)})\s*(?=[\]#|\\^])"
    link = re.search(link_to, line)
    if link is None:
        return None
    reason = "it is now" if moved else "the nearest title is"
    text = f"{quote_text(f'[[{target}]]')} leads nowhere; {reason} “{quote_text(new)}”"
    near = [f"also near: {quote_text(', '.join(others))}"] if others else []
    evidence = (quote_text(line), *near)
    rest = [line[link.end() :], *note.text.split("\n")[number:]]
    behind = len(re.findall(link_to, "\n".join(rest)))  # each of several equal links has its own id
    id_ = _id(BROKEN, note.path, target, new, str(behind))
    return Proposal(id_, BROKEN, note.path, number, text, evidence, link[1], new, link.start(1))


def mention(note: Note, name: Name) -> Proposal:
    """Link words to the note that they name."""
    line = note.line(name.line)
    if note.outline or name.words.lower() == name.title.lower():
        new = f"[[{name.words}]]"
    else:
        bar = "\\|" if line.lstrip().startswith("|") else "|"  # a bar would end a table cell
        new = f"[[{name.title}{bar}{name.words}]]"
    text = f"“{quote_text(name.words)}” names [[{quote_text(name.title)}]] without a link"
    id_ = _id(MENTION, note.path, name.words, name.title)
    old, evidence = name.words, (quote_text(line),)
    return Proposal(id_, MENTION, note.path, name.line, text, evidence, old, new, name.column)


def orphan(note: Note, near: Mapping[str, str]) -> Proposal | None:
    """Add a last line with links to near notes: titles, each with the reason."""
    if not near or note.ends_in_code:
        return None
    old = note.line(note.last)
    gap = "" if not note.last else "\n" if note.outline else "\n\n"
    links = ", ".join(f"[[{title}]]" for title in near)
    new = f"{old}{gap}{'- ' if note.outline else ''}Related: {links}"
    text = f"nothing links to it, and it links to nothing; near it: {quote_text(', '.join(near))}"
    evidence = tuple(quote_text(f"{title}: {reason}") for title, reason in near.items())
    id_ = _id(ORPHAN, note.path, "")
    return Proposal(id_, ORPHAN, note.path, max(note.last, 1), text, evidence, old, new)


def duplicates(notes: Sequence[Note], backlinks: Mapping[str, int]) -> Iterator[Proposal]:
    """Archive copies that nothing links to. The note with the most backlinks stays, then the one with the shortest
    path."""
    keeper, *others = sorted(
        notes,
        key=lambda candidate: (-backlinks[candidate.path], len(candidate.path), candidate.path),
    )
    for note in others:
        if backlinks[note.path] or len(note.body) < SHORTEST:
            continue
        paths = (keeper.path, note.path)
        evidence = tuple(f"{path}: {plural(backlinks[path], 'backlink')}" for path in paths)
        text = quote_text(f"it is the same as {keeper.path}")
        id_ = _id(DUPLICATE, note.path, keeper.path)
        old = content_hash(note.text)
        yield Proposal(id_, DUPLICATE, note.path, 1, text, evidence, old, keeper.path)


def _id(kind: str, path: str, *key: str) -> str:
    return hashlib.sha256("\0".join((kind, path, *key)).encode("utf-8", "replace")).hexdigest()[:12]


def is_kept(vault: str, duplicate: Proposal) -> bool:
    """Whether another note has the text of the duplicate."""
    kept = files.read(vault, duplicate.new).text
    return duplicate.path != duplicate.new and content_hash(kept) == duplicate.old


def edit(proposal: Proposal, text: str) -> str:
    """The whole text of the note with the proposal carried out. Raises NoteChangedError if the note has changed."""
    note = Note(proposal.path, text)
    before = text.split("\n")[: proposal.line - 1]
    at = sum(len(line) + 1 for line in before) + proposal.column
    end = at + len(proposal.old)
    is_same = note.line(proposal.line)[proposal.column :].startswith(proposal.old)
    if proposal.kind == DUPLICATE:
        is_same = content_hash(text) == proposal.old
    elif proposal.kind == ORPHAN:
        is_same = note.line(note.last) == proposal.old and max(note.last, 1) == proposal.line
    if not is_same:
        raise NoteChangedError(
            f"{proposal.path} has changed since this was proposed; vaultmem review shows what there is now"
        )
    if proposal.kind == DUPLICATE:
        return text
    line_end = "\r\n" if text.count("\r\n") * 2 > text.count("\n") else "\n"
    return text[:at] + proposal.new.replace("\n", line_end) + text[end:]


# Notes to leave alone: templates, drawings, and folders for such files.

_SET_ASIDE = frozenset("archive archives attachments assets 归档 歸檔 附件 存档".split())
_ATTACHMENTS = ".obsidian/app.json", "attachmentFolderPath"
_FILLED_IN = lazy(
    r"<%[*_-]?\s|\{\{(?:date|time|title|name|content|value|VALUE|author)\b[^{}\n]{0,60}\}\}"
)
_DRAWN = lazy(r"^(?:excalidraw-plugin|kanban-plugin)\s*:", re.MULTILINE)
_LOGSEQ = lazy(r"^\s*(?:[-*]\s+)?template::", re.MULTILINE)


def _folders(path: str) -> list[str]:
    return path.casefold().split("/")[:-1]


class Finder:
    """Looks for proposals in a vault with an index."""

    def __init__(self, session: Session, catalog: Catalog) -> None:
        self._session, self._catalog = session, catalog
        self._inside = session.store.folder + "/"
        self._attachments = self._setting(*_ATTACHMENTS)

    def broken_links(self) -> Iterator[Proposal]:
        """Links to renamed notes, and to misspelt titles."""
        execute, titles = self._catalog.db.execute, Titles(self._titles)
        passed = {path for (path,) in execute("SELECT path FROM files WHERE size > ?", (LARGEST,))}
        moved = dict(execute("SELECT link, path FROM moved WHERE path IS NOT NULL").fetchall())
        for link in catalog_read.unresolved(self._catalog):
            path = link.source
            if link.kind not in _KINDS or path.startswith(self._inside) or path in passed:
                continue
            now = self._session.view.name_of(moved.get(link.path, ""))
            if link.kind == "frontmatter" and {*"'\"\\"} & {*now}:
                continue
            # In an outline a/b is a page name; elsewhere it is a path.
            name = link.path if self._is_outline(path) else link.path.rpartition("/")[2]
            nearest = [now] if now else titles.nearest(name) if link.kind == "wikilink" else []
            if not nearest or self._session.view.target(nearest[0]) is None:
                continue
            note = self._note(path)
            proposal = broken_link(note, link.line, link.path, nearest, moved=bool(now))
            if proposal and self._is_ordinary(note):
                yield proposal

    def mentions(self) -> Iterator[Proposal]:
        """Unlinked mentions of titles, in the most recently changed notes."""
        title_names = names(self._titles)
        for path in self._paths(_NEWEST, MOST_READ):
            note = self._note(path)
            if not self._is_ordinary(note):
                continue
            links = catalog_read.links_from(self._catalog, path)
            linked = {None, path, *(link.target for link in links)}
            named = (
                name
                for name in names_in(note.text, note.linkable, title_names)
                if self._session.view.target(name.title) not in linked
            )
            yield from (mention(note, name) for name in islice(named, MOST_IN_NOTE))

    def duplicates(self) -> Iterator[Proposal]:
        """Copies of other notes."""
        query = f"""SELECT json_group_array(path) FROM (SELECT f.hash AS hash, f.path AS path
            FROM {_NOTES} AND n.journal IS NULL AND f.size >= {SHORTEST} AND f.hash IS NOT NULL ORDER BY f.path)
            GROUP BY hash HAVING count(*) > 1 ORDER BY min(path) LIMIT :most"""  # noqa: S608 - own text
        for (paths,) in self._rows(query, MOST_DUPLICATES):
            notes = [self._note(path) for path in sorted(json.loads(paths))]
            notes = [note for note in notes if not self._is_template(note)]
            if len(notes) > 1:
                sources = self._session.view.sources
                yield from duplicates(notes, {note.path: len(sources(note.path)) for note in notes})

    def orphans(self) -> Iterator[Proposal]:
        """Notes without links that have near neighbours, in vaults whose owner links notes at all."""
        counts = f"SELECT count(*), total({_ALONE}) FROM {_NOTES} LIMIT :most"  # noqa: S608 - own text
        count, alone = (int(float(number)) for number in self._rows(counts, 1)[0])
        if count < LEAST_VAULT or 2 * alone > count:
            return
        rated = []
        where = f"AND n.journal IS NULL AND f.size >= {LEAST_BODY} AND {_ALONE}"
        for path in self._paths(f"{where} {_NEWEST}", MOST_ALONE):
            note = self._note(path)
            if self._is_aside(path) or not self._is_ordinary(note) or len(note.body) < LEAST_BODY:
                continue
            near = self._neighbours(path)
            proposal = orphan(note, {title: reason for _, title, reason in near})
            if proposal:
                rated.append((-near[0][0], path, proposal))
        yield from (proposal for *_, proposal in sorted(rated))

    def _neighbours(self, path: str) -> list[tuple[float, str, str]]:
        near = [
            (note.score, note.title, "; ".join(note.reasons))
            for note in self._session.reader.related(path, 3 * NEIGHBOURS)
            if note.score >= LEAST_SCORE
            and not note.path.startswith(self._inside)
            and self._session.view.target(note.title) == note.path
            and not self._is_template(self._note(note.path))
        ]
        return near[:NEIGHBOURS]

    @cached_property
    def _titles(self) -> list[str]:
        rows = self._rows(f"SELECT n.title FROM {_NOTES} LIMIT :most", -1)  # noqa: S608 - own text
        return [str(row[0]) for row in rows]

    def _paths(self, order: str, most: int) -> list[str]:
        rows = self._rows(f"SELECT f.path FROM {_NOTES} {order} LIMIT :most", most)  # noqa: S608 - own text
        return [str(row[0]) for row in rows]

    def _rows(self, query: str, most: int) -> list[tuple[str, ...]]:
        values = {"folder": self._session.store.folder, "most": most}
        return self._catalog.db.execute(query, values).fetchall()

    def _note(self, path: str) -> Note:
        """The current note with its own line ends; without text if it is too large."""
        data = self._session.store.bytes_of(path, LARGEST + 1) or b""
        text = "" if len(data) > LARGEST else files.decode(data)[0]
        return Note(path, text, self._is_outline(path))

    def _is_outline(self, path: str) -> bool:
        return self._session.store.rules.page_style(path) == OUTLINE

    def _is_ordinary(self, note: Note) -> bool:
        return not note.path.lower().endswith(".org") and not self._is_template(note)

    def _is_template(self, note: Note) -> bool:
        """Whether a note is a template, or written by a program: not a person's text."""
        path, front, rules = note.path, note.front, self._session.store.rules
        if rules.is_template(path) or rules.is_mirror(path):
            return True
        is_form = path.casefold().endswith(".excalidraw.md") or "{{" in front or "<%" in front
        sign = _DRAWN.search(front) or _FILLED_IN.search(note.text) or _LOGSEQ.search(note.text)
        return is_form or sign is not None

    def _is_aside(self, path: str) -> bool:
        if any(p in _SET_ASIDE or p.endswith(("归档", "歸檔")) for p in _folders(path)):
            return True
        return self._attachments != "" and path.startswith(f"{self._attachments}/")

    def _setting(self, path: str, key: str) -> str:
        value = json_object(self._session.store.bytes_of(path) or b"").get(key)
        return value.strip("/").removeprefix("./") if isinstance(value, str) else ""


_KINDS = ("wikilink", "embed", "frontmatter")
_ALONE = """NOT EXISTS (SELECT 1 FROM links l WHERE l.source = f.id)
    AND NOT EXISTS (SELECT 1 FROM links l WHERE l.target = f.id)"""
_NOTES = f"""files f JOIN notes n ON n.id = f.id LEFT JOIN conflicts c ON c.copy = f.id
    WHERE n.excluded = 0 AND c.copy IS NULL AND f.size <= {LARGEST}
    AND NOT (f.path >= :folder || '/' AND f.path < :folder || '0')"""
_NEWEST = "ORDER BY f.mtime_ns DESC, f.path"


def collect(session: Session) -> list[Proposal]:
    """All proposals for the current notes, by path and line; none before the vault was indexed."""
    searcher = session.reader.searcher()
    if searcher is None:
        return []
    finder = Finder(session, searcher.catalog)
    every = [
        *islice(finder.broken_links(), MOST_BROKEN),
        *islice(finder.mentions(), MOST_MENTIONS),
        *finder.duplicates(),
        *islice(finder.orphans(), MOST_ORPHANS),
    ]
    once = {proposal.id: proposal for proposal in sorted(every, key=_place, reverse=True)}
    return sorted(once.values(), key=_place)


def _place(proposal: Proposal) -> tuple[str, int, int, str, str]:
    return proposal.path, proposal.line, proposal.column, proposal.kind, proposal.new
