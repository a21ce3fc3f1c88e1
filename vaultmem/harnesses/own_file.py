"""A file that is all ours (a skill, a plugin): it says so by a hash of itself, so that one that a person has changed is
known for theirs."""

from __future__ import annotations

import hashlib
import re

from vaultmem.errors import VaultmemError

_MARK = re.compile(r"^((?:  |// )vaultmem: sha256-)([0-9a-f]*)$", re.MULTILINE)
_DIGITS = 16
# The first skill had no hash of itself: that of its text, without the vault.
_FIRST = "1fe8c68b94616df88c3e61446a547d978165dc20d205bb5ab1434a23907b814c"
_VAULT = re.compile(r"(`vaultmem (?!connect)[a-z]+) --vault (?:'[^`]*'|[^\s`]+)")


def signed(text: str) -> str:
    """The text with its hash, where its mark is."""
    return _MARK.sub(lambda mark: mark[1] + _hash(text), text, count=1)


def _hash(text: str) -> str:
    """Of all of the text but its hash."""
    bare = _MARK.sub(lambda mark: mark[1], text, count=1)
    return hashlib.sha256(bare.encode()).hexdigest()[:_DIGITS]


def is_ours(text: str) -> bool:
    """Whether a version of us has written this, to the last byte."""
    mark = _MARK.search(text)
    if mark:
        return mark[2] == _hash(text)
    return hashlib.sha256(_VAULT.sub(r"\1", text).encode()).hexdigest() == _FIRST


def installed(before: str, text: str) -> str:
    """The file with the text in it. Raises VaultmemError when it holds somebody else's."""
    if before and not is_ours(before):
        raise VaultmemError(_THEIRS)
    return text


def uninstalled(before: str) -> str:
    """Nothing, where it was ours. Raises VaultmemError when it is somebody else's."""
    return installed(before, "")


_THEIRS = "it is not as vaultmem wrote it, and was left alone"
