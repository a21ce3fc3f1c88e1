"""Which newer memories probably speak of the same as older ones, whatever the subject.

One small model: a newer memory that signals a change, resembles the older one clearly more than others before it, and
has rare words in common with it. `benchmarks/newer.py` fits the weights, see docs/adr/0020.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from operator import mul

from vaultmem.index.catalog import NOTES_BELOW, below
from vaultmem.light import TYPE_CHECKING, NamedTuple
from vaultmem.notes.places import ENTRIES
from vaultmem.recall.recall_candidate import Candidate, by_words
from vaultmem.text.times import seconds

if TYPE_CHECKING:
    from vaultmem.index.catalog import Catalog
    from vaultmem.search.model_vectors import ModelVectors, Vectors
    from vaultmem.search.search import Searcher

BEST = 12  # memories of an answer for which newer ones are looked for
ROUNDS = 4  # newer ones may have newer ones, too
NEIGHBOURS = 6  # newer memories compared with each
OTHERS = 3  # memories before the newer one that resemble it most
# Log odds. Above the first, two of three pairs are right in a story that the weights do not come from.
LIKELY, SUSPECTED = -1.5, -3.0
MOST = 4_000  # memories, the newest
AMONG = 60  # memories compared by words
_FEW = 8  # memories: among fewer, a word is no more common
_DAY = 86_400.0
_MEMORIES = f"""SELECT f.path, json_extract(n.properties, '$.created_at') AS created,
    (SELECT hash FROM blocks WHERE note = n.id AND ordinal = 0) AS block {NOTES_BELOW} AND block IS NOT NULL
    AND json_extract(n.properties, '$.id') IS NOT NULL AND json_extract(n.properties, '$.remind') IS NULL
    AND NOT (f.path >= ? AND f.path < ?) ORDER BY created DESC LIMIT ?"""  # noqa: S608 - own text

Newer = Mapping[str, Sequence[Candidate]]  # by the key of the older memory, newest first


class Signs(NamedTuple):
    """What tells that two memories speak of the same, for one pair, or the log odds of each."""

    margin: float  # by how much more similar the two are than the newer one and others before it
    rare: float  # words in common
    change: float  # the newer one signals a change
    denial: float  # one of the two denies something
    same_day: float


class Model(NamedTuple):
    """The model for one kind of similarity."""

    unrelated: float  # the similarity of what has nothing in common
    bias: float
    weights: Signs


BY_MEANING = Model(0.3, -5.7, Signs(12.7, 1.2, 2.2, 0.8, -5.2))
BY_WORDS = Model(0.1, -6.8, Signs(9.8, 2.7, 1.8, 0.7, -5.1))


class Pair(NamedTuple):
    """The keys of an older and a newer memory, and the margin of their similarity."""

    old: str
    new: str
    margin: float


def by_meaning(
    searcher: Searcher,
    folder: str,
    best: Sequence[Candidate],
    read: Callable[[Iterable[str]], Iterable[Candidate]],
) -> Newer:
    """What is newer about the same as the best of these memories, in the whole memory folder, by meaning; `read` reads
    those that may be recalled."""
    model = searcher.meaning()
    timeline = searcher.cache().once(
        ("timeline", model.count()), lambda: Timeline(model, searcher.catalog, folder)
    )
    memories = {old.key: old for old in best[:BEST]}
    answers = {item.key for item in best}
    pairs: list[Pair] = []
    newer: Newer = {}
    fresh, compared, known = [*memories], {*memories}, {*memories}
    for _ in range(ROUNDS):
        more = [*timeline.pairs(fresh)]
        pairs += more
        unread = {pair.new: None for pair in more if pair.new not in known}
        known.update(unread)
        memories |= {item.key: item for item in read(unread) if item.states}
        newer = likely(pairs, memories, BY_MEANING, answers)
        fresh = [item.key for news in newer.values() for item in news if item.key not in compared]
        compared.update(fresh)
        if not fresh:
            break
    return newer


class Timeline:
    """The vectors of the memories of a vault, oldest first."""

    def __init__(self, model: ModelVectors, catalog: Catalog, folder: str) -> None:
        spans = *below(folder), *below(f"{folder}/{ENTRIES}")
        rows = catalog.db.execute(_MEMORIES, (*spans, MOST)).fetchall()
        rows.sort(key=lambda row: seconds(row[1]) or 0.0)
        places, self._vectors = model.vectors_of({n: bytes(row[2]) for n, row in enumerate(rows)})
        self._paths = [str(rows[place][0]) for place in places]
        self._numbers = {path: number for number, path in enumerate(self._paths)}
        self._model = model

    def pairs(self, paths: Iterable[str]) -> Iterator[Pair]:
        """Each of these memories with the newer ones that resemble it most."""
        olds = [self._numbers[path] for path in paths if path in self._numbers]
        after: dict[int, list[int]] = {}
        for old, row in zip(olds, self._cosines(olds), strict=True):
            for place in row[old + 1 :].argsort()[: -NEIGHBOURS - 1 : -1].tolist():
                after.setdefault(old + 1 + place, []).append(old)
        for (new, before), row in zip(after.items(), self._cosines([*after]), strict=True):
            cosines = row[:new].copy()
            cosines.partition(max(0, new - OTHERS - 1))
            nearest = sorted(cosines[-OTHERS - 1 :].tolist(), reverse=True)
            for old in before:
                margin = _margin(float(row[old]), nearest, BY_MEANING.unrelated)
                yield Pair(self._paths[old], self._paths[new], margin)

    def _cosines(self, numbers: Sequence[int]) -> Vectors:
        return self._model.comparable(self._vectors[numbers] @ self._vectors.T)


def among(best: Iterable[Candidate], others: Iterable[Candidate]) -> Newer:
    """What is newer about the same as the best answers, among these and other memories, by their words."""
    answers = {item.key: item for item in best}
    some = {**answers, **{item.key: item for item in others}}
    ordered = sorted([*some.values()][:AMONG], key=lambda item: item.created)
    return likely(all_pairs(ordered, by_words(ordered), BY_WORDS), some, BY_WORDS, answers)


def all_pairs(
    ordered: Sequence[Candidate], similar: Sequence[Sequence[float]], model: Model
) -> Iterator[Pair]:
    """All pairs of memories, oldest first."""
    for new, row in enumerate(similar):
        nearest = sorted(row[:new], reverse=True)[: OTHERS + 1]
        for old, similarity in zip(ordered[:new], row[:new], strict=True):
            yield Pair(old.key, ordered[new].key, _margin(similarity, nearest, model.unrelated))


def _margin(similarity: float, nearest: Sequence[float], unrelated: float) -> float:
    """How much more similar the two are than others on average; theirs may be one of the nearest."""
    others = [*nearest]
    if similarity in others:
        others.remove(similarity)
    return similarity - sum([*others, *(OTHERS * [unrelated])][:OTHERS]) / OTHERS


def likely(
    pairs: Iterable[Pair], memories: Mapping[str, Candidate], model: Model, answers: Container[str]
) -> Newer:
    """The pairs of these memories that probably speak of the same. A suspicion is enough for the `answers`, which only
    change places."""
    results: dict[str, list[tuple[float, Candidate]]] = {}
    for pair, own in signs(pairs, memories):
        old, new = memories[pair.old], memories[pair.new]
        odds = model.bias + math.fsum(map(mul, model.weights, own))
        least = SUSPECTED if pair.new in answers else LIKELY
        if odds > least and old.scope == new.scope:
            results.setdefault(pair.old, []).append((odds, new))
    return {key: _newest(news) for key, news in results.items()}


def signs(pairs: Iterable[Pair], memories: Mapping[str, Candidate]) -> Iterator[tuple[Pair, Signs]]:
    """The pairs of short memories with their signs."""
    from vaultmem.dreams.short_texts import CAP, plain, read

    texts = {key: item.content for key, item in memories.items() if len(item.content) <= CAP}
    readings = {key: read(plain(text)) for key, text in texts.items()}
    counts = Counter(stem for reading in readings.values() for stem in reading.stems)
    total = math.log(max(_FEW, len(readings)))
    for pair in pairs:
        if not {pair.old, pair.new} <= readings.keys():
            continue
        before, after = readings[pair.old], readings[pair.new]
        rare = sum(1 - math.log(counts[stem]) / total for stem in before.stems & after.stems)
        apart = memories[pair.new].created - memories[pair.old].created
        is_denial = before.denied != after.denied
        yield pair, Signs(pair.margin, rare, after.cue, is_denial, apart < _DAY / 2)


def _newest(news: Sequence[tuple[float, Candidate]]) -> list[Candidate]:
    """Those that are likely, or else the most suspected one, newest first."""
    best = max(odds for odds, _ in news)
    chosen = [item for odds, item in news if odds > LIKELY or odds == best]
    return sorted(chosen, key=lambda item: -item.created)


def newest_first(ranked: Iterable[Candidate], newer: Newer) -> list[Candidate]:
    """The ranked candidates, each right after what is newer about the same, even if that is not among them."""
    there = {item.key: item for item in ranked}
    results: list[Candidate] = []
    done: set[str] = set()

    def add(item: Candidate) -> None:
        if item.key in done:
            return
        done.add(item.key)
        news = newer.get(item.key, ())
        for new in news:
            add(there.get(new.key) or new.scored(item.score))
        keys = {new.key for new in news}
        places = [place for place, one in enumerate(results) if one.key in keys]
        results.insert(places[-1] + 1 if places else len(results), item)

    for item in there.values():
        add(item)
    return results
