"""Searches and their answers, and the query language: what a person types, which is never an error.

words "a phrase" -not this OR that pre* tag:x path:x title:x category:x before:DAY after:DAY

Anything that cannot be understood (a lone quote, an unknown field, a wrong date) is searched as words.
"""

from __future__ import annotations

import re

from vaultmem import now as clock
from vaultmem.errors import UsageError
from vaultmem.light import NamedTuple, cast
from vaultmem.memories.access import PERSON, Viewer
from vaultmem.plugins import language
from vaultmem.text.times import day_range
from vaultmem.text.values import TEXT_PROPERTIES, TYPE_CHECKING, lazy, normalize_text, value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vaultmem.adapter import DaySpan, JsonObject, Value

MAX_CHARS = 1000
MAX_TERMS = 64

FILTERS = ("tag", "path", "title", "category", "before", "after")


class Term(NamedTuple):
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
    """A parsed query."""

    words: list[Term]  # should match
    must: list[Term]  # phrases that must match
    excluded: list[Term]  # must not match
    groups: list[list[Term]]  # one of each group must match
    filters: list[Filter]

    def sought(self) -> list[Term]:
        """All terms that are not excluded."""
        return [*self.words, *self.must, *(term for group in self.groups for term in group)]


@value
class Ask:
    """A search request. `filters` are added to those in the text; `group` is "note" or "block"."""

    text: str
    limit: int = 10
    semantic: bool | None = False  # None: if a model is warm, see Vault.answer
    group: str = "note"
    filters: tuple[Filter, ...] = ()
    min_confidence: float | None = None  # None: as the settings say
    notes: frozenset[int] | None = None  # only in these,
    all_but: bool = False  # or in all but these
    compressed: bool = False  # include compressed memories; a search in `notes` does
    talks: bool = False  # include conversations, as a filter by scope or path may
    viewer: Viewer = PERSON
    meaning: str = ""  # text to search by meaning, if more than the words
    # The text is no question: no misspelt words or days in it, fewer blocks are ranked, and none embedded first.
    is_quick: bool = False

    def but(self, **changes: object) -> Ask:
        """A copy with some fields changed."""
        return Ask(*{**self.__dict__, **changes}.values())  # in the order of the fields


@value
class Hit:
    """A block that answers, or the best block of a note. Scores compare only within one answer."""

    path: str
    raw: str | None  # the name on disk, if it is not the UTF-8 of `path`
    title: str
    line: int
    end_line: int
    headings: list[str]
    label: str | None
    day: str | None
    category: str | None
    properties: dict[str, Value]
    original: str | None  # the original, if this is a sync conflict copy
    confidence: float
    score: float
    similarity: float | None  # cosine to the question; None without search by meaning
    parts: dict[str, float]  # keyword and meaning points, and the other parts of the score
    uri: str = ""
    # The block's current text; for a note with nothing else, its properties.
    content: str = ""
    snippet: str = ""
    marks: Sequence[tuple[int, int]] = ()  # words of the query in the snippet
    more: Sequence[tuple[int, int]] = ()  # line ranges of the note's other matching blocks
    archived: str = ""  # why a memory is in the archive

    @property
    def is_only_near(self) -> bool:
        """Whether it has no word of the query, and was returned for its meaning."""
        return self.similarity is not None and "keyword" not in self.parts


@value
class Answer:
    """Hits, best first, remarks for the person, the query's content words, and these in all their forms."""

    results: list[Hit]
    remarks: list[str]
    words: frozenset[str] = frozenset()
    forms: frozenset[str] = frozenset()


_TOKEN = lazy(
    r"""(?P<not>-(?=[^\s-]))?
        (?:(?P<field>[A-Za-z]{3,8}):(?=[^\s]))?
        (?:"(?P<phrase>[^"]*)"|(?P<word>[^\s"]+))""",
    re.VERBOSE,
)


def parse(text: str) -> Query:
    """Parse a query. At most MAX_CHARS characters and MAX_TERMS terms count."""
    query = Query([], [], [], [], [])
    either = False
    last: Term | None = None
    for match in _tokens(text):
        if match["word"] == "OR" and not match["not"] and not match["field"]:
            either = last is not None
            continue
        if result := _filter(match):
            query.filters.append(result)
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


def parse_question(text: str) -> tuple[Query, list[DaySpan]]:
    """A parsed query and the days that it names. Words such as "last week", which mean other days in a note, are left
    out, unless it has no others or only looks up two words."""
    query, days = parse(text), language().days(text, clock.seconds())
    typed = rest = " ".join(term.text for term in query.words)
    for span in days:
        if span.is_relative and (len(query.words) > 2 or not typed.isascii()):
            whole = rf"(?<![a-z]){re.escape(span.words)}(?![a-z])"  # today, but not Todaylist
            rest = re.sub(whole, " ", rest, flags=re.IGNORECASE)
    if rest != typed and rest.strip() and all(term.kind == "word" for term in query.words):
        words = [Term("word", word) for word in rest.split()]
        query = Query(words, query.must, query.excluded, query.groups, query.filters)
    return query, days


