"""A language model behind a service: asked in the way it understands, retried, given up with one line, and no key is
ever shown."""

import json
import socket
import threading
import time
from contextlib import suppress

import pytest

from tests.agent_run import until
from tests.llm_run import SECRET, Models, extraction, failed, models, nothing_known
from tests.scripted_llm import ScriptedLlm
from tests.scripted_replies import as_json, hang, hang_up, huge, raw, status, text, too_many
from vaultmem import config
from vaultmem.credentials import Key
from vaultmem.errors import LlmError
from vaultmem_chat.llm import llm

__all__ = ["models", "nothing_known"]  # fixtures

FACTS = {"type": "array", "items": {"type": "string"}, "maxItems": 3}
PERSON = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


def test_a_plain_question(models: Models) -> None:
    models.llm.play(text("  Anne is their wife. \n"))
    assert models().ask(extraction()) == "Anne is their wife."
    (request,) = models.llm.requests
    assert request.path == "/v1/chat/completions"
    assert request.data == {
        "model": "small",
        "messages": [
            {"role": "system", "content": "You find facts."},
            {"role": "user", "content": "My wife is Anne. 你好"},
        ],
        "max_tokens": 99,
        "temperature": 0,
    }
    assert request.headers["content-type"] == "application/json"
    assert request.headers["accept-encoding"] == "identity"
    assert request.headers["user-agent"] == "vaultmem"
    assert "authorization" not in request.headers
    assert "cookie" not in request.headers


@pytest.mark.parametrize("tail", ["", "/", "/v1", "/v1/", "/v1/chat/completions", "/v1/models"])
def test_the_url_with_or_without_its_end(scripted_llm: ScriptedLlm, tail: str) -> None:
    settings = config.load(
        None,
        {
            "VAULTMEM_LLM_BASE_URL": f"http://127.0.0.1:{scripted_llm.port}{tail}",
            "VAULTMEM_LLM_MODEL": "m",
        },
    )
    model = llm.open_model(settings)
    assert model
    assert model.ask(extraction()) == "OK"
    assert scripted_llm.requests[0].path == "/v1/chat/completions"


