"""The second round of a recall: "where does Anne's sister live" is answered beside a name that only another line gives.

If one of the best candidates has a part of the question's words and names someone or links to something, that name is
searched for the rest of the question. If one gives the person's own name, the question is also asked without it: of
themselves, people say "I".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import islice

from vaultmem.index.keyword import tokenize
from vaultmem.light import NamedTuple
from vaultmem.plugins import language
from vaultmem.recall import recall_candidate
from vaultmem.recall.criteria import LEAST_CANDIDATES, Criteria, day_of
from vaultmem.recall.recall_candidate import Candidate
from vaultmem.recall.recall_sources import Look, Sources
from vaultmem.search.keyword_search import KeywordSearcher
from vaultmem.search.query import plain
from vaultmem.search.rank import content_words
from vaultmem.text.times import calendar_day
from vaultmem.text.values import TYPE_CHECKING, lazy, plural

if TYPE_CHECKING:
    from datetime import date

BRIDGES = 5  # candidates whose names may be followed
MOST_NAMED = 3  # names per candidate
NAMES = 4  # names searched next
MOST_PLACES = 12  # blocks with a name; more frequent names lead nowhere
SHARE = 0.85  # share of the naming line's score for the best result of the second round
NEARER = 0.35  # least cosine of a block with the name but no other word of the question
LEAST = 0.6  # share of the second round's best score
SHORT = 200  # characters of a memory that gives the person's name
_LINK = lazy(r"\[\[([^\]|#^\n]+)")
# Capitalized words not at the start of a sentence.
_NAME = lazy(r"(?<![.!?:] )(?<=[\w,;] )[A-ZÀ-Þ][\w'’-]+(?: [A-ZÀ-Þ][\w'’-]+)*")
_SELF = frozenset(("i", "my", "me", "we", "our", "us", "mine"))


class Bridge(NamedTuple):
    """A candidate that matches part of the question, and a name in it to follow."""

    candidate: Candidate
    name: str
    tokens: frozenset[str]  # words of the name
    rest: frozenset[str]  # words of the question that it lacks


class Step(NamedTuple):
    """The query of the second round, and why."""

    query: str
    bridges: list[Bridge]


def followed(
    look: Look, sources: Sources, criteria: Criteria, candidates: Sequence[Candidate]
) -> tuple[list[Candidate], str]:
    """The candidates together with those of the second round, and a description of that round."""
    step = _step(plain(criteria.query), candidates, look.searcher.keyword)
    if step is None:
        return list(candidates), "no name to follow"
    most = LEAST_CANDIDATES
    results = sources.search(look, criteria._replace(query=step.query), most)
    reached = _reached(step, recall_candidate.filter_allowed(results, criteria)[0])
    names = ", ".join(bridge.name for bridge in step.bridges)
    did = f"followed {names}: {plural(len(reached), 'line')}"
    return merged(candidates, reached), did


def beside_event(
    look: Look, sources: Sources, criteria: Criteria, candidates: Sequence[Candidate]
) -> list[Candidate]:
    """The candidates, after those of the days before or after an event if the question asks for nothing else: "what did
    I do after the trip to Oslo". The best match of the event says when it was."""
    rest, event, days = language().beside(criteria.query) or ("", "", 0)
    words = look.searcher.keyword.vocabulary.content_words
    is_all = bool(words(event)) and not words(plain(rest)) - _SELF
    if not is_all or language().days(criteria.query, look.now):
        return list(candidates)

    def search(query: str) -> list[Candidate]:
        results = sources.search(look, criteria._replace(query=query), LEAST_CANDIDATES)
        return recall_candidate.filter_allowed(results, criteria)[0]

    from datetime import timedelta  # few questions are of that kind

    best = recall_candidate.relevant(search(event))[:BRIDGES]
    start = next(filter(None, map(_day_of, best)), None)
    if start is None:
        return list(candidates)
    step = timedelta(days=-1 if days < 0 else 1)
    each = " ".join(f"{start + number * step}" for number in range(1, abs(days) + 1))
    spans = language().days(each or f"since {start}", look.now)
    there = [item for item in search(each or f"since {start}") if item.is_dated]
    there = [one for one in there if any(span.covers(day_of(one.created)) for span in spans)]
    there.sort(key=lambda item: item.created * step.days)
    most = max((item.score for item in candidates), default=1.0)
    points = (most * (2 - place / 100) for place in range(len(there)))
    beside = [item._replace(shares=True).scored(p) for item, p in zip(there, points, strict=True)]
    return merged(candidates, beside)