def _tokens(text: str) -> list[re.Match[str]]:
    return list(_TOKEN.finditer(normalize_text(text[:MAX_CHARS])))[:MAX_TERMS]


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
    if not value:
        return None
    if field in ("before", "after"):
        try:
            value = day_filter(field, value).value
        except UsageError:
            return None
    return Filter(field, value, bool(match["not"]))


_NARROW = (*TEXT_PROPERTIES, "scope", "phase", "category", "path")


def filters_of(options: JsonObject) -> tuple[Filter, ...]:
    """The filters among the options of a search, by their Python names; other options are ignored."""
    tags = [tag.strip().lstrip("#") for tag in cast("list[str]", options.get("tags") or [])]
    texts = {name: str(options.get(name) or "") for name in ("since", "until", *_NARROW)}
    days = (("from", texts.pop("since")), ("to", texts.pop("until")))
    return (
        *(Filter("tag", tag) for tag in dict.fromkeys(tags) if tag),
        *(day_filter(name, text) for name, text in days if text),
        *(Filter(name, text) for name, text in texts.items() if text),
        *((Filter("global", "1"),) if options.get("everywhere") else ()),
    )


def day_filter(field: str, text: str) -> Filter:
    """A filter by a day, also in words. Raises UsageError if the text is not a day."""
    if not day_range(text):
        from vaultmem.memories.arguments import days  # and the rarely needed grammar

        text = days(text)[field in ("to", "after")]
    return Filter(field, text)


def misread_days(text: str) -> list[str]:
    """A remark on each day filter that names no day and is searched as words."""
    tokens = _tokens(text) if ":" in text else ()
    misread = [
        match[0].lstrip("-")
        for match in tokens
        if (match["field"] or "").lower() in ("before", "after") and not _filter(match)
    ]
    return [
        f'{one} names no day; several words are in quotes: after:"last week"' for one in misread
    ]


def wanted_text(text: str, query: Query) -> str:
    """The text of a query without filters and excluded terms."""
    if not query.filters and not query.excluded:
        return text
    return " ".join(term.text for term in query.sought())


# --- plain words

_FIELD = lazy(rf"(?<!\w)-?((?:{'|'.join(FILTERS)})):(?=\S)", re.IGNORECASE)
_EXCLUDED = lazy(r"(?<!\S)-+(?=\S)")
_PREFIX = lazy(r"\*+(?=\s|$)")
# A question is about the person whether it says "my", "we" or "the user", so these words do not say what is asked.
_ASKER = lazy(
    r"\bthe user(?:['’]s)?(?!\w|-)|\buser['’]s(?!\w)|用户的?|(?<![\w-])(?:my|our|we|(?-i:I|me|us))(?![\w'’/-])",
    re.IGNORECASE,
)
_REQUEST = lazy(
    r"\A\s*(?:please )?(?:list|show|give|tell)(?= (?:me|us|all|every|my|our|the)\b)", re.IGNORECASE
)
_OR = lazy(r"(?<!\S)OR(?!\S)")
# A question about the person as such, "what do you know about me?", has no word of its answers. They have these.
_PROFILE = "user I my name lives works prefers likes allergic birthday family speaks"
_IN_GENERAL = lazy(
    r"\W*(?:(?:what|who|do|does|you|can|could|please|know|remember|recall|learn(?:ed|t)?|tell|give|everything|anything|all"
    r"|facts?|info(?:rmation)?|profile|background|summary|about|of|on|for|that|is|are|am|have|so far|the|an?|me|my"
    r"|myself|I|us|users?|s|was|weißt|du|über|mich|mir|wer|bin|ich|alles|erzähl)\b\W*)+"
    r"|[你知道关于我的什么情况吗了解告诉介绍一下用户是谁呢自己还有哪些？?\s]+",
    re.IGNORECASE,
)
_ABOUT = lazy(
    r"\b(?:about|know|remember|learn\w*|profile|who|background|über|weißt|wer)\b|知道|关于|了解|介绍|谁|情况",
    re.IGNORECASE,
)
_SELF = lazy(r"\b(?:me|my|myself|I|us|users?|mich|mir|ich)\b|我|用户|自己", re.IGNORECASE)
_MINE = lazy(r"(?<![\w-])(?:my|our)(?![\w'’/-])", re.IGNORECASE)
_ME = lazy(r"(?<![\w-])(?:we|I|me|us)(?![\w'’/-])")


def in_third_person(question: str) -> str:
    """The question as somebody else asks it, as memories by assistants are about "the user"; "" if it is not about the
    person."""
    text = _ME.sub("the user", _MINE.sub("the user's", question))
    return text if _ASKER.search(question) else ""


def plain(question: str) -> str:
    """A question as plain words: an assistant's question may contain quotes, dashes and colons, which are operators
    of the query language."""
    text = _FIELD.sub(r"\1 ", question.replace('"', " "))
    text = _OR.sub("or", _PREFIX.sub("", _EXCLUDED.sub("", text))).strip()
    if _IN_GENERAL.fullmatch(text) and _ABOUT.search(text) and _SELF.search(text):
        return _PROFILE
    return _ASKER.sub(" ", _REQUEST.sub("", text)).strip() or text
