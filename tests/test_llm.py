"""A language model behind a service: asked in its manner, tried again, given up in one line, and never shown a key twice."""

from __future__ import annotations

import json
import logging
import socket
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.cli_run import ran
from tests.scripted_llm import (
    Reply,
    ScriptedLlm,
    as_json,
    hang,
    hang_up,
    huge,
    raw,
    status,
    stream_error,
    text,
    too_many,
)
from vaultmem import config
from vaultmem.adapter.services import Message, Question
from vaultmem.credentials import Key
from vaultmem.errors import LlmError
from vaultmem_chat.llm import llm
from vaultmem_chat.llm.llm import Budget, Llm, Patience, Service
from vaultmem_chat.llm.replies import Answer

FACTS = {"type": "array", "items": {"type": "string"}, "maxItems": 3}
PERSON = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
SECRET = "sk-proj-AbCdEf0123456789AbCdEf0123456789"

NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)


@pytest.fixture(autouse=True)
def nothing_known() -> Iterator[None]:
    """No service has been asked before, and no key or proxy of this machine plays a part."""
    llm._forms.clear()
    with pytest.MonkeyPatch.context() as patch:
        for name in (
            "OPENAI_API_KEY",
            "HTTP_PROXY",
            "HTTPS_PROXY",
            "ALL_PROXY",
            "http_proxy",
            "https_proxy",
            "all_proxy",
        ):
            patch.delenv(name, raising=False)
        yield


class Pauses(list[float]):
    """A sleep that takes no time and remembers how long it would have been."""

    def __call__(self, seconds: float) -> None:
        self.append(seconds)


@pytest.fixture
def pauses() -> Pauses:
    return Pauses()


Make = Callable[..., Llm]


@pytest.fixture
def make(scripted_llm: ScriptedLlm, pauses: Pauses) -> Make:
    """A model of the scripted service that waits without waiting."""

    def made(
        schema: str = "auto",
        *,
        seconds: float = 5.0,
        retries: int = 2,
        key: str | None = None,
        url: str = "",
        model: str = "small",
    ) -> Llm:
        patience = Patience(retries, pauses, lambda: 1.0, lambda: NOW)
        service = Service(url or scripted_llm.url, "env:OPENAI_API_KEY", seconds)
        return Llm(service, model, schema, patience, Key(key) if key else None)

    return made


def asked(
    schema: dict[str, object] | None = None, purpose: str = "facts", most: int = 99
) -> Question:
    messages = (Message("system", "You find facts."), Message("user", "My wife is Anne. 你好"))
    return Question(purpose, messages, schema, most)


def failed(model: Llm | Budget, question: Question | None = None) -> str:
    """The one line in which a model says why it has no answer."""
    with pytest.raises(LlmError) as error:
        model.ask(question or asked())
    said = str(error.value)
    assert "\n" not in said
    assert len(said) < 500
    return said


def test_a_plain_question(scripted_llm: ScriptedLlm, make: Make) -> None:
    scripted_llm.play(text("  Anne is their wife. \n"))
    assert make().ask(asked()) == "Anne is their wife."
    (request,) = scripted_llm.requests
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
    assert model.ask(asked()) == "OK"
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
    assert model.ask(asked(FACTS)) == []
    assert other.ask(asked()) == "b"
    with pytest.raises(LlmError, match="answers 500"):
        model.ask(asked())
    first, second, third = scripted_llm.requests
    assert (first.data["model"], first.headers["authorization"]) == ("big", f"Bearer {SECRET}")
    assert first.schema_mode == "json_object"
    assert (second.data["model"], second.headers["authorization"]) == ("another", "Bearer theirs")
    assert third.data["model"] == "big"


# --- JSON


def test_the_schema_goes_with_the_request(scripted_llm: ScriptedLlm, make: Make) -> None:
    scripted_llm.otherwise = as_json({"name": "Anne"})
    assert make().ask(asked(PERSON, "who is it?")) == {"name": "Anne"}
    make().ask(asked(FACTS))
    first, second = scripted_llm.requests
    assert first.data["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "who-is-it-", "strict": True, "schema": PERSON},
    }
    assert second.schema["properties"]["answer"] == FACTS  # services take objects only
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
    scripted_llm: ScriptedLlm, make: Make, refuses: set[str], modes: list[str], pauses: Pauses
) -> None:
    scripted_llm.refuses = refuses
    scripted_llm.otherwise = as_json({"answer": ["a"]})
    assert make().ask(asked(FACTS)) == ["a"]
    assert [one.schema_mode for one in scripted_llm.requests] == modes
    assert make().ask(asked(FACTS)) == ["a"]  # another object, the same service and model
    assert [one.schema_mode for one in scripted_llm.requests] == [*modes, modes[-1]]
    make(model="other").ask(asked(FACTS))
    assert scripted_llm.requests[len(modes) + 1].schema_mode == "json_schema"
    assert pauses == []
    told = json.dumps(FACTS) in scripted_llm.requests[len(modes)].messages[0]["content"]
    assert told == (modes[-1] != "json_schema")


