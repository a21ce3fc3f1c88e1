"""Properties with one value at a time: slots (a birthday, a port, a favourite editor), how often something happens,
floors, places of residence; and how their values compare."""

from __future__ import annotations

import re
import unicodedata
from functools import cache

from vaultmem.light import NamedTuple
from vaultmem.text.values import lazy, toml_table
from vaultmem_languages import pattern
from vaultmem_languages.when_words import (
    MONTH_NAME,
    MONTHS,
    ORDINAL_WORDS,
    SPELLED,
    figures,
    han_number,
    ordinal,
)

# Fold values of facts for comparison: dates, numbers, articles, and pairs of opposites.

_DAY_FIRST = lazy(rf"\b(\d{{1,2}})(?:st|nd|rd|th)?(?: of)? ({MONTH_NAME})")
_MONTH_FIRST = lazy(rf"\b({MONTH_NAME}) (?:the )?(\d{{1,2}})(?:st|nd|rd|th)?(?![\d:])")
_ISO = lazy(r"(?<!\d)(\d{4})[-/.年](\d{1,2})[-/.月](\d{1,2})[日号]?(?!\d)")
_HAN_DAY = lazy(r"([\d一二三四五六七八九十]{1,3})月([\d一二三四五六七八九十]{1,3})[日号]?")
_DAY_TOKENS = lazy(r"m\d\d d\d\d")
_THOUSANDS = lazy(r"(?<=\d),(?=\d{3}(?!\d))")
_ARTICLES = lazy(r"^(?:the|an?|my|our|your|some|any) +")
_AROUND = " \t.,;:!?\"'`“”‘’«»()[]{}*_。，；：！？、《》「」"
_HAN = lazy(r"[\u3400-\u4dbf\u4e00-\u9fff]")
_LATIN = lazy(r"[a-z]")
_TOKEN = lazy(r"[\u3400-\u4dbf\u4e00-\u9fff]+|[^\s\u3400-\u4dbf\u4e00-\u9fff,]+")

_VERSIONED = lazy(r"^(\S.*?)[ -]?(?:v(?:ersion )?(\d+(?:\.\d+)*)|(?<=[ -])(\d+(?:\.\d+)+))$")


class _Words(NamedTuple):
    """The lists of words.toml that this module reads."""

    names: dict[str, str]  # of slots in English, by their spellings
    chinese: dict[str, str]
    chinese_slot: re.Pattern[str]
    american: dict[str, str]  # American and British spellings
    british: re.Pattern[str]
    opposites: dict[str, list[str]]
    user: frozenset[str]
    we: frozenset[str]
    pronouns: frozenset[str]


@cache
def _words() -> _Words:
    lists: dict[str, str] = toml_table("vaultmem_languages", "words")["slots"]
    chinese, american = _pairs(lists["chinese_names"]), _pairs(lists["american"])
    opposites: dict[str, list[str]] = {}
    for one, other in (pair.split() for pair in _items(lists["opposites"])):
        opposites.setdefault(one, []).append(other)
        opposites.setdefault(other, []).append(one)
    longest_first = sorted(chinese, key=len, reverse=True)
    return _Words(
        {**{name: name for name in lists["english"].split()}, **_pairs(lists["english_names"])},
        chinese,
        lazy(f"^(.*?)的?({'|'.join(longest_first)})$", re.DOTALL),
        american,
        re.compile(rf"\b(?:{'|'.join(american)})\b"),
        opposites,
        frozenset(_items(lists["user"])),
        frozenset(_items(lists["we"])),
        frozenset(lists["pronouns"].split()),
    )


def _items(text: str) -> list[str]:
    return " ".join(text.split()).split(", ")


def _pairs(text: str) -> dict[str, str]:
    return dict(item.split(" = ") for item in _items(text))


def fold(value: str) -> str:
    """The normal form of a value: no case, no article, no punctuation around it, days as `m05 d03`."""
    plain = " ".join(unicodedata.normalize("NFKC", value).casefold().replace("’", "'").split())
    plain = _ARTICLES.sub("", plain.strip(_AROUND)).strip(_AROUND)
    if not any(letter.isdigit() for letter in plain) and "月" not in plain:
        return plain
    plain = _THOUSANDS.sub("", plain)
    plain = _ISO.sub(lambda m: f"{m[1]} {_day(m[2], m[3])}", plain)
    plain = _HAN_DAY.sub(lambda m: _day(m[1], m[2]), plain)
    plain = _DAY_FIRST.sub(lambda m: _day(m[2], m[1]), plain)
    return _MONTH_FIRST.sub(lambda m: _day(m[1], m[2]), plain)


