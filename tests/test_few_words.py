"""The output of a search and a tool costs tokens: nothing empty, nothing twice, and the same limits at every door."""

import contextlib
import json
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

from tests.cli_run import on, ran
from tests.conftest import SAMPLE
from tests.tables import each_case
from vaultmem import Vault
from vaultmem.api.tool import Call
from vaultmem.api.toolbox import Toolbox
from vaultmem.errors import UsageError
from vaultmem.text import values


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Vault]:
    copy = shutil.copytree(SAMPLE, tmp_path_factory.mktemp("known") / "sample-vault")
    with Vault(str(copy)) as opened:
        opened.sync()
        opened.write("The roof was done by Marek Nowak", by="claude", category="people")
        opened.sync()
        yield opened


@each_case("query", ["boiler service", "tag:recipe", "泡菜"])
def test_results_as_json_hold_nothing_empty(known: Vault, query: str) -> None:
    words = ("search", query, "--keyword", "--limit", "5", "--format", "json", "--vault")
    results = ran(*words, known.path).data["results"]
    assert results
    for one in results:
        assert [*one][:4] == ["title", "path", "line", "end_line"]
        assert [*one][4] in ("snippet", "content")
        empty = {name for name, value in one.items() if value in (None, "", [], False)}
        assert empty <= {"score"}  # found by filters alone


def test_of_a_memory_all_is_told(known: Vault) -> None:
    words = ("search", "Marek", "--agent", "claude", "--format", "json", "--vault", known.path)
    (memory,) = ran(*words, "--json").data["results"]
    assert memory["content"] == "The roof was done by Marek Nowak"
    assert {"id", "agent", "created_at", "confidence", "category"} <= memory.keys()
    assert not {"snippet", "project", "global"} & memory.keys()


@each_case(
    "name, arguments",
    [
        ("memory_search", {"query": "roof", "limit": 5}), ("memory_smart_search", {"query": "damp wall", "limit": 5}),
        ("memory_recall", {"query": "who did the roof?"}), ("memory_list", {}), ("memory_read", {"id": "House/Roof.md"}),
        ("memory_pending", {}), ("memory_related", {"id": "House/Roof.md"}),
    ],
)  # fmt: skip
def test_a_tool_says_its_words_once(known: Vault, name: str, arguments: dict[str, Any]) -> None:
    """As text, with the place of each; the data has ids and places, for programs."""
    told = Toolbox(plain=True).call(known, Call(name, arguments, "claude"))
    again = json.dumps(told.data, ensure_ascii=False)
    said = [line for line in told.text.splitlines() if len(line) > 60]
    assert said
    assert not [line for line in said if line[-40:] in again]
    for one in told.data.get("results", ()):  # type: ignore[attr-defined]
        assert f"- {one['path']}:{one['line']}" in told.text


# command, tool, its name for the limit, the maximum, and what else it needs
LIMITS = [
    ("recall", "memory_recall", "budget", values.TOKENS, "query"), ("recall", "memory_recall", "top_k", values.MEMORIES, "query"),
    ("search", "memory_search", "limit", values.RESULTS, "query"), ("list", "memory_list", "limit", values.RESULTS, ""),
    ("related", "memory_related", "limit", values.RESULTS, "id"), ("pending", "memory_pending", "days", values.DAYS, ""),
]  # fmt: skip


@each_case("row", LIMITS)
def test_one_limit_at_all_doors(known: Vault, row: tuple[str, str, str, int, str]) -> None:
    command, tool, name, most, needed = row
    box, own = Toolbox(plain=True), {needed: "Roof"} if needed else {}
    for number in (-1, 1, most, most + 1):
        words = [*own.values(), f"--{name.replace('_', '-')}", str(number)]
        takes = on(known.path, command, *words).code == 0
        assert takes is (1 <= number <= most)
        with contextlib.nullcontext() if takes else pytest.raises(UsageError):
            box.call(known, Call(tool, {name: number, **own}, "tester"))
