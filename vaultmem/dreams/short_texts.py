"""Short texts prepared for comparison: words, names, numbers, denials, statements; their importance and their memory
type (the "logic" seed, sections 1.5 and 1.6). The word lists are data of the language."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from functools import cache, lru_cache

from vaultmem.adapter import Statement
from vaultmem.light import NamedTuple
from vaultmem.plugins import language
from vaultmem.text.values import lazy, without_editor_lines

_MANY, _SPREAD = 6, 0.3  # texts, and the share of them that makes a word common
CAP = 400  # characters: a longer text states more than one thing
NAME, NUMBER, WORD = "name", "number", "word"


def form(name: str, table: str = "texts") -> re.Pattern[str]:
    """A pattern of the language, compiled on first use; `<abbreviated>` in it is the pattern of that name."""

    def text() -> str:
        texts = language().table(table)
        whole = str(texts[name]).replace("<abbreviated>", texts.get("abbreviated", ""))
        return whole.replace("\n", "")

    return lazy(text)


@cache
def words(name: str, table: str = "texts") -> frozenset[str]:
    """A list of words of the language."""
    return frozenset(language().table(table)[name].split())


HAN = "\u3040-\u30ff\u3400-\u9fff"
_HAN_NAME = (
    "[小老阿][王李张刘陈杨赵黄周吴徐孙胡朱高林何郭马罗梁宋郑谢韩唐冯于董萧程曹袁邓许傅沈曾彭吕]"
)
_ASCII_TOKEN = lazy(
    r"\d+(?:[.,:/-]\d+)*(?:(?:st|nd|rd|th)\b)?|[^\W\d_](?:\w|'(?=\w)|[.](?=[^\W\d_]))*"
)
_TOKEN = lazy(  # the same with wide characters, which take 4 ms to compile
    rf"{_HAN_NAME}|\d+(?:[.,:/-]\d+)*(?:(?:st|nd|rd|th)\b)?|[^\W\d_{HAN}](?:[^\W{HAN}]|['’](?=\w)|[.](?=[^\W\d_{HAN}]))*|[{HAN}]"
)
CUES, DENIAL, EVENT, LASTING, WORKING = map(form, ("cues", "denial", "event", "lasting", "working"))
_SEVERAL = form("several")  # properties that can have several values at once
_BY_USER, IS, GOVERNED = map(form, ("by_user", "is", "governed"))
CLAUSE, _CHANGED = form("clause"), "\0"
_OTHER_TIME, _WHEN = form("other_time"), form("when")
_UNREAL, _SETTLED = form("unreal"), form("settled")
_ARTICLE, _CHANGES = form("article"), form("changed")
_CAPITAL_NOUNS = form("capital_nouns")  # of a text in German, which capitalizes every noun
CORRECTS, NEXT_CLAUSE, STATES = map(form, ("corrects", "next_clause", "states"))
_DAY_PART, _UNNAMED, _YEAR = form("day_part"), form("unnamed"), form("year")
_ENDINGS = ("ing", "ies", "ied", "es", "ed", "s")


class Token(NamedTuple):
    """A word that carries meaning: its stem, and NAME, NUMBER or WORD."""

    stem: str
    kind: str


class Reading(NamedTuple):
    """A text parsed for the features."""

    tokens: tuple[Token, ...]
    stems: frozenset[str]
    names: frozenset[str]
    numbers: frozenset[str]
    cue: bool
    denied: bool
    several: bool
    event: bool
    other_time: bool


@lru_cache(4096)
def read(text: str) -> Reading:
    """Parse a text."""
    tokens = words_of(text)
    years = {match[match.lastgroup or 0] for match in _YEAR.finditer(text)}
    numbers = frozenset(token.stem for token in tokens if token.kind == NUMBER)
    return Reading(
        tokens, frozenset(token.stem for token in tokens),
        frozenset(token.stem for token in tokens if token.kind == NAME),
        numbers - years or numbers, CUES.search(text) is not None and not is_unreal(text),
        DENIAL.search(text) is not None, _SEVERAL.search(text) is not None, is_event(text),
        _OTHER_TIME.search(text) is not None,
    )  # fmt: skip


@lru_cache(4096)
def is_unreal(text: str) -> bool:
    """Whether it asks, or speaks only of what might be, was proposed or tried, or was so before."""
    asks = text.rstrip().endswith(("?", "？"))
    return asks or (_UNREAL.search(text) is not None and not _SETTLED.search(text))


@lru_cache(4096)
def words_of(text: str) -> tuple[Token, ...]:
    """The words that carry meaning, without those that only signal a change."""
    return tuple(tokens_of(CUES.sub(" ", text), text))


@lru_cache(4096)
def is_by_user(text: str) -> bool:
    """Whether the user is its grammatical subject: "I …", "we …"."""
    return _BY_USER.match(text) is not None


@lru_cache(4096)
def subject(text: str) -> frozenset[str]:
    """The words that say what a statement is about: "My new dentist is …", "The blog of Anne runs on …"; empty if
    that is the user, or unclear."""
    is_user, changed = is_by_user(text), _changed(text)
    if is_user or changed:
        return frozenset() if is_user else changed
    clause = CLAUSE.split(CUES.sub(_CHANGED, text), maxsplit=1)[0]
    start = clause.partition(_CHANGED)[0]
    if _CAPITAL_NOUNS.search(text) and (end := _verb_after_nouns(clause)):
        return stems_of(clause[:end])
    if start != clause and not (IS.search(clause) or STATES.match(start)) and stems_of(start):
        return stems_of(start)  # Our rent for the garage went up
    verb = None if IS.search(clause) else STATES.match(clause)
    if verb and verb[0].isascii() and stems_of(named := verb[0].rpartition(" ")[0]):
        return stems_of(named)
    for is_state, pattern in ((True, IS), (False, GOVERNED)):
        for match in pattern.finditer(clause):
            before = clause[: match.start()].rstrip()
            if stems_of(before):
                nouns = before.rpartition(" ")[0] if before.isascii() else before[:-1]  # no verb
                return stems_of(before if is_state or before.endswith(_CHANGED) else nouns)
    return frozenset() if clause.isascii() else stems_of(start)


def _changed(text: str) -> frozenset[str]:
    """The words for what somebody changed, and for who did if it is theirs: "Ann moved her blog to Fly"."""
    for match in _CHANGES.finditer(text):
        named, owner = match["what"] or match["was"], text[: match.start()]
        if CUES.fullmatch(match["cue"] or match["partizip"]) and not IS.search(named):
            return stems_of(f"{owner} {named}" if match["their"] or match["sein"] else named)
    return frozenset()


def stems_of(text: str) -> frozenset[str]:
    """All stems of a part of a text, including those of words that signal a change."""
    return frozenset(token.stem for token in tokens_of(text.replace(_CHANGED, " ")))


def _verb_after_nouns(clause: str) -> int:
    """The offset of the verb in a language that capitalizes nouns: the first word in lower case after a noun that does
    not lead to another one, as prepositions and articles do; 0 for none."""
    is_open = True  # whether a noun is still to come
    for word in _ASCII_TOKEN.finditer(clause) if clause.isascii() else _TOKEN.finditer(clause):
        leads = GOVERNED.fullmatch(word[0]) or _ARTICLE.fullmatch(word[0])
        if word[0][0].isupper() and not leads:
            is_open = False
        elif leads:
            is_open = True
        elif not is_open and word[0][0].islower():
            return word.start()
    return 0


@lru_cache(4096)
def stems(text: str) -> frozenset[str]:
    """The words of a text that carry meaning, as stems."""
    return frozenset(token.stem for token in words_of(text[:CAP]))


def widespread(texts: Sequence[str], share: float = _SPREAD) -> frozenset[str]:
    """Words that more than this share of many texts have: the name of their common subject no longer distinguishes
    them."""
    if len(texts) < _MANY:
        return frozenset()
    counted = Counter(stem for text in texts for stem in stems(text))
    return frozenset(stem for stem, count in counted.items() if count > share * len(texts))


def plain(text: str) -> str:
    """A text without outline markers, and without words that only introduce a correction: "Sorry, …"."""
    text = without_editor_lines(text)
    return CORRECTS.sub("", text, count=1) or text


def of_user(text: str) -> str:
    """What an assistant has written, with the user for a person whom it does not name: "She prefers tea"."""
    return _UNNAMED.sub(lambda match: "User" if match["who"] else "User's", text, count=1)


@lru_cache(32_768)  # most texts have none, so that remembering this costs little
def facts(text: str) -> tuple[Statement, ...]:
    """Its statements, including those of a note to oneself ("Moved to Porto in March"); "we" counts as the user."""
    plain = _WHEN.sub("", text)
    stated = language().statements(plain)
    if plain:
        noted = language().statements(f"I {plain[0].lower()}{plain[1:]}")
        stated = [*stated, *(fact for fact in noted if fact.subject == "user")]
    return tuple(fact._replace(subject="user") if fact.subject == "we" else fact for fact in stated)


def facts_of_both(one: str, other: str) -> tuple[tuple[Statement, ...], tuple[Statement, ...]]:
    """The statements of two texts to compare; those of the second only if the first has any."""
    stated = facts(one)
    return stated, facts(other) if stated else ()


def tokens_of(text: str, whole: str = "") -> list[Token]:
    """The words that carry meaning; `whole` is what the text is a part of."""
    words = (_ASCII_TOKEN if text.isascii() else _TOKEN).findall(text)
    is_name = _CAPITAL_NOUNS.search(whole or text) is None  # capitalized within the sentence
    results = (
        _token(word, may_be_name=is_name and number > 0) for number, word in enumerate(words)
    )
    return [token for token in results if token is not None]


@lru_cache(16_384)
def _token(word: str, *, may_be_name: bool) -> Token | None:
    plain = word.lower().replace("’", "'").removesuffix("'s")
    return (
        None
        if plain.partition("'")[0] in words("stop")
        else Token(stem(plain), _kind(word, may_be_name=may_be_name))
    )


def _kind(word: str, *, may_be_name: bool) -> str:
    if word[0].isdigit() or _DAY_PART.fullmatch(word):  # "May" is no name
        return NUMBER
    if len(word) > 1 and (word[0] in "小老阿" or "." in word):  # deploy.sh
        return NAME
    inner = word if may_be_name else word[1:]
    return WORD if inner == inner.lower() else NAME


def stem(word: str) -> str:
    """A word in lower case without its ending; "10th" is 10."""
    if word[0].isdigit():
        return word.rstrip("stndrh")
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)].rstrip("e")
    return word.rstrip("e") if len(word) > 3 else word


# The type of a memory: fact, preference, event or working note. It decides how long the memory lives.

# Asked for each title at start-up, so it reads no table.
ABOUT_PERSON = lazy(
    r"^\W*(?:(?:the )?user(?!\w)|I(?!\w)|(?-i:im)(?!\w)|my(?!\w)|ich(?!\w)|mein(?:e[nmrs]?)?(?!\w)|用户|我(?!们)|本人)",
    re.IGNORECASE,
)


def is_event(text: str) -> bool:
    """Whether it only reports something that happened."""
    texts = text[:CAP]
    return EVENT.search(texts) is not None and LASTING.search(texts) is None


def is_about_person(text: str) -> bool:
    """Whether it states something about the person: they are named first, and it is not a question."""
    return ABOUT_PERSON.match(text) is not None and not text.rstrip().endswith(("?", "？"))


def is_working_note(text: str) -> bool:
    """Whether it describes unfinished work that will be over soon."""
    return WORKING.search(text[:CAP]) is not None


# How much a memory is worth keeping: importance = 0.6 * novelty + 0.4 * salience. Novelty is the distance of its
# meaning from everything known; salience adds up signals in the words.

THRESHOLD = 0.3  # a text below it is not worth a memory
NOVELTY_SHARE, SALIENCE_SHARE = 0.6, 0.4
NAMED, COUNTED, PREFERENCE, TECHNICAL = 0.3, 0.2, 0.4, 0.1
HEAD = 4000  # characters; later signals do not make a text salient
# A capital inside a sentence; at its beginning only if followed by what follows a name.
_INNER_NAME, _FIRST_NAME = form("inner_name"), form("first_name")
_MIXED = lazy(
    r"\[\[[^\[\]\n]+\]\]|(?<!\w)@[A-Za-z]\w+|[a-z][A-Z]\w+|(?<![A-Za-z])[A-Z][a-z]+[A-Z]\w*"
)
_HAN_LATIN_NAME = lazy(r"[\u4e00-\u9fff，。、] ?[A-Z][A-Za-z]{2,}|[A-Z][a-z]{2,} ?[\u4e00-\u9fff]")
_NUMBER, _PREFERENCE, _HAN_PREFERENCE = form("number"), form("preference"), form("han_preference")
_HAN_FACT, _HAPPENED = form("han_fact"), form("happened")
INSTRUCTION = form("instruction")  # first how something is to be done: "Use tabs, not spaces"
_SUBJECT = form("subject")  # the word before a verb that states something
_SHAPE = lazy(
    r"`|[a-z][A-Z]|\w_\w|::|->|\(\)|[/\\]\w+[/\\.]\w|^--?\w|^v?\d+\.\d+|^0x[0-9a-f]+$|\w\.(?:py|js|ts|rs|go|md|json|yaml|yml|toml|"
    r"sh|sql|csv|txt|conf|env|html|css|lock)\b|^[A-Z]{2,}\d*s?$|\d[a-z]{1,2}$|[a-z]\d|\w=\w|^https?:"
)
_ASCII_PIECE = lazy(r"[^\s,;!?\"'()\[\]{}]+|`[^`\n]+`")
_PIECE = lazy(r"[^\s,;!?\"'’“”，。！？、；：()\[\]{}\u3400-\u9fff]+|`[^`\n]+`")
HANS = lazy(r"[\u3400-\u4dbf\u4e00-\u9fff]")
_RARE, _PLAIN = 4.0, 1.0
_MEAN_RARITY = 1.25  # one technical term among twelve other content words
_HAN_PER_WORD = 2


def _han_names() -> str:
    pattern, notions = language().table("texts")["han_name"], language().table("notions")
    for name in ("surnames", "titles", "places"):
        pattern = pattern.replace(f"<{name}>", notions[name])
    return str(pattern).replace("\n", "")


_HAN_NAMES = lazy(_han_names)


def has_name(text: str) -> bool:
    """Whether it names a person, place, organisation or product, as far as spelling shows."""
    if any(pattern.search(text) for pattern in (_MIXED, _INNER_NAME, _FIRST_NAME)):
        return True
    if text.isascii():  # the others take 6 ms to compile
        return False
    return any(pattern.search(text) for pattern in (_HAN_LATIN_NAME, _HAN_NAMES))


def has_number(text: str) -> bool:
    """Whether it has a number, a day, a month or a number word."""
    return _NUMBER.search(text) is not None


def has_technical_terms(text: str) -> bool:
    """Whether its words are rare enough on average: frequent words do not count, ordinary ones count 1, those that
    look like code or are in a short list of terms 4. Two Chinese characters count as a word."""
    pieces = (_ASCII_PIECE if text.isascii() else _PIECE).findall(text)
    tokens = [token.strip(".:*_`-" if len(token) < 2 else ".:*") for token in pieces]
    rarities = [r for r in (_rarity(token) for token in tokens if token) if r]
    han_terms = han_words = 0
    if not text.isascii():
        han_terms = len(re.findall(language().table("notions")["han_terms"], text))
        han_words = max(han_terms, len(HANS.findall(text)) // _HAN_PER_WORD)
    count = len(rarities) + han_words
    total = sum(rarities) + han_words * _PLAIN + han_terms * (_RARE - _PLAIN)
    return count > 0 and total / count >= _MEAN_RARITY


def _rarity(token: str) -> float:
    folded = token.lower()
    if folded in words("frequent", "notions"):
        return 0.0
    return _RARE if folded in words("terms", "notions") or _SHAPE.search(token) else _PLAIN


def salience(text: str) -> float:
    """The salience of a text by its words, from 0.0 to 1.0."""
    head = text[:HEAD]
    is_there = has_name(head), has_number(head), has_preference(head), has_technical_terms(head)
    weights = (NAMED, COUNTED, PREFERENCE, TECHNICAL)
    signs = (weight for weight, sign in zip(weights, is_there, strict=True) if sign)
    return round(min(1.0, sum(signs, 0.0)), 4)


def novelty(cosine: float | None) -> float:
    """From 0.0 to 1.0: the distance from the centroid of all memories; None if there are none yet."""
    if cosine is None or not math.isfinite(cosine):
        return 1.0
    return min(1.0, max(0.0, 1.0 - cosine))


def importance(novelty: float, salience: float) -> float:
    """From 0.0 to 1.0, rounded to four digits."""
    return round(NOVELTY_SHARE * novelty + SALIENCE_SHARE * salience, 4)


def has_preference(text: str) -> bool:
    """Whether it states someone's preference: "I prefer", "my favorite", "讨厌"."""
    return bool(_PREFERENCE.search(text) or (not text.isascii() and _HAN_PREFERENCE.search(text)))


def memory_type(text: str) -> str:
    """What kind of memory it is: episodic, semantic, procedural or working."""
    head = text[:HEAD]
    if has_preference(head) or INSTRUCTION.search(head):
        return "procedural"
    if is_working_note(head):
        return "working"
    return "episodic" if is_event(head) else "semantic"


def says_something(text: str) -> bool:
    """Whether it states a fact, or reports an event or work in progress."""
    head = text[:HEAD]
    if (
        language().statements(head)
        or is_working_note(head)
        or _HAPPENED.search(head)
        or _HAN_FACT.search(head)
    ):
        return True
    return any(word.lower() not in words("vague") for word in _SUBJECT.findall(head))
