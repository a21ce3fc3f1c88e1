"""Searches the keyword index: a parsed query becomes Tantivy queries, without Tantivy's own parser."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from itertools import pairwise

import tantivy  # the second half of keyword.py, which owns it

from vaultmem import now as clock
from vaultmem.index import ORD_BITS
from vaultmem.index.keyword import folded, keyword_errors, normal, open_to_read, tokenize
from vaultmem.plugins import language
from vaultmem.search import rank
from vaultmem.search.query import Query, Term
from vaultmem.search.rank import is_character
from vaultmem.search.vocabulary import Vocabulary
from vaultmem.text.values import TYPE_CHECKING, value

if TYPE_CHECKING:
    from typing import Any

    from vaultmem.adapter import DaySpan

MAX_PREFIX_TERMS = 50
EVERYWHERE = 0.5  # stop words in more than this share of all blocks do not count beside others
MOST = 8  # if the index has fewer blocks for each note searched, these are most of the notes
_PHRASE_FIELDS = ("body", "title", "heading")
_MAIN_FIELDS = ("body", "title")
_SUFFIXES = ("", "e", "s", "ed", "ing", "er", "al", "y", "ation", "ations", "ment", "able", "ity")
# Blocks, best first: score and size of each.
Sized = tuple[dict[int, float], dict[int, int]]
_T = tantivy.Query
_MUST, _SHOULD, _NOT = tantivy.Occur.Must, tantivy.Occur.Should, tantivy.Occur.MustNot


@value
class Question:
    """A query, its text as a person would ask it, and the notes searched (or `all_but` them)."""

    text: str
    query: Query
    notes: Collection[int] | None
    all_but: bool = False


class KeywordSearcher:
    """Reads one state of the index. Cheap to open; safe beside a writer in another process."""

    @keyword_errors()
    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._commit = self._last_commit()
        self._index, self._searcher, self._is_live = open_to_read(folder)
        self._schema = self._index.schema
        self.vocabulary = Vocabulary(self._searcher)
        self._times: list[tantivy.Query] | None = None  # that find any block with days

    @keyword_errors()
    def refresh(self) -> bool:
        """Load later commits. Returns whether there were any."""
        commit = self._last_commit()
        if commit == self._commit or not self._is_live:
            return False
        self._index.reload()
        self._searcher = self._index.searcher()
        self.vocabulary = Vocabulary(self._searcher)
        self._times = None
        self._commit = commit
        return True

    def _last_commit(self) -> bytes:
        """The list of the index's segments, which every commit replaces."""
        with open(f"{self._folder}/meta.json", "rb") as file:
            return file.read()

    def block_count(self) -> int:
        """How many blocks are indexed."""
        return self.vocabulary.blocks

    def terms(self, text: str) -> list[str]:
        """The words of a text as searched: stems, and pairs of CJK characters."""
        results = []
        for unit in _units(tokenize(text)):
            results += ["".join(pair) for pair in pairwise(unit)] if len(unit) > 1 else unit
        return results

    def frequency(self, term: str) -> int:
        """The number of blocks with a term (of a CJK pair: with its rarer character)."""
        parts = list(term) if len(term) == 2 and is_character(term[0]) else [term]
        return min(self.vocabulary.count("body", part) for part in parts)

    def search(self, question: Question, limit: int) -> dict[int, float]:
        """The best blocks: block number -> score."""
        return self.sized(question, limit)[0]

    def sized(self, question: Question, limit: int) -> Sized:
        """The best blocks, with scores and sizes. Stop words only add points to blocks found otherwise, unless these
        are too few: examining all blocks with stop words takes most of the time in a large vault."""
        strong, weak = self._by_weight(question.query.words)
        result = self._best(question, limit, strong, weak)
        if weak and len(result[0]) < limit:
            result = self._best(question, limit, strong + weak)
        return result

    def _best(
        self, question: Question, limit: int, strong: list[Term], weak: Sequence[Term] = ()
    ) -> Sized:
        """The best blocks of the notes searched. The engine needs longer to tell a thousand notes apart than for all
        else. If most notes are searched, it does that only if too few of the best blocks are theirs."""
        notes, all_but = question.notes, question.all_but
        if notes and (all_but or len(notes) > self.block_count() // MOST):
            everywhere = Question(question.text, question.query, None)
            query = self._whole(everywhere, rank.FIELDS, strong, weak)
            for count in (limit + limit // 4, 3 * limit):
                scores, sizes = self._run(query, count)
                best = [block for block in scores if (block >> ORD_BITS in notes) is not all_but]
                if len(best) >= limit or len(scores) < count:
                    return {block: scores[block] for block in best[:limit]}, sizes
        return self._run(self._whole(question, rank.FIELDS, strong, weak), limit)

    def parts(self, question: Question, note: int) -> dict[str, dict[int, float]]:
        """For one note, the points of its blocks by field: {field: {block: points}}."""
        only = Question(question.text, question.query, [note])
        strong, weak = self._by_weight(question.query.words)
        parts = {}
        for field in rank.FIELDS:
            query = self._whole(only, (field,), strong + weak, extras=False)
            parts[field] = {b: s for b, s in self._run(query, 1000)[0].items() if s > 0}
        clauses = self._day_clauses(question.text) + self._when_clause(question.text)
        for name, queries in (("date", clauses), ("phrase", self._adjacent(question.query))):
            scores, _ = self._run(self._filter([(_SHOULD, q) for q in queries], only), 1000)
            parts[name] = {b: s for b, s in scores.items() if s > 0}
        return parts

    @keyword_errors()
    def _run(self, query: tantivy.Query, limit: int) -> Sized:
        hits = self._searcher.search(query, limit, count=False).hits
        if not hits:
            return {}, {}
        scores, places = zip(*hits, strict=True)
        column: Any = self._searcher.fast_field_values  # present in every block
        blocks, sizes = column("block", places), column("size", places)
        return dict(zip(blocks, scores, strict=True)), dict(zip(blocks, sizes, strict=True))

    def _whole(
        self,
        question: Question,
        fields: Collection[str],
        strong: list[Term],
        weak: Sequence[Term] = (),
        extras: bool = True,
    ) -> tantivy.Query:
        query = question.query
        content = [term for term in (*strong, *query.must) if not self.is_weak(term)]
        label = {"label"}.intersection(fields) if len(content) == 1 and not query.groups else set()
        others = [field for field in fields if field not in label]
        clauses = [(_SHOULD, q) for term in strong for q in self._term(term, others)]
        spoken = [q for term in strong for q in self._term(term, label)]
        clauses += [(_SHOULD, _T.boost_query(q, rank.NAME_ALONE)) for q in spoken]
        required = [[term] for term in query.must] + query.groups
        for group in required:
            either = [q for term in group for q in self._term(term, fields, strict=extras)]
            clauses.append((_MUST if extras else _SHOULD, self._any(either)))
        if extras and (query.words or required):
            clauses += [(_SHOULD, q) for q in self._adjacent(query)]
            clauses = self._with_dates(question.text, clauses, bool(required))
        clauses += [(_SHOULD, q) for term in weak for q in self._term(term, fields)]
        unwanted = [self._term(term, _PHRASE_FIELDS, strict=True) for term in query.excluded]
        clauses += [(_NOT, self._any(queries)) for queries in unwanted]
        return self._filter(clauses, question)

    def _adjacent(self, query: Query) -> list[tantivy.Query]:
        """The query for blocks that have all words side by side as typed: the one below a heading, foo-bar, v1.2."""
        tokens = [token for word in query.words for token in tokenize(word.text)]
        are_plain = all(word.kind == "word" for word in query.words)
        if not are_plain or len(tokens) < 2 or rank.length(tokens) > rank.LONGEST_ADJACENT:
            return []
        phrases = [_T.phrase_query(self._schema, field, [*tokens]) for field in _MAIN_FIELDS]
        counts = {token: self.vocabulary.count("body", token) for token in tokens}
        points = rank.adjacent_points(counts, self.vocabulary.blocks)
        return [_T.const_score_query(self._any(phrases), points)]

    def is_weak(self, term: Term) -> bool:
        """Whether a term consists of stop words only."""
        return rank.STOP_WORDS.issuperset(tokenize(term.text))

    def _by_weight(self, words: list[Term]) -> tuple[list[Term], list[Term]]:
        """Content words and stop words that count. Those in most blocks tell blocks apart by a tenth of a point, and
        would take half of the engine's time. In a query of only stop words, these count as content words."""
        weak = [word for word in words if self.is_weak(word)]
        if len(weak) == len(words):
            return words, []
        most = EVERYWHERE * self.vocabulary.blocks
        rare = [
            word
            for word in weak
            if any(self.vocabulary.count("body", token) <= most for token in tokenize(word.text))
        ]
        return [word for word in words if word not in weak], rare

    def _with_dates(
        self, text: str, clauses: list[tuple[tantivy.Occur, tantivy.Query]], required: bool
    ) -> list[tuple[tantivy.Occur, tantivy.Query]]:
        """Dates add points. A named day matches by itself; "when" alone matches nothing."""
        if not required:
            clauses = [(_MUST, self._any([q for _, q in clauses] + self._day_clauses(text)))]
        elif day_clauses := self._day_clauses(text):
            clauses += [(_SHOULD, q) for q in day_clauses]
        return clauses + [(_SHOULD, q) for q in self._when_clause(text)]

    def _day_clauses(self, text: str) -> list[tantivy.Query]:
        results = []
        for span in language().days(text, clock.seconds()):
            field, kind = "day" if span.has_year else "monthday", tantivy.FieldType.Unsigned
            inside = _T.range_query(self._schema, field, kind, span.first, span.last)
            results.append(_T.const_score_query(inside, rank.DATE_WEIGHTS[span.is_short]))
            results += self._naming(span)
        return results

    def _naming(self, span: DaySpan) -> list[tantivy.Query]:
        """The query for text that names one of a few days: 2026-12-04, 4 December, Dec 4th, 12月4日."""
        names, months = language().time_words().months, defaultdict[int, list[str]](list)
        for number in span.each() if names else ():
            months[number // 100].append(f"{number % 100}")
        forms = []
        for number, days in months.items():
            year, month, name = number // 100, f"0?{number % 100}", names[number % 100 - 1]
            day, name = f"0?({'|'.join(days)})(st|nd|rd|th|t[0-9]+)?", "|".join(tokenize(name))
            forms += [
                [str(year or "[12][0-9]{3}"), month, day],
                [day, name],
                [name, day],
                [month, "月", day],
            ]
        phrases = [_T.regex_phrase_query(self._schema, "body", [*form]) for form in forms]
        return [_T.const_score_query(self._any(phrases), rank.NAMED_WEIGHT)] if phrases else []

    def _when_clause(self, text: str) -> list[tantivy.Query]:
        if not language().asks_when(text):
            return []
        if self._times is None:
            # Most of these match nothing in most vaults, and would take most of the time of each search.
            self._times = [query for query in self._time_queries() if self._run(query, 1)[0]]
        return [_T.const_score_query(self._any(self._times), rank.WHEN_WEIGHT)]

    def _time_queries(self) -> list[tantivy.Query]:
        times, body = language().time_words(), (self._schema, "body")
        alone = [*tokenize(times.words), *(only for only, *more in times.patterns if not more)]
        phrases = [pattern for pattern in times.patterns if pattern[1:]]
        return [
            _T.regex_query(*body, "|".join(alone)),
            *(_T.regex_phrase_query(*body, list(phrase)) for phrase in phrases),
        ]

    def _filter(
        self, clauses: list[tuple[tantivy.Occur, tantivy.Query]], question: Question
    ) -> tantivy.Query:
        positive = any(occur != _NOT for occur, _ in clauses)
        if not positive:
            clauses = [*clauses, (_MUST, _T.const_score_query(_T.all_query(), 0.0))]
        elif not any(occur == _MUST for occur, _ in clauses):
            scored = [(o, q) for o, q in clauses if o == _SHOULD]
            clauses = [(o, q) for o, q in clauses if o != _SHOULD] + [
                (_MUST, _T.boolean_query(scored))
            ]
        if question.notes is not None:
            inside = _T.term_set_query(self._schema, "note", list(question.notes))
            if question.all_but:
                clauses.append((_NOT, inside))
            else:
                clauses.append((_MUST, _T.const_score_query(inside, 0.0)))
        return _T.boolean_query(clauses)

    def _any(self, queries: list[tantivy.Query]) -> tantivy.Query:
        return _T.boolean_query([(_SHOULD, q) for q in queries]) if queries else _T.empty_query()

    def _term(
        self, term: Term, fields: Collection[str], strict: bool = False
    ) -> list[tantivy.Query]:
        """Alternative queries for this term. `strict`: its words must be adjacent."""
        tokens = tokenize(term.text)
        if term.kind == "prefix":
            return self._prefix(term.text, fields)
        if term.kind == "phrase" or (strict and len(tokens) > 1):
            return self._phrase(tokens, fields)
        queries: list[tantivy.Query] = []
        for unit in _units(tokens):
            queries += self._han(unit, fields) if len(unit) > 1 else self._word(unit[0], fields)
        for form, share in self.vocabulary.inflected(term.text).items():
            queries += [_T.boost_query(query, share) for query in self._word(form, fields)]
        return queries

    def _word(self, token: str, fields: Collection[str]) -> list[tantivy.Query]:
        """BM25 for fields whose length and repetition are informative, presence for others."""
        weight = rank.word_weight(token)
        counts = {field: self.vocabulary.count(field, token) for field in ("body", *fields)}
        frequent = weight < 1.0 or counts["body"] > rank.FREQUENT * self.vocabulary.blocks
        queries = []
        for field in fields:
            if not counts[field]:
                continue
            query = _T.term_query(self._schema, field, token, "freq")
            bm25, presence = rank.field_weights(field, frequent)
            if bm25:
                queries.append(_T.boost_query(query, weight * bm25))
            if presence:
                # Rarity is measured in the body, which nearly all blocks have.
                count = counts["label" if field == "label" else "body"]
                points = weight * presence * rank.rarity(count, self.vocabulary.blocks)
                queries.append(_T.const_score_query(query, points))
        return queries

    def _by_bm25(self, field: str, tokens: Sequence[str], weight: float) -> tantivy.Query:
        """Adjacent tokens in a field, or a single one."""
        query = (
            _T.phrase_query(self._schema, field, list(tokens))
            if len(tokens) > 1
            else _T.term_query(self._schema, field, tokens[0], "freq")
        )
        return _T.boost_query(query, weight)

    def _han(self, run: list[str], fields: Collection[str]) -> list[tantivy.Query]:
        queries = [
            self._by_bm25(field, pair, rank.PHRASE_WEIGHTS[field] * rank.pair_weight("".join(pair)))
            for pair in pairwise(run)
            for field in fields
        ]
        queries += [
            self._by_bm25(field, character, rank.character_weight(character))
            for character in run
            for field in _MAIN_FIELDS
            if field in fields
        ]
        return queries

    def _phrase(self, tokens: Sequence[str], fields: Collection[str]) -> list[tantivy.Query]:
        return [
            self._by_bm25(field, tokens, rank.PHRASE_WEIGHTS[field])
            for field in _PHRASE_FIELDS
            if tokens and field in fields
        ]

    def _prefix(self, text: str, fields: Collection[str]) -> list[tantivy.Query]:
        tokens = tokenize(text)
        if not tokens:
            return []
        if is_character(tokens[-1]):
            return self._term(Term("word", text), fields)
        written = folded(normal(text))
        stems = {t for suffix in _SUFFIXES for t in tokenize(written + suffix)[-1:]}
        queries: list[tantivy.Query] = []
        for field in _PHRASE_FIELDS:
            if field in fields:
                completions = self.vocabulary.starting(field, written, limit=MAX_PREFIX_TERMS)
                weight, count = rank.PHRASE_WEIGHTS[field], self.vocabulary.count
                there = [name for name in sorted(completions.keys() | stems) if count(field, name)]
                queries += [self._by_bm25(field, [name], weight) for name in there]
        return queries

    def unknown_words(self, query: Query) -> list[str]:
        """The (stemmed) words that no block has, probably misspelt."""
        fields = ("body", "title", "heading", "label", "tag", "path")
        tokens = [
            token
            for term in query.words
            if term.kind == "word" and not self.vocabulary.inflected(term.text)
            for token in tokenize(term.text)
        ]
        return [t for t in tokens if not any(self.vocabulary.count(f, t) for f in fields)]


def _units(tokens: Sequence[str]) -> list[list[str]]:
    """Runs of CJK characters together, every other token alone."""
    units: list[list[str]] = []
    for token in tokens:
        if units and is_character(token) and is_character(units[-1][-1]):
            units[-1].append(token)
        else:
            units.append([token])
    return units