def test_models_that_have_other_names_for_things(scripted_llm: ScriptedLlm, make: Make) -> None:
    scripted_llm.refuses = {"max_tokens", "temperature"}
    assert make().ask(asked()) == "OK"
    assert make().ask(asked()) == "OK"
    last = scripted_llm.requests[-1].data
    assert len(scripted_llm.requests) == 4
    assert (last["max_completion_tokens"], "max_tokens" in last, "temperature" in last) == (
        99,
        False,
        False,
    )


# --- tried again


@pytest.mark.parametrize("code", [408, 409, 429, 500, 502, 503, 504, 529])
def test_what_may_pass_is_tried_again(
    scripted_llm: ScriptedLlm, make: Make, pauses: Pauses, code: int
) -> None:
    scripted_llm.play(status(code), status(code), text("at last"))
    assert make().ask(asked()) == "at last"
    assert pauses == [0.5, 1.0]
    scripted_llm.play(status(code), status(code), status(code, "come back"))
    said = failed(make())
    assert f"answers {code} (come back); it may do so later" in said
    assert len(scripted_llm.requests) == 6


@pytest.mark.parametrize("code", [400, 401, 403, 404, 405, 413, 422])
def test_what_will_not_pass_is_not(
    scripted_llm: ScriptedLlm, make: Make, pauses: Pauses, code: int
) -> None:
    scripted_llm.play(status(code, "no"))
    said = failed(make())
    assert f"answers {code} (no)" in said
    assert "llm." in said  # which setting to look at
    assert (len(scripted_llm.requests), pauses) == (1, [])


def test_pauses_grow_end_and_hold_chance(make: Make) -> None:
    patience = make()._patience
    assert [llm._pause(tried, patience) for tried in (0, 1, 2, 3, 4, 5, 60)] == [
        0.5,
        1,
        2,
        4,
        8,
        8,
        8,
    ]
    assert llm._pause(0, patience._replace(random=lambda: 0.0)) == 0.25


@pytest.mark.parametrize(
    ("told", "waits"),
    [
        ("3", [3.0]), ("0", [0.0]), ("1.5", [1.5]), ("-4", [0.0]), ("30", [30.0]),
        ("Sun, 01 Mar 2026 12:00:07 GMT", [7.0]), ("Sun, 01 Mar 2026 11:00:00 GMT", [0.0]),
        ("soon", [0.5]), ("nan", [0.0]), ("Sun, 01 Mar 2026 12:00:07", [0.5]),
    ],
)  # fmt: skip
def test_as_long_as_the_service_says(
    scripted_llm: ScriptedLlm, make: Make, pauses: Pauses, told: str, waits: list[float]
) -> None:
    scripted_llm.play(too_many(told))
    assert make().ask(asked()) == "OK"
    assert pauses == waits


def test_connections_that_break_are_tried_again(
    scripted_llm: ScriptedLlm, make: Make, pauses: Pauses
) -> None:
    scripted_llm.play(hang_up(), text("half of this is lost").cut_after(60), text("whole"))
    assert make().ask(asked()) == "whole"
    assert len(pauses) == 2
    scripted_llm.play(*[text("x" * 90).cut_after(150)] * 3)
    assert "broke off in the middle of its answer" in failed(make())


# --- time and size


@pytest.mark.parametrize(
    "reply",
    [hang(), text("x" * 4_000).slowly(0.05, 1), text("").slowly(0.02, 1)],
    ids=["silent", "drip", "drip of nothing"],
)
def test_the_whole_answer_has_its_time(
    scripted_llm: ScriptedLlm, make: Make, pauses: Pauses, reply: object
) -> None:
    scripted_llm.play(reply)  # type: ignore[arg-type]
    start = time.monotonic()
    said = failed(make(seconds=0.4))
    assert time.monotonic() - start > 0.3
    assert "took longer than 0.4 s" in said
    assert "llm.timeout" in said
    assert len(scripted_llm.requests) <= 1  # a busy server may not even have seen it
    assert pauses == []  # it would take as long again


