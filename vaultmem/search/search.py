"""Hybrid search: the hits of a query, by note, with place and reason. Numpy and the model load only when needed."""

from __future__ import annotations

from functools import partial

from vaultmem import now as clock
from vaultmem.config import Config
from vaultmem.errors import ModelError, StateError
from vaultmem.index import ORD_BITS, catalog_read, refuse_if_off
from vaultmem.index.catalog import Catalog, catalog_errors
from vaultmem.index.keyword import tokenize
from vaultmem.index.state import State
from vaultmem.memories import access, model
from vaultmem.search import cache, rank, snippet
from vaultmem.search import query as queries
from vaultmem.search.cache import CatalogCache
from vaultmem.search.keyword_search import KeywordSearcher, Question, Sized
from vaultmem.search.query import Answer, Ask, Hit, Query, Term, parse, parse_question, wanted_text
from vaultmem.search.snippet import NoteTexts, cut_lines
from vaultmem.text.values import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from vaultmem.adapter import DaySpan
    from vaultmem.index.catalog_read import BlockPlace
    from vaultmem.search.seats import Seating, Seats
    from vaultmem.search.semantic import Meaning

CANDIDATES = 200
MOST_TIED = 2_000  # tied blocks examined, as in a search by folder alone
LOOKS = 5  # retries if the index changes meanwhile
SHORT_WORD = 4  # letters of a stem
_Hits = list[tuple[int, Hit]]  # with their blocks


class _Blocks:
    """What a query finds before notes are read: blocks, best first, and values shared by all hits of the answer."""

    def __init__(
        self, cached: CatalogCache, words: set[str], corrected: dict[str, list[str]]
    ) -> None:
        self.known = cached
        self.words = words  # the content tokens
        self.forms = set(words)  # and their other forms, all to be marked
        self.corrected = corrected  # corrected spellings, by the words typed
        self.remarks: list[str] = []
        self.blocks: list[rank.Ranked] = []
        self.more: dict[int, list[int]] = {}  # other blocks, by note

    def others(self, block: int) -> list[int]:
        """Other blocks of the note of a block."""
        return self.more.get(block >> ORD_BITS, [])


