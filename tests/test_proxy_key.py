"""The proxy's key: clients with it are let in, others are not, and it goes nowhere else."""

from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cli_run import one_line, process
from tests.proxy_run import Proxied, proxied, user
from tests.scripted_llm import ScriptedLlm
from vaultmem import credentials
from vaultmem.errors import LlmError
from vaultmem_server.guard import Guard

DOOR, OURS = "open-sesame-1", "our-upstream-key"
MORE = {"model": "m", "messages": [user("Hi")]}


@pytest.fixture
def proxy(
    vault: Path, scripted_llm: ScriptedLlm, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Proxied]:
    monkeypatch.setenv("THE_DOOR", DOOR)
    monkeypatch.setenv("OUR_KEY", OURS)
    environ = {
        "VAULTMEM_PROXY_KEY": "env:THE_DOOR", "VAULTMEM_LLM_KEY": "env:OUR_KEY",
        "VAULTMEM_LLM_BASE_URL": scripted_llm.url,
    }  # fmt: skip
    with proxied(vault, scripted_llm, environ=environ, upstream=None) as made:
        yield made


def authorized(llm: ScriptedLlm) -> list[str | None]:
    return [request.headers.get("authorization") for request in llm.requests]


WRONG: list[dict[str, str]] = [
    {}, {"Authorization": "Bearer vaultmem"}, {"Authorization": f"Basic {DOOR}"}, {"X_Vaultmem_Key": ""},
    {"Authorization": f"Bearer {DOOR}x"}, {"Authorization": f"Bearer {DOOR[:-1]}"}, {"X_Vaultmem_Key": f"Bearer {DOOR}"},
    {"Authorization": "Bearer "}, {"Authorization": DOOR}, {"Api_Key": DOOR}, {"X_Vaultmem_Key": "\xe9"},
]  # fmt: skip


PATHS = ("/v1/chat/completions", "/v1/models", "/v1/files", "/health/", "/nothing")


def test_without_the_key_nothing_is_answered_or_forwarded(
    proxy: Proxied, scripted_llm: ScriptedLlm
) -> None:
    for headers, path in product(WRONG, PATHS):
        seen = proxy.send("GET", path, **headers)
        assert (seen.status, seen.data["error"]["code"]) == (401, "invalid_api_key"), (headers, path)  # fmt: skip
        assert DOOR.encode() not in seen.body
    assert not scripted_llm.requests
    assert not proxy.turns()


def test_as_api_key_it_lets_in_and_the_upstream_sees_our_own(
    proxy: Proxied, scripted_llm: ScriptedLlm
) -> None:
    client = proxy.client(DOOR)
    assert client.chat.completions.create(model="m", messages=[{"role": "user", "content": "Hi"}]).choices  # fmt: skip
    assert client.models.list().data
    assert authorized(scripted_llm) == [f"Bearer {OURS}"] * 2
    assert proxy.turns()


def test_beside_a_clients_own_key_which_goes_on(proxy: Proxied, scripted_llm: ScriptedLlm) -> None:
    client = proxy.client("the-clients-own", default_headers={"X-Vaultmem-Key": DOOR})
    assert client.models.list().data
    proxy.chat(MORE, X_Vaultmem_Key=DOOR, Authorization="Bearer the-clients-own")
    assert authorized(scripted_llm) == ["Bearer the-clients-own"] * 2


SECOND = [
    {}, {"Authorization": f"bearer  {DOOR} "}, {"Api_Key": DOOR}, {"X_Api_Key": f" {DOOR} "}, {"Authorization": DOOR},
    {"X_Goog_Api_Key": f"bearer {DOOR}"},
]  # fmt: skip


def test_the_key_itself_goes_nowhere(proxy: Proxied, scripted_llm: ScriptedLlm) -> None:
    proxy.chat(MORE, Authorization=f"Bearer {DOOR}")
    for second in SECOND:
        proxy.chat(MORE, X_Vaultmem_Key=DOOR, **second)
        proxy.send("GET", "/v1/files", X_Vaultmem_Key=DOOR, **second)
    assert len(scripted_llm.requests) == 1 + 2 * len(SECOND)
    for asked in scripted_llm.requests:
        assert DOOR not in repr(sorted(asked.headers.items()))
        assert "x-vaultmem-key" not in asked.headers
        assert asked.headers["authorization"] == f"Bearer {OURS}"
    proxy.send("GET", "/v1/files", X_Vaultmem_Key=DOOR, Api_Key=f"{DOOR}x")
    assert scripted_llm.requests[-1].headers["api-key"] == f"{DOOR}x"


@given(st.text(max_size=30), st.text(alphabet="abAB01-_", min_size=1, max_size=30))
def test_only_the_very_key_is_taken_for_it(said: str, key: str) -> None:
    assert credentials.Key(key).matches(said) == (said.strip() == key)


def test_a_key_that_shall_be_and_is_not_stops_the_start(vault: Path) -> None:
    ended = process(
        "proxy", "--vault", str(vault), "--port", "0", "--upstream", "http://127.0.0.1:9/v1",
        VAULTMEM_PROXY_KEY="env:NO_SUCH_THING",
    )  # fmt: skip
    assert ended.code == 1
    assert "set it, or proxy.key to off" in ended.err
    assert "ResourceWarning" not in ended.err
    with pytest.raises(LlmError, match=r"proxy\.key names is not valid"):
        credentials.client_key("env:IT", {"IT": "two\nlines"})
    assert credentials.client_key("off", {}) is None


def test_a_key_pasted_into_the_settings_is_not_repeated(vault: Path) -> None:
    ended = process("status", "--vault", str(vault), VAULTMEM_PROXY_KEY="sk-secret-itself")
    assert ended.code == 1
    assert "proxy.key" in ended.err + ended.out
    assert "sk-secret-itself" not in ended.err + ended.out
    assert one_line(ended).endswith(
        "proxy.key must be env:NAME, keyring:SERVICE/USER or off, but not the key itself"
    )


def test_a_web_page_with_the_key_is_a_web_page_still() -> None:
    guard = Guard("127.0.0.1", 8100, credentials.Key(DOOR))
    headers = [(b"host", b"127.0.0.1:8100"), (b"authorization", f"Bearer {DOOR}".encode())]
    assert guard.refusal(headers, "/v1/models") is None
    headers.append((b"origin", b"https://evil.example"))
    refused = guard.refusal(headers, "/v1/models")
    assert refused
    assert refused.status == 403
