"""The settings of one graph that change how its pages are read: logseq/config.edn."""

from __future__ import annotations

from typing import NamedTuple

from vaultmem_logseq import days, edn

CONFIG = "logseq/config.edn"


class Settings(NamedTuple):
    """What config.edn says, with Logseq's own defaults for the rest."""

    triple_lowbar: bool = False  # :file/name-format; a graph without it is in the legacy format
    title_format: str = days.DEFAULT_TITLE
    file_format: str = days.DEFAULT_FILE
    journals: str = "journals"
    hidden: tuple[str, ...] = ()  # path prefixes
    comma_properties: frozenset[str] = frozenset({"alias", "aliases", "tags"})
    plain_properties: frozenset[str] = frozenset()  # their values hold no references


def from_config(data: bytes | None) -> Settings:
    """The settings in these bytes; an unreadable file gives the defaults."""
    config = edn.read((data or b"").decode("utf-8", "replace").lstrip("\ufeff"))
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


def _text(config: dict[str, edn.Edn], key: str) -> str:
    value = config.get(key)
    return value if isinstance(value, str) and len(value) <= 100 else ""


def _names(config: dict[str, edn.Edn], key: str) -> list[str]:
    values = config.get(key)
    return [value for value in values if isinstance(value, str)] if isinstance(values, list) else []


def _keys(config: dict[str, edn.Edn], key: str) -> frozenset[str]:
    return frozenset(name.lstrip(":").lower().replace("_", "-") for name in _names(config, key))
