"""The Responses API through the proxy: memory is inserted, turns are stored and learned from, everything else is
unchanged."""

import json
from contextlib import suppress
from http.client import IncompleteRead
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.proxy_run import HEADERS, Proxied, Seen, serving
from tests.scripted_replies import Arguments, Reply, raw, status, text, tool_calls
from vaultmem.recall.recall_text import OPEN
from vaultmem_chat.bodies import read_response, with_memory

__all__ = ["serving"]  # fixtures

TEA = "The user likes tea"
PIECES = b"".join(
    f"data: {json.dumps(one)}\n\n".encode() for one in (
        {"type": "response.output_text.delta", "output_index": 0, "delta": "Black "},
        {"type": "response.output_text.delta", "output_index": 0, "delta": "tea."},
        {"type": "response.completed", "response": {"id": "r", "output": []}},
    )
)  # fmt: skip


@pytest.fixture
def proxy(serving: Proxied) -> Proxied:
    serving.forget()
    serving.remembers(TEA)
    return serving


def send(proxy: Proxied, body: object, **headers: str) -> Seen:
    packed = body if isinstance(body, bytes) else json.dumps(body).encode()
    return proxy.send("POST", "/v1/responses", packed, **{**HEADERS, **headers})


def message(role: str, said: str) -> dict[str, object]:
    kind = "output_text" if role == "assistant" else "input_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": said}]}


def told(asked: Arguments) -> list[str]:
    """The texts of the items that the proxy has inserted."""
    items = asked.data["input"]
    return [
        item["content"]
        for item in items
        if isinstance(item.get("content"), str) and OPEN in item["content"]
    ]


@pytest.mark.parametrize("streamed", [False, True])
def test_the_official_client_is_told_and_its_turns_are_kept(proxy: Proxied, streamed: bool) -> None:
    proxy.llm.play(text("Green tea, 好的 👍."))
    client = proxy.client()
    if streamed:
        with client.responses.stream(model="m", input="What shall I drink?") as stream:
            said = "".join(one.delta for one in stream if one.type == "response.output_text.delta")
    else:
        said = client.responses.create(model="m", input="What shall I drink?").output_text
    assert said == "Green tea, 好的 👍."
    (asked,) = proxy.llm.responses
    assert [TEA in one for one in told(asked)] == [True]
    assert asked.data["input"][-1] == {"role": "user", "content": "What shall I drink?"}
    (turn,) = proxy.ended_turns(1)
    assert (turn.user, turn.assistant, turn.model) == ("What shall I drink?", said, "m")
    if streamed:  # some servers do not repeat the whole answer at the end
        proxy.llm.play(raw(PIECES, Content_Type="text/event-stream"))
        assert send(proxy, {"input": "And then?", "stream": True}).body == PIECES
        assert proxy.ended_turns(2)[1].assistant == "Black tea."


# As Codex asks: instructions, its surroundings, the person's words, and in the next request a tool call and result.
CODEX: list[dict[str, object]] = [
    message("developer", "You are a coding agent."),
    message("user", "<environment_context><cwd>/x</cwd></environment_context>"),
    message("user", "Rename the boat"),
]
CALL = {"type": "function_call", "name": "shell", "arguments": "{}", "call_id": "call_0"}
RESULT = {"type": "function_call_output", "call_id": "call_0", "output": "a stranger's words"}


def test_an_agent_with_tools_is_told_once_and_its_turn_is_one(proxy: Proxied) -> None:
    proxy.llm.play(tool_calls(("shell", {})), text("Renamed."))
    asked = {"model": "m", "instructions": "Be brief.", "stream": True, "store": False}
    first = send(proxy, {**asked, "input": CODEX})
    second = send(proxy, {**asked, "input": [*CODEX, CALL, RESULT]})
    assert [one.header("x-vaultmem-recall") for one in (first, second)] == [
        "1 memory",
        "none: the turn goes on",
    ]
    before, after = proxy.llm.responses
    assert [one["role"] for one in before.data["input"]] == ["developer", "user", "system", "user"]
    assert before.data["instructions"] == "Be brief."
    assert after.data["input"] == [*CODEX, CALL, RESULT]
    (turn,) = proxy.ended_turns(1)
    assert (turn.user, turn.assistant) == ("Rename the boat", "Renamed.")
    assert len(proxy.turns()) == 1