def _day_of(item: Candidate) -> date | None:
    """The day that a text names, or that of an entry: a memory may be written long after an event."""
    named = [day for day in recall_candidate.days_in(item.content) if 1000 <= day // 10_000 < 9000]
    number = named[0] if named else day_of(item.created) if item.note and item.is_dated else 0
    return calendar_day(number // 10_000, number // 100 % 100, number % 100) if number else None


def without_own_name(question: str, candidates: Iterable[Candidate]) -> str:
    """The question without the person's own name, if a candidate memory gives it and the question has other words;
    else ""."""
    short = (
        candidate.content
        for candidate in candidates
        if candidate.id and len(candidate.content) <= SHORT
    )
    for name in (name for content in islice(short, BRIDGES) for name in _own_names(content)):
        first, *_ = words = name.split()
        tokens = {token for word in words for token in tokenize(word)}
        if not {*tokenize(first)} <= {*tokenize(question)}:  # a surname alone may be someone else's
            continue
        pairs = ((word, content_words(tokenize(word))) for word in question.split())
        rest = " ".join(
            word for word, name_tokens in pairs if not name_tokens or not name_tokens <= tokens
        )
        rest = rest.replace(name, " ")  # in scripts without blanks
        if rest != " ".join(question.split()) and content_words(tokenize(rest)) - _SELF:
            return rest
    return ""


@lru_cache(1024)
def _own_names(content: str) -> tuple[str, ...]:
    from vaultmem.plugins import language  # not needed for notes

    stated = language().statements(content)
    return tuple(
        statement.value
        for statement in stated
        if (statement.subject, statement.property) == ("user", "name") and not statement.negated
    )


def _step(question: str, best: Sequence[Candidate], words: KeywordSearcher) -> Step | None:
    """The second round that the best candidates suggest; None if they name nothing."""
    question_words = {
        token: word for word in question.split() for token in content_words(tokenize(word)) - _SELF
    }
    bridges: list[Bridge] = []
    lacking: set[str] = set()
    for candidate in best[:BRIDGES]:
        there = {*tokenize(candidate.content), *tokenize(candidate.title)}
        rest = question_words.keys() - there
        names = _names_in(candidate.content)
        answers_nothing = len(rest) == len(question_words)
        if answers_nothing or len(names) > MOST_NAMED:  # or it is about many things
            continue
        bridged = {bridge.tokens for bridge in bridges}
        new = [
            Bridge(candidate, name, tokens, frozenset(rest))
            for name, tokens in names.items()
            if tokens.isdisjoint(question_words)
            and tokens not in bridged
            and _leads_on(name, tokens, candidate, words)
        ]
        if new:
            bridges += new
            lacking |= rest
    if not lacking:
        return None
    bridges = bridges[:NAMES]
    sought = dict.fromkeys(word for token, word in question_words.items() if token in lacking)
    return Step(" ".join((*(bridge.name for bridge in bridges), *sought)), bridges)


def has_names(question: str, content: str) -> bool:
    """Whether a text has all names of a question."""
    named = frozenset[str]().union(*_names_in(plain(question)).values())
    return named <= {*tokenize(content)}


def _names_in(content: str) -> dict[str, frozenset[str]]:
    matches = (*_LINK.findall(content), *_NAME.findall(content))
    return {name: frozenset(tokenize(name)) for name in map(str.strip, matches)}


def _leads_on(
    name: str, tokens: Iterable[str], candidate: Candidate, words: KeywordSearcher
) -> bool:
    """Whether a name occurs in a few other places; the target of a link has its own note."""
    places = min((words.frequency(token) for token in tokens), default=MOST_PLACES + 1)
    return (f"[[{name}" in candidate.content or places > 1) and places <= MOST_PLACES


def _reached(step: Step, results: Iterable[Candidate]) -> list[Candidate]:
    """Results of the second round with one of the names, scored below the candidate that names it."""
    named: list[tuple[Candidate, Bridge]] = []
    for result in results:
        there = {*tokenize(result.content), *tokenize(result.title)}
        for bridge in step.bridges:
            answers = (
                not bridge.rest.isdisjoint(there) or result.parts.get("similarity", 1.0) >= NEARER
            )
            if bridge.tokens <= there and answers and result.key != bridge.candidate.key:
                named.append((result, bridge))
                break
    best = max((candidate.score for candidate, _ in named), default=0.0)
    return [
        candidate.scored(points, hop=points)
        for candidate, bridge in named
        if (points := SHARE * bridge.candidate.score * candidate.score / best)
        and candidate.score >= LEAST * best
    ]


def merged(candidates: Iterable[Candidate], more: Iterable[Candidate]) -> list[Candidate]:
    """The candidates of two rounds, each with its better score, best first."""
    result = {candidate.key: candidate for candidate in candidates}
    for candidate in more:
        before = result.get(candidate.key)
        if before is None or before.score < candidate.score:
            result[candidate.key] = candidate
    return recall_candidate.best_first(result.values())
