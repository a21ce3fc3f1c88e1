"""The skill that tells an assistant how to use vaultmem: one file in its folder of skills, marked as ours."""

from __future__ import annotations

import os
import re

from vaultmem.errors import VaultmemError

MARK = "<!-- vaultmem: "
_SOURCE = os.path.join(os.path.dirname(os.path.dirname(__file__)), "data", "skill", "SKILL.md")
_COMMAND = re.compile(r"(`vaultmem (?!connect)[a-z]+)")
FOLDERS = {"claude": "skills/vaultmem/SKILL.md"}  # below the folder of the harness's settings


def path_of(name: str, settings: str) -> str | None:
    """Where the skill of a harness lies, beside its settings; None for one that reads none."""
    inner = FOLDERS.get(name)
    return None if inner is None else os.path.join(os.path.dirname(settings), inner)


def text_of(vault: str) -> str:
    """The skill; `vault` as the shell wants it, "" for the one of the person's settings."""
    with open(_SOURCE, encoding="utf-8") as file:
        text = file.read()
    return _COMMAND.sub(lambda found: f"{found[1]} --vault {vault}", text) if vault else text


def installed(before: str, text: str) -> str:
    """The file with the skill in it. Raises VaultmemError when it holds somebody else's."""
    if before and MARK not in before:
        raise VaultmemError("it is not of vaultmem, and was left alone")
    return text


def uninstalled(before: str) -> str:
    """Nothing, where it was ours."""
    return "" if MARK in before else before
