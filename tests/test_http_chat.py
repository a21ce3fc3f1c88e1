"""Chats at the HTTP door: a model with the memory of the token's client, used by the API's official client."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agent_run import until
from tests.cli_run import process
from tests.http_run import Door, opened
from tests.lazy import Lazy
from tests.scripted_llm import ScriptedLlm
from tests.scripted_replies import text
from vaultmem.memories.conversation import folder_of

openai = Lazy("openai")

SAID = "My sister Ada keeps bees in Bergen."


@pytest.fixture(scope="module")
def llm() -> Iterator[ScriptedLlm]:
    with ScriptedLlm() as one:
        yield one


@pytest.fixture(scope="module")
def door(llm: ScriptedLlm, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VAULTMEM_LLM_BASE_URL", llm.url)
        patch.setenv("VAULTMEM_LLM_KEY", "env:UPSTREAM_KEY")
        patch.setenv("UPSTREAM_KEY", "key-of-the-person")
        patch.setenv("VAULTMEM_PROXY_PATIENCE", "30s")
        with opened(tmp_path_factory.mktemp("door"), "--proxy") as one:
            yield one


def chat(door: Door, token: str, said: str, **more: object) -> bytes:
    body = {"model": "m", "messages": [{"role": "user", "content": said}], **more}
    headers = {"X_Vaultmem_Vault": "home"} if token != "home-writer" else {}
    answer = door.send("POST", "/v1/chat/completions", body, token, **headers)
    assert answer.status == 200, answer.body
    return answer.body


def prompt_of(llm: ScriptedLlm, question: str) -> str:
    """The messages of the last chat that ends with this question; facts are learned from earlier turns meanwhile."""
    chats = (one.messages for one in reversed(llm.chats))
    return json.dumps(next(each for each in chats if each[-1]["content"] == question))


def test_each_client_chats_with_its_own_memory(door: Door, llm: ScriptedLlm) -> None:
    door.ask("write", "claude", content="The zebra is called Zed.", scope="agent:claude")
    until(lambda: door.ask("search", "me", query="zebra").data["count"])
    question = "What is the zebra called, and what is the PIN of the boiler?"
    for who in ("claude", "codex"):
        chat(door, who, question)
        assert ("called Zed" in prompt_of(llm, question)) is (who == "claude")
        assert "5150" not in prompt_of(llm, question), "a private note"
    headers = llm.chats[-1].headers
    assert headers["authorization"] == "Bearer key-of-the-person"
    assert not [name for name, value in headers.items() if "vmt_" in value or "vaultmem" in name]


def test_a_conversation_is_its_client_s(door: Door, llm: ScriptedLlm) -> None:
    entries = door.folder / "home" / "vaultmem" / "entries"

    def is_kept(conversation: str) -> bool:
        return bool(list(entries.glob(f"{folder_of(conversation)}/.records/turns/user/*.md")))

    chat(door, "claude", SAID, user="holiday")
    until(lambda: is_kept("holiday@claude-laptop"), 60)
    question = "Where does Ada keep bees?"
    for conversation in ("holiday", "holiday@claude-laptop"):
        chat(door, "codex", question, user=conversation)
        assert "Bergen" not in prompt_of(llm, question)
        until(lambda: is_kept(f"{conversation}@codex-laptop"), 60)  # noqa: B023 - waited for here
    assert not is_kept("holiday")


def test_who_may_not_write_may_not_chat_and_nothing_else_is_passed_on(
    door: Door, llm: ScriptedLlm
) -> None:
    before = len(llm.requests)
    body = {"model": "m", "messages": []}
    for token, status in (("", 401), ("gone", 401), ("reader", 403)):
        assert door.send("POST", "/v1/chat/completions", body, token).status == status
    assert door.send("POST", "/v1/chat/completions", body, "claude").status == 400  # which vault?
    wrong = door.send("POST", "/v1/chat/completions", body, "claude", X_Vaultmem_Vault="hmoe")
    assert wrong.status == 404
    assert "no vault 'hmoe' for this token: it opens home, work" in str(wrong.data)
    for path in ("/v1/files", "/v1/embeddings", "/v1/../v1/files", "/v1", "/v1/chat/completions/x"):
        assert door.send("POST", path, {}, "claude", X_Vaultmem_Vault="home").status == 404, path
    # Facts learned from earlier turns may have been added meanwhile, and nothing else.
    since = llm.requests[before:]
    assert all(one.path.endswith("/chat/completions") and one.messages for one in since)


def test_a_client_counts_tokens_with_the_key_of_the_person(door: Door, llm: ScriptedLlm) -> None:
    path, body = "/v1/messages/count_tokens", {"model": "m", "messages": []}
    assert door.send("POST", path, body, "reader").status == 403
    door.send("POST", path, body, "claude", X_Vaultmem_Vault="home")
    (sent,) = (one for one in llm.requests if one.path == path)
    assert (sent.data, sent.headers["authorization"]) == (body, "Bearer key-of-the-person")


def test_the_official_client_streams(door: Door, llm: ScriptedLlm) -> None:
    llm.otherwise = text("Hello there")  # also by learning from earlier turns
    settings = {"api_key": door.tokens["claude"], "default_headers": {"X-Vaultmem-Vault": "work"}}
    with openai.OpenAI(base_url=f"{door.url}/v1", max_retries=0, **settings) as client:
        assert [one.id for one in client.models.list()] == llm.models
        stream = client.chat.completions.create(
            model="m", messages=[{"role": "user", "content": "Hi"}], stream=True
        )
        said = "".join(one.choices[0].delta.content or "" for one in stream if one.choices)
    assert said == "Hello there"


def test_without_a_model_the_door_stays_shut(vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if "LLM" in name]:
        monkeypatch.delenv(name)
    refused = process("serve", "--http", "127.0.0.1:0", "--proxy", "--vault", str(vault))
    assert refused.code == 2
    assert "no upstream is set" in refused.err
