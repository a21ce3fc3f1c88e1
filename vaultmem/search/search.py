"""Hybrid search: what a query finds, by note, with place and reason. Numpy and the model load only when needed."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from vaultmem import now as clock
from vaultmem.config import Config
from vaultmem.errors import ModelError, StateError
from vaultmem.index import catalog_read
from vaultmem.index.catalog import Catalog, spoken
from vaultmem.index.keyword import ORD_BITS
from vaultmem.index.state import State
from vaultmem.memories import decay, model
from vaultmem.search import cache, rank, snippet
from vaultmem.search import query as language
from vaultmem.search.cache import Pair, Remembered
from vaultmem.search.keyword_search import KeywordSearcher, Question
from vaultmem.search.snippet import NoteTexts, cut_lines
from vaultmem.text.values import TYPE_CHECKING, value

if TYPE_CHECKING:
    from vaultmem.search.semantic import Meaning

CANDIDATES = 200
SHORT_WORD = 4  # letters of a stem


@value
class Ask:
    """A search to make. `filters` come on top of those in the text; `group` is "note" or "block"."""

    text: str
    limit: int = 10
    semantic: bool | None = False  # None: where a model is warm, see Vault.answer
    group: str = "note"
    filters: tuple[language.Filter, ...] = ()
    min_confidence: float | None = None  # None: as the settings say
    notes: frozenset[int] | None = None  # in these alone,
    all_but: bool = False  # or in all but these
    compressed: bool = False  # also what a summary stands for; who names the notes means those
    talks: bool = False  # also what was said in conversations, as a filter by scope or path may
    viewer: model.Viewer = model.PERSON

    def decided(self, semantic: bool) -> Ask:
        """The same, by meaning or not."""
        return Ask(**{**self.__dict__, "semantic": semantic})


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
    content: (
        str  # the block as it stands in the note now; of a note with nothing else, its properties
    )
    snippet: str
    marks: list[tuple[int, int]]  # found words in the snippet
    more: list[tuple[int, int]]  # line ranges of other blocks of the note that were found
    original: str | None  # the note of which this one is a sync conflict copy
    archived: str = ""  # of a memory that is told last: why it is in the archive


@value
class Answer:
    """Results, best first, and remarks that a person should see."""

    results: list[Result]
    remarks: list[str]


@value
class Found:
    """A hit before its note is read: where it is, and how well it fits."""

    place: catalog_read.BlockPlace
    confidence: float
    score: float
    similarity: float | None
    parts: dict[str, float]


@value
class Findings:
    """Hits, best first, the words of the question that tell something, and remarks that a person should see."""

    found: list[Found]
    words: frozenset[str]
    remarks: list[str]


class _Page:
    """What all results of one answer share."""

    def __init__(self, known: Remembered, wanted: set[str], more: dict[int, list[int]]) -> None:
        self.known = known
        self.wanted = wanted  # the tokens to mark
        self.ranges: dict[Pair, Pair] = {}  # the lines of other blocks of the notes
        self._more = more

    def others(self, hit: rank.Hit) -> list[Pair]:
        """Other blocks of the note of a hit."""
        return [_pair(block) for block in self._more.get(hit.block >> ORD_BITS, [])]


class Searcher:
    """An index opened for searching. Safe beside a sync, in this process or another one.

    It may stay open for days: what it remembers is looked up again when the index or a note has changed.
    Any thread may use it, one at a time. When another generation than `generation` is in force, a new
    searcher is needed.
    """

    def __init__(
        self, folder: str, config: Config, now: Callable[[], float] = clock.seconds, index: State | None = None
    ) -> None:  # fmt: skip
        self.folder = folder
        self.config = config
        self.state = State(folder)
        self.archive = f"{folder}/{config.text('memory_folder')}/archive"
        self.half_life = config.seconds("memories.half_life") / 3600
        self._now = now
        self._meaning: Meaning | None = None
        self._remembered: Remembered | None = None
        self.texts = NoteTexts(folder)
        generation = (index or self.state).generation()
        if generation is None:
            raise StateError(f"{folder} has no index yet; run vaultmem sync --vault {folder}")
        self.generation = generation
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

    def refresh(self) -> None:
        """See what was written to this generation since."""
        self.keyword.refresh()

    def meaning(self) -> Meaning:
        """The vectors, loaded on first use. Raises ModelError when there is no model."""
        if self._meaning is None:
            from vaultmem.search.semantic import Meaning

            self._meaning = Meaning(self.state, self.config)
        return self._meaning

    @spoken()
    def search(self, ask: Ask) -> Answer:
        """Find blocks. Never fails for what the text says; remarks tell what was done differently."""
        page, hits, remarks = self._hits_there(ask)
        return Answer(self._results(page, hits), remarks)

    @spoken()
    def find(self, ask: Ask) -> Findings:
        """The same without reading the notes, for who reads them himself."""
        page, hits, remarks = self._hits_there(ask)
        places = page.known.places([_pair(hit.block) for hit in hits])
        found = [
            self._found(page, hit, place) for hit in hits if (place := places.get(_pair(hit.block)))
        ]
        return Findings(found, frozenset(page.wanted), remarks)

    def _hits_there(self, ask: Ask) -> tuple[_Page, list[rank.Hit], list[str]]:
        """What is found, looked for once more where the index has changed in the middle of it: a note that moved is in
        it before and after, and must not be missed between its words and its place."""
        page, hits, remarks = self._hits(ask)
        blocks = {_pair(hit.block) for hit in hits}
        if len(page.known.places([*blocks])) < len(blocks) and self._is_newer(page.known):
            return self._hits(ask)
        return page, hits, remarks

    def _is_newer(self, known: Remembered) -> bool:
        """Whether there is more to see than was seen."""
        try:
            return self.keyword.refresh() or self.catalog.version() != known.version
        except StateError:  # it cannot be looked at now; what was found stands
            return False

    def _hits(self, ask: Ask) -> tuple[_Page, list[rank.Hit], list[str]]:
        query = language.parse(ask.text)
        known = self._known()
        remarks: list[str] = []
        query = self._corrected(query, remarks)
        question = self._question(ask, query, known)
        if query.words or query.must or query.groups:
            return *self._best(ask, question, known, remarks), remarks
        return _Page(known, set(), {}), self._newest(ask, question), remarks

    def hidden_from(self, viewer: model.Viewer) -> dict[str, str]:
        """The paths of notes that somebody may not see, with the reasons."""
        return dict(self._known().hidden_from(viewer).values() if viewer.name else ())

    def _known(self) -> Remembered:
        """What is remembered of the catalog as it is now."""
        version = self.catalog.version()
        if self._remembered is None or self._remembered.version != version:
            memory_folder = self.config.text("memory_folder")
            self._remembered = Remembered(self.catalog, version, self.folder, memory_folder)
            self._remembered.half_life = self.half_life
        return self._remembered

    def _question(self, ask: Ask, query: language.Query, known: Remembered) -> Question:
        notes = known.notes_that_fit([*query.filters, *ask.filters])
        least = ask.min_confidence
        if least is None:
            least = self.config.share("memories.min_confidence")
        faded = known.faded(least, self._now()) | known.gone
        if ask.notes is None and not ask.compressed:
            faded = faded | known.summed_up
        fields = {each.field for each in (*query.filters, *ask.filters)}
        if ask.notes is None and not ask.talks and not fields & {"path", "scope"} and known.spoken:
            faded = faded | known.spoken
        if ask.viewer.name:
            faded = faded | known.hidden_from(ask.viewer).keys()
        text = language.wanted_text(ask.text, query)
        if ask.notes is not None and ask.all_but:
            faded = faded | ask.notes
        elif ask.notes is not None:
            notes = set(ask.notes) if notes is None else notes & ask.notes
        if notes is None:
            return Question(text, query, faded or None, all_but=bool(faded))
        return Question(text, query, notes - faded if faded else notes)

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

    def _best(
        self, ask: Ask, question: Question, known: Remembered, remarks: list[str]
    ) -> tuple[_Page, list[rank.Hit]]:
        """What fits the words best, and with a search by meaning the meaning, too."""
        keyword = self._keyword_hits(ask, question)
        meaning: dict[int, rank.Closeness] = {}
        if ask.semantic:
            try:
                meaning = self._closeness(ask, question, keyword)
            except (ModelError, StateError) as error:
                remarks.append(f"keyword results only: {error}")
        ranking = rank.Ranking(keyword, meaning, ORD_BITS, known.copies)
        paths = partial(catalog_read.paths_of, self.catalog)
        blocks = rank.in_order(ranking.found, paths, ORD_BITS)
        more: dict[int, list[int]] = {}
        if ask.group == "note":
            blocks, more = rank.grouped(blocks, ask.limit, ORD_BITS)
        hits = [ranking.hit(block) for block in blocks[: ask.limit]]
        return _Page(known, self._wanted(question.query), more), hits

    def _newest(self, ask: Ask, question: Question) -> list[rank.Hit]:
        """With nothing to rank by, the newest notes that pass the filters."""
        notes = cache.newest_first(self.catalog, None if question.all_but else question.notes)
        if question.all_but:
            hidden = set(question.notes or ())
            notes = [note for note in notes if note not in hidden]
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
            enough = enough and not rank.is_cut_in_a_tie(found.values(), ask.limit)
            if enough or wanted == most or len(found) < wanted:
                return found
            wanted = min(most, 10 * wanted)

    def _closeness(
        self, ask: Ask, question: Question, keyword: dict[int, float]
    ) -> dict[int, rank.Closeness]:
        """Of the blocks that have the words, and of those nearest in meaning."""
        meaning = self.meaning()
        if not len(meaning.store) and self.keyword.block_count():
            raise ModelError("no block is embedded yet; run vaultmem sync")
        vector = meaning.embedder.query(question.text)
        query = question.query
        wanted = set(keyword)
        if query.words and not (query.must or query.excluded or query.groups):
            wanted |= self._nearest(ask, question)
        return meaning.closeness(self.catalog, vector, wanted)

    def _nearest(self, ask: Ask, question: Question) -> set[int]:
        """The blocks nearest in meaning; of what filters leave, the best however far they are, and more of them while
        one long note keeps the others out."""
        meaning, notes, count = self.meaning(), question.notes, CANDIDATES
        vector, some = meaning.embedder.query(question.text), None if notes is None else set(notes)
        while True:
            near = meaning.nearest(self.catalog, vector, count, some, all_but=question.all_but)
            if not (ask.filters or question.query.filters):
                return {block for block, cosine in near.items() if cosine >= rank.NEAR_ENOUGH}
            found = {block >> ORD_BITS for block in near} if ask.group == "note" else near
            if len(found) >= ask.limit or len(near) < count:
                return set(near)
            count *= 10

    def _results(self, page: _Page, hits: list[rank.Hit]) -> list[Result]:
        places = page.known.places([_pair(hit.block) for hit in hits])
        texts = self.texts.read(place.raw or place.path for place in places.values())
        page.ranges = page.known.ranges([pair for hit in hits for pair in page.others(hit)])
        return [
            self._result(page, hit, place, texts[place.raw or place.path])
            for hit in hits
            if (place := places.get(_pair(hit.block)))
        ]

    def _result(
        self, page: _Page, hit: rank.Hit, place: catalog_read.BlockPlace, text: str
    ) -> Result:
        content = cut_lines(text, place.line, place.end_line)
        if content.strip() == "---":  # the note has nothing but properties
            content = snippet.spelled(place.properties)
        shown = snippet.snippet(content, page.wanted, self.keyword.tokens)
        found = self._found(page, hit, place)
        return Result(
            path=place.path,
            title=place.title,
            line=place.line,
            end_line=place.end_line,
            headings=place.headings,
            label=place.label,
            day=place.day,
            category=place.category,
            uri=page.known.uri(place.dialect, place.path, place.title),
            properties=place.properties,
            confidence=found.confidence,
            score=found.score,
            similarity=found.similarity,
            parts=found.parts,
            content=content,
            snippet=shown.text,
            marks=shown.marks,
            more=[page.ranges[pair] for pair in page.others(hit) if pair in page.ranges],
            original=place.original,
        )

    def _found(self, page: _Page, hit: rank.Hit, place: catalog_read.BlockPlace) -> Found:
        similarity = hit.parts.get("meaning")
        aging = decay.aging(place.properties)
        return Found(
            place,
            page.known.confidence(aging, self._now()),
            round(hit.score, 4),
            None if similarity is None else round(similarity / rank.COSINE_WEIGHT, 4),
            {name: round(points, 4) for name, points in hit.parts.items()},
        )

    def uri(self, dialect: str, path: str, title: str) -> str:
        """The link that opens a note in its editor."""
        return self._known().uri(dialect, path, title)

    def _wanted(self, query: language.Query) -> set[str]:
        """The tokens worth marking: all that were asked for but stop words."""
        terms = [*query.words, *query.must, *(term for group in query.groups for term in group)]
        tokens = {token for term in terms for token in self.keyword.tokens(term.text)}
        return {token for token in tokens if rank.word_weight(token) == 1.0} or tokens


def _pair(block: int) -> Pair:
    return block >> ORD_BITS, block & ((1 << ORD_BITS) - 1)
