"""Collects what there is to propose for a person's own notes, from the catalog and the notes themselves."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from vaultmem.memories.desk import Session
from vaultmem.memories.spared import Spared
from vaultmem.plans import named
from vaultmem.plans.note_text import SHORTEST, NoteText, free_column
from vaultmem.plans.proposals import BrokenLink, Facts, Mention, Orphan, Proposal, Twins, proposals
from vaultmem.plans.spelled import Titles
from vaultmem.related import Related, related
from vaultmem.search import Searcher
from vaultmem.store import catalog_read, vault

MOST_BROKEN = 200
MOST_MENTIONS = 30
MOST_IN_NOTE = 3  # mentions: more would be work, not help
MOST_READ = 300  # notes, the ones that changed last
MOST_TWINS = 100
MOST_ALONE = 200  # notes that nothing is linked with, which are looked at
MOST_ORPHANS = 10
LARGEST = 500_000  # bytes of a note; a larger one is no page that a person reads line by line
LEAST_BODY = 200  # characters of an orphan
LEAST_VAULT = 20  # notes; in a smaller vault a person finds all of them
NEIGHBOURS = 3
LEAST_SCORE = 0.9  # of a neighbour: words alone, without meaning, never come so far

_NOTES = f"""files f JOIN notes n ON n.id = f.id LEFT JOIN conflicts c ON c.copy = f.id
    WHERE n.excluded = 0 AND c.copy IS NULL AND f.size <= {LARGEST}
    AND NOT (f.path >= ?1 || '/' AND f.path < ?1 || '0')"""


def collect(session: Session) -> list[Proposal]:
    """All proposals for the notes as they are now; none before the vault was indexed."""
    searcher = session.reader.searcher()
    if searcher is None:
        return []
    look = _Look(session, searcher, Spared(session.desk.bytes_of))
    facts = Facts(_broken(look), _mentions(look), _twins(look), _orphans(look))
    return proposals(facts, lambda path: text_of(session, path))


class _Look(NamedTuple):
    """What a look at a vault works with."""

    session: Session
    searcher: Searcher
    spared: Spared

    def is_ordinary(self, path: str, note: NoteText) -> bool:
        """Whether it is a page of a person, in Markdown, and not what others are made from."""
        return not path.lower().endswith(".org") and not self.spared.is_template(path, note)

    def note(self, path: str) -> NoteText:
        """The text of a note."""
        return NoteText(text_of(self.session, path))

    def is_outline(self, path: str) -> bool:
        """Whether a note is a page of Logseq."""
        return self.session.desk.rules.page_style(path) == "outline"

    def rows(self, asked: str, most: int) -> list[tuple[str, ...]]:
        """The answer to a question about notes."""
        return self.searcher.catalog.db.execute(asked, (self.session.desk.folder, most)).fetchall()


def text_of(session: Session, path: str) -> str:
    """The text of a note as it is now, with its own line ends; "" for one that is too large."""
    data = session.desk.bytes_of(path, LARGEST + 1) or b""
    return "" if len(data) > LARGEST else vault.decode(data)[0]


def _titles(look: _Look) -> list[str]:
    return [str(row[0]) for row in look.rows(f"SELECT n.title FROM {_NOTES} LIMIT ?2", -1)]  # noqa: S608 - own text


def _broken(look: _Look) -> list[BrokenLink]:
    inside = look.session.desk.folder + "/"
    catalog = look.searcher.catalog
    sizes = catalog.db.execute("SELECT path FROM files WHERE size > ?", (LARGEST,))
    large = {str(row[0]) for row in sizes}
    links = [
        link
        for link in catalog_read.unresolved(catalog)
        if link.kind == "wikilink" and not (link.source.startswith(inside) or link.source in large)
    ]
    if not links:
        return []
    titles = Titles(_titles(look))
    found = []
    for link in links:
        # In an outline a/b is the name of a page; elsewhere the way to one.
        is_name = look.is_outline(link.source)
        nearest = titles.nearest(link.path if is_name else link.path.rpartition("/")[2])
        if not nearest or look.session.view.target(nearest[0]) is None:
            continue  # a name that no link can have
        if look.is_ordinary(link.source, look.note(link.source)):
            found.append(BrokenLink(link.source, link.line, link.path, nearest))
        if len(found) == MOST_BROKEN:
            break
    return found


def _mentions(look: _Look) -> list[Mention]:
    wanted = named.names(_titles(look))
    asked = f"SELECT f.path FROM {_NOTES} ORDER BY f.mtime_ns DESC, f.path LIMIT ?2"  # noqa: S608 - own text
    found: list[Mention] = []
    for (path,) in look.rows(asked, MOST_READ):
        note = look.note(path)
        if look.is_ordinary(path, note):
            found.extend(islice(_named_in(look, path, note, wanted), MOST_IN_NOTE))
        if len(found) >= MOST_MENTIONS:
            break
    return found[:MOST_MENTIONS]


def _named_in(look: _Look, path: str, note: NoteText, wanted: dict[str, str]) -> Iterator[Mention]:
    linked = {link.target for link in catalog_read.links_from(look.searcher.catalog, path)}
    for line, words, title in named.named(note.text, wanted):
        if note.is_fixed(line) or free_column(note.line(line), words) is None:
            continue
        target = look.session.view.target(title)
        if target is not None and target != path and target not in linked:
            yield Mention(path, line, words, title, look.is_outline(path))


def _twins(look: _Look) -> list[Twins]:
    asked = f"""SELECT json_group_array(path) FROM (SELECT f.hash AS hash, f.path AS path
        FROM {_NOTES} AND n.journal IS NULL AND f.size >= {SHORTEST} AND f.hash IS NOT NULL ORDER BY f.path)
        GROUP BY hash HAVING count(*) > 1 ORDER BY min(path) LIMIT ?2"""  # noqa: S608 - own text
    found = []
    for (group,) in look.rows(asked, MOST_TWINS):
        notes = {path: look.note(path) for path in sorted(json.loads(group))}
        paths = tuple(path for path in notes if not look.spared.is_template(path, notes[path]))
        if len(paths) > 1:
            backlinks = tuple(len(look.session.view.sources(path)) for path in paths)
            found.append(Twins(paths, backlinks, 1.0))
    return found


def _orphans(look: _Look) -> list[Orphan]:
    """The notes with the nearest neighbours, in vaults whose owner links notes at all."""
    alone = (
        "NOT EXISTS (SELECT 1 FROM links l WHERE l.source = f.id)"
        " AND NOT EXISTS (SELECT 1 FROM links l WHERE l.target = f.id)"
    )
    counted = f"SELECT count(*), total({alone}) FROM {_NOTES} LIMIT ?2"  # noqa: S608 - own text
    count, lonely = (int(float(each)) for each in look.rows(counted, 1)[0])
    if count < LEAST_VAULT or 2 * lonely > count:
        return []
    asked = (
        f"SELECT f.path FROM {_NOTES} AND n.journal IS NULL AND f.size >= {LEAST_BODY}"  # noqa: S608 - own text
        f" AND {alone} ORDER BY f.mtime_ns DESC, f.path LIMIT ?2"
    )
    found = []
    for (path,) in look.rows(asked, MOST_ALONE):
        note = look.note(path)
        if look.spared.is_aside(path) or not look.is_ordinary(path, note):
            continue
        near = _neighbours(look, path) if len(note.body) >= LEAST_BODY else []
        if near:
            named_ = tuple((one.title, "; ".join(one.reasons)) for one in near)
            found.append((near[0].score, Orphan(path, named_, look.is_outline(path))))
    best = sorted(found, key=lambda each: (-each[0], each[1].path))[:MOST_ORPHANS]
    return [orphan for _, orphan in best]


def _neighbours(look: _Look, path: str) -> list[Related]:
    inside = look.session.desk.folder + "/"
    near = [
        one
        for one in related(look.searcher, path, 3 * NEIGHBOURS)
        if one.score >= LEAST_SCORE
        and not one.path.startswith(inside)
        and look.session.view.target(one.title) == one.path
        and not look.spared.is_template(one.path, look.note(one.path))
    ]
    return near[:NEIGHBOURS]