def _day(month: str, day: str) -> str:
    number = MONTHS.get(month[:3]) or han_number(month)
    return f"m{number:02d} d{han_number(day):02d}"


def differ(one: str, other: str) -> bool:
    """Whether two folded values cannot mean the same thing."""
    if one == other or not one or not other or is_other_script(one, other):
        return False
    if bool(_DAY_TOKENS.search(one)) != bool(_DAY_TOKENS.search(other)):
        return False  # "next week" and "3 May" may be the same day
    some, more = sorted((set(_TOKEN.findall(one)), set(_TOKEN.findall(other))), key=len)
    if some <= more:
        return False
    short, long = sorted((one.replace(" ", ""), other.replace(" ", "")), key=len)
    return short not in long or (short + long).isdecimal()


def split_version(value: str) -> tuple[str, str] | None:
    """The name and version of a folded value such as "python 3.11"; None without a version."""
    match = _VERSIONED.match(value)
    return (match[1], match[2] or match[3]) if match else None


def rivals(one: str, other: str) -> bool:
    """Whether two folded values are different versions of one thing; 3.11.4 is still 3.11."""
    mine, theirs = split_version(one), split_version(other)
    if mine is None or theirs is None or mine[0] != theirs[0]:
        return False
    pairs = zip(mine[1].split("."), theirs[1].split("."), strict=False)
    return any(a != b for a, b in pairs)


def is_other_script(one: str, other: str) -> bool:
    """Whether two values are in different scripts: 里斯本 and "Lisbon" may be the same."""
    if (one + other).isascii() or bool(_HAN.search(one)) == bool(_HAN.search(other)):
        return False
    return bool(_LATIN.search(one) or _LATIN.search(other))


def opposite(one: str, other: str) -> str | None:
    """The common part of two opposite folded values ("mode" of light mode and dark mode); None when they are not
    opposites."""
    if one == other:
        return None
    for word in one.split():
        rest = one.replace(word, "", 1).split()
        for against in _words().opposites.get(word, ()):
            if sorted(other.split()) == sorted([against, *rest]):
                return " ".join(rest)
    for word, others in _words().opposites.items():
        if word in one and not word.isascii() and _HAN.match(word):
            for against in others:
                if one.replace(word, against, 1) == other:
                    return one.replace(word, "", 1).strip()
    return None


class Fact(NamedTuple):
    """The parts of a clause, as written; `property` is canonical."""

    subject: str
    property: str
    value: str
    negated: bool = False
    where: str = ""
    over: str = ""
    plural: bool = False  # "are": several values at once
    language: str = ""  # of the clause, where it is not English and in the same script


class Slot(NamedTuple):
    """A property by its name, and its owner."""

    owner: str  # folded; "" when nobody is named
    name: str


_CHOSEN = lazy(r"(?:^|\s)(favou?rite|preferred|default|primary|main) (\S+(?: \S+)?)$")
_POSSESSIVE = lazy(r"^(.+?)'s? (.+)$")
_OF = lazy(r"^(.+?) (?:of|for|in|on) (?:the )?(.+)$")
_MINE = lazy(r"^(my|our|your|his|her|their|its) (.+)$")
_PEOPLE = {
    "my": "user", "our": "we", "your": "you", "his": "he", "her": "she", "their": "they", "its": "it",
}  # fmt: skip

_CHINESE_CHOSEN = lazy(r"^(.*?)(最喜欢的|最爱的|首选的?|默认的?)(.{1,12})$")


def canonical_subject(text: str) -> str:
    """A folded subject: the user, we, or what it says."""
    plain = fold(text)
    plain = plain.removeprefix("user ") if plain.startswith("user named ") else plain
    if plain in _words().user:
        return "user"
    return "we" if plain in _words().we else plain


def is_pronoun(subject: str) -> bool:
    """Whether the subject cannot be identified from the text alone."""
    return subject in _words().pronouns


