"""Collects what there is to propose for a person's own notes, from the catalog and the notes themselves."""

from __future__ import annotations

import json

from vaultmem.core.wording import plural
from vaultmem.memories.desk import Session
from vaultmem.plans import named
from vaultmem.plans.proposals import BrokenLink, Facts, Mention, Orphan, Proposal, Twins, proposals
from vaultmem.plans.spelled import Titles
from vaultmem.related import related
from vaultmem.search import Searcher
from vaultmem.store import catalog_read, vault

MOST_BROKEN = 200
MOST_MENTIONS = 100
MOST_READ = 300  # notes, the ones that changed last
MOST_TWINS = 100
MOST_ORPHANS = 30
NEIGHBOURS = 3

_NOTES = """files f JOIN notes n ON n.id = f.id LEFT JOIN conflicts c ON c.copy = f.id
    WHERE n.excluded = 0 AND c.copy IS NULL AND NOT (f.path >= ?1 || '/' AND f.path < ?1 || '0')"""


def collect(session: Session) -> list[Proposal]:
    """All proposals for the notes as they are now; none before the vault was indexed."""
    searcher = session.reader.searcher()
    if searcher is None:
        return []
    facts = Facts(
        _broken(session, searcher), _mentions(session, searcher), _twins(session, searcher),
        _orphans(session, searcher),
    )  # fmt: skip
    return proposals(facts, lambda path: text_of(session, path))


def text_of(session: Session, path: str) -> str:
    """The text of a note as it is now, with its own line ends."""
    data = session.desk.bytes_of(path)
    return "" if data is None else vault.decode(data)[0]


def _titles(session: Session, searcher: Searcher) -> list[str]:
    rows = searcher.catalog.db.execute(f"SELECT n.title FROM {_NOTES}", (session.desk.folder,))  # noqa: S608 - own text
    return [str(row[0]) for row in rows]


def _broken(session: Session, searcher: Searcher) -> list[BrokenLink]:
    inside = session.desk.folder + "/"
    links = [
        link
        for link in catalog_read.unresolved(searcher.catalog)
        if link.kind == "wikilink" and not link.source.startswith(inside)
    ]
    if not links:
        return []
    titles = Titles(_titles(session, searcher))
    found = []
    for link in links:
        nearest = titles.nearest(link.path.rpartition("/")[2])
        if nearest:
            found.append(BrokenLink(link.source, link.line, link.path, nearest))
        if len(found) == MOST_BROKEN:
            break
    return found


def _mentions(session: Session, searcher: Searcher) -> list[Mention]:
    wanted = named.names(_titles(session, searcher))
    rows = searcher.catalog.db.execute(
        f"SELECT f.path FROM {_NOTES} ORDER BY f.mtime_ns DESC, f.path LIMIT ?2",  # noqa: S608 - own text
        (session.desk.folder, MOST_READ),
    ).fetchall()
    found: list[Mention] = []
    for (path,) in rows:
        linked = {link.target for link in catalog_read.links_from(searcher.catalog, path)}
        outline = session.desk.rules.page_style(path) == "outline"
        for line, words, title in named.named(text_of(session, path), wanted):
            target = session.view.target(title)
            if target is not None and target != path and target not in linked:
                found.append(Mention(path, line, words, title, outline))
        if len(found) >= MOST_MENTIONS:
            break
    return found[:MOST_MENTIONS]


def _twins(session: Session, searcher: Searcher) -> list[Twins]:
    asked = f"""SELECT json_group_array(path) FROM (SELECT f.hash AS hash, f.path AS path
        FROM {_NOTES} AND f.size > 0 AND f.hash IS NOT NULL ORDER BY f.path)
        GROUP BY hash HAVING count(*) > 1 ORDER BY min(path) LIMIT ?2"""  # noqa: S608 - own text
    rows = searcher.catalog.db.execute(asked, (session.desk.folder, MOST_TWINS)).fetchall()
    groups = [sorted(json.loads(row[0])) for row in rows]
    return [
        Twins(tuple(paths), tuple(len(session.view.sources(path)) for path in paths), 1.0)
        for paths in groups
    ]


def _orphans(session: Session, searcher: Searcher) -> list[Orphan]:
    rows = searcher.catalog.db.execute(
        f"SELECT f.path FROM {_NOTES} AND n.journal IS NULL AND f.size > 60"  # noqa: S608 - own text
        " AND NOT EXISTS (SELECT 1 FROM links l WHERE l.source = f.id)"
        " AND NOT EXISTS (SELECT 1 FROM links l WHERE l.target = f.id) ORDER BY f.path LIMIT ?2",
        (session.desk.folder, MOST_ORPHANS),
    ).fetchall()
    inside = session.desk.folder + "/"
    found = []
    for (path,) in rows:
        near = [
            one
            for one in related(searcher, path, 2 * NEIGHBOURS)
            if not one.path.startswith(inside)
        ]
        neighbours = tuple((one.title, "; ".join(one.reasons)) for one in near[:NEIGHBOURS])
        if neighbours:
            outline = session.desk.rules.page_style(path) == "outline"
            found.append(Orphan(path, neighbours, outline))
    return found


def summed_up(count: int) -> str:
    """How many wait, for a report."""
    return f"{plural(count, 'proposal')} for your notes: vaultmem review shows them"
