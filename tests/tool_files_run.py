"""What the tests of the memory tool share."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.lazy import Lazy
from vaultmem_assistants.anthropic_memory import MemoryFiles

lib, sdk = Lazy("anthropic.lib.tools"), Lazy("anthropic.tools")
DIRECTORY = re.compile(r"^\S+(?=\t/memories(?:/(?:\S*/)?)?$)", re.MULTILINE)


@pytest.fixture
def files(vault: Path) -> MemoryFiles:
    return MemoryFiles(str(vault))


def said(tool: sdk.BetaAbstractMemoryTool, command: dict[str, object]) -> tuple[bool, str]:
    """What a tool says to a command, and whether that is no error; sizes of folders are the file system's own."""
    try:
        text = str(tool.call(command))
    except lib.ToolError as error:
        return False, str(error)
    except OSError:
        return False, "the system refused"
    return True, DIRECTORY.sub("?", text)