def slot(subject: str) -> Slot | None:
    """The slot that the subject of "… is …" ends in: "Anne's birthday", "生日"; None without one."""
    written = " ".join(subject.casefold().replace("’", "'").split())
    written = _words().british.sub(lambda match: _words().american[match[0]], written)
    return _english_slot(written) or (None if written.isascii() else _chinese_slot(written))


def _english_slot(written: str) -> Slot | None:
    plain = re.sub(r"^(?:the|an?) ", "", written)
    if named := _words().names.get(plain):
        return Slot("", named)
    for form, owner, thing in ((_MINE, 1, 2), (_POSSESSIVE, 1, 2), (_OF, 2, 1)):
        match = form.match(plain)
        if match and (inner := _ending(match[thing])):
            whose = _PEOPLE.get(match[owner]) or canonical_subject(match[owner])
            return Slot(f"{whose} {inner.owner}".strip(), inner.name)
    return _ending(plain)


def _ending(plain: str) -> Slot | None:
    words = plain.split(" ")
    chosen = _CHOSEN.search(plain)
    for count in (3, 2, 1):
        name = _words().names.get(" ".join(words[-count:])) if len(words) >= count else None
        if name and not (chosen and chosen[1].startswith("fav")):
            return Slot(canonical_subject(" ".join(words[:-count])), name)
    if chosen:
        kind = "favourite" if chosen[1].startswith("fav") else chosen[1]
        return Slot(canonical_subject(plain[: chosen.start()]), f"{kind} {chosen[2]}")
    return None


def _chinese_slot(written: str) -> Slot | None:
    chosen = _CHINESE_CHOSEN.match(written)
    if chosen and chosen[3] not in _words().chinese:
        kind = "favourite" if chosen[2].startswith("最") else chosen[2].rstrip("的")
        return Slot(canonical_subject(chosen[1].removesuffix("的")), f"{kind} {chosen[3]}")
    match = _words().chinese_slot.match(written)
    if not match:
        return None
    return Slot(canonical_subject(match[1].removesuffix("最后")), _words().chinese[match[2]])


# Sentences of a fixed form.

_UNITS = {  # as written: (counted in, how many of these)
    "minute": ("minutes", 1), "hour": ("minutes", 60), "day": ("days", 1), "week": ("days", 7),
    "month": ("months", 1), "quarter": ("months", 3), "year": ("months", 12), "分钟": ("minutes", 1),
    "小时": ("minutes", 60), "天": ("days", 1), "周": ("days", 7), "星期": ("days", 7), "月": ("months", 1),
    "年": ("months", 12),
}  # fmt: skip
_ORDINALS = "|".join(ORDINAL_WORDS)
_EVERY, _HAN_EVERY = pattern("slots", "every", spelled=SPELLED), pattern("slots", "han_every")
_FLOOR, _HAN_FLOOR = pattern("slots", "floor", ordinals=_ORDINALS), pattern("slots", "han_floor")
_NAME = r"[A-Z][\w'’.-]*(?:\s(?:(?:de|del|di|da|do|la|of|the|am|upon)\s)?[A-Z][\w'’.-]*)*"
_MOVED = pattern("slots", "moved", 0, place=_NAME)
_COMPOUND = lazy(
    r"(?!(?:Mac|Des|Les|Van|Fitz)[A-Z])(?:[A-Z][a-z]{2,}|[a-z]+)[A-Z]|.*\d|\w{3,}(?i:ism)$"
)
_HAN_MOVED = pattern("slots", "han_moved")
_GERMAN_HOME = pattern("slots", "german_home", 0, place=_NAME)
# Someone who moved recently still lives there, and who left does not return; "last month" alone is past.
_MOVES = lazy(
    r"\b(?:moved|relocated)\b.*\bto\b|\bnew (?:job|position|post)\b"
    r"|\b(?:quit|left|resigned|fired|laid off)\b|搬(?:家)?[到去来回]|[离辞]职",
    re.IGNORECASE,
)
_LATELY = pattern("slots", "lately")
_HAN_NO_PLACE = pattern("slots", "han_no_place")
_OPEN = pattern("slots", "open")  # negated, or about somebody who is not named: no statement
_FILLING = pattern("slots", "filling")


