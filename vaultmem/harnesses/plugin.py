"""The plugin that stands for a start-up hook where a harness runs no commands (opencode): a file that is all ours."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence

from vaultmem.harnesses.own_file import signed

_SOURCE = os.path.join(os.path.dirname(os.path.dirname(__file__)), "data", "opencode", "plugin.js")


def text_of(command: Sequence[str]) -> str:
    """The plugin that asks this command, by its program and words: no shell is between."""
    with open(_SOURCE, encoding="utf-8") as file:
        return signed(file.read().replace("{command}", json.dumps(command)))
