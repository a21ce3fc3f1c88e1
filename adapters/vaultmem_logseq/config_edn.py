"""The settings of one graph that change how its pages are read: logseq/config.edn, and a tolerant reader of EDN."""

from __future__ import annotations

import re

from vaultmem.light import NamedTuple
from vaultmem_logseq.names import DEFAULT_FILE, DEFAULT_TITLE

Edn = None | str | list["Edn"] | dict[str, "Edn"]

_TOKEN = re.compile(
    r"""
    (?P<skip>[\s,]++|;[^\n]*+)
    |(?P<discard>\#_)
    |(?P<open>\#?\{|[\[(])
    |(?P<close>[\])}])
    |\#?"(?P<string>(?>(?:[^"\\]|\\.)*))"
    |(?P<atom>\\.[^\s,()\[\]{}";]*+|[^\s,()\[\]{}";]++)
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_CLOSING = {"{": "}", "#{": "}", "[": "]", "(": ")"}
_TOO_DEEP = 500


class Keyword(str):
    """A keyword such as :hidden, with its colon, so that no string equals it by accident."""

    __slots__ = ()


class _Form:
    """One open bracket with the values read so far."""

    def __init__(self, opening: str) -> None:
        self.opening = opening
        self.values: list[Edn] = []
        self.discards = 0

    def add(self, value: Edn) -> None:
        if self.discards:
            self.discards -= 1
        else:
            self.values.append(value)

    def value(self) -> Edn:
        if self.opening != "{":
            return self.values
        pairs = zip(self.values[::2], self.values[1::2], strict=False)
        return {key: value for key, value in pairs if isinstance(key, str)}


def read_edn(text: str) -> Edn:
    """The first form of the text; None if there is none or the brackets do not match.

    Sets and lists become lists; tagged literals lose their tag. Of numbers, characters and symbols, which no setting
    that is read here has, each is None.
    """
    forms = [_Form("")]
    position = 0
    while token := _TOKEN.match(text, position):
        position = token.end()
        if not _take(token, forms):
            return None
        if len(forms) == 1 and forms[0].values:
            return forms[0].values[0]
    return None


def _take(token: re.Match[str], forms: list[_Form]) -> bool:
    kind, source = token.lastgroup, token[0]
    if kind == "discard":
        forms[-1].discards += 1
    elif kind == "open":
        forms.append(_Form(source))
        return len(forms) < _TOO_DEEP
    elif kind == "close":
        if _CLOSING.get(forms[-1].opening) != source:
            return False
        closed = forms.pop()
        forms[-1].add(closed.value())
    elif kind == "string":
        forms[-1].add(_string(token["string"]))
    elif kind == "atom" and not source.startswith("#"):
        forms[-1].add(Keyword(source) if source.startswith(":") else None)
    return True


def _string(source: str) -> str:
    text = _ESCAPE.sub(
        lambda m: chr(int(m[1][1:], 16)) if len(m[1]) == 5 else _ESCAPED.get(m[1], m[1]), source
    )
    if "\\u" not in source:
        return text
    # Two escapes can be a surrogate pair; a lone surrogate is invalid.
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


class Settings(NamedTuple):
    """The settings in config.edn, with Logseq's defaults for the rest."""

    triple_lowbar: bool = False  # :file/name-format; a graph without it is in the legacy format
    title_format: str = DEFAULT_TITLE
    file_format: str = DEFAULT_FILE
    journals: str = "journals"
    hidden: tuple[str, ...] = ()  # path prefixes
    comma_properties: frozenset[str] = frozenset({"alias", "aliases", "tags"})
    plain_properties: frozenset[str] = frozenset()  # their values hold no references


def from_config(data: bytes | None) -> Settings:
    """The settings in these bytes; an unreadable file gives the defaults."""
    config = read_edn((data or b"").decode("utf-8", "replace").lstrip("\ufeff"))
    if not isinstance(config, dict):
        return Settings()
    default = Settings()
    return Settings(
        triple_lowbar=config.get(":file/name-format") == ":triple-lowbar",
        title_format=_text(config, ":journal/page-title-format") or default.title_format,
        file_format=_text(config, ":journal/file-name-format") or default.file_format,
        journals=_text(config, ":journals-directory").strip("/") or default.journals,
        hidden=tuple(name.lstrip("/") for name in _names(config, ":hidden") if name.strip("/ ")),
        comma_properties=default.comma_properties | _keys(config, ":property/separated-by-commas"),
        plain_properties=_keys(config, ":ignored-page-references-keywords"),
    )


def _text(config: dict[str, Edn], key: str) -> str:
    value = config.get(key)
    return value if isinstance(value, str) and len(value) <= 100 else ""


def _names(config: dict[str, Edn], key: str) -> list[str]:
    values = config.get(key)
    return [value for value in values if isinstance(value, str)] if isinstance(values, list) else []


def _keys(config: dict[str, Edn], key: str) -> frozenset[str]:
    return frozenset(name.lstrip(":").lower().replace("_", "-") for name in _names(config, key))