class Searcher:
    """An index opened for searching. Safe beside a sync, in this process or another.

    It may stay open for days: cached values are refreshed when the index or a note has changed. One thread at a time
    may use it. If the generation in force is no longer `generation`, a new searcher is needed.
    """

    def __init__(self, folder: str, config: Config) -> None:
        self.folder = folder
        self.config = config
        self.state = State(folder)
        self.archive = f"{folder}/{config.text('memory_folder')}/archive"
        self.half_life = config.seconds("memories.half_life") / 3600
        self._meaning: Meaning | None = None
        self._cache: CatalogCache | None = None
        self._seating: Seating | None = None
        self.texts = NoteTexts(folder)
        generation = self.state.generation()
        if generation is None:
            raise StateError(f"{folder} has no index yet; run vaultmem sync --vault {folder}")
        self.generation = generation
        with catalog_errors():
            self.catalog = Catalog(f"{generation}/catalog.db")
        try:
            self.keyword = KeywordSearcher(f"{generation}/kw")
        except StateError:
            self.catalog.close()
            raise

    def close(self) -> None:
        """Close all files."""
        self.catalog.close()
        if self._meaning:
            self._meaning.close()

    def refresh(self) -> None:
        """Load later writes to this generation."""
        self.keyword.refresh()

    def meaning(self) -> Meaning:
        """The vectors, loaded on first use. Raises ModelError if there is no model."""
        if self._meaning is None:
            if not self.config.text("embedding.base_url"):
                refuse_if_off(self.config.text("embedding.model"))
            from vaultmem.search.semantic import open_meaning

            self._meaning = open_meaning(self.state, self.config)
        return self._meaning

    @catalog_errors()
    def search(self, ask: Ask, *, texts: bool = True) -> Answer:
        """Find blocks, optionally with their current texts. Never fails because of the text; remarks say what was
        done differently."""
        # A moved note is in the index before and after, and must not be missed between its words and its place:
        # if its old words are gone, the new ones may be in a commit that this searcher has not seen.
        for _ in range(LOOKS):
            result = self._blocks(ask)
            blocks = [ranked.block for ranked in result.blocks]
            places = catalog_read.block_places(self.catalog, blocks)
            is_behind = len(places) < len(blocks) or result.known.gone
            if not (is_behind and self._is_newer(result.known)):
                break
        now = clock.seconds()
        hits = [(ranked.block, self._hit(result.known, ranked, places[ranked.block], now))
                for ranked in result.blocks if ranked.block in places]  # fmt: skip
        if texts:
            hits = self._read(result, hits, ask.viewer)
        words, forms = frozenset(result.words), frozenset(result.forms)
        answer = Answer([hit for _, hit in hits], result.remarks, words, forms)
        answer.remarks += queries.misread_days(ask.text)
        for typed, near in result.corrected.items():
            searched = snippet.written(near, answer.results, tokenize)
            if ask.viewer.name and not searched:
                continue  # perhaps only hidden notes have it
            answer.remarks.append(f'no note has "{typed}"; searched {", ".join(searched or near)}')
        return answer

    @catalog_errors()
    def inside(self, folder: str) -> tuple[frozenset[int], bool]:
        """The notes below a folder; or all others and True, if these are fewer. For an Ask."""
        return self.cache().inside(folder)

    @catalog_errors()
    def near(self, ask: Ask) -> dict[str, float | None]:
        """The paths of the notes in the results, best first, with known cosines."""
        best = {ranked.block >> ORD_BITS: _cosine(ranked) for ranked in self._blocks(ask).blocks}
        paths = catalog_read.paths_of(self.catalog, best)
        return {paths[note]: cosine for note, cosine in best.items() if note in paths}

    def _is_newer(self, cached: CatalogCache) -> bool:
        try:
            return self.keyword.refresh() or self.catalog.version() != cached.version
        except StateError:  # it cannot be read now; keep the results
            return False

    def _blocks(self, ask: Ask) -> _Blocks:
        cached = self.cache()
        corrected: dict[str, list[str]] = {}
        days: Sequence[DaySpan] = ()
        if ask.is_quick:
            query = parse(ask.text)
        else:
            query, days = parse_question(ask.text)
            query = self._correct_spelling(query, corrected)
        question = self._question(ask, query, cached)
        if query.words or query.must or query.groups:
            result = _Blocks(cached, self._content_words(query, bool(days)), corrected)
            for word in query.words:
                result.forms |= self.keyword.vocabulary.inflected(word.text).keys()
            result.forms.difference_update(*(tokenize(span.words) for span in days))
            # A question that only names days is not near to anything in meaning.
            self._best(ask if result.forms else ask.but(semantic=False), question, result)
        else:
            result = _Blocks(cached, set(), corrected)
            result.blocks = self._newest(ask, question)
        return result

    def hidden_from(self, viewer: access.Viewer) -> dict[str, str]:
        """The paths of notes that a viewer may not see, with the reasons."""
        return dict(self.cache().hidden_from(viewer).values() if viewer.name else ())

    def hidden_now(self, path: str, text: str, viewer: access.Viewer) -> str:
        """Why a viewer may not see a note with this text, which may be newer than the index; "" if it may."""
        is_memory = path.startswith(f"{self.config.text('memory_folder')}/")
        return access.hidden_now(text, viewer, memory=is_memory)

    def cache(self) -> CatalogCache:
        """The cache for the present state of the catalog."""
        version = self.catalog.version()
        if self._cache is None or self._cache.version != version:
            memory_folder = self.config.text("memory_folder")
            self._cache = CatalogCache(self.catalog, version, self.folder, memory_folder)
            self._cache.half_life = self.half_life
        return self._cache

    def _question(self, ask: Ask, query: Query, cached: CatalogCache) -> Question:
        notes = cached.notes_that_fit([*query.filters, *ask.filters])
        least = ask.min_confidence
        if least is None:
            least = self.config.share("memories.min_confidence")
        hidden: list[Iterable[int]] = [cached.gone]
        if ask.notes is None and not ask.compressed:
            hidden.append(cached.summed_up)
        fields = {filter_.field for filter_ in (*query.filters, *ask.filters)}
        with_turns = ask.talks or not fields.isdisjoint(("path", "scope"))
        if ask.notes is None and not with_turns:
            hidden.append(cached.turn_notes)
        if ask.viewer.name:
            hidden.append(cached.hidden_from(ask.viewer))
        if ask.notes is not None and ask.all_but:
            hidden.append(ask.notes)
        elif ask.notes is not None:
            notes = set(ask.notes) if notes is None else notes & ask.notes
        left_out = cached.faded(least, clock.seconds()).union(*hidden)
        text = ask.meaning or wanted_text(ask.text, query)
        if notes is None:
            return Question(text, query, left_out or None, all_but=bool(left_out))
        return Question(text, query, notes - left_out)

    def _correct_spelling(self, query: Query, corrected: dict[str, list[str]]) -> Query:
        """Replace words that no note has by the nearest spelling that one has."""
        unknown = self.keyword.unknown_words(query)
        if not unknown:
            return query
        words = list(query.words)
        strong = sum(not self.keyword.is_weak(word) for word in words)
        nothing_else = len(unknown) == strong and not (query.must or query.groups)
        typed = {token: word.text for word in query.words for token in tokenize(word.text)}
        for word in unknown:
            if not nothing_else and (len(word) <= SHORT_WORD or 2 * len(unknown) < strong):
                continue  # the rest of the query finds enough, and similar is not the same
            if near := self.keyword.vocabulary.corrected(word):
                words += [Term("word", spelling) for spelling in near]
                corrected[typed[word]] = near
        return Query(words, query.must, query.excluded, query.groups, query.filters)

    def _best(self, ask: Ask, question: Question, result: _Blocks) -> None:
        """Rank by words and, in a search by meaning, also by cosines."""
        keyword, sizes = self._keyword_hits(ask, question)
        seats = self._seats(question, result.known)
        around = seats.around(keyword) if seats else {}
        meaning: dict[int, rank.Closeness] = {}
        if ask.semantic:
            try:
                meaning = self._closeness(ask, question, keyword, around, seats)
            except (ModelError, StateError) as error:
                result.remarks.append(f"keyword results only: {error}")
        if others := (meaning.keys() | around.keys()) - sizes.keys():
            sizes |= catalog_read.block_sizes(self.catalog, others)
        knows = bool(meaning) and self.meaning().knows(question.text)
        share = rank.words_share(result.words) if knows else 1.0
        targets = partial(catalog_read.targets, self.catalog)
        links = None if rank.is_lookup(result.words) else targets
        facts = rank.Facts(result.known.behind, sizes, around, share, links)
        ranking = rank.Ranking(keyword, meaning, facts)
        paths = partial(catalog_read.paths_of, self.catalog)
        blocks = rank.in_order(ranking.scored, paths, ask.limit)
        if ask.group == "note":
            blocks, result.more = _group_by_note(blocks, ask.limit)
        result.blocks = [ranking.ranked(block) for block in blocks[: ask.limit]]

    def _seats(self, question: Question, cached: CatalogCache) -> Seats | None:
        notes, turns = question.notes, cached.turn_notes
        if notes is not None:
            turns = turns.difference(notes) if question.all_but else turns.intersection(notes)
        if not turns:
            return None
        if self._seating is None:
            from vaultmem.search.seats import Seating  # few vaults have conversations

            self._seating = Seating(self.catalog, self.config.text("memory_folder"))
        return cached.once("seats", self._seating.now)

    def _newest(self, ask: Ask, question: Question) -> list[rank.Ranked]:
        """Without anything to rank by, the newest notes that pass the filters."""
        notes = cache.newest_first(self.catalog, None if question.all_but else question.notes)
        if question.all_but:
            hidden = set(question.notes or ())
            notes = [note for note in notes if note not in hidden]
        if question.query.excluded:
            scores = self.keyword.search(question, self.keyword.block_count() or 1)
            left = {block >> ORD_BITS for block in scores}
            notes = [note for note in notes if note in left]
        return [rank.Ranked(note << ORD_BITS, 0.0, {"newest": 0.0}) for note in notes[: ask.limit]]

    def _keyword_hits(self, ask: Ask, question: Question) -> Sized:
        """The best blocks; more of them if one long note crowds out the others, or if there are ties."""
        most = max(1, self.keyword.block_count())
        count = min(most, _candidates(ask))
        while True:
            scores, sizes = self.keyword.sized(question, count)
            notes = {block >> ORD_BITS for block in scores}
            enough = ask.group != "note" or len(notes) >= ask.limit
            is_fair = count >= MOST_TIED or not rank.is_cut_in_a_tie(scores.values(), ask.limit)
            if (enough and is_fair) or count == most or len(scores) < count:
                return scores, sizes
            count = min(most, 10 * count)

    def _closeness(self, ask: Ask, question: Question, keyword: dict[int, float], around: dict[int, float],
                   seats: Seats | None) -> dict[int, rank.Closeness]:  # fmt: skip
        """The closeness of matching blocks, and of those nearest in meaning."""
        meaning = self.meaning()
        if not meaning.count() and self.keyword.block_count():
            raise ModelError(
                "no block is embedded yet; the agent does that in the background, vaultmem sync at once"
            )
        meaning.load()
        if not ask.is_quick:
            from vaultmem.search.model_vectors import embed_best  # already loaded with the vectors

            embed_best(meaning, self.catalog, keyword)
        query = question.query
        compared = {*keyword, *around}
        if query.words and not (query.must or query.excluded or query.groups):
            compared |= self._nearest(ask, question)
        return meaning.close_to(self.catalog, question.text, compared, seats)

    def _nearest(self, ask: Ask, question: Question) -> set[int]:
        """The blocks nearest in meaning. With filters, the best however far; more of them if one long note crowds out
        the others."""
        meaning, notes, count = self.meaning(), question.notes, _candidates(ask)
        some = None if notes is None else set(notes)
        while True:
            near = meaning.blocks_near(
                self.catalog, question.text, count, some, all_but=question.all_but
            )
            if not (ask.filters or question.query.filters):
                return {block for block, cosine in near.items() if cosine >= rank.NEAR_ENOUGH}
            places = {block >> ORD_BITS for block in near} if ask.group == "note" else near
            if len(places) >= ask.limit or len(near) < count:
                return set(near)
            count *= 10

    def _hit(self, cached: CatalogCache, ranked: rank.Ranked, place: BlockPlace, now: float) -> Hit:
        return Hit(
            place.path, place.raw, place.title, place.line, place.end_line, place.headings, place.label, place.day,
            place.category, place.properties, place.original,
            cached.confidence(model.aging(place.properties), now),
            round(ranked.score, 4),
            _cosine(ranked),
            {name: round(points, 4) for name, points in ranked.parts.items()},
            cached.uri(place.dialect, place.path, place.title),
        )  # fmt: skip

    def _read(self, result: _Blocks, hits: _Hits, viewer: access.Viewer) -> _Hits:
        """The hits with their texts, as the viewer may see them."""
        texts = self.texts.read(hit.raw or hit.path for _, hit in hits)
        hits = [
            (block, hit) for block, hit in hits
            if not self.hidden_now(hit.path, texts[hit.raw or hit.path], viewer)
        ]  # fmt: skip
        others = [other for block, _ in hits for other in result.others(block)]
        ranges = catalog_read.line_ranges(self.catalog, others)
        marker = snippet.Marker(result.forms, tokenize)
        for block, hit in hits:
            text = texts[hit.raw or hit.path]
            content = cut_lines(text, hit.line, hit.end_line)
            content = self.with_references(content, viewer)
            front = hit.properties if snippet.is_front(text, hit.line) else {}
            cut = marker.snippet(snippet.readable(content, front))
            hit.content, hit.snippet, hit.marks = content, cut.text, cut.marks
            hit.headings = [self.with_references(heading, viewer) for heading in hit.headings]
            hit.more = [ranges[other] for other in result.others(block) if other in ranges]
        return hits

    def with_references(self, text: str, viewer: access.Viewer) -> str:
        """The text with the blocks that it refers to, as far as the viewer may see them."""
        if "((" not in text:
            return text
        return snippet.with_referenced_texts(self, text, viewer)

    def _content_words(self, query: Query, has_days: bool) -> set[str]:
        """The content tokens of the query; all tokens if it has neither these nor days."""
        texts = [term.text for term in query.sought()]
        words = {word for text in texts for word in self.keyword.vocabulary.content_words(text)}
        is_all = not words and not has_days
        return {token for text in texts for token in tokenize(text)} if is_all else words


def _candidates(ask: Ask) -> int:
    """How many blocks to rank, by words and as many by meaning."""
    return 2 * ask.limit if ask.is_quick else max(CANDIDATES, 4 * ask.limit)


def _cosine(ranked: rank.Ranked) -> float | None:
    points = ranked.parts.get("meaning")
    return None if points is None else round(points / rank.COSINE_WEIGHT, 4)


def _group_by_note(blocks: Iterable[int], limit: int) -> tuple[list[int], dict[int, list[int]]]:
    """The best block of each of the first `limit` notes, and up to three more blocks of each note."""
    best: dict[int, int] = {}
    more: dict[int, list[int]] = {}
    for block in blocks:
        note = block >> ORD_BITS
        if note not in best:
            if len(best) < limit:
                best[note] = block
        elif len(more.setdefault(note, [])) < 3:
            more[note].append(block)
    return list(best.values()), more
