"""A proxy in this process, on its own socket, in front of a scripted model."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.agent_run import until
from tests.index_dump import synced
from tests.lazy import Lazy
from tests.scripted_llm import ScriptedLlm
from vaultmem_chat.learning.turn_queue import Item
from vaultmem_chat.proxy.proxy import Overrides, Proxy, in_force
from vaultmem_server.serving import listen

openai = Lazy("openai")

HEADERS = {"Content-Type": "application/json"}


class Seen(NamedTuple):
    """What a client received."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes

    @property
    def data(self) -> Any:
        return json.loads(self.body)

    def header(self, name: str) -> str | None:
        return dict(self.headers).get(name.lower())


class Proxied:
    """A running proxy; `llm` is the scripted model behind it, if it has one."""

    llm: ScriptedLlm

    def __init__(self, vault: Path, made: Proxy) -> None:
        self.vault, self.made, self.port = vault, made, made.port
        self.clients: list[openai.OpenAI] = []  # to be closed

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def client(self, key: str = "client-key", **how: Any) -> openai.OpenAI:
        self.clients.append(openai.OpenAI(base_url=self.url, api_key=key, max_retries=0, **how))
        return self.clients[-1]

    def send(self, method: str, path: str, body: bytes | None = None, **headers: str) -> Seen:
        """One request, with these headers and only Host and Content-Length besides."""
        link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            link.putrequest(method, path, skip_accept_encoding=True, skip_host="Host" in named)
            for name, value in named.items():
                link.putheader(name, value)
            if body is not None:
                link.putheader("Content-Length", str(len(body)))
            link.endheaders(body)
            reply = link.getresponse()
            seen = [(name.lower(), value) for name, value in reply.getheaders()]
            return Seen(reply.status, seen, reply.read())
        finally:
            link.close()

    def chat(self, body: bytes | Mapping[str, object], **headers: str) -> Seen:
        packed = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.send("POST", "/v1/chat/completions", packed, **{**HEADERS, **headers})

    def ask(self, said: str, **more: Any) -> Seen:
        """A chat of one message."""
        headers = more.pop("headers", {})
        return self.chat({"model": "m", "messages": [user(said)], **more}, **headers)

    def turns(self) -> list[Item]:
        return self.made._worker.turns.waiting()

    def forget(self) -> None:
        """Reset for the next test: no open requests, nothing pending, nothing known."""
        turns, memory = self.made._turns, self.made._memory
        until(lambda: not self.made.server.server_state.tasks)
        vars(memory).pop("_ask", None)  # see remembers()
        self.llm.forget()
        turns._newest.clear()
        for item in self.turns():
            turns.queue.done(item)

    def ended_turns(self, count: int) -> list[Item]:
        """This many turns, each complete."""

        def ended() -> list[Item]:
            found = [turn for turn in self.turns() if not turn.is_open]
            return found if len(found) >= count else []

        found: list[Item] = until(ended)
        return found

    def remembers(self, *told: str) -> None:
        """Recall returns what the test says."""
        self.made._memory._ask = lambda *_: _told(told)  # type: ignore[method-assign]


def _told(told: tuple[str, ...]) -> Any:
    from vaultmem_chat.memory_context import compose

    return compose("", [("memory", one) for one in told], ())


def user(said: object) -> dict[str, object]:
    return {"role": "user", "content": said}


@contextmanager
def proxied(
    vault: Path, llm: ScriptedLlm | str, *, learns: bool = False, warm: bool = False, environ: Mapping[str, str] | None = None,
    **overrides: Any,
) -> Iterator[Proxied]:  # fmt: skip
    """A proxy in a thread. Unless it `learns`, turns stay in the queue."""
    upstream = llm if isinstance(llm, str) else llm.url
    given = Overrides(**{"upstream": upstream, **overrides})
    # A stalled machine must not lose memories.
    patient = {"VAULTMEM_PROXY_PATIENCE": "20s", **(environ or {})}
    config = in_force(str(vault), given, patient)
    listening = listen(config.text("proxy.host"), 0)
    made = Proxy(str(vault), config, listening)
    if not learns:
        made._worker.start = lambda: None  # type: ignore[method-assign]
    if not warm:
        made._memory.warm_up = lambda: None  # type: ignore[method-assign]
    serving_thread = threading.Thread(target=made.serve)
    serving_thread.start()
    try:
        until(lambda: made.server.started)
        served = Proxied(vault, made)
        if isinstance(llm, ScriptedLlm):
            served.llm = llm
        yield served
        for client in served.clients:
            client.close()
    finally:
        made.server.should_exit = True
        serving_thread.join(60)
        assert not serving_thread.is_alive()


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxied]:
    """A proxy in front of a scripted model, shared by all tests of a module and reset before each."""
    vault = tmp_path_factory.mktemp("serving") / "vault"
    (vault / ".obsidian").mkdir(parents=True)
    synced(vault)
    with ScriptedLlm() as llm, proxied(vault, llm) as made:
        yield made


@pytest.fixture
def proxy(serving: Proxied) -> Proxied:
    serving.forget()
    return serving
