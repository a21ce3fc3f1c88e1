"""The HTTP door apart from its requests: tokens, streams, results of several vaults, and how it listens."""

import asyncio
import json
import re
import shutil
import ssl
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.cli_run import one_line, process, ran
from tests.client_run import deaf_agent, says, strange_agent
from tests.http_run import Door, serving
from tests.laws import examples
from tests.lazy import Lazy
from tests.tables import each_case
from vaultmem import client
from vaultmem.errors import UsageError
from vaultmem.text.values import TOOL_RESULTS
from vaultmem_server import link, rest
from vaultmem_server.link import JsonObject, LinkError
from vaultmem_server.streamable import Session, Stream
from vaultmem_server.tokens import ADMIN, READ, SCOPES, WRITE, Caller, Token, TokenStore

httpx2 = Lazy("httpx2")


@given(st.lists(st.tuples(st.sampled_from(["add", "revoke"]), st.sampled_from("abc")), max_size=12))
@settings(max_examples=examples(30))
def test_the_store_knows_who_was_added_and_not_revoked(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, str]]
) -> None:
    path = str(tmp_path_factory.mktemp("tokens") / "tokens.json")
    valid: dict[str, str] = {}
    all_texts = set()
    for what, name in steps:
        store = TokenStore(path)
        try:
            if what == "add":
                valid[name] = store.add(name, READ)
                all_texts.add(valid[name])
            else:
                store.revoke(name)
                del valid[name]
        except UsageError:
            assert (name in valid) == (what == "add")
    watcher = TokenStore(path)
    assert {token.name for token in watcher.all()} == set(valid)
    for text in all_texts:
        assert (watcher.holder(text) is not None) == (text in valid.values())
        assert watcher.holder(text[:-1]) is None


def test_no_token_acts_under_the_name_of_the_person(tmp_path: Path) -> None:
    store = TokenStore(str(tmp_path / "tokens.json"))
    wrong = [("you", ""), ("Person", ""), ("laptop", "You"), ("phone", "conversation:1")]
    for name, agent in wrong:
        with pytest.raises(UsageError, match="cannot be the name of an assistant"):
            store.add(name, WRITE, agent)
    assert store.add("laptop", WRITE, "claude")


def test_a_dry_run_refuses_what_would_be_refused() -> None:
    assert ran("token", "add", "laptop", "--dry-run", "--format", "json").data["dry_run"]
    for words in ("revoke laptop", "add you", "add a/b"):
        tried = ran("token", *words.split(), "--dry-run")
        assert one_line(tried) == one_line(ran("token", *words.split()))
        assert tried.code != 0
    assert TokenStore().all() == []


def test_the_list_says_to_the_minute_when_a_token_ends() -> None:
    assert ran("token", "add", "phone", "--expires", "2h").code == 0
    TokenStore().add("lost", READ, lifetime=-1.0)
    lost, phone = ran("token", "list", "--format", "text").out.splitlines()[1:]
    minute = r" \d{4}-\d\d-\d\d \d\d:\d\d"
    assert re.search(rf"{minute} +all$", phone)
    assert re.search(rf"{minute} \(expired\) +all$", lost)
    for name in ("phone", "lost"):
        TokenStore().revoke(name)


def test_scopes_grow() -> None:
    for number, scope in enumerate(SCOPES, start=1):
        caller = Caller(Token("t", "k", "", scope, "", (), 0.0, None), "")
        assert [one for one in SCOPES if caller.may(one)] == [*SCOPES[:number]]


@given(st.lists(st.text("abc\n", min_size=1, max_size=5), max_size=6), st.integers(0, 6))
@settings(max_examples=examples(50))
def test_a_stream_is_taken_up_where_it_broke_off(messages: list[str], seen: int) -> None:
    async def read(start: int) -> list[bytes]:
        stream = Session("s", "t", "v").stream(1)
        reading = asyncio.create_task(rest_of(stream, start))
        for message in messages:
            stream.send(json.dumps(message))
            await asyncio.sleep(0)  # what goes on is waited for
        stream.end()
        return await reading

    async def rest_of(stream: Stream, start: int) -> list[bytes]:
        return [piece async for piece in stream.after(start)]

    whole = asyncio.run(read(0))
    assert len(whole) == len(messages)
    assert asyncio.run(read(min(seen, len(whole)))) == whole[seen:]
    assert all(piece.count(b"\n\n") == 1 for piece in whole), "no message ends an event early"


# --- Several vaults


SCORES = st.lists(st.floats(0, 1e6), max_size=8).map(lambda some: sorted(some, reverse=True))


def merged(
    vaults: dict[str, list[float]], down: tuple[str, ...] = (), **params: object
) -> JsonObject:
    async def ask(vault: str, own: JsonObject) -> dict[str, list[JsonObject]]:
        if vault in down:
            raise LinkError(-1, f"{vault} is away")
        limit = own.get("limit", 10)
        assert isinstance(limit, int)
        scores = vaults[vault][:limit]
        return {"results": [{"path": f"{n}.md", "score": one} for n, one in enumerate(scores)]}

    return asyncio.run(rest.merged_search(ask, list(vaults), dict(params)))


