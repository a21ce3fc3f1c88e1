"""The output of a search and a tool costs tokens: nothing empty, nothing twice."""

import json
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

from tests.cli_run import ran
from tests.conftest import SAMPLE
from vaultmem import Vault
from vaultmem.api.tool import Call
from vaultmem.api.toolbox import Toolbox

ASKED = ("boiler service", "damp wall", "roof", "river gauge", "tag:recipe", "泡菜")


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Vault]:
    copy = shutil.copytree(SAMPLE, tmp_path_factory.mktemp("known") / "sample-vault")
    with Vault(str(copy)) as opened:
        opened.sync()
        opened.write("The roof was done by Marek Nowak", by="claude", category="people")
        opened.sync()
        yield opened


@pytest.mark.parametrize("query", ASKED)
def test_results_as_json_hold_nothing_empty(known: Vault, query: str) -> None:
    words = ("search", query, "--keyword", "--limit", "5", "--format", "json", "--vault")
    told = ran(*words, known.path).data["results"]
    assert told
    for one in told:
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


CALLS: list[tuple[str, dict[str, object]]] = [
    ("memory_search", {"query": "roof", "limit": 5}), ("memory_smart_search", {"query": "damp wall", "limit": 5}),
    ("memory_recall", {"query": "who did the roof?"}), ("memory_list", {}), ("memory_read", {"id": "House/Roof.md"}),
    ("memory_pending", {}), ("memory_related", {"id": "House/Roof.md"}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "arguments"), CALLS, ids=[name for name, _ in CALLS])
def test_a_tool_says_its_words_once(known: Vault, name: str, arguments: dict[str, Any]) -> None:
    """As text, with the place of each; the data has ids and places, for programs."""
    told = Toolbox(plain=True).call(known, Call(name, arguments, "claude"))
    again = json.dumps(told.data, ensure_ascii=False)
    said = [line for line in told.text.splitlines() if len(line) > 60]
    assert said
    assert not [line for line in said if line[-40:] in again]
    for one in told.data.get("results", ()):  # type: ignore[attr-defined]
        assert f"- {one['path']}:{one['line']}" in told.text
