"""Hybrid search: what a query finds, grouped by note, with the place and the reason of every hit.

Starts without anything heavy: numpy and the model are loaded only when a search by meaning is asked for.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from vaultmem.config import Config
from vaultmem.core import decay, rank, snippet, uri
from vaultmem.core import query as language
from vaultmem.core.values import TYPE_CHECKING, value
from vaultmem.errors import ModelError, StateError
from vaultmem.store import catalog_read
from vaultmem.store.catalog import Catalog, spoken
from vaultmem.store.keyword import ORD_BITS
from vaultmem.store.keyword_search import KeywordSearcher, Question
from vaultmem.store.lines import read_lines
from vaultmem.store.state import State

if TYPE_CHECKING:
    from vaultmem.meaning import Meaning

CANDIDATES = 200
SHORT_WORD = 4  # letters of a stem


@value
class Ask:
    """A search to make. `filters` come on top of those in the text; `group` is "note" or "block"."""

    text: str
    limit: int = 10
    semantic: bool = False
    group: str = "note"
    filters: tuple[language.Filter, ...] = ()
    min_confidence: float = decay.MIN_CONFIDENCE


@value
class Result:
    """One hit: a block, or the best block of a note. Scores compare within one answer only."""

    path: str
    title: str
    line: int
    end_line: int
    headings: list[str]
    label: str | None
    day: str | None
    category: str | None
    uri: str
    properties: dict[str, object]
    confidence: float
    score: float
    similarity: float | None  # cosine to the question; None without search by meaning
    parts: dict[str, float]  # keyword and meaning points, and what else went into the score
    content: str  # the block as it stands in the note now
    snippet: str
    marks: list[tuple[int, int]]  # found words in the snippet
    more: list[tuple[int, int]]  # line ranges of other blocks of the note that were found
    original: str | None  # the note of which this one is a sync conflict copy


@value
class Answer:
    """Results, best first, and remarks that a person should see."""

    results: list[Result]
    remarks: list[str]


class Searcher:
    """An index opened for searching. Safe beside a sync in another process."""

    def __init__(self, folder: str, config: Config, now: Callable[[], float] = time.time) -> None:
        self.folder = folder
        self.config = config
        self.state = State(folder)
        self._now = now
        self._meaning: Meaning | None = None
        generation = self.state.generation()
        if generation is None:
            raise StateError(f"{folder} has no index yet; run vaultmem sync --vault {folder}")
        with spoken():
            self.catalog = Catalog(f"{generation}/catalog.db")
        try:
            self.keyword = KeywordSearcher(f"{generation}/kw")
        except StateError:
            self.catalog.close()
            raise

    def close(self) -> None:
        """Let go of all files."""
        self.catalog.close()
        if self._meaning:
            self._meaning.close()

    def meaning(self) -> Meaning:
        """The vectors, loaded on first use. Raises ModelError when there is no model."""
        if self._meaning is None:
            from vaultmem.meaning import Meaning

            self._meaning = Meaning(self.state, self.config)
        return self._meaning

    @spoken()
    def search(self, ask: Ask) -> Answer:
        """Find blocks. Never fails for what the text says; remarks tell what was done differently."""
        query = language.parse(ask.text)
        remarks: list[str] = []
        query = self._corrected(query, remarks)
        question = self._question(ask, query)
        ranked = query.words or query.must or query.groups
        hits = self._ranked(ask, question, remarks) if ranked else self._newest(ask, question)
        return Answer(self._results(ask, question, hits), remarks)

    def _question(self, ask: Ask, query: language.Query) -> Question:
        notes = catalog_read.notes_that_fit(self.catalog, [*query.filters, *ask.filters])
        faded = self._faded(ask.min_confidence)
        text = language.wanted_text(ask.text, query)
        if notes is None:
            return Question(text, query, faded or None, all_but=bool(faded))
        return Question(text, query, notes - faded)

    def _faded(self, minimum: float) -> set[int]:
        """Memories whose confidence has sunk below the minimum."""
        folder = self.config.text("memory_folder")
        faded = set()
        for note, category, properties in catalog_read.memories(self.catalog, folder):
            if self._confidence(category, properties) < minimum:
                faded.add(note)
        return faded

    def _confidence(self, category: str | None, properties: dict[str, object]) -> float:
        created = _seconds(properties.get("created_at"))
        if "id" not in properties or created is None:
            return 1.0
        policy = decay.policy(properties.get("decay_policy"), category)
        return decay.confidence(
            policy, created, _seconds(properties.get("last_reinforced_at")), self._now()
        )

    def _corrected(self, query: language.Query, remarks: list[str]) -> language.Query:
        """Words that no note has are searched in the nearest spelling that some note has."""
        words = list(query.words)
        unknown = self.keyword.unknown_words(query)
        telling = sum(not self.keyword.is_weak(word) for word in words)
        nothing_else = len(unknown) == telling and not (query.must or query.groups)
        for word in unknown:
            if not nothing_else and (len(word) <= SHORT_WORD or 2 * len(unknown) < telling):
                continue  # the rest of the query finds enough, and near is not the same
            if found := self.keyword.corrections(word):
                words += [language.Term("word", near) for near in found]
                remarks.append(f'no note has "{word}"; searched {", ".join(found)}')
        return language.Query(words, query.must, query.excluded, query.groups, query.filters)

    def _ranked(self, ask: Ask, question: Question, remarks: list[str]) -> list[rank.Hit]:
        keyword = self._keyword_hits(ask, question)
        meaning: dict[int, rank.Closeness] = {}
        if ask.semantic:
            try:
                meaning = self._closeness(question, keyword)
            except (ModelError, StateError) as error:
                remarks.append(f"keyword results only: {error}")
        return self._settled(rank.fuse(keyword, meaning))

    def _newest(self, ask: Ask, question: Question) -> list[rank.Hit]:
        """With nothing to rank by, the newest notes that pass the filters."""
        notes = list(catalog_read.newest_first(self.catalog))
        if question.notes is not None:
            named = set(question.notes)
            notes = [note for note in notes if (note in named) != question.all_but]
        if question.query.excluded:
            found = self.keyword.search(question, self.keyword.block_count() or 1)
            left = {block >> ORD_BITS for block in found}
            notes = [note for note in notes if note in left]
        return [rank.Hit(note << ORD_BITS, 0.0, {"newest": 0.0}) for note in notes[: ask.limit]]

    def _keyword_hits(self, ask: Ask, question: Question) -> dict[int, float]:
        """The best blocks; more of them while one long note keeps the others out."""
        most = max(1, self.keyword.block_count())
        wanted = min(most, max(CANDIDATES, 4 * ask.limit))
        while True:
            found = self.keyword.search(question, wanted)
            notes = {block >> ORD_BITS for block in found}
            enough = ask.group != "note" or len(notes) >= ask.limit
            if enough or wanted == most or len(found) < wanted:
                return found
            wanted = min(most, 10 * wanted)

    def _closeness(
        self, question: Question, keyword: dict[int, float]
    ) -> dict[int, rank.Closeness]:
        """Of the blocks that have the words, and of those nearest in meaning."""
        meaning = self.meaning()
        if not len(meaning.store) and self.keyword.block_count():
            raise ModelError("no block is embedded yet; run vaultmem sync")
        vector = meaning.embedder.query(question.text)
        query = question.query
        wanted = set(keyword)
        if query.words and not (query.must or query.excluded or query.groups):
            notes = question.notes
            if question.all_but and notes is not None:
                notes = list(set(catalog_read.all_notes(self.catalog)) - set(notes))
            wanted |= meaning.nearest(self.catalog, vector, CANDIDATES, notes).keys()
        return meaning.closeness(self.catalog, vector, wanted)

    def _settled(self, hits: list[rank.Hit]) -> list[rank.Hit]:
        """Add each note's share, put conflict copies below, order again."""
        notes = rank.note_scores([(hit.block >> ORD_BITS, hit.score) for hit in hits])
        copies = catalog_read.conflict_copies(self.catalog)
        for hit in hits:
            note = hit.block >> ORD_BITS
            hit.parts["note"] = rank.NOTE_WEIGHT * notes[note]
            hit.score += hit.parts["note"]
            if note in copies and hit.score > 0:
                hit.parts["conflict copy"] = -(1 - rank.CONFLICT_WEIGHT) * hit.score
                hit.score *= rank.CONFLICT_WEIGHT
        return sorted(hits, key=lambda hit: (-hit.score, hit.block))

    def _results(self, ask: Ask, question: Question, hits: list[rank.Hit]) -> list[Result]:
        wanted = self._wanted(question.query)
        chosen, more = _grouped(hits, ask.limit) if ask.group == "note" else (hits[: ask.limit], {})
        shown = [_pair(hit.block) for hit in chosen]
        shown += [pair for hit in chosen for pair in more.get(hit.block >> ORD_BITS, ())]
        places = catalog_read.places(self.catalog, shown)
        results = []
        for hit in chosen:
            place = places.get(_pair(hit.block))
            if place:
                others = [places[p] for p in more.get(place.note, ()) if p in places]
                results.append(self._result(hit, place, others, wanted))
        return results

    def _result(
        self,
        hit: rank.Hit,
        place: catalog_read.BlockPlace,
        others: list[catalog_read.BlockPlace],
        wanted: set[str],
    ) -> Result:
        content = read_lines(self.folder, place.raw or place.path, place.line, place.end_line)
        shown = snippet.snippet(content, wanted, self.keyword.tokens)
        similarity = hit.parts.get("meaning")
        return Result(
            path=place.path,
            title=place.title,
            line=place.line,
            end_line=place.end_line,
            headings=place.headings,
            label=place.label,
            day=place.day,
            category=place.category,
            uri=self.uri(place.dialect, place.path, place.title),
            properties=place.properties,
            confidence=self._confidence(place.category, place.properties),
            score=round(hit.score, 4),
            similarity=None if similarity is None else round(similarity / rank.COSINE_WEIGHT, 4),
            parts={name: round(points, 4) for name, points in hit.parts.items()},
            content=content,
            snippet=shown.text,
            marks=shown.marks,
            more=[(other.line, other.end_line) for other in others],
            original=place.original,
        )

    def uri(self, dialect: str, path: str, title: str) -> str:
        """The link that opens a note in its editor."""
        return uri.fill(self.catalog.meta(f"uri {dialect}") or "", self.folder, path, title)

    def _wanted(self, query: language.Query) -> set[str]:
        """The tokens worth marking: all that were asked for but stop words."""
        terms = [*query.words, *query.must, *(term for group in query.groups for term in group)]
        tokens = {token for term in terms for token in self.keyword.tokens(term.text)}
        return {token for token in tokens if rank.word_weight(token) == 1.0} or tokens


def _pair(block: int) -> tuple[int, int]:
    return block >> ORD_BITS, block & ((1 << ORD_BITS) - 1)


def _grouped(
    hits: Iterable[rank.Hit], limit: int
) -> tuple[list[rank.Hit], dict[int, list[tuple[int, int]]]]:
    """The best hit of each of the first `limit` notes, and up to three more blocks of each note."""
    best: dict[int, rank.Hit] = {}
    more: dict[int, list[tuple[int, int]]] = {}
    for hit in hits:
        note = hit.block >> ORD_BITS
        if note not in best:
            if len(best) < limit:
                best[note] = hit
        elif len(more.setdefault(note, [])) < 3:
            more[note].append(_pair(hit.block))
    return list(best.values()), more


def _seconds(stamp: object) -> float | None:
    """Seconds since the epoch of an ISO time; None for anything else."""
    from datetime import UTC, datetime

    if not isinstance(stamp, str):
        return None
    try:
        moment = datetime.fromisoformat(stamp)
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
