"""Memories of the archive, which are not indexed: finds those that answer a question by how many of its words they
have."""

from __future__ import annotations

import os
import time
from functools import lru_cache
from itertools import chain

from vaultmem import now as clock
from vaultmem import plugins
from vaultmem.index.keyword import tokenize
from vaultmem.light import TYPE_CHECKING
from vaultmem.memories import access, model
from vaultmem.notes.places import category_of, file_name
from vaultmem.search import query as language
from vaultmem.search import snippet
from vaultmem.search.cache import filter_notes
from vaultmem.search.query import Ask, Hit, Query
from vaultmem.text.times import local_day
from vaultmem.vault import files

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from vaultmem.adapter import Properties
    from vaultmem.notes.dialects import Rulebook
    from vaultmem.search.query import Term
    from vaultmem.search.search import Searcher

MOST = 300  # newest files examined
LEAST_SHARED = 0.5  # share of content words above which a memory answers


class Question:
    """The words that a query looks for, weighed as in the index: stems, and stop words only if there is nothing
    else."""

    def __init__(self, searcher: Searcher, query: Query) -> None:
        self._terms = searcher.keyword.terms
        self.words = [
            word for word in query.words if not searcher.keyword.is_weak(word)
        ] or query.words
        self._excluded = query.excluded
        self._needed = [*([term] for term in query.must), *query.groups]
        every = (*self.words, *self._excluded, *chain.from_iterable(self._needed))
        self._tokens = {term: set(self._terms(term.text)) for term in every if term.kind == "word"}
        wanted = {token for term in self._tokens for token in tokenize(term.text)}
        self._marker = snippet.Marker(wanted, tokenize)

    def share(self, text: str) -> float:
        """The share of the query that a text contains, from 0 to 1."""
        low = text.casefold()
        # Most texts have none of the words, and need not be analyzed.
        terms = set(self._terms(text)) if self._marker.spans(text) else set()

        def has(term: Term) -> float:
            if term.kind != "word":
                return float(term.text.casefold() in low)
            tokens = self._tokens[term]
            return len(tokens & terms) / len(tokens) if tokens else 0.0

        if any(map(has, self._excluded)):
            return 0.0
        if not all(any(map(has, group)) for group in self._needed):
            return 0.0
        if not self.words:
            return float(bool(self._needed))
        return sum(map(has, self.words)) / len(self.words)

    def answers(
        self, texts: Mapping[str, str], ids: Collection[str] = ()
    ) -> Iterator[tuple[float, str, str]]:
        """The texts that answer, or name one of these ids, by path, with their shares."""
        for path, text in texts.items():
            if (share := self.share(text)) >= LEAST_SHARED or any(id_ in text for id_ in ids):
                yield share, path, text


def timeless(query: Query) -> Query:
    """The query without the words that only say which time it is about: May, 2025."""
    times = {*tokenize(plugins.language().time_words().words)}
    words = [
        word
        for word in query.words
        if not (word.text.isdigit() or times.issuperset(tokenize(word.text)))
    ]
    return Query(words or query.words, query.must, query.excluded, query.groups, query.filters)


def search_archive(searcher: Searcher, ask: Ask) -> list[Hit]:
    """Memories that were archived for age or replaced and answer the question, best first and marked as such. Deleted
    ones are left out: vaultmem list --deleted shows them."""
    query = language.parse(ask.text)
    question = Question(searcher, query)
    filters = (*query.filters, *ask.filters)
    results: list[tuple[float, str, Hit]] = []
    for share, path, text in question.answers(searcher.texts.read(newest(searcher))):
        hit = _hit(searcher, ask, path, text, question.words)
        if hit is None or access.hidden(hit.properties, ask.viewer, memory=True):
            continue
        if question.share(f"{hit.title}\n{hit.content}") < LEAST_SHARED:
            continue  # only its properties have the words
        results.append((-share, path, hit))
    hits = [hit for _, _, hit in sorted(results, key=lambda result: result[:2])]
    fits = filter_notes(searcher.catalog, filters, hits) if filters else range(len(hits))
    return [hit for number, hit in enumerate(hits) if number in fits]


def newest(searcher: Searcher) -> Sequence[str]:
    """The paths of the most recently archived files; none if the archive cannot be read."""
    try:
        changed = os.stat(searcher.archive).st_mtime_ns
        settled = time.time_ns() - changed > files.SETTLED_NS
        names = (_newest if settled else _newest.__wrapped__)(searcher.archive, changed)
    except OSError:  # it does not exist, or a file is just being restored
        return []
    inner = searcher.archive.removeprefix(f"{searcher.folder}/")
    return [f"{inner}/{name}" for name in names]


@lru_cache(maxsize=8)
def _newest(folder: str, changed: int) -> list[str]:  # noqa: ARG001 - part of the cache key
    """The names of the newest files of a folder, which changed last at this time."""
    with os.scandir(folder) as entries:
        dated = [
            (entry.stat(follow_symlinks=False).st_mtime, entry.name)
            for entry in entries
            if entry.name.endswith(".md")
        ]
    return [name for _, name in sorted(dated, reverse=True)[:MOST]]


def _hit(searcher: Searcher, ask: Ask, path: str, text: str, words: list[Term]) -> Hit | None:
    """A memory of the archive as a hit; None if it is not a memory, or has faded."""
    from vaultmem.notes import pages

    rules = _rules(searcher.folder, searcher.config.text("dialect"))
    page = pages.read(rules.page_style(path), text)
    fields, content = page.properties, page.content.strip("\n")
    mark, sure = _mark(fields), model.aging(fields).confidence(clock.seconds(), searcher.half_life)
    hidden = sure < (ask.min_confidence or 0.0) or (fields.get("compressed") and not ask.compressed)
    if page.error or not fields.get("id") or not mark or hidden:
        return None
    title = file_name(path)
    line = line_of(text, content)
    query_tokens = {token for word in words for token in tokenize(word.text)}
    excerpt = snippet.Marker(query_tokens, tokenize).snippet(content)
    return Hit(
        path, None, title, line, line + content.count("\n"), [], None, local_day(fields.get("created_at")) or None,
        category_of(path.partition("/")[2], fields.get("category")), dict(fields), None, sure, 0.0, None, {},
        searcher.cache().uri(rules.at(path).dialect, path, title), content, excerpt.text, excerpt.marks, archived=mark,
    )  # fmt: skip


def line_of(text: str, content: str) -> int:
    """The line at which the content begins in its file; in an outline its first line follows a bullet."""
    at = text.rfind(content)
    if at < 0:
        at = text.rfind(content.partition("\n")[0])
    return text.count("\n", 0, max(at, 0)) + 1


def _mark(fields: Properties) -> str:
    """Why it is in the archive; "" if a person or assistant put it there."""
    if newer := fields.get("replaced_by"):
        return f"replaced by {str(newer)[:8]}"
    if fields.get("by") in model.FORGETTING:
        return f"archived {local_day(fields.get('deleted_at'))}".rstrip()
    return ""


@lru_cache(maxsize=8)
def _rules(folder: str, dialect: str) -> Rulebook:
    from vaultmem.notes.dialects import open_rulebook

    return open_rulebook(folder, dialect)
