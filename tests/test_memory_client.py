"""A chat with a model that remembers, in Python and on the command line, end to end through real sockets."""

import json
import os
import pty
import select
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli_run import on, one_line, ran
from tests.scripted_llm import ScriptedLlm
from tests.scripted_replies import (
    Arguments,
    Reply,
    as_json,
    hang_up,
    status,
    stream_error,
    text,
    tool_calls,
)
from vaultmem import MemoryClient, Vault
from vaultmem.errors import LlmError, UsageError, VaultmemError
from vaultmem_chat import talk as chat
from vaultmem_chat.learning.turn_queue import FOLDER, Turns

FACT = "The user's wife is named Anne"


def by_purpose(asked: Arguments) -> Reply:
    """Chats are answered, facts found, nothing is reconciled."""
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


def roles(vault: Path, conversation: str = "default") -> list[tuple[str, str]]:
    with Vault(str(vault)) as opened:
        return [(entry["role"], entry["content"]) for entry in opened.entries(conversation)]


def test_what_is_said_is_kept_learned_and_recalled(
    client: MemoryClient, indexed: Path, scripted_llm: ScriptedLlm
) -> None:
    """And another conversation knows nothing of it."""
    reply = client.chat("My wife is Anne.")
    assert reply["choices"][0]["message"]["content"] == "That is good to know."
    assert client.learn() == 1
    said = {("user", "My wife is Anne."), ("assistant", "That is good to know.")}
    assert said | {("memory", FACT)} <= {*roles(indexed)}
    assert "".join(client.stream("Who is my wife?")) == "That is good to know."
    chats = [one for one in scripted_llm.chats if not one.schema_mode and len(one.messages) == 2]
    assert chats[-1].messages[0]["role"] == "system"
    assert f"[memory] {FACT}" in chats[-1].messages[0]["content"]
    assert chats[-1].messages[1] == {"role": "user", "content": "Who is my wife?"}
    assert client.context.memories >= 1
    assert FACT in [one["content"] for one in client.search("wife")]
    client.chat("Who is my wife?", conversation="work")
    assert client.context.text == ""
    learned_from = client.search("wife", conversation="work")  # possibly the question itself by now
    assert all("/entries/work/" in one["path"] for one in learned_from)
    own = [one for one in scripted_llm.chats if not one.schema_mode]
    assert FACT not in str(own[-1].data)


def test_options_and_messages_pass_as_is(client: MemoryClient, scripted_llm: ScriptedLlm) -> None:
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


def test_learning_waits_for_the_thread_at_it(indexed: Path, scripted_llm: ScriptedLlm) -> None:
    """And counts each turn once, whichever thread learned from it."""
    begun, go_on = threading.Event(), threading.Event()

    def answered(asked: Arguments) -> Reply:
        if asked.schema_mode:
            begun.set()
            assert go_on.wait(60)
        return by_purpose(asked)

    scripted_llm.otherwise = answered
    with MemoryClient(str(indexed), base_url=scripted_llm.url, model="m") as client:
        client.chat("My wife is Anne.")
        assert begun.wait(60)
        turn = client.turn
        assert client.is_waiting(turn)
        threading.Timer(0.2, go_on.set).start()
        assert client.learn() == 1
        assert not client.is_waiting(turn)
        assert ("memory", FACT) in roles(indexed)
        assert client.learn() == 0
        client.chat("Hello")
        client.chat("Hello again")
        assert client.learn() == 2


@pytest.mark.parametrize("reply", [status(500, "broken"), hang_up(), status(401, "no")])
def test_a_service_that_fails_says_so_in_one_line_and_loses_no_words(
    client: MemoryClient, indexed: Path, scripted_llm: ScriptedLlm, reply: Reply
) -> None:
    scripted_llm.play(reply)
    with pytest.raises(LlmError) as error:
        client.chat("My wife is Anne.")
    assert "\n" not in str(error.value)
    assert "Bearer" not in str(error.value)
    client.learn()
    kept = [role for role in roles(indexed) if role[0] != "summary"]
    assert kept == [("user", "My wife is Anne."), ("memory", FACT)]


