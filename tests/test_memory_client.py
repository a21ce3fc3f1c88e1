"""A chat with a model that remembers, in Python and on the command line: whole ways, through real sockets."""

from __future__ import annotations

import json
import os
import pty
import queue
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agent_run import until
from tests.scripted_llm import (
    Asked,
    Reply,
    ScriptedLlm,
    as_json,
    hang_up,
    raw,
    status,
    text,
    tool_calls,
)
from vaultmem import MemoryClient, Vault
from vaultmem.conversations.reconciling import Learned
from vaultmem.errors import LlmError, VaultmemError

FACT = "The user's wife is named Anne"


def by_purpose(asked: Asked) -> Reply:
    """Chats are answered, facts found, nothing reconciled."""
    if not asked.schema_mode:
        return text("That is good to know.")
    if "facts" in json.dumps(asked.schema):
        return as_json({"facts": [FACT] if "Anne" in asked.messages[-1]["content"] else []})
    return as_json([])


@pytest.fixture
def indexed(vault: Path) -> Path:
    (vault / "Home.md").write_text("# Home\n\nNothing here.\n")
    with Vault(str(vault)) as opened:
        opened.sync()
    return vault


@pytest.fixture
def client(indexed: Path, scripted_llm: ScriptedLlm) -> Iterator[MemoryClient]:
    scripted_llm.otherwise = by_purpose
    with MemoryClient(str(indexed), base_url=scripted_llm.url, model="m", api_key="k") as made:
        yield made


def learned(client: MemoryClient) -> None:
    """Wait until the worker has nothing left to do."""
    until(lambda: client.learn() or not client._worker.turns.count())


def roles(vault: Path, conversation: str = "default") -> list[tuple[str, str]]:
    with Vault(str(vault)) as opened:
        return [(one["role"], one["content"]) for one in opened.entries(conversation)]


def test_what_is_said_is_kept_learned_and_recalled(
    client: MemoryClient, indexed: Path, scripted_llm: ScriptedLlm
) -> None:
    reply = client.chat("My wife is Anne.")
    assert reply["choices"][0]["message"]["content"] == "That is good to know."
    learned(client)
    found = roles(indexed)
    assert ("user", "My wife is Anne.") in found
    assert ("assistant", "That is good to know.") in found
    assert ("memory", FACT) in found
    client.chat("Who is my wife?")
    chats = [one for one in scripted_llm.chats if not one.schema_mode and len(one.messages) == 2]
    assert chats[-1].messages[0]["role"] == "system"
    assert f"[memory] {FACT}" in chats[-1].messages[0]["content"]
    assert chats[-1].messages[1] == {"role": "user", "content": "Who is my wife?"}
    assert client.told.memories >= 1
    assert FACT in [one["content"] for one in client.search("wife")]


def test_a_stream_gives_the_words_as_they_come(client: MemoryClient, indexed: Path) -> None:
    pieces = list(client.stream("Hello there, I am Tom."))
    assert "".join(pieces) == "That is good to know."
    learned(client)
    assert ("assistant", "That is good to know.") in roles(indexed)


def test_conversations_know_nothing_of_each_other(
    client: MemoryClient, scripted_llm: ScriptedLlm
) -> None:
    client.chat("My wife is Anne.", conversation="home")
    learned(client)
    client.chat("Who is my wife?", conversation="work")
    assert client.told.text == ""
    assert client.search("wife", conversation="work") == []
    assert FACT not in str(scripted_llm.chats[-1].data)


def test_options_and_messages_go_on_as_they_are(
    client: MemoryClient, scripted_llm: ScriptedLlm
) -> None:
    tools = [{"type": "function", "function": {"name": "look", "parameters": {}}}]
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}
    messages = [{"role": "user", "content": [{"type": "text", "text": "What is this?"}, image]}]
    scripted_llm.play(tool_calls(("look", {"at": 1})))
    reply = client.chat(messages, tools=tools, temperature=0.5)
    assert reply["choices"][0]["message"]["tool_calls"][0]["function"]["name"] == "look"
    asked = scripted_llm.chats[0].data
    assert asked["tools"] == tools
    assert asked["temperature"] == 0.5
    assert asked["messages"] == messages
    assert asked["model"] == "m"
    assert scripted_llm.chats[0].headers["authorization"] == "Bearer k"


@pytest.mark.parametrize("reply", [status(500, "broken"), hang_up(), status(401, "no")])
def test_a_service_that_fails_says_so_in_one_line_and_loses_no_words(
    client: MemoryClient, indexed: Path, scripted_llm: ScriptedLlm, reply: Reply
) -> None:
    scripted_llm.play(reply)
    with pytest.raises(LlmError) as error:
        client.chat("My wife is Anne.")
    assert "\n" not in str(error.value)
    assert "Bearer" not in str(error.value)
    learned(client)
    assert [one for one in roles(indexed) if one[0] != "summary"] == [
        ("user", "My wife is Anne."),
        ("memory", FACT),
    ]


