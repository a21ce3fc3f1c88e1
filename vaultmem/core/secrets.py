"""Secrets in a text, which no memory should hold: keys, tokens, private keys, passwords behind their names.

What is found is replaced by a mark that says what was there. A false alarm costs a piece of somebody's note, so that a
value counts only where it has the form of a key, looks random behind the name of one, or stands behind the word
"password" and is no word itself. All of it is linear in the text: every repetition in a pattern has a limit.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from vaultmem.core.secret_forms import FORMS
from vaultmem.core.secret_values import is_password, is_placeholder, is_token


class Redacted(NamedTuple):
    """A text without its secrets, and the kinds of what was taken out, in no order."""

    text: str
    kinds: tuple[str, ...]


def redacted(text: str) -> Redacted:
    """The text with a mark in place of each secret. Redacting it again changes nothing."""
    found: list[str] = []
    for step in (_private_keys, _known_forms, _in_urls, _in_commands, _assigned):
        text = step(text, found)
    return Redacted(text, tuple(found))


def mark(kind: str) -> str:
    """What stands in place of a secret."""
    return f"[redacted: {kind}]"


# --- Private keys

_BEGIN = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_END = re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_BODY = re.compile(r"[A-Za-z0-9+/=]{24}")
_CUT_OFF = re.compile(r"(?:\s{0,4}(?:\\n)?[ \t>]{0,8}[A-Za-z0-9+/=]{24,200}(?:\\n)?){1,1000}")
_PRIVATE_KEY = "private key"


def _private_keys(text: str, found: list[str]) -> str:
    begins = list(_BEGIN.finditer(text))
    parts: list[str] = []
    at = 0
    for number, begin in enumerate(begins):
        if begin.start() < at:
            continue
        following = begins[number + 1].start() if number + 1 < len(begins) else len(text)
        end = _key_end(text, begin.end(), following)
        if end is not None:
            parts += [text[at : begin.start()], mark(_PRIVATE_KEY)]
            found.append(_PRIVATE_KEY)
            at = end
    return "".join([*parts, text[at:]])


def _key_end(text: str, begin: int, most: int) -> int | None:
    """Where the key ends whose first line ends at `begin`; None when no key is behind it, as where a manual tells how
    one begins."""
    closing = _END.search(text, begin, most)
    if closing:
        return closing.end() if _BODY.search(text, begin, closing.start()) else None
    cut_off = _CUT_OFF.match(text, begin, most)
    return cut_off.end() if cut_off else None


# --- Keys with a form of their own

_EXAMPLE = re.compile(r"EXAMPLE|x{6}|X{6}|0{8}|\*{4}")


def _known_forms(text: str, found: list[str]) -> str:
    for kind, sign, pattern in FORMS:
        if sign in text:
            text = pattern.sub(_whole(kind, found), text)
    return text


def _whole(kind: str, found: list[str]) -> Callable[[re.Match[str]], str]:
    """Replaces a match by its mark; an example in some manual stays."""

    def replaced(match: re.Match[str]) -> str:
        if _EXAMPLE.search(match[0]):
            return match[0]
        found.append(kind)
        return mark(kind)

    return replaced


# --- Where they stand

_URL = re.compile(r"://[^\s/:@\"'<>\[\]]{0,100}:(?P<value>[^\s/@\"'<>\[\]]{3,200})@(?=[\w.])")
_NETRC = re.compile(
    r"\blogin\s{1,20}\S{1,200}\s{1,20}(?:account\s{1,20}\S{1,200}\s{1,20})?password\s{1,20}(?P<value>[!-~]{3,200})"
)
_CURL = re.compile(
    r"\b(?:curl|wget|http)\b[^\n]{0,300}?[ \t](?:-u|--user)[ \t=]{1,4}['\"]?[^\s:'\"]{1,80}:(?P<value>[^\s'\"]{4,200})"
)
_BEARER = re.compile(r"(?i:\bbearer)[ \t]{1,4}(?P<value>[A-Za-z0-9._~+/-]{20,2000}={0,2})")
_BASIC = re.compile(
    r"(?i:authorization[\"']?[ \t]?[:=][ \t]?[\"']?basic)[ \t]{1,4}(?P<value>[A-Za-z0-9+/]{8,400}={0,2})"
)


def _in_urls(text: str, found: list[str]) -> str:
    return _URL.sub(_value("password", _stands_for_nothing, found), text) if "://" in text else text


def _in_commands(text: str, found: list[str]) -> str:
    for pattern, kind, holds in (
        (_NETRC, "password", _stands_for_nothing), (_CURL, "password", _stands_for_nothing),
        (_BEARER, "token", is_token), (_BASIC, "password", _stands_for_nothing),
    ):  # fmt: skip
        text = pattern.sub(_value(kind, holds, found), text)
    return text


def _stands_for_nothing(value: str) -> bool:
    """Whether it is not only an example."""
    return not is_placeholder(value)


def _value(
    kind: str, holds: Callable[[str], bool], found: list[str]
) -> Callable[[re.Match[str]], str]:
    """Replaces the value of a match by a mark where it is one, and nothing of what is around it."""

    def replaced(match: re.Match[str]) -> str:
        if not holds(match["value"]):
            return match[0]
        found.append(kind)
        return _marked(match, kind)

    return replaced


def _marked(match: re.Match[str], kind: str) -> str:
    begin, end = match.start("value") - match.start(), match.end("value") - match.start()
    return f"{match[0][:begin]}{mark(kind)}{match[0][end:]}"


# --- Behind their names

_OF_PEOPLE = r"pass(?:word|wd|phrase|wort|code)|kennwort|pwd|[_-]pass|口令|密码|密碼|パスワード"
_OF_MACHINES = (
    r"secret|token|credential|密钥|密鑰|令牌|(?:api|app|access|auth|signing|encryption|master|account|private|client|webhook"
    r"|session|service|storage|subscription|license)[ _-]?key"
)
_SIGN = (
    r"(?:[ \t]{0,4}(?:=>|:=|[:=：＝])[ \t]{0,4}\*{0,2}[ \t]?|[ \t]{1,3}(?:is|ist|lautet)[ \t]{1,3}"
    r"|[ \t]?[是为為][ \t]?)"
)
_GIVEN = r"(?:(?!&\w{1,40}=)[!#-&*-+\--:=?-Z^_a-z~]){6,400}"  # ASCII without quotes, brackets, commas, bars
_NAMED = re.compile(
    rf"(?i:(?P<password>{_OF_PEOPLE})|(?P<token>{_OF_MACHINES}))[\"'`*\\]{{0,4}}(?P<sign>{_SIGN})[\"'`\\]{{0,3}}"
    rf"(?P<value>(?<=[\"'`])[^\"'`\s\\\[\]]{{6,400}}(?=\\?[\"'`])|{_GIVEN})(?P<after>.?)"
)
_OPTION = re.compile(
    r"(?i:--[a-z-]{0,20}(?:(?P<password>pass(?:word|wd|phrase)?)|(?P<token>token|secret|api-?key)))[ \t]{1,4}[\"']?"
    rf"(?P<value>{_GIVEN})(?P<after>.?)"
)
_XML = re.compile(
    r"(?i:<(?:(?P<password>[\w.:-]{0,20}password)|(?P<token>[\w.:-]{0,20}(?:token|secret|api-?key)))>)"
    r"(?P<value>[^<>\s]{6,400})(?P<after></)"
)
_CODE_FOLLOWS = frozenset("([{")
_ENDS = re.compile(r"[\s.,;!?。，；\"'`)*&\\]?$")


def _assigned(text: str, found: list[str]) -> str:
    def replaced(match: re.Match[str]) -> str:
        kind = "password" if match["password"] else "token"
        if not _is_given(match, kind):
            return match[0]
        found.append(kind)
        return _marked(match, kind)

    for pattern in (_NAMED, _OPTION, _XML):
        text = pattern.sub(replaced, text)
    return text


def _is_given(match: re.Match[str], kind: str) -> bool:
    """Whether the value behind a name is a secret: not a call or an index in code, not the next word of a sentence."""
    value, after = match["value"], match["after"]
    if after[:1] in _CODE_FOLLOWS and after:
        return False
    if not _ENDS.match(after) and after != "</":
        return False
    return is_password(value) if kind == "password" else is_token(value)
