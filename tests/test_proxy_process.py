"""`vaultmem proxy` as a process: how it starts and ends, and that a kill loses no turn."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.agent_run import DYING, until
from tests.cli_run import one_line, process, ran
from tests.index_dump import synced
from tests.lazy import Lazy
from tests.proxy_run import user
from tests.scripted_llm import ScriptedLlm, scripted_llm
from tests.scripted_replies import Arguments, Reply, status, text
from vaultmem import Vault
from vaultmem_chat.learning.turn_queue import FOLDER, Turns

openai = Lazy("openai")

__all__ = ["scripted_llm"]


class Process:
    """A `vaultmem proxy`."""

    def __init__(self, vault: Path, *words: str, **environ: str) -> None:
        self._lines: list[str] = []
        self.clients: list[openai.OpenAI] = []  # to be closed
        self.child = subprocess.Popen(
            [*DYING, sys.executable, "-W", "error", "-m", "vaultmem", "proxy", "--port", "0", "--vault", str(vault), *words],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **environ},
        )  # fmt: skip
        self._reading = threading.Thread(target=self._read)
        self._reading.start()
        found = until(lambda: re.search(r"OPENAI_BASE_URL=(\S+)", self.err) or self._ended())
        self.url = found[1]

    def _ended(self) -> None:
        assert self.child.poll() is None, self.err

    def _read(self) -> None:
        assert self.child.stderr
        for line in self.child.stderr:
            self._lines.append(line)

    @property
    def err(self) -> str:
        return "".join(self._lines)

    def client(self) -> openai.OpenAI:
        self.clients.append(openai.OpenAI(base_url=self.url, api_key="k", max_retries=0))
        return self.clients[-1]

    def chat(self, said: str, **how: Any) -> Any:
        messages: Any = [user(said)]
        return self.client().chat.completions.create(model="m", messages=messages, **how)

    def end(self, number: int = signal.SIGTERM) -> int:
        """Send a signal. Returns the exit code."""
        self.child.send_signal(number)
        return self.ended()

    def ended(self) -> int:
        """Wait for its end. Returns the exit code."""
        code = self.child.wait(60)
        self._reading.join(60)
        return code


@contextmanager
def running(vault: Path, *words: str, **environ: str) -> Iterator[Process]:
    started = Process(vault, *words, **environ)
    try:
        yield started
    finally:
        for client in started.clients:
            client.close()
        started.child.kill()
        started.child.communicate()


def queued(vault: Path) -> Turns:
    with Vault(str(vault)) as opened:
        return Turns(opened.state.path(FOLDER))


def turns_of(vault: Path) -> list[tuple[str, str]]:
    with Vault(str(vault)) as opened:
        return [
            (entry["role"], entry["content"].strip())
            for entry in opened.entries("default", kinds=["turns"])
        ]


def test_the_proxy_prints_its_address_and_ends_after_its_last_stream(
    vault: Path, scripted_llm: ScriptedLlm
) -> None:
    synced(vault)
    slow = text("one two three four five six").slowly(0.1)
    scripted_llm.otherwise = lambda asked: slow if asked.data.get("stream") else text("OK")
    words = ("--upstream", scripted_llm.url, "--host", "0.0.0.0")
    with running(vault, *words) as proxy:
        assert f"passing on to {scripted_llm.url}; use it with OPENAI_BASE_URL=" in proxy.err
        assert proxy.err.count("warning: anybody who can reach 0.0.0.0") == 1
        assert "your notes stay here" not in proxy.err
        assert proxy.chat("My name is Oswin.").choices[0].message.content == "OK"
        stream = proxy.chat("a", stream=True)
        parts = [next(stream)]
        proxy.child.send_signal(signal.SIGTERM)
        parts += stream
        said = "".join(part.choices[0].delta.content or "" for part in parts)
        assert said == "one two three four five six"
        assert proxy.ended() == 0, proxy.err
        lines = proxy.err.splitlines()
    assert "Traceback" not in proxy.err
    assert len(lines) == 2 + sum("info" in line or "warn " in line for line in lines), proxy.err
    assert [line for line in lines if "chat 200 passed on" in line]
    assert "Oswin" not in proxy.err


def test_a_kill_loses_no_turn(vault: Path, scripted_llm: ScriptedLlm) -> None:
    synced(vault)
    ours: list[str] = []

    def answer(asked: Arguments) -> Reply:
        if asked.headers.get("user-agent") == "vaultmem":
            return status(400, "nothing is learned now")
        ours.append(asked.messages[-1]["content"])
        return text("an answer") if len(ours) == 1 else text("word " * 500).slowly(0.05)

    scripted_llm.otherwise = answer
    with running(vault, "--upstream", scripted_llm.url) as proxy:
        assert proxy.chat("first words").choices[0].message.content == "an answer"
        stream = proxy.chat("second words", stream=True)
        next(stream)
        proxy.child.kill()
        with pytest.raises(openai.APIConnectionError):
            list(stream)
    with running(vault, "--upstream", scripted_llm.url):
        until(lambda: queued(vault).count() == 0)
    assert turns_of(vault) == [
        ("user", "first words"),
        ("assistant", "an answer"),
        ("user", "second words"),
    ]


def test_what_is_wrong_is_one_line(vault: Path) -> None:
    synced(vault)
    words = ("proxy", "--vault", str(vault), "--format", "text")
    ended = process(*words)
    assert (ended.code, one_line(ended).partition(":")[2][:20]) == (1, " no upstream is set:")
    ended = ran(*words, "--upstream", "nowhere")
    assert (ended.code, one_line(ended)[:27]) == (2, "vaultmem: --upstream must b")
    ended = ran(*words, "--port", "70000")
    assert (ended.code, one_line(ended)) == (2, "vaultmem: --port must be from 0 to 65535")


def test_notes_that_stay_at_home_are_said_at_start(vault: Path) -> None:
    synced(vault)
    with running(vault, "--upstream", "https://192.0.2.1/v1") as proxy:
        proxy.end()
        assert "your notes stay here" in proxy.err