def test_the_settings_and_who_goes_before_them(
    scripted_llm: ScriptedLlm, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", SECRET)
    named = {
        "BASE_URL": scripted_llm.url,
        "MODEL": "big",
        "KEY": "env:MY_KEY",
        "SCHEMA": "json_object",
        "RETRIES": "0",
    }
    settings = config.load(None, {f"VAULTMEM_LLM_{name}": value for name, value in named.items()})
    scripted_llm.play(as_json({"answer": []}), text("b"), status(500))
    model, other = (
        llm.open_model(settings),
        llm.open_model(settings, key=Key("theirs"), model="another"),
    )
    assert model
    assert other
    assert model.ask(extraction(FACTS)) == []
    assert other.ask(extraction()) == "b"
    with pytest.raises(LlmError, match="answers 500"):
        model.ask(extraction())
    first, second, third = scripted_llm.requests
    assert (first.data["model"], first.headers["authorization"]) == ("big", f"Bearer {SECRET}")
    assert first.schema_mode == "json_object"
    assert (second.data["model"], second.headers["authorization"]) == ("another", "Bearer theirs")
    assert third.data["model"] == "big"


def test_the_schema_goes_with_the_request(models: Models) -> None:
    models.llm.otherwise = as_json({"name": "Anne"})
    assert models().ask(extraction(PERSON, "who is it?")) == {"name": "Anne"}
    models().ask(extraction(FACTS))
    first, second = models.llm.requests
    assert first.data["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "who-is-it-", "strict": True, "schema": PERSON},
    }
    assert second.schema["properties"]["answer"] == FACTS  # services accept only objects
    assert len(first.messages) == len(second.messages) == 2


@pytest.mark.parametrize(
    ("refuses", "modes"),
    [
        (set(), ["json_schema"]),
        ({"json_schema"}, ["json_schema", "json_object"]),
        ({"json_schema", "json_object"}, ["json_schema", "json_object", ""]),
        ({"response_format"}, ["json_schema", "json_object", ""]),
    ],
)
def test_a_plainer_manner_is_tried_and_remembered(
    models: Models, refuses: set[str], modes: list[str]
) -> None:
    models.llm.refuses = refuses
    models.llm.otherwise = as_json({"answer": ["a"]})
    assert models().ask(extraction(FACTS)) == ["a"]
    assert [request.schema_mode for request in models.llm.requests] == modes
    assert models().ask(extraction(FACTS)) == ["a"]  # another object, the same service and model
    assert [request.schema_mode for request in models.llm.requests] == [*modes, modes[-1]]
    models(model="other").ask(extraction(FACTS))
    assert models.llm.requests[len(modes) + 1].schema_mode == "json_schema"
    assert models.pauses == []
    told = json.dumps(FACTS) in models.llm.requests[len(modes)].messages[0]["content"]
    assert told == (modes[-1] != "json_schema")


def test_models_that_have_other_names_for_things(models: Models) -> None:
    models.llm.refuses = {"max_tokens", "temperature"}
    assert models().ask(extraction()) == "OK"
    assert models().ask(extraction()) == "OK"
    last = models.llm.requests[-1].data
    assert len(models.llm.requests) == 4
    assert (last["max_completion_tokens"], "max_tokens" in last, "temperature" in last) == (
        99,
        False,
        False,
    )


@pytest.mark.parametrize("code", [408, 409, 429, 500, 502, 503, 504, 529])
def test_what_may_pass_is_tried_again(models: Models, code: int) -> None:
    models.llm.play(status(code), status(code), text("at last"))
    assert models().ask(extraction()) == "at last"
    assert models.pauses == [0.5, 1.0]
    models.llm.play(status(code), status(code), status(code, "come back"))
    said = failed(models())
    assert f"answers {code} (come back); it may do so later" in said
    assert len(models.llm.requests) == 6


@pytest.mark.parametrize("code", [400, 401, 403, 404, 405, 413, 422])
def test_what_will_not_pass_is_not(models: Models, code: int) -> None:
    models.llm.play(status(code, "no"))
    said = failed(models())
    assert f"answers {code} (no)" in said
    assert "llm." in said  # which setting to check
    assert (len(models.llm.requests), models.pauses) == (1, [])


@pytest.mark.parametrize(
    ("told", "waits"),
    [
        ("3", [3.0]), ("0", [0.0]), ("1.5", [1.5]), ("-4", [0.0]), ("30", [30.0]),
        ("soon", [0.5]), ("nan", [0.0]), ("Sun, 01 Mar 2026 12:00:07 GMT", [0.5]),
    ],
)  # fmt: skip
def test_as_long_as_the_service_says(models: Models, told: str, waits: list[float]) -> None:
    models.llm.play(too_many(told))
    assert models().ask(extraction()) == "OK"
    assert models.pauses == waits


def test_connections_that_break_are_tried_again(models: Models) -> None:
    models.llm.play(hang_up(), text("half of this is lost").cut_after(60), text("whole"))
    assert models().ask(extraction()) == "whole"
    assert len(models.pauses) == 2
    models.llm.play(*[text("x" * 90).cut_after(150)] * 3)
    assert "interrupted its answer" in failed(models())


@pytest.mark.parametrize(
    "reply",
    [hang(), text("x" * 4_000).slowly(0.05, 1), text("").slowly(0.02, 1)],
    ids=["silent", "drip", "drip of nothing"],
)
def test_the_whole_answer_has_its_time(models: Models, reply: object) -> None:
    models.llm.play(reply)  # type: ignore[arg-type]
    start = time.monotonic()
    said = failed(models(seconds=0.4))
    assert time.monotonic() - start > 0.3
    assert "took longer than 0.4 s" in said
    assert "llm.timeout" in said
    assert len(models.llm.requests) <= 1  # a busy server may not even have seen it
    assert models.pauses == []  # it would take just as long again
    until(lambda: not [one for one in threading.enumerate() if one.name == "exchange"])


def test_a_service_that_drips_its_headers_has_its_time(models: Models) -> None:
    with socket.create_server(("127.0.0.1", 0)) as service:

        def drip() -> None:
            connection, _ = service.accept()
            with connection, suppress(OSError):
                connection.sendall(b"HTTP/1.1 200 OK\r\nx: ")
                while not over.wait(0.05):
                    connection.sendall(b"x")

        over, dripping = threading.Event(), threading.Thread(target=drip)
        dripping.start()
        url = f"http://127.0.0.1:{service.getsockname()[1]}/v1"
        try:
            assert "took longer than 0.4 s" in failed(models(seconds=0.4, url=url))
        finally:
            over.set()
            dripping.join()
    assert models.pauses == []


def test_an_answer_that_is_too_large(models: Models) -> None:
    models.llm.play(huge(4_100_000), huge(900_000))
    assert "more than 4 MB" in failed(models())
    assert len(str(models().ask(extraction()))) == 900_000


def test_no_redirect_is_followed(models: Models) -> None:
    with socket.create_server(("127.0.0.1", 0)) as elsewhere:
        elsewhere.settimeout(0.1)
        for code in (301, 302, 307, 308):
            target = f"http://127.0.0.1:{elsewhere.getsockname()[1]}/v1/chat/completions"
            models.llm.play(raw(b"", code, Location=target))
            assert "set llm.base_url to that address" in failed(models(key=SECRET))
        with pytest.raises(TimeoutError):
            elsewhere.accept()


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"<html>Welcome to the router</html>", "not a chat completion"),
        (b"[" * 100_000, "not a chat completion"),
        (b'{"choices": []}', "not a chat completion"),
        (b'{"choices": [{"message": "hi"}]}', "not a chat completion"),
        (b'{"choices": [{"message": {"content": null}}]}', "said nothing"),
        (
            b'{"choices": [{"message": {"content": "  "}, "finish_reason": "length"}]}',
            "used up all its tokens",
        ),
        (b'{"choices": [{"message": {"content": null, "refusal": "I will not"}}]}', "declined"),
        (b'{"error": {"message": "no credits\\nleft"}}', "no credits left"),
        (
            b'{"choices": [{"message": {"content": "<think>hm</think>"}}]}',
            "only thought and gave no answer",
        ),
    ],
)
def test_replies_that_hold_no_answer(models: Models, body: bytes, why: str) -> None:
    models.llm.play(raw(body))
    assert why in failed(models())


def test_an_encoding_not_requested_is_refused(models: Models) -> None:
    models.llm.play(raw(b"\x1f\x8b", Content_Encoding="gzip"))
    assert "encoding" in failed(models())


def test_a_service_cannot_take_over_the_terminal(models: Models) -> None:
    models.llm.play(status(400, "bad\x1b[2J\nERROR: all is well\r" + "x" * 5_000))
    said = failed(models())
    assert said.isprintable()
