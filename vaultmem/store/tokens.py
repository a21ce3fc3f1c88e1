"""How many tokens a text has, by the tokenizer that is shipped. Counts are remembered by the hash of the text."""

from __future__ import annotations

import hashlib
import threading
from typing import TYPE_CHECKING

from vaultmem.store import minilm

if TYPE_CHECKING:
    from tokenizers import Tokenizer

MOST_REMEMBERED = 50_000

_lock = threading.Lock()
_known: dict[bytes, int] = {}  # the longest known one comes first
_loaded: list[Tokenizer] = []


def count(text: str) -> int:
    """The tokens of a text, without marks around it."""
    data = text.encode("utf-8", "replace")
    key = hashlib.blake2b(data, digest_size=16).digest()
    found = _known.get(key)
    if found is not None:
        return found
    counted = len(_tokenizer().encode(data.decode(), add_special_tokens=False))
    with _lock:
        while len(_known) >= MOST_REMEMBERED:
            del _known[next(iter(_known))]
        _known[key] = counted
    return counted


def _tokenizer() -> Tokenizer:
    with _lock:
        if not _loaded:
            _loaded.append(minilm.tokenizer())
        return _loaded[0]