@given(st.dictionaries(st.sampled_from("abcdefghijkl"), SCORES, min_size=1), st.integers(1, 20))
@example({name: [0.0] * 8 for name in "abcdefghijkl"}, 10)
@example({name: [2.0] * 3 for name in "abcdefghijkl"}, 16)
@example({"home": [12.0, 3.0], "work": [900.0, 450.0]}, 10)
def test_merged_results_keep_each_vault_s_order_and_balance_them(
    vaults: dict[str, list[float]], limit: int
) -> None:
    answer = merged(vaults, limit=limit)
    ranked = [
        (-score / max(own[0], 5e-324), -score, place, name, f"{n}.md")
        for place, (name, own) in enumerate(vaults.items())
        for n, score in enumerate(own)
    ]
    best = sorted(ranked, key=lambda one: one[:3])[:limit]
    results = answer["results"]
    assert isinstance(results, list)
    assert [(one["vault"], one["path"]) for one in results] == [one[3:] for one in best]
    assert [one["score"] for one in results] == [-one[1] for one in best]
    assert answer["count"] == len(results)


def test_an_unreachable_vault_is_named_and_the_others_answer() -> None:
    vaults = {"home": [12.0, 3.0], "work": [900.0, 450.0]}
    answer = merged(vaults, ("work",))
    assert answer["missing"] == {"work": "work is away"}
    assert answer["count"] == 2
    with pytest.raises(LinkError, match="home is away"):
        merged(vaults, ("work", "home"))


@each_case("scope, most", [(READ, TOOL_RESULTS), (WRITE, TOOL_RESULTS), (ADMIN, 10**6)])
def test_no_assistant_searches_for_all_that_there_is(scope: str, most: int) -> None:
    class Agent:
        async def answer(self, _method: str, params: JsonObject) -> bytes:
            return json.dumps(params["limit"]).encode()

    caller = Caller(Token("one", "", "", scope, "", (), 0.0, None), "")
    for limit, expected in ((10**6, most), (1e6, most), (3, 3), (-1, -1), ("7", "7")):
        door: Any = SimpleNamespace(links={"home": Agent()})
        params: JsonObject = {"query": "note", "limit": limit}
        sent = asyncio.run(rest._ask(door, "home", caller, "search", params))
        assert json.loads(sent) == expected


def test_an_agent_that_takes_long_may_still_do_it(
    vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A dream that the page starts can take minutes: it has not failed when the page stops waiting."""
    monkeypatch.setattr(link, "PATIENCE", 0.1)
    with deaf_agent(vault), pytest.raises(LinkError, match="may still carry that out") as error:
        asyncio.run(link.Link(str(vault)).call("jobs.run", {"name": "dream"}))
    assert error.value.status == 503


def test_an_agent_without_room_is_no_fault_of_the_request(vault: Path) -> None:
    full = {"id": None, "error": {"code": client.BUSY, "message": "all connections are busy"}}

    async def search() -> None:
        agent = link.Link(str(vault))
        with pytest.raises(LinkError, match="are busy") as error:
            await agent.call("search", {"query": "note"})
        agent.close()
        await asyncio.sleep(0)
        assert error.value.status == 503

    with strange_agent(vault, says(full)):
        asyncio.run(search())


# --- How the door listens


def test_behind_a_web_server_there_is_no_page_and_no_name_passes_for_an_address(
    vault: Path,
) -> None:
    """What other machines reach does not serve the page, whatever address it listens at; and if it listens at all of
    them, a page of another machine can have a name of hexadecimal digits."""
    for address, status in (("127.0.0.1:0", 403), ("0.0.0.0:0", 200)):
        with serving(["--http", address, "--behind-proxy", "--vault", str(vault)]) as port:
            there = Door("", port, {}, vault)
            assert there.send("GET", "/ui/enter", Host=f"127.0.0.1:{port}").status == 401
            assert there.send("GET", "/health", Host=f"facade.de:{port}").status == 403
            assert there.send("GET", "/health", Host="10.1.2.3").status == status


@each_case(
    "words, reason",
    [
        ("--http 0.0.0.0:0", "--tls-cert"), ("--http localhost", "an address and a port"), ("--vault . --vault ..", "one vault"),
        ("--http 127.0.0.1:0 --tls-cert nothing.pem", "go together"),
    ],
)  # fmt: skip
def test_serve_refuses_to_listen_unprotected(vault: Path, words: str, reason: str) -> None:
    named = [] if "--vault" in words else ["--vault", str(vault)]
    refused = process("serve", *words.split(), *named)
    assert refused.code == 2
    assert reason in one_line(refused)


@pytest.mark.skipif(not shutil.which("openssl"), reason="there is no openssl to make a certificate")
def test_with_a_certificate_connections_are_encrypted(vault: Path, tmp_path: Path) -> None:
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    make = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
            "-addext", "subjectAltName=DNS:localhost", "-keyout", str(key), "-out", str(cert)]  # fmt: skip
    subprocess.run(make, check=True, capture_output=True)
    words = f"--http 0.0.0.0:0 --tls-cert {cert} --tls-key {key} --vault {vault}"
    with serving(words.split()) as port:
        trusted = ssl.create_default_context(cafile=str(cert))
        answer = httpx2.get(f"https://localhost:{port}/health", verify=trusted)
        assert answer.json()["status"] == "ok"
