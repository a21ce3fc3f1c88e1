"""The skill that tells an assistant how to use vaultmem: one file in its folder of skills, which says by a hash of
itself that it is ours, so that one that a person has changed is known for theirs."""

from __future__ import annotations

import hashlib
import os
import re

from vaultmem.core.values import TYPE_CHECKING
from vaultmem.errors import VaultmemError

if TYPE_CHECKING:
    from vaultmem.harnesses.table import Harness

_SOURCE = os.path.join(os.path.dirname(os.path.dirname(__file__)), "data", "skill", "SKILL.md")
_BLANK = re.compile(r"\{(?:run:(\w+)|(\w+))\}")
_MARK = re.compile(r"^(  vaultmem: sha256-)([0-9a-f]*)$", re.MULTILINE)
_DIGITS = 16
# The first one had no hash of itself: that of its text, without the vault.
_FIRST = "1fe8c68b94616df88c3e61446a547d978165dc20d205bb5ab1434a23907b814c"
_VAULT = re.compile(r"(`vaultmem (?!connect)[a-z]+) --vault (?:'[^`]*'|[^\s`]+)")


def path_of(harness: Harness) -> str:
    """Where the skill of a harness lies."""
    return os.path.join(harness.skills_folder(), "vaultmem", "SKILL.md")


def text_of(harness: Harness, program: str, vault: str) -> str:
    """The skill; how vaultmem is called and the vault as the shell wants them, "" for the vault of the person's
    settings."""
    with open(_SOURCE, encoding="utf-8") as file:
        source = file.read()
    named = f" --vault {vault}" if vault else ""
    said = {"name": harness.name, "title": harness.title}

    def filled(blank: re.Match[str]) -> str:
        return f"{program} {blank[1]}{named}" if blank[1] else said[blank[2]]

    text = _BLANK.sub(filled, source)
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
    """The file with the skill in it. Raises VaultmemError when it holds somebody else's."""
    if before and not is_ours(before):
        raise VaultmemError(_THEIRS)
    return text


def uninstalled(before: str) -> str:
    """Nothing, where it was ours. Raises VaultmemError when it is somebody else's."""
    if before and not is_ours(before):
        raise VaultmemError(_THEIRS)
    return ""


_THEIRS = "it is not as vaultmem wrote it, and was left alone"
