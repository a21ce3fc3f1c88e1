"""Tells whether the text after a word such as "password" or "token" is a secret or merely mentions one."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable
from functools import cache, partial
from itertools import pairwise

from vaultmem.light import NamedTuple
from vaultmem.text.values import lazy, toml_table

SHORTEST_TOKEN = 12
_BITS = 3.0  # bits per letter in random text; long words and names have less, or no digits

_MIXED_TOKEN = 16
_CHANGES = 0.45  # share of letter pairs: 0.5 or more by chance, 0.2 to 0.4 in names

_PLACEHOLDER = lazy(lambda: _words("placeholder"), re.IGNORECASE)
_CODE = lazy(r"[A-Za-z_$]\w*(?:(?:\.|->|::)[A-Za-z_]\w*)+$")
_PLACE = lazy(r"(?:\.{0,2}/|~/|[A-Za-z]:[\\/])|.*://")
_MAIL = lazy(r"[\w.+-]+@[\w-]+\.[\w.-]+$")
_VERSION_OR_DAY = lazy(r"[vV]?\d{1,4}(?:[.:/-]\d{1,4}){1,4}[a-z]?$")
_ALGORITHM = lazy(lambda: _words("algorithm"), re.IGNORECASE)
_NUMBERED = lazy(r"(?:[A-Za-z]{1,4}\d{1,3}|\d{1,3}[a-z]{1,2})$")
_PASSPHRASE = lazy(r"[A-Za-z]{3,12}([-_.])[A-Za-z]{3,12}(?:\1[A-Za-z]{3,12}){2,8}[.,:;!?]?$")
_OWN_NAME = lazy(r"pass(?:word|wd|phrase)|secret|token|pwd|key$", re.IGNORECASE)
_NUMBERED_WORD = lazy(r"[a-z]+\d{2,8}[!?.]?$")
_LETTERS_AND_NUMBER = lazy(r"[a-z]+\d{4,}[a-z\d]*$")
_WORD_AND_DAY = lazy(r"[a-z]+(?:19|20)\d{2}(?:\d{2}){0,2}[a-z]*$")  # screenshots20241122
_SEPARATOR = lazy(r"[-_./:]+")
_DIGITS = lazy(r"\d+")
_HEX = lazy(r"[0-9a-fA-F]{32,}$")
_ODD = lazy(r"[!@#$%^&*?+~=]")
_LETTER = lazy(r"[A-Za-z]")


def is_token(value: str) -> bool:
    """Whether it looks random enough for a key or token."""
    if len(value) < SHORTEST_TOKEN or _speaks_of_something(value) or _WORD_AND_DAY.match(value):
        return False
    if _HEX.match(value) or (len(value) >= _MIXED_TOKEN and _LETTERS_AND_NUMBER.match(value)):
        return True
    if not _LETTER.search(value) or (len(_DIGITS.findall(value)) < 2 and not _jumps(value)):
        return False
    return _bits(value) >= _BITS


def _jumps(value: str) -> bool:
    """Whether capitals, small letters and digits alternate as if by chance: aNameOfTwoOrThreeWords changes between
    words, a random text at every second letter. Without a digit it may be iPhoneXSMaxVSiPadOS."""
    if len(value) < _MIXED_TOKEN or not value.isalnum() or value.islower() or value.isupper():
        return False
    if not _DIGITS.search(value):
        return False
    kinds = [
        "0" if character.isdigit() else "A" if character.isupper() else "a" for character in value
    ]
    changes = sum(character != other for character, other in pairwise(kinds))
    return changes >= _CHANGES * (len(value) - 1)


def is_password(value: str) -> bool:
    """Whether it could be a password chosen by a person: a single word counts as prose, four joined ones do not."""
    if _PASSPHRASE.match(value):
        return not (is_placeholder(value) or _CODE.match(value) or _OWN_NAME.search(value))
    if len(value) < 6 or _speaks_of_something(value) or _MAIL.match(value):
        return False
    if value.isdigit():
        return True
    inner = value.rstrip(".,:;!?")
    if not _LETTER.search(inner):
        return False
    if _ODD.search(inner) or _NUMBERED_WORD.match(value):
        return True  # secret123 is a common password, userPassword2 is a name
    return any(map(str.isdigit, inner)) and not _OWN_NAME.search(inner)


def is_placeholder(value: str) -> bool:
    """Whether it is a placeholder for a secret."""
    return bool(_PLACEHOLDER.search(value)) or value.lower() in _NO_SECRETS


_NO_SECRETS = frozenset(
    "password passwd pass pw pwd secret token user username login none null true false key apikey".split()
)


def _speaks_of_something(value: str) -> bool:
    """Whether it is a path, a version, a name in code, or words with dashes: not a secret."""
    if is_placeholder(value) or _PLACE.match(value) or _VERSION_OR_DAY.match(value):
        return True
    return bool(_CODE.match(value)) or bool(_ALGORITHM.match(value)) or _is_slug(value)


def _is_slug(value: str) -> bool:
    """Whether it consists of words and short numbers with separators: gpt-4o-mini, user_name_2."""
    if _ODD.search(value):
        return False
    pieces = [piece for piece in _SEPARATOR.split(value) if piece]
    if len(pieces) < 2:
        return False
    return all(_is_word(piece) for piece in pieces)


def _is_word(piece: str) -> bool:
    if piece.isalpha():
        return len(piece) <= 20
    if piece.isdigit():
        return len(piece) <= 4
    return bool(_NUMBERED.match(piece) or _ALGORITHM.match(piece))


def _bits(value: str) -> float:
    size = len(value)
    return -sum(n / size * math.log2(n / size) for n in Counter(value).values())


def mark(kind: str) -> str:
    """The text that replaces a secret."""
    return f"[redacted: {kind}]"


def _marking(
    kind_of: Callable[[re.Match[str]], str], kinds: list[str]
) -> Callable[[re.Match[str]], str]:
    """A replacement function for re.sub: it puts a mark in place of the group "value" if `kind_of` says that it is a
    secret, and adds the kind to `kinds`; "" means that it is not."""

    def marked(match: re.Match[str]) -> str:
        if not (kind := kind_of(match)):
            return match[0]
        kinds.append(kind)
        begin, end = match.start("value") - match.start(), match.end("value") - match.start()
        return f"{match[0][:begin]}{mark(kind)}{match[0][end:]}"

    return marked


# Secrets recognized by the name before them: "password: ...", "API_KEY=...", --token ..., <password>.


def _words(name: str) -> str:
    text: str = toml_table("vaultmem.text", "secrets")["words"][name]
    return text.replace("\n", "")


def _name() -> str:
    return rf"(?i:(?P<password>{_words('people')})|(?P<token>{_words('machines')}))"


_SIGN = (
    r"(?:[ \t]{0,4}(?:=>|:=|[:=：＝])[ \t]{0,4}\*{0,2}[ \t]?"
    r"|(?:[ \t]{1,3}[\w-]{1,20}){0,4}?[ \t]{1,3}(?:is|ist|lautet)[ \t]{1,3}"  # … of the router is …
    r"|[ \t]?[是为為][ \t]?)"
)
_VALUE_CHARS = r"(?:(?!&\w{1,40}=)[!#-&*-+\--:=?-Z^_a-z~]){6,400}"  # ASCII without quotes, brackets, commas, bars
_NAMED = lazy(
    lambda: (
        rf"{_name()}[\"'`*\\]{{0,4}}(?P<sign>{_SIGN})[\"'`\\]{{0,3}}"
        rf"(?P<value>(?<=[\"'`])[^\"'`\s\\\[\]]{{6,400}}(?=\\?[\"'`])|{_VALUE_CHARS})(?P<after>.?)"
    )
)
_OPTION = lazy(
    r"(?i:--[a-z-]{0,20}(?:(?P<password>pass(?:word|wd|phrase)?)|(?P<token>token|secret|api-?key)))[ \t]{1,4}[\"']?"
    rf"(?P<value>{_VALUE_CHARS})(?P<after>.?)"
)
_XML = lazy(
    r"(?i:<(?:(?P<password>[\w.:-]{0,20}password)|(?P<token>[\w.:-]{0,20}(?:token|secret|api-?key)))>)"
    r"(?P<value>[^<>\s]{6,400})(?P<after></)"
)
_BELOW = lazy(  # a value alone on the next line
    r"[:=：＝]\*{0,2}(?:[ \t]{0,2}[|>][+-]?)?[ \t]{0,8}\r?\n[ \t>]{0,16}[\"'`]?"
    rf"(?P<value>{_VALUE_CHARS})(?=[\"'`]?[ \t]{{0,8}}(?:\r?\n|\Z))"
)
_NAME_ABOVE = lazy(lambda: rf"{_name()}[\"'`*]{{0,4}}[ \t]{{0,4}}$")
_LONGEST_NAME = 60
_CODE_FOLLOWS = frozenset("([{")
_ENDS = lazy(r"[\s.,;!?。，；\"'`)*&\\]?$")


def redact_assigned(text: str, kinds: list[str]) -> str:
    """The text with a mark in place of each value whose name marks it as secret."""
    for sign, pattern in (("", _NAMED), ("--", _OPTION), ("</", _XML)):
        text = pattern.sub(_marking(_kind_beside, kinds), text) if sign in text else text
    return _BELOW.sub(_marking(_kind_below, kinds), text) if "\n" in text else text


def _kind_beside(match: re.Match[str]) -> str:
    """The kind of a value after a name on the same line; "" for a call or index in code, and for the next word of a
    sentence."""
    after = match["after"]
    if after[:1] in _CODE_FOLLOWS and after:
        return ""
    if not _ENDS.match(after) and after != "</":
        return ""
    return _kind_named(match, match["value"])


def _kind_below(match: re.Match[str]) -> str:
    """The kind of a value on its own line, if the line before names a secret; else ""."""
    at = match.start()
    name = _NAME_ABOVE.search(match.string[max(0, at - _LONGEST_NAME) : at])
    return _kind_named(name, match["value"]) if name else ""


def _kind_named(name: re.Match[str], value: str) -> str:
    if name["password"]:
        return "password" if is_password(value) else ""
    return "token" if is_token(value) else ""


class Form(NamedTuple):
    """One kind of secret. Its pattern is tried only where its `sign` occurs in the text, which is cheap to find."""

    kind: str
    sign: str
    pattern: re.Pattern[str]


@cache
def forms(name: str) -> tuple[Form, ...]:
    """The "forms" in which providers issue their keys, or the "places" where secrets occur."""
    alone = r"(?<![A-Za-z0-9_-])%s(?![A-Za-z0-9_])"
    table = toml_table("vaultmem.text", "secrets")
    rows = (row.split(" | ", 2) for row in table[name].splitlines())
    return tuple(
        Form(
            kind,
            sign,
            lazy(alone % pattern if name == "forms" and pattern[:4] != "(?<=" else pattern),
        )
        for kind, sign, pattern in rows
    )


def redact_in_places(text: str, kinds: list[str]) -> str:
    """The text with a mark in place of each secret recognized by its position, as in URLs."""
    low = text.lower()
    for form in forms("places"):
        if form.sign in low:
            text = form.pattern.sub(_marking(partial(_kind_there, form), kinds), text)
    return text


def _kind_there(form: Form, match: re.Match[str]) -> str:
    value = match["value"]
    is_secret = not is_placeholder(value) if form.kind == "password" else is_token(value)
    return form.kind if is_secret else ""
