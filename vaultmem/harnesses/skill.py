"""The skill that tells an assistant how to use vaultmem: one text for all of them, which most read in one folder."""

from __future__ import annotations

import os
import re

from vaultmem.core.values import TYPE_CHECKING
from vaultmem.harnesses.own_file import signed
from vaultmem.harnesses.table import HARNESSES

if TYPE_CHECKING:
    from vaultmem.harnesses.table import Harness

_SOURCE = os.path.join(os.path.dirname(os.path.dirname(__file__)), "data", "skill", "SKILL.md")
_BLANK = re.compile(r"\{(?:run:(\w+)|names)\}")


def path_of(harness: Harness) -> str:
    """Where the skill of a harness lies."""
    return _file_in(harness.skills_folder())


def former_path_of(harness: Harness) -> str:
    """Where earlier versions put it, which would now be a second skill of the same name."""
    return _file_in(os.path.join(harness.folder(), "skills"))


def _file_in(folder: str) -> str:
    return os.path.join(folder, "vaultmem", "SKILL.md")


def text_of(program: str, vault: str) -> str:
    """The skill; how vaultmem is called and the vault as the shell wants them, "" for the vault of the person's
    settings."""
    with open(_SOURCE, encoding="utf-8") as file:
        source = file.read()
    named = f" --vault {vault}" if vault else ""
    *names, last = HARNESSES

    def filled(blank: re.Match[str]) -> str:
        return f"{program} {blank[1]}{named}" if blank[1] else f"{', '.join(names)} or {last}"

    return signed(_BLANK.sub(filled, source))