def test_a_stream_that_is_cut_keeps_only_what_the_user_said(
    client: MemoryClient, indexed: Path, scripted_llm: ScriptedLlm
) -> None:
    scripted_llm.play(
        text("A long answer that nobody hears the end of.").slowly(0.0).cut_after(300)
    )
    with pytest.raises(LlmError):
        list(client.stream("Good morning."))
    learned(client)
    assert roles(indexed) == [("user", "Good morning.")]


def test_an_answer_that_is_no_json_is_told(client: MemoryClient, scripted_llm: ScriptedLlm) -> None:
    scripted_llm.play(raw(b"<html>Welcome</html>"))
    with pytest.raises(LlmError, match="did not answer in JSON"):
        client.chat("Hello")


def test_facts_that_are_said_outright(client: MemoryClient, indexed: Path) -> None:
    assert client.add("The user lives in Porto.")["added"] == ["The user lives in Porto."]
    assert client.add(["The user lives in Porto."])["added"] == []
    assert ("memory", "The user lives in Porto.") in roles(indexed)


def test_a_model_has_to_be_named(indexed: Path, scripted_llm: ScriptedLlm) -> None:
    with MemoryClient(str(indexed), base_url=scripted_llm.url) as client:
        with pytest.raises(VaultmemError, match="no model is named"):
            client.chat("Hello")
        assert client.chat("Hello", model="other")["model"] == "other"
    with (
        MemoryClient(str(indexed), model="m") as client,
        pytest.raises(LlmError, match=r"llm\.base_url"),
    ):
        client.chat("Hello")


def test_a_vault_without_an_index_is_no_hindrance(vault: Path, scripted_llm: ScriptedLlm) -> None:
    with MemoryClient(str(vault), base_url=scripted_llm.url, model="m") as client:
        assert client.chat("Hello")["choices"]


def test_who_learns_is_told(indexed: Path, scripted_llm: ScriptedLlm) -> None:
    heard: queue.SimpleQueue[Learned] = queue.SimpleQueue()
    scripted_llm.otherwise = by_purpose
    with MemoryClient(
        str(indexed), base_url=scripted_llm.url, model="m", on_learned=heard.put
    ) as client:
        client.chat("My wife is Anne.")
        assert heard.get(timeout=20).added == [FACT]


# The command


def command(vault: Path, llm: ScriptedLlm, *words: str) -> list[str]:
    return [
        sys.executable, "-m", "vaultmem", "chat", "--vault", str(vault), "--upstream", llm.url,
        "--model", "m", *words,
    ]  # fmt: skip


def test_one_message_and_what_was_learned_from_it(indexed: Path, scripted_llm: ScriptedLlm) -> None:
    scripted_llm.otherwise = by_purpose
    words = command(indexed, scripted_llm, "--format", "text", "My wife is Anne.")
    done = subprocess.run(
        words, capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL
    )
    assert done.stdout == "That is good to know.\n"
    assert f"learned   {FACT}" in done.stderr
    again = subprocess.run(
        command(indexed, scripted_llm),
        input="Who is my wife?",
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(again.stdout)
    assert found["choices"][0]["message"]["content"] == "That is good to know."
    assert FACT in found["recalled"]
    assert found["learned"]["added"] == []


def test_a_sitting_on_a_terminal(indexed: Path, scripted_llm: ScriptedLlm) -> None:
    scripted_llm.otherwise = by_purpose
    main, end = pty.openpty()
    running = subprocess.Popen(command(indexed, scripted_llm), stdin=end, stdout=end, stderr=end)
    os.close(end)
    shown = b""

    def reads(wanted: bytes) -> None:
        nonlocal shown
        while wanted not in shown:
            shown += os.read(main, 1000)

    try:
        reads(b"you> ")
        os.write(main, b"My wife is Anne.\n")
        reads(b"good to know.")
        shown = b""
        reads(b"you> ")
        os.write(main, b"/quit\n")
        assert running.wait(timeout=60) == 0
    finally:
        running.kill()
        os.close(main)
    assert ("user", "My wife is Anne.") in roles(indexed)


def test_without_a_model_it_says_what_to_set(indexed: Path) -> None:
    words = [
        sys.executable,
        "-m",
        "vaultmem",
        "chat",
        "--vault",
        str(indexed),
        "--format",
        "text",
        "Hi",
    ]
    done = subprocess.run(
        words, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    )
    assert done.returncode in (1, 2)
    assert done.stderr.count("\n") == 1
    assert "llm." in done.stderr
