"""The parts of the proxy: what is forwarded, whom it asks for memories and how long, with which settings."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast
from unittest.mock import MagicMock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultmem.credentials import Key
from vaultmem.errors import StateError, VaultmemError
from vaultmem_chat import memory_context
from vaultmem_chat.bodies import Chat
from vaultmem_chat.learning.turn_queue import Item, Turns
from vaultmem_chat.memory_context import Context, Limits
from vaultmem_chat.proxy import chat_memory, proxy
from vaultmem_chat.proxy.chat_memory import ChatTurns, Learners, Recalled, RecallPool
from vaultmem_chat.proxy.chats import COMPLETIONS, Chats, Exchange, Parts
from vaultmem_chat.proxy.proxy import Overrides, in_force
from vaultmem_chat.proxy.upstream import Headers, Reply, end_to_end, for_upstream, leads_out
from vaultmem_server.serving import listen


def test_headers_of_the_way_stay_behind() -> None:
    headers = [(b"Connection", b"close, X-Mine"), (b"X-Mine", b"1"), (b"Keep-Alive", b"1"), (b"A", b"1"), (b"A", b"2"),
               (b"Transfer-Encoding", b"chunked"), (b"Upgrade", b"h2c"), (b"Proxy-Authorization", b"x")]  # fmt: skip
    assert end_to_end(headers) == [(b"A", b"1"), (b"A", b"2")]
    asked = [(b"host", b"x"), (b"connection", b"X-Hop"), (b"x-hop", b"1"), (b"te", b"trailers"), (b"content-length", b"3"),
             (b"accept-encoding", b"br"), (b"expect", b"100-continue")]  # fmt: skip
    assert for_upstream(asked, 7) == [(b"accept-encoding", b"identity"), (b"content-length", b"7")]
    assert for_upstream(asked) == [(b"accept-encoding", b"br"), (b"content-length", b"3")]
    both = [(b"content-length", b"3"), (b"transfer-encoding", b"chunked")]
    assert for_upstream(both) == for_upstream(both[::-1]) == [], "pieces go before a length"


def test_paths_that_lead_out() -> None:
    out = ("/../x", "/a/./b", "/%2e%2E/x", "/.%2e", "/a\\b", "/%5c..", "/..?x", "/a%2f..%2f..%2fx", "/..;/x",
           "/%252e%252e/x")  # fmt: skip
    assert all(map(leads_out, out))
    assert not any(map(leads_out, ("/models", "/files/a..b", "/x?y=/../", "/.well")))


class Made:
    """An answer that says what a test wants."""

    def __init__(self, headers: Headers, pieces: list[bytes]) -> None:
        self.status, self.headers, self._pieces = 200, headers, pieces
        self.closed = False

    async def pieces(self) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            yield piece

    async def close(self) -> None:
        self.closed = True


KINDS = st.sampled_from([b"text/event-stream", b"application/json", b"text/plain", b""])
WORDS = st.sampled_from([
    b'data: {"choices":[{"index":0,"delta":{"content":"a"}}]}\n\n', b"data: [DONE]\n\n", b": c\r\n", b"\xff\x00",
    b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n', b'{"choices":[{"message":{"content":"x"}}]}',
])  # fmt: skip


@given(
    KINDS,
    st.sampled_from([b"", b"gzip", b"br"]),
    st.lists(st.one_of(WORDS, st.binary(max_size=9)), max_size=9),
)
def test_answers_are_passed_on_byte_for_byte(
    kind: bytes, packed: bytes, pieces: list[bytes]
) -> None:
    reply = Made([(b"content-type", kind), (b"content-encoding", packed)], pieces)

    async def passed() -> list[bytes]:
        chats = Chats(cast("Parts", None), COMPLETIONS)
        exchange = Exchange(chats)
        exchange._reply, exchange._turn = cast("Reply", reply), cast("Any", MagicMock())
        found = [piece async for piece in exchange.pieces()]
        await exchange.close()
        return found

    found = asyncio.run(passed())
    assert b"".join(found) == b"".join(pieces)
    assert reply.closed
    if kind == b"text/event-stream":
        assert found == [piece for piece in pieces if piece]


def test_the_command_line_goes_before_the_settings(vault: Path) -> None:
    config = in_force(str(vault), Overrides(None, 9000, "http://localhost:1/v1", "mine"), {})
    assert (config.number("proxy.port"), config.text("conversations.id")) == (9000, "mine")
    assert config.text("llm.key") == "off"
    environ = {"VAULTMEM_LLM_BASE_URL": "http://localhost:1", "VAULTMEM_LLM_KEY": "env:X"}
    config = in_force(str(vault), Overrides(upstream="http://LOCALHOST:1/v1"), environ)
    assert config.text("llm.key") == "env:X"
    assert config.text("llm.base_url") == "http://LOCALHOST:1/v1"


@pytest.mark.parametrize(
    ("overrides", "environ", "said"),
    [
        (Overrides(), {}, "no upstream is set"),
        (Overrides(upstream="localhost"), {}, "--upstream must be"),
        (Overrides(upstream="http://u:p@x/v1"), {}, "--upstream must be"),
        (Overrides(conversation="a\nb", upstream="http://x"), {}, "--conversation must be"),
        (Overrides(host="a b", upstream="http://x"), {}, "--host must be"),
        (Overrides(upstream="http://x"), {"VAULTMEM_PROXY_HOST": "0.0.0.0"}, "--host 0.0.0.0"),
    ],
)
def test_what_is_wrong_with_it_is_said(
    vault: Path, overrides: Overrides, environ: dict[str, str], said: str
) -> None:
    with pytest.raises(VaultmemError) as caught:
        in_force(str(vault), overrides, environ)
    assert said in str(caught.value)
    assert "VAULTMEM" not in str(caught.value)
    assert "u:p@" not in str(caught.value)


def test_a_port_that_is_taken_is_said() -> None:
    with listen("127.0.0.1", 0) as first:
        port = first.getsockname()[1]
        with pytest.raises(VaultmemError, match=rf"cannot listen on 127.0.0.1:{port}.*--port"):
            listen("127.0.0.1", port)
    with pytest.raises(VaultmemError, match=r"not an address of this machine"):
        listen("no-such-host.invalid", 0)


@pytest.mark.parametrize("ends_late", [False, True])
def test_a_turn_that_calls_tools_ends_when_the_next_begins_whichever_request_is_faster(
    tmp_path: Path, ends_late: bool
) -> None:
    def chat(question: str) -> Chat:
        return Chat(
            question,
            True,
            (),
            digest=question,
            model="m",
            conversation="c",
            is_off=False,
            places=(0, 0),
        )

    turns = ChatTurns(Turns(str(tmp_path)), lambda: None, lambda _: ("", ""))
    first = turns.begin("c", chat("first"))
    assert first is not None
    if not ends_late:
        first.leave_open()
        first.end()
        assert [item.is_open for item in turns.queue.waiting()] == [True]
    second = turns.begin("c", chat("second"))
    if ends_late:
        first.leave_open()
        first.end()
    states = [(item.user, item.is_open) for item in turns.queue.waiting()]
    assert second is not None
    assert states == [("first", False), ("second", True)]


def test_a_turn_is_learned_with_its_own_key_and_no_other() -> None:
    opened: list[tuple[Key | None, str]] = []

    def open_one(key: Key | None, name: str) -> None:
        opened.append((key, name))

    def turn(id_: str) -> Item:
        return Item(id_, "c", "u", None, 0.0, None, "m")

    background = Learners(open_one, has_own=False)
    background.begin("theirs", [(b"authorization", b"Bearer theirs")])
    # none, or none that can be sent
    for number, other in enumerate((b"Bearer vaultmem", b"Bearer ", b"Bearer \xd0\xba")):
        background.begin(f"none{number}", [(b"authorization", other)])
    background.begin("keyless", [])
    background.begin(
        "keyless", [(b"authorization", b"Bearer of another client, who says the same")]
    )
    for id_ in ("theirs", "none0", "none1", "none2", "keyless", "unknown", "theirs"):
        background.model(turn(id_))
    assert opened == [(Key("theirs"), "m"), (None, "m")]
    background.end("theirs")
    background.model(turn("theirs"))
    own = Learners(open_one, has_own=True)
    own.begin("theirs", [(b"authorization", b"Bearer theirs")])
    own.model(turn("theirs"))
    assert opened[2:] == [(None, "m")]
    assert proxy.LAST_TURN < 10


def recalled(vault: SlowVault, count: int = 1, patience: float = 0.3) -> list[Recalled]:
    async def ask() -> list[Recalled]:
        memory = RecallPool(lambda: cast("Any", vault), Limits(5, 1000, notes=False), patience)
        try:
            asked = (memory.recall("c", "q", ()) for _ in range(count))
            return list(await asyncio.gather(*asked))
        finally:
            vault.go_on.set()
            await asyncio.to_thread(memory.close)

    return asyncio.run(ask())


def test_a_request_that_waited_too_long_goes_without_memories() -> None:
    found = recalled(SlowVault(), 80)
    waited, refused = found[: chat_memory.MOST_WAITING], found[chat_memory.MOST_WAITING :]
    assert {one.dropped for one in refused} == {chat_memory.BUSY}
    (late,) = {*waited}
    assert (late.context, late.dropped) == (Context("", 0), chat_memory.SLOW)
    assert late.why == "recall took over 0.3 s (proxy.patience)"


def test_no_more_vaults_are_open_than_threads_recall() -> None:
    opened: list[SlowVault] = []

    def one_more() -> Any:
        opened.append(SlowVault())
        opened[-1].go_on.set()
        return opened[-1]

    memory = RecallPool(one_more, Limits(5, 1000, notes=False), 0.3)
    for _ in range(40):
        asyncio.run(memory.recall("c", "q", ()))
    assert sum(one.is_open for one in opened) <= chat_memory.THREADS
    memory.close()
    assert not any(one.is_open for one in opened)


@pytest.mark.parametrize(
    ("upstream", "overrides", "tells"),
    [
        ("http://127.0.0.1:9/v1", None, True), ("http://localhost:9/v1", None, True), ("http://[::1]:9", None, True),
        ("http://127.0.0.1:9/v1", False, False), ("https://api.example.com/v1", None, False),
        ("http://127.0.0.1.example.com/v1", None, False), ("https://api.example.com/v1", True, True),
    ],
)  # fmt: skip
def test_notes_leave_this_machine_only_when_the_person_says_so(
    vault: Path, upstream: str, overrides: bool | None, tells: bool
) -> None:
    config = proxy.in_force(str(vault), proxy.Overrides(upstream=upstream, notes=overrides), {})
    assert memory_context.limits_of(config).notes is tells


class SlowVault:
    """A vault that recalls nothing before it may go on, and knows whether it is open."""

    def __init__(self) -> None:
        self.go_on, self.is_open = threading.Event(), True

    def __enter__(self) -> SlowVault:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.is_open = False

    def entries(self, *_: object, **__: object) -> list[object]:
        raise StateError("no entries")

    def recall(self, *_: object, **__: object) -> dict[str, object]:
        assert self.go_on.wait(60)
        return {"memories": [{"role": None, "content": "x1"}, {"role": "user", "content": "x2"}]}
