"""Links that open a note in its editor."""

from __future__ import annotations

_PLAIN = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_ENCODED = [chr(c) if c in _PLAIN else f"%{c:02X}" for c in range(256)]


def fill(template: str, vault: str, path: str, title: str) -> str:
    """The link for a note; `vault` is the folder's path, of which its name is used."""
    name = vault.rstrip("/\\").replace("\\", "/").rpartition("/")[2]
    parts = {"{vault}": name, "{path}": path, "{title}": title}
    for field, text in parts.items():
        template = template.replace(field, percent_encoded(text))
    return template


def percent_encoded(text: str) -> str:
    """As urllib.parse.quote(text, safe="") does, which costs half a Python start to import."""
    return "".join(map(_ENCODED.__getitem__, text.encode("utf-8", "replace")))
