"""Notes related to a note (by words, meaning, links), mentions of it, and why a query ranks it as it does."""

from __future__ import annotations

import math
import re
from collections import Counter

from vaultmem.errors import ModelError
from vaultmem.index import ORD_BITS, catalog_read
from vaultmem.memories.access import PERSON, Viewer
from vaultmem.notes import dialects as matching
from vaultmem.notes import frontmatter
from vaultmem.notes.dialects import open_rulebook, parse_note
from vaultmem.notes.places import file_name
from vaultmem.search import rank
from vaultmem.search.cache import filter_notes
from vaultmem.search.keyword_search import Question
from vaultmem.search.query import Ask, Hit, Query, Term, parse, parse_question
from vaultmem.search.search import Searcher
from vaultmem.text.values import TYPE_CHECKING, lazy, value
from vaultmem.vault import files

if TYPE_CHECKING:
    from vaultmem.index.catalog_read import BlockPlace

DISTINCTIVE_WORDS = 20
MOST_BLOCKS = 50
LINK_POINTS = {"links to it": 0.25, "is linked from it": 0.25, "linked by the same notes": 0.15}
MEANING_SHARE = 1.0
WORD_SHARE = 0.6


@value
class Related:
    """A note related to another. The score is between 0 and about 2; the reasons explain it."""

    path: str
    title: str
    uri: str
    score: float
    reasons: list[str]


def related(searcher: Searcher, path: str, limit: int = 10) -> list[Related]:
    """The notes nearest to the one at `path`, best first."""
    catalog = searcher.catalog
    note = catalog_read.note_id(catalog, path)
    words = distinctive_words(searcher, note)
    scores: dict[int, float] = {}
    reasons: dict[int, list[str]] = {}
    sources = (
        _by_meaning(searcher, note),
        _by_links(searcher, note),
        _by_words(searcher, note, words),
    )
    for points_by_note in sources:
        for other, (points, reason) in points_by_note.items():
            scores[other] = scores.get(other, 0.0) + points
            reasons.setdefault(other, []).append(reason)
    scores.pop(note, None)
    behind = searcher.cache().behind
    for other in scores.keys() & behind.keys():
        scores[other] *= rank.BEHIND
    best = sorted(scores, key=lambda other: (-scores[other], other))[:limit]
    for other, shared in _shared_words(searcher, words, best).items():
        reasons[other].append("shares words: " + ", ".join(shared[:4]))
    heads = catalog_read.note_heads(catalog, best)
    return [
        Related(
            head.path,
            head.title,
            searcher.cache().uri(head.dialect, head.path, head.title),
            round(scores[other], 4),
            [reason for reason in reasons[other] if reason],
        )
        for other in best
        if (head := heads.get(other))
    ]


Points = dict[int, tuple[float, str]]  # note -> points and the reason
_WORD = lazy(r"\w+")
_ADDRESS = lazy(r"https?://\S+")
_KEY = lazy(r"^[^\s:-][^:\n]*:", re.MULTILINE)


def _by_meaning(searcher: Searcher, note: int) -> Points:
    try:
        meaning = searcher.meaning()
    except ModelError:
        return {}
    best: Points = {}
    for block, cosine in meaning.near_note(searcher.catalog, note).items():
        other = block >> ORD_BITS
        if cosine >= max(rank.NEAR_ENOUGH, best.get(other, (0.0, ""))[0]):
            best[other] = (MEANING_SHARE * cosine, f"similar meaning {cosine:.2f}")
    return best


def _by_words(searcher: Searcher, note: int, words: dict[str, str]) -> Points:
    if not words:
        return {}
    hits = searcher.keyword.search(_any_of(list(words), [note], all_but=True), 200)
    totals: dict[int, float] = {}
    seen: Counter[int] = Counter()
    for block, score in hits.items():
        other = block >> ORD_BITS
        # Each further block of a note counts half as much as the one before.
        totals[other] = totals.get(other, 0.0) + score / 2 ** seen[other]
        seen[other] += 1
    highest = max(totals.values(), default=1.0)
    return {other: (WORD_SHARE * total / highest, "") for other, total in totals.items()}


def _any_of(words: list[str], notes: list[int], *, all_but: bool = False) -> Question:
    query = Query([Term("word", word) for word in words], [], [], [], [])
    return Question("", query, notes, all_but)


