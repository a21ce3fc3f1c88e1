"""What vaultmem setup has done, in <state root>/setup.json, for its --undo; and lines in the person's own settings."""

from __future__ import annotations

import json
import os
from typing import NamedTuple

from vaultmem import paths
from vaultmem.errors import VaultmemError

RECORD = "setup.json"


class Done(NamedTuple):
    """A step that was done, as far as it has to be known to take it back: no content of anybody's settings."""

    kind: str  # setting, assistant, service, agent
    what: str
    vault: str = ""
    name: str = ""  # of the assistant
    parts: tuple[str, ...] = ()  # of its integration, that were not there before
    # Of the settings: before ("" where there was none), and now.
    lines: tuple[tuple[str, str], ...] = ()


def _record_file() -> str:
    return os.path.join(paths.state_root(), RECORD)


def recorded_steps() -> list[Done]:
    """What earlier runs have done and nobody has taken back, the first first."""
    try:
        with open(_record_file(), encoding="utf-8") as file:
            steps = json.load(file)["steps"]
    except FileNotFoundError:
        return []
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise VaultmemError(
            f"{_record_file()} cannot be read, which says what setup did: {error}"
        ) from error
    return [
        Done(**{**one, "parts": tuple(one["parts"]), "lines": tuple(map(tuple, one["lines"]))})
        for one in steps
    ]


def keep(steps: list[Done]) -> None:
    """Replace the record, whole or not at all."""
    paths.make_private(paths.state_root())
    rows = {"steps": [one._asdict() for one in steps]}
    paths.replace_private(_record_file(), json.dumps(rows, ensure_ascii=False, indent=1))


# --- settings


def line_of(text: str, key: str) -> str:
    """The line of a setting, "" where it has none."""
    return next((one for one in text.splitlines() if one.startswith(f"{key}:")), "")


def former(text: str, lines: tuple[tuple[str, str], ...]) -> str:
    """The settings with their former lines; those that were changed since stay."""
    for before, now in lines:
        text = text.replace(f"{now}\n", f"{before}\n" if before else "", 1)
    return text
