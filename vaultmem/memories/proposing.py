"""Collects what there is to propose for a person's own notes, from the catalog and the notes themselves."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import NamedTuple

from vaultmem.adapter import Value
from vaultmem.index import catalog_read
from vaultmem.memories.desk import Session
from vaultmem.memories.links import slips, spelling
from vaultmem.memories.proposals import (
    SHORTEST,
    BrokenLink,
    Facts,
    Mention,
    NoteText,
    Orphan,
    Proposal,
    Twins,
    free_column,
    proposals,
)
from vaultmem.search.related import Related, related
from vaultmem.search.search import Searcher
from vaultmem.vault import files

# Finds names of notes in plain text, many names at once: for proposals, so rather too few than too many.

MOST_WORDS = 6
SHORTEST_CJK = 4  # shorter ones are mostly ordinary words, or parts of longer ones
LONGEST_CJK = 12
SINGLE = 6  # letters of a title of one word; shorter ones are mostly ordinary words
_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
_RUN = re.compile(rf"[{_CJK}]{{2,}}")
_WORD = re.compile(rf"[^\W_{_CJK}]+(?:['’-][^\W_{_CJK}]+)*")
_OPENS = re.compile(
    r"(?:^|[.!?:;|。！？：；])[\s\"'“”‘’(*_>#=~-]*(?:\d+[.)]\s+)?(?:\[.\]\s+)?[\s*_=~\"'“”‘’]*$"
)
_LABEL = re.compile(r"[*_ ]*[:：]")
_DETERMINERS = frozenset(  # what begins with one of these is said without meaning a note
    ["a", "all", "an", "any", "every", "my", "new", "no", "other", "our", "some", "the", "this"]
)
_DATE = re.compile(r"[\d\s.:/_-]+")


def names(titles: Iterable[str]) -> dict[str, str]:
    """What to look for: the titles that are worth it and that only one note has, by their folded words."""
    found: dict[str, str] = {}
    twice: set[str] = set()
    for title in titles:
        key = _key(title)
        if key is None:
            continue
        if key in found:
            twice.add(key)
        found[key] = title
    return {key: title for key, title in found.items() if key not in twice}


def _key(title: str) -> str | None:
    if _DATE.fullmatch(title):
        return None
    run = _RUN.fullmatch(title)
    if run:
        return title if SHORTEST_CJK <= len(title) <= LONGEST_CJK else None
    words = _WORD.findall(title)
    if " ".join(words) != " ".join(title.split()) or not 1 <= len(words) <= MOST_WORDS:
        return None  # with marks inside it is hardly written so in a sentence
    if len(words) == 1 and (len(title) < SINGLE or title[0].islower()):
        return None
    if words[0].lower() in _DETERMINERS:
        return None
    return " ".join(words).lower()


def named(text: str, wanted: Mapping[str, str]) -> Iterator[tuple[int, str, str]]:
    """The first place of each name as (line, words as they stand, title); the longest name at a place wins."""
    seen: set[str] = set()
    for number, line in enumerate(text.split("\n"), 1):
        for words, title in _in_line(line, wanted):
            if title not in seen:
                seen.add(title)
                yield number, words, title


def _in_line(line: str, wanted: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    words = list(_WORD.finditer(line))
    at = 0
    while at < len(words):
        for count in range(min(MOST_WORDS, len(words) - at), 0, -1):
            start, end = words[at].start(), words[at + count - 1].end()
            title = wanted.get(" ".join(line[start:end].lower().split()))
            if title is not None and _is_meant(line, start, end, title):
                yield line[start:end], title
                at += count - 1
                break
        at += 1
    for run in _RUN.finditer(line):
        yield from _in_run(run[0], wanted)


def _is_meant(line: str, start: int, end: int, title: str) -> bool:
    """Whether words are meant as a name: no label of what follows; and a single word is written as the title is,
    and its capital is not that of any first word."""
    if _LABEL.match(line, end) and _OPENS.search(line[:start]):
        return False
    if len(title.split()) > 1:
        return True
    if line[start:end] != title:
        return False
    has_inner = any(letter.isupper() or letter.isdigit() for letter in title[1:])
    return (has_inner and not title.isupper()) or not _OPENS.search(line[:start])


def _in_run(run: str, wanted: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    at = 0
    while at < len(run):
        for length in range(min(LONGEST_CJK, len(run) - at), SHORTEST_CJK - 1, -1):
            title = wanted.get(run[at : at + length])
            if title is not None:
                yield run[at : at + length], title
                at += length - 1
                break
        at += 1


# Finds the title that a name which nothing answers to is a slip of the pen for, among very many.

LOOKED_AT = 20
TOO_MANY = 2_000  # a piece that so many titles have tells nothing


class Titles:
    """Titles by the three-letter pieces in them."""

    def __init__(self, titles: Iterable[str]) -> None:
        self._titles = sorted(set(titles))
        self._with: dict[str, list[int]] = defaultdict(list)
        for number, title in enumerate(self._titles):
            for piece in _pieces(title):
                self._with[piece].append(number)

    def nearest(self, name: str, limit: int = 3) -> tuple[str, ...]:
        """The titles that the name may be a slip for, best first; none when two are equally near."""
        shared: Counter[int] = Counter()
        for piece in _pieces(name):
            holders = self._with.get(piece, ())
            if len(holders) <= TOO_MANY:
                shared.update(holders)
        best = sorted(shared, key=lambda n: (-shared[n], self._titles[n]))[:LOOKED_AT]
        rated = [(slips(name, self._titles[number]), self._titles[number]) for number in best]
        near = sorted((count, title) for count, title in rated if count is not None)
        if len(near) > 1 and near[0][0] == near[1][0]:
            return ()
        return tuple(title for _, title in near[:limit])


def _pieces(text: str) -> set[str]:
    folded = f" {spelling(text[:200])} "
    return {folded[at : at + 3] for at in range(len(folded) - 2)} or {folded}


# Notes for which dreams propose nothing: templates, drawings, and what lies in folders set aside for such things.

_TEMPLATES = frozenset(["templates", "template", "_templates", "模板"])
_SET_ASIDE = frozenset(
    ["archive", "archives", "attachments", "assets", "归档", "歸檔", "附件", "存档"]
)
_SETTINGS = (  # where an editor keeps the folder of its templates, and of attachments
    (".obsidian/templates.json", "folder", True),
    (".obsidian/plugins/templater-obsidian/data.json", "templates_folder", True),
    (".obsidian/app.json", "attachmentFolderPath", False),
)
_DAILY = (".obsidian/daily-notes.json", "template")
_FILLED_IN = re.compile(
    r"<%[*_-]?\s|\{\{(?:date|time|title|name|content|value|VALUE|author)\b[^{}\n]{0,60}\}\}"
)
_DRAWN = re.compile(r"^(?:excalidraw-plugin|kanban-plugin)\s*:", re.MULTILINE)
_LOGSEQ = re.compile(r"^\s*(?:[-*]\s+)?template::", re.MULTILINE)

Bytes = Callable[[str], bytes | None]


class Spared:
    """Tells by path and text which notes to leave alone; `read` gives the bytes of a file of the vault."""

    def __init__(self, read: Bytes) -> None:
        self._read = read
        folders = [(self._setting(path, key), is_it) for path, key, is_it in _SETTINGS]
        self._templates = tuple(f"{folder}/" for folder, is_it in folders if folder and is_it)
        self._aside = tuple(f"{folder}/" for folder, is_it in folders if folder and not is_it)
        self._daily = self._setting(*_DAILY).removesuffix(".md") + ".md"

    def is_template(self, path: str, note: NoteText) -> bool:
        """Whether a note is a form for others, or drawn by a plugin: not text that a person reads."""
        parts = path.casefold().split("/")[:-1]
        if path == self._daily or path.startswith(self._templates or ("\0",)):
            return True
        if any(part in _TEMPLATES or part.endswith(("模板", " templates")) for part in parts):
            return True
        if path.casefold().endswith(".excalidraw.md") or _DRAWN.search(note.front):
            return True
        front = note.front
        return (
            "{{" in front
            or "<%" in front
            or bool(_FILLED_IN.search(note.text) or _LOGSEQ.search(note.text))
        )

    def is_aside(self, path: str) -> bool:
        """Whether a note lies with attachments or in an archive."""
        if path.startswith(self._aside or ("\0",)):
            return True
        parts = path.casefold().split("/")[:-1]
        return any(part in _SET_ASIDE or part.endswith(("归档", "歸檔")) for part in parts)

    def _setting(self, path: str, key: str) -> str:
        try:
            found: Value = json.loads((self._read(path) or b"").decode("utf-8-sig"))
        except (ValueError, RecursionError):
            return ""
        value = found.get(key) if isinstance(found, dict) else None
        return value.strip("/").removeprefix("./") if isinstance(value, str) else ""


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
    return "" if len(data) > LARGEST else files.decode(data)[0]


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
    wanted = names(_titles(look))
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
    for line, words, title in named(note.text, wanted):
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