def test_headers_that_never_end(make: Make) -> None:
    """A byte now and then keeps every timeout from byte to byte happy."""
    over = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:

        def drip() -> None:
            link, _ = server.accept()
            with link:
                try:
                    while not over.wait(0.02):
                        link.sendall(b"H")
                except OSError:
                    pass

        thread = threading.Thread(target=drip)
        thread.start()
        said = failed(
            make(seconds=0.3, url=f"http://127.0.0.1:{server.getsockname()[1]}/v1", retries=0)
        )
        over.set()
        thread.join()
    assert "took longer" in said


def test_an_answer_that_is_too_large(scripted_llm: ScriptedLlm, make: Make) -> None:
    scripted_llm.play(huge(4_100_000), huge(900_000))
    assert "more than 4 MB" in failed(make())
    assert len(str(make().ask(asked()))) == 900_000


def test_an_encoding_that_was_not_asked_for(scripted_llm: ScriptedLlm, make: Make) -> None:
    """Some megabytes of zeros are a gigabyte later."""
    scripted_llm.play(raw(b"\x1f\x8b", Content_Encoding="gzip"))
    assert "encoding" in failed(make())


def test_no_redirect_is_followed(scripted_llm: ScriptedLlm, make: Make) -> None:
    with socket.create_server(("127.0.0.1", 0)) as elsewhere:
        elsewhere.settimeout(0.1)
        for code in (301, 302, 307, 308):
            target = f"http://127.0.0.1:{elsewhere.getsockname()[1]}/v1/chat/completions"
            scripted_llm.play(raw(b"", code, Location=target))
            assert "set llm.base_url to the place itself" in failed(make(key=SECRET))
        with pytest.raises(TimeoutError):
            elsewhere.accept()


# --- replies that are none


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"", "no chat completion"),
        (b"<html>Welcome to the router</html>", "no chat completion"),
        (b"[" * 100_000, "no chat completion"),
        (b"[]", "no chat completion"),
        (b"{}", "no chat completion"),
        (b'{"choices": []}', "no chat completion"),
        (b'{"choices": [{"message": "hi"}]}', "no chat completion"),
        (b'{"choices": [{"message": {"content": null}}]}', "said nothing"),
        (
            b'{"choices": [{"message": {"content": "  "}, "finish_reason": "length"}]}',
            "used up all its tokens",
        ),
        (b'{"choices": [{"message": {"content": null, "refusal": "I will not"}}]}', "declined"),
        (b'{"error": {"message": "no credits\\nleft"}}', "no credits left"),
        (
            b'{"choices": [{"message": {"content": "<think>hm</think>"}}]}',
            "thought and said nothing",
        ),
    ],
)
def test_replies_that_hold_no_answer(
    scripted_llm: ScriptedLlm, make: Make, body: bytes, why: str
) -> None:
    scripted_llm.play(raw(body))
    assert why in failed(make())


def test_what_a_service_says_cannot_take_over_the_terminal(
    scripted_llm: ScriptedLlm, make: Make
) -> None:
    scripted_llm.play(status(400, "bad\x1b[2J\nERROR: all is well\r" + "x" * 5_000))
    said = failed(make())
    assert said.isprintable()


# --- chats


@pytest.fixture
def chatting(scripted_llm: ScriptedLlm) -> config.Config:
    named = {"BASE_URL": scripted_llm.url, "KEY": "off", "TIMEOUT": "1s"}
    return config.load(None, {f"VAULTMEM_LLM_{name}": value for name, value in named.items()})


def chat(settings: config.Config, *, stream: bool, key: str = "theirs") -> tuple[str, Answer]:
    """The words of an answer, by either way."""
    answer, body = Answer(), json.dumps({"messages": [], "stream": stream}).encode()
    if stream:
        return "".join(llm.streamed_chat(settings, body, answer, Key(key))), answer
    llm.whole_chat(settings, body, answer, Key(key))
    return answer.text, answer


def refused(settings: config.Config, *, stream: bool, key: str = "theirs") -> str:
    with pytest.raises(LlmError) as error:
        chat(settings, stream=stream, key=key)
    assert "\n" not in str(error.value)
    return str(error.value)


