"""The query language: what a person types, as a small tree. Nothing a person types is an error.

    words "a phrase" -not this OR that pre* tag:x path:x title:x category:x before:DAY after:DAY

What cannot be understood (a lone quote, an unknown field, a wrong date) is searched as words.
"""

from __future__ import annotations

import re

from vaultmem.text.values import value

MAX_CHARS = 1000
MAX_TERMS = 64

FILTERS = ("tag", "path", "title", "category", "before", "after")


@value
class Term:
    """A word, a prefix ("pre*") or a phrase, as typed."""

    kind: str
    text: str


@value
class Filter:
    """A condition on whole notes."""

    field: str
    value: str
    negated: bool = False


@value
class Query:
    """What was asked for."""

    words: list[Term]  # should be found
    must: list[Term]  # phrases that have to be found
    excluded: list[Term]  # may not be found
    groups: list[list[Term]]  # of each group, one has to be found
    filters: list[Filter]


_TOKEN = re.compile(
    r"""(?P<not>-(?=[^\s-]))?
        (?:(?P<field>[A-Za-z]{3,8}):(?=[^\s]))?
        (?:"(?P<phrase>[^"]*)"|(?P<word>[^\s"]+))""",
    re.VERBOSE,
)
_DAY = re.compile(r"([0-9]{4})(?:-([0-9]{2})(?:-([0-9]{2}))?)?")


def parse(text: str) -> Query:
    """Read a query. At most MAX_CHARS characters and MAX_TERMS terms count."""
    query = Query([], [], [], [], [])
    either = False
    last: Term | None = None
    for match in list(_TOKEN.finditer(encodable(text[:MAX_CHARS])))[:MAX_TERMS]:
        if match["word"] == "OR" and not match["not"] and not match["field"]:
            either = last is not None
            continue
        if found := _filter(match):
            query.filters.append(found)
            last = None
            continue
        term = _term(match)
        if term is None:
            continue
        if match["not"]:
            query.excluded.append(term)
            last = None
        elif either and last is not None:
            _join_group(query, last, term)
            last = term
        else:
            (query.must if term.kind == "phrase" else query.words).append(term)
            last = term
        either = False
    return query


def _join_group(query: Query, last: Term, term: Term) -> None:
    for group in query.groups:
        if group[-1] is last:
            group.append(term)
            return
    place = query.must if last.kind == "phrase" else query.words
    if place and place[-1] is last:
        place.pop()
    query.groups.append([last, term])


def _term(match: re.Match[str]) -> Term | None:
    if match["phrase"] is not None:
        text = match["phrase"].strip()
        if match["field"]:
            text = f"{match['field']} {text}"
        return Term("phrase", text) if text else None
    word = match["word"]
    if match["field"]:
        word = f"{match['field']}:{word}"
    if len(word) > 1 and word.endswith("*") and "*" not in word[:-1]:
        return Term("prefix", word[:-1])
    return Term("word", word)


def _filter(match: re.Match[str]) -> Filter | None:
    field = (match["field"] or "").lower()
    if field not in FILTERS:
        return None
    value = (match["phrase"] if match["phrase"] is not None else match["word"]).strip()
    if field == "tag":
        value = value.lstrip("#")
    if not value or (field in ("before", "after") and day_range(value) is None):
        return None
    return Filter(field, value, bool(match["not"]))


def day_range(value: str) -> tuple[str, str] | None:
    """The first and last ISO day of "2026", "2026-11" or "2026-11-21"; None for anything else."""
    match = _DAY.fullmatch(value)
    if not match:
        return None
    year, month, day = match.groups()
    if month and not 1 <= int(month) <= 12:
        return None
    if day and not 1 <= int(day) <= _days_of(int(year), int(month)):
        return None
    return f"{year}-{month or '01'}-{day or '01'}", f"{year}-{month or '12'}-{day or '31'}"


def _days_of(year: int, month: int) -> int:
    if month == 2:
        return 29 if year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) else 28
    return 30 if month in (4, 6, 9, 11) else 31


def encodable(text: str) -> str:
    """A typed text without halves of characters (bytes that are no UTF-8 leave them): no index takes those."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def wanted_text(text: str, query: Query) -> str:
    """What is looked for, as a person would say it: without filters and what is excluded."""
    if not query.filters and not query.excluded:
        return text
    terms = [*query.words, *query.must, *(term for group in query.groups for term in group)]
    return " ".join(term.text for term in terms)


def is_empty(query: Query) -> bool:
    """Whether there is nothing to search for."""
    return not (query.words or query.must or query.excluded or query.groups or query.filters)
