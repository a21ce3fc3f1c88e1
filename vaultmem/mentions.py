"""Unlinked mentions: notes that name a note in their text without linking to it (R-MENTION, R-LS-20)."""

from __future__ import annotations

from vaultmem.core import mentions as matching
from vaultmem.core.values import value
from vaultmem.dialects import open_rulebook
from vaultmem.reading import parse_note
from vaultmem.search import Searcher
from vaultmem.store import frontmatter, vault


@value
class Mention:
    """A place where a note is named."""

    path: str
    line: int
    text: str  # the name as it stands there


def mentions(searcher: Searcher, path: str) -> list[Mention]:
    """Where other notes name the one at `path`, by path and line. Reads every note that may."""
    root = vault.Root(searcher.folder)
    rules = open_rulebook(root, searcher.config.text("dialect"))
    cap = searcher.config.number("index.max_note_bytes")
    pattern = rules.mention_pattern(path, names_of(searcher, path))
    if pattern is None:
        return []
    found = []
    for other, raw in _readable(searcher, path):
        text = vault.read(searcher.folder, raw or other, cap).text
        if not pattern.search(text):
            continue
        note, _ = parse_note(rules, other, text)
        body = frontmatter.split(text).body
        for start, end in matching.mentions(
            pattern, text, [(link.start, link.end) for link in note.links], body
        ):
            found.append(Mention(other, text.count("\n", 0, start) + 1, text[start:end]))
    return found


def names_of(searcher: Searcher, path: str) -> list[str]:
    """The title and the aliases of a note."""
    db = searcher.catalog.db
    title = db.execute(
        "SELECT n.title FROM notes n JOIN files f ON f.id = n.id WHERE f.path = ?", (path,)
    ).fetchone()
    aliases = db.execute(
        "SELECT a.alias FROM aliases a JOIN files f ON f.id = a.note WHERE f.path = ?", (path,)
    )
    return [str(title[0]), *(str(row[0]) for row in aliases)]


def _readable(searcher: Searcher, path: str) -> list[tuple[str, str | None]]:
    rows = searcher.catalog.db.execute(
        "SELECT f.path, f.raw FROM files f JOIN notes n ON n.id = f.id WHERE n.excluded = 0 AND f.path != ?"
        " ORDER BY f.path",
        (path,),
    )
    return [(str(row[0]), row[1]) for row in rows]