def test_what_goes_on_with_a_response_goes_on_with_its_turn(proxy: Proxied) -> None:
    proxy.llm.play(tool_calls(("shell", {})), text("Done."), text("Done again."))
    client: Any = proxy.client()
    first = client.responses.create(model="m", input="Do it")
    second = client.responses.create(model="m", input=[RESULT], previous_response_id=first.id)
    client.responses.create(model="m", input="Do it", previous_response_id=second.id)
    assert [(turn.user, turn.assistant) for turn in proxy.ended_turns(2)] == [
        ("Do it", "Done."), ("Do it", "Done again."),
    ]  # fmt: skip
    assert proxy.llm.responses[1].data["input"] == [RESULT]


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        (status(429), 429),
        (text("half of it is not").cut_after(40), 200),
        (raw(json.dumps({"status": "failed", "error": {"message": "no"}, "output": []}).encode()), 200),
        (raw(b'{"status":"incomplete","incomplete_details":{"reason":"content_filter"},"output":[{"type":"message","content":[{"type":"output_text","text":"Half"}]}]}'), 200),
        (raw(b'event: response.failed\ndata: {"type":"response.failed"}\n\n', Content_Type="text/event-stream"), 200),
    ],
)  # fmt: skip
def test_after_a_failed_answer_only_the_question_is_kept(
    proxy: Proxied, reply: Reply, code: int
) -> None:
    proxy.llm.play(reply)
    with suppress(IncompleteRead):  # cut off here as there
        assert send(proxy, {"input": "a"}).status == code
    (turn,) = proxy.ended_turns(1)
    assert (turn.user, turn.assistant) == ("a", None)


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b'{"input": "a", "metadata": {"vaultmem": "off"}}', "off"),
        (b'{"input": "a", "input": "b"}', "none: no question can be read in the request"),
        (b'{"input": 5}', "none: no question can be read in the request"),
        (b'{"input": []}', "none: no question can be read in the request"),
        (b'{"input": "### Task: a title"}', "none: a program asks for itself"),
        (b'{"input": [{"type": "function_call_output", "output": "x"}], "previous_response_id": "r"}',
         "none: the user says nothing"),
    ],
)  # fmt: skip
def test_requests_without_a_question_are_forwarded_unchanged_with_the_reason(
    proxy: Proxied, body: bytes, why: str
) -> None:
    assert send(proxy, body).header("x-vaultmem-recall") == why
    assert [response.body for response in proxy.llm.responses] == [body]
    assert not proxy.turns()


# --- Bodies and answers, without sockets

_TEXT = st.text(max_size=20)
_MESSAGE = st.builds(
    lambda role, said, plain: {"role": role, "content": said} if plain else message(role, said),
    st.sampled_from(["user", "assistant", "developer"]), _TEXT, st.booleans(),
)  # fmt: skip
_INPUT = st.one_of(_TEXT, st.lists(st.one_of(_MESSAGE, st.just(CALL), st.just(RESULT)), max_size=5))


@given(_INPUT, st.booleans(), st.sampled_from(["turn", "start"]), st.sampled_from([None, 2]))
def test_one_message_more_and_nothing_else(
    given_input: object, ascii_only: bool, place: str, indent: int | None
) -> None:
    whole = {"計": "x", "input": given_input, "model": "m"}
    body = json.dumps(whole, ensure_ascii=ascii_only, indent=indent).encode()
    chat = read_response(body)
    if chat is None:
        assert not any(isinstance(one, dict) and one.get("role") == "user" for one in given_input)  # type: ignore[attr-defined]
        return
    after = json.loads(with_memory(body, chat, place, "計 told"))
    put_in = {"role": "system", "content": "計 told"}
    if isinstance(given_input, str):
        assert after == {**whole, "input": [put_in, {"role": "user", "content": given_input}]}
        return
    assert isinstance(given_input, list)
    at = after["input"].index(put_in)
    assert after == {**whole, "input": [*given_input[:at], put_in, *given_input[at:]]}
    assert given_input[at].get("role") == "user" or place == "start"