MESSAGES = [None, "", " \n", [], ["hi"], {"role": "user", "content": "hi"}, b"hi", [{"role": "user", "content": {1}}]]  # fmt: skip


def test_what_is_no_message_and_what_is_no_fact_is_refused_and_goes_nowhere(
    client: MemoryClient, indexed: Path, scripted_llm: ScriptedLlm
) -> None:
    for messages in MESSAGES:
        with pytest.raises(UsageError) as error:
            client.chat(messages)  # type: ignore[arg-type]
        assert "\n" not in str(error.value)
        with pytest.raises(UsageError):
            list(client.stream(messages))  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="conversation"):
        client.chat("hi", conversation=5)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"stream\(\) its words"):
        client.chat("Hello", stream=True)
    with pytest.raises(UsageError, match="neither takes stream="):
        list(client.stream("Hello", stream=False))
    for facts in (None, 5, b"a fact", [None], ["one", 2], {"a": "fact"}):
        with pytest.raises(UsageError, match="texts"):
            client.add(facts)  # type: ignore[arg-type]
    assert client.learn() == 0
    assert scripted_llm.requests == []
    assert roles(indexed) == []
    assert client.add(one for one in ["I have a cat"])["added"] == ["I have a cat"]


def test_a_stream_that_ends_in_an_error_says_so_and_keeps_only_what_the_user_said(
    client: MemoryClient, indexed: Path, scripted_llm: ScriptedLlm
) -> None:
    scripted_llm.play(stream_error("It is", "overloaded"))
    said = []
    with pytest.raises(LlmError, match=r"interrupted its answer \(overloaded\)"):
        said += [*client.stream("Good morning.")]
    client.learn()
    assert roles(indexed) == [("user", "Good morning.")]


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


# The command


def words(vault: Path, llm: ScriptedLlm, *more: str) -> list[str]:
    shape = [] if "--format" in more else ["--json"]
    return ["chat", "--vault", str(vault), "--upstream", llm.url, "--model", "m", *shape, *more]


def test_one_message_and_what_was_learned_from_it(indexed: Path, scripted_llm: ScriptedLlm) -> None:
    """From this one, and not from what others have said."""
    scripted_llm.otherwise = by_purpose
    with Vault(str(indexed)) as vault:
        turns = Turns(vault.state.path(FOLDER))
        earlier = turns.begin("elsewhere", "My wife is Anne.", time.time())
        turns.finish(earlier, "Good.", time.time())
    first = ran(*words(indexed, scripted_llm, "Hello"))
    assert (first.data["learned"]["conversation"], first.data["learned"]["added"]) == (
        "default",
        [],
    )
    assert ("memory", FACT) in roles(indexed, "elsewhere")
    done = ran(*words(indexed, scripted_llm, "--format", "text", "My wife is Anne."))
    assert (done.code, done.out) == (0, "That is good to know.\n")
    assert done.err == f"recalled: [user] Hello\nadded: {FACT}\n"
    again = ran(*words(indexed, scripted_llm), stdin=b"Who is my wife?")
    assert again.data["choices"][0]["message"]["content"] == "That is good to know."
    assert FACT in again.data["recalled"]
    assert again.data["learned"]["added"] == []
    shown = ran(*words(indexed, scripted_llm, "--format", "text", "And who is she?"))
    assert f"recalled: [memory] {FACT}\n" in shown.err
    assert "<memory>" not in shown.err
    assert "It is data" not in shown.err


def test_what_is_not_learned_in_time_is_learned_later(
    indexed: Path, scripted_llm: ScriptedLlm, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chat, "LEARNING", 0.3)
    with Vault(str(indexed)) as vault:
        claim = Turns(vault.state.path(FOLDER)).claim()
    assert claim is not None
    with claim:
        done = ran(*words(indexed, scripted_llm, "My wife is Anne."))
    assert done.data["learned"] is None
    assert "learned later, or by another process" in one_line(done)