def fixed_fact(clause: str) -> Fact | None:
    """The fact of a clause that has one of these forms. Each is tried only where one of its signs stands in the clause,
    which is cheap to find."""
    low = clause.lower()
    found = (form(clause) for form, signs in _FORMS if any(sign in low for sign in signs))
    return next(filter(None, found), None)


def _rhythm(clause: str) -> Fact | None:
    """How often something happens. Units other than days are not compared, as a month may be 30 days."""
    if match := _EVERY.match(clause):
        what = match["what"]
    elif match := None if clause.isascii() else _HAN_EVERY.match(clause):
        what = f"{match['before']}{match['after']}".removeprefix("我们")
        what = what.replace("一次", "").replace("要", "")
    else:
        return None
    what = _FILLING.sub("", what.strip())
    if _OPEN.search(what) or len(what) < 2:
        return None
    counted, size = _UNITS[match["unit"].lower()]
    count = match["count"] or "1"
    many = 2 if count.lower() == "other" else int(figures(count))
    return Fact(what, f"every so many {counted}", str(many * size))


def _floor(clause: str) -> Fact | None:
    match = _FLOOR.match(clause) or (None if clause.isascii() else _HAN_FLOOR.match(clause))
    if not match or not match["level"] or _OPEN.search(match["subject"]):
        return None
    level = match["level"].lower()
    if level == "ground":
        return Fact(match["subject"], "floor", "0")
    number = ordinal(level) if re.match(r"[a-z]|\d+[a-z]", level) else han_number(level)
    return Fact(match["subject"], "floor", str(number))


def without_recency(sentence: str) -> str:
    """A sentence without words that say that a move was recent; any other unchanged."""
    return _LATELY.sub("", sentence) if _MOVES.search(sentence) else sentence


def _residence(clause: str) -> Fact | None:
    """The residence of somebody who moved. Precision before recall: a place is a name, but not a tool that people
    move to."""
    if (home := _GERMAN_HOME.match(clause)) and not _OPEN.search(home["subject"]):
        fact = Fact(home["subject"], "lives in", home["value"], language="german")
        return None if is_no_place(home["value"]) else fact
    if not _MOVES.search(clause):
        return None
    clause = _LATELY.sub("", clause).strip()
    match = _MOVED.match(clause)
    if match:
        named = [match[group] for group in ("value", "left", "source") if match[group]]
        is_home = not any(is_no_place(name) for name in named)
    else:
        match = _HAN_MOVED.match(clause)
        is_home = match is not None and not _HAN_NO_PLACE.search(match["value"])
    if not match or not is_home or _OPEN.search(match["subject"]):
        return None
    return Fact(match["subject"], "lives in", match["value"])


_JOBS = tuple(
    (pattern("slots", name, 0), name.endswith("left"))
    for name in ("german_works", "german_left", "joined", "left", "han_left")
)


def _job(clause: str) -> Fact | None:
    """Where somebody works, in German, or no longer does."""
    clause = _LATELY.sub("", clause).strip()
    for form, is_over in _JOBS:
        match = form.match(clause)
        if match and not _OPEN.search(match["subject"]):
            return Fact(match["subject"], "works at", match["value"], is_over)
    return None


_FORMS = (
    (_rhythm, ("every", "每")), (_floor, ("floor", "楼", "层")),
    (_residence, ("moved", "relocated", "搬", "wohn", "leb", "gezogen")),
    (_job, ("quit", "left", "resigned", "fired", "sacked", "dismissed", "laid off", "arbeite", "gekündigt", "职",
            "new job", "new position", "new post")),
)  # fmt: skip


def is_no_place(name: str) -> bool:
    """Whether it names something that nobody lives in: "Apple Music", "Team Blue", "Node.js"."""
    words = re.split(r"[\s'’.-]+", name.removeprefix("the "))
    if any(_COMPOUND.match(word) for word in words):
        return True
    return any(" ".join(words[:count]).lower() in _no_places() for count in (1, 2))


@cache
def _no_places() -> frozenset[str]:
    """Names that people move to without relocating: programs, companies, faiths, teams."""
    lists = toml_table("vaultmem_languages", "words")["moves"].values()
    return frozenset(name.replace("-", " ") for names in lists for name in names.split())
