"""Whether what stands behind the word "password" or "token" is one, or only speaks of one."""

from __future__ import annotations

import math
import re
from collections import Counter
from itertools import pairwise

SHORTEST_TOKEN = 12
_BITS = 3.0  # a letter, in what is random; words and names of many letters have less, or no digits

_MIXED_TOKEN = 16
_CHANGES = 0.45  # of the places between two letters: 0.5 and more by chance, 0.2 to 0.4 in names of several words

_PLACEHOLDER = re.compile(
    r"^(?:[<$%{*\[(@]|\.\.\.|env[.:]|process\.|os\.)|^(.)\1*$|example|change[_-]?(?:me|it|this)|placeholder|dummy"
    r"|redacted|your[_-]|xxxx|\*\*\*|\.\.\.|insert[_-]|goes[_-]?here",
    re.IGNORECASE,
)
_CODE = re.compile(r"[A-Za-z_$]\w*(?:(?:\.|->|::)[A-Za-z_]\w*)+$")
_PLACE = re.compile(r"(?:\.{0,2}/|~/|[A-Za-z]:[\\/])|.*://")
_MAIL = re.compile(r"[\w.+-]+@[\w-]+\.[\w.-]+$")
_VERSION_OR_DAY = re.compile(r"[vV]?\d{1,4}(?:[.:/-]\d{1,4}){1,4}[a-z]?$")
_ALGORITHM = re.compile(
    r"(?:base(?:16|32|58|64|85)(?:url)?|sha-?\d{1,3}(?:-\d{3})?|md[45]|[hrep]s-?\d{3}|aes-?\d{3}(?:-[a-z]{3})?|oauth-?\d?"
    r"|utf-?\d{1,2}|pbkdf2|argon2(?:id|i|d)?|bcrypt\d?|scrypt|ed25519|x25519|rsa-?\d{4}|u?int\d{1,2}|float\d{2}"
    r"|varchar2?|string\d?|web3|auth0|k8s|kerberos5?|ntlmv2|totp6|1password|kdbx4?)$",
    re.IGNORECASE,
)
_NUMBERED = re.compile(r"(?:[A-Za-z]{1,4}\d{1,3}|\d{1,3}[a-z]{1,2})$")
_OWN_NAME = re.compile(r"pass(?:word|wd|phrase)|secret|token|pwd|key$", re.IGNORECASE)
_NUMBERED_WORD = re.compile(r"[a-z]+\d{2,8}[!?.]?$")
_LETTERS_AND_NUMBER = re.compile(r"[a-z]+\d{4,}[a-z\d]*$")
_WORD_AND_DAY = re.compile(r"[a-z]+(?:19|20)\d{2}(?:\d{2}){0,2}[a-z]*$")  # screenshots20241122
_SEPARATOR = re.compile(r"[-_./:]+")
_DIGITS = re.compile(r"\d+")
_HEX = re.compile(r"[0-9a-fA-F]{32,}$")
_ODD = re.compile(r"[!@#$%^&*?+~=]")
_LETTER = re.compile(r"[A-Za-z]")


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
    """Whether capitals, small letters and digits follow each other as only chance has it: aNameOfTwoOrThreeWords
    changes at its words, a random text at every second letter. Without a digit it may be iPhoneXSMaxVSiPadOS."""
    if len(value) < _MIXED_TOKEN or not value.isalnum() or value.islower() or value.isupper():
        return False
    if not _DIGITS.search(value):
        return False
    kinds = ["0" if one.isdigit() else "A" if one.isupper() else "a" for one in value]
    changes = sum(one != other for one, other in pairwise(kinds))
    return changes >= _CHANGES * (len(value) - 1)


def is_password(value: str) -> bool:
    """Whether somebody could have chosen it as a password: a word alone counts as prose."""
    if len(value) < 6 or _speaks_of_something(value) or _MAIL.match(value):
        return False
    if value.isdigit():
        return True
    inner = value.rstrip(".,:;!?")
    if not _LETTER.search(inner):
        return False
    if _ODD.search(inner):
        return True
    if _NUMBERED_WORD.match(value):
        return True  # secret123 is chosen often, userPassword2 is a name
    return any(map(str.isdigit, inner)) and not _OWN_NAME.search(inner)


def is_placeholder(value: str) -> bool:
    """Whether it only stands where a secret would."""
    return bool(_PLACEHOLDER.search(value)) or value.lower() in _WORDS


_WORDS = frozenset(
    "password passwd pass pw pwd secret token user username login none null true false key apikey".split()
)


def is_word(run: str) -> bool:
    """Whether letters alone are in it, written as words are."""
    return run.isalpha() and (run.islower() or run.istitle() or run.isupper())


def _speaks_of_something(value: str) -> bool:
    """A place, a version, a name in code, words with dashes: nothing that opens a door."""
    if is_placeholder(value) or _PLACE.match(value) or _VERSION_OR_DAY.match(value):
        return True
    return bool(_CODE.match(value)) or bool(_ALGORITHM.match(value)) or is_slug(value)


def is_slug(value: str) -> bool:
    """Words and short numbers with separators between: gpt-4o-mini, user_name_2."""
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
    """The entropy of its letters, in bits a letter."""
    size = len(value)
    return -sum(n / size * math.log2(n / size) for n in Counter(value).values())