def _shared_words(
    searcher: Searcher, words: dict[str, str], notes: list[int]
) -> dict[int, list[str]]:
    """Which of the distinctive words each note has, most distinctive first."""
    shared: dict[int, list[str]] = {}
    for term, written in words.items():
        hits = searcher.keyword.search(_any_of([term], notes), 200)
        for note in {block >> ORD_BITS for block in hits}:
            shared.setdefault(note, []).append(written)
    return shared


def distinctive_words(searcher: Searcher, note: int) -> dict[str, str]:
    """The terms that distinguish a note, best first, as spelled in the note."""
    places = catalog_read.note_blocks(searcher.catalog, note)
    parts = _block_texts(searcher, places[0]) if places else []
    text = "\n".join([places[0].title if places else "", *parts])[:50_000]
    counts: Counter[str] = Counter()
    written: dict[str, str] = {}
    for word in _WORD.findall(_ADDRESS.sub(" ", text)):
        for term in searcher.keyword.terms(word):
            counts[term] += 1
            written.setdefault(term, word if word.isascii() else term)
    total = searcher.keyword.block_count() + 1
    weights = {
        term: (1 + math.log(count)) * math.log(total / frequency)
        for term, count in counts.items()
        if len(term) > 1
        and term not in rank.STOP_WORDS
        and not term.isdigit()
        and (frequency := searcher.keyword.frequency(term)) > len(places)
    }
    best = sorted(weights, key=lambda term: (-weights[term], term))[:DISTINCTIVE_WORDS]
    return {term: written[term] for term in best}


def _block_texts(searcher: Searcher, place: BlockPlace) -> list[str]:
    """The texts of a note's first blocks as indexed, without markup that only its editor needs and the names of
    properties."""
    path = place.raw or place.path
    rules = open_rulebook(searcher.folder, searcher.config.text("dialect"))
    _, blocks = parse_note(rules, place.path, searcher.texts.read([path])[path])
    return [
        _KEY.sub("", block.text) if block.is_properties else block.text
        for block in blocks[:MOST_BLOCKS]
    ]


def _by_links(searcher: Searcher, note: int) -> Points:
    linked = zip(LINK_POINTS, catalog_read.linked_notes(searcher.catalog, note), strict=True)
    points: dict[int, float] = {}
    reasons: dict[int, list[str]] = {}
    for reason, notes in linked:
        for other in notes:
            points[other] = points.get(other, 0.0) + LINK_POINTS[reason]
            reasons.setdefault(other, []).append(reason)
    return {other: (points[other], " and ".join(reasons[other])) for other in points}


# Unlinked mentions: notes that name a note in their text without a link (R-MENTION, R-LS-20).


@value
class Mention:
    """A place where a note is named."""

    path: str
    line: int
    text: str  # the name as written there


def mentions(searcher: Searcher, path: str) -> list[Mention]:
    """Where other notes name the one at `path`, by path and line. Reads every candidate note."""
    rules = open_rulebook(searcher.folder, searcher.config.text("dialect"))
    cap = searcher.config.number("index.max_note_bytes")
    names = names_of(searcher, path)
    pattern, rough = rules.mention_pattern(path, names), matching.folded_names(names)
    if pattern is None:
        return []
    results = []
    with files.Inside(searcher.folder) as inside:
        for other, raw in _readable(searcher, path):
            text = files.read(searcher.folder, raw or other, cap, inside).text
            if not (rough.search(matching.folded(text)) and pattern.search(text)):
                continue
            note, _ = parse_note(rules, other, text)
            body = frontmatter.split(text).body
            for start, end in matching.spans_of_mentions(
                pattern, text, [(link.start, link.end) for link in note.links], body
            ):
                results.append(Mention(other, text.count("\n", 0, start) + 1, text[start:end]))
    return results


def names_of(searcher: Searcher, path: str) -> list[str]:
    """The title and the aliases of a note."""
    catalog = searcher.catalog
    note = catalog_read.note_id(catalog, path)
    head = catalog_read.note_heads(catalog, [note]).get(note)
    title = head.title if head else file_name(path)  # of an attachment, or in the archive
    aliases = catalog.db.execute("SELECT alias FROM aliases WHERE note = ?", (note,))
    return [title, *(row[0] for row in aliases)]


def _readable(searcher: Searcher, path: str) -> list[tuple[str, str | None]]:
    rows = searcher.catalog.db.execute(
        "SELECT f.path, f.raw FROM files f JOIN notes n ON n.id = f.id WHERE n.excluded = 0 AND f.path != ?"
        " ORDER BY f.path",
        (path,),
    )
    return [(str(row[0]), row[1]) for row in rows]


