"""A proxy in front of a scripted service, shared by all tests of a module."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.index_dump import synced
from tests.lazy import Lazy
from tests.proxy_run import Proxied, proxied
from tests.scripted_llm import ScriptedLlm

openai = Lazy("openai")


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Proxied, ScriptedLlm]]:
    """Both, shared by all tests and reset before each."""
    vault = tmp_path_factory.mktemp("serving") / "vault"
    (vault / ".obsidian").mkdir(parents=True)
    synced(vault)
    with ScriptedLlm() as llm, proxied(vault, llm) as made:
        yield made, llm


@pytest.fixture
def scripted_llm(serving: tuple[Proxied, ScriptedLlm]) -> ScriptedLlm:
    serving[1].forget()
    return serving[1]


@pytest.fixture
def proxy(serving: tuple[Proxied, ScriptedLlm], scripted_llm: ScriptedLlm) -> Proxied:
    assert scripted_llm is serving[1]
    serving[0].forget()
    return serving[0]
