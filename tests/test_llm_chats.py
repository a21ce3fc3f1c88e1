"""Chats in either form, the budget, the key, proxies, and doctor's findings about the model."""

import json
import logging
import socket
import threading
import time
from pathlib import Path

import pytest

from tests.cli_run import on
from tests.llm_run import SECRET, Models, extraction, failed, models, nothing_known
from tests.scripted_llm import ScriptedLlm
from tests.scripted_replies import hang, hang_up, raw, status, stream_error, text, tool_calls
from tests.tables import each_case
from vaultmem import config
from vaultmem.credentials import Key
from vaultmem.errors import LlmError
from vaultmem_chat.llm import llm
from vaultmem_chat.llm.llm import Budget
from vaultmem_chat.llm.replies import Answer

__all__ = ["models", "nothing_known"]  # fixtures


@pytest.fixture
def chatting(scripted_llm: ScriptedLlm) -> config.Config:
    named = {"BASE_URL": scripted_llm.url, "KEY": "off", "TIMEOUT": "2s"}
    return config.load(None, {f"VAULTMEM_LLM_{name}": value for name, value in named.items()})


def chat(settings: config.Config, *, stream: bool, key: str = "theirs") -> tuple[str, Answer]:
    """The words of an answer, in either form."""
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


@each_case("stream", [False, True])
def test_a_chat_by_either_way(
    scripted_llm: ScriptedLlm, chatting: config.Config, stream: bool
) -> None:
    scripted_llm.play(text("Hello, 你好 🙂"))
    said, answer = chat(chatting, stream=stream)
    assert said == answer.text == "Hello, 你好 🙂"
    assert answer.is_complete
    headers = scripted_llm.requests[-1].headers
    assert headers["authorization"] == "Bearer theirs"
    assert headers["accept-encoding"] == "identity"


@each_case("stream", [False, True])
def test_what_a_chat_is_refused_with(chatting: config.Config, models: Models, stream: bool) -> None:
    """The same as for a question of ours, without the key; but nothing is retried."""
    place = "http://other.example/v1"
    for reply, reason in (
        (status(401, f"no {SECRET}"), "(no ***); set llm.key"),
        (status(429, "slow down"), "(slow down); it may do so later"),
        (status(404), "check llm.base_url and llm.model"),
        (status(400, "too long"), "(too long); where that is too much for the model, lower conversations.budget"),
        (raw(b"", 307, Location=place), f"leads to {place}; set llm.base_url to that address"),
    ):  # fmt: skip
        models.llm.play(reply)
        assert reason in refused(chatting, stream=stream, key=SECRET)
        assert models.llm.left == 0
    models.llm.play(status(404), status(404))
    assert refused(chatting, stream=stream) == failed(models())


def test_a_whole_chat_has_its_time_and_a_stream_goes_on(
    scripted_llm: ScriptedLlm, chatting: config.Config
) -> None:
    """In a stream each piece has its own time."""
    slow = text("one two three four " * 6).slowly(0.1)
    scripted_llm.play(text("x" * 100).slowly(0.05, 1), slow)
    assert "took longer than 2 s" in refused(chatting, stream=False)
    begun = time.monotonic()
    assert chat(chatting, stream=True)[0] == "one two three four " * 6
    assert time.monotonic() - begun > 2
    scripted_llm.play(hang())
    assert "took longer than 2 s" in refused(chatting, stream=True)


LENGTH = b'data: {"choices": [{"delta": {"content": ""}, "finish_reason": "length"}]}\n\n'


def test_an_error_instead_of_a_chat(scripted_llm: ScriptedLlm, chatting: config.Config) -> None:
    scripted_llm.play(raw(json.dumps({"error": {"message": f"no credits, {SECRET}"}}).encode()))
    assert "gave no answer: no credits, ***" in refused(chatting, stream=False, key=SECRET)
    scripted_llm.play(stream_error("It is", f"overloaded {SECRET}"))
    said = refused(chatting, stream=True, key=SECRET)
    assert said.endswith("interrupted its answer (overloaded ***)")
    scripted_llm.play(text(""), raw(LENGTH, Content_Type="text/event-stream"))
    assert "gave no answer: the model said nothing" in refused(chatting, stream=True)
    assert "the model used up all its tokens" in refused(chatting, stream=True)
    scripted_llm.play(tool_calls(("look", {})))
    assert chat(chatting, stream=True)[0] == ""
    for body, reason in (
        (b"", "does not stream its answer"), (b"<html>Welcome</html>\n\n", "does not stream its answer"),
        (b'data: {"choices": [{"delta": {"content": "It is"}}]}\n\n', "interrupted its answer"),
    ):  # fmt: skip
        scripted_llm.play(raw(body, Content_Type="text/event-stream"))
        assert reason in refused(chatting, stream=True)


