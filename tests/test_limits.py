"""The same limits apply at every door."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli_run import on
from tests.index_dump import synced
from vaultmem import Vault
from vaultmem.api.tool import Call
from vaultmem.api.toolbox import Toolbox
from vaultmem.errors import UsageError
from vaultmem.text import values

# command and its words, tool and its arguments, each one's name for the limit, the maximum
LIMITS = [
    ("recall", "memory_recall", "budget", values.TOKENS), ("recall", "memory_recall", "top_k", values.MEMORIES),
    ("search", "memory_search", "limit", values.RESULTS), ("list", "memory_list", "limit", values.RESULTS),
    ("related", "memory_related", "limit", values.RESULTS), ("pending", "memory_pending", "days", values.DAYS),
]  # fmt: skip
NAMED = {"recall": "query", "search": "query", "related": "id"}


@pytest.fixture
def tea(vault: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("VAULTMEM_EMBEDDING_MODEL", "off")
    (vault / "Tea.md").write_text("# Tea\n\nOolong.\n")
    synced(vault)
    return vault


def doors(vault: Path, command: str, tool: str, name: str) -> list[Callable[[int], bool]]:
    """Whether each door accepts a number."""

    def by_command(number: int) -> bool:
        words = ["Tea"] if command in NAMED else []
        option = f"--{name.replace('_', '-')}"
        return on(vault, command, *words, option, str(number)).code == 0

    def by_tool(number: int) -> bool:
        arguments = {name: number, **({NAMED[command]: "Tea"} if command in NAMED else {})}
        with Vault(str(vault)) as opened:
            try:
                Toolbox(plain=True).call(opened, Call(tool, arguments, "tester"))
            except UsageError:
                return False
        return True

    return [by_command, by_tool]


@pytest.mark.parametrize(("command", "tool", "name", "most"), LIMITS)
def test_one_limit_at_all_doors(tea: Path, command: str, tool: str, name: str, most: int) -> None:
    for takes in doors(tea, command, tool, name):
        assert [takes(number) for number in (-1, 1, most, most + 1)] == [False, True, True, False]
