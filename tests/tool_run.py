"""A vault for tools, and their toolbox."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import Write
from tests.index_dump import synced
from vaultmem import Vault
from vaultmem.api.memory_tools import TOOLS
from vaultmem.api.tool import Call, Outcome
from vaultmem.api.toolbox import Toolbox

OURS = [tool.name for tool in TOOLS]


@pytest.fixture
def opened(vault: Path, write: Write) -> Iterator[Vault]:
    write("Tea.md", "# Tea\n\nOolong from the hill. #drink See [[Cups]].\n")
    write("Cups.md", "# Cups\n\nSix cups for oolong.\n")
    write("Diary.md", "---\nprivate: true\n---\nsecret oolong thoughts of [[Tea]], a hill\n")
    synced(vault)
    with Vault(str(vault)) as found:
        yield found


@pytest.fixture
def box() -> Toolbox:
    return Toolbox(plain=True)


def call(box: Toolbox, vault: Vault, name: str, /, **arguments: object) -> Outcome:
    return box.call(vault, Call(name, arguments, "tester"))