# The rank of a note in a query's results: every point of its score, by name.


@value
class Why:
    """The rank of one note for a query."""

    path: str
    title: str
    rank: int | None  # 1 is the best note; None if it is not among the results
    of: int  # how many notes match
    score: float | None
    parts: dict[str, float]  # the parts that add up to the score
    fields: dict[str, float]  # each field's share of the best block's keyword part
    words: dict[str, list[str]]  # the query's words in each of these fields
    line: int | None
    end_line: int | None
    confidence: float | None
    remarks: list[str]


def why(
    searcher: Searcher, text: str, path: str, to: Viewer = PERSON, *, semantic: bool = False
) -> Why:
    """Explain the rank of the note at `path` for a query of the viewer `to`."""
    answer = searcher.search(Ask(text, limit=500, semantic=semantic, viewer=to))
    place = next((n for n, result in enumerate(answer.results) if result.path == path), None)
    result = answer.results[place] if place is not None else None
    note = catalog_read.note_id(searcher.catalog, path)
    head = catalog_read.note_heads(searcher.catalog, [note]).get(note)
    hidden = _hidden(searcher, path, to)
    against = [hidden] if hidden else _reasons_against(searcher, text, path, result)
    if head is None and not hidden:
        against = ["only notes are ranked; memories of the archive follow them"]
    remarks = [*answer.remarks, *against]
    if result and (name := _second_model(searcher, note, result)):
        remarks.append(f"its meaning is judged by {name}, the model for other scripts than Latin")
    fields = {} if hidden else _fields(searcher, text, note, result)
    return Why(
        path=path,
        title=head.title if head else file_name(path),
        rank=None if place is None else place + 1,
        of=len(answer.results),
        score=result.score if result else None,
        parts=result.parts if result else {},
        fields=fields,
        words=_words_by_field(searcher, text, note, result) if fields else {},
        line=result.line if result else None,
        end_line=result.end_line if result else None,
        confidence=result.confidence if result else None,
        remarks=remarks,
    )


def _hidden(searcher: Searcher, path: str, to: Viewer) -> str:
    """Why `to` may not see the note at `path`, as the index or its text says; "" if it may."""
    text = searcher.texts.read([path])[path] if to.name else ""
    reason = searcher.hidden_from(to).get(path) or searcher.hidden_now(path, text, to)
    return f"hidden from {to.name}: it is {reason}" if reason else ""


def _second_model(searcher: Searcher, note: int, result: Hit) -> str | None:
    """The name of the model for other scripts, if it ranked the block of a result."""
    others = None if result.similarity is None else searcher.meaning().others
    query = "SELECT other FROM blocks WHERE note = ? AND line = ?"
    row = searcher.catalog.db.execute(query, (note, result.line)).fetchone()
    return others.model.name if others and row and row[0] else None


def _fields(searcher: Searcher, text: str, note: int, result: Hit | None) -> dict[str, float]:
    parts = searcher.keyword.parts(Question(text, parse_question(text)[0], None), note)
    places = catalog_read.note_blocks(searcher.catalog, note)
    note_blocks = {p.block for p in places if result is None or p.line == result.line}
    best = {
        name: max((s for b, s in blocks.items() if b in note_blocks), default=0.0)
        for name, blocks in parts.items()
    }
    return {name: round(points, 4) for name, points in best.items() if points}


def _words_by_field(
    searcher: Searcher, text: str, note: int, result: Hit | None
) -> dict[str, list[str]]:
    places: dict[str, list[str]] = {}
    for term in parse(text).sought():
        for field in _fields(searcher, term.text, note, result):
            places.setdefault(field, []).append(term.text)
    return places


def _reasons_against(searcher: Searcher, text: str, path: str, result: Hit | None) -> list[str]:
    if result:
        return [f"it is a sync conflict copy of {result.original}"] if result.original else []
    if catalog_read.is_excluded(searcher.catalog, path):
        return ["the vault's settings exclude it from search"]
    note = catalog_read.note_id(searcher.catalog, path)
    against = [
        f"{'-' if filter_.negated else ''}{filter_.field}:{filter_.value} leaves it out"
        for filter_ in parse(text).filters
        if note not in filter_notes(searcher.catalog, [filter_])
    ]
    return against or ["none of its blocks has the words, or too many others fit better"]
