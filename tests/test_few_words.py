"""What a search and a tool say costs tokens: nothing empty, nothing twice, and half of what it once was."""

from __future__ import annotations

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
from vaultmem.search.query import Hit

ASKED = ("boiler service", "damp wall", "roof", "river gauge", "tag:recipe", "泡菜")


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Vault]:
    copy = shutil.copytree(SAMPLE, tmp_path_factory.mktemp("known") / "sample-vault")
    with Vault(str(copy)) as opened:
        opened.sync()
        opened.write("The roof was done by Marek Nowak", by="claude", category="people")
        opened.sync()
        yield opened


def before(one: Hit) -> dict[str, object]:
    """A result as it was once told, with all its fields."""
    own = one.properties
    memory = {name: own.get(name, "") for name in ("agent", "personality", "project", "type")}
    return {
        "id": own.get("id"), "content": one.content, **memory, "global": bool(own.get("global", False)),
        "decay_policy": own.get("decay_policy"), "confidence": one.confidence, "similarity": one.similarity,
        "created_at": own.get("created_at"), "path": one.path, "title": one.title, "line": one.line,
        "end_line": one.end_line, "heading": " > ".join(one.headings), "label": one.label, "day": one.day,
        "category": one.category, "score": one.score, "parts": one.parts, "snippet": one.snippet,
        "more": [{"line": first, "end_line": last} for first, last in one.more], "conflict_copy_of": one.original,
        "uri": one.uri,
    }  # fmt: skip


def size(told: object) -> int:
    return len(json.dumps(told, ensure_ascii=False).encode())


@pytest.mark.parametrize("query", ASKED)
def test_results_as_json_are_half_as_long(known: Vault, query: str) -> None:
    words = (
        "search",
        query,
        "--keyword",
        "--limit",
        "5",
        "--format",
        "json",
        "--vault",
        known.path,
    )
    told = ran(*words, "--json").data["results"]
    was = [before(one) for one in known.search(query, limit=5)]
    assert len(told) == len(was) > 0
    assert size(told) <= size(was) / 2
    for one in told:
        assert [*one][:4] == ["title", "path", "line", "end_line"]
        assert [*one][4] in ("snippet", "content")
        assert not [name for name, value in one.items() if value in (None, "", [], False)]


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
    """As text, with the place of each; as data there are ids and places, for programs."""
    told = Toolbox(plain=True).call(known, Call(name, arguments, "claude"))
    again = json.dumps(told.data, ensure_ascii=False)
    said = [line for line in told.text.splitlines() if len(line) > 60]
    assert said
    assert not [line for line in said if line[-40:] in again]
    for one in told.data.get("results", ()):  # type: ignore[attr-defined]
        assert f"- {one['path']}:{one['line']}" in told.text
