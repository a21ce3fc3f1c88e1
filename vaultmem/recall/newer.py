"""Lists memories after what is probably newer about the same, and leaves out what that certainly replaces.

`vaultmem.dreams.changes` has the model, see docs/adr/0020.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence, Set

from vaultmem.dreams import changes
from vaultmem.dreams.changes import BY_MEANING, BY_WORDS, OTHERS, Model, Pair, Text
from vaultmem.index.catalog import NOTES_BELOW, below
from vaultmem.light import TYPE_CHECKING, NamedTuple
from vaultmem.notes.places import ENTRIES
from vaultmem.recall.recall_candidate import Candidate
from vaultmem.text.times import seconds

if TYPE_CHECKING:
    from vaultmem.index.catalog import Catalog
    from vaultmem.search.model_vectors import ModelVectors, Vectors
    from vaultmem.search.search import Searcher

BEST = 12  # memories of an answer for which newer ones are looked for
ROUNDS = 4  # newer ones may have newer ones, too
NEIGHBOURS = 6  # newer memories compared with each
# Log odds. Above the first, three of four pairs are right in a story that the weights do not come from.
LIKELY, SUSPECTED = -1.5, -3.0
MOST = 4_000  # memories, the newest
AMONG = 60  # memories compared by words
_MEMORIES = f"""SELECT f.path, json_extract(n.properties, '$.created_at') AS created,
    (SELECT hash FROM blocks WHERE note = n.id AND ordinal = 0) AS block {NOTES_BELOW} AND block IS NOT NULL
    AND json_extract(n.properties, '$.id') IS NOT NULL AND json_extract(n.properties, '$.remind') IS NULL
    AND NOT (f.path >= ? AND f.path < ?) ORDER BY created DESC LIMIT ?"""  # noqa: S608 - own text

Newer = Mapping[str, Sequence[Candidate]]  # by the key of the older memory, newest first


class Changes(NamedTuple):
    """What is newer about the same as some memories, and the keys of those that it certainly replaces."""

    newer: Newer
    replaced: Set[str]


def by_meaning(
    searcher: Searcher,
    folder: str,
    best: Sequence[Candidate],
    read: Callable[[Iterable[str]], Iterable[Candidate]],
) -> Changes:
    """What is newer about the same as the best of these memories, in the whole memory folder, by meaning; `read` reads
    those that may be recalled."""
    model = searcher.meaning()
    timeline = searcher.cache().once(
        ("timeline", model.count()), lambda: Timeline(model, searcher.catalog, folder)
    )
    memories = {old.key: old for old in best[:BEST]}
    answers = {item.key for item in best}
    pairs: list[Pair] = []
    result = Changes({}, frozenset())
    fresh, compared, known = [*memories], {*memories}, {*memories}
    for _ in range(ROUNDS):
        more = [*timeline.pairs(fresh)]
        pairs += more
        unread = {pair.new: None for pair in more if pair.new not in known}
        known.update(unread)
        memories |= {item.key: item for item in read(unread) if item.states}
        result = likely(pairs, memories, BY_MEANING, answers)
        news = [item.key for items in result.newer.values() for item in items]
        fresh = [key for key in news if key not in compared]
        compared.update(fresh)
        if not fresh:
            break
    return result


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
                margin = changes.margin(float(row[old]), nearest, BY_MEANING.unrelated)
                yield Pair(self._paths[old], self._paths[new], margin)

    def _cosines(self, numbers: Sequence[int]) -> Vectors:
        return self._model.comparable(self._vectors[numbers] @ self._vectors.T)


def among(best: Iterable[Candidate], others: Iterable[Candidate]) -> Changes:
    """What is newer about the same as the best answers, among these and other memories, by their words."""
    answers = {item.key: item for item in best}
    some = {**answers, **{item.key: item for item in others}}
    ordered = sorted([*some.values()][:AMONG], key=lambda item: item.created)
    similar = changes.by_letters(item.content for item in ordered)
    pairs = changes.all_pairs([item.key for item in ordered], similar, BY_WORDS)
    return likely(pairs, some, BY_WORDS, answers)


def likely(
    pairs: Iterable[Pair], memories: Mapping[str, Candidate], model: Model, answers: Container[str]
) -> Changes:
    """The pairs of these memories that probably speak of the same. A suspicion is enough for the `answers`, which only
    change places; any other must not be about somebody else."""
    results: dict[str, list[tuple[float, Candidate]]] = {}
    replaced: set[str] = set()
    texts = {key: Text(item.content, item.created) for key, item in memories.items()}
    for pair, own in changes.signs(pairs, texts):
        old, new = memories[pair.old], memories[pair.new]
        odds = model.odds(own)
        least = SUSPECTED if pair.new in answers else LIKELY
        if odds <= least or old.scope != new.scope:
            continue
        if pair.new in answers or not changes.are_apart(old.content, new.content):
            results.setdefault(pair.old, []).append((odds, new))
            is_certain = changes.is_certain(odds, own, model, old.content, new.content)
            if is_certain and new.trusted:
                replaced.add(pair.old)
    return Changes({key: _newest(news) for key, news in results.items()}, replaced)


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
