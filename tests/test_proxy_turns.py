"""The proxy's turns, what it recalls in time, and how many vaults it has open."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any, cast

from vaultmem.errors import StateError
from vaultmem_chat.bodies import Chat, read
from vaultmem_chat.learning.turn_queue import Item, Turns
from vaultmem_chat.memory_context import Context, Limits
from vaultmem_chat.proxy import chat_memory
from vaultmem_chat.proxy.chat_memory import ChatTurns, Recalled, RecallPool


def chat(said: str, *before: str) -> Chat:
    messages = ",".join(f'{{"role": "user", "content": "{one}"}}' for one in (*before, said))
    found = read(f'{{"model": "m", "messages": [{messages}]}}'.encode())
    assert found
    return found


class Kept:
    """Turns in a folder, and who is notified."""

    def __init__(self, folder: Path) -> None:
        self.turns = Turns(str(folder / "turns"))
        self.nudged = 0
        self.chats = ChatTurns(self.turns, self._nudge)

    def _nudge(self) -> None:
        self.nudged += 1

    def begin(self, said: str, *before: str) -> chat_memory.Turn:
        turn = self.chats.begin("c", chat(said, *before))
        assert turn
        return turn

    @property
    def items(self) -> list[Item]:
        return self.turns.waiting()


def test_two_requests_at_once_of_one_question_get_both_answers(tmp_path: Path) -> None:
    kept = Kept(tmp_path)
    first, second = kept.begin("a"), kept.begin("a")
    second.answer("two")
    second.end(False)
    first.answer("one")
    first.end(False)
    assert [item.assistant for item in kept.items] == ["one", "two"]
    assert len({item.user_id for item in kept.items}) == 1
    assert kept.nudged == 4, "for each question and each answer"


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