@pytest.mark.parametrize("stream", [False, True])
def test_a_chat_by_either_way(
    scripted_llm: ScriptedLlm, chatting: config.Config, stream: bool
) -> None:
    scripted_llm.play(text("Hello, 你好 🙂"))
    said, answer = chat(chatting, stream=stream)
    assert said == answer.text == "Hello, 你好 🙂"
    assert answer.is_complete
    assert scripted_llm.requests[0].headers["authorization"] == "Bearer theirs"
    assert scripted_llm.requests[0].headers["accept-encoding"] == "identity"


@pytest.mark.parametrize("stream", [False, True])
def test_what_a_chat_is_refused_with(
    scripted_llm: ScriptedLlm, chatting: config.Config, make: Make, stream: bool
) -> None:
    """The same as a question of ours, and no more of the key; but nothing is asked again."""
    place = "http://other.example/v1"
    for reply, said in (
        (status(401, f"no {SECRET}"), "(no ***); set llm.key"),
        (status(429, "slow down"), "(slow down); it may do so later"),
        (status(500), "it may do so later"),
        (status(404), "look at llm.base_url and llm.model"),
        (raw(b"", 307, Location=place), f"leads to {place}; set llm.base_url to the place itself"),
    ):
        scripted_llm.play(reply)
        assert said in refused(chatting, stream=stream, key=SECRET)
        assert scripted_llm.left == 0
    scripted_llm.play(status(404))
    assert refused(chatting, stream=stream) == failed_by(make, scripted_llm, status(404))


def failed_by(make: Make, scripted_llm: ScriptedLlm, reply: Reply) -> str:
    scripted_llm.play(reply)
    return failed(make())


def test_a_whole_chat_has_its_time_and_a_stream_goes_on(
    scripted_llm: ScriptedLlm, chatting: config.Config
) -> None:
    """Of a stream each piece has it."""
    slow = text("one two three four").slowly(0.3)
    scripted_llm.play(text("x" * 100).slowly(0.05, 1), slow)
    assert "took longer than 1 s" in refused(chatting, stream=False)
    begun = time.monotonic()
    assert chat(chatting, stream=True)[0] == "one two three four"
    assert time.monotonic() - begun > 1
    scripted_llm.play(hang())
    assert "took longer than 1 s" in refused(chatting, stream=True)


def test_an_error_instead_of_a_chat(scripted_llm: ScriptedLlm, chatting: config.Config) -> None:
    scripted_llm.play(raw(json.dumps({"error": {"message": f"no credits, {SECRET}"}}).encode()))
    assert "gave no answer: no credits, ***" in refused(chatting, stream=False, key=SECRET)
    scripted_llm.play(stream_error("It is", f"overloaded {SECRET}"))
    said = refused(chatting, stream=True, key=SECRET)
    assert said.endswith("broke off in the middle of its answer (overloaded ***)")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"", "does not answer in a stream"),
        (b"<html>Welcome</html>\n\n", "does not answer in a stream"),
        (b'data: {"choices": [{"delta": {"content": "It is"}}]}\n\n', "broke off"),
        (b"data: {}\n\n", "broke off"),
    ],
)
def test_a_stream_that_does_not_end_or_is_none(
    scripted_llm: ScriptedLlm, chatting: config.Config, body: bytes, said: str
) -> None:
    scripted_llm.play(raw(body, Content_Type="text/event-stream"))
    assert said in refused(chatting, stream=True)


# --- the budget


def test_a_budget_of_calls(scripted_llm: ScriptedLlm, make: Make) -> None:
    scripted_llm.play(text("a"), status(400))
    model = Budget(make(), 2)
    assert model.ask(asked()) == "a"
    assert "answers 400" in failed(model)
    said = failed(model)
    assert "all 2 calls" in said
    assert "llm.calls" in said
    assert len(scripted_llm.requests) == 2


# --- the key stays where it is


