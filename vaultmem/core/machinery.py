"""What stands in a note for its editor alone, and says nothing where there is no such editor."""

from __future__ import annotations

import re

_CODE = re.compile(
    r"^[ \t]*(?P<mark>`{3,}|~{3,}).*?^[ \t]*(?P=mark)|`[^`\n]+`", re.MULTILINE | re.DOTALL
)
_UUID = r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
_LINE = r"^[ \t]*(?:[-*][ \t]+)?(?:collapsed|id|heading|background-color|logseq\.[\w.-]+)::[^\n]*(?:\n|\Z)"
_MACHINERY = re.compile(
    rf"%%(?:[^%]|%(?!%))*%%|{_LINE}|\[(?P<label>[^\]\n]+)\]\(\(\({_UUID}\)\)\)"
    rf"|\{{\{{(?:query|renderer|embed[ \t]+\(\({_UUID}\)\))[^{{}}\n]*\}}\}}|\(\({_UUID}\)\)",
    re.MULTILINE,
)  # fmt: skip
_BULLET = re.compile(r"^[ \t]*[-*+][ \t]*\n", re.MULTILINE)


def without_machinery(text: str) -> str:
    """The text without comments, queries, the state of outlines and references to blocks, which only their own vault
    has; code stays as it is."""
    parts, at = [], 0
    for code in _CODE.finditer(text):
        parts += [_cleaned(text[at : code.start()]), code[0]]
        at = code.end()
    return "".join([*parts, _cleaned(text[at:])])


def _cleaned(text: str) -> str:
    found = _MACHINERY.sub(lambda match: match["label"] or "", text)
    return text if found == text else _BULLET.sub("", f"{found}")
