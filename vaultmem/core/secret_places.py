"""Secrets that are known by where they stand: in addresses, in commands, in headers."""

from __future__ import annotations

import re
from collections.abc import Callable

from vaultmem.core.secret_marks import marked
from vaultmem.core.secret_values import is_placeholder, is_token

_URL = re.compile(r"://[^\s/:@\"'<>\[\]]{0,100}:(?P<value>[^\s/@\"'<>\[\]]{3,200})@(?=[\w.])")
_NETRC = re.compile(
    r"\b(?:machine\s{1,20}\S{1,200}|default)\s{1,20}login\s{1,20}\S{1,200}\s{1,20}(?:account\s{1,20}\S{1,200}\s{1,20})?password\s{1,20}(?P<value>[!-~]{3,200})"
)
_CURL = re.compile(
    r"\b(?:curl|wget|http)\b[^\n]{0,300}?[ \t](?:-u|--user)[ \t=]{1,4}['\"]?[^\s:'\"]{1,80}:(?P<value>[^\s'\"]{4,200})"
)
BEARER = re.compile(r"(?i:\bbearer)[ \t]{1,4}(?P<value>[A-Za-z0-9._~+/-]{20,2000}={0,2})")
_BASIC = re.compile(
    r"(?i:authorization[\"']?[ \t]?[:=][ \t]?[\"']?basic)[ \t]{1,4}(?P<value>[A-Za-z0-9+/]{8,400}={0,2})"
)
_AWS_SECRET = re.compile(  # in the list of keys that AWS gives, behind the key's own name
    r"(?<=\[redacted: AWS key\])[\s,;:|\"']{1,8}(?P<value>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])"
)


def in_urls(text: str, found: list[str]) -> str:
    """Passwords before the host of an address."""
    return _URL.sub(_value("password", _stands_for_nothing, found), text) if "://" in text else text


def in_commands(text: str, found: list[str]) -> str:
    """What .netrc, curl and headers of HTTP give, and the other half of a key of AWS."""
    for pattern, kind, holds in (
        (_NETRC, "password", _stands_for_nothing), (_CURL, "password", _stands_for_nothing),
        (BEARER, "token", is_token), (_AWS_SECRET, "AWS key", is_token), (_BASIC, "password", _stands_for_nothing),
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
        return marked(match, kind)

    return replaced
