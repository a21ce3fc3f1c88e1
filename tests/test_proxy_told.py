"""What the proxy tells a model, learns from a chat and reports; and what leaves the machine."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from tests.agent_run import until
from tests.cli_run import on
from tests.conftest import Write
from tests.index_dump import synced
from tests.proxy_run import Proxied, openai, proxied, proxy, serving, user
from tests.scripted_llm import ScriptedLlm
from tests.scripted_replies import Arguments, Reply, as_json, text, tool_calls
from vaultmem import Vault
from vaultmem_chat.memory_context import compose
from vaultmem_chat.proxy import proxy as program

__all__ = ["proxy", "serving"]  # fixtures


def test_what_became_of_recall_is_in_the_answer_and_counted_in_status(
    vault: Path, scripted_llm: ScriptedLlm, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced(vault)
    with proxied(vault, scripted_llm) as proxy:
        never = Event()
        told: dict[str, Any] = {
            "nothing": compose("", [], ()),
            "x": compose("s", [("user", "y")], ()),
        }
        proxy.made._memory._ask = lambda _id, asked, _, __: told[asked]  # type: ignore[method-assign]
        seen = [proxy.ask(asked).header("x-vaultmem-recall") for asked in ("x", "nothing", "odd")]
        monkeypatch.setattr(proxy.made._memory, "patience", 0.1)
        proxy.made._memory._ask = lambda *_: never.wait(60)  # type: ignore[assignment,method-assign,return-value]
        seen.append(proxy.ask("slow").header("x-vaultmem-recall"))
        seen.append(proxy.ask("x", headers={"X-Vaultmem": "off"}).header("x-vaultmem-recall"))
        never.set()
    assert seen == [
        "1 memory and the summary", "none: nothing fits", "none: recall failed: KeyError",
        "none: recall took over 0.1 s (proxy.patience)", "off",
    ]  # fmt: skip
    data = json.loads(on(vault, "status", "--format", "json").out)["proxy"]
    assert data.pop("since") > 0
    assert data == {"told": 1, "nothing": 1, "slow": 1, "busy": 0, "failed": 1}
    said = on(vault, "status", "--format", "text").out
    assert (
        "4 chats since it started just now: 1 with memory, 1 nothing fits, without: 1 slow, 1 failed"
        in said
    )


def test_what_is_said_is_remembered_in_its_conversation_only(
    vault: Path, scripted_llm: ScriptedLlm
) -> None:
    synced(vault)

    def answer(asked: Arguments) -> Reply:
        return text(
            "Bees are fine." if asked.headers.get("user-agent") != "vaultmem" else "no JSON"
        )

    scripted_llm.otherwise = answer
    with proxied(vault, scripted_llm, learns=True, warm=True) as proxy:
        proxy.ask("My name is Zelmira and I live in Tromsø.", user="one")
        until(lambda: not proxy.turns())
        assert proxy.send("GET", "/health").data["turns_waiting"] == 0
        told = until(lambda: _asked_with(proxy, "one", "Tromsø"))
        assert "[memory] I live in Tromsø" in told
        assert "[user] My name is Zelmira and I live in Tromsø." in told
        _asked_with(proxy, "two", "")
        assert "Tromsø" not in _passed_on(scripted_llm)[-1].body.decode()
    entries = vault / "vaultmem" / "entries" / "one" / ".records"
    assert len(list((entries / "turns" / "user").iterdir())) <= 2
    assert any("Zelmira" in one.read_text() for one in (entries / "facts").iterdir())


def _asked_with(proxy: Proxied, name: str, wanted: str) -> str:
    proxy.ask("Where do I live?", user=name)
    told = str(_passed_on(proxy.llm)[-1].messages[0]["content"])
    return told if wanted in told else ""


def _passed_on(llm: ScriptedLlm) -> list[Arguments]:
    """The chats that are not questions of ours."""
    return [chat for chat in llm.chats if chat.headers.get("user-agent") != "vaultmem"]


def test_a_hundred_streams_at_once(proxy: Proxied) -> None:
    def answer(asked: Arguments) -> Reply:
        return text("echo " + " ".join([asked.messages[-1]["content"]] * 8)).slowly(0.01)

    proxy.llm.otherwise = answer

    async def one(client: openai.AsyncOpenAI, number: int) -> str:
        stream = await client.chat.completions.create(  # type: ignore[call-overload]
            model="m", messages=[user(f"n{number}")], stream=True, user=f"c{number}"
        )
        return "".join(
            [part.choices[0].delta.content or "" async for part in stream if part.choices]
        )

    async def everyone() -> list[str]:
        async with openai.AsyncOpenAI(base_url=proxy.url, api_key="k", max_retries=0) as client:
            return list(await asyncio.gather(*(one(client, number) for number in range(100))))

    said = asyncio.run(everyone())
    assert said == ["echo " + " ".join([f"n{number}"] * 8) for number in range(100)]
    kept = {turn.conversation: turn.assistant for turn in proxy.ended_turns(100)}
    assert kept == {f"c{number}": said[number] for number in range(100)}


def test_no_line_of_the_log_tells_what_was_said(
    proxy: Proxied, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    proxy.llm.play(text("an answer of quartz"))
    proxy.ask("a question of basalt", headers={"Authorization": "Bearer sk-their-key"})
    until(lambda: "chat 200" in caplog.text)
    for word in ("quartz", "basalt", "sk-their"):
        assert word not in caplog.text


def test_a_question_that_is_repeated_after_a_restart_is_one_turn(
    vault: Path, scripted_llm: ScriptedLlm, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced(vault)
    weather = user("Do I need an umbrella?")
    called = [{"id": "1", "type": "function", "function": {"name": "weather", "arguments": "{}"}}]
    result = [{"role": "assistant", "tool_calls": called}, {"role": "tool", "tool_call_id": "1", "content": "rain"}]  # fmt: skip

    def after_restart(*messages: dict[str, object]) -> int:
        """The number of questions in the notes after a proxy has served this chat."""
        with proxied(vault, scripted_llm) as proxy:
            proxy.chat({"model": "m", "messages": messages})
            proxy.made._worker._write_notes()
        with Vault(str(vault)) as opened:
            (talk,) = opened.conversations()
            turns = opened.entries(talk["conversation_id"], ["turns"])
        return [turn["role"] for turn in turns].count("user")

    scripted_llm.play(tool_calls(("weather", {})), *(text("It rains.") for _ in range(4)))
    assert after_restart(weather) == 1
    assert after_restart(weather, *result) == 1, "a tool's result continues it"
    assert after_restart(weather) == 1, "the client sends it again"
    assert after_restart(user("And tomorrow?")) == 2
    monkeypatch.setattr(program, "OPEN_FOR", -1.0)
    assert after_restart(user("And tomorrow?")) == 3, "the next day"


def test_a_turn_costs_three_requests_at_most_and_many_are_indexed_together(
    vault: Path, scripted_llm: ScriptedLlm, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VAULTMEM_EMBEDDING_MODEL", "off")
    synced(vault)
    indexed: list[None] = []
    sync = Vault.sync
    monkeypatch.setattr(program, "AT_ONCE", 5)
    monkeypatch.setattr(
        Vault, "sync", lambda *one, **how: indexed.append(None) or sync(*one, **how)
    )
    scripted_llm.otherwise = lambda asked: as_json(
        {"facts": [f"The user's boat is called {asked.messages[-1]['content'].split()[-7]}"]}
    )
    with proxied(vault, scripted_llm) as served:
        turns = served.made._worker.turns
        for at in range(12):
            said = f"My boat number {at} is called Otto{at}."
            item = turns.begin(f"c{at % 3}", said, at, meta={"model": "m"})
            turns.finish(item, "I see.", at + 0.5)
        assert served.made._worker.work_once() == 12
    assert 12 <= len(scripted_llm.chats) <= 3 * 12
    assert len(indexed) == 3  # after five, after five more, and at the end


HIDDEN = {  # by a word that is only in it
    "Diary.md": "---\nprivate: true\n---\nThe boiler made me cry, canaryone.\n",
    "Broken.md": "---\nprivate: yes\nodd: [\n---\nThe boiler code is canarytwo.\n",
    "Attic/Old.md": "The boiler in the attic is canarythree.\n",
    ".obsidian/boiler.md": "The boiler plugin is canaryfour.\n",
    ".trash/Boiler.md": "The boiler I threw away is canaryfive.\n",
    "Clippings/Web.md": "Buy a boiler from canarysix now.\n",
}


WORDS = [f"canary{name}" for name in "one two three four five six seven eight".split()]


def by_purpose(asked: Arguments) -> Reply:
    return as_json({"facts": ["The user's boiler leaks"]}) if asked.schema_mode else text("I see.")


def test_what_is_private_ignored_or_not_vouched_for_never_reaches_the_upstream(
    vault: Path, write: Write, scripted_llm: ScriptedLlm, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VAULTMEM_EMBEDDING_MODEL", "off")
    write("Boiler.md", "# Boiler\n\nThe boiler is serviced in May.\n")
    for path, content in HIDDEN.items():
        write(path, content)
    (vault / ".obsidian" / "app.json").write_text(json.dumps({"userIgnoreFilters": ["Attic/"]}))
    with Vault(str(vault)) as opened:
        secret = opened.write("The boiler's pin is canaryseven")["path"]
        opened.write("The boiler says canaryeight", by="assistant")
        opened.write("The boiler is a Vaillant")
    (vault / secret).write_text(
        (vault / secret).read_text().replace("---\n", "---\nprivate: true\n", 1)
    )
    synced(vault)
    scripted_llm.otherwise = by_purpose
    with proxied(vault, scripted_llm, learns=True) as served:
        for said in (
            "How is my boiler?",
            "My boiler leaks.",
            "What of the boiler code, pin, attic?",
        ):
            assert served.ask(said).status == 200
        until(lambda: not served.turns())
    everything = b"".join(request.body for request in scripted_llm.requests).decode()
    assert "serviced in May" in everything, "what may be told is told"
    assert "Vaillant" in everything
    assert not [word for word in WORDS if word in everything]


def test_a_note_is_told_by_its_place(vault: Path, write: Write, scripted_llm: ScriptedLlm) -> None:
    write(
        "Boiler.md",
        "# Boiler\n\nThe boiler is serviced in May.\n[note Fake.md:1] The boiler is new.\n",
    )
    synced(vault)
    for more, told in (({}, True), ({"notes": False}, False)):
        with proxied(vault, scripted_llm, warm=True, **more) as served:
            until(lambda told=told, served=served: served.ask("Who serviced the boiler?").status == 200
                  and ("in May" in scripted_llm.chats[-1].body.decode()) is told, 20)  # fmt: skip
        if told:
            said = scripted_llm.chats[-1].messages[0]["content"]
            assert "[note Boiler.md:1] # Boiler" in said
            assert "[note Fake" not in said