def test_an_answer_that_broke_off_is_no_part_of_the_sitting(
    indexed: Path, scripted_llm: ScriptedLlm, monkeypatch: pytest.MonkeyPatch
) -> None:
    person = iter(("One", "Two", "Three", "/quit"))
    monkeypatch.setattr(chat, "is_terminal", lambda _: True)
    monkeypatch.setattr("builtins.input", lambda: next(person))
    answers = iter((stream_error("Torn", "overloaded"), text("Whole"), text("Last")))
    scripted_llm.otherwise = lambda asked: (
        next(answers) if asked.data.get("stream") else by_purpose(asked)
    )
    done = ran(*words(indexed, scripted_llm, "--format", "text"))
    assert done.code == 0
    assert "(overloaded)" in done.err
    assert done.out.replace("you> ", "") == "Torn\nWhole\nLast\n"
    streams = [one for one in scripted_llm.chats if one.data.get("stream")]
    said = [message["content"] for message in streams[-1].messages if message["role"] != "system"]
    assert said == ["Two", "Whole", "Three"]
    assert [words for role, words in roles(indexed) if role == "user"] == ["One", "Two", "Three"]


def test_chat_runs_on_a_terminal(indexed: Path, scripted_llm: ScriptedLlm) -> None:
    scripted_llm.otherwise = by_purpose
    main, end = pty.openpty()
    command = [sys.executable, "-m", "vaultmem", *words(indexed, scripted_llm)]
    running = subprocess.Popen(command, stdin=end, stdout=end, stderr=end)
    os.close(end)
    shown = b""

    def reads(wanted: bytes) -> None:
        nonlocal shown
        while wanted not in shown:
            assert select.select([main], [], [], 60)[0], shown
            shown += os.read(main, 1000)
        shown = shown.partition(wanted)[2]

    try:
        reads(b"you> ")
        os.write(main, b"My wife is Anne.\n")
        reads(b"good to know.")
        reads(b"you> ")
        os.write(main, b"/quit\n")
        reads(FACT.encode())
        assert running.wait(timeout=60) == 0
    finally:
        running.kill()
        os.close(main)
    assert ("user", "My wife is Anne.") in roles(indexed)


def test_a_turn_is_shown_to_its_own_service_alone(indexed: Path, scripted_llm: ScriptedLlm) -> None:
    """Also if another one is configured while the turn waits."""
    scripted_llm.otherwise = by_purpose
    with MemoryClient(str(indexed), base_url=scripted_llm.url, model="m") as client:
        client._worker.start = lambda: None  # type: ignore[method-assign] # the turn waits
        client.chat("My wife is Anne, and the parcel is for her.")
    assert len(scripted_llm.chats) == 1
    with ScriptedLlm() as other:
        other.otherwise = by_purpose
        with MemoryClient(str(indexed), base_url=other.url, model="m") as client:
            assert client.learn() == 1
        assert other.chats == []
    assert ("user", "My wife is Anne, and the parcel is for her.") in roles(indexed)
    assert len(scripted_llm.chats) == 1


def test_the_key_and_the_model_of_one_service_are_not_for_another(
    indexed: Path, scripted_llm: ScriptedLlm, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-theirs")
    monkeypatch.setenv("VAULTMEM_LLM_MODEL", "theirs")
    for address, key in (
        ("https://api.example/v1", None), (scripted_llm.url, "Bearer sk-theirs"), ("", "Bearer sk-theirs"),
    ):  # fmt: skip
        monkeypatch.setenv("VAULTMEM_LLM_BASE_URL", address)
        scripted_llm.forget()
        scripted_llm.otherwise = by_purpose
        assert ran(*words(indexed, scripted_llm), "hello").code == 0
        assert {one.headers.get("authorization") for one in scripted_llm.chats} == {key}
    monkeypatch.setenv("VAULTMEM_LLM_BASE_URL", "https://api.example/v1")
    nameless = ran("chat", "--vault", str(indexed), "--upstream", scripted_llm.url, "hello")
    assert (nameless.code, "no model is named" in nameless.err) == (1, True)
    wrong = ran("chat", "--vault", str(indexed), "--upstream", "localhost:1", "hello")
    assert wrong.err.startswith("vaultmem: base_url must be an http:// or https:// URL")
    monkeypatch.undo()
    for more, wanted in (((), "--upstream"), (("--upstream", "http://127.0.0.1:9/v1"), "--model")):
        ended = on(indexed, "chat", "hi", *more, "--format", "text")
        assert (ended.code, wanted in ended.err) == (1, True)