def test_the_key_is_nowhere_to_be_seen(
    scripted_llm: ScriptedLlm,
    make: Make,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Not even when the service says it back."""
    caplog.set_level(logging.DEBUG)
    model = make(key=f" {SECRET}\n")
    echo = status(401, f"Incorrect key: Bearer {SECRET}")
    scripted_llm.play(
        text("ok"), echo, *[status(500, SECRET)] * 3, *[hang_up()] * 3, raw(SECRET.encode())
    )
    assert model.ask(asked()) == "ok"
    assert scripted_llm.requests[0].headers["authorization"] == f"Bearer {SECRET}"
    told = [failed(model) for _ in range(4)]
    assert scripted_llm.left == 0
    seen = [
        *told,
        caplog.text,
        *capfd.readouterr(),
        repr(model),
        repr(vars(model)),
        str(model._key),
        repr(llm._forms),
    ]
    assert not [one for one in seen if SECRET in one or SECRET[8:] in one]
    assert "POST" in caplog.text
    caplog.set_level(logging.CRITICAL)
    scripted_llm.play(raw(b"", 302, Location=f"http://evil.example/?{SECRET}"))
    assert "evil.example" in (leads := failed(model))
    assert SECRET not in leads
    with pytest.raises(LlmError) as error:
        make(key=SECRET, url="http://127.0.0.1:9/v1", retries=0).ask(asked())
    assert error.value.__suppress_context__  # the error of httpx holds the request
    assert SECRET not in repr(error.value)


def test_a_request_to_nobody_elses_proxy(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is sent without TLS would be read there."""
    for name in (
        "HTTP_PROXY",
        "http_proxy",
        "ALL_PROXY",
        "all_proxy",
        "HTTPS_PROXY",
        "https_proxy",
    ):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert make().ask(asked()) == "OK"


def test_a_proxy_for_https(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """It carries a tunnel: it hears where to, and nothing of what is said."""
    heard = []
    with socket.create_server(("127.0.0.1", 0)) as proxy:

        def refuse() -> None:
            link, _ = proxy.accept()
            with link:
                heard.append(link.recv(65_536))
                link.sendall(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")

        thread = threading.Thread(target=refuse)
        thread.start()
        monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{proxy.getsockname()[1]}")
        said = failed(make(url="https://llm.example/v1", retries=0, key=SECRET))
        thread.join()
    assert "cannot be reached" in said
    assert heard[0].startswith(b"CONNECT llm.example:443 ")
    assert SECRET.encode() not in heard[0]
    monkeypatch.setenv("HTTPS_PROXY", "socks5://127.0.0.1:9")
    assert "the proxy that the environment names" in failed(
        make(url="https://llm.example/v1", retries=0)
    )


# --- what doctor says


def doctor(vault: Path, **settings: str) -> list[dict[str, str]]:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in settings.items():
            patch.setenv(f"VAULTMEM_LLM_{name.upper()}", value)
        ended = ran("doctor", "--format", "json", "--vault", str(vault))
    assert SECRET not in ended.out + ended.err
    found = ended.data["findings"]
    return [one for one in found if "not indexed" not in one["what"] and "agent" not in one["what"]]


def test_doctor_looks_whether_the_model_can_be_asked(
    vault: Path, scripted_llm: ScriptedLlm, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", SECRET)
    before = doctor(vault)
    known = {"base_url": scripted_llm.url, "model": "scripted", "key": "env:MY_KEY"}
    assert doctor(vault, **known) == before
    assert scripted_llm.requests[-1].headers["authorization"] == f"Bearer {SECRET}"

    def new(**settings: str) -> dict[str, str]:
        (found,) = (one for one in doctor(vault, **settings) if one not in before)
        return found

    assert new(base_url=scripted_llm.url)["advice"] == "set llm.model"
    scripted_llm.models_status = 401
    assert new(**known)["what"].endswith("refuses the key that llm.key names")
    assert "the environment variable NONE" in new(**{**known, "key": "env:NONE"})["advice"]
    scripted_llm.models_status = 503
    assert "answers 503" in new(**known)["what"]
    scripted_llm.models_status = 404  # some have no such list
    assert doctor(vault, **known) == before
    gone = new(**{**known, "base_url": "http://127.0.0.1:9"})
    assert gone["severity"] == "warning"
    assert "cannot be reached" in gone["what"]


def test_doctor_knows_the_models_and_the_key(
    vault: Path, scripted_llm: ScriptedLlm, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = {"base_url": scripted_llm.url, "model": "nope", "key": "off"}
    (found,) = doctor(vault, **known)
    assert "has no model nope" in found["what"]
    assert "scripted" in found["advice"]
    monkeypatch.delenv("MY_KEY", raising=False)
    (found,) = doctor(vault, **{**known, "model": "scripted", "key": "env:MY_KEY"})
    assert "llm.key is env:MY_KEY" in found["what"]
    assert "MY_KEY" in found["advice"]
    scripted_llm.models = []
    assert doctor(vault, **known) == []
