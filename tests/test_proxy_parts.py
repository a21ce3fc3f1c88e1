"""The parts of the proxy: who may ask, what is forwarded, what counts as the same turn, what is passed back."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast
from unittest.mock import MagicMock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.index_dump import synced
from tests.proxy_run import proxied
from tests.scripted_llm import ScriptedLlm, as_json, scripted_llm
from vaultmem import Vault
from vaultmem.credentials import Key
from vaultmem.errors import VaultmemError
from vaultmem_chat.learning.turn_queue import Item
from vaultmem_chat.proxy import proxy
from vaultmem_chat.proxy.chat_memory import Learners
from vaultmem_chat.proxy.chats import COMPLETIONS, Chats, Exchange, Parts
from vaultmem_chat.proxy.proxy import Overrides, in_force
from vaultmem_chat.proxy.upstream import Headers, Reply, end_to_end, for_upstream, leads_out
from vaultmem_server.guard import Guard
from vaultmem_server.serving import listen

__all__ = ["scripted_llm"]


@pytest.mark.parametrize(
    ("listens", "host", "passes"),
    [
        ("127.0.0.1", "localhost:8100", True), ("127.0.0.1", "box:8100", False), ("box", "box:8100", True),
        ("0.0.0.0", "192.168.1.5:8100", True), ("0.0.0.0", "evil.example:8100", False),
        ("0.0.0.0", "host.docker.internal:8100", True), ("127.0.0.1", "host.docker.internal:8100", False),
        ("::", "[fe80::1]:8100", True), ("192.168.1.5", "192.168.1.5:8100", True),
        ("192.168.1.5", "192.168.1.6:8100", False), ("127.0.0.1", "127.0.0.1:8100:8100", False),
        ("127.0.0.1", "[::1]8100", False), ("127.0.0.1", "user@127.0.0.1:8100", False),
        ("127.0.0.1", "127.0.0.1", False), ("127.0.0.1", "127.0.0.1:1", False), ("127.0.0.1", "[::2]:8100", False),
        ("127.0.0.1", "127.0.0.1.evil.example:8100", False), ("127.0.0.1", "localhost:8100x", False), ("127.0.0.1", "", False),
    ],
)  # fmt: skip
def test_a_name_that_leads_here_is_no_name_of_ours(listens: str, host: str, passes: bool) -> None:
    refused = Guard(listens, 8100).refusal([(b"host", host.encode())], "/v1/models")
    assert (refused is None) == passes


@pytest.mark.parametrize(
    ("host", "came_from", "passes"),
    [
        ("192.168.1.5:8100", "http://192.168.1.5:8100", True), ("192.168.1.5:8100", "http://192.168.1.6:8100", False),
        ("192.168.1.5:8100", "http://203.0.113.9:8100", False), ("192.168.1.5:8100", "https://192.168.1.5:8100", False),
        ("192.168.1.5:8100", "http://localhost:8100", False), ("LocalHost:8100", "http://localhost:8100", True),
        ("192.168.1.5:8100", "http://", False), ("192.168.1.5:8100", "null", False), ("192.168.1.5:8100", "", False),
    ],
)  # fmt: skip
def test_a_page_is_ours_only_by_the_name_that_it_asks(
    host: str, came_from: str, passes: bool
) -> None:
    asked = [(b"host", host.encode()), (b"origin", came_from.encode())]
    refused = Guard("0.0.0.0", 8100).refusal(asked, "/")
    assert (refused is None) == passes
    twice = [*asked, (b"origin", b"http://203.0.113.9:8100")]
    assert Guard("0.0.0.0", 8100).refusal(twice, "/")


@given(st.text(max_size=30))
def test_no_name_of_elsewhere_passes(name: str) -> None:
    host = f"{name}.example:8100".encode("latin-1", "replace")
    assert Guard("0.0.0.0", 8100).refusal([(b"host", host)], "/")


def test_headers_of_the_way_stay_behind() -> None:
    headers = [(b"Connection", b"close, X-Mine"), (b"X-Mine", b"1"), (b"Keep-Alive", b"1"), (b"A", b"1"), (b"A", b"2"),
               (b"Transfer-Encoding", b"chunked"), (b"Upgrade", b"h2c"), (b"Proxy-Authorization", b"x")]  # fmt: skip
    assert end_to_end(headers) == [(b"A", b"1"), (b"A", b"2")]
    asked = [
        (b"host", b"x"),
        (b"connection", b"X-Hop"),
        (b"x-hop", b"1"),
        (b"te", b"trailers"),
        (b"content-length", b"3"),
        (b"accept-encoding", b"br"),
        (b"expect", b"100-continue"),
    ]
    assert for_upstream(asked, 7) == [(b"accept-encoding", b"identity"), (b"content-length", b"7")]
    assert for_upstream(asked) == [(b"accept-encoding", b"br"), (b"content-length", b"3")]


def test_pieces_go_before_a_length() -> None:
    both = [(b"content-length", b"3"), (b"transfer-encoding", b"chunked")]
    assert for_upstream(both) == for_upstream(both[::-1]) == []


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


def test_a_turn_costs_three_requests_at_most_and_many_are_indexed_together(
    vault: Path, scripted_llm: ScriptedLlm, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced(vault)
    indexed: list[None] = []
    sync = Vault.sync
    monkeypatch.setattr(proxy, "AT_ONCE", 5)
    monkeypatch.setattr(
        Vault, "sync", lambda *one, **how: indexed.append(None) or sync(*one, **how)
    )
    scripted_llm.otherwise = lambda asked: as_json(
        {"facts": [f"The user's boat is called {asked.messages[-1]['content'].split()[-7]}"]}
    )
    with proxied(vault, scripted_llm) as served:
        turns = served.made._worker.turns
        for at in range(12):
            said = f"My boat number {at} is called Otto{at}."
            item = turns.begin(f"c{at % 3}", said, at, meta={"model": "m"})
            turns.finish(item, "I see.", at + 0.5)
        assert served.made._worker.work_once() == 12
    assert 12 <= len(scripted_llm.chats) <= 3 * 12
    assert len(indexed) == 3  # after five, after five more, and at the end


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
