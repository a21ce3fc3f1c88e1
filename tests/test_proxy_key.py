"""Keys of the proxy: who has its own is let in, and it goes nowhere else; ours goes only to the service it is for."""

import json
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cli_run import one_line, process
from tests.index_dump import synced
from tests.proxy_run import HEADERS, Proxied, proxied, user
from tests.scripted_llm import ScriptedLlm
from tests.scripted_replies import raw
from vaultmem import credentials
from vaultmem.errors import LlmError

DOOR, OURS = "open-sesame-1", "our-upstream-key"
BODY = json.dumps({"model": "m", "messages": [user("Hi")]}).encode()


@pytest.fixture
def own_key(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    monkeypatch.setenv("OUR_KEY", OURS)
    return {"VAULTMEM_LLM_KEY": "env:OUR_KEY"}


@pytest.fixture
def proxy(
    vault: Path, scripted_llm: ScriptedLlm, own_key: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Proxied]:
    monkeypatch.setenv("THE_DOOR", DOOR)
    environ = {"VAULTMEM_PROXY_KEY": "env:THE_DOOR", "VAULTMEM_LLM_BASE_URL": scripted_llm.url}
    with proxied(vault, scripted_llm, environ={**environ, **own_key}, upstream=None) as made:
        yield made


WRONG: list[dict[str, str]] = [
    {}, {"Authorization": "Bearer vaultmem"}, {"Authorization": f"Basic {DOOR}"}, {"X_Vaultmem_Key": ""},
    {"Authorization": f"Bearer {DOOR}x"}, {"Authorization": f"Bearer {DOOR[:-1]}"}, {"X_Vaultmem_Key": f"Bearer {DOOR}"},
    {"Authorization": "Bearer "}, {"Authorization": DOOR}, {"Api_Key": DOOR}, {"X_Vaultmem_Key": "\xe9"},
]  # fmt: skip
PATHS = ("/v1/chat/completions", "/v1/models", "/v1/files", "/health/", "/nothing")


def test_without_the_key_nothing_is_answered_or_forwarded(proxy: Proxied) -> None:
    for headers, path in product(WRONG, PATHS):
        seen = proxy.send("GET", path, **headers)
        assert (seen.status, seen.data["error"]["code"]) == (401, "invalid_api_key"), (headers, path)  # fmt: skip
        assert DOOR.encode() not in seen.body
    assert not proxy.llm.requests
    assert not proxy.turns()


def test_it_lets_in_as_api_key_or_beside_a_clients_own(proxy: Proxied) -> None:
    assert proxy.client(DOOR).models.list().data
    client = proxy.client("the-clients-own", default_headers={"X-Vaultmem-Key": DOOR})
    assert client.chat.completions.create(model="m", messages=[{"role": "user", "content": "Hi"}]).choices  # fmt: skip
    sent = [request.headers.get("authorization") for request in proxy.llm.requests]
    assert sent == [f"Bearer {OURS}", "Bearer the-clients-own"]
    assert proxy.turns()


SECOND = [
    {}, {"Authorization": f"bearer  {DOOR} "}, {"Api_Key": DOOR}, {"X_Api_Key": f" {DOOR} "}, {"Authorization": DOOR},
    {"X_Goog_Api_Key": f"bearer {DOOR}"},
]  # fmt: skip


def test_the_key_itself_goes_nowhere(proxy: Proxied) -> None:
    proxy.chat(BODY, Authorization=f"Bearer {DOOR}")
    for second in SECOND:
        proxy.chat(BODY, X_Vaultmem_Key=DOOR, **second)
        proxy.send("GET", "/v1/files", X_Vaultmem_Key=DOOR, **second)
    assert len(proxy.llm.requests) == 1 + 2 * len(SECOND)
    for asked in proxy.llm.requests:
        assert DOOR not in repr(sorted(asked.headers.items()))
        assert "x-vaultmem-key" not in asked.headers
        assert asked.headers["authorization"] == f"Bearer {OURS}"
    proxy.send("GET", "/v1/files", X_Vaultmem_Key=DOOR, Api_Key=f"{DOOR}x")
    assert proxy.llm.requests[-1].headers["api-key"] == f"{DOOR}x"


SENT: list[tuple[str, dict[str, str], str | None, str | None]] = [
    ("chat/completions", {}, f"Bearer {OURS}", None),
    ("chat/completions", {"Authorization": "Bearer vaultmem"}, f"Bearer {OURS}", None),
    ("chat/completions", {"Authorization": "Bearer theirs"}, "Bearer theirs", None),
    ("chat/completions", {"Api_Key": "theirs"}, None, None),
    ("messages", {"X_Api_Key": "vaultmem"}, None, OURS),
    ("messages", {"X_Api_Key": "theirs"}, None, "theirs"),
    ("messages", {"Authorization": "Bearer theirs"}, "Bearer theirs", None),
]


def test_our_key_goes_where_the_client_has_none_or_the_placeholder(
    vault: Path, scripted_llm: ScriptedLlm, own_key: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:  # fmt: skip
    caplog.set_level("DEBUG")
    environ = {**own_key, "VAULTMEM_LLM_BASE_URL": scripted_llm.url}
    with proxied(vault, scripted_llm, environ=environ, upstream=None) as proxy:
        for path, headers, *_ in SENT:
            proxy.send("POST", f"/v1/{path}", BODY, **HEADERS, **headers)
        proxy.send("GET", "/v1/models")
    keys = [(one.headers.get("authorization"), one.headers.get("x-api-key")) for one in scripted_llm.requests]  # fmt: skip
    assert keys == [(bearer, key) for _, _, bearer, key in SENT] + [(f"Bearer {OURS}", None)]
    assert OURS not in caplog.text


def test_our_key_goes_to_no_other_server(
    vault: Path, scripted_llm: ScriptedLlm, own_key: dict[str, str]
) -> None:
    """Neither to one named for this start alone, nor after a redirect, which is the client's business."""
    other = {"VAULTMEM_LLM_BASE_URL": f"http://127.0.0.1:{scripted_llm.port + 1}/v1"}
    for environ in (own_key, {**own_key, **other}):
        with proxied(vault, scripted_llm, environ=environ) as proxy:
            proxy.ask("a")
    assert OURS not in "".join(str(request.headers) for request in scripted_llm.requests)
    away = "http://127.0.0.1:9/v1/chat/completions"
    scripted_llm.play(raw(b"{}", 307, Location=away))
    own = {**own_key, "VAULTMEM_LLM_BASE_URL": scripted_llm.url}
    with proxied(vault, scripted_llm, environ=own) as proxy:
        seen = proxy.ask("a")
    assert (seen.status, seen.header("location")) == (307, away)
    assert OURS not in str(seen)
    assert len(scripted_llm.requests) == 3


@given(st.text(max_size=30), st.text(alphabet="abAB01-_", min_size=1, max_size=30))
def test_only_the_very_key_is_taken_for_it(said: str, key: str) -> None:
    assert credentials.Key(key).matches(said) == (said.strip() == key)


def test_a_key_that_is_missing_or_pasted_stops_the_start_and_is_not_repeated(vault: Path) -> None:
    synced(vault)
    for key, says in (
        ("env:NO_SUCH_THING", "set it, or proxy.key to off"),
        ("sk-secret", "proxy.key must be env:NAME, keyring:SERVICE/USER or off, but not the key itself"),
    ):  # fmt: skip
        words = ("--vault", str(vault), "--port", "0", "--upstream", "http://127.0.0.1:9/v1")
        ended = process("proxy", *words, VAULTMEM_PROXY_KEY=key)
        assert ended.code == 1
        assert says in one_line(ended)
        assert "sk-secret" not in ended.err + ended.out
    with pytest.raises(LlmError, match=r"proxy\.key names is not valid"):
        credentials.client_key("env:IT", {"IT": "two\nlines"})
    assert credentials.client_key("off", {}) is None
