"""The proxy's turns, what it recalls in time, and how many vaults it has open."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any, cast

import pytest

from tests.index_dump import synced
from tests.proxy_run import proxied, user
from tests.scripted_llm import ScriptedLlm, scripted_llm, text, tool_calls
from vaultmem import Vault
from vaultmem.errors import StateError
from vaultmem_chat.memory_context import Context, Limits
from vaultmem_chat.proxy import chat_memory
from vaultmem_chat.proxy import proxy as proxy_program
from vaultmem_chat.proxy.chat_memory import Recalled, RecallPool

__all__ = ["scripted_llm"]  # a fixture


class SlowVault:
    """A vault that is slow."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def entries(self, *_: object, **__: object) -> list[object]:
        raise StateError("no entries")

    def recall(self, *_: object, **__: object) -> dict[str, object]:
        time.sleep(self._seconds)
        return {"memories": [{"role": None, "content": "x1"}, {"role": "user", "content": "x2"}]}

    def close(self) -> None:
        """Nothing to close."""


class OpenVault(SlowVault):
    """A vault that knows whether it is open."""

    def __init__(self) -> None:
        super().__init__(0)
        self.is_open = True

    def __enter__(self) -> OpenVault:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.is_open = False


def recalled(vault: SlowVault, count: int = 1, patience: float = 0.3) -> list[Recalled]:
    async def ask() -> list[Recalled]:
        memory = RecallPool(lambda: cast("Any", vault), Limits(5, 1000, notes=False), patience)
        try:
            asked = (memory.recall("c", "q", ()) for _ in range(count))
            return list(await asyncio.gather(*asked))
        finally:
            await asyncio.to_thread(memory.close)

    return asyncio.run(ask())


def test_a_request_that_waited_too_long_goes_without_memories() -> None:
    found = recalled(SlowVault(0.2), 80)
    assert sum(one.context.memories > 0 for one in found) <= 2 * chat_memory.THREADS
    assert sum(one.dropped == chat_memory.BUSY for one in found) == 80 - chat_memory.MOST_WAITING
    (late,) = recalled(SlowVault(0.4))
    assert (late.context, late.dropped) == (Context("", 0), chat_memory.SLOW)
    assert late.why == "recall took over 0.3 s (proxy.patience)"


def test_no_more_vaults_are_open_than_threads_recall() -> None:
    opened: list[OpenVault] = []

    def one_more() -> Any:
        opened.append(OpenVault())
        return opened[-1]

    memory = RecallPool(one_more, Limits(5, 1000, notes=False), 0.3)
    for _ in range(40):
        asyncio.run(memory.recall("c", "q", ()))
    assert sum(one.is_open for one in opened) <= chat_memory.THREADS
    memory.close()
    assert not any(one.is_open for one in opened)


def test_a_question_that_is_repeated_after_a_restart_is_one_turn(
    vault: Path, scripted_llm: ScriptedLlm, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced(vault)
    weather = user("Do I need an umbrella?")
    called = [{"id": "1", "type": "function", "function": {"name": "weather", "arguments": "{}"}}]
    result = [{"role": "assistant", "tool_calls": called}, {"role": "tool", "tool_call_id": "1", "content": "rain"}]  # fmt: skip

    def after_restart(*messages: dict[str, object]) -> int:
        """The number of questions in the notes after a proxy has served this chat."""
        with proxied(vault, scripted_llm) as proxy:
            proxy.chat({"model": "m", "messages": messages})
            proxy.made._worker._write_notes()
        with Vault(str(vault)) as opened:
            (talk,) = opened.conversations()
            turns = opened.entries(talk["conversation_id"], ["turns"])
        return [turn["role"] for turn in turns].count("user")

    scripted_llm.play(tool_calls(("weather", {})), *(text("It rains.") for _ in range(4)))
    assert after_restart(weather) == 1
    assert after_restart(weather, *result) == 1, "a tool's result continues it"
    assert after_restart(weather) == 1, "the client sends it again"
    assert after_restart(user("And tomorrow?")) == 2
    monkeypatch.setattr(proxy_program, "OPEN_FOR", -1.0)
    assert after_restart(user("And tomorrow?")) == 3, "the next day"
