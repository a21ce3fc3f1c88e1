"""What a subject may have one of at a time (a birthday, a port, a favourite editor), and who a subject is."""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from typing import NamedTuple

from vaultmem.languages.when_words import MONTHS, han_number
from vaultmem.text.values import lazy, table

# Values of facts, folded so that they compare: dates, numbers, articles, and pairs of words that exclude each other.

_MONTH_NAMES = (
    r"jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?"
)
_DAY_FIRST = lazy(rf"\b(\d{{1,2}})(?:st|nd|rd|th)?(?: of)? ({_MONTH_NAMES})\b\.?")
_MONTH_FIRST = lazy(rf"\b({_MONTH_NAMES})\b\.? (?:the )?(\d{{1,2}})(?:st|nd|rd|th)?(?![\d:])")
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
    american: dict[str, str]  # what is written in two ways on two sides of the sea
    british: re.Pattern[str]
    opposites: dict[str, list[str]]
    user: frozenset[str]
    we: frozenset[str]
    pronouns: frozenset[str]


@cache
def _words() -> _Words:
    lists: dict[str, str] = table("vaultmem.languages", "words")["slots"]
    chinese, american = _pairs(lists["chinese_names"]), _pairs(lists["american"])
    opposites: dict[str, list[str]] = {}
    for one, other in (pair.split() for pair in _items(lists["opposites"])):
        opposites.setdefault(one, []).append(other)
        opposites.setdefault(other, []).append(one)
    longest_first = sorted(chinese, key=len, reverse=True)
    return _Words(
        {**{name: name for name in lists["english"].split()}, **_pairs(lists["english_names"])},
        chinese,
        re.compile(f"^(.*?)的?({'|'.join(longest_first)})$", re.DOTALL),
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


def fold(text: str) -> str:
    """One spelling of a value: no case, no article, no punctuation around it, days as `m05 d03`."""
    plain = " ".join(unicodedata.normalize("NFKC", text).casefold().replace("’", "'").split())
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


def is_day(value: str) -> bool:
    """Whether a folded value names a day of the year."""
    return _DAY_TOKENS.search(value) is not None


def differ(one: str, other: str) -> bool:
    """Whether two folded values cannot be the same thing said in other words."""
    if one == other or not one or not other or _other_script(one, other):
        return False
    if is_day(one) != is_day(other):
        return False  # "next week" and "3 May" may be the same day
    some, more = sorted((set(_TOKEN.findall(one)), set(_TOKEN.findall(other))), key=len)
    if some <= more:
        return False
    short, long = sorted((one.replace(" ", ""), other.replace(" ", "")), key=len)
    return short not in long or (short + long).isdecimal()


def versioned(value: str) -> tuple[str, str] | None:
    """Name and version of a folded value such as "python 3.11"; None where it ends in no version."""
    found = _VERSIONED.match(value)
    return (found[1], found[2] or found[3]) if found else None


def rivals(one: str, other: str) -> bool:
    """Whether two folded values are versions of one thing that exclude each other: 3.11.4 is still 3.11."""
    mine, theirs = versioned(one), versioned(other)
    if mine is None or theirs is None or mine[0] != theirs[0]:
        return False
    pairs = zip(mine[1].split("."), theirs[1].split("."), strict=False)
    return any(a != b for a, b in pairs)


def _other_script(one: str, other: str) -> bool:
    """里斯本 and "Lisbon" are not different as far as we can tell."""
    if bool(_HAN.search(one)) == bool(_HAN.search(other)):
        return False
    return bool(_LATIN.search(one) or _LATIN.search(other))


def opposite(one: str, other: str) -> str | None:
    """What two folded values that are opposites share ("mode" of light mode and dark mode); None
    when they are no opposites."""
    if one == other:
        return None
    for word in one.split():
        rest = one.replace(word, "", 1).split()
        for against in _words().opposites.get(word, ()):
            if sorted(other.split()) == sorted([against, *rest]):
                return " ".join(rest)
    for word, others in _words().opposites.items():
        if _HAN.match(word) and word in one:
            for against in others:
                if one.replace(word, against, 1) == other:
                    return one.replace(word, "", 1).strip()
    return None


class Slot(NamedTuple):
    """A property by its name, and of whom or what."""

    owner: str  # folded; "" when nobody is named
    name: str


_CHOSEN = lazy(r"(?:^|\s)(favou?rite|preferred|default|primary|main) (\S+(?: \S+)?)$")
_POSSESSIVE = lazy(r"^(.+?)'s? (.+)$")
_OF = lazy(r"^(.+?) (?:of|for|in|on) (?:the )?(.+)$")
_MINE = lazy(r"^(my|our|your|his|her|their|its) (.+)$")
_PEOPLE = {
    "my": "user",
    "our": "we",
    "your": "you",
    "his": "he",
    "her": "she",
    "their": "they",
    "its": "it",
}

_CHINESE_CHOSEN = lazy(r"^(.*?)(最喜欢的|最爱的|首选的?|默认的?)(.{1,12})$")


def canonical_subject(text: str) -> str:
    """A folded subject: the user, we, or what it says."""
    plain = fold(text)
    plain = plain.removeprefix("user ") if plain.startswith("user named ") else plain
    if plain in _words().user:
        return "user"
    return "we" if plain in _words().we else plain


def is_pronoun(subject: str) -> bool:
    """Whether nobody can tell from the text alone who that is."""
    return subject in _words().pronouns


def slot(subject: str) -> Slot | None:
    """The slot that the subject of "… is …" ends in: "Anne's birthday", "生日"; None when it is none."""
    written = " ".join(subject.casefold().replace("’", "'").split())
    written = _words().british.sub(lambda found: _words().american[found[0]], written)
    return _english_slot(written) or _chinese_slot(written)


def _english_slot(written: str) -> Slot | None:
    plain = re.sub(r"^(?:the|an?) ", "", written)
    named = _named(plain)
    if named:
        return Slot("", named)
    for pattern, owner, thing in ((_MINE, 1, 2), (_POSSESSIVE, 1, 2), (_OF, 2, 1)):
        found = pattern.match(plain)
        if found and (inner := _ending(found[thing])):
            whose = _PEOPLE.get(found[owner]) or canonical_subject(found[owner])
            return Slot(f"{whose} {inner.owner}".strip(), inner.name)
    return _ending(plain)


def _named(plain: str) -> str:
    """The canonical name of a slot; "" when these words are none."""
    return _words().names.get(plain, "")


def _ending(plain: str) -> Slot | None:
    words = plain.split(" ")
    chosen = _CHOSEN.search(plain)
    for count in (3, 2, 1):
        name = _named(" ".join(words[-count:])) if len(words) >= count else ""
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
    found = _words().chinese_slot.match(written)
    if not found:
        return None
    return Slot(canonical_subject(found[1].removesuffix("最后")), _words().chinese[found[2]])
