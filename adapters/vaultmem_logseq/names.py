"""Page names: from file names to titles, and from every spelling to one key."""

from __future__ import annotations

import re
import unicodedata
from urllib.parse import unquote

_ENCODED = re.compile(r"(?:%[0-9a-fA-F]{2})+")
_URL = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:")


def title_from_path(path: str, *, triple_lowbar: bool) -> str:
    """The title that Logseq gives a file by its name alone (R-LS-1, R-LS-2)."""
    if "pages/contents." in path:
        return "Contents"
    stem = path.rpartition("/")[2].rpartition(".")[0]
    if not triple_lowbar:
        return unicodedata.normalize("NFC", _decoded(stem.replace(".", "/")))
    title = _ENCODED.sub(lambda code: _decoded(code[0]), stem.replace("___", "/"))
    return unicodedata.normalize("NFC", "/".join(part for part in title.split("/") if part.strip()))


def canonical(title: str) -> str:
    """The page's identity: NFC, lower case, without outer blanks and slashes."""
    if not title.isascii():
        title = unicodedata.normalize("NFC", title)
    return title.strip().strip("/").strip().lower()


def namespace(title: str) -> str | None:
    """The parent page of "a/b/c", which is "a/b", in canonical form."""
    if "/" not in title or title.startswith(("./", "../")) or "[[" in title or _URL.match(title):
        return None
    return canonical(canonical(title).rpartition("/")[0]) or None


def _decoded(name: str) -> str:
    try:
        return unquote(name, errors="strict")
    except UnicodeDecodeError:
        return name
