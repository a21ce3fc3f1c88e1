"""Anthropic's Messages API through the proxy, as Claude Code uses it: memory is inserted, turns are stored,
everything else is unchanged."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.lazy import Lazy
from tests.proxy_run import HEADERS, Proxied, Seen, proxy, serving, user
from tests.scripted_replies import Reply, raw, status, text, tool_calls
from vaultmem.recall.recall_text import OPEN

__all__ = ["proxy", "serving"]  # fixtures

anthropic = Lazy("anthropic")
TEA = "The user likes tea"
CLAUDE = "user_1a_account__session_0b5c2f1e-5d0a-4b6e-9b8e-3f1f7a2c9d10"
REMINDER = {"type": "text", "text": "<system-reminder>\nI live in CLAUDE.md\n</system-reminder>\n"}
OUTPUT = "<local-command-stdout>I live in a shell</local-command-stdout>"
COMPACT = {"type": "text", "text": "CRITICAL: Respond with TEXT ONLY. Do NOT call any tools."}
CONTINUED = {
    "type": "text",
    "text": "This session is being continued from a previous conversation that ran\nout",
}
IN_SESSION: dict[str, Any] = {"metadata": {"user_id": CLAUDE}, "tools": [{"name": "shell"}]}
WORDS = {"type": "text", "text": "Rename the boat", "cache_control": {"type": "ephemeral"}}
CALL = {"type": "tool_use", "id": "call_0", "name": "shell", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "call_0", "content": "a stranger's words"}

HALF = b'data: {"type":"content_block_delta","delta":{"type":"text_delta","text":"Half of"}}\n\n'


def send(proxy: Proxied, *messages: object, headers: dict[str, str] | None = None, **more: object) -> Seen:  # fmt: skip
    body = {"model": "m", "max_tokens": 9, "system": "Be brief.", "messages": messages, **more}
    named = {**HEADERS, **(headers or {})}
    return proxy.send("POST", "/v1/messages?beta=true", json.dumps(body).encode(), **named)


@pytest.mark.parametrize("streamed", [False, True])
def test_the_official_client_gets_memories_and_its_turns_are_stored(
    proxy: Proxied, streamed: bool
) -> None:
    proxy.remembers(TEA)
    proxy.llm.play(text("Green tea, 好的 👍."))
    url = proxy.url.removesuffix("/v1")
    asked: Any = {"model": "m", "max_tokens": 9, "messages": [user("What shall I drink?")]}
    with anthropic.Anthropic(base_url=url, api_key="k", max_retries=0) as client:
        if streamed:
            with client.messages.stream(**asked) as stream:
                answer = "".join(stream.text_stream)
        else:
            answer = client.messages.create(**asked).content[0].text
    assert answer == "Green tea, 好的 👍."
    (sent,) = proxy.llm.messages
    memory, question = sent.data["messages"]
    assert (memory["role"], question) == ("user", user("What shall I drink?"))
    assert OPEN in memory["content"]
    assert TEA in memory["content"]
    (turn,) = proxy.ended_turns(1)
    assert (turn.user, turn.assistant, turn.model) == ("What shall I drink?", answer, "m")


def test_a_turn_with_tools_is_one_turn_of_the_words_of_the_person(proxy: Proxied) -> None:
    proxy.remembers(TEA)
    proxy.llm.play(tool_calls(("shell", {"at": "计划"})), text("Renamed."))
    more: Any = {"stream": True, **IN_SESSION}
    first = send(proxy, user([REMINDER, WORDS]), **more)
    later = [user([WORDS]), {"role": "assistant", "content": [CALL]}, user([RESULT, REMINDER])]
    second = send(proxy, *later, **more)
    recalls = [one.header("x-vaultmem-recall") for one in (first, second)]
    assert recalls == ["1 memory", "none: the turn goes on"]
    before, after = proxy.llm.messages
    assert before.path == "/v1/messages?beta=true"
    assert before.data["messages"][1:] == [user([REMINDER, WORDS])]
    assert before.data["system"] == "Be brief."
    assert after.data["messages"] == later
    (turn,) = proxy.ended_turns(1)
    assert (turn.user, turn.assistant) == ("Rename the boat", "Renamed.")
    assert len(proxy.turns()) == 1


def test_what_claude_code_puts_around_the_question_does_not_keep_memory_away(
    proxy: Proxied,
) -> None:
    """As version 2.1.197 sends it: lists of agents after the question, the output of commands beside it."""
    proxy.remembers(TEA)
    output = {"type": "text", "text": f"<command-name>/cost</command-name>\n {OUTPUT}\n"}
    agents = {"role": "system", "content": "Available agent types for the Agent tool:"}
    session = {"user_id": json.dumps({"device_id": "4f", "session_id": "7e91ea5b"})}
    more: Any = {"metadata": session, "tools": [{"name": "shell"}]}
    proxy.llm.play(text("Aye."))
    seen = send(proxy, user([REMINDER, output, WORDS]), agents, **more)
    assert seen.header("x-vaultmem-recall") == "1 memory"
    memory, *rest = proxy.llm.messages[0].data["messages"]
    assert TEA in memory["content"]
    assert rest == [user([REMINDER, output, WORDS]), agents]
    assert proxy.ended_turns(1)[0].user == "Rename the boat"
    opened = {"type": "text", "text": "<ide_opened_file>a.py</ide_opened_file>"}
    seen = send(proxy, user([{"type": "text", "text": OUTPUT}, opened]), agents, **more)
    assert seen.header("x-vaultmem-recall") == "none: the user says nothing"
    for count, name in enumerate(("user_story", "my-note"), start=2):
        proxy.llm.play(text("Aye."))
        story = f"<{name}>Rename the boat</{name}>"
        send(proxy, user([REMINDER, {"type": "text", "text": story}]), agents, **more)
        assert proxy.ended_turns(count)[-1].user == story


def test_sessions_side_by_side_keep_each_their_turn_with_tools(proxy: Proxied) -> None:
    def step(session: str, *messages: object) -> None:
        marks = (
            {"metadata": {"user_id": json.dumps({"session_id": "a"})}},
            {"prompt_cache_key": "b"},
        )
        send(proxy, *messages, tools=[{"name": "shell"}], **marks[session == "b"])

    proxy.llm.play(*2 * [tool_calls(("shell", {}))], text("One."), text("Two."))
    questions = {name: user(f"Question {name}") for name in "ab"}
    for name, question in questions.items():
        step(name, question)
    for name, question in questions.items():
        step(name, question, {"role": "assistant", "content": [CALL]}, user([RESULT]))
    turns = {turn.user: turn.assistant for turn in proxy.ended_turns(2)}
    assert turns == {"Question a": "One.", "Question b": "Two."}
    assert len(proxy.turns()) == 2


def test_an_agent_of_an_assistant_is_not_the_person(proxy: Proxied) -> None:
    proxy.remembers(TEA)
    for name in ("X_Claude_Code_Agent_Id", "X_OpenAI_Subagent", "X_Parent_Session_Id"):
        seen = send(proxy, user("I work here: find the boat"), headers={name: "af01"}, **IN_SESSION)
        assert seen.header("x-vaultmem-recall") == "none: a program asks for itself"
    assert not proxy.turns()


@pytest.mark.parametrize(
    ("content", "more", "why"),
    [
        ("Name this chat", {"metadata": {"user_id": CLAUDE}, "tools": []}, "none: a program asks for itself"),
        ([WORDS, COMPACT], {}, "none: a program asks for itself"),
        ([REMINDER], {}, "none: the user says nothing"),
        ([CONTINUED], IN_SESSION, "none: the user says nothing"),
        ([RESULT], {}, "none: no question can be read in the request"),
    ],
)  # fmt: skip
def test_what_no_person_has_written_gets_no_memory_and_is_not_stored(
    proxy: Proxied, content: object, more: dict[str, Any], why: str
) -> None:
    proxy.remembers(TEA)
    assert send(proxy, user(content), **more).header("x-vaultmem-recall") == why
    assert proxy.llm.messages[0].data["messages"] == [user(content)]
    assert not proxy.turns()


@pytest.mark.parametrize(
    "reply",
    [
        status(529),
        raw(b'event: error\ndata: {"type":"error","error":{"type":"overloaded_error"}}\n\n', Content_Type="text/event-stream"),
        raw(HALF, Content_Type="text/event-stream"),
        raw(HALF + b'data: {"type":"message_delta","delta":{"stop_reason":"refusal"}}\n\ndata: {"type":"message_stop"}\n\n', Content_Type="text/event-stream"),
        raw(b'{"type":"message","content":[{"type":"text","text":"Half of"}],"stop_reason":"refusal"}'),
    ],
)  # fmt: skip
def test_of_half_an_answer_only_the_question_is_stored(proxy: Proxied, reply: Reply) -> None:
    proxy.llm.play(reply)
    assert send(proxy, user("a")).body == reply.body
    (turn,) = proxy.ended_turns(1)
    assert (turn.user, turn.assistant) == ("a", None)


@pytest.mark.parametrize("path", ["/v1/messages", "/v1/chat/completions"])
def test_a_request_that_is_refused_with_memory_is_sent_once_more_without(
    proxy: Proxied, path: str
) -> None:
    proxy.remembers(TEA)
    body = json.dumps({"model": "m", "messages": [user("a")]}).encode()
    proxy.llm.play(status(400, "prompt is too long"), text("Yes."))
    seen = proxy.send("POST", path, body, **HEADERS)
    assert seen.status == 200
    assert seen.header("x-vaultmem-recall") == "none: the upstream refused the request with memory"
    assert [request.body == body for request in proxy.llm.requests] == [False, True]
    assert proxy.ended_turns(1)[0].assistant == "Yes."
    proxy.llm.play(status(413, "no"), status(400, "still too long"), text("never sent"))
    seen = proxy.send("POST", path, body, **HEADERS)
    assert (seen.status, seen.data["error"]["message"]) == (400, "still too long")
    assert str(seen.header("x-vaultmem-recall")).endswith(
        "refused the request with memory, and without"
    )
