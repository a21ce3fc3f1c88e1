"""Secrets that are known by the name before them: "password: ...", "API_KEY=...", --token ..., <password>."""

from __future__ import annotations

import re

from vaultmem.core.secret_marks import marked
from vaultmem.core.secret_values import is_password, is_token

_OF_PEOPLE = r"pass(?:word|wd|phrase|wort|code)|kennwort|pwd|[_-]pass|口令|密码|密碼|パスワード"
_OF_MACHINES = (
    r"secret|(?<!public)(?<!publickey)(?<!public[ _-])(?<!public[ _-]key[ _-])token|credential|密钥|密鑰|令牌"
    r"|(?:api|app|access|auth|signing|encryption|master|account|private|client|webhook"
    r"|session|service|storage|subscription|license)[ _-]?key"
)
_SIGN = (
    r"(?:[ \t]{0,4}(?:=>|:=|[:=：＝])[ \t]{0,4}\*{0,2}[ \t]?|[ \t]{1,3}(?:is|ist|lautet)[ \t]{1,3}"
    r"|[ \t]?[是为為][ \t]?)"
)
_GIVEN = r"(?:(?!&\w{1,40}=)[!#-&*-+\--:=?-Z^_a-z~]){6,400}"  # ASCII without quotes, brackets, commas, bars
NAMED = re.compile(
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
_BELOW = re.compile(  # a value that has the next line for itself
    r"[:=：＝]\*{0,2}(?:[ \t]{0,2}[|>][+-]?)?[ \t]{0,8}\r?\n[ \t>]{0,16}[\"'`]?"
    rf"(?P<value>{_GIVEN})(?=[\"'`]?[ \t]{{0,8}}(?:\r?\n|\Z))"
)
_NAME_ABOVE = re.compile(
    rf"(?i:(?P<password>{_OF_PEOPLE})|(?P<token>{_OF_MACHINES}))[\"'`*]{{0,4}}[ \t]{{0,4}}$"
)
_LONGEST_NAME = 60
_CODE_FOLLOWS = frozenset("([{")
_ENDS = re.compile(r"[\s.,;!?。，；\"'`)*&\\]?$")


def assigned(text: str, found: list[str]) -> str:
    """The text with a mark in place of each value that a name says to be secret."""

    def replaced(match: re.Match[str]) -> str:
        kind = "password" if match["password"] else "token"
        if not is_given(match, kind):
            return match[0]
        found.append(kind)
        return marked(match, kind)

    for pattern in (NAMED, _OPTION, _XML):
        text = pattern.sub(replaced, text)
    return _BELOW.sub(lambda match: _below(match, found), text)


def _below(match: re.Match[str], found: list[str]) -> str:
    """The match, with a mark in place of its value if what stands before it is the name of a secret."""
    at = match.start()
    name = _NAME_ABOVE.search(match.string[max(0, at - _LONGEST_NAME) : at])
    if name is None:
        return match[0]
    kind = "password" if name["password"] else "token"
    if not (is_password if name["password"] else is_token)(match["value"]):
        return match[0]
    found.append(kind)
    return marked(match, kind)


def is_given(match: re.Match[str], kind: str) -> bool:
    """Whether the value behind a name is a secret: not a call or an index in code, not the next word of a sentence."""
    value, after = match["value"], match["after"]
    if after[:1] in _CODE_FOLLOWS and after:
        return False
    if not _ENDS.match(after) and after != "</":
        return False
    return is_password(value) if kind == "password" else is_token(value)
