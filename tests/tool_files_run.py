"""Shared by the tests of the memory tool."""

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
    """A tool's answer to a command, and whether it succeeded; sizes of folders depend on the file system."""
    try:
        text = str(tool.call(command))
    except lib.ToolError as error:
        return False, str(error)
    except OSError:
        return False, "the system refused"
    return True, DIRECTORY.sub("?", text)