def test_a_budget_of_calls(models: Models) -> None:
    models.llm.play(text("a"), status(400))
    model = Budget(models(), 2)
    assert model.ask(extraction()) == "a"
    assert "answers 400" in failed(model)
    said = failed(model)
    assert "all 2 calls" in said
    assert "llm.calls" in said
    assert len(models.llm.requests) == 2


def test_the_key_is_nowhere_to_be_seen(
    models: Models, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    """Not even if the service repeats it."""
    caplog.set_level(logging.DEBUG)
    model = models(key=f" {SECRET}\n")
    echo = status(401, f"Incorrect key: Bearer {SECRET}")
    models.llm.play(
        text("ok"), echo, *[status(500, SECRET)] * 3, *[hang_up()] * 3, raw(SECRET.encode())
    )
    assert model.ask(extraction()) == "ok"
    assert models.llm.requests[0].headers["authorization"] == f"Bearer {SECRET}"
    told = [failed(model) for _ in range(4)]
    assert models.llm.left == 0
    shown = [repr(model), repr(vars(model)), str(model._key), repr(llm._forms)]
    seen = [*told, caplog.text, *capfd.readouterr(), *shown]
    assert not [one for one in seen if SECRET in one or SECRET[8:] in one]
    assert "POST" in caplog.text
    caplog.set_level(logging.CRITICAL)
    models.llm.play(raw(b"", 302, Location=f"http://evil.example/?{SECRET}"))
    assert "evil.example" in (leads := failed(model))
    assert SECRET not in leads
    with pytest.raises(LlmError) as error:
        models(key=SECRET, url="http://127.0.0.1:9/v1", retries=0).ask(extraction())
    assert error.value.__suppress_context__  # httpx's error contains the request
    assert SECRET not in repr(error.value)


def test_a_proxy_for_https(models: Models, monkeypatch: pytest.MonkeyPatch) -> None:
    """It carries a tunnel: it learns the destination and nothing of the contents. Without TLS none is used."""
    for name in ("HTTP_PROXY", "ALL_PROXY", "http_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert models().ask(extraction()) == "OK"
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
        said = failed(models(url="https://llm.example/v1", retries=0, key=SECRET))
        thread.join()
    assert "cannot be reached" in said
    assert heard[0].startswith(b"CONNECT llm.example:443 ")
    assert SECRET.encode() not in heard[0]
    monkeypatch.setenv("HTTPS_PROXY", "socks5://127.0.0.1:9")
    assert "the proxy of the environment" in failed(models(url="https://llm.example/v1", retries=0))


def doctor(vault: Path, **settings: str) -> list[dict[str, str]]:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in settings.items():
            patch.setenv(f"VAULTMEM_LLM_{name.upper()}", value)
        ended = on(vault, "doctor", "--format", "json")
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
        (found,) = (one for one in doctor(vault, **{**known, **settings}) if one not in before)
        return found

    assert new(model="")["advice"] == "set llm.model"
    other = new(model="nope", key="off")
    assert "has no model nope" in other["what"]
    assert "scripted" in other["advice"]
    none = new(key="env:NONE")
    assert "llm.key is env:NONE" in none["what"]
    assert "the environment variable NONE" in none["advice"]
    gone = new(base_url="http://127.0.0.1:9")
    assert gone["severity"] == "warning"
    assert "cannot be reached" in gone["what"]
    for code, reason in ((401, "refuses the key that llm.key names"), (503, "answers 503")):
        scripted_llm.models_status = code
        assert reason in new()["what"]
    scripted_llm.models_status = 404  # some have no such list
    assert doctor(vault, **known) == before
