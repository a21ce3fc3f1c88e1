"""The record of what `vaultmem setup` did, in <state root>/setup.json, and how it restores a line of the settings."""

from __future__ import annotations

import json
import os
from typing import NamedTuple

from vaultmem import paths
from vaultmem.errors import VaultmemError


class Done(NamedTuple):
    """A completed step with what is needed to undo it, without the content of any settings."""

    kind: str  # setting, assistant, service, agent
    what: str
    vault: str = ""
    name: str = ""  # of the assistant
    parts: tuple[str, ...] = ()  # parts of its integration that were added
    # Lines of the settings: before ("" if there was none), and now.
    lines: tuple[tuple[str, str], ...] = ()


def _record_file() -> str:
    return os.path.join(paths.state_root(), "setup.json")


def recorded_steps() -> list[Done]:
    """The steps of earlier runs that were not undone, first to last."""
    try:
        with open(_record_file(), encoding="utf-8") as file:
            steps = json.load(file)["steps"]
    except FileNotFoundError:
        return []
    except (OSError, ValueError, KeyError, TypeError) as error:
        what = f"{_record_file()}, the record of what setup did, cannot be read"
        raise VaultmemError(f"{what}: {error}") from error
    return [
        Done(**{**step, "parts": tuple(step["parts"]), "lines": tuple(map(tuple, step["lines"]))})
        for step in steps
    ]


def keep(steps: list[Done]) -> None:
    """Atomically replace the record."""
    paths.make_private(paths.state_root())
    rows = {"steps": [step._asdict() for step in steps]}
    paths.replace_private(_record_file(), json.dumps(rows, ensure_ascii=False, indent=1))


def line_of(text: str, key: str) -> str:
    """The line of a setting; "" where it has none."""
    return next((line for line in text.splitlines() if line.startswith(f"{key}:")), "")


def former(text: str, lines: tuple[tuple[str, str], ...]) -> str:
    """The settings with their former lines; lines that were changed since stay."""
    result = text.splitlines(keepends=True)
    for before, now in lines:
        for number, line in enumerate(result):
            bare = line.rstrip("\r\n")
            if bare == now:
                result[number] = before + line[len(bare) :] if before else ""
                break
    return "".join(result)
